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
    // A compiled grammar makes matchers, and a matcher holds its grammar: the only cycle.
    (
        "compiler",
        &["limits", "util", "grammar", "frontend", "json_schema", "pass", "automaton", "vocab", "mask", "matcher"],
    ),
    ("matcher", &["util", "machine", "automaton", "exec", "vocab", "mask", "compiler"]),
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
            "compiler",
            "matcher",
            "reference",
        ],
    ),
];

/// The modules within `json_schema`, in the order of their layers: each uses only those before it, so that there are no circles.
const JSON_SCHEMA: &[&str] = &[
    "decimal",
    "uri",
    "draft",
    "value",
    "error",
    "read",
    "resolve",
    "metaschemas",
    "options",
    "format",
    "number",
    "model",
    "conjunction",
    "shape",
    "language",
    "partial",
    "keywords",
    "load",
    "equal",
    "report",
    "expand",
    "lower",
    "contradiction",
    "compile",
];

/// Names that the crate's root re-exports.
const HOMES: &[(&str, &str)] = &[
    ("Limits", "limits"),
    ("BuildError", "compiler"),
    ("CompileError", "compiler"),
    ("CompileOptions", "compiler"),
    ("CompiledGrammar", "compiler"),
    ("Config", "compiler"),
    ("Dump", "compiler"),
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

/// Returns the names that follow `prefix` in paths of `code`, each up to its first `::`.
fn names_after(code: &str, prefix: &str) -> BTreeSet<String> {
    // The same algorithm as for the crate's modules, where no name has a home elsewhere.
    let is_start =
        |before: &str| !before.ends_with("::") && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut found = BTreeSet::new();
    let mut read = 0;
    while let Some(at) = code[read..].find(prefix).map(|at| read + at) {
        read = at + prefix.len();
        if is_start(&code[..at]) {
            found.extend(used_in(&format!("crate::{}", code[read..].split(';').next().unwrap_or(""))));
        }
    }
    found
}

/// Returns the modules of `json_schema` that a file or folder in it uses; `depth` is the depth of the files below `json_schema`.
fn used_within_json_schema(path: &Path, depth: usize) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap().path();
            let is_parent = entry.file_stem().unwrap() == "mod";
            used.append(&mut used_within_json_schema(&entry, depth + usize::from(!is_parent)));
        }
        return used;
    }
    let mut code = String::new();
    code_of(path, &mut code);
    used.append(&mut names_after(&code, "crate::json_schema::"));
    used.append(&mut names_after(&code, &"super::".repeat(depth)));
    // One `super` more leads out of `json_schema`, and `*` names nothing.
    used.remove("super");
    used.remove("");
    used
}

#[test]
fn json_schema_has_no_circles() {
    let folder = source().join("json_schema");
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if name == "mod" {
            continue;
        }
        let layer = JSON_SCHEMA.iter().position(|known| *known == name);
        let layer = layer.unwrap_or_else(|| panic!("module `json_schema::{name}` is not in the list"));
        for used in used_within_json_schema(&path, 1).iter().filter(|used| **used != name) {
            let below = JSON_SCHEMA.iter().position(|known| known == used);
            let below = below.unwrap_or_else(|| panic!("`json_schema::{name}` names `{used}`, but not its module"));
            assert!(below < layer, "`json_schema::{name}` uses `{used}`, which comes after it");
        }
        seen.insert(name);
    }
    assert_eq!(seen, JSON_SCHEMA.iter().map(|name| name.to_string()).collect());
}

#[test]
fn paths_are_found() {
    let code =
        "use crate::util::Span;\nuse crate::{Limits, grammar::{Expr, Rule}, mask};\nlet x = crate::vocab::lead(1);";
    let used: Vec<String> = used_in(code).into_iter().collect();
    assert_eq!(used, ["grammar", "limits", "mask", "util", "vocab"]);
    let code = "use super::super::value::Json;\nuse super::super::{model::{A, B}, shape};\nuse super::near;";
    assert_eq!(names_after(code, "super::super::").into_iter().collect::<Vec<_>>(), ["model", "shape", "value"]);
}
