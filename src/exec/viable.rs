//! Whether values that must be new can still be completed.
//!
//! Behind `[{"a":true},{"a":false},{"a":` both values are used up: whatever follows, the value is there already. Steps don't see that, since
//! they only refuse a value at its end. So after a token each place is asked whether a completion is left.
//!
//! Nearly always the answer takes no search. A place is *free* if nothing that it is within can run out: no value is under way, or
//! its set is empty, or something endless (a string, a number, another item) can still be read before the value ends, so that one of its
//! values is new. Else completions are searched with real steps, depth first: bytes that no used value goes on with come first, then
//! those that close something. The first place that is free again ends the search, mostly behind a few bytes; finitely many used values can't
//! hold it up for long. If there is no such place, the search has seen all the ways in which the used values can be spelled.
//!
//! White space, escapes, spellings of numbers and zeros at the end of a fraction would multiply these ways. So a place is not looked at twice
//! with texts that differ in those alone, nor with other values before the one under way than in another order. (Zeros are counted up to one
//! more than there are used values: were there another value behind some of them, one of so many would be new.) For the same reason no state
//! over the same stack is looked at for more texts than there are used values and values that must follow, some times over: what completes one of them completes
//! them all, and neither the used values nor those that follow can stand for each. That ends loops of digits.
//! Even so, spellings of numbers are most of the ways, so first a search goes without those that are longer than they have to be.
//!
//! A search that takes more than [`STEPS_MAX`] steps gives up, and the place counts as free.
//!
//! Within a value that can still become anything a search begins behind the value, as if it were one that occurs nowhere else: from within a multiple of 5003 few ways lead to
//! its end. While one mask is made, thousands of tokens end there, and what must follow is the same for all of them, so that the answer is kept for the mask. So is that of any
//! other place: tokens that differ in white space lead to few.
//!
//! To have no completion is inherited by all that follows, so it is enough to ask at the end of a token.

mod order;
mod ways_down;

use super::distinct_values::DistinctValues;
use super::head::{Configuration, Head};
use super::stack::{Stacks, StacksMark};
use super::step::step_byte;
use crate::automaton::{Owner, Program};
use crate::machine::normal_json;
use ahash::{AHashMap, AHashSet, AHasher};
use core::hash::Hasher;
use order::{Numbers, bytes_of, n_values_left};
use smallvec::SmallVec;
use ways_down::{NODES_MAX, ONE_UNDER_WAY, WaysDown};

/// Most steps of a search.
const STEPS_MAX: usize = 1 << 12;
/// Bytes of a text kept that count as a step.
const BYTES_PER_STEP: usize = 64;
/// Steps before places are kept, so that none is looked at twice.
const STEPS_FREE: usize = 48;
/// How often a place is looked at for each used value: its texts can be the same value in other orders of keys.
const VISITS_PER_VALUE: usize = 4;
/// Work of a look at a place, and of a step of a search beside that of the configuration.
const WORK_PER_PLACE: u64 = 32;
const WORK_PER_STEP: u64 = 128;
/// Memory to find out in whether places can be completed.
#[derive(Debug, Default)]
pub(crate) struct Viability {
    levels: Vec<Level>,
    next: Configuration,
    /// Places with the texts that led there.
    seen: AHashSet<PlaceWithText>,
    n_visits: AHashMap<(u64, u32), usize>,
    ways: WaysDown,
    answers: Option<Answers>,
}

/// A place by fingerprint and by how many values no set has yet, with what was read of the values that it is within.
type PlaceWithText = ((u64, u32), Vec<u8>);

/// Whether something completes a place that was asked for.
#[derive(Debug)]
struct Answers {
    /// The stacks and the number of sets before the tokens that are tried.
    before: StacksMark,
    n_sets: u32,
    are_viable: AHashMap<PlaceWithText, bool>,
}

/// A place on the way, and the bytes that are still to be tried there, the next one last.
#[derive(Debug)]
struct Level {
    head: Head,
    /// How many values are under way there that no set has yet.
    n_more: u32,
    mark: StacksMark,
    bytes: SmallVec<[u8; 16]>,
}

/// A search under way.
struct Search {
    /// The stacks and the number of sets before it.
    before: StacksMark,
    n_sets: u32,
    n_steps: usize,
}

impl Viability {
    /// Drops the heads of a configuration that no text completes. What was read stands in the stacks.
    #[inline]
    pub fn retain(&mut self, program: &Program, stacks: &mut Stacks, live: &mut Configuration) {
        if program.may_run_out() && stacks.values().is_some() {
            live.retain(|&head| {
                stacks.work.spend(WORK_PER_PLACE);
                self.is_viable(program, stacks, head)
            });
        }
    }

    /// Keeps answers from now on, while tokens are tried behind what is in the stacks, until [`Self::forget`].
    pub fn remember(&mut self, stacks: &Stacks) {
        let (before, n_sets) = (stacks.mark(), stacks.n_sets());
        self.answers = Some(Answers { before, n_sets, are_viable: AHashMap::new() });
    }

    /// Forgets the answers, and keeps none from now on.
    pub fn forget(&mut self) {
        self.answers = None;
    }

    /// Tells whether some text completes a head.
    fn is_viable(&mut self, program: &Program, stacks: &mut Stacks, head: Head) -> bool {
        if self.ways.is_free(program, stacks, head, 0) {
            return true;
        }
        let behind = core::mem::take(&mut self.ways.behind);
        behind.iter().any(|&behind| self.is_viable_behind(program, stacks, behind))
            || self.remembered(program, stacks, head, 0, |viability, stacks| {
                viability.is_completed(program, stacks, head, 0)
            })
    }

    /// Tells whether something completes a head behind a value that none of the sets has.
    fn is_viable_behind(&mut self, program: &Program, stacks: &mut Stacks, head: Head) -> bool {
        self.remembered(program, stacks, head, ONE_UNDER_WAY, |viability, stacks| {
            viability.ways.is_free(program, stacks, head, ONE_UNDER_WAY)
                || viability.is_completed(program, stacks, head, ONE_UNDER_WAY)
        })
    }

    /// Returns what `find` says of a place, or what it said of one from which the same can be read: tokens that differ in white space lead to few places.
    fn remembered(
        &mut self,
        program: &Program,
        stacks: &mut Stacks,
        head: Head,
        n_more: u32,
        find: impl FnOnce(&mut Self, &mut Stacks) -> bool,
    ) -> bool {
        let Some(Answers { before, n_sets, .. }) = self.answers else { return find(self, stacks) };
        let (start, n_used) = match n_more {
            0 => self.ways.extent(program, stacks, head),
            // Behind a value nothing is begun.
            _ => (stacks.values().map_or(0, DistinctValues::n_bytes), 0),
        };
        let text = normal(stacks, start, n_used);
        stacks.work.spend(text.len() as u64);
        let Some(fingerprint) = fingerprint_of(program, stacks, head, before, n_sets) else {
            return find(self, stacks);
        };
        let place = ((fingerprint, n_more), text);
        if let Some(&is_viable) = self.answers.as_ref().and_then(|answers| answers.are_viable.get(&place)) {
            return is_viable;
        }
        let is_viable = find(self, stacks);
        if let Some(answers) = &mut self.answers {
            answers.are_viable.insert(place, is_viable);
        }
        is_viable
    }

    /// Searches for a text that completes a head which is not free, given how many values no set has yet.
    fn is_completed(&mut self, program: &Program, stacks: &mut Stacks, head: Head, n_more: u32) -> bool {
        let before = stacks.mark();
        let mut is_found = |numbers| {
            let is_found = self.search(program, stacks, head, n_more, numbers);
            stacks.truncate(before);
            is_found
        };
        is_found(Numbers::Short) || is_found(Numbers::All)
    }

    fn search(&mut self, program: &Program, stacks: &mut Stacks, head: Head, n_more: u32, numbers: Numbers) -> bool {
        let mut search = Search { before: stacks.mark(), n_sets: stacks.n_sets(), n_steps: 0 };
        let mut next = core::mem::take(&mut self.next);
        self.levels.clear();
        self.seen.clear();
        self.n_visits.clear();
        let bytes = bytes_of(&mut self.ways, program, stacks, head, numbers);
        self.levels.push(Level { head, n_more, mark: search.before, bytes });
        let mut is_found = false;
        'search: while let Some(level) = self.levels.last_mut() {
            let Some(byte) = level.bytes.pop() else {
                self.levels.pop();
                continue;
            };
            let Level { head: from, n_more, mark, .. } = *level;
            stacks.truncate(mark);
            step_byte(program, stacks, &[from], byte, &mut next);
            search.n_steps += 1;
            stacks.work.spend(WORK_PER_STEP);
            if search.n_steps > STEPS_MAX || stacks.work.is_spent() {
                is_found = true;
                break;
            }
            let mark = stacks.mark();
            // The last one is tried first.
            if next.len() > 1 {
                next.sort_by_cached_key(|&head| core::cmp::Reverse(n_values_left(program, stacks, head)));
            }
            for &head in &next {
                let is_free = self.ways.is_free(program, stacks, head, n_more);
                // Behind a value that can still become anything its end need not be found.
                let behind = core::mem::take(&mut self.ways.behind);
                let n_more_behind = n_more + ONE_UNDER_WAY;
                if is_free || behind.iter().any(|&place| self.ways.is_free(program, stacks, place, n_more_behind)) {
                    is_found = true;
                    break 'search;
                }
                let places =
                    core::iter::once((head, n_more)).chain(behind.into_iter().map(|place| (place, n_more_behind)));
                for (head, n_more) in places {
                    if self.is_new(program, stacks, head, n_more, &mut search) {
                        let bytes = bytes_of(&mut self.ways, program, stacks, head, numbers);
                        self.levels.push(Level { head, n_more, mark, bytes });
                    }
                }
            }
        }
        self.next = next;
        is_found
    }

    /// Tells whether a search should look at a place: whether it has not looked there with such a text, nor with more texts than can be values that are there.
    fn is_new(&mut self, program: &Program, stacks: &mut Stacks, head: Head, n_more: u32, search: &mut Search) -> bool {
        if search.n_steps <= STEPS_FREE {
            return true;
        }
        let (start, n_used) = self.ways.extent(program, stacks, head);
        let text = normal(stacks, start, n_used);
        search.n_steps += text.len() / BYTES_PER_STEP;
        stacks.work.spend(text.len() as u64);
        let Some(fingerprint) = fingerprint_of(program, stacks, head, search.before, search.n_sets) else {
            return true;
        };
        let place = (fingerprint, n_more);
        if !self.seen.insert((place, text)) {
            return false;
        }
        let n_visits = self.n_visits.entry(place).or_default();
        *n_visits += 1;
        *n_visits <= VISITS_PER_VALUE * (n_used + n_values_left(program, stacks, head) as usize + 2)
    }
}

/// Returns a number that places have in common from which the same can be read, and few others: they have the same states over what was there
/// `before` the search, and the same values, in any order. Nothing where there are too many nodes to look at.
fn fingerprint_of(program: &Program, stacks: &mut Stacks, head: Head, before: StacksMark, n_sets: u32) -> Option<u64> {
    let mut fingerprint = AHasher::default();
    let mut pending: SmallVec<[Head; 16]> = SmallVec::from_slice(&[head]);
    let mut n_nodes = 0;
    while let Some(Head { state, node, register }) = pending.pop() {
        let is_of_values = matches!(program.owner(state), Some(Owner::DistinctValues(_)));
        let register = if is_of_values { stacks.fingerprint_of_values(register, n_sets) } else { register };
        n_nodes += 1;
        if n_nodes > NODES_MAX {
            return None;
        }
        // What was there before is the same node.
        let is_known = before.has(node);
        fingerprint.write_u64(u64::from(state.0));
        fingerprint.write_u64(register);
        fingerprint.write_u64(if is_known { u64::from(node.0) } else { u64::MAX - stacks.n_exits(node) as u64 });
        if !is_known {
            pending.extend(stacks.exits(node));
        }
    }
    Some(fingerprint.finish())
}

/// Returns the text from `start` on in its normal form, for a search that tries up to so many zeros.
fn normal(stacks: &Stacks, start: u32, n_zeros_max: usize) -> Vec<u8> {
    let text = stacks.values().map(|values| values.bytes_from(start).collect::<Vec<u8>>());
    text.map_or_else(Vec::new, |text| normal_json(&text, n_zeros_max))
}
