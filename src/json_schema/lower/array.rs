//! Arrays: prefixes, the rest, lengths, and items that must be counted.

use super::draft::Draft;
use super::white_space::From;
use super::{Lowered, Lowerer};
use crate::json_schema::conjunction::{ConjunctionId, Member};
use crate::json_schema::error::SchemaError;
use crate::json_schema::shape::ArrayShape;
use crate::machine::Counter;
use crate::pass::Label;
use ahash::AHashMap;
use smallvec::SmallVec;

/// Numbers of items up to this are written out; larger ones are counted.
const WRITTEN_MAX: u64 = 16;
/// Most ways for one item to be, by the kinds that it is counted as.
const WAYS_MAX: usize = 64;

/// What is known after some items: the place, the number of items as far as it matters, and how many there were of each counted kind.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Seen {
    place: u64,
    n_items: u64,
    counts: SmallVec<[u64; 4]>,
}

/// A way for the next item to be: what it satisfies, and what is known after it.
type Way = (ConjunctionId, Seen);

struct Plan<'s> {
    shape: &'s ArrayShape,
    /// Where the rules no longer change.
    n_prefix: u64,
    /// Whether numbers of items are states; else a machine counts those behind the prefix.
    is_written: bool,
}

/// The states after an item, by what is known there.
#[derive(Default)]
struct Places {
    states: AHashMap<Seen, u32>,
    /// Those that nothing follows yet.
    pending: Vec<(Seen, u32)>,
}

impl Places {
    fn after(&mut self, draft: &mut Draft, seen: Seen) -> u32 {
        *self.states.entry(seen).or_insert_with_key(|seen| {
            let state = draft.state();
            self.pending.push((seen.clone(), state));
            state
        })
    }
}

impl Lowerer<'_> {
    /// Adds the arrays of a shape between the start of a draft and `end`.
    pub(super) fn array(&mut self, draft: &mut Draft, shape: &ArrayShape, depth: u32, end: u32) -> Lowered<()> {
        if shape.is_unique && shape.max.is_none_or(|max| max > 1) {
            return Err(SchemaError::unsupported("uniqueItems", "not yet").into());
        }
        let bounds = shape.rules.iter().flat_map(|rule| [Some(rule.from), rule.to]);
        let bounds = bounds.chain(shape.counts.iter().flat_map(|count| [Some(count.from), count.to]));
        let n_prefix = bounds.flatten().max().unwrap_or(0);
        let n_prefix = shape.max.map_or(n_prefix, |max| n_prefix.min(max));
        let n_bound = shape.max.unwrap_or(shape.min);
        let is_written = n_bound <= WRITTEN_MAX.max(n_prefix) || !shape.counts.is_empty();
        let plan = Plan { shape, n_prefix, is_written };
        let open = draft.state();
        draft.byte(&[0], b'[', open);
        if shape.min == 0 && shape.counts.iter().all(|count| count.min == 0) {
            let inside = self.inside_empty(draft, open)?;
            draft.byte(&inside, b']', end);
        }
        if shape.max == Some(0) {
            return Ok(());
        }
        let mut places = Places::default();
        let first = self.after_open(draft, open, depth)?;
        let none = Seen { place: 0, n_items: 0, counts: shape.counts.iter().map(|_| 0).collect() };
        self.item(draft, &plan, &mut places, &first, &none, depth)?;
        while let Some((seen, state)) = places.pending.pop() {
            self.check_written("items", places.states.len())?;
            let from = self.after_element(draft, state)?;
            if !is_written && seen.place >= n_prefix {
                // Behind the prefix a machine counts.
                self.counted_tail(draft, &plan, &from, depth, end, seen.n_items)?;
                continue;
            }
            let counts_hold = shape.counts.iter().zip(&seen.counts).all(|(count, &n)| n >= count.min);
            if counts_hold && seen.n_items >= shape.min {
                let close = self.before_close(draft, from.clone(), depth)?;
                draft.byte(&close, b']', end);
            }
            if shape.max.is_none_or(|max| seen.n_items < max) {
                let next = self.comma(draft, &from, depth)?;
                self.item(draft, &plan, &mut places, &next, &seen, depth)?;
            }
        }
        Ok(())
    }

    /// Adds the next item, in all ways in which it can be.
    fn item(
        &mut self,
        draft: &mut Draft,
        plan: &Plan<'_>,
        places: &mut Places,
        from: &From,
        seen: &Seen,
        depth: u32,
    ) -> Lowered<()> {
        for (conjunction, seen) in self.item_ways(plan, seen)? {
            if !self.expander.conjunctions.is_nothing(conjunction) {
                let rule = self.value(conjunction, depth + 1);
                let target = places.after(draft, seen);
                from.iter().for_each(|&from| draft.edge(from, Label::Call(rule), target));
            }
        }
        Ok(())
    }

    /// Returns the ways for the next item to be.
    fn item_ways(&mut self, plan: &Plan<'_>, seen: &Seen) -> Lowered<Vec<Way>> {
        let Plan { shape, n_prefix, is_written } = *plan;
        let place = seen.place;
        let is_at = |from: u64, to: Option<u64>| from <= place && to.is_none_or(|to| place < to);
        let members: Vec<Member> =
            shape.rules.iter().filter(|rule| is_at(rule.from, rule.to)).map(|rule| rule.member).collect();
        let n_items = match is_written && shape.max.is_none() {
            // Beyond the minimum all numbers are the same.
            true => (seen.n_items + 1).min(shape.min),
            false => seen.n_items + 1,
        };
        let next = Seen { place: (place + 1).min(n_prefix), n_items, counts: seen.counts.clone() };
        let mut ways: Vec<(Vec<Member>, Seen)> = vec![(members, next)];
        for (index, count) in shape.counts.iter().enumerate().filter(|(_, count)| is_at(count.from, count.to)) {
            let n_seen = seen.counts[index];
            let mut longer = Vec::with_capacity(2 * ways.len());
            for (members, next) in ways {
                // Without an upper bound nobody needs to know that an item doesn't count.
                if count.max.is_none() && n_seen >= count.min {
                    longer.push((members, next));
                    continue;
                }
                if count.max.is_none_or(|max| n_seen < max) {
                    let mut counted = members.clone();
                    counted.push(count.member);
                    let mut after = next.clone();
                    after.counts[index] = n_seen + 1;
                    if !self.is_nothing(&counted)? {
                        longer.push((counted, after));
                    }
                }
                let mut other = members;
                if count.max.is_some() {
                    other.push(count.member.negated());
                }
                longer.push((other, next));
            }
            ways = longer;
            if ways.len() > WAYS_MAX {
                let reason = format!("more than {WAYS_MAX} combinations of conditions count the same items");
                return Err(SchemaError::unsupported("contains", reason).into());
            }
        }
        Ok(ways.into_iter().map(|(members, next)| (self.expander.intern(members), next)).collect())
    }

    /// Adds what follows after `n_items` items: more of the rest, counted by machine, and the closing bracket.
    fn counted_tail(
        &mut self,
        draft: &mut Draft,
        plan: &Plan<'_>,
        from: &From,
        depth: u32,
        end: u32,
        n_items: u64,
    ) -> Lowered<()> {
        let shape = plan.shape;
        let min = shape.min.saturating_sub(n_items);
        let max = shape.max.map(|max| max.saturating_sub(n_items));
        if min == 0 {
            let close = self.before_close(draft, from.clone(), depth)?;
            draft.byte(&close, b']', end);
        }
        let conjunction = self.rest(plan);
        if max == Some(0) || self.expander.conjunctions.is_nothing(conjunction) {
            return Ok(());
        }
        let rule = self.value(conjunction, depth + 1);
        let mut body = Draft::new();
        let next = self.comma(&mut body, &From::from_slice(&[0]), depth)?;
        let item = body.state();
        next.iter().for_each(|&from| body.edge(from, Label::Call(rule), item));
        let done = self.after_element(&mut body, item)?;
        done.iter().for_each(|&done| body.accept(done));
        let bound = |n: u64| u32::try_from(n).unwrap_or(u32::MAX).min(self.limits.repeat_max);
        let counter = Counter::new(bound(min).max(1), max.map(bound));
        self.spend(&body)?;
        let rule = self.rule("items", body, Some(counter));
        let after = draft.state();
        from.iter().for_each(|&from| draft.edge(from, Label::Call(rule), after));
        let close = self.before_close(draft, From::from_slice(&[after]), depth)?;
        draft.byte(&close, b']', end);
        Ok(())
    }

    /// Returns what items behind the prefix satisfy.
    fn rest(&mut self, plan: &Plan<'_>) -> ConjunctionId {
        let rules = plan.shape.rules.iter().filter(|rule| rule.to.is_none());
        let members = rules.map(|rule| rule.member).collect();
        self.expander.intern(members)
    }

    /// Checks how many places of a container were written out.
    pub(super) fn check_written(&self, what: &'static str, n_written: usize) -> Lowered<()> {
        self.watch.spend(1)?;
        let limit = self.limits.automaton_states_max / 8;
        if n_written > limit {
            let keyword = if what == "items" { "contains" } else { "properties" };
            let reason = format!("more than {limit} places of the {what} would have to be told apart");
            return Err(SchemaError::unsupported(keyword, reason).into());
        }
        Ok(())
    }
}
