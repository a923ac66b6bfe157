//! Keys that nobody names: any text but some.
//!
//! Nearly every open object of a schema has names of its own, so that this automaton is made again and again, and has more edges than the
//! rest of the object. It is laid out at once, in the form in which rules are kept: nothing of it needs to be cut away or sorted.

use super::draft::Draft;
use super::text::spell;
use crate::pass::{Edge, Label, RuleAutomaton};
use crate::regular::Dfa;
use std::sync::OnceLock;

/// Where the bytes from one to another lead.
type Range = (u8, u8, u32);
type Row = Box<[Range]>;

/// The states of any text as it is spelled, and its closing quote: ranges ascending by state, the first state is the start. A target that is
/// no state is the end.
fn text_rows() -> &'static [Row] {
    static ROWS: OnceLock<Box<[Row]>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let all = Dfa::all_text();
        let mut text = Draft::new();
        (1..all.n_states()).for_each(|_| _ = text.state());
        spell(&mut text, all, |state| state);
        let n_states = text.n_states() as u32;
        (0..all.n_states() as u32)
            .filter(|&state| all.is_accepting(state))
            .for_each(|state| text.edge(state, Label::Bytes(b'"', b'"'), n_states));
        let row = |state: u32| -> Row {
            let ranges = text.row(state).filter_map(|edge| match edge.label {
                Label::Bytes(low, high) => Some((low, high, edge.target)),
                _ => None,
            });
            let mut row: Vec<Range> = ranges.collect();
            row.sort_unstable();
            row.into()
        };
        (0..n_states).map(row).collect()
    })
}

/// Returns the automaton of all keys, with their closing quotes, but some spelled ones, which are sorted: a trie of those, left for any text
/// where a key becomes another.
pub(super) fn any_key_beside(spelled: &[&[u8]]) -> RuleAutomaton {
    // The root of the trie, the end, the states of any text, the other nodes of the trie.
    const END: u32 = 1;
    const TEXT: u32 = 2;
    let text = text_rows();
    let n_text = text.len() as u32;
    let placed = |target: u32| if target == n_text { END } else { TEXT + target };
    let node_state = |node: usize| if node == 0 { 0 } else { TEXT + n_text + node as u32 - 1 };
    let place = |&(low, high, target): &Range| Edge { label: Label::Bytes(low, high), target: placed(target) };
    let mut edges: Vec<Edge> = Vec::with_capacity(text.iter().map(|row| row.len()).sum::<usize>() + 1024);
    let mut ends = vec![0u32];
    // A node of the trie: names `low..high` have it, after `depth` bytes; it is `home` in any text.
    let mut nodes: Vec<(usize, usize, usize, u32)> = vec![(0, spelled.len(), 0, 0)];
    let mut n_done = 0;
    while let Some(&(low, high, depth, home)) = nodes.get(n_done) {
        let mut left = text[home as usize].iter().copied().peekable();
        let mut at = low;
        while at < high {
            let byte = spelled[at][depth];
            let group_end = at + spelled[at..high].partition_point(|name| name[depth] == byte);
            // What lies before the byte leads where it does in any text.
            while let Some(range) = left.next_if(|&(_, last, _)| last < byte) {
                edges.push(place(&range));
            }
            let Some((first, last, target)) = left.peek_mut().filter(|(first, ..)| *first <= byte) else {
                unreachable!("names are texts")
            };
            if *first < byte {
                edges.push(place(&(*first, byte - 1, *target)));
            }
            // The closing quote ends a name, and is left out with it; an escaped one goes on.
            if *target != n_text {
                edges.push(Edge { label: Label::Bytes(byte, byte), target: node_state(nodes.len()) });
                nodes.push((at, group_end, depth + 1, *target));
            }
            if *last > byte {
                *first = byte + 1;
            } else {
                left.next();
            }
            at = group_end;
        }
        edges.extend(left.map(|range| place(&range)));
        ends.push(edges.len() as u32);
        if n_done == 0 {
            // Behind the root stand the end and the states of any text.
            ends.push(edges.len() as u32);
            for row in text {
                edges.extend(row.iter().map(place));
                ends.push(edges.len() as u32);
            }
        }
        n_done += 1;
    }
    let mut accepting = vec![false; ends.len() - 1];
    accepting[END as usize] = true;
    RuleAutomaton::from_sorted(edges, ends, accepting)
}

#[cfg(test)]
mod tests {
    use super::super::text::spelled_key;
    use super::*;

    fn is_key(automaton: &RuleAutomaton, text: &[u8]) -> bool {
        let next = |state: u32, &byte: &u8| {
            let mut edges = automaton.edges(state).iter();
            let edge =
                edges.find(|edge| matches!(edge.label, Label::Bytes(low, high) if low <= byte && byte <= high))?;
            Some(edge.target)
        };
        let end = text.iter().try_fold(0, next);
        end.is_some_and(|state| automaton.is_accepting(state))
    }

    #[test]
    fn names_are_left_out_and_nothing_else() {
        let names = ["", "a", "ab", "abc", "b\"c", "é", "\u{1f}", "\u{1F600}", "x y"];
        let others = ["abcd", "ac", "b", "b\"", "c", "è", "\u{1e}", "\u{1F601}", "x", "x y ", "\\", "é\n"];
        let mut spelled: Vec<Vec<u8>> = names.iter().map(|name| spelled_key(name)).collect();
        spelled.sort();
        let automaton = any_key_beside(&spelled.iter().map(|name| &**name).collect::<Vec<_>>());
        let any = any_key_beside(&[]);
        for name in names {
            assert!(!is_key(&automaton, &spelled_key(name)) && is_key(&any, &spelled_key(name)), "{name:?}");
        }
        for other in others {
            assert!(is_key(&automaton, &spelled_key(other)) && is_key(&any, &spelled_key(other)), "{other:?}");
        }
        for wrong in ["a", "\"b", "\\x\"", "ab\"\"", "\u{1f}\""] {
            assert!(!is_key(&automaton, wrong.as_bytes()) && !is_key(&any, wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn edges_are_sorted_and_apart() {
        let spelled: Vec<Vec<u8>> = ["alpha", "beta", "bet", "~"].map(spelled_key).into();
        let mut spelled: Vec<&[u8]> = spelled.iter().map(|name| &**name).collect();
        spelled.sort();
        let automaton = any_key_beside(&spelled);
        for state in 0..automaton.n_states() as u32 {
            let apart = |pair: &[Edge]| match (pair[0].label, pair[1].label) {
                (Label::Bytes(_, high), Label::Bytes(low, _)) => high < low,
                _ => false,
            };
            assert!(automaton.edges(state).windows(2).all(apart), "state {state}");
        }
    }
}
