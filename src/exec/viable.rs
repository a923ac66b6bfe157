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

use super::candidates::Candidates;
use super::distinct_values::DistinctValues;
use super::head::{Configuration, Head, StackNodeId};
use super::stack::{Stacks, StacksMark};
use super::step::step_byte;
use crate::automaton::{Kind, Owner, Program, StateId};
use crate::machine::{Distinct, Equality, Exhaustible, normal_json};
use crate::util::ByteSet;
use ahash::{AHashMap, AHashSet, AHasher};
use core::cell::Cell;
use core::hash::Hasher;
use smallvec::SmallVec;

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
/// Most nodes of the stacks to look at; beyond, a place counts as free.
const NODES_MAX: usize = 256;

/// Memory to find out in whether places can be completed.
#[derive(Debug, Default)]
pub(crate) struct Viability {
    levels: Vec<Level>,
    next: Configuration,
    /// Places with the texts that led there.
    seen: AHashSet<PlaceWithText>,
    n_visits: AHashMap<(u64, u32), usize>,
    nodes: Vec<(StackNodeId, bool)>,
    pending: Vec<(StackNodeId, bool)>,
    /// Where the last place that was found not to be free is within values that can become anything, but behind which values may run out: the places behind them.
    behind: SmallVec<[Head; 2]>,
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

/// How many values of each rule are under way that no set has yet.
const ONE_UNDER_WAY: u32 = 1;

/// Which spellings of numbers are tried.
#[derive(Clone, Copy)]
enum Numbers {
    /// Those without exponents, and without zeros at the end of a fraction: nearly all values have one.
    Short,
    All,
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
        if self.is_free(program, stacks, head, 0) {
            return true;
        }
        let behind = core::mem::take(&mut self.behind);
        behind.iter().any(|&behind| self.is_viable_behind(program, stacks, behind))
            || self.remembered(program, stacks, head, 0, |viability, stacks| {
                viability.is_completed(program, stacks, head, 0)
            })
    }

    /// Tells whether something completes a head behind a value that none of the sets has.
    fn is_viable_behind(&mut self, program: &Program, stacks: &mut Stacks, head: Head) -> bool {
        self.remembered(program, stacks, head, ONE_UNDER_WAY, |viability, stacks| {
            viability.is_free(program, stacks, head, ONE_UNDER_WAY)
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
            0 => self.extent(program, stacks, head),
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
        let bytes = self.bytes_of(program, stacks, head, numbers);
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
                let is_free = self.is_free(program, stacks, head, n_more);
                // Behind a value that can still become anything its end need not be found.
                let behind = core::mem::take(&mut self.behind);
                let n_more_behind = n_more + ONE_UNDER_WAY;
                if is_free || behind.iter().any(|&place| self.is_free(program, stacks, place, n_more_behind)) {
                    is_found = true;
                    break 'search;
                }
                let places =
                    core::iter::once((head, n_more)).chain(behind.into_iter().map(|place| (place, n_more_behind)));
                for (head, n_more) in places {
                    if self.is_new(program, stacks, head, n_more, &mut search) {
                        let bytes = self.bytes_of(program, stacks, head, numbers);
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
        let (start, n_used) = self.extent(program, stacks, head);
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

    /// Tells whether nothing that a head is within can be exhausted: on some way down its stack. There may be `n_more` values that no set has yet.
    fn is_free(&mut self, program: &Program, stacks: &mut Stacks, head: Head, n_more: u32) -> bool {
        self.behind.clear();
        let Some(values) = stacks.values() else { return true };
        if is_exhausted(program, values, head, n_more) {
            return false;
        }
        // Mostly there is no value yet that could be repeated; what can be read from states is found for whole units, and candidates take a look
        // at all values.
        let is_unbounded = |state| {
            program.reaches_unbounded(state, false) || program.reaches_unbounded(state, true) && has_no_exponent(values)
        };
        let is_unbounded_behind = |state| program.reaches_unbounded(state, false);
        let n_compared = Cell::new(0);
        let has_candidates = |frame: Head, equality| {
            let n_begun = values.n_begun(frame.register);
            n_compared.set(n_compared.get() + u64::from(values.n_values(frame.register)) + u64::from(n_begun));
            Candidates::exist(values, frame.register, equality)
        };
        let is_free = self.has_free_way(program, stacks, head, n_more, |_| false, |_| false, |_, _| true)
            || self.has_free_way(program, stacks, head, n_more, is_unbounded, is_unbounded_behind, |_, _| true)
            || self.has_free_way(program, stacks, head, n_more, is_unbounded, is_unbounded_behind, has_candidates);
        stacks.work.spend(n_compared.get());
        is_free
    }

    /// Tells whether on some way down the stack of a head no value under way can become one that is there already (`has_candidates`), unless something unbounded can be
    /// read above it: from the head's state (`is_unbounded`), or from one that is returned to (`is_unbounded_behind`). Notes the places behind values that hold something unbounded,
    /// where values may run out.
    #[expect(
        clippy::too_many_arguments,
        reason = "three questions, each of which is left out where it needs no answer"
    )]
    fn has_free_way(
        &mut self,
        program: &Program,
        stacks: &Stacks,
        head: Head,
        n_more: u32,
        is_unbounded: impl Fn(StateId) -> bool,
        is_unbounded_behind: impl Fn(StateId) -> bool,
        has_candidates: impl Fn(Head, Equality) -> bool,
    ) -> bool {
        self.nodes.clear();
        self.behind.clear();
        self.pending.clear();
        self.pending.push((head.node, is_unbounded(head.state)));
        while let Some((node, is_unbounded)) = self.pending.pop() {
            if self.nodes.contains(&(node, is_unbounded)) {
                continue;
            }
            if self.nodes.len() >= NODES_MAX {
                return true;
            }
            self.nodes.push((node, is_unbounded));
            for exit in stacks.exits(node) {
                let Some(info) = program.info(exit.state) else { return true };
                // The value under way may become one that is there already.
                if let Kind::DistinctValue(distinct) = info.kind
                    && !is_unbounded
                    && is_compared(distinct)
                    && exit.register as u32 != 0
                    && (distinct.declared_keys.is_some() || has_candidates(exit, distinct.equality))
                {
                    continue;
                }
                // The value under way will be one more.
                let n_more = n_more + ONE_UNDER_WAY;
                if stacks.values().is_some_and(|values| is_exhausted(program, values, exit, n_more)) {
                    if is_unbounded {
                        self.behind.push(Head { register: u64::from(exit.register as u32), ..exit });
                    }
                    continue;
                }
                self.pending.push((exit.node, is_unbounded || is_unbounded_behind(exit.state)));
            }
        }
        false
    }

    /// Returns where the outermost value that a head is within begins, and how many there are beside such values.
    fn extent(&mut self, program: &Program, stacks: &Stacks, head: Head) -> (u32, usize) {
        let Some(values) = stacks.values() else { return (0, 0) };
        let (mut start, mut n_used) = (values.n_bytes(), 0);
        self.for_each_value(program, stacks, head, |register| {
            start = start.min((register >> 32) as u32);
            n_used += values.n_values(register) as usize;
        });
        (start, n_used)
    }

    /// Calls `visit` with the registers of the values that a head is within.
    fn for_each_value(&mut self, program: &Program, stacks: &Stacks, head: Head, mut visit: impl FnMut(u64)) {
        self.nodes.clear();
        self.pending.clear();
        self.pending.push((head.node, false));
        while let Some((node, _)) = self.pending.pop() {
            if self.nodes.contains(&(node, false)) || self.nodes.len() >= NODES_MAX {
                continue;
            }
            self.nodes.push((node, false));
            for exit in stacks.exits(node) {
                match program.info(exit.state).map(|info| info.kind) {
                    Some(Kind::DistinctValue(distinct)) if is_compared(distinct) => visit(exit.register),
                    Some(_) => {}
                    None => continue,
                }
                self.pending.push((exit.node, false));
            }
        }
    }

    /// Returns the bytes to try from a head, the best last: some of each class, and those that used values go on with.
    fn bytes_of(&mut self, program: &Program, stacks: &Stacks, head: Head, numbers: Numbers) -> SmallVec<[u8; 16]> {
        let mut bytes = SmallVec::new();
        let Some((linked, local)) = program.place(head.state) else { return bytes };
        let mut read = linked.unit.bytes(local);
        if let (Numbers::Short, Kind::End | Kind::RegisterRule { .. }, Some(values)) =
            (numbers, linked.unit.info(local).kind, stacks.values())
        {
            read = read & !needless(values);
        }
        if read.len() <= 1 {
            bytes.extend(read.iter());
            return bytes;
        }
        let (mut is_used, mut n_used) = ([false; 256], 0usize);
        if let Some(values) = stacks.values() {
            if let Some(Owner::DistinctValues(_)) = linked.unit.info(local).owner {
                // One of them may begin here.
                n_used += values.n_values(head.register) as usize;
                let first_bytes = values.in_set(head.register).filter_map(|value| values.first_of(value));
                first_bytes.for_each(|byte| is_used[usize::from(byte)] = true);
            }
            self.for_each_value(program, stacks, head, |register| {
                n_used += values.n_values(register) as usize;
                let next_bytes = values.suffixes(register).filter_map(|suffix| values.first_of(suffix));
                next_bytes.for_each(|byte| is_used[usize::from(byte)] = true);
            });
        }
        // In a string a bracket is a character like others.
        let closes =
            |byte: u8| matches!(byte, b'}' | b']') && linked.unit.code(local, byte) != linked.unit.code(local, b'~');
        let is_between = program.n_values_to_close(head.state) > 0;
        let rank = |byte: u8, is_used: bool| -> Rank {
            let kind = if closes(byte) { 0 } else { 1 + u8::from(byte != b'"') };
            let n_left = if is_between { program.n_values_to_close_behind(head.state, byte) } else { 0 };
            (byte.is_ascii_whitespace(), n_left, is_used, kind)
        };
        let mut ranked: SmallVec<[(Rank, u8); 16]> =
            read.iter().map(|byte| (rank(byte, is_used[usize::from(byte)]), byte)).collect();
        ranked.sort_unstable();
        // Of a class one byte more than there are used values, which may be spelled otherwise up to here, and values that must follow, which may have to be this one.
        let n_values = n_used + n_values_left(program, stacks, head) as usize;
        let mut n_of_class = [0usize; 256];
        for &(_, byte) in &ranked {
            let n = &mut n_of_class[usize::from(linked.unit.class(byte))];
            let n_max = if byte.is_ascii_whitespace() { 0 } else { n_values };
            if *n <= n_max || is_used[usize::from(byte)] {
                *n += 1;
                bytes.push(byte);
            }
        }
        bytes.reverse();
        bytes
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

/// Tells whether the values of the rule of a head may have run out, with `n_more` beside those that are there, so that only its end is safe.
fn is_exhausted(program: &Program, values: &DistinctValues, head: Head, n_more: u32) -> bool {
    program.exhausted_behind(head.state).is_some_and(|n_values| values.n_values(head.register) + n_more >= n_values)
}

/// How early a byte is tried: white space last, between values first what leads to the end with few of them, what used values go on with late, and of the others
/// first what closes a container, then what closes a string, so that a search ends soon.
type Rank = (bool, u8, bool, u8);

/// Most frames that are looked at to find out how far the end is.
const FRAMES_MAX: usize = 32;

/// Returns how many values the ways out of the rules that a head is within take, up to the outermost one whose values are compared or may run out: a guess, which
/// looks down one way. A search ends where it leaves that one, and what it takes to know the way out of the others, often large ones, is not worth it.
fn n_values_left(program: &Program, stacks: &Stacks, head: Head) -> u32 {
    let mut states: SmallVec<[StateId; FRAMES_MAX + 1]> = SmallVec::new();
    states.push(head.state);
    let mut node = head.node;
    while states.len() <= FRAMES_MAX
        && let Some(exit) = stacks.exits(node).next()
    {
        states.push(exit.state);
        node = exit.node;
    }
    let is_limited = |distinct: Distinct| is_compared(distinct) || distinct.exhaustible != Exhaustible::Never;
    let is_within = |&state: &StateId| {
        program.info(state).is_some_and(|info| {
            matches!(info.kind, Kind::DistinctValue(distinct) if is_limited(distinct))
                || matches!(info.owner, Some(Owner::DistinctValues(distinct)) if is_limited(distinct))
        })
    };
    let outermost = states.iter().rposition(is_within).unwrap_or(0);
    states[..=outermost].iter().map(|&state| u32::from(program.n_values_to_close(state))).sum()
}

/// Tells whether values of a kind can run out at all.
fn is_compared(distinct: Distinct) -> bool {
    distinct.has_finite_domain() || distinct.equality == Equality::Json
}

/// Returns the bytes that make the number at the end of the text longer, if there is one, though perhaps another value has no other spelling:
/// exponents, and zeros of a fraction. Of strings that are like numbers it may be wrong.
fn needless(values: &DistinctValues) -> ByteSet {
    let number: SmallVec<[u8; 32]> = last_number(values).collect();
    if !number.last().is_some_and(|first| first.is_ascii_digit() || *first == b'-') {
        return ByteSet::EMPTY;
    }
    let exponents = ByteSet::from_bytes(b"eE");
    if number.iter().any(|byte| exponents.contains(*byte)) {
        ByteSet::range(b'0', b'9')
    } else if number.contains(&b'.') {
        exponents | ByteSet::from_bytes(b"0")
    } else {
        exponents
    }
}

/// Tells whether the number at the end of the text, if there is one, has no exponent so far.
fn has_no_exponent(values: &DistinctValues) -> bool {
    !last_number(values).any(|byte| byte.eq_ignore_ascii_case(&b'e'))
}

/// Returns the number at the end of the text, from its end to its beginning; nothing if there is none.
fn last_number(values: &DistinctValues) -> impl Iterator<Item = u8> + '_ {
    values.bytes_backward().take_while(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte))
}

/// Returns the text from `start` on in its normal form, for a search that tries up to so many zeros.
fn normal(stacks: &Stacks, start: u32, n_zeros_max: usize) -> Vec<u8> {
    let text = stacks.values().map(|values| values.bytes_from(start).collect::<Vec<u8>>());
    text.map_or_else(Vec::new, |text| normal_json(&text, n_zeros_max))
}
