//! Strings of a language with bounds on their length, by a register that counts characters.
//!
//! An email address of at most 255 characters, fifty words of at most 500: the product of such an automaton with the lengths has up to
//! millions of states. Instead the automaton of the language is kept, and a register counts characters beside it ([`Length`]). Each state has
//! the least number of characters that it takes from there to the end, and is not entered with a count from which the bound can't be kept.
//!
//! The least number decides if only one of the bounds matters, or if every greater number of characters leads to the end as well.
//! Otherwise the lower bound becomes states of the automaton (`^(ab)*$` with 10 to 1001 characters), so that only the upper one is
//! left to the register; with a lower one that is near the upper one (exactly 1001 characters) the whole product is built.

use super::draft::Draft;
use super::text::spell;
use super::{LowerError, Lowered, Lowerer};
use crate::json_schema::shape::StringShape;
use crate::machine::{Length, RegisterRule};
use crate::pass::Label;
use crate::regular::Dfa;
use crate::schema_options::Spelling;
use crate::util::distances_to_end;

/// Most states of a product with lengths that is preferred to a register.
const WRITTEN_MAX: u64 = 1 << 12;
/// The same for strings without quotes, of which a grammar has many: parameters of tools, each with bounds of its own.
const WRITTEN_PLAIN_MAX: u64 = 1 << 8;

/// Where characters are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// In a register, and the strings are drafted.
    Beside,
    /// In the states of the automaton, which stays small.
    Within,
    /// In the states of the automaton, which becomes large.
    WithinLarge,
}

/// How strings are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// With escapes, and a closing quote.
    Quoted,
    /// As their characters, and nothing behind. The empty string is left out.
    Plain,
}

impl Lowerer<'_> {
    /// Adds the strings of an automaton with the lengths of a shape, from behind the opening quote on, if a register can count them.
    pub(super) fn with_length_register(
        &mut self,
        draft: &mut Draft,
        (open, end): (u32, u32),
        shape: &StringShape,
        all: &Dfa,
        written: Written,
    ) -> Lowered<Counted> {
        let Some((shortest, longest)) = all.byte_lengths() else { return Ok(Counted::Beside) };
        let bound = |n: u64| u32::try_from(n).unwrap_or(u32::MAX - 1);
        let max = shape.max.filter(|&max| longest.is_none_or(|longest| longest as u64 > max)).map(bound);
        // A character has one to four bytes.
        let min = if shortest as u64 / 4 >= shape.min { 0 } else { bound(shape.min) };
        let n_written = u64::from(max.unwrap_or(min)).saturating_mul(all.n_states() as u64);
        if n_written <= if written == Written::Plain { WRITTEN_PLAIN_MAX } else { WRITTEN_MAX } {
            return Ok(Counted::Within);
        }
        let spelled = Spelled::new(all, (written == Written::Quoted).then(|| self.spelling()));
        self.budget.spend(2 * spelled.draft.n_edges())?;
        let lengths = Lengths::of(&spelled);
        // A lower bound that every string satisfies is none.
        let min = if min <= lengths.to_end[0] { 0 } else { min };
        let is_exact = match (min, max) {
            (0, _) => true,
            (_, None) => spelled.are_unbounded(),
            (_, Some(_)) => lengths.are_gapless(&spelled),
        };
        if !is_exact {
            // Strings with fewer characters go through few of the states, but if the bounds are near each other nothing is gained.
            let is_near =
                |max: u32| min > max / 2 && u64::from(min).saturating_mul(all.n_states() as u64) > WRITTEN_MAX;
            if max.is_none_or(is_near) {
                return Ok(Counted::WithinLarge);
            }
            let long = match self.expander.languages.with_lengths(all, u64::from(min), None, self.limits) {
                Err(LowerError::Schema(_)) => return Ok(Counted::WithinLarge),
                long => long?,
            };
            let unbounded = StringShape { min: 0, ..shape.clone() };
            return self.with_length_register(draft, (open, end), &unbounded, &long, written);
        }
        if written == Written::Quoted && spelled.is_empty_text && shape.min == 0 {
            draft.byte(&[open], b'"', end);
        }
        if max.is_some_and(|max| lengths.to_end_after_one[0] > max) {
            return Ok(Counted::Beside);
        }
        let Spelled { draft: mut body, is_boundary, .. } = spelled;
        let length = Length { counts_char: false, is_accepting: false, min, arrival_max: None };
        for state in 1..body.n_states() as u32 {
            let at = state as usize;
            if is_boundary[at] || (max.is_some() && lengths.needs_check[at]) {
                let arrival_max = max.map(|max| max.saturating_sub(lengths.to_end[at]));
                // A string ends between two characters.
                let is_accepting = written == Written::Plain && body.accepting[at];
                body.register_rules.push((
                    state,
                    RegisterRule::Length(Length { counts_char: is_boundary[at], is_accepting, arrival_max, ..length }),
                ));
            }
        }
        // Edges to states from which the end is too far are removed.
        if let Some(max) = max {
            let least = |target: usize| lengths.to_end[target] + u32::from(is_boundary[target]);
            body.retain(|edge| least(edge.target as usize) <= max);
        }
        if written == Written::Quoted {
            // The closing quote belongs to the rule, so that its other states are certainly within a string.
            let closed = body.state();
            let ends: Vec<u32> = (0..closed).filter(|&state| body.accepting[state as usize]).collect();
            body.byte(&ends, b'"', closed);
            body.accepting.fill(false);
            body.accept(closed);
            body.register_rules
                .push((closed, RegisterRule::Length(Length { is_accepting: true, arrival_max: max, ..length })));
        }
        self.spend(&body)?;
        let rule = self.rule("characters", body, None);
        draft.edge(open, Label::Call(rule), end);
        Ok(Counted::Beside)
    }
}

/// The automaton of spelled strings. No edge leads to its first state.
struct Spelled {
    draft: Draft,
    /// By state: whether it is between characters, not within one.
    is_boundary: Vec<bool>,
    /// Whether the empty string is accepted; the first state does not show it.
    is_empty_text: bool,
}

impl Spelled {
    /// Returns the automaton of strings in a spelling, or as their characters.
    fn new(all: &Dfa, spelling: Option<Spelling>) -> Self {
        let mut draft = Draft::new();
        let n_states = all.n_states() as u32;
        (0..n_states).for_each(|_| _ = draft.state());
        match spelling {
            Some(spelling) => spell(&mut draft, all, |state| state + 1, spelling),
            None => {
                for state in 0..n_states {
                    for (low, high, target) in all.edges(state) {
                        draft.edge(state + 1, Label::Bytes(low, high), target + 1);
                    }
                }
            }
        }
        draft.copy_edges(1, 0);
        // Within a character only continuation bytes follow.
        let is_inside =
            |state: u32| !all.is_accepting(state) && all.edges(state).all(|(low, high, _)| low >= 0x80 && high <= 0xBF);
        let mut is_boundary = vec![false; draft.n_states()];
        is_boundary[0] = true;
        for state in 0..n_states {
            is_boundary[state as usize + 1] = !is_inside(state);
            if all.is_accepting(state) {
                draft.accept(state + 1);
            }
        }
        Spelled { draft, is_boundary, is_empty_text: all.is_accepting(0) }
    }

    /// Returns whether arbitrarily long strings continue from every state. All states lead to the end, so it is enough that each has an edge.
    fn are_unbounded(&self) -> bool {
        (0..self.draft.n_states() as u32).all(|state| self.draft.row(state).next().is_some())
    }

    fn sources(&self) -> Vec<Vec<u32>> {
        let mut sources: Vec<Vec<u32>> = vec![Vec::new(); self.draft.n_states()];
        for state in 0..self.draft.n_states() as u32 {
            self.draft.row(state).for_each(|edge| sources[edge.target as usize].push(state));
        }
        sources
    }
}

/// The least numbers of characters from each state to the end, a partly read one included.
struct Lengths {
    to_end: Vec<u32>,
    /// The same for strings that do not end in this state.
    to_end_after_one: Vec<u32>,
    /// By state: whether an edge to it may exceed the upper bound although its source did not.
    needs_check: Vec<bool>,
}

impl Lengths {
    fn of(spelled: &Spelled) -> Self {
        let draft = &spelled.draft;
        let n_states = draft.n_states();
        let cost = |target: u32| u32::from(spelled.is_boundary[target as usize]);
        let ends = (0..n_states as u32).filter(|&state| draft.accepting[state as usize]);
        let to_end = distances_to_end(&spelled.sources(), ends, cost);
        let after_one = |state: usize| {
            let lengths = draft.row(state as u32).map(|edge| to_end[edge.target as usize] + cost(edge.target));
            lengths.min().unwrap_or(u32::MAX)
        };
        let to_end_after_one: Vec<u32> = (0..n_states).map(after_one).collect();
        let mut needs_check = vec![false; n_states];
        for (state, &least) in to_end.iter().enumerate() {
            for target in draft.row(state as u32).map(|edge| edge.target as usize) {
                needs_check[target] |= to_end[target] > least;
            }
        }
        Lengths { to_end, to_end_after_one, needs_check }
    }

    /// Returns whether every state can reach the end by every number of characters from the least on: after each accepted string one more
    /// character can follow and end it again.
    fn are_gapless(&self, spelled: &Spelled) -> bool {
        let ends = (0..spelled.draft.n_states()).filter(|&state| spelled.draft.accepting[state]);
        ends.into_iter().all(|state| self.to_end_after_one[state] == 1)
    }
}
