//! Hostile sources, designed to take much time or memory: with default limits each has an answer within 2 s ([`CPU_MAX`]) and [`BYTES_MAX`],
//! in an address space of [`ADDRESS_SPACE_BYTES`], where the machine is as fast as usual ([`slowness`]); a deadline or a flag interrupts each soon, in every stage.

use maskwright::frontend::regex::RegexOptions;
use maskwright::structural_tag::TagOptions;
use maskwright::testing::slowness;
use maskwright::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler, Vocab};
use std::fmt::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CPU_MAX: Duration = Duration::from_secs(2);
const BYTES_MAX: u64 = 300 << 20;
const ADDRESS_SPACE_BYTES: u64 = 1 << 30;
/// Tells a child which source to compile.
const CHILD: &str = "MASKWRIGHT_HOSTILE_SOURCE";

enum Source {
    Ebnf(String),
    Lark(String),
    Regex(String),
    /// A structural tag.
    Tag(String),
}
use Source::{Ebnf, Lark, Regex, Tag};

/// Returns a structural tag of a format.
fn tag_of(format: &str) -> Source {
    Tag(format!(r#"{{"type": "structural_tag", "format": {format}}}"#))
}

/// Writes `root ::= (first)`, then a line for each number.
fn rules(first: &str, n: usize, line: impl Fn(usize) -> String, last: &str) -> Source {
    let mut source = format!("root ::= {first}\n");
    (0..n).for_each(|i| writeln!(source, "{}", line(i)).unwrap());
    Ebnf(source + last)
}

fn joined(n: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..n).map(part).collect::<Vec<_>>().join(separator)
}

type Make = fn() -> Source;

/// Names, and what makes the sources: they are large.
const SOURCES: &[(&str, Make)] = &[
    ("a chain of unit rules", || rules("a0", 32_000, |i| format!("a{i} ::= a{}", i + 1), "a32000 ::= \"x\"")),
    ("more rules than the limit", || rules("a0", 700_000, |i| format!("a{i} ::= a{}", i + 1), "a700000 ::= \"x\"")),
    ("unit rules with two ways", || {
        rules("a0", 32_000, |i| format!("a{i} ::= a{} | a{}", i + 1, i + 2), "a32000 ::= \"x\"\na32001 ::= \"y\"")
    }),
    ("tails with two ways", || {
        rules("a0", 32_000, |i| format!("a{i} ::= \"z\" a{} | a{}", i + 1, i + 2), "a32000 ::= \"x\"\na32001 ::= \"y\"")
    }),
    ("a left chain", || rules("a0", 32_000, |i| format!("a{i} ::= a{} \"q\" | \"b{i}\"", i + 1), "a32000 ::= \"x\"")),
    ("a left-recursive cycle", || {
        rules("a0", 32_000, |i| format!("a{i} ::= a{} \"y\" | \"{i}\"", (i + 1) % 32_000), "")
    }),
    ("recursion everywhere", || {
        let line = |i: usize| format!("a{i} ::= \"z\" a{} \"y\" | \"{i}\"", (i * 7919 + 1) % 32_000);
        rules(&joined(32_000, " | ", |i| format!("a{i}")), 32_000, line, "")
    }),
    ("dense left recursion", || {
        let line = |i: usize| format!("r{i} ::= {} | \"x\"", joined(500, " | ", |j| format!("r{j} \"a{i}\"")));
        rules("r0", 500, line, "")
    }),
    ("dense left recursion that differs", || {
        let line = |i: usize| format!("r{i} ::= {} | \"x\"", joined(250, " | ", |j| format!("r{j} \"a{i}_{j}\"")));
        rules("r0", 250, line, "")
    }),
    ("dense recursion", || {
        let line = |i: usize| format!("r{i} ::= {} | \"x\"", joined(400, " | ", |j| format!("\"a{j}\" r{j} \"b{i}\"")));
        rules("r0", 400, line, "")
    }),
    ("doubling rules", || rules("a0", 60, |i| format!("a{i} ::= a{0} a{0}", i + 1), "a60 ::= \"x\" | \"y\"")),
    ("doubling complements", || rules("a0", 60, |i| format!("a{i} ::= ~(a{0} a{0})", i + 1), "a60 ::= \"x\" | \"y\"")),
    ("unused rules", || rules("\"x\"", 32_000, |i| format!("a{i} ::= \"\""), "")),
    ("long names", || {
        let name = "n".repeat(1000);
        rules(
            &format!("{name}0"),
            7000,
            |i| format!("{name}{i} ::= \"a\" {name}{}", i + 1),
            &format!("{name}7000 ::= \"\""),
        )
    }),
    ("question marks", || Ebnf(format!("root ::= a{}\na ::= \"x\"", "?".repeat(5_000_000)))),
    ("all suffixes", || Ebnf(format!("root ::= a{}\na ::= \"x\"", "*+?{2}".repeat(1_000_000)))),
    ("tildes", || Ebnf(format!("root ::= {}\"x\"", "~".repeat(10_000_000)))),
    ("a quarter of a million tildes", || Ebnf(format!("root ::= {}\"x\"", "~".repeat(250_000)))),
    ("bars", || Ebnf(format!("root ::= \"a\"{}", "|".repeat(15_000_000)))),
    ("groups", || Ebnf(format!("root ::= {}", "(\"a\")".repeat(2_000_000)))),
    ("literals", || Ebnf(format!("root ::= {}", "\"a\" ".repeat(3_000_000)))),
    ("classes", || Ebnf(format!("root ::= {}", "[a-z] ".repeat(250_000)))),
    ("optional classes", || Ebnf(format!("root ::= {}", "[a-z]? ".repeat(120_000)))),
    ("a long literal", || Ebnf(format!("root ::= \"{}\"", "a".repeat(15_000_000)))),
    ("a literal as long as the limit", || Ebnf(format!("root ::= \"{}\"", "a".repeat(500_000)))),
    ("a long literal in any case", || Ebnf(format!("root ::= \"{}\"i", "ab".repeat(3_000_000)))),
    ("as many alternatives as the limit", || {
        Ebnf(format!("root ::= {}", joined(250_000, " | ", |i| format!("\"w{i}\""))))
    }),
    ("a million alternatives", || Ebnf(format!("root ::= {}", joined(1_000_000, " | ", |i| format!("\"w{i}\""))))),
    ("alternatives before a rule", || {
        Ebnf(format!("root ::= {}\nb ::= \"q\"", joined(80_000, " | ", |i| format!("\"{i:x}\" b"))))
    }),
    ("deep groups", || Ebnf(format!("root ::= {}\"a\"?{}", "(".repeat(190), ")*".repeat(190)))),
    ("deep counts", || Ebnf(format!("root ::= {}\"a\" | \"bc\"{}", "(".repeat(190), "){2,1000}".repeat(190)))),
    ("a huge class", || {
        let chars: String = (0..4_000_000u32).filter_map(|i| char::from_u32(0x4E00 + 2 * (i % 10_000))).collect();
        Ebnf(format!("root ::= [{chars}]"))
    }),
    ("many large classes", || {
        let class = |n: u32| -> String {
            (0..2000).filter_map(|i| char::from_u32(0x4E00 + 2 * ((i * 7 + n) % 10_000))).collect()
        };
        Ebnf(format!("root ::= {}", joined(900, " ", |n| format!("[{}]", class(n as u32)))))
    }),
    ("classes of all letters", || Ebnf(format!("root ::= {}", joined(9000, " | ", |i| format!("/\\p{{L}}{{{i}}}x/"))))),
    ("different regexes", || Ebnf(format!("root ::= {}", joined(60_000, " ", |i| format!("/a{i}b?/"))))),
    ("counters", || Ebnf(format!("root ::= {}", joined(60_000, " ", |i| format!("([a-z] \"{i}\"){{1,{}}}", i + 50))))),
    ("loops of loops", || Ebnf(format!("root ::= {}", "([a-z]* [b-y]*)* ".repeat(30_000)))),
    ("choices and choices", || {
        let (a, b) =
            (joined(150_000, "|", |i| format!("\"w{i}\"")), joined(75_000, "|", |i| format!("\"w{}\"", 3 * i)));
        Ebnf(format!("root ::= ({a}) & ({b})"))
    }),
    ("letters in any order", || {
        Ebnf(format!("root ::= {}", joined(26, " & ", |i| format!("(.* [{}] .*)", char::from(b'a' + i as u8)))))
    }),
    ("large intersections, again and again", || {
        let part = "((.* \"a\" .{8}) & (.* \"b\" .{7}) & (.* \"c\" .{3}))";
        Ebnf(format!("root ::= {}", joined(5000, " | ", |i| format!("{part} \"{i}\""))))
    }),
    ("differences", || Ebnf(format!("root ::= .*{}", joined(6000, "", |i| format!(" - (.* \"w{i}\" .*)"))))),
    ("control tokens", || Ebnf(format!("root ::= {}", joined(250_000, " | ", |i| format!("<[{}]>", i % 256))))),
    ("optional rules in a row that call back", || {
        rules(&joined(400, " ", |i| format!("a{i}?")), 400, |i| format!("a{i} ::= \"{i}\" | \"(\" root \")\""), "")
    }),
    ("more optional rules in a row that call back", || {
        rules(&joined(1200, " ", |i| format!("a{i}?")), 1200, |i| format!("a{i} ::= \"{i}\" | \"(\" root \")\""), "")
    }),
    ("repeated rules in a row that call back", || {
        rules(&joined(400, " ", |i| format!("a{i}*")), 400, |i| format!("a{i} ::= \"{i}\" | \"(\" root \")\""), "")
    }),
    ("optional counts in a row", || {
        let letter = |i: usize| char::from(b'a' + (i % 26) as u8);
        let line = |i: usize| format!("x{i} ::= \"{}\"{{2,{}}}", letter(i), i + 40);
        rules(&joined(600, " ", |i| format!("x{i}?")), 600, line, "")
    }),
    ("an unknown rule", || {
        rules("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", 32_000, |i| format!("zzzzzzzzzzzzzzzzzzzzzzzzz{i} ::= \"\""), "")
    }),
    ("tags that overlap", || {
        let tags = joined(300, ", ", |i| format!("(\"{}{i}\", r)", "ab".repeat(i % 50)));
        Ebnf(format!("root ::= TagDispatch({tags})\nr ::= \"x\""))
    }),
    ("long tags that overlap themselves", || {
        Ebnf(format!("root ::= TagDispatch((\"{0}\", r), (\"{0}b\", r))\nr ::= \"x\"", "a".repeat(1_000_000)))
    }),
    ("a long marker that overlaps itself", || {
        Lark(format!("start: h \"x\"\nh[stop=\"{}\"]: /.*/", "a".repeat(1_000_000)))
    }),
    ("many lexemes at one place", || {
        Lark(format!("start: ({})*", joined(250, " | ", |i| format!("/[a-z]{{{}}}[a-z0-9]*{i}/", i % 20))))
    }),
    ("runs of chunks", || {
        let chunks = |n: usize| joined(n, ", ", |i| format!("\"w{} \"", i * 7919 % 1013));
        Ebnf(format!("root ::= {}", joined(8, " ", |_| format!("Substring({})", chunks(2000)))))
    }),
    ("contents of strings", || {
        Ebnf(format!("root ::= {}", joined(400, " ", |i| format!("/\\w{{{i}}}[^\\p{{L}}]/ju"))))
    }),
    ("lazy rules", || {
        rules(&joined(4000, " ", |i| format!("a{i}")), 4000, |i| format!("a{i}[lazy] ::= .* \"x{i}\""), "")
    }),
    ("escapes without end", || Ebnf(format!("root ::= \"\\x{}\"", "0".repeat(15_000_000)))),
    ("a parameter without bound", || Lark("start: p::0\np::_: \"a\" p::incr(_) | p::set_bit(63) | \"b\"".into())),
    ("parameters in long bodies", || {
        Lark(format!("start: p::0\np::_: {} p::incr(_) | \"b\"", "\"a\" ".repeat(200_000)))
    }),
    ("conditions in groups", || {
        let groups = format!("{}\"a\" %if lt(_, 9){}", "(".repeat(190), ")".repeat(190));
        Lark(format!("start: p::0\np::_: {} p::incr(_) | \"b\"", format!("{groups} ").repeat(3000)))
    }),
    ("blocks in blocks", || {
        Lark(format!(
            "{}start: \"x\"{}",
            "start: %lark { ".repeat(190),
            " \"y\" }".repeat(190) + &"// ".repeat(1_000_000)
        ))
    }),
    ("as many blocks as fit", || Lark(format!("start: {}", "%lark { start: \"a\" } ".repeat(700_000)))),
    ("terminals in a chain", || {
        Lark(format!("start: A0\n{}A30000: \"x\"", joined(30_000, "", |i| format!("A{i}: \"a\" A{} | \"b\"\n", i + 1))))
    }),
    ("ignored text everywhere", || Lark(format!("%ignore /[ a]+/\nstart: {}", "/a+/ ".repeat(80_000)))),
    ("lexemes that follow each other", || {
        Lark(format!("start: ({})*", joined(3000, " | ", |i| format!("/[a-z]+{i}?/"))))
    }),
    ("complements in terminals", || Lark(format!("start: A\nA: {}", joined(6000, " & ", |i| format!("~\"w{i}\""))))),
    ("line ends", || Lark(format!("start: \"a\"{}| \"b\"", "\n# x\n".repeat(2_500_000)))),
    ("optional letters", || Regex("(a?){50000}".into())),
    ("counts in counts", || Regex("((a{1,1000}){1,1000}){1,1000}".into())),
    ("counts of words in counts", || Regex("(((a|b){1,1000}c){1,1000}d){1,1000}".into())),
    ("counted conjunction", || Ebnf("root ::= /[^a]{1,5000}/ & /.{3,4000}x/".into())),
    ("a long pattern", || Regex("a?".repeat(7_000_000))),
    ("a pattern as long as the limit", || Regex("a?".repeat(1 << 15))),
    ("words in a pattern", || Regex(joined(9000, "|", |i| format!("w{i}")))),
    ("letters in any case", || Regex(format!("(?i){}", "abc".repeat(20_000)))),
    ("many classes", || Regex(joined(8000, "", |i| format!("[\\p{{L}}{i}]")))),
    ("many negated classes", || Regex("[^\\p{L}\\d]".repeat(5000))),
    ("anchors", || Regex("(a|^|$)*".repeat(8000))),
    ("anchors in anchors", || Regex(format!("{}a|^|${}", "(".repeat(190), ")*".repeat(190)))),
    ("anchors at both sides", || Regex("(^|a)".repeat(6000) + &"($|b)".repeat(6000))),
    ("literals between anchors", || Regex("abc$*".repeat(13_000))),
    ("choices of anchors and literals", || Regex("(?:abcdefghijklm|$)(?:^|b)".repeat(2500))),
    ("counted classes in a row", || {
        let letter = |i: usize| char::from(b'a' + (i % 26) as u8);
        Regex(joined(300, "", |i| format!("[{}-z]{{0,40}}[0-9]?", letter(i))))
    }),
    ("loops that go on alike", || {
        Ebnf(format!("root ::= ({})*", joined(500, " | ", |i| format!("[a-z]* \"{i}\" [0-9]*"))))
    }),
    ("many schemas", || {
        let schema =
            |i: usize| format!(r#"%json {{"type": "object", "properties": {{"a{i}": {{"type": "integer"}}}}}}"#);
        Ebnf(format!("root ::= {}", joined(20_000, " | ", |i| format!("\"{i}\" {}", schema(i)))))
    }),
    ("many schemas that take long", || {
        let names = joined(60, ", ", |i| format!("\"k{i}\""));
        let schema = |i: usize| format!(r#"{{"not": {{"anyOf": [{{"required": [{names}]}}, {{"const": {i}}}]}}}}"#);
        Ebnf(format!("root ::= {}", joined(2000, " | ", |i| format!("%json {}", schema(i)))))
    }),
    ("a schema again and again", || {
        Ebnf(format!("root ::= {}", joined(120_000, " | ", |i| format!("\"{i}\" %json {{}}"))))
    }),
    ("brackets behind a schema's beginning", || Ebnf(format!("root ::= %json {{{}", "[".repeat(8_000_000)))),
    ("as many beginnings of schemas", || Ebnf(format!("root ::= {}", "%json(".repeat(1_000_000)))),
    ("many tools", || {
        let tag = |i: usize| {
            let schema = format!(r#"{{"type": "object", "properties": {{"a{i}": {{"type": "integer"}}}}}}"#);
            format!(
                r#"{{"begin": "<{i}>", "end": "</{i}>", "content": {{"type": "json_schema", "json_schema": {schema}}}}}"#
            )
        };
        let tags = joined(20_000, ", ", tag);
        tag_of(&format!(r#"{{"type": "triggered_tags", "triggers": ["<"], "tags": [{tags}]}}"#))
    }),
    ("many triggers that overlap", || {
        let rule = |i: usize| format!(r#"["{}{i:x}", {{"type": "any_text"}}]"#, "ab".repeat(i % 50));
        tag_of(&format!(r#"{{"type": "dispatch", "rules": [{}]}}"#, joined(4000, ", ", rule)))
    }),
    ("a long trigger that overlaps itself", || {
        let trigger = "a".repeat(200_000);
        tag_of(&format!(r#"{{"type": "dispatch", "rules": [["{trigger}", {{"type": "any_text"}}]]}}"#))
    }),
    ("many texts in a tag with many ends", || {
        let texts = joined(300, ", ", |_| r#"{"type": "any_text"}"#.to_owned());
        let ends = joined(300, ", ", |i| format!(r#""</{i}>""#));
        let texts = format!(r#"{{"type": "sequence", "elements": [{texts}]}}"#);
        tag_of(&format!(r#"{{"type": "tag", "begin": "<", "content": {texts}, "end": [{ends}]}}"#))
    }),
    ("many parameters without many texts", || {
        let properties = joined(10_000, ", ", |i| format!(r#""k{i}": {{"type": "string", "maxLength": 5}}"#));
        let excludes = joined(10_000, ", ", |i| format!(r#""e{i}""#));
        let schema = format!(r#"{{"type": "object", "properties": {{{properties}}}}}"#);
        tag_of(&format!(
            r#"{{"type": "json_schema", "style": "cohere_xml", "excludes": [{excludes}], "json_schema": {schema}}}"#
        ))
    }),
    ("many arguments that refer to a long row of references", || {
        let properties = joined(10_000, ", ", |i| format!(r##""k{i}": {{"$ref": "#/$defs/d0"}}"##));
        let row = joined(10_000, ", ", |i| format!(r##""d{i}": {{"$ref": "#/$defs/d{}"}}"##, i + 1));
        let required = joined(10_000, ", ", |i| format!(r#""k{i}""#));
        let schema = format!(
            r#"{{"type": "object", "required": [{required}], "properties": {{{properties}}}, "$defs": {{{row}, "d10000": {{"type": "null"}}}}}}"#
        );
        tag_of(&format!(r#"{{"type": "json_schema", "style": "cohere_xml", "json_schema": {schema}}}"#))
    }),
    ("deep formats", || {
        let (open, close) = (r#"{"type": "plus", "content": {"type": "or", "elements": ["#, "]}}");
        let inner = r#"{"type": "any_text"}"#;
        tag_of(&format!("{}{inner}, {inner}{}", format!("{open}{inner}, ").repeat(49), close.repeat(49)))
    }),
    ("a long text without another", || {
        let excludes = joined(3000, ", ", |i| format!(r#""x{i}y""#));
        tag_of(&format!(r#"{{"type": "any_text", "max_chars": 100000, "excludes": [{excludes}]}}"#))
    }),
    ("many parameters", || {
        let properties = joined(20_000, ", ", |i| format!(r#""p{i}": {{"enum": ["a", {i}]}}"#));
        let schema = format!(r#"{{"type": "object", "properties": {{{properties}}}}}"#);
        tag_of(&format!(r#"{{"type": "json_schema", "style": "qwen_xml", "json_schema": {schema}}}"#))
    }),
    ("many required parameters", || {
        let properties = joined(20_000, ", ", |i| format!(r#""p{i}": {{"type": "integer"}}"#));
        let required = joined(20_000, ", ", |i| format!(r#""p{i}""#));
        let schema = format!(r#"{{"type": "object", "properties": {{{properties}}}, "required": [{required}]}}"#);
        tag_of(&format!(r#"{{"type": "json_schema", "style": "glm_xml", "json_schema": {schema}}}"#))
    }),
    ("arguments that are choices of themselves", || {
        let choice = joined(2, ", ", |_| r##"{"$ref": "#/$defs/a"}"##.to_owned());
        let schema = format!(
            r##"{{"type": "object", "properties": {{"p": {{"$ref": "#/$defs/a"}}}}, "$defs": {{"a": {{"anyOf": [{choice}]}}}}}}"##
        );
        tag_of(&format!(r#"{{"type": "json_schema", "style": "cohere_xml", "json_schema": {schema}}}"#))
    }),
    ("many triggers and tags", || {
        let triggers = joined(20_000, ", ", |i| format!(r#""<t{i}""#));
        let tags = joined(20_000, ", ", |i| {
            format!(r#"{{"begin": "<t{i}>", "content": {{"type": "any_text"}}, "end": "</t>"}}"#)
        });
        tag_of(&format!(r#"{{"type": "triggered_tags", "triggers": [{triggers}], "tags": [{tags}]}}"#))
    }),
    ("a long marker", || tag_of(&format!(r#"{{"type": "const_string", "value": "{}"}}"#, "<|x".repeat(150_000)))),
    ("a pattern without a small automaton", || Regex("(.*a.{15}|.*b.{15}|.*c.{14})*".into())),
];

fn compiler() -> GrammarCompiler {
    GrammarCompiler::new(Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap()))
}

fn compile(
    compiler: &GrammarCompiler,
    source: &Source,
    options: &CompileOptions,
) -> Result<CompiledGrammar, CompileError> {
    match source {
        Ebnf(text) => compiler.compile_ebnf_with(text, "root", options),
        Lark(text) => compiler.compile_lark_with(text, options),
        Regex(pattern) => compiler.compile_regex_with(pattern, &RegexOptions::default(), options),
        Tag(text) => compiler.compile_structural_tag_with(text, &TagOptions::default(), options),
    }
}

/// A number of `/proc/self/status`, in bytes.
fn status_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The time that this process has used a processor for.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}

/// The task of a child process; does nothing otherwise.
#[test]
fn child() {
    let Ok(index) = std::env::var(CHILD) else { return };
    let (_, make) = SOURCES[index.parse::<usize>().unwrap()];
    let (source, compiler) = (make(), compiler());
    let (cpu_before, bytes_before) = (cpu_time(), status_bytes("VmRSS"));
    let outcome = compile(&compiler, &source, &CompileOptions::default()).map(|grammar| grammar.n_states());
    let outcome = match outcome {
        Ok(n_states) => format!("{n_states} states"),
        Err(error) => {
            let limit = match &error {
                CompileError::Build(error) => error.limit_met(),
                CompileError::Syntax(error) => error.limit_met(),
                CompileError::Schema(error) => error.limit().map(|(_, given, limit)| (given as u64, limit as u64)),
                CompileError::Tag(error) => error.limit_met(),
                CompileError::Operand(error) => {
                    error.schema_error().limit().map(|(_, given, limit)| (given as u64, limit as u64))
                }
                _ => None,
            };
            let text: String = error.to_string().chars().take(200).collect();
            let is_other = ["undefined rule", "matches nothing", "not closed", "more expressions than"]
                .iter()
                .any(|other| text.contains(other));
            assert!(limit.is_some_and(|(given, limit)| given > limit) || is_other, "{text}: {limit:?}");
            text
        }
    };
    let cpu = (cpu_time() - cpu_before).div_f64(slowness());
    // The memory of the source itself does not count.
    let bytes = status_bytes("VmHWM").saturating_sub(bytes_before);
    println!("answer: {cpu:?}, {} MB, {outcome}", bytes >> 20);
    assert!(cpu <= CPU_MAX && bytes <= BYTES_MAX, "{cpu:?}, {bytes} bytes");
}

#[test]
fn every_source_has_an_answer_in_time_and_space() {
    let is_available = cfg!(target_os = "linux")
        && Command::new("sh").args(["-c", "ulimit -v 1000000"]).status().is_ok_and(|status| status.success());
    if !is_available {
        println!("skipped: there is no shell that limits the address space of a process here");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut failures = Vec::new();
    for (index, (name, _)) in SOURCES.iter().enumerate() {
        let script =
            format!("ulimit -v {}; exec \"$0\" --exact child --nocapture --test-threads 1", ADDRESS_SPACE_BYTES >> 10);
        let run =
            || Command::new("sh").arg("-c").arg(&script).arg(&program).env(CHILD, index.to_string()).output().unwrap();
        // Programs that share the processor's caches slow a child down: it has a second attempt.
        let child = Some(run()).filter(|child| child.status.success()).unwrap_or_else(run);
        let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
        let answer = output.lines().find(|line| line.contains("answer:")).unwrap_or("no answer").to_owned();
        println!("{name}: {answer}");
        if !child.status.success() {
            failures.push(format!("{name}: {}\n{answer}\n{output}", child.status));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs `interrupted`, which returns its delay, until one delay is small enough: other programs may slow down an attempt.
fn soon(name: &str, what: &str, mut interrupted: impl FnMut() -> Duration) {
    const LATE_MAX: Duration = Duration::from_millis(150);
    let mut latest = Vec::new();
    while latest.len() < 5 && latest.last().is_none_or(|late| *late > LATE_MAX) {
        latest.push(interrupted());
    }
    println!("{name}, {what}: late by {latest:?}");
    assert!(latest.last().is_some_and(|late| *late <= LATE_MAX), "{name}, {what}: late by {latest:?}");
}

#[test]
fn deadlines_and_flags_are_met_at_every_stage() {
    let compiler = compiler();
    for (name, make) in SOURCES {
        let source = make();
        for millis in [1, 4, 16, 60, 250] {
            soon(name, &format!("deadline of {millis} ms"), || {
                let deadline = Instant::now() + Duration::from_millis(millis);
                let options = CompileOptions { deadline: Some(deadline), cancelled: None };
                let _ = compile(&compiler, &source, &options);
                let late = Instant::now().saturating_duration_since(deadline);
                compiler.clear_caches();
                late
            });
        }
        soon(name, "flag", || {
            let flag = Arc::new(AtomicBool::new(false));
            let options = CompileOptions { deadline: None, cancelled: Some(Arc::clone(&flag)) };
            let setter = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(25));
                flag.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let _ = compile(&compiler, &source, &options);
            let end = Instant::now();
            compiler.clear_caches();
            end.saturating_duration_since(setter.join().unwrap())
        });
        // An interrupted compile leaves nothing behind.
        let mut matcher = compiler.compile_ebnf("root ::= [a-c]+ \"x\"").unwrap().matcher();
        assert!(matcher.accept_bytes(b"abcx").is_ok() && matcher.is_accepting(), "{name}");
    }
}
