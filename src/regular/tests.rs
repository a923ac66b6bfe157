//! Properties of automata against the naive matcher, and laws among them.

use super::{CharSet, Dfa, Node, NodeId, Regular, naive};
use crate::Limits;
use proptest::prelude::*;

/// Instructions that build a random expression on a stack: each takes its operands from the top.
#[derive(Clone, Debug)]
enum Step {
    Empty,
    Bytes(&'static [u8]),
    Class(Vec<(char, char)>),
    Concat(usize),
    Union(usize),
    Repeat(u32, Option<u32>),
    And,
    Not,
    Again,
}

const CHARS: [char; 12] = ['a', 'b', 'c', 'z', '\u{7F}', 'é', 'ß', 'ﬀ', '丁', '\u{D7FF}', '\u{E000}', '🦀'];

fn step() -> impl Strategy<Value = Step> {
    let one_char = prop::sample::select(&CHARS[..]);
    prop_oneof![
        1 => Just(Step::Empty),
        4 => prop::sample::select(vec![&b"a"[..], b"b", b"ab", b"ba", "é".as_bytes(), "a丁".as_bytes(), b"\xC3", b"\xFF"])
            .prop_map(Step::Bytes),
        4 => prop::collection::vec((one_char.clone(), one_char), 0..3).prop_map(Step::Class),
        4 => (0..4_usize).prop_map(Step::Concat),
        4 => (0..4_usize).prop_map(Step::Union),
        4 => (0..4_u32, prop::option::weighted(0.6, 0..3_u32))
            .prop_map(|(min, more)| Step::Repeat(min, more.map(|more| min + more))),
        1 => Just(Step::And),
        1 => Just(Step::Not),
        1 => Just(Step::Again),
    ]
}

fn expression() -> impl Strategy<Value = Regular> {
    prop::collection::vec(step(), 1..14).prop_map(|steps| {
        let mut regular = Regular::new();
        let mut stack: Vec<NodeId> = Vec::new();
        for step in steps {
            let mut operands = |n: usize| stack.split_off(stack.len().saturating_sub(n));
            let node = match step {
                Step::Empty => Node::Empty,
                Step::Bytes(bytes) => Node::Bytes(bytes.into()),
                Step::Class(ranges) => Node::Class(CharSet::from_ranges(ranges)),
                Step::Concat(n) => Node::Concat(operands(n).into()),
                Step::Union(n) => Node::Union(operands(n).into()),
                Step::Repeat(min, max) => match operands(1).pop() {
                    Some(body) => Node::Repeat { body, min, max },
                    None => Node::Empty,
                },
                Step::And => match operands(2)[..] {
                    [a, b] => Node::And(a, b),
                    _ => Node::Empty,
                },
                Step::Not => match operands(1).pop() {
                    Some(a) => Node::Not(a),
                    None => Node::Empty,
                },
                Step::Again => match stack.last() {
                    Some(&top) => {
                        stack.push(top);
                        continue;
                    }
                    None => continue,
                },
            };
            stack.push(regular.push(node));
        }
        // Everything left over is in the language, so that no part goes untested.
        let root = regular.push(Node::Union(stack.into()));
        regular.set_root(root);
        regular
    })
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "ab", "c", "é", "丁", "🦀", "\u{D7FF}"]).prop_map(|s| s.as_bytes().to_vec()),
        1 => prop::sample::select(vec![&b"\xC3"[..], b"\xFF", b"\x80", b"\xED\xA0\x80"]).prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

fn limits() -> Limits {
    Limits { dfa_states_max: 3000, ..Limits::default() }
}

fn build(regular: &Regular) -> Result<Dfa, TestCaseError> {
    Dfa::new(regular, &limits()).map_err(|error| TestCaseError::reject(error.to_string()))
}

/// Puts two expressions side by side in one.
fn merge(a: &Regular, b: &Regular) -> (Regular, NodeId, NodeId) {
    let mut both = Regular::new();
    let mut roots = Vec::new();
    for regular in [a, b] {
        let base = both.nodes().len();
        let moved = |id: NodeId| NodeId::new(base + id.index());
        for node in regular.nodes() {
            both.push(node.map_operands(moved));
        }
        roots.push(moved(regular.root().unwrap()));
    }
    (both, roots[0], roots[1])
}

fn with_root(mut regular: Regular, node: Node) -> Regular {
    let root = regular.push(node);
    regular.set_root(root);
    regular
}

/// Splits states by the words that tell them apart, round by round: minimality as it is defined.
fn is_minimal(dfa: &Dfa) -> bool {
    let n = dfa.n_states() as u32;
    let mut class: Vec<usize> = (0..n).map(|s| usize::from(dfa.is_accepting(s))).collect();
    loop {
        let key = |s: u32| {
            let targets = (0..=255).map(|byte| dfa.next(s, byte).map(|t| class[t as usize]));
            (class[s as usize], targets.collect::<Vec<_>>())
        };
        let keys: Vec<_> = (0..n).map(key).collect();
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        let refined: Vec<usize> = keys.iter().map(|key| sorted.binary_search(key).unwrap()).collect();
        let n_before = class.iter().collect::<std::collections::BTreeSet<_>>().len();
        if sorted.len() == n_before {
            return sorted.len() == n as usize;
        }
        class = refined;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn automata_match_what_the_naive_matcher_matches(regular in expression(), texts in prop::collection::vec(text(), 8)) {
        let dfa = build(&regular)?;
        for text in texts {
            prop_assert_eq!(dfa.is_match(&text), naive::is_match(&regular, &text), "{:?} on {:?}", dfa, text);
        }
    }

    #[test]
    fn automata_are_trimmed_minimal_and_canonical(regular in expression()) {
        let dfa = build(&regular)?;
        prop_assert!(is_minimal(&dfa), "{:?}", dfa);
        let distances = dfa.distances();
        prop_assert!(distances.iter().all(|&d| d != u32::MAX));
        // Numbered breadth first: the first mentions of the states come in order.
        let mut n_known = 1;
        for state in 0..dfa.n_states() as u32 {
            prop_assert!(state < n_known);
            for (low, high, target) in dfa.edges(state) {
                prop_assert!(low <= high && target <= n_known);
                n_known = n_known.max(target + 1);
            }
        }
        match dfa.witness() {
            Some(witness) => {
                prop_assert!(naive::is_match(&regular, &witness));
                let (shortest, longest) = dfa.byte_lengths().unwrap();
                prop_assert_eq!(shortest, witness.len());
                prop_assert!(longest.is_none_or(|longest| longest >= shortest));
            }
            None => prop_assert!(dfa.is_empty() && dfa.byte_lengths().is_none() && dfa.n_states() == 0),
        }
    }

    #[test]
    fn products_are_what_their_nodes_mean(a in expression(), b in expression()) {
        let limits = limits();
        let (x, y) = (build(&a)?, build(&b)?);
        let all = Dfa::all_text();
        let (union, both, minus) = (x.union(&y, &limits).unwrap(), x.intersect(&y, &limits).unwrap(), x.minus(&y, &limits).unwrap());
        let (merged, p, q) = merge(&a, &b);
        prop_assert_eq!(&union, &build(&with_root(merged.clone(), Node::Union([p, q].into())))?);
        prop_assert_eq!(&both, &build(&with_root(merged.clone(), Node::And(p, q)))?);
        prop_assert_eq!(&both, &y.intersect(&x, &limits).unwrap());
        prop_assert_eq!(&union, &y.union(&x, &limits).unwrap());
        prop_assert_eq!(&x, &minus.union(&both, &limits).unwrap());
        prop_assert!(minus.intersect(&y, &limits).unwrap().is_empty());
        prop_assert!(union.contains(&x) && union.contains(&y) && x.contains(&both) && x.contains(&minus));
        prop_assert_eq!(x.contains(&y), y.minus(&x, &limits).unwrap().is_empty());
        prop_assert_eq!(&x.complement(&limits).unwrap(), &build(&with_root(merged.clone(), Node::Not(p)))?);
        prop_assert_eq!(x.complement(&limits).unwrap().complement(&limits).unwrap(), x.intersect(all, &limits).unwrap());
        // De Morgan, among texts.
        let neither = x.complement(&limits).unwrap().intersect(&y.complement(&limits).unwrap(), &limits).unwrap();
        prop_assert_eq!(union.complement(&limits).unwrap(), neither);
    }

    #[test]
    fn equal_languages_are_equal_values(a in expression(), b in expression()) {
        let (merged, p, q) = merge(&a, &b);
        let node = |regular: &mut Regular, node| regular.push(node);
        let mut left = merged.clone();
        // a (b a)* = (a b)* a
        let ba = node(&mut left, Node::Concat([q, p].into()));
        let loop_ba = node(&mut left, Node::Repeat { body: ba, min: 0, max: None });
        let left = with_root(left, Node::Concat([p, loop_ba].into()));
        let mut right = merged;
        let ab = node(&mut right, Node::Concat([p, q].into()));
        let loop_ab = node(&mut right, Node::Repeat { body: ab, min: 0, max: None });
        let right = with_root(right, Node::Concat([loop_ab, p].into()));
        prop_assert_eq!(build(&left)?, build(&right)?);
    }
}

fn single(node: Node) -> Regular {
    with_root(Regular::new(), node)
}

fn repeat(mut regular: Regular, min: u32, max: Option<u32>) -> Regular {
    let body = regular.root().unwrap();
    let root = regular.push(Node::Repeat { body, min, max });
    regular.set_root(root);
    regular
}

#[test]
fn large_counts_are_refused_before_they_are_written_out() {
    let limits = Limits::default();
    let letter = single(Node::Class(CharSet::range('a', 'z')));
    let error = Dfa::new(&repeat(letter.clone(), 1, Some(4_000_000_000)), &limits).unwrap_err();
    assert_eq!((error.given(), error.limit(), error.limit_name()), (8_000_000_000, 65536, "dfa_states_max"));
    let nested = (0..3).fold(letter.clone(), |regular, _| repeat(regular, 1000, Some(1000)));
    let error = Dfa::new(&nested, &limits).unwrap_err();
    assert_eq!(error.given(), 1_000_000_000);
    let deeper = (0..40).fold(letter.clone(), |regular, _| repeat(regular, 1000, None));
    assert_eq!(Dfa::new(&deeper, &limits).unwrap_err().given(), u64::MAX);
    // Just at the limit: a thousand letters are 1,001 states.
    let thousand = repeat(letter, 1000, Some(1000));
    let dfa = Dfa::new(&thousand, &Limits { dfa_states_max: 1001, ..limits.clone() }).unwrap();
    assert_eq!((dfa.n_states(), dfa.byte_lengths()), (1001, Some((1000, Some(1000)))));
    let error = Dfa::new(&thousand, &Limits { dfa_states_max: 1000, ..limits.clone() }).unwrap_err();
    assert_eq!(error.to_string(), "the deterministic automaton has more than 1000 states (dfa_states_max)");
    // The empty text, any number of times, is the empty text.
    let empty = Dfa::new(&repeat(single(Node::Empty), 7, Some(4_000_000_000)), &limits).unwrap();
    assert_eq!(empty.byte_lengths(), Some((0, Some(0))));
}

#[test]
fn shared_nodes_that_double_are_refused_or_free() {
    let double = |leaf: Node| {
        let mut regular = single(leaf);
        for _ in 0..60 {
            let id = regular.root().unwrap();
            regular = with_root(regular, Node::Concat([id, id].into()));
        }
        Dfa::new(&regular, &Limits::default())
    };
    assert_eq!(double(Node::Bytes((*b"a").into())).unwrap_err().given(), 1 << 60);
    assert_eq!(double(Node::Empty).unwrap().byte_lengths(), Some((0, Some(0))));
    // A long chain of single operands, often: few states, but many steps.
    let mut chain = single(Node::Bytes((*b"a").into()));
    for _ in 0..100_000 {
        let id = chain.root().unwrap();
        chain = with_root(chain, Node::Concat([id].into()));
    }
    assert_eq!(Dfa::new(&chain, &Limits::default()).unwrap().n_states(), 2);
    let error = Dfa::new(&repeat(chain, 1000, Some(1000)), &Limits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "building the automaton takes 100001001 steps, more than 8388608 (from dfa_states_max)"
    );
}

#[test]
fn the_subset_construction_is_bounded() {
    // [ab]* a [ab]{n} has 2^n deterministic states.
    let exponential = |n: u32| {
        let mut regular = Regular::new();
        let ab = regular.push(Node::Class(CharSet::range('a', 'b')));
        let before = regular.push(Node::Repeat { body: ab, min: 0, max: None });
        let a = regular.push(Node::Bytes((*b"a").into()));
        let after = regular.push(Node::Repeat { body: ab, min: n, max: Some(n) });
        with_root(regular, Node::Concat([before, a, after].into()))
    };
    let limits = Limits::default();
    assert_eq!(Dfa::new(&exponential(9), &limits).unwrap().n_states(), 1024);
    let error = Dfa::new(&exponential(20), &limits).unwrap_err();
    assert_eq!((error.limit(), error.limit_name()), (65536, "dfa_states_max"));
    // (a|aa){0,10000} has few states, but those in the middle stand for thousands of counts at once.
    let mut regular = Regular::new();
    let a = regular.push(Node::Bytes((*b"a").into()));
    let aa = regular.push(Node::Bytes((*b"aa").into()));
    let regular = with_root(regular, Node::Union([a, aa].into()));
    let error = Dfa::new(&repeat(regular.clone(), 0, Some(10_000)), &limits).unwrap_err();
    assert!(error.to_string().contains("steps") && error.limit() == 128 * 65536, "{error}");
    assert_eq!(Dfa::new(&repeat(regular, 0, Some(100)), &limits).unwrap().n_states(), 201);
}

#[test]
fn a_long_chain_is_minimized_in_linear_time() {
    let letters = single(Node::Class(CharSet::range('a', 'z')));
    let dfa = Dfa::new(&repeat(letters, 0, Some(30_000)), &Limits::default()).unwrap();
    assert_eq!((dfa.n_states(), dfa.byte_lengths()), (30_001, Some((0, Some(30_000)))));
}

#[test]
fn an_intersection_that_dies_early_is_trimmed() {
    // /x[ab]*c/ & ~/x.*c/ is dead from the start.
    let mut regular = Regular::new();
    let x = regular.push(Node::Bytes((*b"x").into()));
    let c = regular.push(Node::Bytes((*b"c").into()));
    let ab = regular.push(Node::Class(CharSet::range('a', 'b')));
    let ab = regular.push(Node::Repeat { body: ab, min: 0, max: None });
    let any = regular.push(Node::Class(CharSet::all()));
    let any = regular.push(Node::Repeat { body: any, min: 0, max: None });
    let narrow = regular.push(Node::Concat([x, ab, c].into()));
    let wide = regular.push(Node::Concat([x, any, c].into()));
    let other = regular.push(Node::Not(wide));
    let dfa = Dfa::new(&with_root(regular, Node::And(narrow, other)), &Limits::default()).unwrap();
    assert!(dfa.is_empty() && dfa.start().is_none() && dfa.witness().is_none());
}

#[test]
fn the_debug_form_lists_edges() {
    let dfa = Dfa::new(&repeat(single(Node::Class(CharSet::range('a', 'c'))), 1, None), &Limits::default()).unwrap();
    assert_eq!(format!("{dfa:?}"), r#"{0: ["[a-c] 1"], 1*: ["[a-c] 1"]}"#);
    assert_eq!(dfa.edges(0).collect::<Vec<_>>(), [(b'a', b'c', 1)]);
    assert_eq!((dfa.next(1, b'c'), dfa.next(1, b'd'), dfa.n_edges()), (Some(1), None, 2));
}
