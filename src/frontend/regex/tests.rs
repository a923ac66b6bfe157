//! Patterns against the crate `regex`, anchors, flags, and every kind of error with its place.

use super::parse;
use crate::Limits;
use crate::regular::{Dfa, naive};
use proptest::prelude::*;

fn dfa(pattern: &str, flags: &str) -> Dfa {
    let limits = Limits::default();
    let regular = parse(pattern, flags, &limits).unwrap_or_else(|error| panic!("{error:#}"));
    Dfa::new(&regular, &limits).unwrap()
}

#[track_caller]
fn check(pattern: &str, flags: &str, matches: &[&str], misses: &[&str]) {
    let dfa = dfa(pattern, flags);
    for text in matches {
        assert!(dfa.is_match(text.as_bytes()), "/{pattern}/{flags} should match {text:?}");
    }
    for text in misses {
        assert!(!dfa.is_match(text.as_bytes()), "/{pattern}/{flags} should not match {text:?}");
    }
}

#[test]
fn classes_groups_and_repeats() {
    check(r"[^\d\sx&&[^y]]", "", &["a", "é", "🦀"], &["x", "1", "\u{660}", " ", ""]);
    check(r"[\w&&[^\dx]]", "", &["a", "é"], &["x", "1", "🦀"]);
    check(r"\p{Greek}+|\PL", "", &["αβγ", "1"], &["a", "1α"]);
    check(r"(?P<year>\d{4})-(?<month>\d\d)(?:Z)?", "", &["2024-02", "2024-02Z"], &["2024-2"]);
    check("a*?b+?c??", "", &["b", "aabbc"], &["a", "bcc"]);
    check("[[:alpha:]]{2,}", "", &["ab", "abc"], &["a", "é1"]);
    check(r"\x41\u0042\u{43}\U00000044\t", "", &["ABCD\t"], &["ABCD"]);
    check("(?-u:\\w)", "", &["a", "_"], &["é"]);
    check("(a?){2,3}", "", &["", "a", "aaa"], &["aaaa"]);
    check("a{0}b{1,1}|", "", &["b", ""], &["a", "ab"]);
    check("[a&&b]", "", &[], &["a", "b", ""]);
    check("(){7}|x{0,0}", "", &[""], &["x"]);
}

#[test]
fn flags_from_outside_and_within() {
    check("k.é", "i", &["k-é", "K-É", "\u{212A}-é"], &["k\né"]);
    check("a.", "s", &["a\n", "a🦀"], &["A\n"]);
    check("a b # comment\n | c", "x", &["ab", "c"], &["a b"]);
    check("(?i)a(?-i:b)|c(?s-i).", "", &["Ab", "C\n"], &["AB", "AC"]);
    check("(a(?i)b|c)d", "", &["aBd", "Cd"], &["Abd", "cD"]);
    check("(?x) a b", "", &["ab"], &["a b"]);
    check("[a-c]ß", "i", &["Bẞ", "bß"], &["bss"]);
    check("(?R).", "", &["a"], &["\r", "\n"]);
    let error = parse("a", "ig", &Limits::default()).unwrap_err();
    assert_eq!(error.message(), "unknown flag `g` of a regular expression");
    assert_eq!(error.hint(), Some("the flags are `a`, `i`, `j`, `s`, `u` and `x`"));
}

#[test]
fn anchors_at_the_ends_vanish() {
    let limits = Limits::default();
    for (pattern, bare) in [
        ("^abc$", "abc"),
        (r"\Aabc\z", "abc"),
        ("^^a|b$$", "a|b"),
        ("(^a)", "(a)"),
        ("(?:^a$|^(b|c)$)", "(?:a|(b|c))"),
        ("(?i)^a", "(?i)a"),
        ("(^|,)x(,|$)", "(|,)x(,|)"),
        ("(^a)?", "(a)?"),
        ("^", ""),
    ] {
        assert_eq!(parse(pattern, "", &limits), parse(bare, "", &limits), "{pattern}");
    }
}

#[test]
fn anchors_within_mean_what_they_say() {
    check("a^b", "", &[], &["ab", "a", "b"]);
    check("a$b|c", "", &["c"], &["ab", "a"]);
    check("(a|)^b", "", &["b"], &["ab"]);
    check("a*^b*$c*", "", &["", "b", "bb"], &["a", "c", "ab", "bc"]);
    check("([a-z]+(,|$))*", "", &["", "a", "a,", "a,b", "a,b,"], &[",", "ab,,", "a,,b"]);
    check("((^|,)[a-z]+)*", "", &["", "a", "a,b", ",b"], &["a,", "a,,b"]);
    check("(^a|b){2}", "", &["ab", "bb"], &["aa", "ba"]);
    check("(^|a){3}", "", &["", "a", "aa", "aaa"], &["aaaa"]);
    check("(a|$){3}", "", &["", "a", "aa", "aaa"], &["aaaa"]);
    check("(^$|a)b", "", &["ab"], &["b"]);
    check("(^$)*", "", &[""], &["a"]);
    check("(^a$){2,}", "", &[], &["", "a", "aa"]);
}

#[test]
fn errors_name_the_construct_and_its_place() {
    let limits = Limits { nesting_max: 3, repeat_max: 1000, ..Limits::default() };
    for (pattern, at, message) in [
        (r"a\bb", r"\b", r"word boundaries (`\b`) are not supported"),
        (r"a\Bb", r"\B", r"word boundaries (`\B`) are not supported"),
        (r"x\b{start}y", r"\b{start}", r"word boundaries (`\b{start}`) are not supported"),
        (r"(a)\1", r"\1", r"back-references (`\1`) are not regular"),
        (r"(?<n>a)\k<n>", r"\k", r"back-references (`\k`) are not regular"),
        ("(?P<n>a)(?P=n)", "P", "back-references (`(?P=`) are not regular"),
        ("a(?=b)", "(?=", "look-ahead (`(?=`) is not supported"),
        ("a(?!b)", "(?!", "look-ahead (`(?!`) is not supported"),
        ("(?<=a)b", "(?<=", "look-behind (`(?<=`) is not supported"),
        ("(?<!a)b", "(?<!", "look-behind (`(?<!`) is not supported"),
        ("x(?>a)", ">", "atomic groups (`(?>`) are not supported"),
        ("x(?(1)a)", "(", "conditionals (`(?(`) are not regular"),
        ("(?<n>a(?&n)?)", "&", "recursion into groups is not regular"),
        ("(a(?1)?)", "1", "recursion into groups is not regular"),
        ("(?m)^a", "^", "anchors at lines (flag `m`) are not supported"),
        ("(?m:a$)", "$", "anchors at lines (flag `m`) are not supported"),
        (r"(?-u)\xFF", r"\xFF", "this could match bytes that are not UTF-8"),
        ("(?-u:[^a])", "[^a]", "this could match bytes that are not UTF-8"),
        (r"a\Z", r"\Z", r"unknown escape `\Z`"),
        ("é(?q)", "q", "unknown flag `q`"),
        (r"\p{Klingon}", r"\p{Klingon}", "Unicode property not found"),
        ("ab[a-", "[", "unclosed character class"),
        ("a)", ")", "unopened group"),
        ("(a", "(", "unclosed group"),
        ("*a", "*", "repetition operator missing expression"),
        ("a{3,1}", "{3,1}", "invalid repetition count range, the start must be <= the end"),
        ("[z-a]", "z-a", "invalid character class range, the start must be <= the end"),
        ("a{1001}", "{1001}", "repeat count 1001 is more than 1000 (repeat_max)"),
        ("a{5,1001}", "{5,1001}", "repeat count 1001 is more than 1000 (repeat_max)"),
        ("a{1001,}", "{1001,}", "repeat count 1001 is more than 1000 (repeat_max)"),
        ("a{99999999999}", "99999999999", "repeat count `99999999999` is more than 1000 (repeat_max)"),
        (r"a\0", r"\0", r"unknown escape `\0`"),
        (r"a\cJ", r"\c", r"unknown escape `\c`"),
        (r"a\e", r"\e", r"unknown escape `\e`"),
        ("a++", "+", "possessive repetitions (`++`, `*+`, `?+`, `}+`) are not supported"),
        ("[ab]{2,3}+c", "+", "possessive repetitions (`++`, `*+`, `?+`, `}+`) are not supported"),
        ("[[]", "[]", "unclosed character class"),
        ("((a(b(c))))", "(c", "nested more than 3 deep (nesting_max)"),
        ("[a[b[c[d]]]]", "[d", "nested more than 3 deep (nesting_max)"),
    ] {
        let error = parse(pattern, "", &limits).expect_err(pattern);
        assert_eq!(error.message(), message, "{pattern}");
        let start = pattern.rfind(at).unwrap();
        assert_eq!(error.span().start as usize, start, "{pattern}: {error:?}");
        if !message.starts_with("nested") {
            assert_eq!(&pattern[start..error.span().end as usize], at, "{pattern}");
        }
    }
    let hint = |pattern: &str| parse(pattern, "", &limits).unwrap_err().hint().unwrap_or_default().to_owned();
    for (pattern, part) in [
        (r"a\0", r"`\x00`"),
        (r"\cJ", r"`\x0A`"),
        (r"\cj", r"`\x0A`"),
        (r"\e", r"`\x1B`"),
        ("[[]", r"`\[`"),
        ("[a[b]", r"`\[`"),
        ("[^[]*x", r"`\[`"),
        ("a*+", "`(?:...)+`"),
    ] {
        assert!(hint(pattern).contains(part), "{pattern}: {}", hint(pattern));
    }
    assert_eq!(hint("ab[a-"), "", "no other class is inside");
    check("(?:a+)+|b+?|(?:c?)+?", "", &["aa", "bb", "cc"], &["ab"]);
    let short = parse("aaaa", "", &Limits { pattern_bytes_max: 3, ..limits.clone() }).unwrap_err();
    assert_eq!(
        (short.message(), short.limit_met()),
        ("pattern of 4 bytes, more than 3 (pattern_bytes_max)", Some((4, 3)))
    );
    let classes = parse(&"[a-z]".repeat(3000), "", &Limits { n_exprs_max: 1000, ..limits.clone() }).unwrap_err();
    assert!(classes.message().contains("n_exprs_max") && classes.limit_met().is_some(), "{classes}");
    let long = parse("aaaa", "", &Limits { source_bytes_max: 3, ..limits }).unwrap_err();
    assert_eq!(long.message(), "pattern of 4 bytes, more than 3 (source_bytes_max)");
}

#[test]
fn depth_is_refused_without_recursion() {
    let limits = Limits { pattern_bytes_max: 1 << 20, ..Limits::default() };
    for (open, close) in [("(", ")"), ("[a", "]"), ("(?:", "|b)*"), ("", "*")] {
        let pattern = format!("{}a{}", open.repeat(60_000), close.repeat(60_000));
        let error = parse(&pattern, "", &limits).unwrap_err();
        assert_eq!(error.message(), "nested more than 200 deep (nesting_max)");
    }
    let pattern = format!("{}a{}", "(x|y".repeat(200), ")+".repeat(200));
    assert!(parse(&pattern, "", &limits).is_ok(), "as many levels as the limit says");
}

/// Random patterns: parts put together, so that most are well-formed.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a", "b", "ab", "é", ".", "[ab]", "[^a]", r"\d", r"\w", "[a-é]", "k", "", "^", "$", r"\A", r"\z", "(?i)",
        "(?s-i)", r"\n",
    ]);
    leaf.prop_map(str::to_string).prop_recursive(5, 24, 4, |inner| {
        let repeat = prop::sample::select(vec!["*", "+", "?", "*?", "{2}", "{0,2}", "{1,}", "{2,3}?", "{0}"]);
        let group = prop::sample::select(vec!["(", "(?:", "(?i:", "(?s:", "(?-i:"]);
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => (group.clone(), prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(open, parts)| format!("{open}{})", parts.join("|"))),
            3 => (group, inner, repeat).prop_map(|(open, body, repeat)| format!("{open}{body}){repeat}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn patterns_match_what_the_crate_regex_matches(
        pattern in pattern(),
        flags in prop::sample::select(vec!["", "i", "s", "is"]),
        texts in prop::collection::vec("[abkKAéÉ\u{212A}1\n]{0,5}", 12),
    ) {
        let limits = Limits::default();
        let peer = regex::RegexBuilder::new(&format!(r"\A(?:{pattern})\z"))
            .case_insensitive(flags.contains('i'))
            .dot_matches_new_line(flags.contains('s'))
            .build()
            .unwrap();
        let regular = parse(&pattern, flags, &limits).unwrap();
        let dfa = Dfa::new(&regular, &limits).unwrap();
        for text in texts.iter().map(String::as_str).chain(["", "a", "b", "ab", "aa"]) {
            prop_assert_eq!(dfa.is_match(text.as_bytes()), peer.is_match(text), "/{}/{} on {:?}", pattern, flags, text);
            prop_assert_eq!(naive::is_match(&regular, text.as_bytes()), peer.is_match(text));
        }
    }

    #[test]
    fn no_pattern_panics(pattern in r"[\\(\)\[\]{}?*+|^$.,:<>=!&\-~#imsuxRUPpbBAzZkdw0-9aé ]{0,24}") {
        let limits = Limits { repeat_max: 50, dfa_states_max: 2000, ..Limits::default() };
        match parse(&pattern, "", &limits) {
            Ok(regular) => drop(Dfa::new(&regular, &limits)),
            Err(error) => {
                let text = format!("{error:#}");
                prop_assert!(text.contains('^') && error.span().end as usize <= pattern.len());
            }
        }
    }
}
