//! The allowed dependencies between modules: a new edge is a decision, made here. Within a module, files form no circles.
//!
//! Only code counts: neither comments nor unit tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each module with the modules that it may use, in the order of the layers.
const ALLOWED: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("util", &[]),
    ("regular", &["limits", "util"]),
    ("schema_options", &[]),
    ("grammar", &["limits", "util", "regular", "schema_options"]),
    ("frontend", &["limits", "util", "regular", "schema_options", "grammar"]),
    ("machine", &["util"]),
    ("pass", &["limits", "util", "regular", "grammar", "machine"]),
    ("json_schema", &["limits", "util", "regular", "schema_options", "frontend", "machine", "pass"]),
    ("structural_tag", &["limits", "util", "regular", "schema_options", "grammar", "frontend", "pass", "json_schema"]),
    ("automaton", &["limits", "util", "machine", "pass"]),
    ("exec", &["util", "machine", "automaton"]),
    ("vocab", &["util"]),
    ("logits", &["util"]),
    ("mask", &["util", "machine", "automaton", "exec", "vocab", "logits"]),
    ("compiled", &["limits", "util", "grammar", "json_schema", "pass", "automaton", "vocab", "mask"]),
    ("matcher", &["util", "machine", "automaton", "exec", "vocab", "mask", "compiled"]),
    (
        "compiler",
        &[
            "limits",
            "util",
            "grammar",
            "frontend",
            "json_schema",
            "pass",
            "structural_tag",
            "automaton",
            "vocab",
            "mask",
            "compiled",
        ],
    ),
    // The reference recognizer shares nothing with the engine but their input.
    ("reference", &["limits", "util", "regular", "grammar", "vocab"]),
    ("diagnose", &["limits", "util", "regular", "grammar", "json_schema", "vocab", "matcher", "reference"]),
    (
        "testing",
        &[
            "limits",
            // Its thresholds, to make them small.
            "util",
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
            "compiled",
            "matcher",
            "compiler",
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
    "within",
    "error",
    "read",
    "resolve",
    "metaschemas",
    "text_position",
    "wrapper",
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
    "applicable",
    "lint",
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
    ("CompiledGrammar", "compiled"),
    ("Config", "compiler"),
    ("Dump", "compiled"),
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

fn source() -> PathBuf {
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
    if is_code(path) {
        *code += &without_tests(&std::fs::read_to_string(path).unwrap());
    }
}

/// Tells whether a file is one of code that is not only for tests.
fn is_code(path: &Path) -> bool {
    let is_test = path.file_stem().is_some_and(|name| name == "tests" || name == "naive");
    !is_test && path.extension().is_some_and(|extension| extension == "rs")
}

/// Returns the code of a file, without comments and unit tests: these are at its end.
fn without_tests(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
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
        if name == "lib" {
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

/// Modules whose files may still form circles.
const WITH_CIRCLES: &[&str] = &["json_schema"];

/// The path of a module, from the root of the crate: `["mask", "walk"]`; that of a name in it likewise.
type Names = Vec<String>;

/// A file of code: what it defines, imports and mentions.
struct File {
    items: BTreeSet<String>,
    /// Names that it imports, each with the path behind it and whether others see it.
    imports: Vec<(String, Names, bool)>,
    /// Paths in its code, beside imports.
    paths: Vec<Names>,
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the paths of a tree of imports, each with the name by which it is known.
fn leaves(tree: &str, above: &[String], found: &mut Vec<(String, Names)>) {
    let tree = tree.trim();
    let (mut depth, mut from) = (0, 0);
    let mut parts = Vec::new();
    for (at, c) in tree.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            parts.push(&tree[from..at]);
            from = at + 1;
        }
    }
    parts.push(&tree[from..]);
    if parts.len() > 1 {
        return parts.iter().for_each(|part| leaves(part, above, found));
    }
    let (path, list) = tree.split_once('{').map_or((tree, None), |(path, list)| (path, Some(list)));
    let (path, alias) = path.split_once(" as ").map_or((path, None), |(path, alias)| (path, Some(alias.trim())));
    let mut names = above.to_vec();
    names.extend(path.split("::").map(|name| name.trim().to_string()).filter(|name| !name.is_empty()));
    match list {
        Some(list) => leaves(list.trim_end().trim_end_matches('}'), &names, found),
        None => {
            if names.last().is_some_and(|last| last == "self") {
                names.pop();
            }
            if let Some(last) = names.last() {
                found.push((alias.unwrap_or(last).to_string(), names));
            }
        }
    }
}

impl File {
    fn of(code: &str) -> File {
        let mut file = File { items: BTreeSet::new(), imports: Vec::new(), paths: Vec::new() };
        let mut rest = String::new();
        let mut statement: Option<String> = None;
        for line in code.lines() {
            let word_after = |line: &str, word: &str| {
                let rest =
                    line.split_once(word).filter(|(before, _)| before.chars().all(|c| is_name(c) || " ()".contains(c)));
                rest.map(|(_, rest)| rest.chars().take_while(|&c| is_name(c)).collect::<String>())
            };
            if statement.is_none() && (line.starts_with("use ") || line.starts_with("pub") && line.contains(" use ")) {
                statement = Some(String::new());
            }
            if let Some(text) = &mut statement {
                *text += line;
                *text += " ";
                if line.trim_end().ends_with(';') {
                    let is_seen = text.starts_with("pub");
                    let tree = text.split_once("use ").unwrap().1.trim_end().trim_end_matches(';').to_string();
                    let mut found = Vec::new();
                    leaves(&tree, &[], &mut found);
                    file.imports.extend(found.into_iter().map(|(name, path)| (name, path, is_seen)));
                    statement = None;
                }
                continue;
            }
            if !line.starts_with(' ') {
                let kinds = ["struct ", "enum ", "trait ", "fn ", "type ", "const ", "static "];
                let item = kinds.iter().filter_map(|kind| word_after(line, kind)).find(|name| !name.is_empty());
                file.items.extend(item);
            }
            rest += line;
            rest += "\n";
        }
        let mut words = rest.split(|c: char| !is_name(c) && c != ':').filter(|word| word.contains("::"));
        file.paths = words
            .by_ref()
            .map(|path| path.split("::").map(str::to_string).collect::<Names>())
            .filter(|path| path.len() > 1 && !path[0].is_empty())
            .collect();
        file
    }
}

/// The files of a crate by module.
type Files = BTreeMap<Names, File>;

/// Returns the path of a module or name from the root of the crate, as `module` means it; nothing if it belongs to another crate.
fn from_root(files: &Files, module: &[String], path: &[String], depth: usize) -> Option<Names> {
    let n_up = path.iter().take_while(|name| *name == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => Some([&module[..module.len().checked_sub(n_up)?], &path[n_up..]].concat()),
        first => {
            let child = [module, &[first.to_string()]].concat();
            if files.contains_key(&child) {
                return Some([module, path].concat());
            }
            let (_, imported, _) = files.get(module)?.imports.iter().find(|(name, ..)| name == first)?;
            // A name that means itself belongs to another crate.
            let whole =
                (depth < 8 && imported[0] != first).then(|| from_root(files, module, imported, depth + 1))??;
            Some([&whole[..], &path[1..]].concat())
        }
    }
}

/// Returns the module that defines what a path from the root means, and whether the path means a module itself.
fn home_of(files: &Files, path: &[String], depth: usize) -> Option<(Names, bool)> {
    let n_modules = (0..=path.len()).rev().find(|&n| files.contains_key(&path[..n]))?;
    let (module, rest) = path.split_at(n_modules);
    let Some(name) = rest.first() else { return Some((module.to_vec(), true)) };
    let file = &files[module];
    if !file.items.contains(name)
        && depth < 8
        && let Some((_, imported, _)) = file.imports.iter().find(|(known, ..)| known == name)
        && let Some(whole) = from_root(files, module, imported, 0)
    {
        return home_of(files, &whole, depth + 1);
    }
    Some((module.to_vec(), false))
}

/// Returns the modules that the code of each file needs; what it only hands on to others does not count.
fn needs(files: &Files) -> BTreeMap<&Names, BTreeSet<Names>> {
    let of_file = |(module, file): (&'_ Names, &'_ File)| {
        let imports = file.imports.iter().filter(|(.., is_seen)| !is_seen).map(|(_, path, _)| (path, true));
        let all = imports.chain(file.paths.iter().map(|path| (path, false)));
        let homes = all.filter_map(|(path, is_import)| {
            let (home, is_module) = home_of(files, &from_root(files, module, path, 0)?, 0)?;
            // An imported module shows in the paths that begin with it.
            (!(is_module && is_import) && home != *module && !home.is_empty()).then_some(home)
        });
        homes.collect::<BTreeSet<_>>()
    };
    files.iter().map(|entry| (entry.0, of_file(entry))).collect()
}

/// Returns a circle among files, if there is one: each needs the next, and the last the first.
fn circle(files: &Files) -> Option<Vec<String>> {
    let needs = needs(files);
    let mut left: BTreeSet<&Names> = files.keys().collect();
    loop {
        // A file that needs none of those left is on no circle.
        let is_done = |module: &&Names| needs[*module].iter().all(|other| !left.contains(other));
        let done: Vec<&Names> = left.iter().copied().filter(is_done).collect();
        if done.is_empty() {
            break;
        }
        done.iter().for_each(|module| _ = left.remove(*module));
    }
    let mut way = vec![*left.first()?];
    loop {
        let next = needs[*way.last().unwrap()].iter().find_map(|other| left.get(other)).unwrap();
        if let Some(at) = way.iter().position(|module| module == next) {
            return Some(way[at..].iter().map(|module| module.join("/")).collect());
        }
        way.push(next);
    }
}

/// Adds the files of a folder, whose module has this path.
fn read_files(path: &Path, module: &[String], files: &mut Files) {
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let is_left_out = module.is_empty() && WITH_CIRCLES.contains(&name.as_str());
        let inner = [module, core::slice::from_ref(&name)].concat();
        if path.is_dir() && !is_left_out {
            read_files(&path, &inner, files);
        } else if is_code(&path) && !is_left_out {
            let module = if name == "mod" || name == "lib" { module.to_vec() } else { inner };
            files.insert(module, File::of(&without_tests(&std::fs::read_to_string(&path).unwrap())));
        }
    }
}

#[test]
fn files_form_no_circles() {
    let mut files = Files::new();
    read_files(&source(), &[], &mut files);
    assert!(files.len() > 100, "the files were found");
    let n_needs: usize = needs(&files).values().map(BTreeSet::len).sum();
    assert!(n_needs > 300, "only {n_needs} needs were found");
    if let Some(circle) = circle(&files) {
        panic!("each of these files uses the next, and the last the first: {}", circle.join(" -> "));
    }
}

#[test]
fn circles_of_files_are_found() {
    let files = |sources: &[(&str, &str)]| -> Files {
        let of = |(path, code): &(&str, &str)| {
            (path.split('/').filter(|name| !name.is_empty()).map(str::to_string).collect(), File::of(code))
        };
        sources.iter().map(of).collect()
    };
    let a_by_b = ("m/a", "use super::b::B;\npub struct A(B);");
    let parent = ("m", "mod a;\nmod b;\npub use a::A;");
    assert_eq!(circle(&files(&[parent, a_by_b, ("m/b", "pub struct B;")])), None);
    for b in [
        "use super::A;\npub struct B(A);",
        "use crate::m::{a as x, a::A as Y};\npub struct B(Y);",
        "struct B(super::A);",
    ] {
        assert_eq!(circle(&files(&[parent, a_by_b, ("m/b", b)])), Some(vec!["m/a".into(), "m/b".into()]), "{b}");
    }
    let of_parent = ("m/c", "use super::Own;\nfn f(own: Own) {}");
    assert_eq!(circle(&files(&[("m", "mod c;\npub struct Own;\npub use c::f;"), of_parent])), None);
    assert!(circle(&files(&[("m", "mod c;\npub struct Own;\nfn g() { c::f(Own) }"), of_parent])).is_some());
}
