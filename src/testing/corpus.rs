//! Corpora of schemas with instances.

use crate::Limits;
use crate::json_schema::{Json, Value, ValueId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Returns the path of a data set: in the folder that `MASKWRIGHT_DATA` names, else in `../shared/data` beside the repository. Prints a
/// notice if it is missing.
///
/// # Panics
/// If it is missing under `CI=true`.
pub fn data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("MASKWRIGHT_DATA").map_or_else(beside, PathBuf::from).join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
    eprintln!("skipped: {} is missing; MASKWRIGHT_DATA names the folder", path.display());
    None
}

/// Returns all JSON files below a folder, in order.
///
/// # Panics
/// If a folder can't be read.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
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

/// Returns the remotes of the official suite, by the address that it gives them.
///
/// # Panics
/// If a file can't be read.
pub fn remotes(folder: &Path) -> HashMap<String, String> {
    let read = |path: &PathBuf| {
        let parts = path.strip_prefix(folder).expect("the file is below the folder").iter();
        let name = parts.map(|part| part.to_str().expect("a name is UTF-8")).collect::<Vec<_>>().join("/");
        (format!("http://localhost:1234/{name}"), std::fs::read_to_string(path).expect("the file can be read"))
    };
    files(folder).iter().map(read).collect()
}

/// A value with the expected verdict of a schema.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The description; may be empty.
    pub title: String,
    /// Whether the value is valid.
    pub is_valid: bool,
    /// The value.
    pub json: Json,
}

/// A schema with instances.
#[derive(Clone, Debug)]
pub struct SchemaCase {
    /// Its name.
    pub id: String,
    /// The schema as written.
    pub schema: String,
    /// Instances.
    pub instances: Vec<Instance>,
}

impl SchemaCase {
    /// Reads an object with a schema under `schema` (or `json_schema`), instances under `tests` and, under `id` or
    /// `description`, a name; `name` if it has none.
    ///
    /// # Errors
    /// If the text has another form; the message says what is wrong.
    pub fn parse(text: &str, name: &str) -> Result<SchemaCase, String> {
        let limits = Limits::default();
        let json = Json::parse(text, &limits).map_err(|error| error.to_string())?;
        SchemaCase::read(&json, json.root(), name)
    }

    /// Reads a list of such objects, as the files of the official suite are.
    ///
    /// # Errors
    /// If the text has another form; the message says what is wrong.
    pub fn parse_list(text: &str) -> Result<Vec<SchemaCase>, String> {
        let json = Json::parse(text, &Limits::default()).map_err(|error| error.to_string())?;
        let Value::Array(items) = json.value(json.root()) else { return Err("not a list".to_owned()) };
        items.iter().map(|&item| SchemaCase::read(&json, item, "")).collect()
    }

    fn read(json: &Json, at: ValueId, name: &str) -> Result<SchemaCase, String> {
        let text_of = |at: ValueId, keys: &[&str]| {
            keys.iter().find_map(|key| match json.value(json.member(at, key)?) {
                Value::String(text) => Some(text.to_owned()),
                _ => None,
            })
        };
        let member = |at: ValueId, keys: &[&str]| {
            let found = keys.iter().find_map(|key| json.member(at, key));
            found.ok_or_else(|| format!("`{}` is missing", keys[0]))
        };
        let source = |id: ValueId| &json.source()[json.span(id).start as usize..json.span(id).end as usize];
        let schema = source(member(at, &["schema", "json_schema"])?).to_owned();
        let Value::Array(tests) = json.value(member(at, &["tests"])?) else { return Err("`tests` is no list".into()) };
        let instance = |&test: &ValueId| {
            let Value::Bool(is_valid) = json.value(member(test, &["valid"])?) else {
                return Err("`valid` is neither true nor false".to_owned());
            };
            let data = source(member(test, &["data"])?);
            let json = Json::parse(data, &Limits::default()).map_err(|error| error.to_string())?;
            Ok(Instance { title: text_of(test, &["description"]).unwrap_or_default(), is_valid, json })
        };
        let instances = tests.iter().map(instance).collect::<Result<_, String>>()?;
        let id = text_of(at, &["id", "description"]).unwrap_or_else(|| name.to_owned());
        Ok(SchemaCase { id, schema, instances })
    }
}
