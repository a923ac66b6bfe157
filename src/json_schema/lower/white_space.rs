//! White space and separators between the tokens of a JSON document.
//!
//! Options are untrusted too: `Indent { spaces: 100_000_000 }` would take a line of 3 GB at its deepest level. The length is checked before
//! states are added, and a long run of optional white space takes a counter instead of states.

use super::draft::Draft;
use super::leaf::LeafKey;
use super::{Lowered, Lowerer};
use crate::json_schema::error::{SchemaError, shown};
use crate::machine::Counter;
use crate::pass::{Label, NetRuleId};
use crate::schema_options::WhiteSpace;
use smallvec::SmallVec;

/// Deepest level that is indented; deeper levels have no white space.
pub(super) const INDENT_DEEP_MAX: u32 = 32;

/// Longest run of free white space that has a state for each character.
const RUN_WRITTEN_MAX: u32 = 64;

/// A set of states from which the draft continues.
pub(super) type From = SmallVec<[u32; 4]>;

/// The states after an opening bracket.
pub(super) struct AfterOpen {
    /// Those before the closing bracket.
    pub before_close: From,
    /// Those before the first element.
    pub before_first: From,
}

impl Lowerer<'_> {
    pub(super) fn has_indent(&self) -> bool {
        matches!(self.expander.options.white_space, WhiteSpace::Indent { .. })
    }

    /// Adds the white space after the opening bracket of a container at `depth`.
    pub(super) fn after_open(&mut self, draft: &mut Draft, from: u32, depth: u32) -> Lowered<AfterOpen> {
        let before_close = self.run(draft, SmallVec::from_slice(&[from]))?;
        // Optional white space is the same, whatever follows it.
        let before_first =
            if self.has_indent() { self.line(draft, before_close.clone(), depth + 1)? } else { before_close.clone() };
        Ok(AfterOpen { before_close, before_first })
    }

    /// Adds the white space before the closing bracket of a container at `depth`, after its last element.
    pub(super) fn before_close(&mut self, draft: &mut Draft, from: From, depth: u32) -> Lowered<From> {
        // Optional white space was added after the element.
        if self.has_indent() { self.line(draft, from, depth) } else { Ok(from) }
    }

    /// Adds the white space after an element or key, before the next token.
    pub(super) fn after_element(&mut self, draft: &mut Draft, from: u32) -> Lowered<From> {
        self.run(draft, SmallVec::from_slice(&[from]))
    }

    /// Adds a comma with its white space, in a container at `depth`.
    pub(super) fn comma(&mut self, draft: &mut Draft, from: &From, depth: u32) -> Lowered<From> {
        let text = match &self.expander.options.white_space {
            WhiteSpace::Separators { item, .. } => item,
            _ => ",",
        };
        self.make_room(draft, text.len() as u64)?;
        let after = draft.texts(from, text.as_bytes());
        self.line(draft, after, depth + 1)
    }

    /// Adds a colon with its white space.
    pub(super) fn colon(&mut self, draft: &mut Draft, from: u32, depth: u32) -> Lowered<From> {
        let from = self.run(draft, SmallVec::from_slice(&[from]))?;
        let text = match &self.expander.options.white_space {
            WhiteSpace::Separators { key, .. } => key,
            WhiteSpace::Indent { .. } if depth < INDENT_DEEP_MAX => ": ",
            _ => ":",
        };
        self.make_room(draft, text.len() as u64)?;
        let after = draft.texts(&from, text.as_bytes());
        self.run(draft, after)
    }

    /// Adds a run of optional white space.
    fn run(&mut self, draft: &mut Draft, mut from: From) -> Lowered<From> {
        if let Some(rule) = self.free_white_space()? {
            let after = draft.state();
            from.iter().for_each(|&state| draft.edge(state, Label::Call(rule), after));
            from.push(after);
        }
        Ok(from)
    }

    /// Returns the rule of a run of optional white space, if any is allowed.
    pub(super) fn free_white_space(&mut self) -> Lowered<Option<NetRuleId>> {
        match self.expander.options.white_space {
            WhiteSpace::Flexible { run_max } if run_max > 0 => self.white_space(run_max).map(Some),
            _ => Ok(None),
        }
    }

    /// Adds a line end and the indentation at `depth`, or a run of optional white space.
    fn line(&mut self, draft: &mut Draft, from: From, depth: u32) -> Lowered<From> {
        match self.expander.options.white_space {
            WhiteSpace::Flexible { .. } => self.run(draft, from),
            WhiteSpace::Indent { spaces } if depth <= INDENT_DEEP_MAX => {
                let n_spaces = u64::from(spaces) * u64::from(depth);
                self.make_room(draft, 1 + n_spaces)?;
                let text = format!("\n{}", " ".repeat(n_spaces as usize));
                Ok(draft.texts(&from, text.as_bytes()))
            }
            _ => Ok(from),
        }
    }

    /// Returns the rule of a run of white space.
    fn white_space(&mut self, run_max: u32) -> Lowered<NetRuleId> {
        if let Some(rule) = self.white_space {
            return Ok(rule);
        }
        let limit = self.limits.bound_max();
        if run_max > limit {
            return Err(SchemaError::too_much("repeat_max", run_max as usize, limit as usize).into());
        }
        let (n_written, counter) = match run_max {
            ..=RUN_WRITTEN_MAX => (run_max, None),
            _ => (1, Some(Counter::new(1, Some(run_max)))),
        };
        let rule = self.leaf("white space", LeafKey::WhiteSpace(n_written), counter, |_| {
            let mut draft = Draft::new();
            let mut from = 0;
            for _ in 0..n_written {
                let next = draft.state();
                [b' ', b'\t', b'\n', b'\r'].iter().for_each(|&byte| draft.byte(&[from], byte, next));
                draft.accept(next);
                from = next;
            }
            Ok(Some(draft))
        })?;
        let rule = rule.expect("there is white space");
        self.white_space = Some(rule);
        Ok(rule)
    }

    /// Checks that a draft may have `n_states` more states.
    fn make_room(&self, draft: &Draft, n_states: u64) -> Lowered<()> {
        let limit = self.limits.automaton_states_max;
        let n_all = (self.n_states + draft.n_states()) as u64 + n_states;
        match n_all > limit as u64 {
            true => Err(SchemaError::too_much("automaton_states_max", n_all as usize, limit).into()),
            false => Ok(()),
        }
    }
}

/// Checks that separators are a comma and a colon with white space around them.
pub(super) fn check(white_space: &WhiteSpace) -> Result<(), SchemaError> {
    let WhiteSpace::Separators { item, key } = white_space else { return Ok(()) };
    for (text, mark, place) in [(item, ",", "item"), (key, ":", "key")] {
        if text.trim_matches([' ', '\t', '\n', '\r']) != mark {
            let reason = format!("`{place}` must be `{mark}` with white space around it, not {}", shown(text));
            return Err(SchemaError::option("separators", reason));
        }
    }
    Ok(())
}
