//! The allowed dependencies between modules: a new edge is a decision, made here.
//!
//! Only code counts: neither comments nor unit tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each module with the modules that it may use, in the order of the layers.
const ALLOWED: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("util", &[]),
    ("regular", &["limits", "util"]),
    ("grammar", &["limits", "util", "regular"]),
    ("frontend", &["limits", "util", "regular", "grammar"]),
    ("machine", &[]),
    ("pass", &["limits", "util", "regular", "grammar", "machine"]),
    ("json_schema", &["limits", "util", "regular", "frontend", "machine", "pass"]),
    ("automaton", &["limits", "util", "machine", "pass"]),
    ("exec", &["util", "machine", "automaton"]),
    ("vocab", &["util"]),
    ("mask", &["util", "machine", "automaton", "exec", "vocab"]),
    ("compiled", &["grammar", "json_schema", "pass", "automaton", "vocab", "mask"]),
    ("matcher", &["util", "machine", "automaton", "exec", "vocab", "mask", "compiled"]),
    (
        "compiler",
        &["limits", "util", "grammar", "frontend", "json_schema", "pass", "automaton", "vocab", "mask", "compiled"],
    ),
    // The reference recognizer shares nothing with the engine but their input.
    ("reference", &["limits", "util", "regular", "grammar", "vocab"]),
    ("diagnose", &["limits", "util", "regular", "grammar", "vocab", "matcher", "reference"]),
    (
        "testing",
        &[
            "limits",
            "regular",
            "grammar",
            "frontend",
            "machine",
            "json_schema",
            "automaton",
            "exec",
            "vocab",
            // Its short cuts, to turn them off.
            "mask",
            "compiled",
            "matcher",
            "compiler",
            "reference",
        ],
    ),
];

/// Names that the crate's root re-exports.
const HOMES: &[(&str, &str)] = &[
    ("Limits", "limits"),
    ("BuildError", "compiler"),
    ("CompileError", "compiler"),
    ("CompileOptions", "compiler"),
    ("CompiledGrammar", "compiled"),
    ("Config", "compiler"),
    ("Dump", "compiled"),
    ("GrammarCompiler", "compiler"),
    ("Stats", "compiler"),
    ("MaskStats", "mask"),
    ("TokenMask", "mask"),
    ("Matcher", "matcher"),
    ("MatchError", "matcher"),
    ("TokenId", "vocab"),
    ("TokenKind", "vocab"),
    ("Vocab", "vocab"),
];

fn source() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns the code of a module's files, without comments and unit tests.
fn code_of(path: &Path, code: &mut String) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| code_of(entry, code));
        return;
    }
    let is_test = path.file_stem().is_some_and(|name| name == "tests" || name == "naive");
    if is_test || path.extension().is_none_or(|extension| extension != "rs") {
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    // Unit tests are at the end of a file.
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    code.extend(text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]));
}

/// Returns the modules that `crate::...` paths in `code` name.
fn used_in(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let home = |name: &str| HOMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, home)| home).to_string();
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_string();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = list.split(';').next().unwrap_or("");
                let mut depth = 0;
                let mut names = String::new();
                for c in list.chars() {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    if depth < 0 {
                        break;
                    }
                    names.push(if depth > 0 && c == ',' { ' ' } else { c });
                }
                used.extend(names.split(',').map(|name| home(&word(name.trim()))).filter(|name| !name.is_empty()));
            }
            None => _ = used.insert(home(&word(rest))),
        }
    }
    used
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in std::fs::read_dir(source()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if name == "lib" || name == "bin" {
            continue;
        }
        let mut code = String::new();
        code_of(&path, &mut code);
        let mut used = used_in(&code);
        used.remove(&name);
        found.entry(name).or_default().append(&mut used);
    }
    let table: BTreeMap<String, BTreeSet<String>> = ALLOWED
        .iter()
        .map(|(name, used)| (name.to_string(), used.iter().map(|name| name.to_string()).collect()))
        .collect();
    for (name, used) in &found {
        let allowed = table.get(name).unwrap_or_else(|| panic!("module `{name}` is not in the table"));
        let new: Vec<_> = used.difference(allowed).collect();
        assert!(new.is_empty(), "`{name}` uses {new:?}: is that meant?");
        let gone: Vec<_> = allowed.difference(used).collect();
        assert!(gone.is_empty(), "`{name}` uses {gone:?} no more: strike it from the table");
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), table.keys().collect::<Vec<_>>());
}

#[test]
fn paths_are_found() {
    let code =
        "use crate::util::Span;\nuse crate::{Limits, grammar::{Expr, Rule}, mask};\nlet x = crate::vocab::lead(1);";
    let used: Vec<String> = used_in(code).into_iter().collect();
    assert_eq!(used, ["grammar", "limits", "mask", "util", "vocab"]);
}
