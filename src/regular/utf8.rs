//! Sets of characters as automata over the bytes of UTF-8.
//!
//! A range of characters splits into few sequences of byte ranges: `U+0000..=U+07FF` is `00-7F` or `C2-DF 80-BF`. The
//! sequences of a set come in ascending order, never overlap, and after a common prefix their byte ranges are equal or
//! disjoint. So the sequences of a set are the words of a deterministic automaton, and since they are
//! sorted, its minimal form can be built in one pass: when a new sequence leaves the path of its predecessor, the states
//! below the fork are final, and each is replaced by an equal one if there is one. Thousands of sequences of `\p{L}` share
//! a few hundred states. (Daciuk, Mihov, Watson and Watson, *Incremental construction of minimal acyclic finite-state automata*, 2000.)

use super::CharSet;
use core::hash::BuildHasher;
use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

/// Returns sequences of byte ranges that match exactly the UTF-8 of the members of `set`, ascending and disjoint.
///
/// ```
/// use maskwright::regular::{CharSet, utf8_sequences};
/// let sequences: Vec<_> = utf8_sequences(&CharSet::range('a', 'é')).map(|s| s.to_vec()).collect();
/// assert_eq!(sequences, [vec![(b'a', 0x7F)], vec![(0xC2, 0xC2), (0x80, 0xBF)], vec![(0xC3, 0xC3), (0x80, 0xA9)]]);
/// ```
pub fn utf8_sequences(set: &CharSet) -> impl Iterator<Item = SmallVec<[(u8, u8); 4]>> + '_ {
    let mut ranges = set.ranges().iter();
    let mut pending: SmallVec<[(u32, u32); 8]> = SmallVec::new();
    core::iter::from_fn(move || {
        let (low, mut high) = match pending.pop() {
            Some(range) => range,
            None => ranges.next().map(|&(low, high)| (u32::from(low), u32::from(high)))?,
        };
        // Split at the surrogates, where the length changes, and where continuation bytes would not cover all their values.
        if low < 0xD800 && high > 0xDFFF {
            pending.push((0xE000, high));
            high = 0xD7FF;
        }
        for last in [0x7F, 0x7FF, 0xFFFF] {
            if low <= last && last < high {
                pending.push((last + 1, high));
                high = last;
            }
        }
        let n_bytes = char_at(low).len_utf8();
        let mut place = 1;
        while place < n_bytes {
            let mask = (1 << (6 * place)) - 1;
            place += 1;
            if low & !mask != high & !mask {
                if low & mask != 0 {
                    pending.push(((low | mask) + 1, high));
                    high = low | mask;
                    place = 1;
                } else if high & mask != mask {
                    pending.push((high & !mask, high));
                    high = (high & !mask) - 1;
                    place = 1;
                }
            }
        }
        let (mut from, mut to) = ([0; 4], [0; 4]);
        let from = char_at(low).encode_utf8(&mut from).as_bytes();
        let to = char_at(high).encode_utf8(&mut to).as_bytes();
        Some(from.iter().copied().zip(to.iter().copied()).collect())
    })
}

fn char_at(code: u32) -> char {
    char::from_u32(code).expect("code lies in a range of characters")
}

/// An edge of an automaton over bytes: lowest byte, highest byte, target.
pub(super) type Edge = (u8, u8, u32);

/// The target of edges that complete a character.
pub(super) const EXIT: u32 = u32::MAX;

/// The minimal automaton of the UTF-8 of a set: acyclic, with edges that end in [`EXIT`].
#[derive(Debug)]
pub(super) struct ClassAutomaton {
    /// Where the edges of each state end in `edges`.
    ends: Vec<u32>,
    edges: Vec<Edge>,
}

impl ClassAutomaton {
    /// Builds the automaton of `set`; its entry is the last state.
    pub(super) fn new(set: &CharSet) -> Self {
        let mut builder = Builder::default();
        let mut before: SmallVec<[(u8, u8); 4]> = SmallVec::new();
        for sequence in utf8_sequences(set) {
            let shared = before.iter().zip(&sequence).take_while(|(a, b)| a == b).count();
            builder.complete(&before, shared);
            let last = sequence.len() - 1;
            push_edge(&mut builder.open[last], (sequence[last].0, sequence[last].1, EXIT), 0);
            before = sequence;
        }
        builder.complete(&before, 0);
        let entry = core::mem::take(&mut builder.open[0]);
        builder.automaton.edges.extend(entry);
        builder.automaton.ends.push(builder.automaton.edges.len() as u32);
        builder.automaton
    }

    /// Returns the number of states.
    pub(super) fn n_states(&self) -> usize {
        self.ends.len()
    }

    /// Returns the edges of a state, ascending.
    pub(super) fn edges(&self, state: usize) -> &[Edge] {
        let start = state.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.edges[start as usize..self.ends[state] as usize]
    }
}

/// Appends an edge to those from `start` on, joined with the last one if it extends it.
pub(super) fn push_edge(edges: &mut Vec<Edge>, edge: Edge, start: usize) {
    if edges.len() > start
        && let Some(last) = edges.last_mut()
        && last.2 == edge.2
        && u32::from(last.1) + 1 == u32::from(edge.0)
    {
        last.1 = edge.1;
    } else {
        edges.push(edge);
    }
}

/// The final states so far, and the edges of the states on the path of the last sequence, which may still grow.
struct Builder {
    automaton: ClassAutomaton,
    interned: HashTable<u32>,
    hasher: DefaultHashBuilder,
    open: [Vec<Edge>; 4],
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            automaton: ClassAutomaton { ends: Vec::new(), edges: Vec::new() },
            interned: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            open: Default::default(),
        }
    }
}

impl Builder {
    /// Interns the states of the path `before` that are deeper than `shared`.
    fn complete(&mut self, before: &[(u8, u8)], shared: usize) {
        for level in (shared + 1..before.len()).rev() {
            let target = self.intern(level);
            let (low, high) = before[level - 1];
            push_edge(&mut self.open[level - 1], (low, high, target), 0);
        }
    }

    /// Returns the state that has the open edges of `level`, and clears these.
    fn intern(&mut self, level: usize) -> u32 {
        let Builder { automaton, interned, hasher, open } = self;
        let edges = &mut open[level];
        let hash = hasher.hash_one(&edges[..]);
        let found = interned.find(hash, |&state| automaton.edges(state as usize) == &edges[..]).copied();
        let state = found.unwrap_or_else(|| {
            let state = automaton.n_states() as u32;
            automaton.edges.extend_from_slice(edges);
            automaton.ends.push(automaton.edges.len() as u32);
            interned.insert_unique(hash, state, |&state| hasher.hash_one(automaton.edges(state as usize)));
            state
        });
        edges.clear();
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(automaton: &ClassAutomaton, bytes: &[u8]) -> bool {
        let mut state = automaton.n_states() as u32 - 1;
        for &byte in bytes {
            if state == EXIT {
                return false;
            }
            match automaton.edges(state as usize).iter().find(|(low, high, _)| (*low..=*high).contains(&byte)) {
                Some(&(_, _, target)) => state = target,
                None => return false,
            }
        }
        state == EXIT
    }

    #[test]
    fn borders_of_lengths_and_surrogates() {
        let chars =
            ['\0', 'a', '\u{7F}', '\u{80}', '\u{7FF}', '\u{800}', '\u{FFF}', '\u{1000}', '\u{D7FF}', '\u{E000}'];
        let chars = chars.into_iter().chain(['\u{FFFD}', '\u{FFFF}', '\u{10000}', '\u{10FFFE}', char::MAX]);
        let chars: Vec<char> = chars.collect();
        for &low in &chars {
            for &high in &chars {
                let set = CharSet::range(low, high);
                let automaton = ClassAutomaton::new(&set);
                for &c in &chars {
                    let mut buffer = [0; 4];
                    let bytes = c.encode_utf8(&mut buffer).as_bytes();
                    assert_eq!(matches(&automaton, bytes), set.contains(c), "{c:?} in {low:?}-{high:?}");
                    let n = utf8_sequences(&set).filter(|s| {
                        s.len() == bytes.len() && s.iter().zip(bytes).all(|((low, high), b)| (*low..=*high).contains(b))
                    });
                    assert_eq!(n.count(), usize::from(set.contains(c)));
                }
                assert!(!matches(&automaton, b"\xED\xA0\x80") && !matches(&automaton, b"\xC0\x80"));
                assert!(!matches(&automaton, b"\xF4\x90\x80\x80"));
            }
        }
    }

    #[test]
    fn all_characters_need_eight_states() {
        // The entry, those with one, two and three bytes to go, and those after E0, ED, F0 and F4, whose second byte is narrower.
        assert_eq!(ClassAutomaton::new(&CharSet::all()).n_states(), 8);
        assert_eq!(utf8_sequences(&CharSet::all()).count(), 9);
        assert_eq!(utf8_sequences(&CharSet::empty()).count(), 0);
        assert_eq!(ClassAutomaton::new(&CharSet::empty()).edges(0), []);
    }
}
