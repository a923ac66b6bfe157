//! What stands between the tokens of a JSON text.

use super::draft::Draft;
use super::{Lowered, Lowerer};
use crate::json_schema::leaf::LeafKey;
use crate::json_schema::options::WhiteSpace;
use crate::pass::{Label, NetRuleId};
use smallvec::SmallVec;

/// Deepest level that is indented; what lies deeper is written without white space.
pub(super) const INDENT_DEEP_MAX: u32 = 32;

/// States from any of which the text goes on.
pub(super) type From = SmallVec<[u32; 4]>;

/// Where the text goes on behind an opening bracket.
pub(super) struct AfterOpen {
    /// With the closing bracket.
    pub before_close: From,
    /// With the first element.
    pub before_first: From,
}

impl Lowerer<'_> {
    pub(super) fn has_indent(&self) -> bool {
        matches!(self.expander.options.white_space, WhiteSpace::Indent { .. })
    }

    /// Adds what may stand after an opening bracket of a container at `depth`.
    pub(super) fn after_open(&mut self, draft: &mut Draft, from: u32, depth: u32) -> Lowered<AfterOpen> {
        let before_close = self.run(draft, SmallVec::from_slice(&[from]))?;
        // White space that is free is the same, whatever comes behind it.
        let before_first =
            if self.has_indent() { self.line(draft, before_close.clone(), depth + 1)? } else { before_close.clone() };
        Ok(AfterOpen { before_close, before_first })
    }

    /// Adds what may stand before the closing bracket of a container at `depth`, after its last element.
    pub(super) fn before_close(&mut self, draft: &mut Draft, from: From, depth: u32) -> Lowered<From> {
        // White space that is free was taken before.
        if self.has_indent() { self.line(draft, from, depth) } else { Ok(from) }
    }

    /// Adds what may stand after an element or key, before the next token.
    pub(super) fn after_element(&mut self, draft: &mut Draft, from: u32) -> Lowered<From> {
        self.run(draft, SmallVec::from_slice(&[from]))
    }

    /// Adds a comma, and what stands around it, in a container at `depth`.
    pub(super) fn comma(&mut self, draft: &mut Draft, from: &From, depth: u32) -> Lowered<From> {
        let text = match &self.expander.options.white_space {
            WhiteSpace::Separators { item, .. } => item,
            _ => ",",
        };
        let after = draft.texts(from, text.as_bytes());
        self.line(draft, after, depth + 1)
    }

    /// Adds a colon, and what stands around it.
    pub(super) fn colon(&mut self, draft: &mut Draft, from: u32, depth: u32) -> Lowered<From> {
        let from = self.run(draft, SmallVec::from_slice(&[from]))?;
        let text = match &self.expander.options.white_space {
            WhiteSpace::Separators { key, .. } => key,
            WhiteSpace::Indent { .. } if depth < INDENT_DEEP_MAX => ": ",
            _ => ":",
        };
        let after = draft.texts(&from, text.as_bytes());
        self.run(draft, after)
    }

    /// Adds a run of free white space, or none.
    fn run(&mut self, draft: &mut Draft, mut from: From) -> Lowered<From> {
        if let Some(rule) = self.free_white_space()? {
            let after = draft.state();
            from.iter().for_each(|&state| draft.edge(state, Label::Call(rule), after));
            from.push(after);
        }
        Ok(from)
    }

    /// Returns the rule of a run of free white space, if there may be some.
    pub(super) fn free_white_space(&mut self) -> Lowered<Option<NetRuleId>> {
        match self.expander.options.white_space {
            WhiteSpace::Flexible { run_max } if run_max > 0 => self.white_space(run_max).map(Some),
            _ => Ok(None),
        }
    }

    /// Adds the beginning of a line at `depth`, or a run of free white space.
    fn line(&mut self, draft: &mut Draft, from: From, depth: u32) -> Lowered<From> {
        match self.expander.options.white_space {
            WhiteSpace::Flexible { .. } => self.run(draft, from),
            WhiteSpace::Indent { spaces } if depth <= INDENT_DEEP_MAX => {
                let text = format!("\n{}", " ".repeat((spaces * depth) as usize));
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
        let rule = self.leaf("white space", LeafKey::WhiteSpace(run_max), None, |_| {
            let mut draft = Draft::new();
            let mut from = 0;
            for _ in 0..run_max {
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
}
