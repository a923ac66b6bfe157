//! The memory that schemas are lowered in, one after the other.

use super::draft::Draft;
use super::object::Places;
use super::{DraftRule, trim};

/// Drafts and rules that are done with.
#[derive(Default)]
pub(crate) struct Spare {
    drafts: Vec<Draft>,
    rules: Vec<DraftRule>,
    places: Option<Places>,
    pub(super) trim: trim::Memory,
}

impl Spare {
    /// Most drafts that are kept, and most rules.
    const KEPT_MAX: usize = 64;

    /// Returns a draft of nothing but a start.
    pub(super) fn draft(&mut self) -> Draft {
        match self.drafts.pop() {
            Some(mut draft) => {
                draft.restart();
                draft
            }
            None => Draft::new(),
        }
    }

    /// Returns the draft of the empty string.
    pub(super) fn draft_of_nothing(&mut self) -> Draft {
        let mut draft = self.draft();
        draft.accept(0);
        draft
    }

    /// Returns room for rules.
    pub(super) fn rules(&mut self) -> Vec<DraftRule> {
        core::mem::take(&mut self.rules)
    }

    /// Returns room for the places of an object.
    pub(super) fn places(&mut self) -> Places {
        self.places.take().unwrap_or_default()
    }

    /// Takes the memory of the places of an object.
    pub(super) fn take_back_places(&mut self, mut places: Places) {
        if places.is_small() {
            places.clear();
            self.places = Some(places);
        }
    }

    /// Takes the memory of rules.
    pub(super) fn take_back(&mut self, mut rules: Vec<DraftRule>) {
        for DraftRule { draft, .. } in rules.drain(..) {
            if draft.is_small() && self.drafts.len() < Self::KEPT_MAX {
                self.drafts.push(draft);
            }
        }
        if !self.trim.is_small() {
            self.trim = trim::Memory::default();
        }
        if rules.capacity() <= Self::KEPT_MAX {
            self.rules = rules;
        }
    }
}
