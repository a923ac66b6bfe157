//! Parses: which part of a sentence each rule matched.
//!
//! An ambiguous text has several parses. The one that is returned is found from the left: of the alternatives of a choice the first one that can match the whole part, and in a sequence or repetition
//! each operand in turn takes the most that lets the others match the rest (copies of a repetition that match nothing are left out). A part is never explained by itself: `a ::= a | "x"` is one `a` around `x`.
//!
//! The chart knows which productions are complete where, so that no choice is taken back: an operand takes only what is complete, and from where the others can go on. That others can go on is
//! worked out from the right. Only parts that stand in themselves need more care: among the productions of one part, those that lead to a parse without what is being explained are found by a fixpoint.
//!
//! `&`, `-`, `~`, `lazy` and the like are matched by automata of their own. No rules are found within them.

use super::chart::{Chart, Item, advance};
use super::productions::{Production, ProductionId, Productions};
use crate::grammar::RuleId;
use hashbrown::{HashMap, HashSet};
use std::rc::Rc;

/// What a rule matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleMatch {
    /// The rule.
    pub rule: RuleId,
    /// The number of symbols before it.
    pub start: usize,
    /// The number of symbols up to its end.
    pub end: usize,
}

/// A production that matched the symbols of a range.
type Part = (ProductionId, u32, u32);

/// The parts of one range that are being explained, the innermost first.
type Chain = Option<Rc<Link>>;

struct Link {
    production: ProductionId,
    around: Chain,
}

impl Chart {
    /// Returns what the rules matched, outer ones before those within them, from the left to the right; nothing if the text so far is no sentence, or if finding out takes more than `work_max` steps, of some
    /// nanoseconds each. Of several parses it is the leftmost one: of alternatives the first that can match, and of each operand the longest match that lets the rest match.
    pub fn parse(&self, work_max: u64) -> Option<Vec<RuleMatch>> {
        if !self.is_accepting() {
            return None;
        }
        let mut parser = Parser { chart: self, complete: HashMap::new(), work_left: work_max };
        for end in 0..=self.len() as u32 {
            for &item in self.items_of(end as usize) {
                if self.is_complete(item) {
                    parser.complete.entry((item.production, item.origin)).or_default().push(end);
                }
            }
        }
        for ends in parser.complete.values_mut() {
            // A repetition is complete with several numbers of copies.
            ends.dedup();
        }
        let mut found = Vec::new();
        let mut pending: Vec<(Part, Chain)> = vec![((Productions::ROOT, 0, self.len() as u32), None)];
        while let Some(((production, start, end), around)) = pending.pop() {
            parser.spend(1)?;
            if let Production::Rule(rule, _) = parser.get(production) {
                found.push(RuleMatch { rule: *rule, start: start as usize, end: end as usize });
            }
            let chain = Some(Rc::new(Link { production, around }));
            let parts = parser.operands((production, start, end), &chain)?;
            for part in parts.into_iter().rev() {
                let is_same_range = (part.1, part.2) == (start, end);
                pending.push((part, if is_same_range { chain.clone() } else { None }));
            }
        }
        Some(found)
    }
}

struct Parser<'c> {
    chart: &'c Chart,
    /// By production and where it begins: where it ends, in ascending order.
    complete: HashMap<(ProductionId, u32), Vec<u32>>,
    work_left: u64,
}

impl<'c> Parser<'c> {
    fn get(&self, production: ProductionId) -> &'c Production {
        self.chart.productions.get(production)
    }

    fn spend(&mut self, n_steps: usize) -> Option<()> {
        self.work_left = self.work_left.checked_sub(n_steps as u64)?;
        Some(())
    }

    fn ends(&self, production: ProductionId, start: u32) -> &[u32] {
        self.complete.get(&(production, start)).map_or(&[], |ends| ends)
    }

    /// Returns the parts of the operands of a part, in order.
    fn operands(&mut self, part: Part, chain: &Chain) -> Option<Vec<Part>> {
        let (production, start, end) = part;
        let operands = match self.get(production) {
            Production::Rule(_, body) => return Some(vec![(*body, start, end)]),
            Production::Choice(_) => self.chart.productions.alternatives(production),
            Production::Sequence(operands) => operands,
            Production::Repeat { body, .. } => core::slice::from_ref(body),
            _ => return Some(Vec::new()),
        };
        // Whether an operand may match the whole part: not by what is being explained.
        let grounded = self.grounded(part, operands, chain)?;
        let may_be_whole = |operand: ProductionId| grounded.as_ref().is_none_or(|grounded| grounded.contains(&operand));
        match self.get(production) {
            Production::Choice(_) => {
                self.spend(operands.len())?;
                let mut whole =
                    operands.iter().filter(|&&operand| self.ends(operand, start).binary_search(&end).is_ok());
                let first = whole.find(|&&operand| may_be_whole(operand)).expect("an alternative is complete");
                Some(vec![(*first, start, end)])
            }
            Production::Sequence(_) => self.sequence(part, operands, may_be_whole),
            _ => self.copies(part, may_be_whole),
        }
    }

    fn sequence(
        &mut self,
        (_, start, end): Part,
        operands: &[ProductionId],
        may_be_whole: impl Fn(ProductionId) -> bool,
    ) -> Option<Vec<Part>> {
        // By operand: the places from the start on at which it may begin, from the left; then those from which it and all behind it lead to the end.
        let mut starts: Vec<Vec<u32>> = vec![vec![start]];
        let is_allowed = |operand, from, to| (from, to) != (start, end) || may_be_whole(operand);
        for &operand in operands {
            let mut next: Vec<u32> = Vec::new();
            for &from in starts.last().expect("there is a first one") {
                self.spend(1 + self.ends(operand, from).len())?;
                let ends = self.ends(operand, from).iter().copied().filter(|&to| to <= end);
                next.extend(ends.filter(|&to| is_allowed(operand, from, to)));
            }
            next.sort_unstable();
            next.dedup();
            starts.push(next);
        }
        let mut live: HashSet<u32> = HashSet::from([end]);
        for (index, &operand) in operands.iter().enumerate().rev() {
            let mut before = HashSet::new();
            let mut kept = Vec::new();
            for &from in &starts[index] {
                self.spend(1 + self.ends(operand, from).len())?;
                let mut ends = self.ends(operand, from).iter();
                if ends.any(|to| live.contains(to) && is_allowed(operand, from, *to)) {
                    before.insert(from);
                    kept.push(from);
                }
            }
            starts[index + 1].retain(|place| live.contains(place));
            starts[index] = kept;
            live = before;
        }
        let mut at = start;
        let mut parts = Vec::with_capacity(operands.len());
        for (index, &operand) in operands.iter().enumerate() {
            let leads_on = |to: &&u32| starts[index + 1].binary_search(to).is_ok() && is_allowed(operand, at, **to);
            let to = *self.ends(operand, at).iter().rev().find(leads_on).expect("the sequence is complete");
            parts.push((operand, at, to));
            at = to;
        }
        Some(parts)
    }

    fn copies(&mut self, part: Part, may_be_whole: impl Fn(ProductionId) -> bool) -> Option<Vec<Part>> {
        let (production, start, end) = part;
        let Production::Repeat { body, min, max } = *self.get(production) else {
            unreachable!("only copies are parts")
        };
        let is_allowed = |from, to| (from, to) != (start, end) || may_be_whole(body);
        // The items behind some copies, from which more lead to the end. How many there were matters up to a bound.
        let productions = &self.chart.productions;
        let after = |item: Item| advance(productions, item, false);
        let is_waiting = |item: Item| max.is_none_or(|max| item.state < max);
        let first = Item { production, state: 0, origin: start };
        let mut order: Vec<(u32, Item)> = vec![(start, first)];
        let mut reached: HashSet<(u32, u32)> = HashSet::from([(start, 0)]);
        let mut steps: Vec<Vec<u32>> = Vec::new();
        let mut next = 0;
        while let Some(&(from, item)) = order.get(next) {
            next += 1;
            let ends: Vec<u32> = match is_waiting(item) {
                true => {
                    let ends = self.ends(body, from).iter().copied().filter(|&to| from < to && to <= end);
                    ends.filter(|&to| is_allowed(from, to)).collect()
                }
                false => Vec::new(),
            };
            self.spend(2 + ends.len())?;
            for &to in &ends {
                let item = after(item).expect("copies that are not empty advance");
                if reached.insert((to, item.state)) {
                    order.push((to, item));
                }
            }
            steps.push(ends);
        }
        let mut live: HashSet<(u32, u32)> = HashSet::new();
        let mut by_place: Vec<usize> = (0..order.len()).collect();
        by_place.sort_by_key(|&index| core::cmp::Reverse(order[index].0));
        for index in by_place {
            let (from, item) = order[index];
            let is_end = from == end && item.state >= min;
            let leads_on =
                || after(item).is_some_and(|after| steps[index].iter().any(|&to| live.contains(&(to, after.state))));
            if is_end || leads_on() {
                live.insert((from, item.state));
            }
        }
        let mut parts = Vec::new();
        let (mut at, mut item) = (start, first);
        while at < end {
            let next = after(item).expect("copies that are not empty advance");
            let ends = self.ends(body, at).iter().rev();
            let mut ends = ends.filter(|&&to| at < to && to <= end && is_allowed(at, to));
            let to = *ends.find(|&&to| live.contains(&(to, next.state))).expect("the repetition is complete");
            parts.push((body, at, to));
            (at, item) = (to, next);
        }
        Some(parts)
    }

    /// Returns the operands that can match a whole part without the parts of the same range that are being explained; nothing if all of them that are complete can.
    fn grounded(
        &mut self,
        (_, start, end): Part,
        operands: &[ProductionId],
        chain: &Chain,
    ) -> Option<Option<HashSet<ProductionId>>> {
        let is_whole = |parser: &Self, operand: ProductionId| parser.ends(operand, start).binary_search(&end).is_ok();
        self.spend(operands.len())?;
        let whole: Vec<ProductionId> = operands.iter().copied().filter(|&operand| is_whole(self, operand)).collect();
        if whole.is_empty() {
            return Some(None);
        }
        let mut explained = HashSet::new();
        let mut link = chain;
        while let Some(one) = link {
            explained.insert(one.production);
            link = &one.around;
        }
        // All productions of the same range that those operands can lead to.
        let mut reached: Vec<ProductionId> = Vec::new();
        let mut seen: HashSet<ProductionId> = HashSet::new();
        let mut has_circle = false;
        let mut pending = whole;
        while let Some(production) = pending.pop() {
            if explained.contains(&production) {
                has_circle = true;
                continue;
            }
            if !seen.insert(production) {
                continue;
            }
            reached.push(production);
            let operands: &[ProductionId] = match self.get(production) {
                Production::Rule(_, body) | Production::Repeat { body, .. } => core::slice::from_ref(body),
                Production::Choice(operands) | Production::Sequence(operands) => operands,
                _ => &[],
            };
            self.spend(1 + operands.len())?;
            pending.extend(operands.iter().copied().filter(|&operand| is_whole(self, operand)));
        }
        if !has_circle {
            return Some(None);
        }
        let mut grounded: HashSet<ProductionId> = HashSet::new();
        loop {
            let before = grounded.len();
            for &production in &reached {
                if !grounded.contains(&production) && self.stands(production, (start, end), &grounded)? {
                    grounded.insert(production);
                }
            }
            if grounded.len() == before {
                return Some(Some(grounded));
            }
        }
    }

    /// Tells whether a production matches a range by operands that are smaller, or among some that do.
    fn stands(
        &mut self,
        production: ProductionId,
        (start, end): (u32, u32),
        grounded: &HashSet<ProductionId>,
    ) -> Option<bool> {
        let is_allowed =
            |operand: ProductionId, from: u32, to: u32| (from, to) != (start, end) || grounded.contains(&operand);
        Some(match self.get(production) {
            Production::Rule(_, body) => grounded.contains(body),
            Production::Choice(operands) => {
                self.spend(operands.len())?;
                operands
                    .iter()
                    .any(|operand| self.ends(*operand, start).binary_search(&end).is_ok() && grounded.contains(operand))
            }
            Production::Sequence(operands) => {
                let mut places: HashSet<u32> = HashSet::from([start]);
                for &operand in operands {
                    let mut next = HashSet::new();
                    for &from in &places {
                        self.spend(1 + self.ends(operand, from).len())?;
                        let ends = self.ends(operand, from).iter().copied().filter(|&to| to <= end);
                        next.extend(ends.filter(|&to| is_allowed(operand, from, to)));
                    }
                    places = next;
                }
                places.contains(&end)
            }
            // No copies match nothing, and a copy of the whole has to stand itself; several are smaller.
            Production::Repeat { body, min, .. } => {
                let (body, min) = (*body, *min);
                start == end && min == 0
                    || grounded.contains(&body) && min <= 1
                    || self.has_several(production, (start, end), &is_allowed)?
            }
            _ => true,
        })
    }

    /// Tells whether a repetition matches a range by copies that are smaller than it.
    fn has_several(
        &mut self,
        production: ProductionId,
        (start, end): (u32, u32),
        is_allowed: &impl Fn(ProductionId, u32, u32) -> bool,
    ) -> Option<bool> {
        let Production::Repeat { body, min, max } = *self.get(production) else { return Some(false) };
        let mut pending = vec![(start, 0_u32)];
        let mut reached: HashSet<(u32, u32)> = HashSet::from([(start, 0)]);
        while let Some((from, n_copies)) = pending.pop() {
            if from == end && n_copies >= min {
                return Some(true);
            }
            self.spend(1 + self.ends(body, from).len())?;
            if max.is_some_and(|max| n_copies >= max) {
                continue;
            }
            let n_copies = if max.is_none() { (n_copies + 1).min(min) } else { n_copies + 1 };
            let ends: Vec<u32> = self.ends(body, from).iter().copied().filter(|&to| from < to && to <= end).collect();
            for to in ends.into_iter().filter(|&to| is_allowed(body, from, to)) {
                if reached.insert((to, n_copies)) {
                    pending.push((to, n_copies));
                }
            }
        }
        Some(false)
    }
}
