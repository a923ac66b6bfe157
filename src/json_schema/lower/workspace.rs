//! The workspace of lowering, reused from schema to schema.

use super::draft::Draft;
use super::object::Places;
use super::{DraftRule, trim};

/// Empty drafts and lists for reuse.
#[derive(Default)]
pub(super) struct Workspace {
    drafts: Vec<Draft>,
    rules: Vec<DraftRule>,
    places: Option<Places>,
    pub(super) trim: trim::TrimWorkspace,
}

impl Workspace {
    /// Most drafts for reuse, and most rules.
    const KEPT_MAX: usize = 64;

    /// Returns a draft with a start state only.
    pub(super) fn draft(&mut self) -> Draft {
        match self.drafts.pop() {
            Some(mut draft) => {
                draft.restart();
                draft
            }
            None => Draft::new(),
        }
    }

    /// Returns a draft with an accepting state, which nothing leads to yet.
    pub(super) fn draft_with_end(&mut self) -> (Draft, u32) {
        let mut draft = self.draft();
        let end = draft.state();
        draft.accept(end);
        (draft, end)
    }

    /// Returns the draft of the empty string.
    pub(super) fn draft_of_nothing(&mut self) -> Draft {
        let mut draft = self.draft();
        draft.accept(0);
        draft
    }

    /// Returns an empty list of rules.
    pub(super) fn rules(&mut self) -> Vec<DraftRule> {
        core::mem::take(&mut self.rules)
    }

    /// Returns empty [`Places`] of an object.
    pub(super) fn places(&mut self) -> Places {
        self.places.take().unwrap_or_default()
    }

    /// Takes [`Places`] back for reuse.
    pub(super) fn take_back_places(&mut self, mut places: Places) {
        if places.is_small() {
            places.clear();
            self.places = Some(places);
        }
    }

    /// Takes a list of rules back for reuse.
    pub(super) fn take_back(&mut self, mut rules: Vec<DraftRule>) {
        for DraftRule { draft, .. } in rules.drain(..) {
            if draft.is_small() && self.drafts.len() < Self::KEPT_MAX {
                self.drafts.push(draft);
            }
        }
        if !self.trim.is_small() {
            self.trim = trim::TrimWorkspace::default();
        }
        if rules.capacity() <= Self::KEPT_MAX {
            self.rules = rules;
        }
    }
}
