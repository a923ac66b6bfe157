//! Random JSON Schemas and values, so small that many values are valid.

use super::Rng;
use super::validator::PATTERNS;

const NAMES: [&str; 5] = ["a", "b", "ab", "c", "x-1"];
const TEXTS: [&str; 8] = ["", "a", "b", "ab", "abab", "ba1", "é", "x-1"];
const NUMBERS: [&str; 10] = ["0", "1", "2", "3", "-1", "0.5", "1.5", "10", "-2.5", "7"];
const DIVISORS: [&str; 9] = ["1", "2", "0.5", "3", "0.1", "11", "5003", "6.007", "1000003"];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const N_DEFINITIONS: usize = 2;

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\"))
}

fn list(rng: &mut Rng, n_min: usize, n_max: usize, mut one: impl FnMut(&mut Rng) -> String) -> String {
    let items: Vec<String> = (0..rng.between(n_min, n_max)).map(|_| one(rng)).collect();
    format!("[{}]", items.join(","))
}

/// Returns an object with some of `names` as its keys.
fn map(rng: &mut Rng, names: &[&str], n_max: usize, mut one: impl FnMut(&mut Rng) -> String) -> String {
    let mut members: Vec<(&str, String)> = Vec::new();
    for _ in 0..rng.between(1, n_max) {
        let name = names[rng.below(names.len())];
        if members.iter().all(|(other, _)| *other != name) {
            members.push((name, one(rng)));
        }
    }
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// Returns a JSON value without white space.
pub fn random_value(rng: &mut Rng, depth: usize) -> String {
    match rng.below(if depth == 0 { 7 } else { 12 }) {
        0 => "null".to_owned(),
        1 => ["true", "false"][rng.below(2)].to_owned(),
        2..=3 => NUMBERS[rng.below(NUMBERS.len())].to_owned(),
        4..=6 => quoted(TEXTS[rng.below(TEXTS.len())]),
        7..=8 => list(rng, 0, 3, |rng| random_value(rng, depth - 1)),
        9 => "{}".to_owned(),
        _ => map(rng, &NAMES, 3, |rng| random_value(rng, depth - 1)),
    }
}

/// Returns a schema of draft 2020-12 with references to its own definitions.
pub fn random_schema(rng: &mut Rng) -> String {
    let depth = rng.between(1, 3);
    let body = schema(rng, depth);
    let Some(rest) = body.strip_prefix('{') else { return body };
    let definitions: Vec<String> =
        (0..N_DEFINITIONS).map(|index| format!("\"d{index}\":{}", schema(rng, depth.min(2)))).collect();
    let comma = if rest == "}" { "" } else { "," };
    format!("{{\"$defs\":{{{}}}{comma}{rest}", definitions.join(","))
}

fn schema(rng: &mut Rng, depth: usize) -> String {
    if rng.chance(6) {
        return ["true", "false"][rng.below(2)].to_owned();
    }
    let mut members: Vec<(&str, String)> = Vec::new();
    let focus = rng.below(5);
    if rng.chance(60) {
        let of_focus =
            [TYPES[rng.below(TYPES.len())], ["number", "integer"][rng.below(2)], "string", "array", "object"];
        let one = quoted(of_focus[focus]);
        let other = quoted(TYPES[rng.below(TYPES.len())]);
        members.push(("type", if rng.chance(80) || one == other { one } else { format!("[{one},{other}]") }));
    }
    for _ in 0..rng.between(1, 4) {
        let focus = if rng.chance(75) { focus } else { rng.below(5) };
        let (keyword, value) = match focus {
            0 => of_any(rng, depth),
            1 => of_numbers(rng),
            2 => of_strings(rng),
            3 => of_arrays(rng, depth),
            _ => of_objects(rng, depth),
        };
        let has = |name: &str| members.iter().any(|(other, _)| *other == name);
        if has(keyword) {
            continue;
        }
        // Items with small domains are frequent.
        if keyword == "uniqueItems" && !has("items") && rng.chance(60) {
            members.push(("items", if rng.chance(50) { scalar(rng) } else { inner(rng, depth) }));
        }
        members.push((keyword, value));
    }
    let parts: Vec<String> = members.iter().map(|(keyword, value)| format!("\"{keyword}\":{value}")).collect();
    format!("{{{}}}", parts.join(","))
}

/// Returns a subschema, a trivial one at the greatest depth.
fn inner(rng: &mut Rng, depth: usize) -> String {
    match depth {
        0 => match rng.below(4) {
            0 => "true".to_owned(),
            1 => format!("{{\"type\":{}}}", quoted(TYPES[rng.below(TYPES.len())])),
            2 => format!("{{\"const\":{}}}", random_value(rng, 0)),
            _ => format!("{{\"enum\":{}}}", list(rng, 1, 3, |rng| random_value(rng, 0))),
        },
        _ => schema(rng, depth - 1),
    }
}

/// Returns a schema of strings, numbers and words.
fn scalar(rng: &mut Rng) -> String {
    let name = quoted(TYPES[rng.below(5)]);
    let (keyword, value) = if rng.chance(50) { of_numbers(rng) } else { of_strings(rng) };
    match rng.below(3) {
        0 => format!("{{\"type\":{name}}}"),
        1 => format!("{{\"type\":{name},\"{keyword}\":{value}}}"),
        _ => format!("{{\"enum\":{}}}", list(rng, 1, 4, |rng| random_value(rng, 0))),
    }
}

fn count(rng: &mut Rng) -> String {
    rng.below(4).to_string()
}

fn of_any(rng: &mut Rng, depth: usize) -> (&'static str, String) {
    match rng.below(10) {
        0 => ("const", random_value(rng, 1)),
        1 | 2 => ("enum", list(rng, 1, 4, |rng| random_value(rng, 1))),
        3 => ("allOf", list(rng, 1, 3, |rng| inner(rng, depth))),
        4 => ("anyOf", list(rng, 1, 3, |rng| inner(rng, depth))),
        5 => ("oneOf", list(rng, 1, 3, |rng| inner(rng, depth))),
        6 => ("not", inner(rng, depth)),
        7 => {
            let (test, then, otherwise) = (inner(rng, depth), inner(rng, depth), inner(rng, depth));
            let parts = match rng.below(3) {
                0 => format!("{test},\"then\":{then}"),
                1 => format!("{test},\"else\":{otherwise}"),
                _ => format!("{test},\"then\":{then},\"else\":{otherwise}"),
            };
            ("if", parts)
        }
        _ => ("$ref", format!("\"#/$defs/d{}\"", rng.below(N_DEFINITIONS))),
    }
}

fn of_numbers(rng: &mut Rng) -> (&'static str, String) {
    match rng.below(5) {
        0 => ("multipleOf", DIVISORS[rng.below(DIVISORS.len())].to_owned()),
        1 => ("minimum", NUMBERS[rng.below(NUMBERS.len())].to_owned()),
        2 => ("maximum", NUMBERS[rng.below(NUMBERS.len())].to_owned()),
        3 => ("exclusiveMinimum", NUMBERS[rng.below(NUMBERS.len())].to_owned()),
        _ => ("exclusiveMaximum", NUMBERS[rng.below(NUMBERS.len())].to_owned()),
    }
}

fn pattern(rng: &mut Rng) -> &'static str {
    rng.pick(PATTERNS).0
}

fn of_strings(rng: &mut Rng) -> (&'static str, String) {
    match rng.below(4) {
        0 => ("minLength", count(rng)),
        1 => ("maxLength", count(rng)),
        _ => ("pattern", quoted(pattern(rng))),
    }
}

fn of_arrays(rng: &mut Rng, depth: usize) -> (&'static str, String) {
    match rng.below(8) {
        0 => ("minItems", count(rng)),
        1 => ("maxItems", count(rng)),
        2 => ("uniqueItems", "true".to_owned()),
        3 => ("prefixItems", list(rng, 1, 3, |rng| inner(rng, depth))),
        4 => ("unevaluatedItems", inner(rng, depth)),
        5 => {
            let wanted = inner(rng, depth);
            let parts = match rng.below(3) {
                0 => wanted,
                1 => format!("{wanted},\"minContains\":{}", count(rng)),
                _ => format!("{wanted},\"maxContains\":{}", count(rng)),
            };
            ("contains", parts)
        }
        _ => ("items", inner(rng, depth)),
    }
}

fn of_objects(rng: &mut Rng, depth: usize) -> (&'static str, String) {
    let names = |rng: &mut Rng| {
        let mut names: Vec<String> = (0..rng.between(1, 2)).map(|_| quoted(NAMES[rng.below(NAMES.len())])).collect();
        names.dedup();
        format!("[{}]", names.join(","))
    };
    match rng.below(12) {
        0..=2 => ("properties", map(rng, &NAMES, 3, |rng| inner(rng, depth))),
        3 => {
            let patterns: Vec<&str> = PATTERNS.iter().map(|(pattern, _)| *pattern).collect();
            ("patternProperties", map(rng, &patterns, 2, |rng| inner(rng, depth)))
        }
        4 => ("additionalProperties", inner(rng, depth)),
        5 => ("propertyNames", inner(rng, depth)),
        6 | 7 => ("required", names(rng)),
        8 => ("minProperties", count(rng)),
        9 => ("maxProperties", count(rng)),
        10 => match rng.chance(50) {
            true => ("dependentRequired", map(rng, &NAMES, 2, names)),
            false => ("dependentSchemas", map(rng, &NAMES, 2, |rng| inner(rng, depth))),
        },
        _ => ("unevaluatedProperties", inner(rng, depth)),
    }
}
