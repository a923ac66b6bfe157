//! The official suite: every datum of the drafts 2020-12 and 7, as a text, to a matcher.
//!
//! A datum is printed by serde_json and accepted as bytes. Invalid data must be refused, also with other orders of keys.
//! Valid data must be accepted, or another order of its keys or spelling of its numbers must be. All mandatory cases must pass;
//! the optional ones that fail are listed below with the reason, and a listed one that passes is a failure
//! too. Formats that are enforced in part may accept invalid data. `MASKWRIGHT_CASES=text` runs only the cases whose name contains the
//! text, and prints each.

use maskwright::json_schema::{Draft, Json, ReadOptions, SchemaOptions, Source};
use maskwright::testing::corpus::{Instance, SchemaCase, data, files, remotes};
use maskwright::testing::spelling::{Numbers, Speller};
use maskwright::{CompileOptions, GrammarCompiler, Limits, Vocab};
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Optional cases that fail, in both drafts: a prefix of `file/group/test`, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "optional/format/ecmascript-regex/ECMA 262 named groups and backreferences are valid/an ECMA 262 named backreference",
        "the set of patterns with references to groups that exist is not regular",
    ),
    (
        "optional/cross-draft/refs to historic drafts are processed as historic drafts/first item not a string is valid",
        "keywords of neighbouring drafts count unless they contradict the draft",
    ),
    ("optional/content/validation of string-encoded content based on media type/an invalid JSON document", CONTENT),
    ("optional/content/validation of binary string-encoding/an invalid base64 string", CONTENT),
    ("optional/content/validation of binary-encoded media type documents/a validly-encoded invalid", CONTENT),
    ("optional/content/validation of binary-encoded media type documents/an invalid base64 string", CONTENT),
];

const CONTENT: &str = "what strings contain is an annotation";

/// Other cases that fail, likewise.
const GAPS: &[(&str, &str)] = &[];

/// Optional files of formats that are enforced in part: no valid datum is refused, and some invalid ones are accepted.
const IN_PART: &[&str] = &["optional/format/hostname", "optional/format/idn-hostname"];

/// Steps of the search for another spelling, and for one of an invalid datum.
const N_STEPS_VALID: usize = 20_000;
const N_STEPS_INVALID: usize = 500;

/// Returns a datum as serde_json prints it; as it stands in the file where serde_json would round a number.
fn printed(json: &Json) -> String {
    let value: serde_json::Value = serde_json::from_str(json.source()).unwrap();
    let text = serde_json::to_string(&value).unwrap();
    let again = Json::parse(&text, &Limits::default()).unwrap();
    if again == *json { text } else { json.source().to_owned() }
}

/// Returns a JSON text without white space between its parts, if it is one.
fn one_line(text: &str) -> String {
    Json::parse(text, &Limits::default()).map_or_else(|_| text.to_owned(), |json| json.to_string())
}

/// The outcome for a datum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Right,
    /// Valid and refused, but accepted in another spelling.
    Respelled,
    Wrong,
}

#[derive(Default)]
struct Counts {
    n_right: usize,
    n_respelled: usize,
    n_wrong: usize,
}

struct Suite {
    compiler: GrammarCompiler,
    resolver: Arc<dyn maskwright::json_schema::Resolve + Send + Sync>,
    only: Option<String>,
    counts: BTreeMap<String, Counts>,
    failures: Vec<String>,
    is_used: Vec<bool>,
}

impl Suite {
    fn new(folder: &Path) -> Suite {
        let remotes = remotes(&folder.join("remotes"));
        let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap();
        Suite {
            compiler: GrammarCompiler::new(vocab.into()),
            resolver: Arc::new(move |uri: &str| remotes.get(uri).map(|text| Source::from(text.as_str()))),
            only: std::env::var("MASKWRIGHT_CASES").ok(),
            counts: BTreeMap::new(),
            failures: Vec::new(),
            is_used: vec![false; EXCEPTIONS.len()],
        }
    }

    /// Runs a group: one schema and its data.
    fn run(&mut self, file: &str, draft: Draft, group: &SchemaCase) {
        let wanted = |test: &&Instance| {
            let name = format!("{file}/{}/{}", group.id, test.title);
            self.only.as_ref().is_none_or(|only| name.contains(only))
        };
        let tests: Vec<Instance> = group.instances.iter().filter(wanted).cloned().collect();
        if tests.is_empty() {
            return;
        }
        let options = SchemaOptions {
            has_formats: file.contains("/optional/format"),
            read: ReadOptions { draft, ..ReadOptions::default() },
            resolver: Arc::clone(&self.resolver),
            ..SchemaOptions::default()
        };
        let deadline = CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(60)), cancelled: None };
        let compile = || self.compiler.compile_json_schema_with(&group.schema, &options, &deadline);
        let compiled = match catch_unwind(AssertUnwindSafe(compile)) {
            Ok(Ok(compiled)) => Ok(compiled),
            // The schema is unsatisfiable: every datum must be invalid.
            Ok(Err(error)) => match &error {
                maskwright::CompileError::Schema(schema) if schema.is_unsatisfiable() => Err(None),
                _ => Err(Some(error.to_string())),
            },
            Err(_) => Err(Some("panicked".to_owned())),
        };
        for test in &tests {
            let text = printed(&test.json);
            let is_in_part = IN_PART.iter().any(|name| file.split_once('/').is_some_and(|(_, file)| file == *name));
            let is_valid = test.is_valid;
            let (outcome, what) = match &compiled {
                Err(None) if !is_valid => (Outcome::Right, String::new()),
                Err(None) => (Outcome::Wrong, "the schema is refused as unsatisfiable".to_owned()),
                Err(Some(error)) => (Outcome::Wrong, format!("the schema is refused: {error}")),
                Ok(compiled) => {
                    let mut matcher = compiled.matcher();
                    let is_accepted = matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting();
                    let speller = match is_valid {
                        true => Speller::new(&group.schema, Numbers::Respelled, N_STEPS_VALID),
                        false => Speller::new(&group.schema, Numbers::AsWritten, N_STEPS_INVALID),
                    };
                    let other = || speller.respell(&compiled.matcher(), &test.json);
                    match (is_valid, is_accepted) {
                        (true, true) => (Outcome::Right, String::new()),
                        (true, false) if other().is_some() => (Outcome::Respelled, String::new()),
                        (true, false) => (Outcome::Wrong, "valid, but refused".to_owned()),
                        (false, _) if is_in_part => (Outcome::Right, String::new()),
                        (false, true) => (Outcome::Wrong, "invalid, but accepted".to_owned()),
                        (false, false) => match other() {
                            None => (Outcome::Right, String::new()),
                            Some(text) => (Outcome::Wrong, format!("invalid, but accepted as {text}")),
                        },
                    }
                }
            };
            let name = format!("{file}/{}/{}", group.id, test.title);
            if self.only.is_some() {
                println!("{name}: {outcome:?}");
            }
            self.count(file, &name, outcome, &format!("{what}\n    {}\n    {text}", one_line(&group.schema)));
        }
    }

    fn count(&mut self, file: &str, name: &str, outcome: Outcome, what: &str) {
        let counts = self.counts.entry(file.to_owned()).or_default();
        match outcome {
            Outcome::Right => counts.n_right += 1,
            Outcome::Respelled => counts.n_respelled += 1,
            Outcome::Wrong => counts.n_wrong += 1,
        }
        let (_, name_in_draft) = name.split_once('/').expect("a name begins with the draft");
        let is_optional = name_in_draft.starts_with("optional/");
        let listed = EXCEPTIONS.iter().position(|(listed, _)| is_optional && name_in_draft.starts_with(listed));
        let is_gap = GAPS.iter().any(|(listed, _)| name_in_draft.starts_with(listed));
        match (listed, outcome) {
            (None, Outcome::Wrong) if is_gap => {}
            (None, _) if is_gap && name.starts_with("draft2020") => {
                self.failures.push(format!("{name}: listed as a gap, but it holds"));
            }
            (Some(at), Outcome::Wrong) => self.is_used[at] = true,
            (Some(_), _) => self.failures.push(format!("{name}: listed, but it holds")),
            (None, Outcome::Wrong) => self.failures.push(format!("{name}: {what}")),
            (None, _) => {}
        }
    }

    fn print(&self) {
        println!("{:>6} {:>9} {:>6}", "right", "respelled", "wrong");
        for (file, counts) in &self.counts {
            println!("{:>6} {:>9} {:>6}  {file}", counts.n_right, counts.n_respelled, counts.n_wrong);
        }
        let total = |of: fn(&Counts) -> usize| self.counts.values().map(of).sum::<usize>();
        let (right, respelled) = (total(|counts| counts.n_right), total(|counts| counts.n_respelled));
        println!("{right:>6} {respelled:>9} {:>6}  in all", total(|counts| counts.n_wrong));
        for failure in &self.failures {
            println!("{failure}");
        }
    }
}

#[test]
fn official_suite() {
    let Some(path) = data("json-schema-test-suite") else { return };
    let mut suite = Suite::new(&path);
    for (folder, draft) in [("draft2020-12", Draft::Draft2020), ("draft7", Draft::Draft7)] {
        for file in files(&path.join("tests").join(folder)) {
            let name = file.strip_prefix(path.join("tests")).unwrap().with_extension("");
            let name = name.components().map(|part| part.as_os_str().to_str().unwrap()).collect::<Vec<_>>().join("/");
            let groups = SchemaCase::parse_list(&fs::read_to_string(&file).unwrap()).unwrap();
            groups.iter().for_each(|group| suite.run(&name, draft, group));
        }
    }
    suite.print();
    assert!(suite.failures.is_empty(), "{} failures", suite.failures.len());
    if suite.only.is_none() {
        let n_data: usize = suite.counts.values().map(|counts| counts.n_right + counts.n_respelled).sum();
        assert!(n_data > 3_000, "{n_data} data");
        let unused: Vec<_> = EXCEPTIONS.iter().zip(&suite.is_used).filter(|(_, is_used)| !**is_used).collect();
        assert!(unused.is_empty(), "exceptions that don't exist: {unused:?}");
    }
}
