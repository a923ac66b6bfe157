//! Keyword by keyword: schemas with documents that are accepted and refused, and with continuations of prefixes.
//!
//! The cases are files in `tests/data/json_schema`; its README says how they are written. Every keyword has a file of its
//! own.

use maskwright::json_schema::{Finding, Json, SchemaOptions, Spelling, Value, ValueId, Verdict, WhiteSpace};
use maskwright::testing::corpus::files;
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, Limits, Vocab};
use std::path::{Path, PathBuf};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/json_schema")
}

/// A case of a file.
struct Case<'a> {
    json: &'a Json,
    at: ValueId,
}

impl Case<'_> {
    fn list(&self, name: &str) -> &[ValueId] {
        match self.json.member(self.at, name).map(|at| self.json.value(at)) {
            Some(Value::Array(items)) => items,
            None => &[],
            Some(_) => panic!("{name} is a list"),
        }
    }

    fn source(&self, at: ValueId) -> &str {
        let span = self.json.span(at);
        &self.json.source()[span.start as usize..span.end as usize]
    }

    fn text(&self, at: ValueId) -> &str {
        match self.json.value(at) {
            Value::String(text) => text,
            _ => panic!("a string is expected, not {}", self.source(at)),
        }
    }

    fn member(&self, name: &str) -> Option<&str> {
        self.json.member(self.at, name).map(|at| self.text(at))
    }

    fn number(&self, at: ValueId) -> u32 {
        match self.json.value(at) {
            Value::Number(number) => number.to_u64().expect("a small number") as u32,
            _ => panic!("a number is expected, not {}", self.source(at)),
        }
    }

    fn options(&self) -> SchemaOptions {
        let mut options = SchemaOptions::default();
        let Some(at) = self.json.member(self.at, "options") else { return options };
        let Value::Object(members) = self.json.value(at) else { panic!("options are an object") };
        for member in members {
            let value = self.json.value(member.value);
            let is_set = matches!(value, Value::Bool(true));
            match self.json.key(member) {
                "additional_items" => options.has_additional_items = is_set,
                "additional_properties" => options.has_additional_properties = is_set,
                "any_order" => options.has_any_order = is_set,
                "excluded_text" => options.excluded_texts.push(self.text(member.value).into()),
                "formats" => options.has_formats = is_set,
                "integer_fractions" => options.has_integer_fractions = is_set,
                "lenient" => options.is_lenient = is_set,
                "any_spelling" => {
                    options.spelling = if is_set { Spelling::Any } else { Spelling::Shortest };
                }
                "nullable" => options.read.has_nullable = is_set,
                "white_space" => options.white_space = self.white_space(member.value),
                other => panic!("there is no option {other}"),
            }
        }
        options
    }

    fn white_space(&self, at: ValueId) -> WhiteSpace {
        let is = |name: &str| self.json.member(at, name);
        if let Some(run_max) = is("flexible") {
            WhiteSpace::Flexible { run_max: self.number(run_max) }
        } else if let Some(spaces) = is("indent") {
            WhiteSpace::Indent { spaces: self.number(spaces) }
        } else if let Some(Value::Array([item, key])) = is("separators").map(|at| self.json.value(at)) {
            WhiteSpace::Separators { item: self.text(*item).into(), key: self.text(*key).into() }
        } else {
            assert_eq!(self.text(at), "compact");
            WhiteSpace::Compact
        }
    }

    /// Returns the number of checks; adds what fails.
    fn check(&self, compiler: &GrammarCompiler, failures: &mut Vec<String>) -> usize {
        let why = self.member("why").expect("a case says why");
        let schema = self.source(self.json.member(self.at, "schema").expect("a case has a schema"));
        let mut fail = |what: String| failures.push(format!("{why}: {what}"));
        let compiled = compiler.compile_json_schema_with(schema, &self.options(), &CompileOptions::default());
        let grammar = match (compiled, self.member("error")) {
            (Ok(grammar), None) => grammar,
            (Ok(_), Some(_)) => {
                fail("compiles".to_owned());
                return 1;
            }
            (Err(error), wanted) => {
                let message = error.to_string();
                if wanted.is_none_or(|wanted| !message.contains(wanted)) {
                    fail(message);
                }
                return 1;
            }
        };
        let mut n_checks = 0;
        for (list, is_accepted, is_json) in
            [("valid", true, true), ("invalid", false, true), ("accepted", true, false), ("refused", false, false)]
        {
            for &at in self.list(list) {
                let text = if is_json { self.source(at) } else { self.text(at) };
                n_checks += 1;
                if accepts(&grammar, text) != is_accepted {
                    fail(format!("{text} is {list}"));
                }
            }
        }
        for &at in self.list("after") {
            let member = |name: &str| self.json.member(at, name).map_or("", |at| self.text(at));
            let mut matcher = grammar.matcher();
            if matcher.accept_bytes(member("text").as_bytes()).is_err() {
                fail(format!("{} can't begin a text", member("text")));
                continue;
            }
            let mask = matcher.mask().expect("something follows");
            for (list, is_wanted) in [("next", true), ("never", false)] {
                for next in member(list).bytes() {
                    n_checks += 1;
                    let is_allowed = matcher.fork().accept_bytes(&[next]).is_ok();
                    if is_allowed != is_wanted || mask.contains(next.into()) != is_wanted {
                        fail(format!("{:?} after {} is in `{list}`", char::from(next), member("text")));
                    }
                }
            }
        }
        let report = grammar.schema_report().expect("it was compiled from a schema");
        let is_of = |finding: &Finding, list: &str| match finding.verdict {
            Verdict::Relaxed(_) => list == "relaxed",
            Verdict::Annotation => list == "annotations",
            Verdict::Enforced => list == "enforced",
            Verdict::EnforcedInPart(_) => list == "enforced_in_part",
            _ => false,
        };
        for list in ["relaxed", "annotations", "enforced"] {
            let found = report.findings().filter(|finding| is_of(finding, list));
            let found: Vec<String> = found.map(|finding| format!("{} {}", finding.keyword, finding.location)).collect();
            let wanted: Vec<&str> = self.list(list).iter().map(|&at| self.text(at)).collect();
            // Annotations and enforced keywords are listed only where they matter.
            if found != wanted && (list == "relaxed" || !wanted.is_empty()) {
                fail(format!("{list} are {found:?}"));
            }
        }
        n_checks
    }
}

fn accepts(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    text.bytes().all(|byte| matcher.accept_token(u32::from(byte)).is_ok()) && matcher.is_accepting()
}

#[test]
fn every_case_holds() {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).expect("256 tokens are a vocabulary");
    let compiler = GrammarCompiler::new(vocab.into());
    let (mut n_checks, mut failures) = (0, Vec::new());
    for path in files(&data()) {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let json = Json::parse(&text, &Limits::default()).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let Value::Array(cases) = json.value(json.root()) else { panic!("{path:?} is a list") };
        assert!(!cases.is_empty(), "{path:?} has no case");
        let n_before = failures.len();
        for &at in cases {
            n_checks += Case { json: &json, at }.check(&compiler, &mut failures);
        }
        let name = path.file_stem().unwrap().to_string_lossy();
        failures[n_before..].iter_mut().for_each(|failure| *failure = format!("{name}: {failure}"));
    }
    assert!(failures.is_empty(), "{} checks fail:\n{}", failures.len(), failures.join("\n"));
    println!("{n_checks} checks");
    assert!(n_checks > 500, "{n_checks} checks");
}

/// The keywords are those of the table in `keywords/mod.rs`.
#[test]
fn every_keyword_has_a_file() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/json_schema/keywords/mod.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let table = source.split("= match name {").nth(1).and_then(|rest| rest.split("_ => return None").next());
    // Quoted words outside of comments.
    let lines = table.expect("the table is there").lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut keywords: Vec<&str> = lines.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
    assert!(keywords.len() > 50 && keywords.contains(&"$ref") && keywords.contains(&"unevaluatedItems"));
    let files = files(&data().join("keywords"));
    let mut names: Vec<_> = files.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    keywords.sort_unstable();
    // A word that belongs to another one names that one.
    keywords.dedup();
    names.sort_unstable();
    assert_eq!(names, keywords);
}
