//! The oracle of the tests: a slow matcher that follows the definition of each node.
//!
//! For a node and a position in the text it computes the set of positions where a match may end, once. It recurses over the
//! expression and has no limits, so it is for tests alone.

use super::{Node, NodeId, Regular};
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Returns whether `regular` matches exactly `text`.
pub fn is_match(regular: &Regular, text: &[u8]) -> bool {
    let mut matcher = Matcher { regular, text, known: HashMap::new() };
    regular.root().is_some_and(|root| matcher.ends(root, 0).contains(&text.len()))
}

struct Matcher<'a> {
    regular: &'a Regular,
    text: &'a [u8],
    known: HashMap<(NodeId, usize), BTreeSet<usize>>,
}

impl Matcher<'_> {
    /// Returns the positions where a match of `id` that begins at `start` may end.
    fn ends(&mut self, id: NodeId, start: usize) -> BTreeSet<usize> {
        if let Some(ends) = self.known.get(&(id, start)) {
            return ends.clone();
        }
        let ends = self.find_ends(id, start);
        self.known.insert((id, start), ends.clone());
        ends
    }

    fn find_ends(&mut self, id: NodeId, start: usize) -> BTreeSet<usize> {
        let text = self.text;
        match self.regular.node(id) {
            Node::Empty => BTreeSet::from([start]),
            Node::Bytes(bytes) => text[start..].starts_with(bytes).then_some(start + bytes.len()).into_iter().collect(),
            Node::Class(set) => {
                let encodings = (start + 1..=text.len().min(start + 4)).filter(|&end| {
                    core::str::from_utf8(&text[start..end])
                        .is_ok_and(|text| text.chars().count() == 1 && text.chars().all(|c| set.contains(c)))
                });
                encodings.collect()
            }
            Node::Concat(operands) => {
                operands.iter().fold(BTreeSet::from([start]), |places, &operand| self.step(operand, &places))
            }
            Node::Union(operands) => operands.iter().flat_map(|&operand| self.ends(operand, start)).collect(),
            &Node::Repeat { body, min, max } => {
                let mut places = BTreeSet::from([start]);
                for _ in 0..min {
                    places = self.step(body, &places);
                }
                let mut all = places.clone();
                let mut n_copies = min;
                // More copies than the text has bytes can't reach a position that fewer copies don't reach.
                while max.is_none_or(|max| n_copies < max) && n_copies - min <= text.len() as u32 {
                    places = self.step(body, &places);
                    all.extend(&places);
                    n_copies += 1;
                }
                all
            }
            Node::And(a, b) => {
                let (a, b) = (self.ends(*a, start), self.ends(*b, start));
                a.intersection(&b).copied().collect()
            }
            Node::Substring(chunks) => {
                let mut all = BTreeSet::from([start]);
                for first in 0..chunks.len() {
                    let mut place = start;
                    for chunk in &chunks[first..] {
                        if !text[place..].starts_with(chunk) {
                            break;
                        }
                        place += chunk.len();
                        all.insert(place);
                    }
                }
                all
            }
            Node::Not(a) => {
                let matched = self.ends(*a, start);
                let is_text = |&end: &usize| core::str::from_utf8(&text[start..end]).is_ok();
                (start..=text.len()).filter(is_text).filter(|end| !matched.contains(end)).collect()
            }
        }
    }

    fn step(&mut self, id: NodeId, places: &BTreeSet<usize>) -> BTreeSet<usize> {
        places.iter().flat_map(|&place| self.ends(id, place)).collect()
    }
}
