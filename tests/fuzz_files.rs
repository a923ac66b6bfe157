//! The files of the fuzz targets agree with each other and with the library.

use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(fuzz().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the names of the targets, in the order of the manifest.
fn targets() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let names = manifest.split("[[bin]]").skip(1).map(|part| part.split('"').nth(1).expect("it has a name").to_owned());
    names.collect()
}

#[test]
fn every_target_has_a_file_seeds_and_a_line_in_the_readme() {
    let (readme, seed, all) = (read("README.md"), read("seed"), read("all"));
    let targets = targets();
    assert_eq!(targets.len(), 14, "the README says so in words");
    for target in &targets {
        assert!(read(&format!("fuzz_targets/{target}.rs")).contains("fuzz_target!"));
        assert!(readme.contains(&format!("| `{target}` |")), "{target} is not in the README");
        assert!(
            seed.contains(&format!("def {target}()")) || seed.contains(&format!("\"{target}\"")),
            "{target} has no seeds"
        );
        assert!(all.contains(&format!("\"{target}\"")), "fuzz/all leaves out {target}");
    }
    let files = std::fs::read_dir(fuzz().join("fuzz_targets")).unwrap();
    assert_eq!(files.count(), targets.len(), "each file is a target");
}

/// Returns the words of a dictionary: lines of `"..."` with the escapes `\\`, `\"` and `\xHH`.
fn words(name: &str) -> Vec<Vec<u8>> {
    let word = |line: &str| {
        let inner = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
        let mut rest = inner.unwrap_or_else(|| panic!("{name}: {line} is not quoted")).as_bytes();
        let mut word = Vec::new();
        while let [first, after @ ..] = rest {
            (rest, _) = match (first, after) {
                (b'\\', [escaped @ (b'\\' | b'"'), after @ ..]) => (after, word.push(*escaped)),
                (b'\\', [b'x', high, low, after @ ..]) => {
                    let digits = [*high, *low];
                    let hex = std::str::from_utf8(&digits).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
                    (after, word.push(hex.unwrap_or_else(|| panic!("{name}: {line}"))))
                }
                (b'\\' | b'"', _) => panic!("{name}: {line}: this is no escape"),
                (byte, after) => (after, word.push(*byte)),
            };
        }
        assert!(!word.is_empty(), "{name}: a word is empty");
        word
    };
    read(&format!("dictionaries/{name}.dict")).lines().filter(|line| !line.starts_with('#')).map(word).collect()
}

#[test]
fn dictionaries_can_be_read() {
    let readme = read("README.md");
    for name in ["ebnf", "lark", "regex", "schema", "tag", "tokenizer"] {
        assert!(words(name).len() > 30, "{name}");
        assert!(readme.contains(&format!("| `{name}` |")), "{name} is not in the README");
    }
}

#[test]
fn the_dictionary_of_schemas_has_all_keywords_and_formats() {
    let words = words("schema");
    let has = |word: String| words.iter().any(|known| *known == word.as_bytes());
    for keyword in maskwright::json_schema::keywords() {
        assert!(has(format!("\"{}\":", keyword.name)), "{}", keyword.name);
    }
    for format in maskwright::json_schema::format::ASSERTED {
        assert!(has(format!("\"{format}\"")), "{format}");
    }
}
