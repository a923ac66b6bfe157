//! Masks of real schemas over a real vocabulary, bit for bit against trying each token.
//!
//! For each schema of a seeded order: a walk from mask to mask, with some of its states compared. Fifteen seconds, under
//! `CI=true` a minute; `MASKWRIGHT_SECONDS=n` for other times. The seed is printed; under `CI=true` it is always the same.
//! `MASKWRIGHT_SEED=n` repeats a run, `MASKWRIGHT_SCHEMAS=text` for the schemas whose id contains the text.

#![cfg(feature = "tiktoken")]

use maskwright::json_schema::SchemaOptions;
use maskwright::testing::corpus::{SchemaCase, data};
use maskwright::testing::sampling::{Sample, Sampler, SamplingMode};
use maskwright::testing::{Rng, rounds};
use maskwright::{CompileOptions, Encoding, GrammarCompiler, Matcher, TokenId, Vocab};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const N_THREADS: u64 = 2;
const N_STEPS: usize = 40;
/// States compared on one walk, at random steps.
const N_COMPARED: usize = 4;
/// Tokens that are accepted on a fork.
const N_FORKS: usize = 50;
const CI_SEED: u64 = 20_240_229;

/// Compares a mask with accepting each token.
fn compare(rng: &mut Rng, case: &SchemaCase, matcher: &mut Matcher, text: &[u8]) {
    let vocab = Arc::clone(matcher.grammar().vocab());
    let mask = match matcher.mask() {
        Ok(mask) => mask,
        Err(error) => panic!("{} after {:?}: {error}", case.id, String::from_utf8_lossy(text)),
    };
    let n_tokens = vocab.n_tokens();
    let wrong = (0..n_tokens as TokenId).find(|&id| matcher.is_token_allowed(id) != mask.contains(id));
    let shown = |id: TokenId| String::from_utf8_lossy(vocab.bytes(id)).into_owned();
    if let Some(id) = wrong {
        let is = if mask.contains(id) { "wrongly allowed" } else { "missing" };
        panic!("{} after {:?}: token {id} {:?} is {is}", case.id, String::from_utf8_lossy(text), shown(id));
    }
    for _ in 0..N_FORKS {
        let id = rng.below(n_tokens) as TokenId;
        assert_eq!(matcher.fork().accept_token(id).is_ok(), mask.contains(id), "{}: {:?}", case.id, shown(id));
    }
}

/// Labels that lack one character of 150.
const LABELS_OF_149: &str = "\"llllllllllllllllllllllllllllllllllllllllllllllllllllllllllll.mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm.nnnnnnnnnnnnnnnnnnnnnnnnnnn";

/// A prefix of an address of 255 characters at most, with some left ...
const EMAIL_OF_234: &str = "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddddddddddddddddddddddddddddddddddddddddddddd";
/// ... and that may have only two more.
const EMAIL_OF_253: &str = "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddddddddddddddddddddddddddddddddddddddddddddd.eeeeeeeeeeeeeeeeee";

/// Schemas whose masks take a short cut, and prefixes after which they do.
const SHORT_CUTS: &[(&str, &[&str])] = &[
    // Closed sets of states, with and without a count.
    (r#"{"type":"string","pattern":"abc"}"#, &["\"", "\"ab", "\"xabcx", "\"\\n", "\"é"]),
    (r#"{"type":"string","pattern":"[0-9a-f]{8}-[0-9]{4}"}"#, &["\"", "\"12ab", "\"12ab12cd-1", "\"12ab12cd-1234"]),
    (r#"{"type":"string","pattern":"abc","maxLength":400}"#, &["\"", "\"ab", "\"xabcx"]),
    (r#"{"type":"string","pattern":"abc","minLength":5,"maxLength":9}"#, &["\"", "\"ab", "\"xxxxxa", "\"abcabc"]),
    (r#"{"type":"string","pattern":"^(?:\\S+\\s+){0,99}\\S+$"}"#, &["\"", "\"http", "\"http ", "\"http ab"]),
    // Few tokens have what is refused, or are long enough.
    (
        r#"{"type":"string","oneOf":[{"pattern":"customer"},{"pattern":"maker"},{"pattern":"admin"}]}"#,
        &["\"", "\"cust", "\"customer", "\"customer mak", "\"éad"],
    ),
    (r#"{"type":"string","pattern":"[0-9a-f]","minLength":12,"maxLength":12}"#, &["\"", "\"z", "\"zzzzzzzzzz", "\"a"]),
    (
        r#"{"type":"object","patternProperties":{"hipchat":{"type":"integer"},"github":{"type":"string"},".*":{"type":["integer","string"]}}}"#,
        &["{\"", "{\"hip", "{\"xgithu", "{\"hipchat", "{\"hipchat git"],
    ),
    // States that only call: the first of a string behind a key, in an array, in a union.
    (
        r#"{"type":"object","properties":{"a":{"type":"string","format":"email","maxLength":100},"b":{"type":"array","items":{"type":"string","pattern":"^(?:\\S+\\s+){0,9}\\S+$","maxLength":120}},"c":{"anyOf":[{"type":"string","pattern":"^[a-z]+[.]png$"},{"type":"integer"}]}},"required":["a"]}"#,
        &[
            "{\"a\": \"",
            "{\"a\":\"",
            "{\"a\":\"x@y.z\",\"b\":[\"",
            "{\"a\":\"x@y.z\",\"b\":[\"a b\", \"",
            "{\"a\":\"x@y.z\",\"c\":\"",
            "{\"a\":\"x@y.z\",\"c\":",
        ],
    ),
    // Characters that are counted, far from a bound and near it.
    (r#"{"type":"string","minLength":2,"maxLength":6}"#, &["", "\"", "\"a", "\"ab", "\"abcde", "\"abcdef"]),
    (r#"{"type":"string","maxLength":5000}"#, &["\"", "\"a", "\"ab"]),
    // Chains of states along which characters are counted, likewise.
    (
        r#"{"type":"string","format":"email","maxLength":255}"#,
        &["\"", "\"adm", "\"adm@", "\"adm@example", "\"adm@example.c", EMAIL_OF_234, EMAIL_OF_253],
    ),
    (
        r#"{"type":"string","pattern":"^[a-z]{1,63}([.][a-z]{1,63})*$","minLength":150}"#,
        &["\"", "\"exa", "\"example.co", "\"exampleexampleexample.exampleexample.exa", LABELS_OF_149],
    ),
    (
        r#"{"type":"string","format":"uri","maxLength":140}"#,
        &["\"", "\"http", "\"http://exa", "\"http://example.com/a?b"],
    ),
    // Residues in a register.
    (
        r#"{"type":"integer","multipleOf":0.123456789}"#,
        &["", "-", "0", "1", "1234567", "12345678", "123456789", "24691357", "-98765432109876543210"],
    ),
    (
        r#"{"type":"array","items":{"type":"number","multipleOf":65537.25}}"#,
        &[
            "[",
            "[0",
            "[0.",
            "[655",
            "[65537",
            "[65537.",
            "[65537.2",
            "[65537.25",
            "[65537.250",
            "[262149",
            "[-3",
            "[12345",
        ],
    ),
    (
        r#"{"properties":{"a":{"type":"integer","multipleOf":1000003,"maximum":50000000000},"b":{}},"required":["a","b"]}"#,
        &["{\"a\":", "{\"a\":5", "{\"a\":499", "{\"a\":49998149", "{\"a\":1000003", "{\"a\":1000003,", "{\"a\":-1"],
    ),
    (r#"{"type":"number","not":{"multipleOf":65537.25}}"#, &["", "0", "65537.2", "65537.25", "65537.250", "65537.251"]),
    (
        r#"{"type":"array","items":{"type":"integer","not":{"multipleOf":1000003}},"maxItems":3}"#,
        &["[", "[1", "[10", "[1000003", "[100000", "[1000004,", "[1,2,1000003"],
    ),
    (
        r#"{"type":"array","items":{"type":"integer","multipleOf":1000003},"uniqueItems":true}"#,
        &["[", "[0", "[0,", "[1000003,", "[1000003,-", "[1000003,100000", "[1000003,1000003", "[1000003,10000030"],
    ),
    (
        r#"{"type":"array","items":{"anyOf":[{"type":"integer","not":{"multipleOf":1000003}},{"const":0}]},"uniqueItems":true}"#,
        &["[", "[0", "[0,", "[1,", "[1000003", "[1,0,1"],
    ),
    // Parts that states share, and models of names.
    (
        r#"{"properties":{"a":{"type":"string"},"b":{"type":"number"},"abc":{}},"required":["a","b"],"type":"object"}"#,
        &[
            "",
            "{",
            "{\"",
            "{\"a",
            "{\"a\"",
            "{\"a\":",
            "{\"a\": ",
            "{\"a\":\"",
            "{\"a\":\"\"",
            "{\"a\":\"\",",
            "{\"a\":\"\", \"b\":",
            "{\"a\":\"\", \"b\":1",
            "{\"a\":\"\", \"b\":1, \"",
            "{\"a\":\"\", \"b\":1, \"ab",
            "{\"a\":\"\", \"b\":1, \"abc\": ",
        ],
    ),
    (
        r#"{"type":"object","properties":{"ab":{"type":"boolean"}},"patternProperties":{"^x":{"type":"integer"}}}"#,
        &["{\"", "{\"a", "{\"ab", "{\"ab\":", "{\"ab\":true,\"xc\":", "{\"x"],
    ),
    // Distinct values: finitely many keys, strings, objects.
    (
        r#"{"type":"object","patternProperties":{"^[0-9a-z_]{1,255}$":{"type":"number"}},"additionalProperties":false}"#,
        &[
            "{",
            "{\"",
            "{\"a",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1, ",
            "{\"a\":1,\"",
            "{\"key\":1,\"ke",
            "{\"a\":1,\"key\":2,\"a",
        ],
    ),
    (
        r#"{"type":"object","patternProperties":{"^[ab]$":{}},"additionalProperties":false}"#,
        &["{\"", "{\"a\":\"", "{\"a\":\"\"", "{\"a\":1,", "{\"a\":1,\"", "{\"a\":1,\"b\":2"],
    ),
    (
        r#"{"type":"array","items":{"enum":["ab","a","abc","b c"]},"uniqueItems":true}"#,
        &[
            "[",
            "[\"",
            "[\"a",
            "[\"a\",",
            "[\"a\", \"",
            "[\"a\",\"abc\",\"",
            "[\"a\",\"abc\",\"a",
            "[\"a\",\"abc\",\"ab\"",
        ],
    ),
    (
        r#"{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}},"uniqueItems":true}"#,
        &[
            "[",
            "[{\"a\":\"",
            "[{\"a\":\"}\"},{\"a\":\"",
            "[{\"a\":\"}\"},{\"a\":\"}",
            "[{\"a\":\"\"},{\"a\":\"\"",
            "[{},",
        ],
    ),
    // Distinct values with few left: objects, arrays, counted items.
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}"#,
        &[
            "[{\"a\":\"x",
            "[{\"a\":\"x\"},",
            "[{\"a\":\"x\"},{",
            "[{\"a\":\"x\"},{\"a\":",
            "[{\"a\":\"x\"},{\"a\":\"",
            "[{\"a\":\"hello\"},{\"a\":\"hel",
            "[{\"a\":\"hello\"},{ \"a\" : \"hel",
            "[{\"a\":\"x\"},{},",
        ],
    ),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"],"additionalProperties":false}}"#,
        &["", "[", "[{\"b\":true}", "[{\"b\":true},", "[{\"b\":true},{\"b\":", "[{\"b\":true}, {\"b\":false}"],
    ),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a","b"],"additionalProperties":false}}"#,
        &[
            "[{\"a\":\"x\",\"b\":true},{\"a\":\"",
            "[{\"a\":\"x\",\"b\":true},{\"a\":\"x\",\"b\":false},{\"a\":\"",
            "[{\"a\":\"x\",\"b\":true},{\"a\":\"x\",\"b\":",
            "[{\"a\":\"x\",\"b\":true},{\"a\":\"xy\",\"b\":",
        ],
    ),
    (
        r#"{"type":"array","items":{"type":"string"},"uniqueItems":true,"contains":{"type":"string","minLength":1},"maxContains":1}"#,
        &["", "[", "[\"b\"", "[\"b\",", "[\"b\", \"", "[\"\"", "[\"\", \"b\""],
    ),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"array","items":{"type":"integer"},"maxItems":1}}"#,
        &["[", "[[12],[", "[[12],[1", "[[],[12],", "[[12],[ "],
    ),
];

#[test]
fn short_cuts_find_what_trying_each_token_finds() {
    let vocab = Arc::new(Vocab::tiktoken(Encoding::Cl100kBase).unwrap());
    let mut rng = Rng::new(1);
    for &(schema, texts) in SHORT_CUTS {
        let case = SchemaCase::parse(&format!(r#"{{"schema":{schema},"tests":[]}}"#), schema).unwrap();
        let compiler = GrammarCompiler::new(Arc::clone(&vocab));
        let compiled = compiler.compile_json_schema(schema).unwrap();
        // In both orders: what an earlier mask found must not show in a later one.
        for text in texts.iter().chain(texts.iter().rev()) {
            let mut matcher = compiled.matcher();
            matcher.accept_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{schema} {text}: {error}"));
            compare(&mut rng, &case, &mut matcher, text.as_bytes());
            compiler.clear_caches();
        }
    }
}

#[test]
fn masks_are_what_trying_each_token_says() {
    let Some(path) = data("maskbench-dev.jsonl.gz") else { return };
    let only = std::env::var("MASKWRIGHT_SCHEMAS").unwrap_or_default();
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(File::open(path).unwrap())).lines();
    let lines: Vec<String> = lines.map(Result::unwrap).filter(|line| line.contains(&only)).collect();
    let time = rounds::time_or(if rounds::is_ci() { 60 } else { 15 });
    let seed = rounds::seed_or(rounds::random_seed(CI_SEED));

    let vocab = Arc::new(Vocab::tiktoken(Encoding::Cl100kBase).unwrap());
    let sampler = Sampler::new(&vocab);
    let compiler = GrammarCompiler::new(vocab);
    let (n_schemas, n_masks) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let (lines, only, sampler, compiler, n_schemas, n_masks) =
                (&lines, &only, &sampler, &compiler, &n_schemas, &n_masks);
            scope.spawn(move || {
                let mut rng = Rng::new(seed.wrapping_add(thread));
                while start.elapsed() < time {
                    let case = SchemaCase::parse(&lines[rng.below(lines.len())], "").unwrap();
                    if !case.id.contains(only) {
                        continue;
                    }
                    let deadline =
                        CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(2)), cancelled: None };
                    let compiled =
                        compiler.compile_json_schema_with(&case.schema, &SchemaOptions::default(), &deadline);
                    let Ok(compiled) = compiled else { continue };
                    n_schemas.fetch_add(1, Ordering::Relaxed);
                    let mode = if rng.chance(50) { SamplingMode::Common } else { SamplingMode::Rare };
                    let mut sample = Sample::new(compiled.matcher());
                    for _ in 0..N_STEPS {
                        if rng.below(N_STEPS) < N_COMPARED {
                            compare(&mut rng, &case, &mut sample.matcher, &sample.text);
                            n_masks.fetch_add(1, Ordering::Relaxed);
                        }
                        if !sampler.step(&mut rng, mode, &mut sample) {
                            break;
                        }
                    }
                }
            });
        }
    });
    let n_masks = n_masks.into_inner();
    println!("{n_masks} masks of {} schemas in {:?}", n_schemas.into_inner(), start.elapsed());
    assert!(n_masks > 50 || !only.is_empty(), "{n_masks} masks");
}
