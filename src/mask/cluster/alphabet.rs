//! The characters that a cluster is looked for with.

use super::place::target;
use crate::automaton::{LocalState, PackedMove, Unit};
use crate::vocab::{Alphabet, NonAscii, ascii_set};
use smallvec::SmallVec;

/// Which states read all letters and digits that some state reads.
pub(super) struct ReadingOn {
    pub words: SmallVec<[u8; 64]>,
    /// The states that were looked at: most bytes lead to a few.
    known: SmallVec<[(LocalState, bool); 8]>,
}

impl ReadingOn {
    pub fn new(words: SmallVec<[u8; 64]>) -> ReadingOn {
        ReadingOn { words, known: SmallVec::new() }
    }

    fn reads_on(&mut self, unit: &Unit, state: LocalState) -> bool {
        if let Some(&(_, reads_on)) = self.known.iter().find(|(known, _)| *known == state) {
            return reads_on;
        }
        let reads_on = self.words.iter().all(|&byte| target(unit, state, byte).is_some());
        self.known.push((state, reads_on));
        reads_on
    }
}

/// Returns the letters and digits that a state reads.
pub(super) fn words_of(unit: &Unit, state: LocalState) -> SmallVec<[u8; 64]> {
    (0..128u8).filter(|byte| byte.is_ascii_alphanumeric() && target(unit, state, *byte).is_some()).collect()
}

/// Returns the characters that lead from a state nowhere, or to states that [read on](ReadingOn), as they do from `model`, whose letters and digits these are.
pub(super) fn alphabet(unit: &Unit, start: LocalState, model: LocalState, reading_on: &mut ReadingOn) -> Alphabet {
    let mut leads_on =
        |state: LocalState, byte: u8| target(unit, state, byte).is_some_and(|to| reading_on.reads_on(unit, to));
    let is_one =
        |byte: &u8| leads_on(model, *byte) && (leads_on(start, *byte) || unit.code(start, *byte) == PackedMove::NONE);
    let ascii = ascii_set(is_one);
    let is_all = (0xC2..=0xF4).all(|byte| target(unit, start, byte).is_some());
    Alphabet { ascii, non_ascii: if is_all { NonAscii::All } else { NonAscii::None } }
}
