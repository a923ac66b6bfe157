//! Reads real schemas and the official suite into the model, and counts.
//!
//! The data lies in the folder that `MASKWRIGHT_DATA` names, else in `../shared/data` beside the repository. Without
//! it the tests say that they were skipped; under `CI=true` that is a failure.

use maskwright::Limits;
use maskwright::json_schema::{
    Draft, Json, NoDocuments, ReadOptions, Resolve, SchemaError, SchemaModel, Source, Value,
};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Returns the path of a piece of the data; none, with a word on why, where it is missing.
fn data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("MASKWRIGHT_DATA").map_or_else(beside, PathBuf::from).join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
    eprintln!("skipped: {} is missing; MASKWRIGHT_DATA names the folder", path.display());
    None
}

/// Returns the reason with its quoted parts taken out, so that equal ones can be counted.
fn kind_of(error: &SchemaError) -> String {
    let reason: String = error.reason().split('"').step_by(2).collect::<Vec<_>>().join("…");
    format!("{}: {reason}", error.keyword().unwrap_or("-"))
}

#[derive(Default)]
struct Counts {
    n_read: usize,
    n_sub_schemas: usize,
    refused: BTreeMap<String, Vec<String>>,
    annotations: BTreeMap<String, usize>,
    foreign: BTreeMap<String, usize>,
}

impl Counts {
    fn add(&mut self, id: &str, result: Result<SchemaModel, SchemaError>) {
        match result {
            Ok(model) => {
                self.n_read += 1;
                self.n_sub_schemas += model.n_schemas();
                for (_, word, _) in model.annotations() {
                    *self.annotations.entry(word.to_owned()).or_default() += 1;
                }
                for (_, schema) in model.schemas() {
                    for entry in schema.entries().iter().filter(|entry| entry.is_foreign) {
                        let word = model.json(schema.document()).key_of(entry.value).unwrap();
                        *self.foreign.entry(format!("{word} in {}", schema.draft())).or_default() += 1;
                    }
                }
            }
            Err(error) => self.refused.entry(kind_of(&error)).or_default().push(format!("{id}: {error}")),
        }
    }

    fn n_refused(&self) -> usize {
        self.refused.values().map(Vec::len).sum()
    }

    /// The metaschemas are not among the data.
    fn assert_only_metaschemas_are_missing(&self) {
        for error in self.refused.values().flatten() {
            assert!(
                error.contains("needs the document \"http") && error.contains("://json-schema.org/draft"),
                "{error}"
            );
        }
    }

    fn print(&self, title: &str) {
        println!("{title}: {} read, {} sub-schemas, {} refused", self.n_read, self.n_sub_schemas, self.n_refused());
        for (kind, all) in &self.refused {
            println!("  {} {kind}", all.len());
            for one in all.iter().take(3) {
                println!("      {}", one.chars().take(250).collect::<String>());
            }
        }
        for (title, counts) in [("foreign keywords", &self.foreign), ("annotations", &self.annotations)] {
            let mut most: Vec<_> = counts.iter().collect();
            most.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
            let most: Vec<_> = most.iter().take(40).map(|(word, n)| format!("{word} {n}")).collect();
            println!("  {title}: {}", most.join(", "));
        }
    }
}

/// Returns the text of a member of an object.
fn member_text<'a>(json: &'a Json, name: &str) -> &'a str {
    let span = json.span(json.member(json.root(), name).expect("the member is there"));
    &json.source()[span.start as usize..span.end as usize]
}

#[test]
fn real_schemas() {
    let Some(path) = data("maskbench-dev.jsonl.gz") else { return };
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(fs::File::open(path).unwrap())).lines();
    let limits = Limits::default();
    let mut counts = Counts::default();
    for line in lines {
        let line = line.unwrap();
        let json = Json::parse(&line, &limits).unwrap();
        let Value::String(id) = json.value(json.member(json.root(), "id").unwrap()) else {
            panic!("an id is a string")
        };
        let schema = Json::parse(member_text(&json, "schema"), &limits).unwrap();
        let copied = serde_json::from_str::<serde_json::Value>(schema.source());
        // The other reader gives up at 128 levels.
        if let Ok(value) = copied
            && schema.duplicates().is_empty()
        {
            let copied = Json::from_value(&value, &limits).unwrap();
            assert_eq!(copied.n_values(), schema.n_values(), "{id}");
        }
        counts.add(id, SchemaModel::read(schema, &ReadOptions::default(), &NoDocuments, &limits));
    }
    counts.print("real schemas");
    assert!(counts.n_read > 0);
    counts.assert_only_metaschemas_are_missing();
}

/// The remotes of the official suite, at the address that it gives them.
struct Remotes(HashMap<String, String>);

impl Remotes {
    fn read(folder: &Path) -> Remotes {
        let read = |path: PathBuf| {
            let name = path.strip_prefix(folder).unwrap().components().map(|part| part.as_os_str().to_str().unwrap());
            let name = name.collect::<Vec<_>>().join("/");
            (format!("http://localhost:1234/{name}"), fs::read_to_string(path).unwrap())
        };
        Remotes(files(folder).into_iter().map(read).collect())
    }
}

impl Resolve for Remotes {
    fn resolve(&self, uri: &str) -> Option<Source> {
        self.0.get(uri).map(|text| text.as_str().into())
    }
}

/// Returns all JSON files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn official_suite() {
    let Some(path) = data("json-schema-test-suite") else { return };
    let remotes = Remotes::read(&path.join("remotes"));
    let limits = Limits::default();
    for (name, draft) in [("draft2020-12", Draft::Draft2020), ("draft7", Draft::Draft7)] {
        let mut counts = Counts::default();
        let folder = path.join("tests").join(name);
        for file in files(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            let groups = Json::parse(&text, &limits).unwrap();
            let Value::Array(items) = groups.value(groups.root()) else { panic!("a file is a list") };
            for &group in items {
                let Value::String(title) = groups.value(groups.member(group, "description").unwrap()) else { panic!() };
                let span = groups.span(groups.member(group, "schema").unwrap());
                let schema = Json::parse(&text[span.start as usize..span.end as usize], &limits).unwrap();
                let id = format!("{} {title}", file.strip_prefix(&folder).unwrap().display());
                let options = ReadOptions { draft, ..ReadOptions::default() };
                let result = SchemaModel::read(schema, &options, &remotes, &limits);
                counts.add(&id, result);
            }
        }
        counts.print(name);
        counts.assert_only_metaschemas_are_missing();
        assert!(counts.n_read > 0);
    }
}
