//! Formats against the official suite, against other definitions, and their sizes.

use super::super::draft::Draft;
use super::{ASSERTED, language, not_enforced};
use crate::Limits;
use crate::frontend::ecma::suite;
use crate::regular::Dfa;
use hashbrown::HashMap;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// Cases of the suite that don't hold: the format, the text, why. A listed case that holds fails the test.
const DEVIATIONS: &[(&str, &str, &str)] = &[("regex", "(?<n>a)\\k<n>", "references are left out")];

/// Returns the automaton of a format.
fn dfa(name: &'static str) -> &'static Dfa {
    static DFAS: [OnceLock<Dfa>; ASSERTED.len()] = [const { OnceLock::new() }; ASSERTED.len()];
    let number = ASSERTED.iter().position(|&asserted| asserted == name).unwrap();
    DFAS[number].get_or_init(|| Dfa::new(&language(name, Draft::Draft2020).unwrap(), &Limits::default()).unwrap())
}

#[track_caller]
fn check(name: &'static str, matches: &[&str], misses: &[&str]) {
    for text in matches {
        assert!(dfa(name).is_match(text.as_bytes()), "{name} should match {text:?}");
    }
    for text in misses {
        assert!(!dfa(name).is_match(text.as_bytes()), "{name} should not match {text:?}");
    }
}

#[test]
fn official_cases_hold_but_for_named_ones() {
    let mut seen: HashMap<&str, (usize, usize)> = HashMap::new();
    // Of formats enforced in part no valid text is refused, and what else is let through is counted.
    let mut n_let_through: BTreeMap<&str, usize> = BTreeMap::new();
    let mut met = BTreeSet::new();
    let mut wrong = Vec::new();
    for draft in ["draft2020-12", "draft7"] {
        for name in ASSERTED.iter().copied().chain(["ecmascript-regex"]) {
            let exists = draft != "draft7" || !matches!(name, "duration" | "uuid" | "ecmascript-regex");
            let path = format!("{draft}/optional/format/{name}.json");
            let Some(groups) = exists.then(|| suite::read(&path)) else { continue };
            let Some(groups) = groups else { return };
            let name = if name == "ecmascript-regex" { "regex" } else { name };
            for case in groups.as_array().unwrap().iter().flat_map(|group| group["tests"].as_array().unwrap()) {
                let Some(text) = case["data"].as_str() else { continue };
                let expected = case["valid"].as_bool().unwrap();
                let holds = dfa(name).is_match(text.as_bytes()) == expected;
                if !expected && !holds && not_enforced(name, Draft::Draft2020).is_some() {
                    *n_let_through.entry(name).or_default() += 1;
                    continue;
                }
                let counts = seen.entry(name).or_default();
                *(if holds { &mut counts.0 } else { &mut counts.1 }) += 1;
                let listed = DEVIATIONS.iter().position(|&(of, at, _)| (of, at) == (name, text));
                met.extend(listed);
                if holds != listed.is_none() {
                    wrong.push(format!(
                        "{path}: {text:?} should be {expected} (listed: {}): {}",
                        !holds, case["description"]
                    ));
                }
            }
        }
    }
    let mut seen: Vec<_> = seen.into_iter().collect();
    seen.sort_unstable();
    eprintln!("format, (holding, deviating): {seen:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(n_let_through, BTreeMap::from([("hostname", 46), ("idn-hostname", 36)]));
    assert_eq!(met.len(), DEVIATIONS.len(), "a listed case is no longer in the suite");
}

#[test]
fn automata_are_small() {
    let mut sizes = Vec::new();
    for name in ASSERTED {
        let start = std::time::Instant::now();
        let regular = language(name, Draft::Draft2020).unwrap();
        let read = start.elapsed();
        let start = std::time::Instant::now();
        let dfa = Dfa::new(&regular, &Limits::default()).unwrap();
        sizes.push((name, dfa.n_states()));
        eprintln!(
            "{name}: {} states, {} edges, read {read:?}, built {:?}",
            dfa.n_states(),
            dfa.n_edges(),
            start.elapsed()
        );
    }
    for (name, n_states) in sizes {
        assert!(n_states < 10_000, "{name} has {n_states} states");
    }
}

#[test]
fn every_name_is_asserted_or_not() {
    assert!(ASSERTED.iter().all(|name| language(name, Draft::Draft4).is_some()));
    assert!(["phone", "", "hostname (draft 6)"].iter().all(|name| language(name, Draft::Draft6).is_none()));
    let (one, other) = (language("uuid", Draft::Draft4).unwrap(), language("uuid", Draft::Draft2020).unwrap());
    assert!(std::sync::Arc::ptr_eq(&one, &other));
}

#[test]
fn dates_are_the_days_of_the_calendar() {
    let is_leap = |year: u32| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut n_days = 0;
    for year in 0..=9999 {
        for month in 0..=13 {
            let length = match month {
                2 => 28 + u32::from(is_leap(year)),
                4 | 6 | 9 | 11 => 30,
                1..=12 => 31,
                _ => 0,
            };
            for day in [0, 1, 9, 10, 19, 20, 27, 28, 29, 30, 31, 32, 99] {
                let text = format!("{year:04}-{month:02}-{day:02}");
                let is_day = (1..=length).contains(&day);
                n_days += u32::from(is_day);
                assert_eq!(dfa("date").is_match(text.as_bytes()), is_day, "{text}");
            }
        }
    }
    assert!(n_days > 1_000_000);
}

#[test]
fn times_end_days_with_leap_seconds() {
    check("time", &["23:59:60z", "23:44:60.5-00:15", "05:29:60+05:30"], &["23:58:60-00:01", "05:30:60+05:30"]);
    // All local times and offsets, the latter in steps of 15 minutes.
    for local in 0..24 * 60_u32 {
        for offset in (0..24 * 60_u32).step_by(15) {
            for sign in ['+', '-'] {
                let (hour, minute) = (offset / 60, offset % 60);
                let text = format!("{:02}:{:02}:60{sign}{hour:02}:{minute:02}", local / 60, local % 60);
                let utc = if sign == '+' { local + 1440 - offset } else { local + offset } % 1440;
                assert_eq!(dfa("time").is_match(text.as_bytes()), utc == 1439, "{text}");
            }
        }
    }
}

#[test]
fn lengths_of_names() {
    let labels = |lengths: &[usize]| lengths.iter().map(|&n| "a".repeat(n)).collect::<Vec<_>>().join(".");
    for (lengths, is_host) in [
        (&[63][..], true),
        (&[64], false),
        (&[63, 63, 63], true),
        (&[63, 63, 63, 55], true),
        (&[63, 63, 63, 62], false),
        (&[1; 31], true),
    ] {
        let host = labels(lengths);
        assert_eq!(dfa("hostname").is_match(host.as_bytes()), is_host, "{lengths:?}");
        assert_eq!(dfa("email").is_match(format!("a@{host}").as_bytes()), is_host, "{lengths:?}");
    }
    check("hostname", &["a--b", "abc--d", "0.1"], &["ab--c", "x.ab--c", "xa--c", "xn--", "a..b", "a.-b"]);
    let old = Dfa::new(&language("hostname", Draft::Draft6).unwrap(), &Limits::default()).unwrap();
    assert!(["ab--c", "x.ab--c.de", "XN--aa---o47jg78q"].iter().all(|name| old.is_match(name.as_bytes())));
    assert!(["", "-a", "a-", "a_b", "a."].iter().all(|name| !old.is_match(name.as_bytes())));
    assert_eq!((not_enforced("hostname", Draft::Draft6), not_enforced("email", Draft::Draft7)), (None, None));
    assert!(not_enforced("hostname", Draft::Draft7).is_some_and(|what| what.contains("A-labels")));
    check("idn-hostname", &["é", "aé.b-c", "xn--a", "例え。テスト"], &["É", "-é", "é-", "é.", "ａ", "a b"]);
    check("idn-email", &["δ@例え.x", "\"δ ε\"@x"], &["δ ε@x", "δ@", "δ@-é", "δ@a。b"]);
    check("email", &["a@ab--c.de"], &["δ@x"]);
    let local = |n: usize| format!("{}@a.b", "x".repeat(n));
    check("email", &[&local(64), "\"\\\"@\"@x", "a@[IPv6:::]"], &[&local(65), "\"\"\"@x", "a@[::]", "a@b@c", "a@"]);
}

#[test]
fn uris_and_pointers() {
    check(
        "uri",
        &["a:", "a:/", "a://", "a:b:c", "a://u:p@[v1.x]:80/?#", "a:%aF"],
        &["a", ":a", "a:#b#c", "a:%a", "a:/[", "a://["],
    );
    check(
        "uri-template",
        &["", "http://h/{a}", "é'\u{e000}", "{+a,b:3}/{?c*}", "x{a.b}", "%20{%41}"],
        &["{", "}", "{}", "{a", "{a:0}", "a b", "%", "{a b}", "http://h/{", "\u{ffff}", "\u{fdd0}", "\u{e0001}"],
    );
    check("uri-reference", &["", "a/b:c", "./a:b", "#", "//h/"], &["1:", "%", "a b", "é"]);
    check("json-pointer", &["", "/", "/é~0/"], &["a", "/~", "/~2"]);
    check(
        "relative-json-pointer",
        &["0", "1#", "10/a", "0+1/a", "1-2", "0-0", "0-1#"],
        &["", "#", "01", "0#/a", "+1", "0+", "0+01", "0--1"],
    );
    let before = Dfa::new(&language("relative-json-pointer", Draft::Draft2019).unwrap(), &Limits::default()).unwrap();
    assert!(before.is_match(b"1/a") && !before.is_match(b"0+1/a"));
}

#[test]
fn patterns_of_the_format_regex_are_read() {
    check(
        "regex",
        &["^a{1,2}?[^a-z\\]-]|(?:(?=b)|(c(d)*))+$", "\\p{Lu}\\u{1F600}", "[]", ""],
        &["a{2,1}", "(", ")", "[z-a]", "a**", "{", "\\a", "(?i)", "(?<n>a)(?<n>b)"],
    );
}

/// Walks the automaton of a format, choosing edges and bytes by a list of numbers; then goes the shortest way to an end.
fn sample(dfa: &Dfa, choices: &[u32]) -> String {
    let mut state = dfa.start().unwrap();
    let mut text = Vec::new();
    for &choice in choices {
        let edges: Vec<(u8, u8, u32)> = dfa.edges(state).collect();
        if edges.is_empty() {
            break;
        }
        let (low, high, target) = edges[choice as usize % edges.len()];
        text.push(low + (choice >> 8) as u8 % (high - low).saturating_add(1).max(1));
        state = target;
    }
    let distances = dfa.distances();
    while distances[state as usize] > 0 {
        let (low, _, next) = dfa.edges(state).min_by_key(|&(_, _, to)| distances[to as usize]).unwrap();
        text.push(low);
        state = next;
    }
    String::from_utf8(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn ipv6_as_the_standard_library_reads_it(text in "([0-9a-f]{1,4}|::?){1,12}|(:{0,2}[0-9a-f]{0,2}){1,9}((:[0-9]{1,3})?(\\.[0-9]{1,3}){3})?") {
        prop_assert_eq!(dfa("ipv6").is_match(text.as_bytes()), text.parse::<std::net::Ipv6Addr>().is_ok(), "{}", text);
    }

    #[test]
    fn ipv4_as_the_standard_library_reads_it(text in "[0-9]{1,3}(\\.[0-9]{1,3}){2,4}") {
        prop_assert_eq!(dfa("ipv4").is_match(text.as_bytes()), text.parse::<std::net::Ipv4Addr>().is_ok(), "{}", text);
    }

    #[test]
    fn addresses_of_the_languages_are_read(choices in prop::collection::vec(any::<u32>(), 0..48)) {
        let (six, four) = (sample(dfa("ipv6"), &choices), sample(dfa("ipv4"), &choices));
        prop_assert!(six.parse::<std::net::Ipv6Addr>().is_ok(), "{}", six);
        prop_assert!(four.parse::<std::net::Ipv4Addr>().is_ok(), "{}", four);
        let uuid = sample(dfa("uuid"), &choices);
        prop_assert!(uuid.len() == 36 && uuid.split('-').map(str::len).eq([8, 4, 4, 4, 12]), "{}", uuid);
        prop_assert!(uuid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()), "{}", uuid);
        let host = sample(dfa("hostname"), &choices);
        prop_assert!(host.len() <= 253 && host.split('.').all(|label| (1..=63).contains(&label.len())), "{}", host);
        prop_assert!(host.split('.').all(|label| !label.starts_with('-') && !label.ends_with('-')), "{}", host);
    }

    #[test]
    fn patterns_of_the_language_are_read(choices in prop::collection::vec(any::<u32>(), 0..40)) {
        let pattern = sample(dfa("regex"), &choices);
        if let Err(error) = crate::frontend::ecma::parse(&pattern, &Limits::default()) {
            let is_unsupported = error.message().contains("not supported") || error.message().contains("too large");
            prop_assert!(is_unsupported, "{:?}: {}", pattern, error);
        }
    }
}
