//! Bounds on the length of strings with a pattern: a register counts characters beside the pattern's automaton, and the oracle is the
//! product of that automaton with the lengths.

use maskwright::frontend::ecma;
use maskwright::json_schema::{RootForm, SchemaOptions};
use maskwright::regular::{CharSet, Dfa, Node, Regular};
use maskwright::testing::Rng;
use maskwright::{CompileOptions, GrammarCompiler, Limits, Matcher, Vocab};

/// A pattern, and the least and the greatest number of characters.
type Case = (&'static str, u32, Option<u32>);

/// Patterns with the least and the greatest number of characters.
const CASES: &[Case] = &[
    (r"^(?:\S+\s+){0,9}\S+$", 1, Some(60)),
    (r"^$|(^(?:\S+\s+){0,9}\S+$)", 0, Some(60)),
    (r"^(?:\S+\s+){9}\S+$", 0, Some(60)),
    (r#"^(?:[^\s"]+ ){3,9}é?[a-z]+$"#, 40, Some(300)),
    (r"^([a-z][0-9])+$", 3000, None),
    (r"^([a-z][0-9])+$", 0, Some(2001)),
    (r"^(a*|b{1000})$", 0, Some(500)),
    (r"^(a*|b{1000})$", 0, Some(1500)),
    (r"^(ab|c)*d?$", 0, Some(3001)),
    (r#"^[\n"a]*x\u0001y$"#, 0, Some(2000)),
    (r"^(é|€€|😀😀😀)*b?$", 700, Some(1000)),
    (r"^\D+(12|3|é\n)$", 0, Some(400)),
];

/// Patterns whose product with the lengths is built: both bounds matter, and some strings can't be longer by one character.
const WRITTEN_OUT: &[&str] = &[r"^(é|€€|😀😀😀)*b?$"];

/// Pieces of texts, as they stand in JSON.
const PIECES: &[&str] = &[
    "a ",
    " a",
    "aa",
    "aaaa",
    "ab",
    "abab",
    "a1a1",
    "1a",
    "a\"",
    "1\"",
    "\"",
    "\\n",
    "\\n\\n",
    "\\",
    "u0001y",
    "\\u0001",
    "x\\u0001y\"",
    "é",
    "éé",
    "€",
    "€€€",
    "😀",
    "😀😀",
    "c",
    "cd",
    "d\"",
    "bb",
    "bbbb",
    "12\"",
    "3\"",
    "  ",
    "   a",
    "\\\"",
    "\\\"a",
];

fn characters() -> Vec<char> {
    (0..0x100).chain([0x2003, 0x20AC, 0x3042, 0x1F600]).filter_map(char::from_u32).collect()
}

/// Returns the automaton of the strings of a pattern with `min` to `max` characters.
fn oracle(pattern: &str, min: u32, max: Option<u32>) -> Dfa {
    let limits = Limits { dfa_states_max: 1 << 22, ..Limits::default() };
    let all = Dfa::new(&ecma::parse(pattern, &limits).unwrap(), &limits).unwrap();
    let mut lengths = Regular::new();
    let any = lengths.push(Node::Class(CharSet::all()));
    let root = lengths.push(Node::Repeat { body: any, min, max });
    lengths.set_root(root);
    all.intersect(&Dfa::new(&lengths, &limits).unwrap(), &limits).unwrap()
}

fn after(dfa: &Dfa, state: u32, c: char) -> Option<u32> {
    c.to_string().bytes().try_fold(state, |state, byte| dfa.next(state, byte))
}

/// How a string stands in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// In quotes, with escapes.
    Quoted,
    /// As it is, up to the end of the text.
    Plain,
}

impl Written {
    fn character(self, c: char) -> String {
        match self {
            Written::Quoted => {
                let quoted = serde_json::to_string(&c.to_string()).unwrap();
                quoted[1..quoted.len() - 1].to_owned()
            }
            Written::Plain => c.to_string(),
        }
    }

    /// Returns whether the string may end where a matcher is.
    fn may_end(self, matcher: &Matcher) -> bool {
        match self {
            Written::Quoted => takes(matcher, "\""),
            Written::Plain => matcher.is_accepting(),
        }
    }
}

fn takes(matcher: &Matcher, text: &str) -> bool {
    matcher.fork().accept_bytes(text.as_bytes()).is_ok()
}

/// Compares the mask with accepting each token.
fn check_mask(matcher: &mut Matcher, place: &str) {
    let mask = matcher.mask().unwrap();
    let vocab = matcher.grammar().vocab();
    for token in 0..vocab.n_tokens() as u32 {
        let is_taken = matcher.fork().accept_bytes(vocab.bytes(token)).is_ok();
        assert_eq!(mask.contains(token), is_taken, "{place}: {:?}", String::from_utf8_lossy(vocab.bytes(token)));
    }
}

/// Goes through a string at random, from where a matcher is, and compares what may follow each character with the oracle.
fn walk(
    matcher: &mut Matcher,
    written: Written,
    (pattern, min, max): Case,
    oracle: &Dfa,
    liked: &[char],
    rng: &mut Rng,
) {
    let mut state = oracle.start().unwrap();
    // A few favourites, so that walks are of different kinds and some are long.
    let favourites: Vec<char> = (0..3).map(|_| *rng.pick(liked)).collect();
    let n_max = u64::from(max.unwrap_or(min)) + 20;
    for n in 0..=n_max + 1 {
        let place = format!("{pattern} {min} {max:?} after {n} characters");
        assert_eq!(written.may_end(matcher), oracle.is_accepting(state), "{place}");
        let mut next: Vec<(char, u32)> = Vec::new();
        for c in characters() {
            let target = after(oracle, state, c);
            assert_eq!(takes(matcher, &written.character(c)), target.is_some(), "{place}: {c:?}");
            next.extend(target.map(|target| (c, target)));
        }
        let is_near = |bound: u32| u64::from(bound).abs_diff(n) < 12;
        if n % 61 < 3 || is_near(min) || max.is_some_and(is_near) {
            check_mask(matcher, &place);
        }
        if next.is_empty() || (oracle.is_accepting(state) && rng.below(1000) == 0) {
            break;
        }
        let liked: Vec<(char, u32)> = next.iter().copied().filter(|(c, _)| favourites.contains(c)).collect();
        let (c, target) = if liked.is_empty() || rng.below(50) == 0 { *rng.pick(&next) } else { *rng.pick(&liked) };
        let character = written.character(c);
        let is_forced = next.len() == 1 && !oracle.is_accepting(state);
        let forced = matcher.jump_forward();
        assert!(!is_forced || forced.starts_with(character.as_bytes()), "{place}: {forced:?}");
        assert!(is_forced || forced.len() < 4, "{place}: {forced:?}");
        matcher.accept_bytes(character.as_bytes()).unwrap();
        state = target;
    }
}

/// Returns the schema of a case.
fn schema((pattern, min, max): Case) -> String {
    let mut schema = serde_json::json!({"type": "string", "pattern": pattern, "minLength": min});
    if let Some(max) = max {
        schema["maxLength"] = max.into();
    }
    schema.to_string()
}

fn compiler(pieces: &[&str]) -> GrammarCompiler {
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let vocab = Vocab::from_tokens(bytes.chain(pieces.iter().map(|piece| piece.as_bytes().to_vec()))).unwrap();
    GrammarCompiler::new(vocab.into())
}

#[test]
fn lengths_are_counted_along_patterns() {
    let compiler = compiler(PIECES);
    let mut rng = Rng::new(1);
    for &case in CASES {
        let (pattern, min, max) = case;
        let oracle = oracle(pattern, min, max);
        let grammar = compiler.compile_json_schema(&schema(case)).unwrap();
        let is_counted = !WRITTEN_OUT.contains(&pattern);
        let n_states = grammar.n_states();
        assert_eq!(is_counted, 2 * n_states < oracle.n_states(), "{pattern} takes {n_states} states");
        for _ in 0..6 {
            let mut matcher = grammar.matcher();
            matcher.accept_bytes(b"\"").unwrap();
            let liked = ['a', '1', 'b', 'c', ' ', 'é', '€', '😀', '\n', '"'];
            walk(&mut matcher, Written::Quoted, case, &oracle, &liked, &mut rng);
        }
    }
}

/// Returns the automaton of the strings of another one in which a text does not occur.
fn without(all: &Dfa, text: &str) -> Dfa {
    let limits = Limits { dfa_states_max: 1 << 22, ..Limits::default() };
    let mut regular = Regular::new();
    let any = regular.push(Node::Class(CharSet::all()));
    let any = regular.push(Node::Repeat { body: any, min: 0, max: None });
    let text = regular.push(Node::Bytes(text.as_bytes().into()));
    let root = regular.push(Node::Concat([any, text, any].into()));
    regular.set_root(root);
    all.minus(&Dfa::new(&regular, &limits).unwrap(), &limits).unwrap()
}

#[test]
fn lengths_are_counted_where_strings_have_no_quotes() {
    const END: &str = "<é>b";
    let compiler = compiler(&["<é", "é>", "<é>", ">b", "aa", "a<", "é>b", "ab", "a1", "😀😀", "\n"]);
    let options = SchemaOptions { root: RootForm::Text { until: END.into() }, ..SchemaOptions::default() };
    let mut rng = Rng::new(2);
    let mine = [("^", 0, Some(600)), ("^", 700, None), ("^", 3, Some(700)), (r"^[^x]*$", 2, Some(900))];
    for &case in mine.iter().chain(CASES) {
        let (pattern, min, max) = case;
        let oracle = without(&oracle(pattern, min, max), END);
        let grammar = compiler.compile_json_schema_with(&schema(case), &options, &CompileOptions::default()).unwrap();
        let is_counted = !WRITTEN_OUT.contains(&pattern) && oracle.n_states() > 1 << 12;
        assert!(!is_counted || 2 * grammar.n_states() < oracle.n_states(), "{pattern} takes {}", grammar.n_states());
        for _ in 0..6 {
            let liked = ['a', '1', 'b', 'c', ' ', 'é', '€', '😀', '<', '>'];
            walk(&mut grammar.matcher(), Written::Plain, case, &oracle, &liked, &mut rng);
        }
    }
}

/// A pattern that needs a character asks for one where only an upper bound is counted.
#[test]
fn a_counted_text_is_as_empty_as_its_pattern_allows() {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap();
    let compiler = GrammarCompiler::new(vocab.into());
    for max in [3, 300, 3_000_000] {
        for (pattern, may_be_empty) in [("^[ab]+$", false), ("^[ab]*$", true), ("^.+$", false)] {
            let schema = format!(r#"{{"type":"string","pattern":"{pattern}","maxLength":{max}}}"#);
            let grammar = compiler.compile_json_schema(&schema).unwrap();
            for (text, is_valid) in [(r#""""#, may_be_empty), (r#""a""#, true), (r#""ab""#, true)] {
                let mut matcher = grammar.matcher();
                let is_accepted = matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting();
                assert_eq!(is_accepted, is_valid, "{schema}: {text}");
            }
        }
    }
}

#[test]
fn formats_with_both_bounds_compile() {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap();
    let compiler = GrammarCompiler::new(vocab.into());
    for format in ["email", "idn-email", "hostname", "idn-hostname"] {
        for (min, max) in [(1, 64), (3, 254), (5, 100), (5, 254), (6, 1000), (20, 200)] {
            let schema = format!(r#"{{"type":"string","format":"{format}","minLength":{min},"maxLength":{max}}}"#);
            let grammar = compiler.compile_json_schema(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
            let labels = |n: usize| format!("{}{}", "bbbbbbb.".repeat((n - 1) / 8), "c".repeat(1 + (n - 1) % 8));
            for n in [min.max(5) - 1, min.max(5), min.max(5) + 1, 40, 63, 64, max.min(220) - 1, max.min(220), max + 1] {
                let is_email = format.ends_with("email");
                let host = labels(if is_email { n - 2 } else { n });
                let text = if is_email { format!("a@{host}") } else { host };
                assert_eq!(text.len(), n);
                // Longer ones are for the formats to judge.
                if n <= 250 {
                    let is_valid = (min..=max).contains(&n);
                    assert_eq!(takes(&grammar.matcher(), &format!("\"{text}\"")), is_valid, "{schema}: {text}");
                }
            }
        }
    }
}
