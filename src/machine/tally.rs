//! What the states of an automaton ask of a register beside it.
//!
//! A counter, in [`Counter`](super::Counter), looks on from outside while copies of a body are read. Here the register goes along within
//! one automaton: arriving at a state changes it, and the state says whether the text may end or go on with what it has become. Which of
//! the two kinds of registers it is, all states of a rule agree on.

use super::{Length, Register, Residue};
use std::sync::Arc;

/// What a state asks of the register, and what arriving there makes of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Tally {
    /// The register counts characters.
    Length(Length),
    /// The register is the rest of a number modulo another.
    Residue(Arc<Residue>),
}

impl Tally {
    /// Returns the register on arrival, or `None` when nothing that follows could make it right.
    #[inline]
    pub fn arrive(&self, register: Register) -> Option<Register> {
        match self {
            Tally::Length(length) => length.arrive(register),
            Tally::Residue(residue) => residue.arrive(register),
        }
    }

    /// Tells whether the text may end here.
    #[inline]
    pub fn may_end(&self, register: Register) -> bool {
        match self {
            Tally::Length(length) => length.may_end(register),
            Tally::Residue(residue) => residue.may_end(register),
        }
    }

    /// Tells whether more may follow here.
    #[inline]
    pub fn may_go_on(&self, register: Register) -> bool {
        match self {
            // What can't come out right is refused on arrival.
            Tally::Length(_) => true,
            Tally::Residue(residue) => residue.may_go_on(register),
        }
    }

    /// Tells whether there are registers with which the text may end here.
    pub fn is_end(&self) -> bool {
        match self {
            Tally::Length(length) => length.may_end,
            Tally::Residue(residue) => residue.is_end(),
        }
    }

    /// Tells whether arriving counts one more character.
    pub fn counts(&self) -> bool {
        matches!(self, Tally::Length(length) if length.counts)
    }

    /// Returns the least number of pieces that must still be counted.
    pub fn n_missing(&self, register: Register) -> u64 {
        match self {
            Tally::Length(length) => u64::from(length.min).saturating_sub(register),
            Tally::Residue(residue) => residue.n_missing(register),
        }
    }

    /// Returns about how much memory the tally takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Tally::Length(_) => 0,
                Tally::Residue(residue) => residue.memory_bytes(),
            }
    }

    /// Returns the tally that stands for several of one automaton when it is asked for signatures.
    pub fn strictest(self, other: Tally) -> Tally {
        match (self, other) {
            (Tally::Length(a), Tally::Length(b)) => Tally::Length(a.strictest(b)),
            // Signatures of residues are the residues, whatever the state.
            (residue @ Tally::Residue(_), _) | (_, residue) => residue,
        }
    }

    /// Tells whether `horizon` further pieces reach no bound, if this is the strictest of the automaton's tallies.
    pub fn is_far(&self, register: Register, horizon: u32) -> bool {
        match self {
            Tally::Length(length) => length.is_far(register, horizon),
            Tally::Residue(_) => false,
        }
    }

    /// Tells whether `horizon` further pieces change nothing about what may follow or end, if this is the strictest of the automaton's tallies.
    pub fn is_level(&self, register: Register, horizon: u32) -> bool {
        match self {
            Tally::Length(length) => length.is_level(register, horizon),
            Tally::Residue(_) => false,
        }
    }

    /// Returns a register that no `horizon` further pieces can tell from this one, if this is the strictest of the automaton's tallies.
    pub fn signature(&self, register: Register, horizon: u32) -> Register {
        match self {
            Tally::Length(length) => length.signature(register, horizon),
            Tally::Residue(_) => register,
        }
    }
}
