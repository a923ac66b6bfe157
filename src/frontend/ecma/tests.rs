//! Each construct by example, errors with their places, and random patterns against a backtracking matcher.

use super::part::{self, Part};
use super::{anchored_literal, class, parse};
use crate::Limits;
use crate::regular::Dfa;
use proptest::prelude::*;

fn dfa(pattern: &str) -> Dfa {
    let limits = Limits::default();
    let regular = parse(pattern, &limits).unwrap_or_else(|error| panic!("{error:#}"));
    Dfa::new(&regular, &limits).unwrap_or_else(|error| panic!("/{pattern}/: {error}"))
}

#[track_caller]
fn check(pattern: &str, matches: &[&str], misses: &[&str]) {
    let dfa = dfa(pattern);
    for text in matches {
        assert!(dfa.is_match(text.as_bytes()), "/{pattern}/ should match {text:?}");
        assert!(is_match_slowly(pattern, text), "slowly, /{pattern}/ should match {text:?}");
    }
    for text in misses {
        assert!(!dfa.is_match(text.as_bytes()), "/{pattern}/ should not match {text:?}");
        assert!(!is_match_slowly(pattern, text), "slowly, /{pattern}/ should not match {text:?}");
    }
}

#[test]
fn patterns_match_anywhere_unless_anchored() {
    check("b", &["b", "abc", "\nb\n"], &["", "ac"]);
    check("", &["", "x"], &[]);
    check("^b", &["b", "bc"], &["ab", "\nb"]);
    check("b$", &["b", "ab"], &["bc", "b\n"]);
    check("^(a|b$|)c|^d", &["ac", "cx", "d"], &["bc", "xd", "xac"]);
    check("a^b|b$c", &[], &["ab", "bc", "a\nb"]);
    check("(^|,)x(,|$)", &["x", "x,y", "y,x", "y,x,y"], &["xx", "yx"]);
    check("^(a|$)*^$", &[""], &["a"]);
}

#[test]
fn classes_and_escapes() {
    check(r"^\d$", &["0"], &["\u{7c0}", "٣"]);
    check(r"^\w\W$", &["a-", "_é"], &["éa", "aa"]);
    check(r"^\s+$", &[" \t\n\u{b}\u{c}\r\u{a0}\u{feff}\u{2003}\u{2029}"], &["\u{2013}", "\u{180e}"]);
    check(r"^\S\D$", &["xx", "é\n"], &[" x", "x1"]);
    check(r"^\cC\ca\0\x41\u0042\u{43}\u{00001F600}\uD83D\uDE00$", &["\u{3}\u{1}\0ABC😀😀"], &["cCcAABC😀😀"]);
    check(r"^[\uD83D\uDE00-\u{1F602}\b\cA]$", &["😀", "😁", "\u{8}", "\u{1}"], &["😃", "b"]);
    check(r"^\uD800|[\uDC00-\uDFFF]|x$", &["x"], &["a", "\u{d7ff}", "\u{e000}"]);
    check(r"^[\uD000-\uE000]$", &["\u{d7ff}", "\u{e000}"], &["\u{e001}"]);
    check("^.$", &["é", "\u{85}"], &["\n", "\r", "\u{2028}", "\u{2029}", ""]);
    check("^[^]$", &["\n", "😀"], &["", "ab"]);
    check("[]|a[]|c", &["c"], &["", "a"]);
    check("^[^a-c]$", &["d", "\n"], &["b"]);
    check("^[^-a]|[a-]$", &["x", "-", "a"], &["-x"]);
    check(r"^[\w-.]$", &["a", "-", "."], &["/"]);
    check(r"^\-\/\_\@\ \'\é$", &["-/_@ 'é"], &["\\-"]);
    check(r"^\^\$\\\.\*\+\?\(\)\[\]\{\}\|$", &[r"^$\.*+?()[]{}|"], &[""]);
    check("^a{,2}|^b{x}|^c}]$", &["a{,2}", "b{x}", "c}]"], &["aa", "b"]);
    check(r"^\p{Lu}\P{L}\p{Script=Greek}\p{sc=Latin}\p{scx=Deva}\p{gc=Nd}\p{Alphabetic}$", &["A1αbक7é"], &["a1αbक7é"]);
    check(r"^[\p{L}\p{Emoji_Presentation}]+$|^\p{ASCII}\p{Any}\P{Any}?$", &["é😀", "a\n"], &["é1"]);
}

#[test]
fn groups_and_quantifiers() {
    check("^(?<year>[0-9]{4})(?:-(0|1)){2}$", &["2024-0-1"], &["2024-0"]);
    check("^a*?b+?c??d{1,2}?$", &["bd", "aabbcdd"], &["ad", "bddd"]);
    check("^(a|bc){2,}$", &["abc", "bcbc"], &["a", "bca b"]);
    check("^((a?){2,3}){0}x$", &["x"], &["ax"]);
    check("^(?=a)*b(?!c){2}", &["b", "bd"], &["bc"]);
    check("^[a-z]{3}$", &["abc"], &["ab"]);
}

#[test]
fn word_boundaries() {
    check(r"\bfoo\b", &["foo", "a foo.", "é foo"], &["foos", "afoo"]);
    check(r"^\Ba|\B\.\B", &[".."], &["a.b", "a"]);
    check(r"^\w{1,3}\b.?$", &["abc", "a-"], &["abcd", ""]);
    check(r"^(\b\w+\b\W?)*$", &["ab cd ", "ab", ""], &["ab  cd"]);
    check(r"^(\w*\B|-)*$", &["", "-", "--"], &["a"]);
    check(r"\b", &["a", "-a"], &["", "--"]);
}

#[test]
fn lookaheads_see_the_rest_of_the_text() {
    check("^(?!foo)[a-z]+$", &["fo", "bar", "fofoo"], &["foo", "food"]);
    check("^(?=.{2,3}$)a*b*$", &["ab", "bbb"], &["a", "aabb"]);
    check("(a|ab)(?!c)c?", &["a", "abd", "acab"], &["ac", "c"]);
    check("^(?=.*[0-9])(?=.*[a-z]).{3,}$", &["a1b", "1.a"], &["abc", "a1"]);
    check("^(?!a(?!b))[ab]*$", &["ab", "b", ""], &["aa", "a"]);
    check("^(x(?=y))?y?$", &["xy", "y", ""], &["x"]);
    check("a(?=b)c", &[], &["abc", "ac"]);
    check("^((?!ab).)*$", &["", "ba", "aacb"], &["ab", "bbab", "b\n"]);
    check("^(?:(?!ab).)*ab$", &["ab", "baab"], &["abab", "ba"]);
    check("^(?:[a-z]|-(?!-|$))*$", &["a-b", "-a"], &["a--b", "a-"]);
    check("^(?:(?!--)[a-z-]|[0-9](?=-))+x*$", &["a-b-", "1-x"], &["a--b", "1"]);
    check("^((a|b(?!b))*c(?=(d$)*))*$", &["", "abc", "bcc"], &["bbc", "ab"]);
}

#[test]
fn plain_patterns_stay_as_they_are() {
    let limits = Limits::default();
    let same = |pattern: &str, bare: &str| {
        let full = crate::frontend::regex::parse(bare, "", &limits).unwrap();
        let (ours, theirs) = (parse(pattern, &limits).unwrap(), full);
        assert_eq!(Dfa::new(&ours, &limits).unwrap(), Dfa::new(&theirs, &limits).unwrap());
        assert!(ours.nodes().len() <= theirs.nodes().len(), "{ours:?} {theirs:?}");
    };
    same("^[a-z]{1,255}$", "[a-z]{1,255}");
    same("^abc[0-9]+(?:x|yz)*$", "abc[0-9]+(?:x|yz)*");
    same("^(abc)$", "abc");
}

#[test]
fn errors_name_the_construct_and_its_place() {
    for (pattern, place, message) in [
        (r"(a)b\1", 4..6, r"back-references (`\1`) are not regular"),
        (r"(?<n>a)\k<n>", 7..12, r"back-references (`\k<n>`) are not regular"),
        (r"a\2", 1..3, r"`\2` refers to a group that is not there"),
        (r"\k<n>", 0..2, r"`\k` without the name of a group"),
        ("a(?<=b)", 1..5, "lookbehind (`(?<=`) is not supported"),
        ("(?<!b)", 0..4, "lookbehind (`(?<!`) is not supported"),
        ("a(b", 1..2, "group without its `)`"),
        ("a)b", 1..2, "`)` without a group that it closes"),
        ("x[a", 1..2, "class without its `]`"),
        ("[z-a]", 1..4, "range `z-a` ends before it begins"),
        ("*a", 0..1, "nothing to repeat before `*`"),
        ("a|{2}", 2..3, "nothing to repeat before `{`"),
        ("a**", 2..3, "nothing to repeat before `*`"),
        ("^*", 1..2, "nothing to repeat before `*`"),
        (r"\b{2}", 2..5, "nothing to repeat before `{2}`"),
        ("a{3,2}", 1..6, "`{3,2}` ends with a smaller count than it begins with"),
        (
            "a{99999999999999999999}",
            1..23,
            "repeat count in `{99999999999999999999}` is more than 4294967294 (repeat_max)",
        ),
        (r"\a", 0..2, r"unknown escape `\a`"),
        (r"é\Z", 2..4, r"unknown escape `\Z`"),
        (r"\012", 0..4, r"octal escapes (`\012`) are not supported"),
        (r"\c1", 0..2, r"`\c` without a letter"),
        (r"\x4", 0..2, r"`\x` without two hexadecimal digits"),
        (r"\u004", 0..2, r"`\u` without four hexadecimal digits"),
        (r"\u{110000}", 0..2, r"`\u{...}` without the number of a character"),
        (r"\p{Nope}", 0..8, r"unknown property `\p{Nope}`"),
        (r"\pL", 0..2, r"`\p` without the name of a property in braces"),
        ("(?i)a", 0..3, "unknown kind of group `(?i`"),
        ("(?P<n>x)", 0..3, "unknown kind of group `(?P`"),
        ("(?<1>x)", 0..4, "group name is missing or malformed"),
        (r"a\", 1..2, "backslash at the end"),
    ] {
        let error = parse(pattern, &Limits::default()).unwrap_err();
        assert_eq!(error.message(), message, "{pattern}");
        assert_eq!((error.span().start, error.span().end), (place.start, place.end), "{pattern}: {message}");
    }
}

#[test]
fn large_patterns_are_answered() {
    let limits = Limits::default();
    let nested = |n: usize, open: &str, close: &str| format!("{}a{}", open.repeat(n), close.repeat(n));
    assert!(parse(&nested(200, "(", ")"), &limits).is_ok());
    assert!(parse(&nested(100_000, "(", ")"), &limits).unwrap_err().message().contains("nesting_max"));
    let deepest = Limits { nesting_max: usize::MAX, ..Limits::default() };
    assert!(parse(&nested(250, "(?!", ")"), &deepest).is_ok());
    assert!(parse(&nested(251, "(?!", ")"), &deepest).unwrap_err().message().contains("nesting_max"));
    let answers = [
        nested(100, "(?:", "|$){9}"),
        nested(200, "(?:", "|b$)*"),
        nested(12, "(?:(?!ab", ").)*"),
        format!("^({}.)*$", "(?!ab)".repeat(2_000)),
        "a(?=)".repeat(20_000),
        r"a\B".repeat(20_000),
        format!("({})*", "(a|$)*".repeat(200)),
        r"((?!\p{L}\p{Lu}\p{Script=Greek})[^])*$".to_owned(),
        "((?!(a|b)*a(a|b){12}c).)*$".to_owned(),
        "^(?:a(?!b)){5000}$".to_owned(),
        "^(?:(?!ab).){0,20000}$".to_owned(),
        "^(?:a|b$){4000000000}".to_owned(),
    ];
    for pattern in answers {
        let start = std::time::Instant::now();
        if let Err(error) = parse(&pattern, &limits) {
            assert!(error.message().contains("too large"), "{error}");
        }
        assert!(start.elapsed().as_secs() < 20, "{:.60}: {:?}", pattern, start.elapsed());
    }
}

/// Returns whether the pattern matches somewhere in the text, by trying.
fn is_match_slowly(pattern: &str, text: &str) -> bool {
    let part = part::parse(pattern, &Limits::default()).unwrap();
    let text: Vec<char> = text.chars().collect();
    (0..=text.len()).any(|start| tries(&part, &text, start, &mut |_| true))
}

/// Calls `then` with the ends of matches from a place on, until it says yes.
fn tries(part: &Part, text: &[char], at: usize, then: &mut dyn FnMut(usize) -> bool) -> bool {
    let is_word = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|&c| class::word().contains(c));
    match part {
        Part::Class(set) => text.get(at).is_some_and(|&c| set.contains(c)) && then(at + 1),
        Part::Concat(parts) => match parts.split_first() {
            None => then(at),
            Some((first, continuation)) => {
                let continuation = Part::Concat(continuation.to_vec());
                tries(first, text, at, &mut |at| tries(&continuation, text, at, then))
            }
        },
        Part::Choice(parts) => parts.iter().any(|part| tries(part, text, at, then)),
        Part::Repeat { body, min, max, span } => {
            if *max == Some(0) {
                return then(at);
            }
            let min_left = min.saturating_sub(1);
            let continuation =
                Part::Repeat { body: body.clone(), min: min_left, max: max.map(|max| max - 1), span: *span };
            // As in ECMAScript, an optional copy has to match something.
            (*min == 0 && then(at))
                || tries(body, text, at, &mut |next| (*min > 0 || next > at) && tries(&continuation, text, next, then))
        }
        Part::Start => at == 0 && then(at),
        Part::End => at == text.len() && then(at),
        Part::Boundary { is_negated } => (is_word(at.checked_sub(1)) == is_word(Some(at))) == *is_negated && then(at),
        Part::Look { body, is_negated } => tries(body, text, at, &mut |_| true) != *is_negated && then(at),
    }
}

/// Patterns over three characters: a letter, another letter, a hyphen.
fn patterns() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "-", ".", "[ab]", "[^a]", r"\w", r"\W"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["^", "$", r"\b", r"\B"]).prop_map(str::to_owned),
        1 => Just(String::new()),
    ];
    leaf.prop_recursive(4, 14, 3, |inner| {
        let quantifier = prop::sample::select(vec!["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}"]);
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.concat()),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
            2 => (inner.clone(), quantifier).prop_map(|(a, quantifier)| format!("(?:{a}){quantifier}")),
            1 => inner.clone().prop_map(|a| format!("(?={a})")),
            1 => inner.clone().prop_map(|a| format!("(?!{a})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_patterns_match_as_by_trying(pattern in patterns()) {
        let limits = Limits::default();
        let regular = match parse(&pattern, &limits) {
            Ok(regular) => regular,
            Err(error) => {
                prop_assert!(error.message().contains("too large"), "{}", error);
                return Ok(());
            }
        };
        let Ok(dfa) = Dfa::new(&regular, &limits) else { return Ok(()) };
        // Every text of up to five characters.
        let mut texts = vec![String::new()];
        let mut start = 0;
        for _ in 0..5 {
            let end = texts.len();
            for text in start..end {
                for c in ['a', 'b', '-'] {
                    texts.push(format!("{}{c}", texts[text]));
                }
            }
            start = end;
        }
        for text in &texts {
            prop_assert_eq!(dfa.is_match(text.as_bytes()), is_match_slowly(&pattern, text), "/{}/ on {:?}", pattern, text);
        }
    }

    #[test]
    fn any_text_is_answered(pattern in r"[ab()\[\]{}|*+?^$.\\,0-9<>=!:kpu-]{0,16}") {
        let _ = parse(&pattern, &Limits::default());
    }
}

#[test]
fn anchored_literals_are_what_their_pattern_matches() {
    for text in ["", "a", "PowerShell@2", "a/b-c d", "ä😀", "a,b:=!<>#&~\"'`%;@_"] {
        let pattern = format!("^{text}$");
        assert_eq!(anchored_literal(&pattern), Some(text));
        let n_bytes = text.len();
        assert_eq!(dfa(&pattern).byte_lengths(), Some((n_bytes, Some(n_bytes))), "{pattern}");
        check(&pattern, &[text], &[&"x".repeat(n_bytes + 1), &format!("x{text}"), &format!("{text}\n")]);
    }
    for pattern in
        ["a$", "^a", "^a\\$", "^a|b$", "^a.$", "^a*$", "^a{2}$", "^[a]$", "^(a)$", "^^$", "^$$", "^a?$", "$", "^"]
    {
        assert_eq!(anchored_literal(pattern), None, "{pattern}");
    }
}
