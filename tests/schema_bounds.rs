//! Hostile JSON Schemas, and large ones that people write: with default limits each has an answer within two seconds and 300 MB.
//!
//! Each hostile schema is compiled by a child of this test binary under a limited address space, so that a failed allocation shows.

use maskwright::json_schema::SchemaOptions;
use maskwright::testing::slowness;
use maskwright::{CompileError, CompileOptions, GrammarCompiler, Vocab};
use std::fmt::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The address space of a child, in kilobytes.
const ADDRESS_SPACE_KB: usize = 1 << 20;
/// Most memory that a compile may add to a child, in kilobytes.
const RESIDENT_KB_MAX: usize = 300 << 10;
/// Most processor time of a compile where the machine is as fast as usual ([`slowness`]).
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// How often a compile is measured, at most: other programs that share the caches make some take twice as long.
const MEASUREMENTS_MAX: usize = 3;
/// Children at a time.
const CHILDREN: usize = 2;
/// The largest size.
const LARGE: usize = 30_000;
/// Says which schema a child compiles: its name, size, and `lenient` or `strict`.
const CHILD: &str = "MASKWRIGHT_SCHEMA_BOUNDS_CHILD";

fn compiler() -> GrammarCompiler {
    GrammarCompiler::new(Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap()))
}

/// Joins the outputs of `write` for each number below `n`.
fn list(n: usize, write: impl Fn(usize) -> String) -> String {
    (0..n).map(write).collect::<Vec<_>>().join(",")
}

fn nested(n: usize, open: &str, core: &str, close: &str) -> String {
    open.repeat(n) + core + &close.repeat(n)
}

/// Returns the schema of a pattern, which is written as within a JSON string.
fn pattern_schema(pattern: &str) -> String {
    format!(r#"{{"type":"string","pattern":"{pattern}"}}"#)
}

type Generator = fn(usize) -> String;

/// Generators of schemas of a size, of each keyword and of some together.
const HOSTILE: &[(&str, Generator)] = &[
    ("oneOf of constants", |n| {
        format!(r#"{{"oneOf":[{}]}}"#, list(n, |i| format!(r#"{{"const":"v{i}","title":"t"}}"#)))
    }),
    ("oneOf of constants of all types", |n| {
        let value = |i: usize| {
            [format!("{i}"), format!("\"s{i}\""), format!("[{i}]"), format!(r#"{{"a":{i}}}"#)][i % 4].clone()
        };
        format!(r#"{{"oneOf":[{}]}}"#, list(n, |i| format!(r#"{{"const":{}}}"#, value(i))))
    }),
    ("not an object among some of objects", |n| {
        format!(r#"{{"not":{{"enum":[{}]}}}}"#, list(n, |i| format!(r#"{{"a":{{"b":{i}}}}}"#)))
    }),
    ("one of some objects of objects, or any with their key", |n| {
        let constants = list(n, |i| format!(r#"{{"const":{{"a":{{"b":{i}}}}}}}"#));
        format!(r#"{{"oneOf":[{{"type":"object","required":["a"]}},{constants}]}}"#)
    }),
    ("a constant of many items", |n| format!(r#"{{"const":[{}]}}"#, list(20 * n, |i| format!("{i}")))),
    ("not a constant of many items", |n| format!(r#"{{"not":{{"const":[{}]}}}}"#, list(20 * n, |i| format!("{i}")))),
    ("oneOf of enums that overlap", |n| {
        format!(r#"{{"oneOf":[{}]}}"#, list(n, |i| format!(r#"{{"enum":["a{i}","a{}",{i}]}}"#, i + 1)))
    }),
    ("oneOf by a key", |n| {
        let branch = |i: usize| {
            format!(
                r##"{{"type":"object","properties":{{"k":{{"const":"k{i}"}},"c":{{"$ref":"#"}}}},"required":["k"]}}"##
            )
        };
        format!(r#"{{"oneOf":[{}]}}"#, list(n, branch))
    }),
    ("oneOf of required names", |n| format!(r#"{{"oneOf":[{}]}}"#, list(n, |i| format!(r#"{{"required":["a{i}"]}}"#)))),
    ("oneOf of patterns", |n| {
        format!(r#"{{"oneOf":[{}]}}"#, list(n, |i| format!(r#"{{"type":"string","pattern":"a{i}"}}"#)))
    }),
    ("oneOf in oneOf", |n| nested(n, r#"{"oneOf":[{"type":"null"},"#, r#"{"type":"string"}"#, "]}")),
    ("anyOf of required names", |n| format!(r#"{{"anyOf":[{}]}}"#, list(n, |i| format!(r#"{{"required":["a{i}"]}}"#)))),
    ("if by a key", |n| {
        let condition = |i: usize| {
            format!(
                r#"{{"if":{{"properties":{{"k":{{"const":"k{i}"}}}}}},"then":{{"required":["p{i}"]}},"else":{{"properties":{{"p{i}":false}}}}}}"#
            )
        };
        format!(r#"{{"type":"object","allOf":[{}]}}"#, list(n, condition))
    }),
    ("if on keys of their own", |n| {
        let condition =
            |i| format!(r#"{{"if":{{"required":["a{i}"]}},"then":{{"properties":{{"b{i}":{{"type":"integer"}}}}}}}}"#);
        format!(r#"{{"type":"object","allOf":[{}]}}"#, list(n, condition))
    }),
    ("else in else", |n| {
        let mut text = String::new();
        for i in 0..n {
            write!(text, r#"{{"if":{{"properties":{{"k":{{"const":"k{i}"}}}},"required":["k"]}},"then":{{"required":["p{i}"]}},"else":"#).unwrap();
        }
        text + r#"{"required":["z"]}"# + &"}".repeat(n)
    }),
    ("dependentRequired", |n| {
        format!(r#"{{"type":"object","dependentRequired":{{{}}}}}"#, list(n, |i| format!(r#""a{i}":["b{i}","c{i}"]"#)))
    }),
    ("dependentRequired of one name", |n| {
        format!(r#"{{"type":"object","dependentRequired":{{{}}}}}"#, list(n, |i| format!(r#""a{i}":["z"]"#)))
    }),
    ("dependentSchemas", |n| {
        let entry = |i: usize| format!(r#""a{i}":{{"properties":{{"b":{{"minimum":{i}}}}}}}"#);
        format!(r#"{{"type":"object","dependentSchemas":{{{}}}}}"#, list(n, entry))
    }),
    ("not of objects with one key", |n| {
        format!(r#"{{"not":{{"enum":[{}]}}}}"#, list(n, |i| format!(r#"{{"a":{i}}}"#)))
    }),
    ("not of objects with keys of their own", |n| {
        format!(r#"{{"not":{{"enum":[{}]}}}}"#, list(n, |i| format!(r#"{{"a{i}":{i},"b":[{i}]}}"#)))
    }),
    ("not of arrays", |n| format!(r#"{{"not":{{"enum":[{}]}}}}"#, list(n, |i| format!("[{i},{}]", i + 1)))),
    ("not of numbers", |n| format!(r#"{{"not":{{"enum":[{}]}}}}"#, list(n, |i| format!("{}", 3 * i)))),
    ("not of pairs of names", |n| {
        format!(r#"{{"not":{{"anyOf":[{}]}}}}"#, list(n, |i| format!(r#"{{"required":["a{i}","b{i}"]}}"#)))
    }),
    ("not of one of many", |n| {
        format!(r#"{{"not":{{"oneOf":[{}]}}}}"#, list(n, |i| format!(r#"{{"required":["a{i}"]}}"#)))
    }),
    ("not in not", |n| nested(n, r#"{"not":"#, r#"{"type":"string"}"#, "}")),
    ("enum of integers", |n| format!(r#"{{"enum":[{}]}}"#, list(n, |i| i.to_string()))),
    ("enum of numbers far apart", |n| format!(r#"{{"enum":[{}]}}"#, list(n, |i| (i * 7919 % 1_000_003).to_string()))),
    ("enum of objects", |n| format!(r#"{{"enum":[{}]}}"#, list(n, |i| format!(r#"{{"a":{i}}}"#)))),
    ("properties and required", |n| {
        let names = list(n, |i| format!("\"p{i}\""));
        format!(
            r#"{{"properties":{{{}}},"required":[{names}]}}"#,
            list(n, |i| format!(r#""p{i}":{{"minLength":{i}}}"#))
        )
    }),
    ("properties that contradict", |n| {
        let all = list(n, |i| format!(r#"{{"properties":{{"p":{{"enum":[{i},{}]}}}}}}"#, i + 1));
        format!(r#"{{"type":"object","required":["p"],"allOf":[{all}]}}"#)
    }),
    ("a wide anyOf under wide properties", |n| {
        let properties = list(n, |i| format!(r#""p{i}":{{"type":"string"}}"#));
        let branches = list(n, |i| format!(r#"{{"properties":{{"p{i}":{{"const":1}}}}}}"#));
        format!(r#"{{"type":"object","properties":{{{properties}}},"anyOf":[{branches}]}}"#)
    }),
    ("patterns in allOf beside enum", |n| {
        let patterns = list(n, |i| format!(r#"{{"pattern":"a{}.*b{i}"}}"#, i % 10));
        format!(r#"{{"allOf":[{patterns}],"enum":[{}]}}"#, list(n, |i| format!(r#""a{}xb{i}""#, i % 10)))
    }),
    ("choices of patterns beside each other", |n| {
        let choice = |i: usize| {
            format!(r#"{{"anyOf":[{{"pattern":"a{i}"}},{{"pattern":"{i}b"}},{{"not":{{"pattern":"{i}$"}}}}]}}"#)
        };
        format!(r#"{{"type":"string","allOf":[{}]}}"#, list(n, choice))
    }),
    ("choices of patterns with lengths", |n| {
        let branch = |i: usize| format!(r#"{{"pattern":"x{i}y","minLength":{},"maxLength":{}}}"#, i % 7, 20 + i);
        format!(r#"{{"type":"string","anyOf":[{}]}}"#, list(n, branch))
    }),
    ("a pattern of conditions", |n| pattern_schema(&r"a\\B".repeat(n.min(16_000)))),
    ("a pattern of conditions on what follows", |n| pattern_schema(&"(?!ab)[a-c]".repeat(n.min(5_000)))),
    ("copies of a condition", |n| pattern_schema(&format!("^(?:a(?!b)|c){{{n}}}$"))),
    ("copies of a condition that may be missing", |n| pattern_schema(&format!("^(?:(?!ab).){{0,{n}}}$"))),
    ("loops of conditions in a row", |n| pattern_schema(&"((?!ab).)*x".repeat(n.min(5_000)))),
    ("propertyNames beside patternProperties", |n| {
        let patterns = list(n, |i| format!(r#""a.*{i}":{{"minimum":{i}}}"#));
        format!(r#"{{"type":"object","propertyNames":{{"pattern":"^[a-z0-9]+$"}},"patternProperties":{{{patterns}}}}}"#)
    }),
    ("propertyNames of many patterns", |n| {
        let names = list(n, |i| format!(r#"{{"pattern":"a.*{i}"}}"#));
        format!(r#"{{"type":"object","propertyNames":{{"anyOf":[{names}]}},"patternProperties":{{"b":false}}}}"#)
    }),
    ("contains beside prefixItems", |n| {
        let items = list(n, |i| format!(r#"{{"minimum":{i}}}"#));
        format!(r#"{{"type":"array","prefixItems":[{items}],"contains":{{"const":{n}}},"minContains":{}}}"#, n / 2)
    }),
    ("unevaluatedProperties beside anyOf", |n| {
        let branches = list(n, |i| format!(r#"{{"properties":{{"a{i}":{{"type":"integer"}}}},"required":["a{i}"]}}"#));
        format!(r#"{{"type":"object","anyOf":[{branches}],"unevaluatedProperties":false}}"#)
    }),
    ("multipleOf beside bounds", |n| {
        let parts =
            list(n, |i| format!(r#"{{"minimum":{i}}},{{"maximum":{}}},{{"multipleOf":{}}}"#, 10 * n + i, 2 * i + 1));
        format!(r#"{{"type":"number","allOf":[{parts}]}}"#)
    }),
    ("choices of multipleOf", |n| {
        let choice = |i: usize| {
            format!(r#"{{"anyOf":[{{"multipleOf":{}}},{{"not":{{"multipleOf":{}}}}}]}}"#, 2 * i + 3, 3 * i + 5)
        };
        format!(r#"{{"type":"number","allOf":[{}]}}"#, list(n, choice))
    }),
    ("dependentSchemas beside oneOf", |n| {
        let entries = list(n, |i| format!(r#""a{i}":{{"required":["b{i}"]}}"#));
        let branches = list(n, |i| format!(r#"{{"required":["c{i}"],"properties":{{"a{i}":{{"const":{i}}}}}}}"#));
        format!(r#"{{"type":"object","dependentSchemas":{{{entries}}},"oneOf":[{branches}]}}"#)
    }),
    ("a long array", |n| format!(r#"{{"const":[{}]}}"#, list(10 * n, |_| "0".into()))),
    ("a long array of distinct items", |n| {
        format!(r#"{{"uniqueItems":true,"prefixItems":[{}]}}"#, list(10 * n, |_| "true".into()))
    }),
    ("references that lead to many anchors", |n| {
        let properties = list(n, |i| format!(r##""p{i}":{{"$dynamicRef":"#a","minLength":{i}}}"##));
        let resources = list(n, |i| format!(r#""k{i}":{{"$id":"k{i}","$dynamicAnchor":"a"}}"#));
        format!(r#"{{"$dynamicAnchor":"a","properties":{{{properties}}},"$defs":{{{resources}}}}}"#)
    }),
    ("anchors that lead to one another", |n| {
        let resource = |i: usize| {
            format!(
                r##""z{i}":{{"$id":"r{i}","$defs":{{"x":{{"$dynamicAnchor":"a{i}","not":{{"$dynamicRef":"#a{0}"}}}},"y":{{"$dynamicAnchor":"a{0}"}}}}}}"##,
                i + 1
            )
        };
        let (resources, root) = (list(n, resource), r##""$dynamicAnchor":"a0","not":{"$dynamicRef":"#a1"}"##);
        format!(r#"{{{root},"$defs":{{"y":{{"$dynamicAnchor":"a1"}},{resources}}}}}"#)
    }),
    ("patterns that are not supported behind a long text", |n| {
        let branches = list(n.min(300), |i| format!(r#"{{"type":"string","pattern":"(?<=a)b{i}"}}"#));
        format!(r#"{{"description":"{}","oneOf":[{branches}]}}"#, "x".repeat(200 * n))
    }),
    ("patterns that are not supported", |n| {
        format!(r#"{{"properties":{{{}}}}}"#, list(n, |i| format!(r#""p{i}":{{"pattern":"(?<=a)b{i}"}}"#)))
    }),
    ("long numbers by a long divisor", |n| {
        let numbers = list(n.min(500), |i| format!("{}e20001", i + 1));
        format!(r#"{{"enum":[{numbers}],"multipleOf":{}}}"#, "7".repeat(4096))
    }),
    ("long divisors", |n| {
        let divisor = |i: usize| format!(r#"{{"multipleOf":{}e-{}}}"#, "7".repeat(4096), 16_384 * i);
        format!(r#"{{"allOf":[{}]}}"#, list(n.min(100), divisor))
    }),
    ("a long list beside many conditions", |n| {
        let names = list(n / 30, |i| format!(r#""p{i}""#));
        let properties = list(n / 30, |i| format!(r##""p{i}":{{"$ref":"#/$defs/e","minLength":{i}}}"##));
        let values = list(n, |i| format!(r#""s{i}""#));
        format!(
            r#"{{"type":"object","required":[{names}],"properties":{{{properties}}},"$defs":{{"e":{{"enum":[{values}]}}}}}}"#
        )
    }),
    ("names beside patterns", |n| {
        let names = list(3 * n, |i| format!(r#""n{i}":true"#));
        format!(
            r#"{{"properties":{{{names}}},"patternProperties":{{{}}}}}"#,
            list(n / 6, |i| format!(r#""x{i}":true"#))
        )
    }),
    ("strings beside patterns", |n| {
        let patterns = list(n / 6, |i| format!(r#"{{"pattern":"a|b{i}"}}"#));
        format!(r#"{{"allOf":[{patterns}],"enum":[{}]}}"#, list(3 * n, |i| format!(r#""a{i}""#)))
    }),
    ("long objects that differ in one value", |n| {
        let object = |i: usize| format!(r#"{{"const":{{{},"l":{i}}}}}"#, list(999, |key| format!(r#""k{key}":0"#)));
        format!(r#"{{"anyOf":[{}]}}"#, list(n / 20, object))
    }),
    ("names that are closed elsewhere", |n| {
        let names = list(1_000, |i| format!(r#""p{i}":true"#));
        let closed = |i: usize| format!(r#"{{"properties":{{{names}}},"additionalProperties":{{"minimum":{i}}}}}"#);
        format!(r#"{{"allOf":[{}]}}"#, list(n / 40, closed))
    }),
    ("dependentRequired of long names", |n| {
        let name = |i: usize| format!("{}{i}", "x".repeat(n));
        let entries = list(60, |i| format!(r#""{}":["{}","q{}"]"#, name(i), name(i + 1), name(i)));
        format!(r#"{{"type":"object","dependentRequired":{{{entries}}}}}"#)
    }),
    ("dependencies and alternatives of long names", |n| {
        let name = |i: usize| format!("{}{i}", "x".repeat(n / 2));
        let entries = list(200, |i| format!(r#""{}":["{}","q{}"]"#, name(i), name(i + 1), name(i)));
        let any = list(200, |i| format!(r#"{{"required":["{}"]}}"#, name(i)));
        format!(r#"{{"type":"object","dependentRequired":{{{entries}}},"anyOf":[{any}]}}"#)
    }),
    ("not of pairs of declared names", |n| {
        let names = list(n, |i| format!(r#""p{i}":{{"type":"integer"}}"#));
        let pairs = list(n, |i| format!(r#"{{"required":["p{i}","q{i}"]}}"#));
        format!(r#"{{"type":"object","properties":{{{names}}},"not":{{"anyOf":[{pairs}]}}}}"#)
    }),
    ("not of pairs of long declared names", |n| {
        let name = |i: usize| format!("{}{i}", "x".repeat(n / 10));
        let names = list(300, |i| format!(r#""{}":{{"type":"integer"}}"#, name(i)));
        let pairs = list(300, |i| format!(r#"{{"required":["{}","q{}"]}}"#, name(i), name(i)));
        format!(r#"{{"type":"object","properties":{{{names}}},"not":{{"anyOf":[{pairs}]}}}}"#)
    }),
    ("one of many declared names is required", |n| {
        let names = list(n, |i| format!(r#""p{i}":{{"type":"integer"}}"#));
        let any = list(n, |i| format!(r#"{{"required":["p{i}"]}}"#));
        format!(r#"{{"type":"object","properties":{{{names}}},"anyOf":[{any}]}}"#)
    }),
    ("enum of long fractions", |n| {
        let digits = |i: usize| format!("0.1{:0>width$}", 7919 * i, width = n / 15);
        format!(r#"{{"enum":[{}]}}"#, list(600, digits))
    }),
    ("long constants before other items, all different", |n| {
        let constants = list(n / 2, |i| format!(r#"{{"const":"{}{i}"}}"#, "x".repeat(1_000)));
        format!(r#"{{"type":"array","uniqueItems":true,"prefixItems":[{constants}]}}"#)
    }),
    ("oneOf of divisors", |n| {
        format!(r#"{{"oneOf":[{}]}}"#, list(n, |i| format!(r#"{{"multipleOf":{}}}"#, 2 * i + 3)))
    }),
    ("oneOf of keys with divisors below 1", |n| {
        let branch =
            |i: usize| format!(r#"{{"properties":{{"a":{{"multipleOf":0.{}}}}},"required":["a"]}}"#, 2 * i + 3);
        format!(r#"{{"oneOf":[{}]}}"#, list(n, branch))
    }),
    ("contains in allOf", |n| {
        format!(r#"{{"allOf":[{}]}}"#, list(n, |i| format!(r#"{{"contains":{{"const":{i}}}}}"#)))
    }),
];

/// Compiles the schema that the environment names, and prints the time and the memory; does nothing otherwise.
#[test]
fn child() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let mut parts = what.split('/');
    let (name, size, mode) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let generator = HOSTILE.iter().find(|(known, _)| *known == name).expect("the schema is known").1;
    let schema = generator(size.parse().unwrap());
    let options = SchemaOptions { is_lenient: mode == "lenient", ..SchemaOptions::default() };
    let compiler = compiler();
    let (cpu_before, kb_before) = (cpu_time(), status_kb("VmRSS:"));
    let outcome = compiler.compile_json_schema_with(&schema, &options, &CompileOptions::default());
    let elapsed = (cpu_time() - cpu_before).div_f64(slowness());
    // The memory of the schema itself does not count.
    let n_kb = status_kb("VmHWM:").saturating_sub(kb_before);
    let outcome = outcome.map_or_else(|error| format!("{error}"), |grammar| format!("{} states", grammar.n_states()));
    println!("ANSWER {} {n_kb} {outcome}", elapsed.as_millis());
}

/// Returns a number of the status of this process, in kilobytes; 0 if it is unknown.
fn status_kb(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the time that this process has used a processor for; nothing where that is unknown.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Runs a child; `None` if the system can't limit its address space.
fn answer(name: &str, size: usize, mode: &str) -> Option<Result<(Duration, usize), String>> {
    let this = std::env::current_exe().unwrap();
    let limited = format!("ulimit -v {ADDRESS_SPACE_KB} || exit 77; exec \"$0\" child --exact --nocapture");
    let mut command = Command::new("sh");
    command.arg("-c").arg(limited).arg(this).env(CHILD, format!("{name}/{size}/{mode}"));
    let output = command.output().ok().filter(|output| output.status.code() != Some(77))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.lines().find_map(|line| line.split_once("ANSWER ").map(|(_, answer)| answer));
    let numbers = answer.and_then(|answer| {
        let mut words = answer.split(' ');
        Some((Duration::from_millis(words.next()?.parse().ok()?), words.next()?.parse().ok()?))
    });
    Some(numbers.ok_or_else(|| format!("{}{}", text, String::from_utf8_lossy(&output.stderr))))
}

#[test]
fn hostile_schemas_are_answered_within_time_and_memory() {
    let next = AtomicUsize::new(0);
    let failures_of_some = || {
        let mut failures = Vec::new();
        while let Some((name, _)) = HOSTILE.get(next.fetch_add(1, Ordering::Relaxed)) {
            failures.extend(failures_of(name));
        }
        failures
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CHILDREN).map(|_| scope.spawn(failures_of_some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns what a schema of several sizes took, where that was too much in each measurement.
fn failures_of(name: &str) -> Vec<String> {
    let modes = [(30, "strict"), (30, "lenient"), (1_000, "strict"), (1_000, "lenient"), (LARGE, "strict")];
    let mut failures = Vec::new();
    for (size, mode) in modes {
        let mut answers = Vec::new();
        while answers.len() < MEASUREMENTS_MAX {
            match answer(name, size, mode) {
                None => {
                    println!("skipped: no limited address space here");
                    return failures;
                }
                Some(Ok((elapsed, memory_kb))) if elapsed < ANSWER_MAX && memory_kb < RESIDENT_KB_MAX => break,
                Some(answer) => answers.push(answer),
            }
        }
        if answers.len() == MEASUREMENTS_MAX {
            failures.push(format!("{name}, {size}, {mode}: {answers:?}"));
        }
    }
    failures
}

#[test]
fn deadlines_are_met_in_the_middle_of_hostile_schemas() {
    for (name, generator) in HOSTILE {
        let schema = generator(1_000);
        let start = Instant::now();
        let options = CompileOptions { deadline: Some(start + Duration::from_millis(5)), cancelled: None };
        if let Err(CompileError::Build(error)) =
            compiler().compile_json_schema_with(&schema, &SchemaOptions::default(), &options)
        {
            assert!(error.is_interrupted() || error.limit_met().is_some(), "{name}: {error}");
        }
        assert!(start.elapsed() < Duration::from_secs(1), "{name}: {:?}", start.elapsed());
    }
}

/// Unions and conditions as people write them, with descriptions.
fn written() -> Vec<(&'static str, String)> {
    let records = |n: usize, n_properties: usize| {
        let property = |i: usize| match i % 4 {
            0 => format!(r##""p{i}":{{"$ref":"#/$defs/r{}"}}"##, i % 7),
            1 => format!(r##""p{i}":{{"type":"array","items":{{"$ref":"#"}}}}"##),
            2 => format!(r#""p{i}":{{"type":"string","pattern":"^[a-z]{{1,64}}$"}}"#),
            _ => format!(r#""p{i}":{{"enum":["x{i}","y{i}"]}}"#),
        };
        let record = |i: usize| {
            let properties = list(n_properties, property);
            format!(
                r#""r{i}":{{"type":"object","properties":{{"resourceType":{{"const":"R{i}"}},{properties}}},"required":["resourceType"],"additionalProperties":false}}"#
            )
        };
        let branches = list(n, |i| format!(r##"{{"$ref":"#/$defs/r{i}"}}"##));
        format!(r#"{{"oneOf":[{branches}],"$defs":{{{}}}}}"#, list(n, record))
    };
    let bindings = list(20, |i| {
        format!(
            r##"{{"if":{{"properties":{{"bindingVersion":{{"const":"0.{i}.0"}}}},"required":["bindingVersion"]}},"then":{{"properties":{{"b{i}":{{"$ref":"#/$defs/m"}}}}}}}}"##
        )
    });
    let stages = list(12, |i| {
        format!(
            r#"{{"if":{{"properties":{{"language":{{"enum":["l{i}","m{i}"]}}}}}},"then":{{"properties":{{"v{i}":{{"type":["string","number"]}}}}}}}}"#
        )
    });
    vec![
        ("187 records by resourceType, each of 30 properties that lead to others", records(187, 30)),
        (
            "conditions on a version, messages by reference",
            format!(
                r##"{{"type":"object","properties":{{"bindingVersion":{{"type":"string"}}}},"allOf":[{bindings}],"$defs":{{"m":{{"oneOf":[{{"type":"object","properties":{{"$ref":{{"type":"string"}}}},"required":["$ref"]}},{{"type":"object","properties":{{"m":{{"$ref":"#"}}}},"required":["m"]}}]}}}}}}"##
            ),
        ),
        (
            "conditions on a language with two names each",
            format!(r#"{{"type":"object","properties":{{"language":{{"type":"string"}}}},"allOf":[{stages}]}}"#),
        ),
        ("forty keys that need others", HOSTILE.iter().find(|(name, _)| *name == "dependentRequired").unwrap().1(40)),
        (
            "a hundred declared keys of which one is required",
            HOSTILE.iter().find(|(name, _)| *name == "one of many declared names is required").unwrap().1(100),
        ),
        ("ten thousand constants with titles", HOSTILE[0].1(10_000)),
        ("four hundred conditions on one key", HOSTILE.iter().find(|(name, _)| *name == "if by a key").unwrap().1(400)),
        (
            "four thousand objects that are not meant",
            HOSTILE.iter().find(|(name, _)| *name == "not of objects with one key").unwrap().1(4_000),
        ),
    ]
}

#[test]
fn what_people_write_compiles() {
    for (what, schema) in written() {
        let start = Instant::now();
        let grammar = compiler().compile_json_schema(&schema).unwrap_or_else(|error| panic!("{what}: {error}"));
        println!("{what}: {:?}, {} states", start.elapsed(), grammar.n_states());
        assert!(start.elapsed() < Duration::from_secs(5), "{what}: {:?}", start.elapsed());
    }
}

/// Returns whether a grammar accepts a text.
fn accepts(grammar: &maskwright::CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

#[test]
fn conditions_on_one_key_mean_the_same_together() {
    // Overlapping tests, some of absent keys, with and without `else`, one chain.
    let condition = |i: usize| {
        let required = if i.is_multiple_of(2) { r#","required":["k"]"# } else { "" };
        let other = if i.is_multiple_of(3) {
            format!(r#","else":{{"properties":{{"q{i}":{{"const":0}}}}}}"#)
        } else {
            String::new()
        };
        format!(
            r#"{{"if":{{"properties":{{"k":{{"enum":["v{i}","v{}"]}}}}{required}}},"then":{{"required":["p{i}"]}}{other}}}"#,
            i + 1
        )
    };
    let declared = list(10, |i| format!(r#""p{i}":true,"q{i}":{{"type":"integer"}}"#));
    let schema = format!(
        r#"{{"type":"object","properties":{{"k":{{"type":"string"}},{declared}}},"allOf":[{}]}}"#,
        list(10, condition)
    );
    let grammar = compiler().compile_json_schema(&schema).unwrap();
    assert!(accepts(&grammar, r#"{"k":"v4","q2":7,"p3":1,"p4":1}"#));
    // The test of condition 3 holds for `v3` and `v4`, so its `else` does not apply.
    assert!(accepts(
        &grammar,
        r#"{"k":"v4","q3":7,"p3":1,"p4":1}"#.replace(r#""q3":7,"p3":1"#, r#""p3":1,"q3":7"#).as_str()
    ));
    assert!(!accepts(&grammar, r#"{"k":"v4","p3":1}"#));
    assert!(!accepts(&grammar, r#"{"k":"v4","q0":7,"p3":1,"p4":1}"#));
    assert!(accepts(&grammar, r#"{"k":"other","q0":0}"#));
    assert!(!accepts(&grammar, r#"{"k":"other","q0":1}"#));
    // Without the key, tests that don't require it hold: those with odd numbers.
    assert!(accepts(&grammar, r#"{"p1":1,"p3":1,"p5":1,"p7":1,"p9":1}"#));
    assert!(!accepts(&grammar, r#"{"p1":1,"p3":1,"p5":1,"p7":1}"#));
}

#[test]
fn many_dependencies_mean_what_each_says() {
    let grammar = compiler()
        .compile_json_schema(&HOSTILE.iter().find(|(name, _)| *name == "dependentRequired").unwrap().1(40))
        .unwrap();
    assert!(accepts(&grammar, "{}"));
    assert!(accepts(&grammar, r#"{"x":1}"#));
    assert!(!accepts(&grammar, r#"{"a20":1}"#));
    let orders = [r#"{"a20":1,"b20":1,"c20":1}"#, r#"{"a20":1,"c20":1,"b20":1}"#];
    assert!(orders.iter().any(|text| accepts(&grammar, text)));
    assert!(!accepts(&grammar, r#"{"a20":1,"b20":1}"#) && !accepts(&grammar, r#"{"a20":1,"c20":1}"#));
}

#[test]
fn many_choices_among_names_mean_what_each_says() {
    let one_of_many = HOSTILE.iter().find(|(name, _)| *name == "one of many declared names is required").unwrap().1;
    let grammar = compiler().compile_json_schema(&one_of_many(100)).unwrap();
    assert!(!accepts(&grammar, "{}") && !accepts(&grammar, r#"{"x":1}"#));
    for name in [0, 1, 63, 64, 65, 99] {
        assert!(accepts(&grammar, &format!(r#"{{"p{name}":1}}"#)), "{name}");
    }
    // At most one of twenty, as a pair of names each time.
    let names = list(20, |i| format!(r#""f{i}":{{"type":"integer"}}"#));
    let pairs = list(190, |pair| {
        let (mut high, mut low) = (1, pair);
        while low >= high {
            (high, low) = (high + 1, low - high);
        }
        format!(r#"{{"not":{{"required":["f{low}","f{high}"]}}}}"#)
    });
    let grammar = compiler()
        .compile_json_schema(&format!(r#"{{"type":"object","properties":{{{names}}},"allOf":[{pairs}]}}"#))
        .unwrap();
    assert!(accepts(&grammar, "{}") && accepts(&grammar, r#"{"x":1}"#));
    for first in 0..20 {
        assert!(accepts(&grammar, &format!(r#"{{"f{first}":1}}"#)), "{first}");
        for second in first + 1..20 {
            assert!(!accepts(&grammar, &format!(r#"{{"f{first}":1,"f{second}":1}}"#)), "{first} {second}");
        }
    }
}
