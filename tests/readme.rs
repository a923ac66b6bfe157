//! The README's examples that are not Rust: grammars parse, commands work. (Its Rust example is a doctest.)

use maskwright::Limits;
use maskwright::frontend::ebnf;

const README: &str = include_str!("../README.md");

/// Returns the code blocks in a language.
fn blocks(language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    README.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_string()).collect()
}

#[test]
fn grammars_parse() {
    let grammars = blocks("ebnf");
    assert!(!grammars.is_empty());
    for text in grammars {
        let parsed = ebnf::parse(&text, "root", &Limits::default()).unwrap_or_else(|error| panic!("{error:#}"));
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
    }
}

#[test]
fn the_mistake_is_shown_as_the_engine_shows_it() {
    let shown = blocks("text").into_iter().find(|block| block.contains("valeu")).expect("an example of a mistake");
    let source = "root ::= valeu \"x\"\nvalue ::= \"v\"";
    let error = ebnf::parse(source, "root", &Limits::default()).unwrap_err();
    assert_eq!(format!("{error:#}").trim_end(), shown.trim_end());
}

#[cfg(feature = "cli")]
#[test]
fn commands_work() {
    let prefix = "cargo run --release --bin playground -- ";
    let commands: Vec<String> = blocks("sh")
        .iter()
        .flat_map(|block| block.lines())
        .filter_map(|line| line.strip_prefix(prefix))
        .map(String::from)
        .collect();
    assert!(commands.len() >= 3);
    for command in commands {
        let mut arguments: Vec<String> = Vec::new();
        // Quoted arguments are in single quotes.
        for (index, part) in command.split('\'').enumerate() {
            match index % 2 {
                0 => arguments.extend(part.split_whitespace().map(String::from)),
                _ => arguments.push(part.to_string()),
            }
        }
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_playground"))
            .args(&arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("the playground starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}\n{out}\n{err}");
    }
}
