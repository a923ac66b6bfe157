//! Arrays: prefix items, further items, lengths, `contains` and distinct items.

mod counted;
mod few;
mod matching;
mod values;

use super::draft::Draft;
use super::text::Divisors;
use super::white_space::{AfterOpen, From};
use super::{Lowered, Lowerer};
use crate::json_schema::conjunction::{ConjunctionId, Member, Members};
use crate::json_schema::error::SchemaError;
use crate::json_schema::shape::{ArrayShape, ValueKind};
use crate::machine::{Counter, Distinct, Equality, Exhaustible};
use crate::pass::{Label, NetRuleId};
use counted::FewCounted;
use hashbrown::HashMap;
use matching::n_distinct;
use smallvec::SmallVec;
use std::rc::Rc;
pub(super) use values::EnumerationBudget;
use values::{PREFIX_MAX, UnlistedValues};

/// Largest number of items that is tracked in states; larger ones take a counter.
const WRITTEN_MAX: u64 = 16;

/// Most variants of the items of an array whose values are counted, to know when they may run out.
const MEASURED_VARIANTS_MAX: usize = 64;

/// Most values of items that are enumerated.
const VALUES_MAX: usize = 4096;
/// Steps of the budget for a place of an array, or a variant of an item, beside one for eight counts.
const STEPS_PER_PLACE: usize = 2;

/// The domain of an item: the values that it may have.
enum Domain {
    /// These values, in the unique spelling of distinct items.
    Few(Vec<Vec<u8>>),
    /// More values than are listed; `is_finite`: some prefix has few completions; `is_endless`: some kind certainly has infinitely many values.
    Many { is_finite: bool, is_endless: bool },
}

/// Returns the keyword for whose sake the places of an array are told apart.
fn keyword_of_places(plan: &Plan<'_>) -> &'static str {
    match (plan.shape.counts.is_empty(), &plan.unique) {
        (false, _) => "contains",
        (true, Some(_)) => "uniqueItems",
        (true, None) => "prefixItems",
    }
}

/// Returns the position from which on all items have the same constraints.
fn n_prefix(shape: &ArrayShape) -> u64 {
    let of_counts = shape.counts.iter().flat_map(|count| [Some(count.from), count.to]).flatten();
    let n_prefix = shape.rules.bounds().chain(of_counts).max().unwrap_or(0);
    shape.max.map_or(n_prefix, |max| n_prefix.min(max))
}

/// The state after some items: the position, the number of items as far as it matters, and the number that each `contains` has counted.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Progress {
    position: u64,
    n_items: u64,
    counts: Counts,
}

/// How many items each `contains` has counted.
type Counts = SmallVec<[u64; 4]>;

/// The variants of the next item: its constraint, and the counts after it.
type Variants = Rc<[(ConjunctionId, Counts)]>;

struct Plan<'s> {
    shape: &'s ArrayShape,
    /// The position from which on all items have the same constraints.
    n_prefix: u64,
    /// Whether numbers of items are tracked in states; otherwise a counter counts those after the prefix.
    is_written: bool,
    /// The constraint that items are distinct, if there is one.
    unique: Option<Unique>,
}

/// The constraint that items are distinct.
struct Unique {
    distinct: Distinct,
    few: FewCounted,
}

impl Plan<'_> {
    fn distinct(&self) -> Option<Distinct> {
        self.unique.as_ref().map(|unique| unique.distinct)
    }

    /// Returns how many values satisfy a `contains` behind the prefix, if they are few.
    fn n_few(&self, count: usize) -> Option<u64> {
        self.unique.as_ref().and_then(|unique| unique.few.n_values.get(count).copied().flatten())
    }

    /// Returns whether no `contains` misses more items than can follow those before a position.
    fn can_count_enough(&self, position: u64, counts: &Counts) -> bool {
        let n_of_prefix = self.n_prefix.saturating_sub(position);
        self.shape.counts.iter().zip(counts).enumerate().all(|(index, (count, &n))| {
            self.n_few(index).is_none_or(|n_few| count.min.saturating_sub(n) <= n_few.saturating_add(n_of_prefix))
        })
    }

    /// Returns the state after one more item, and these counts.
    fn after_item(&self, seen: &Progress, counts: &Counts) -> Progress {
        let n_items = match self.is_written && self.shape.max.is_none() {
            // All numbers from the minimum on are equivalent.
            true => (seen.n_items + 1).min(self.shape.min),
            false => seen.n_items + 1,
        };
        Progress { position: (seen.position + 1).min(self.n_prefix), n_items, counts: counts.clone() }
    }
}

/// The automaton states drafted so far, by the state of the array after an item.
#[derive(Default)]
struct Places {
    states: HashMap<Progress, u32>,
    /// Those that are not expanded yet.
    pending: Vec<(Progress, u32)>,
    /// The variants of the next item, by what they depend on: the number of items makes no difference.
    variants: HashMap<(u64, Counts), Variants>,
}

impl Places {
    fn after(&mut self, draft: &mut Draft, seen: Progress, distinct: Option<Distinct>) -> u32 {
        *self.states.entry(seen).or_insert_with_key(|seen| {
            let state = draft.state();
            draft.elements.extend(distinct.map(|distinct| (state, distinct)));
            self.pending.push((seen.clone(), state));
            state
        })
    }
}

impl Lowerer<'_> {
    /// Adds the arrays of a shape between the start of a draft and `end`.
    pub(super) fn array(&mut self, draft: &mut Draft, shape: &ArrayShape, depth: u32, end: u32) -> Lowered<()> {
        self.array_with(draft, shape, depth, end, None)
    }

    /// Returns the rule of the arrays of a shape with distinct items; `None` if there are none.
    pub(super) fn unique_array(&mut self, shape: &ArrayShape, depth: u32) -> Lowered<Option<NetRuleId>> {
        let (mut draft, end) = self.workspace.draft_with_end();
        // The domain of each position of the prefix, and of all after it.
        let n_prefix = n_prefix(shape);
        let places: Vec<Vec<Member>> = (0..=n_prefix).map(|position| shape.rules.at(position).collect()).collect();
        let mut domains = Vec::with_capacity(places.len());
        for members in &places {
            let conjunction = self.expander.intern(members.clone());
            domains.push(self.domain(conjunction)?);
        }
        let mut shape = ArrayShape { is_unique: false, ..shape.clone() };
        // Unreachable positions don't matter: those after the greatest length, and from the first with an empty domain on.
        if let Some(position) =
            domains.iter().position(|domain| matches!(domain, Domain::Few(values) if values.is_empty()))
        {
            shape.max = Some(shape.max.map_or(position as u64, |max| max.min(position as u64)));
        }
        if let Some(max) = shape.max {
            domains.truncate(usize::try_from(max).unwrap_or(usize::MAX).max(1));
        }
        // If all items have the same domain, there are at most as many items as values.
        let mut is_short = shape.max.is_some();
        if let [Domain::Few(values)] = &domains[..] {
            let n_values = values.len() as u64;
            is_short = shape.max.is_some_and(|max| max < n_values);
            shape.max = Some(shape.max.map_or(n_values, |max| max.min(n_values)));
        }
        if shape.max.is_some_and(|max| max < shape.min)
            || !self.has_enough(&places, shape.min)?
            || !self.has_enough_counted(&shape, &places)?
        {
            return Ok(None);
        }
        // A position with as many values as there are items up to it always has one left.
        let is_last = |index: usize| index + 1 == domains.len();
        let n_items = |index: usize| if is_last(index) { shape.max } else { Some(index as u64 + 1) };
        let is_filled = domains.iter().enumerate().all(|(index, domain)| match domain {
            Domain::Few(values) => n_items(index).is_some_and(|n| values.len() as u64 >= n),
            Domain::Many { .. } => true,
        });
        if !is_filled {
            self.few_items(&mut draft, &shape, &domains, depth, end)?;
            self.spend(&draft)?;
            return Ok(Some(self.rule("array", draft, None)));
        }
        let is_finite = domains.iter().any(|domain| !matches!(domain, Domain::Many { is_finite: false, .. }));
        let is_unsure = domains.iter().any(|domain| matches!(domain, Domain::Many { is_endless: false, .. }));
        if self.expander.options.has_any_order && self.have_containers(&places)? {
            // An item that is completed in other orders is the same one, so that too many texts would have to be tried.
            let reason = "items may be arrays or objects, whose keys come in any order";
            return Err(SchemaError::unsupported("uniqueItems", reason).into());
        }
        let is_bounded = is_short || n_prefix != 0 || shape.counts.iter().any(|count| count.max.is_some());
        let (is_safe, few) = match shape.counts.len() > 1 || n_prefix != 0 && !shape.counts.is_empty() {
            true => self.few_counted(&mut shape, is_bounded)?,
            false => (self.bound_counts(&mut shape)?, FewCounted::default()),
        };
        let exhaustible = match (is_safe, is_unsure) {
            (true, false) => Exhaustible::Never,
            // How many values it takes is found where all variants of items are known.
            _ => Exhaustible::Behind(0),
        };
        let scarce_after = is_finite.then_some(0);
        let distinct = Distinct { equality: Equality::Json, scarce_after, exhaustible, declared_keys: None };
        self.array_with(&mut draft, &shape, depth, end, Some(Unique { distinct, few }))?;
        self.spend(&draft)?;
        Ok(Some(self.rule("array", draft, None)))
    }

    /// Returns whether arrays or objects may satisfy the members of some position.
    fn have_containers(&mut self, places: &[Vec<Member>]) -> Lowered<bool> {
        for members in places {
            let conjunction = self.expander.intern(members.clone());
            for kind in [ValueKind::Array, ValueKind::Object] {
                if !self.expander.shapes(conjunction, kind)?.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns whether the first `n_items` positions of an array can have distinct values, where the items of each satisfy its members (those
    /// of further positions the last members); true if there are too many values to decide.
    fn has_enough(&mut self, places: &[Vec<Member>], n_items: u64) -> Lowered<bool> {
        let Ok(n_items) = usize::try_from(n_items) else { return Ok(true) };
        if !(2..=VALUES_MAX).contains(&n_items) {
            return Ok(true);
        }
        let n_places = |position| if position + 1 == places.len() { n_items - position } else { 1 };
        let places = places.iter().enumerate().take(n_items).map(|(position, members)| (members, n_places(position)));
        self.can_be_distinct(places, &[], n_items)
    }

    /// Returns whether there are as many distinct values as each condition must count; true if there are too many to decide.
    fn has_enough_counted(&mut self, shape: &ArrayShape, places: &[Vec<Member>]) -> Lowered<bool> {
        if places.len() as u64 > PREFIX_MAX {
            return Ok(true);
        }
        for count in &shape.counts {
            let Some(min) = usize::try_from(count.min).ok().filter(|min| (2..=VALUES_MAX).contains(min)) else {
                continue;
            };
            let last = places.len() - 1;
            let is_counted = |position: usize| {
                let position = position as u64;
                count.from <= position && count.to.is_none_or(|to| position < to)
            };
            let counted = places.iter().enumerate().filter(|&(position, _)| is_counted(position));
            let counted = counted.map(|(position, members)| (members, if position == last { min } else { 1 }));
            // What comes behind the prefix has the most values by far.
            if !self.can_be_distinct(counted.rev(), &[count.member], min)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether at least `n_items` positions can have distinct values, given what the items of each must satisfy besides `others`, and
    /// how many positions of its kind there are; true if there are too many values to decide.
    fn can_be_distinct<'a>(
        &mut self,
        places: impl Iterator<Item = (&'a Vec<Member>, usize)>,
        others: &[Member],
        n_items: usize,
    ) -> Lowered<bool> {
        // A position with as many values as there are items always has one left.
        let mut n_free = 0;
        let mut few: Vec<(Vec<Vec<u8>>, usize)> = Vec::new();
        for (members, n_places) in places {
            let members: Members = members.iter().chain(others).copied().collect();
            let conjunction = self.expander.intern(members);
            match self.few_values(conjunction, &mut EnumerationBudget::new(n_items - 1))? {
                Some(values) => {
                    // Of positions that are alike no more than there are values have one of their own.
                    let n_places = n_places.min(values.len());
                    few.push((values, n_places));
                }
                None => n_free += n_places,
            }
            if n_free >= n_items {
                return Ok(true);
            }
        }
        let positions: Vec<&[Vec<u8>]> =
            few.iter().flat_map(|(values, n_places)| core::iter::repeat_n(&**values, *n_places)).collect();
        Ok(n_free + n_distinct(&positions, self.budget)? >= n_items)
    }

    fn domain_of(&mut self, members: Members) -> Lowered<Domain> {
        let conjunction = self.expander.intern(members);
        self.domain(conjunction)
    }

    /// Returns the domain of a conjunction.
    fn domain(&mut self, conjunction: ConjunctionId) -> Lowered<Domain> {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        let mut all = UnlistedValues::default();
        for kind in ValueKind::ALL {
            let shapes = self.expander.shapes(conjunction, kind)?;
            let others = self.add_scalars(kind, &shapes, &mut texts, Divisors::Enforceable)?;
            all.is_some |= others.is_some;
            all.is_finite |= others.is_finite;
            all.is_endless |= others.is_endless;
        }
        let UnlistedValues { is_some: is_many, mut is_finite, is_endless } = all;
        texts.sort_unstable();
        texts.dedup();
        is_finite |= is_many && !texts.is_empty();
        Ok(if is_many { Domain::Many { is_finite, is_endless } } else { Domain::Few(texts) })
    }

    fn array_with(
        &mut self,
        draft: &mut Draft,
        shape: &ArrayShape,
        depth: u32,
        end: u32,
        unique: Option<Unique>,
    ) -> Lowered<()> {
        let n_prefix = n_prefix(shape);
        let n_bound = shape.max.unwrap_or(shape.min);
        let is_written = n_bound <= WRITTEN_MAX.max(n_prefix) || !shape.counts.is_empty() || unique.is_some();
        let plan = Plan { shape, n_prefix, is_written, unique };
        let open = draft.state();
        draft.byte(&[0], b'[', open);
        let AfterOpen { before_close, before_first } = self.after_open(draft, open, depth)?;
        if shape.min == 0 && shape.counts.iter().all(|count| count.min == 0) {
            draft.byte(&before_close, b']', end);
        }
        if shape.max == Some(0) {
            return Ok(());
        }
        let mut places = Places::default();
        let none = Progress { position: 0, n_items: 0, counts: shape.counts.iter().map(|_| 0).collect() };
        self.item(draft, &plan, &mut places, &before_first, &none, depth)?;
        while let Some((seen, state)) = places.pending.pop() {
            self.check_written(keyword_of_places(&plan), places.states.len())?;
            let from = self.after_element(draft, state)?;
            if !is_written && seen.position >= n_prefix {
                // After the prefix a counter counts.
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
        if let Some(distinct @ Distinct { exhaustible: Exhaustible::Behind(_), .. }) = plan.distinct() {
            let exhaustible = self.exhaustible_behind(&plan, &places)?;
            draft.elements.iter_mut().for_each(|(_, own)| *own = Distinct { exhaustible, ..distinct });
        }
        Ok(())
    }

    /// Returns how many items an array needs to have so that its values may run out while another item must follow.
    ///
    /// With n items there is a way to the end that takes k more, and each of these has a value left if all variants of items have n + k values or more. A position
    /// of the prefix with only one variant also has a value left if it has more values than there are items before it.
    fn exhaustible_behind(&mut self, plan: &Plan<'_>, places: &Places) -> Lowered<Exhaustible> {
        let is_left = |index| plan.unique.as_ref().is_some_and(|unique| unique.few.is_left(index));
        let is_of_few = |before: &Counts, after: &Counts| {
            (0..before.len()).any(|index| after[index] > before[index] && is_left(index))
        };
        // By variant: how many values it has at least, if it has some.
        let mut measured: HashMap<ConjunctionId, Option<usize>> = HashMap::new();
        let mut n_least: Option<usize> = None;
        let mut all: Vec<_> = places.variants.iter().collect();
        all.sort_unstable_by_key(|&(place, _)| place);
        for ((position, before), variants) in all {
            let is_in_prefix = *position < plan.n_prefix;
            let mut n_values_here: SmallVec<[(bool, usize); 8]> = SmallVec::new();
            for (conjunction, after) in variants.iter() {
                let is_of_few = is_of_few(before, after);
                if is_of_few && !is_in_prefix {
                    continue;
                }
                let n_values = match measured.get(conjunction) {
                    Some(&known) => known,
                    None if measured.len() >= MEASURED_VARIANTS_MAX => return Ok(Exhaustible::Behind(0)),
                    None => {
                        let n_values = self.n_values_at_least(*conjunction)?;
                        measured.insert(*conjunction, n_values);
                        n_values
                    }
                };
                n_values_here.extend(n_values.map(|n_values| (is_of_few, n_values)));
            }
            // All values before may be among those of this position.
            let always_has_one =
                is_in_prefix && matches!(n_values_here[..], [(_, n_values)] if n_values as u64 > *position);
            let counted = n_values_here.iter().filter(|(is_of_few, _)| !is_of_few && !always_has_one);
            n_least = counted.map(|&(_, n_values)| n_values).chain(n_least).min();
        }
        let Some(n_least) = n_least.filter(|&n_least| n_least != usize::MAX) else { return Ok(Exhaustible::Never) };
        // A shortest way leads to a place, or satisfies a condition, with each item, and takes as many as are missing from the least length.
        let n_ways = plan.shape.counts.iter().fold(plan.n_prefix, |sum, count| sum.saturating_add(count.min));
        let n_left = (n_least as u64).saturating_sub(n_ways);
        let n_items = if n_left >= plan.shape.min { n_left } else { 0 };
        Ok(Exhaustible::Behind(u32::try_from(n_items).unwrap_or(u32::MAX)))
    }

    /// Adds the next item, in all variants.
    fn item(
        &mut self,
        draft: &mut Draft,
        plan: &Plan<'_>,
        places: &mut Places,
        from: &From,
        seen: &Progress,
        depth: u32,
    ) -> Lowered<()> {
        let key = (seen.position, seen.counts.clone());
        let variants = match places.variants.get(&key) {
            Some(cached) => Rc::clone(cached),
            None => {
                let variants = self.item_variants(plan, seen.position, &seen.counts)?;
                Rc::clone(places.variants.entry(key).or_insert(variants))
            }
        };
        // Each place after the item has all counts.
        self.budget.spend(variants.len() * (STEPS_PER_PLACE + seen.counts.len() / 8))?;
        for (conjunction, counts) in variants.iter() {
            let conjunction = *conjunction;
            if !self.expander.conjunctions.is_nothing(conjunction) {
                let rule = self.value(conjunction, depth + 1, plan.unique.is_some())?;
                let target = places.after(draft, plan.after_item(seen, counts), plan.distinct());
                from.iter().for_each(|&from| draft.edge(from, Label::Call(rule), target));
            }
        }
        Ok(())
    }

    /// Returns the variants of the item at a position, after some counts.
    fn item_variants(&mut self, plan: &Plan<'_>, position: u64, counts: &Counts) -> Lowered<Variants> {
        let shape = plan.shape;
        let is_at = |from: u64, to: Option<u64>| from <= position && to.is_none_or(|to| position < to);
        let members: Members = shape.rules.at(position).collect();
        let mut variants: Vec<(Members, Counts)> = vec![(members, counts.clone())];
        for (index, count) in shape.counts.iter().enumerate().filter(|(_, count)| is_at(count.from, count.to)) {
            let n_seen = counts[index];
            let mut longer = Vec::with_capacity(2 * variants.len());
            for (members, after) in variants {
                // Without an upper bound it need not be known that an item doesn't count, but where few do.
                if count.max.is_none() && n_seen >= count.min {
                    longer.push((members, after));
                    continue;
                }
                if count.max.is_none_or(|max| n_seen < max) {
                    let mut counted = members.clone();
                    counted.push(count.member);
                    let mut after_counted = after.clone();
                    after_counted[index] = n_seen + 1;
                    if !self.is_nothing(&counted)? {
                        longer.push((counted, after_counted));
                    }
                }
                let mut other = members;
                if count.max.is_some() || plan.n_few(index).is_some() {
                    other.push(count.member.negated());
                }
                longer.push((other, after));
            }
            variants = longer;
            self.budget.spend(variants.len() * (STEPS_PER_PLACE + counts.len() / 8))?;
            let limit = self.limits.schema_variants_max;
            if variants.len() > limit {
                let reason = format!("more than {limit} combinations of conditions count the same items");
                return Err(SchemaError::unsupported("contains", reason).into());
            }
        }
        variants.retain(|(_, after)| plan.can_count_enough(position + 1, after));
        Ok(variants.into_iter().map(|(members, after)| (self.expander.intern(members), after)).collect())
    }

    /// Adds what follows `n_items` items: further items, counted by a counter, and the closing bracket.
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
        let rule = self.value(conjunction, depth + 1, false)?;
        let mut body = self.workspace.draft();
        let next = self.comma(&mut body, &From::from_slice(&[0]), depth)?;
        let item = body.state();
        next.iter().for_each(|&from| body.edge(from, Label::Call(rule), item));
        let done = self.after_element(&mut body, item)?;
        done.iter().for_each(|&done| body.accept(done));
        // The bounds as they are written, so that an error names them.
        for bound in [Some(shape.min), shape.max].into_iter().flatten() {
            self.bound(bound)?;
        }
        let max = max.map(|max| self.bound(max)).transpose()?;
        let counter = Counter::new(self.bound(min)?.max(1), max);
        self.spend(&body)?;
        let rule = self.rule("items", body, Some(counter));
        let after = draft.state();
        from.iter().for_each(|&from| draft.edge(from, Label::Call(rule), after));
        let close = self.before_close(draft, From::from_slice(&[after]), depth)?;
        draft.byte(&close, b']', end);
        Ok(())
    }

    /// Returns the constraint on items after the prefix.
    fn rest(&mut self, plan: &Plan<'_>) -> ConjunctionId {
        let members: Members = plan.shape.rules.at_the_end().collect();
        self.expander.intern(members)
    }

    /// Checks the number of states of a container.
    pub(super) fn check_written(&self, keyword: &'static str, n_written: usize) -> Lowered<()> {
        self.budget.spend(1)?;
        let limit = self.limits.automaton_states_max / 8;
        if n_written > limit {
            let what = if keyword == "properties" { "members" } else { "items" };
            let reason = format!("more than {limit} places of the {what} would have to be told apart");
            return Err(SchemaError::unsupported(keyword, reason).into());
        }
        Ok(())
    }
}
