//! The first moves of child units, as a unit that calls them takes them over.

use super::super::moves::{Move, PackedMove, Pushes, StateRef, Step};
use super::super::table::{Piece, Target};
use super::super::unit::Unit;
use super::builder::Builder;
use super::workspace::{Chain, ChildRow, ControlPieces, MoveList, SHORT_ROW};
use crate::pass::{BuildError, Label};
use crate::util::Threshold;
use smallvec::SmallVec;
use std::sync::Arc;

/// Fewest ranges of a child's row that are worth keeping as they look from the unit.
const KEPT_RUNS_MIN: Threshold = Threshold::new(8);

impl Builder<'_> {
    /// Adds the moves of a child's state, over a chain, to those that were found before.
    pub fn join_child(
        &mut self,
        chain: &Chain,
        place: StateRef,
        pieces: &mut Vec<Piece>,
        controls: &mut ControlPieces,
    ) -> Result<(), BuildError> {
        let mut theirs = core::mem::take(&mut self.workspace.row_scratch.theirs);
        let n_translated = self.child_row(chain, place, &mut theirs);
        self.bounds.compile_budget.spend(theirs.bytes.len() + chain.len() + n_translated)?;
        self.bounds.check_moves(self.n_listed)?;
        // White space lies below all else that stands between values.
        let is_below = |low: &[Piece], high: &[Piece]| match (low.last(), high.first()) {
            (Some((_, end, _)), Some((first, _, _))) => end < first,
            _ => true,
        };
        if is_below(pieces, &theirs.bytes) {
            pieces.extend_from_slice(&theirs.bytes);
        } else if is_below(&theirs.bytes, pieces) {
            pieces.extend_from_slice(&theirs.bytes);
            pieces.rotate_right(theirs.bytes.len());
        } else {
            let mut merged = core::mem::take(&mut self.workspace.row_scratch.merged);
            self.merge(pieces, &theirs.bytes, &mut merged);
            core::mem::swap(pieces, &mut merged);
            self.workspace.row_scratch.merged = merged;
        }
        for &(letter, target) in &theirs.controls {
            match controls.iter_mut().find(|(known, _)| *known == letter) {
                Some((_, known)) => *known = self.joined(*known, target),
                None => controls.push((letter, target)),
            }
        }
        self.workspace.row_scratch.theirs = theirs;
        Ok(())
    }

    /// Passes the moves of a child's state to `found`, as seen from this unit.
    pub fn child_moves(
        &mut self,
        chain: &Chain,
        StateRef { slot, state }: StateRef,
        mut found: impl FnMut(Label, Move),
    ) {
        let child = Arc::clone(&self.workspace.children[slot as usize - 1]);
        for &(low, high, code) in child.runs(state).iter() {
            self.translate(chain, &child, slot, code, |one| found(Label::Bytes(low, high), one));
        }
        for &(letter, list) in child.controls(state) {
            self.translate(chain, &child, slot, PackedMove::list(list), |one| found(Label::Control(letter), one));
        }
    }

    /// Puts two lists of disjoint ranges, ascending, together.
    fn merge(&mut self, ours: &[Piece], theirs: &[Piece], merged: &mut Vec<Piece>) {
        merged.clear();
        let (mut ours, mut theirs) = (ours.iter().copied().peekable(), theirs.iter().copied().peekable());
        while let (Some(&(low, high, target)), Some(&(other_low, other_high, other))) = (ours.peek(), theirs.peek()) {
            let advance = |pieces: &mut core::iter::Peekable<_>, (_, high, target): Piece, last: u8| {
                if last == high {
                    pieces.next();
                } else {
                    *pieces.peek_mut().expect("just seen") = (last + 1, high, target);
                }
            };
            if low < other_low {
                let last = high.min(other_low - 1);
                merged.push((low, last, target));
                advance(&mut ours, (low, high, target), last);
            } else if other_low < low {
                let last = other_high.min(low - 1);
                merged.push((other_low, last, other));
                advance(&mut theirs, (other_low, other_high, other), last);
            } else {
                let last = high.min(other_high);
                merged.push((low, last, self.joined(target, other)));
                advance(&mut ours, (low, high, target), last);
                advance(&mut theirs, (other_low, other_high, other), last);
            }
        }
        merged.extend(ours);
        merged.extend(theirs);
    }

    /// Returns where a letter leads that leads to both.
    fn joined(&mut self, a: Target, b: Target) -> Target {
        if a == b {
            return a;
        }
        if let Some(&known) = self.workspace.joined.get(&(a, b)) {
            return known;
        }
        let mut moves = MoveList::new();
        for target in [a, b] {
            match target {
                Target::State(state) => moves.push(Move { pushes: Pushes::new(), target: StateRef::own(state) }),
                Target::List(list) => {
                    let first = if list.0 == 0 { 0 } else { self.workspace.list_ends[list.index() - 1] };
                    moves.extend(
                        self.workspace.listed[first as usize..self.workspace.list_ends[list.index()] as usize]
                            .iter()
                            .cloned(),
                    );
                }
            }
        }
        let joined = Target::List(self.list(&mut moves));
        self.workspace.joined.insert((a, b), joined);
        joined
    }

    /// Finds the moves of a child's state, as seen from this unit, over a chain; returns how many were translated.
    fn child_row(&mut self, chain: &Chain, place: StateRef, found: &mut ChildRow) -> usize {
        let StateRef { slot, state } = place;
        found.bytes.clear();
        found.controls.clear();
        let child = Arc::clone(&self.workspace.children[slot as usize - 1]);
        let runs = child.runs(state);
        // The keys that nobody names are called from every place between two members, over the same chain.
        let key = (runs.len() >= KEPT_RUNS_MIN.get()).then(|| (chain.clone(), place));
        if let Some(row) = key.as_ref().and_then(|key| self.workspace.child_rows.get(key)) {
            found.bytes.extend_from_slice(&row.bytes);
            found.controls.extend_from_slice(&row.controls);
            return 0;
        }
        let short_key = match chain[..] {
            [only] if runs.len() <= SHORT_ROW && child.controls(state).is_empty() => Some((only, place)),
            _ => None,
        };
        if let Some(row) = short_key.as_ref().and_then(|key| self.workspace.short_rows.get(key)) {
            found.bytes.extend_from_slice(row);
            return 0;
        }
        let mut n_translated = 0;
        let mut known: SmallVec<[(PackedMove, Target); 8]> = SmallVec::new();
        let mut target_of = |builder: &mut Self, code: PackedMove| {
            if let Some(&(_, target)) = known.iter().find(|(known, _)| *known == code) {
                return target;
            }
            let mut moves = MoveList::new();
            builder.translate(chain, &child, slot, code, |one| moves.push(one));
            n_translated += moves.len();
            // Never a state of this unit.
            let target = Target::List(builder.list(&mut moves));
            known.push((code, target));
            target
        };
        for &(low, high, code) in runs.iter() {
            found.bytes.push((low, high, target_of(self, code)));
        }
        for &(letter, list) in child.controls(state) {
            found.controls.push((letter, target_of(self, PackedMove::list(list))));
        }
        if let Some(key) = key {
            self.workspace.child_rows.insert(key, found.clone());
        }
        if let Some(key) = short_key {
            self.workspace.short_rows.insert(key, SmallVec::from_slice(&found.bytes));
        }
        n_translated
    }

    /// Passes the moves of an entry of a child's table to `found`, as seen from this unit, over a chain.
    fn translate(&mut self, chain: &Chain, child: &Unit, slot: u32, code: PackedMove, mut found: impl FnMut(Move)) {
        match code.step() {
            Step::None => {}
            Step::Plain(target) | Step::Local(target) => {
                found(Move { pushes: Pushes::from_slice(chain), target: StateRef { slot, state: target } });
            }
            Step::List(list) => {
                for one in child.list(list) {
                    // Only grandchildren that first moves lead to become children: a long chain of units would have all that follow.
                    let mut translate = |place: StateRef| match place.slot {
                        0 => StateRef { slot, state: place.state },
                        theirs => StateRef {
                            slot: self.slot(&child.content.children[theirs as usize - 1]),
                            state: place.state,
                        },
                    };
                    let mut pushes = Pushes::from_slice(chain);
                    one.pushes.iter().for_each(|&place| pushes.push(translate(place)));
                    found(Move { pushes, target: translate(one.target) });
                }
            }
        }
    }
}
