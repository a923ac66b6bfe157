//! The documents in `docs/` and the READMEs: links lead somewhere, examples say what the library says.
//!
//! `MASKWRIGHT_BLESS=1 cargo test --test docs` rewrites what is generated.

use maskwright::json_schema::{SchemaOptions, WhiteSpace, format, keywords};
use maskwright::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler, Limits, TokenKind, Vocab};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Markdown files that readers meet.
fn documents() -> Vec<PathBuf> {
    let folders = ["", "docs", "python", "capi", "fuzz", "benches", "tests/data", "tests/data/json_schema", "grammars"];
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(root().join(folder)).ok()).flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Returns the text outside of fenced code blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut lines = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

/// Returns the names that links can have behind `#`: headings as GitHub writes them, and explicit ones.
fn anchors(text: &str) -> BTreeSet<String> {
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#')).map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    });
    let named = prose.split("<a name=\"").skip(1).filter_map(|rest| rest.split('"').next().map(String::from));
    headings.chain(named).collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut n_links, mut wrong) = (0, Vec::new());
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in prose(&text).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http://") || link.starts_with("https://") {
                continue;
            }
            n_links += 1;
            let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let is_found = target.exists()
                && anchor.is_none_or(|anchor| {
                    std::fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor))
                });
            if !is_found {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(n_links > 20 && wrong.is_empty(), "{wrong:#?}");
}

fn vocab() -> Vocab {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    let end = builder.push("<|eot_id|>");
    builder.set_kind(end, TokenKind::Control).stop_tokens([end]);
    builder.build().unwrap()
}

/// Compiles a source of the kind that a table or code block names.
fn compile(compiler: &GrammarCompiler, kind: &str, source: &str) -> Result<CompiledGrammar, CompileError> {
    match kind {
        "ebnf" => compiler.compile_ebnf(source),
        "lark" => compiler.compile_lark(source),
        "regex" => compiler.compile_regex(source),
        "json" => compiler.compile_json_schema(source),
        "tag" => compiler.compile_structural_tag(source),
        _ => panic!("no kind of source: {kind}"),
    }
}

fn matches(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

/// Returns the cells of each row of the tables whose first header is `header`; `⏎` in a cell is a line end.
fn table_rows(text: &str, header: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let cells: Vec<String> = line
            .replace("\\|", "\u{0}")
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').replace('\u{0}', "|").replace('⏎', "\n"))
            .collect();
        match line.starts_with('|') {
            false => is_inside = false,
            true if cells[1] == header => is_inside = true,
            true if is_inside && !cells[1].starts_with("---") => rows.push(cells[1..cells.len() - 1].to_vec()),
            true => {}
        }
    }
    rows
}

#[test]
fn semantics_are_as_stated() {
    let text = std::fs::read_to_string(root().join("docs/semantics.md")).unwrap();
    let compiler = GrammarCompiler::new(vocab().into());
    let grammars = table_rows(&text, "dialect");
    let schemas = table_rows(&text, "schema");
    assert!(grammars.len() >= 10 && schemas.len() >= 10);
    let grammars = grammars.iter().map(|row| (row[0].as_str(), &row[1], &row[2], row[3].as_str()));
    let schemas = schemas.iter().map(|row| ("json", &row[0], &row[1], row[2].as_str()));
    for (kind, source, document, stated) in grammars.chain(schemas) {
        let grammar = compile(&compiler, kind, source).unwrap_or_else(|error| panic!("{source}: {error}"));
        let found = if matches(&grammar, document) { "yes" } else { "no" };
        assert_eq!(found, stated, "{source} on {document}");
    }
}

#[test]
fn ebnf_means_what_its_reference_says() {
    let text = std::fs::read_to_string(root().join("docs/ebnf.md")).unwrap();
    let compiler = GrammarCompiler::new(vocab().into());
    let rows: Vec<Vec<String>> = table_rows(&text, "written").into_iter().filter(|row| row.len() == 4).collect();
    assert!(rows.len() >= 20);
    for row in rows {
        let source = format!("root ::= {}", row[0]);
        let grammar = compile(&compiler, "ebnf", &source).unwrap_or_else(|error| panic!("{source}: {error:#}"));
        assert!(matches(&grammar, &row[2]), "{source} doesn't match {:?}", row[2]);
        assert!(!matches(&grammar, &row[3]), "{source} matches {:?}", row[3]);
    }
    let blocks = text.split("```ebnf\n").skip(1).filter_map(|rest| rest.split("```").next());
    let n_blocks = blocks.inspect(|source| _ = compile(&compiler, "ebnf", source).unwrap()).count();
    assert!(n_blocks > 0);
}

/// Checks the rows of four columns with some first headers: what is written, what it means, a text that matches, and one that doesn't.
fn rows_are_as_stated(file: &str, header: &str, n_rows: usize, compile: impl Fn(&str) -> CompiledGrammar) {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let rows: Vec<Vec<String>> = table_rows(&text, header).into_iter().filter(|row| row.len() == 4).collect();
    assert!(rows.len() >= n_rows, "{} rows", rows.len());
    for row in rows {
        let grammar = compile(&row[0]);
        assert!(matches(&grammar, &row[2]), "{} doesn't match {:?}", row[0], row[2]);
        assert!(!matches(&grammar, &row[3]), "{} matches {:?}", row[0], row[3]);
    }
}

#[test]
fn lark_means_what_its_reference_says() {
    let compiler = GrammarCompiler::new(vocab().into());
    rows_are_as_stated("docs/lark.md", "Lark", 20, |source| {
        compile(&compiler, "lark", source).unwrap_or_else(|error| panic!("{source}: {error:#}"))
    });
}

#[test]
fn structural_tags_mean_what_their_reference_says() {
    let compiler = GrammarCompiler::new(vocab().into());
    rows_are_as_stated("docs/structural-tags.md", "format", 20, |format| {
        let tag = format!(r#"{{"type": "structural_tag", "format": {format}}}"#);
        compile(&compiler, "tag", &tag).unwrap_or_else(|error| panic!("{tag}: {error:#}"))
    });
}

/// The table of limits has each field with its default.
#[test]
fn limits_are_as_listed() {
    let text = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let default = |cell: &str| cell.split(' ').next().unwrap_or_default().replace(',', "");
    let rows = table_rows(&text, "field").into_iter();
    let stated: BTreeMap<String, String> = rows.map(|row| (row[0].clone(), default(&row[1]))).collect();
    let limits = format!("{:?}", Limits::default());
    let fields = limits.trim_start_matches("Limits { ").trim_end_matches(" }").split(", ");
    for (name, value) in fields.filter_map(|field| field.split_once(": ")) {
        assert_eq!(stated.get(name).map(String::as_str), Some(value), "{name}");
    }
}

/// Compiles an example of the error catalogue under the circumstances that its section states.
fn failure(section: &str, kind: &str, source: &str) -> CompileError {
    let limits = match section {
        "limit" => Limits { dfa_states_max: 1_000, ..Limits::default() },
        _ => Limits::default(),
    };
    let compiler = GrammarCompiler::builder(vocab().into()).limits(limits).build();
    let compiled = match section {
        "interrupted" => {
            let options = CompileOptions { deadline: Some(Instant::now()), ..CompileOptions::default() };
            compiler.compile_ebnf_with(source, "root", &options)
        }
        "option" => {
            let white_space = WhiteSpace::Separators { item: ";".into(), key: ":".into() };
            let options = SchemaOptions { white_space, ..SchemaOptions::default() };
            compiler.compile_json_schema_with(source, &options, &CompileOptions::default())
        }
        _ => compile(&compiler, kind, source),
    };
    compiled.map(|_| ()).expect_err(source)
}

#[test]
fn errors_are_as_in_the_catalogue() {
    let path = root().join("docs/errors.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut generated = String::new();
    let mut n_examples = 0;
    let (mut section, mut example): (String, Option<(String, String)>) = Default::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        generated.push_str(line);
        generated.push('\n');
        if let Some(title) = line.strip_prefix("## ") {
            section = title.to_owned();
        }
        let Some(language) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if language == "text" {
            let (kind, source) = example.take().expect("an example before its message");
            let error = failure(&section, &kind, &source);
            assert_eq!(error.facts(&source).code.as_str(), section, "{source}: {error}");
            generated.push_str(format!("{error:#}").trim_end());
            generated.push('\n');
            n_examples += 1;
        } else {
            body.iter().for_each(|line| generated.extend([line, "\n"]));
            example = Some((language.to_owned(), body.join("\n")));
        }
        generated.push_str("```\n");
    }
    assert!(n_examples >= 20);
    if std::env::var_os("MASKWRIGHT_BLESS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    } else {
        assert!(text == generated, "docs/errors.md is not what the library says: run with MASKWRIGHT_BLESS=1");
    }
}

/// For each keyword that constrains values: a schema, a document that it allows, and one that it refuses.
const KEYWORD_EXAMPLES: &[(&str, &str, &str, &str)] = &[
    ("$ref", r##"{"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}"##, "null", "1"),
    ("$dynamicRef", r##"{"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a", "type": "null"}}}"##, "null", "1"),
    (
        "$recursiveRef",
        r##"{"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$recursiveRef": "#"}, "type": "array"}"##,
        "[[]]",
        "[1]",
    ),
    ("type", r#"{"type": ["integer", "null"]}"#, "null", "1.5"),
    ("enum", r#"{"enum": ["a", 1]}"#, "1.0", "2"),
    ("const", r#"{"const": {"a": 1}}"#, r#"{"a": 1}"#, r#"{"a": 2}"#),
    ("nullable", r#"{"type": "string", "nullable": true}"#, "null", "1"),
    ("minimum", r#"{"type": "number", "minimum": 0.5}"#, "0.50", "0.4"),
    ("maximum", r#"{"type": "number", "maximum": 1e2}"#, "100", "100.1"),
    ("exclusiveMinimum", r#"{"type": "number", "exclusiveMinimum": 0}"#, "1e-9", "0"),
    ("exclusiveMaximum", r#"{"type": "number", "exclusiveMaximum": 1}"#, "0.999", "1"),
    ("multipleOf", r#"{"type": "number", "multipleOf": 0.01}"#, "0.07", "0.075"),
    ("minLength", r#"{"type": "string", "minLength": 2}"#, r#""\u00e9a""#, r#""a""#),
    ("maxLength", r#"{"type": "string", "maxLength": 2}"#, r#""ab""#, r#""abc""#),
    ("pattern", r#"{"type": "string", "pattern": "^[a-z]+\\d"}"#, r#""ab1x""#, r#""1""#),
    ("format", r#"{"type": "string", "format": "date"}"#, r#""2024-02-29""#, r#""2023-02-29""#),
    ("properties", r#"{"properties": {"a": {"type": "null"}}}"#, r#"{"a": null}"#, r#"{"a": 1}"#),
    ("required", r#"{"type": "object", "required": ["a"]}"#, r#"{"a": 1}"#, "{}"),
    (
        "additionalProperties",
        r#"{"properties": {"a": {}}, "additionalProperties": false}"#,
        r#"{"a": 1}"#,
        r#"{"b": 1}"#,
    ),
    ("patternProperties", r#"{"patternProperties": {"^x": {"type": "null"}}}"#, r#"{"x1": null}"#, r#"{"x1": 1}"#),
    ("propertyNames", r#"{"propertyNames": {"maxLength": 2}}"#, r#"{"ab": 1}"#, r#"{"abc": 1}"#),
    ("minProperties", r#"{"type": "object", "minProperties": 1}"#, r#"{"a": 1}"#, "{}"),
    ("maxProperties", r#"{"type": "object", "maxProperties": 1}"#, r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#),
    ("dependentRequired", r#"{"dependentRequired": {"a": ["b"]}}"#, r#"{"b": 1}"#, r#"{"a": 1}"#),
    ("dependentSchemas", r#"{"dependentSchemas": {"a": {"minProperties": 2}}}"#, r#"{"b": 1}"#, r#"{"a": 1}"#),
    ("dependencies", r#"{"dependencies": {"a": ["b"]}}"#, r#"{"b": 1}"#, r#"{"a": 1}"#),
    (
        "unevaluatedProperties",
        r#"{"anyOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}"#,
        r#"{"a": 1}"#,
        r#"{"b": 1}"#,
    ),
    ("items", r#"{"items": {"type": "null"}}"#, "[null]", "[1]"),
    ("prefixItems", r#"{"prefixItems": [{"type": "null"}]}"#, "[null, 1]", "[1]"),
    (
        "additionalItems",
        r#"{"$schema": "http://json-schema.org/draft-07/schema", "items": [{}], "additionalItems": false}"#,
        "[1]",
        "[1, 2]",
    ),
    ("minItems", r#"{"type": "array", "minItems": 1}"#, "[1]", "[]"),
    ("maxItems", r#"{"type": "array", "maxItems": 1}"#, "[1]", "[1, 2]"),
    ("contains", r#"{"contains": {"const": 1}}"#, "[2, 1]", "[2]"),
    ("minContains", r#"{"contains": {"const": 1}, "minContains": 2}"#, "[1, 2, 1]", "[1]"),
    ("maxContains", r#"{"contains": {"const": 1}, "maxContains": 1}"#, "[1, 2]", "[1, 1]"),
    ("uniqueItems", r#"{"type": "array", "uniqueItems": true}"#, "[1, 2]", "[1, 1.0]"),
    ("unevaluatedItems", r#"{"prefixItems": [{}], "unevaluatedItems": false}"#, "[1]", "[1, 2]"),
    ("allOf", r#"{"allOf": [{"minimum": 1}, {"maximum": 2}], "type": "integer"}"#, "2", "3"),
    ("anyOf", r#"{"anyOf": [{"const": 1}, {"const": 2}]}"#, "2", "3"),
    ("oneOf", r#"{"oneOf": [{"type": "integer"}, {"minimum": 2}]}"#, "1", "3"),
    ("not", r#"{"not": {"type": "string"}}"#, "1", r#""x""#),
    (
        "if",
        r#"{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}"#,
        r#"{"c": 1}"#,
        "{}",
    ),
    ("then", r#"{"if": {"type": "integer"}, "then": {"minimum": 0}}"#, "1", "-1"),
    ("else", r#"{"if": {"type": "integer"}, "else": {"type": "null"}}"#, "null", r#""x""#),
];

/// The generated part of the page about keywords.
fn keyword_tables() -> String {
    let compiler = GrammarCompiler::new(vocab().into());
    let mut text = String::from("| keyword | drafts | schema | allowed | refused |\n|---|---|---|---|---|\n");
    for keyword in keywords().filter(|keyword| keyword.is_constraint) {
        let name = keyword.name;
        let example = KEYWORD_EXAMPLES.iter().find(|example| example.0 == name);
        let &(_, schema, allowed, refused) = example.unwrap_or_else(|| panic!("`{name}` has no example"));
        let grammar = compile(&compiler, "json", schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(grammar.schema_report().is_some_and(|report| report.is_exact()), "{name}");
        assert!(matches(&grammar, allowed) && !matches(&grammar, refused), "{name}");
        let drafts = keyword.drafts.map_or("OpenAPI 3.0".to_owned(), |drafts| drafts_as_text(&drafts));
        text.push_str(&format!("| `{name}` | {drafts} | `{schema}` | `{allowed}` | `{refused}` |\n"));
    }
    let others = keywords().filter(|keyword| !keyword.is_constraint);
    let others: Vec<String> = others
        .map(|keyword| match keyword.drafts {
            Some(drafts) => format!("`{}` ({})", keyword.name, drafts_as_text(&drafts)),
            None => format!("`{}`", keyword.name),
        })
        .collect();
    text.push_str(&format!("\nThese identify and define schemas: {}.\n", others.join(", ")));
    let formats: Vec<String> = format::ASSERTED.iter().map(|name| format!("`{name}`")).collect();
    text.push_str(&format!("\nThese formats are asserted: {}.\n", formats.join(", ")));
    text
}

fn drafts_as_text(drafts: &core::ops::RangeInclusive<maskwright::json_schema::Draft>) -> String {
    let short = |draft: &maskwright::json_schema::Draft| draft.to_string().replace("draft ", "");
    match drafts.start() == drafts.end() {
        true => short(drafts.start()),
        false => format!("{} to {}", short(drafts.start()), short(drafts.end())),
    }
}

#[test]
fn keywords_are_as_listed() {
    const BEGIN: &str = "<!-- generated -->\n";
    const END: &str = "<!-- end -->\n";
    let path = root().join("docs/keywords.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the begin of the generated part");
    let (listed, after) = rest.split_once(END).expect("its end");
    let generated = keyword_tables();
    if std::env::var_os("MASKWRIGHT_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{generated}{END}{after}")).unwrap();
    } else {
        assert!(listed == generated, "docs/keywords.md is not what the library says: run with MASKWRIGHT_BLESS=1");
    }
}
