//! Compiled schemas are found again when text and options are the same, and only then.

use maskwright::json_schema::{SchemaOptions, Source, WhiteSpace};
use maskwright::{CompileOptions, GrammarCompiler, Vocab};
use std::sync::Arc;

#[test]
fn equal_texts_and_options_are_compiled_once() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let compile = |schema: &str, options: &SchemaOptions| {
        compiler.compile_json_schema_with(schema, options, &CompileOptions::default()).unwrap();
        (compiler.stats().grammar_hits, compiler.stats().grammar_misses)
    };
    let default = SchemaOptions::default();
    assert_eq!(compile(r#"{"type": "null"}"#, &default), (0, 1));
    assert_eq!(compile(r#"{"type": "null"}"#, &SchemaOptions::default()), (1, 1));
    // A title changes nothing but the text.
    assert_eq!(compile(r#"{"type": "null", "title": "a"}"#, &default), (1, 2));
    let compact = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"type": "null"}"#, &compact), (1, 3));
    let closed = SchemaOptions { has_additional_properties: false, ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"type": "null"}"#, &closed), (1, 4));
    // Another resolver may have other documents; the same one is asked once.
    let known = |uri: &str| (uri == "a").then(|| Source::from("{}"));
    let resolving = SchemaOptions { resolver: Arc::new(known), ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"$ref": "a"}"#, &resolving), (1, 5));
    assert_eq!(compile(r#"{"$ref": "a"}"#, &resolving.clone()), (2, 5));
    let other = SchemaOptions { resolver: Arc::new(known), ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"$ref": "a"}"#, &other), (2, 6));
}
