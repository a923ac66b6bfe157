//! Reads real schemas and the official suite into the model, and counts the errors.
//!
//! Without the data, see [`maskwright::testing::corpus::data`], the tests say that they were skipped; under `CI=true`
//! that is a failure.

use maskwright::Limits;
use maskwright::json_schema::{Draft, Json, NoDocuments, ReadOptions, SchemaError, SchemaModel, Source, Value};
use maskwright::testing::corpus::{data, files, remotes};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};

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
    assert_eq!(counts.n_refused(), 0);
}

#[test]
fn official_suite() {
    let Some(path) = data("json-schema-test-suite") else { return };
    let remotes = remotes(&path.join("remotes"));
    let resolver = |uri: &str| remotes.get(uri).map(|text| Source::from(text.as_str()));
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
                let result = SchemaModel::read(schema, &options, &resolver, &limits);
                counts.add(&id, result);
            }
        }
        counts.print(name);
        assert_eq!(counts.n_refused(), 0);
        assert!(counts.n_read > 0);
    }
}
