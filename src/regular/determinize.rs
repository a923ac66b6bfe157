//! The subset construction (Rabin and Scott, *Finite automata and their decision problems*, 1959).
//!
//! A deterministic state stands for a set of places in the nondeterministic automaton: those with moves on bytes, and the
//! final one; places with moves on nothing are followed and dropped. The edges of the members of a set are swept in the
//! order of bytes, so the work depends on the number of edges and not on 256 bytes or on a global partition of them (which
//! would be fine-grained as soon as one Unicode class is around). Most sets come from a single target: their number is kept by
//! target, so that an automaton that is deterministic already is copied without hashing.
//!
//! *Anything.* A pattern that may match anywhere ends in any text. Once a set holds the place where that begins, its other members no longer
//! matter: what follows them is text, so it is matched anyway. Without that, `red|blue|green` would go on to look for a second match behind
//! the first, and for a third, with a set for each combination of those found. It takes that all nodes match whole characters.
//!
//! Bounds: the number of states, and the places visited in all while sets are made ([`VISITS_PER_STATE`] per allowed state),
//! which bounds time and memory: `(.*a.{1000})` has sets of a thousand places.

use super::error::{RegularError, Work};
use super::minimize::Table;
use super::nfa::{Nfa, State};
use super::utf8::Edge;
use core::hash::BuildHasher;
use hashbrown::{DefaultHashBuilder, HashTable};

/// How many places may be visited per state of an automaton of the largest allowed size. Common automata visit a few.
pub(super) const VISITS_PER_STATE: usize = 128;

const UNKNOWN: u32 = u32::MAX;

/// Returns the reachable deterministic states; state 0 is the start.
pub(super) fn determinize(nfa: &Nfa, n_states_max: usize, work: &mut Work<'_>) -> Result<Table, RegularError> {
    let mut sets = Sets::new(nfa, n_states_max);
    sets.of_target(nfa.entry)?;
    let mut table = Table::default();
    let (mut edges, mut active): (Vec<Edge>, Vec<Edge>) = (Vec::new(), Vec::new());
    let mut state = 0;
    while state < sets.n_sets() {
        work.spend(1 + core::mem::take(&mut sets.n_new_visits))?;
        let members = sets.members(state);
        let is_accepting = members.first() == Some(&0);
        let places = &members[usize::from(is_accepting)..];
        if let [place] = places {
            let State::Bytes(start, end) = nfa.states[*place as usize] else {
                unreachable!("places have moves on bytes")
            };
            for &(low, high, target) in &nfa.edges[start as usize..end as usize] {
                let target = sets.of_target(target)?;
                table.push_edge((low, high, target));
            }
        } else {
            edges.clear();
            for &place in places {
                let State::Bytes(start, end) = nfa.states[place as usize] else {
                    unreachable!("places have moves on bytes")
                };
                edges.extend_from_slice(&nfa.edges[start as usize..end as usize]);
            }
            edges.sort_unstable();
            edges.dedup();
            sweep(&edges, &mut active, |low, high, active| {
                let target = sets.of_targets(active)?;
                table.push_edge((low, high, target));
                Ok(())
            })?;
        }
        table.end_state(is_accepting);
        state += 1;
    }
    Ok(table)
}

/// Calls `visit` with each maximal range of bytes over which the same edges apply, and these edges.
fn sweep<E>(
    edges: &[Edge],
    active: &mut Vec<Edge>,
    mut visit: impl FnMut(u8, u8, &[Edge]) -> Result<(), E>,
) -> Result<(), E> {
    active.clear();
    let mut next = 0;
    let mut low = 0_u32;
    loop {
        if active.is_empty() {
            match edges.get(next) {
                Some(edge) => low = u32::from(edge.0),
                None => return Ok(()),
            }
        }
        while let Some(edge) = edges.get(next).filter(|edge| u32::from(edge.0) == low) {
            active.push(*edge);
            next += 1;
        }
        let mut end = edges.get(next).map_or(256, |edge| u32::from(edge.0));
        for edge in active.iter() {
            end = end.min(u32::from(edge.1) + 1);
        }
        visit(low as u8, (end - 1) as u8, active)?;
        active.retain(|edge| u32::from(edge.1) >= end);
        low = end;
    }
}

/// The sets of places found so far, numbered.
struct Sets<'a> {
    nfa: &'a Nfa,
    /// All members, set after set, each sorted.
    members: Vec<u32>,
    /// Where each set ends in `members`.
    ends: Vec<usize>,
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// By place: the set of what it leads to without a byte, if known.
    by_target: Vec<u32>,
    /// By place: the last closure that reached it.
    seen: Vec<u32>,
    closure: u32,
    pending: Vec<u32>,
    found: Vec<u32>,
    n_visits: usize,
    /// Places visited that nobody was told of yet.
    n_new_visits: usize,
    n_visits_max: usize,
    n_states_max: usize,
}

impl<'a> Sets<'a> {
    fn new(nfa: &'a Nfa, n_states_max: usize) -> Self {
        Sets {
            nfa,
            members: Vec::with_capacity(nfa.states.len()),
            ends: Vec::with_capacity(nfa.states.len()),
            known: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            by_target: vec![UNKNOWN; nfa.states.len()],
            seen: vec![0; nfa.states.len()],
            closure: 0,
            pending: Vec::new(),
            found: Vec::new(),
            n_visits: 0,
            n_new_visits: 0,
            n_visits_max: n_states_max.saturating_mul(VISITS_PER_STATE),
            n_states_max,
        }
    }

    fn n_sets(&self) -> usize {
        self.ends.len()
    }

    fn members(&self, set: usize) -> &[u32] {
        range(&self.members, &self.ends, set)
    }

    /// Returns the number of the set of places that `target` leads to without a byte.
    fn of_target(&mut self, target: u32) -> Result<u32, RegularError> {
        let known = self.by_target[target as usize];
        if known != UNKNOWN {
            return Ok(known);
        }
        let set = self.intern_closure([target])?;
        self.by_target[target as usize] = set;
        Ok(set)
    }

    /// Returns the number of the set of places that the targets of `edges` lead to without a byte.
    fn of_targets(&mut self, edges: &[Edge]) -> Result<u32, RegularError> {
        match edges {
            [edge] => self.of_target(edge.2),
            _ => self.intern_closure(edges.iter().map(|edge| edge.2)),
        }
    }

    fn intern_closure(&mut self, targets: impl IntoIterator<Item = u32>) -> Result<u32, RegularError> {
        self.closure += 1;
        let n_visits_before = self.n_visits;
        self.found.clear();
        self.pending.extend(targets);
        let mut is_anything = false;
        while let Some(place) = self.pending.pop() {
            self.n_visits += 1;
            if Some(place) == self.nfa.anything && !core::mem::replace(&mut is_anything, true) {
                self.found.clear();
                self.pending.clear();
                self.closure += 1;
            }
            if core::mem::replace(&mut self.seen[place as usize], self.closure) == self.closure {
                continue;
            }
            match self.nfa.states[place as usize] {
                State::Jumps(start, end) => self.pending.extend(&self.nfa.jumps[start as usize..end as usize]),
                State::Bytes(..) | State::Final => self.found.push(place),
            }
        }
        self.n_new_visits += self.n_visits - n_visits_before;
        if self.n_visits > self.n_visits_max {
            return Err(RegularError::visits(self.n_visits as u64, self.n_visits_max));
        }
        self.found.sort_unstable();
        let Sets { members, ends, known, hasher, found, .. } = self;
        let hash = hasher.hash_one(&found[..]);
        if let Some(&set) = known.find(hash, |&set| range(members, ends, set as usize) == &found[..]) {
            return Ok(set);
        }
        let set = ends.len();
        if set >= self.n_states_max {
            return Err(RegularError::determinized(set + 1, self.n_states_max));
        }
        members.extend_from_slice(found);
        ends.push(members.len());
        known.insert_unique(hash, set as u32, |&set| hasher.hash_one(range(members, ends, set as usize)));
        Ok(set as u32)
    }
}

fn range<'m>(members: &'m [u32], ends: &[usize], set: usize) -> &'m [u32] {
    &members[set.checked_sub(1).map_or(0, |before| ends[before])..ends[set]]
}
