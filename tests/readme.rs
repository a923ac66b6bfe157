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
