//! A text and the names that it defines: the whole source, or a `%lark` block in it.

use super::items::{self, Items};
use crate::frontend::check::shorten;
use crate::frontend::{ReadError, Spend, SyntaxError};
use crate::grammar::RuleId;
use crate::limits::Limits;
use crate::util::{Span, closest_name};
use core::ops::Range;
use hashbrown::HashMap;

pub(super) struct Scope {
    /// What precedes the names of its rules in the grammar.
    pub prefix: String,
    pub items: Items,
    by_name: HashMap<Box<str>, usize>,
    /// The rule of what may stand between lexemes, if one is used.
    pub ignored: Option<RuleId>,
    /// How many blocks are around.
    pub depth: usize,
}

impl Scope {
    /// Reads the items of a part of the source.
    pub(super) fn read(
        source: &str,
        range: Range<usize>,
        (prefix, depth): (String, usize),
        limits: &Limits,
        spend: Spend<'_>,
    ) -> Result<Self, ReadError> {
        let items = items::read(source, range.clone(), limits, spend)?;
        let mut by_name: HashMap<Box<str>, usize> = HashMap::new();
        for (index, definition) in items.definitions.iter().enumerate() {
            if let Some(first) = by_name.insert(definition.text.clone(), index) {
                let (line, column) = Span::from(items.definitions[first].name.clone()).line_column(source);
                let message = format!("`{}` is defined twice", shorten(&definition.text));
                return Err(SyntaxError::new(source, definition.name.clone().into(), message)
                    .with_hint(format!("first defined at line {line}, column {column}; alternatives are joined by `|`"))
                    .into());
            }
        }
        let scope = Scope { prefix, items, by_name, ignored: None, depth };
        if !scope.by_name.contains_key("start") {
            let error =
                SyntaxError::new(source, Span::new(range.start, range.start), "there is no rule `start` to begin with");
            let error = scope.hint_at("start", error);
            return Err(match scope.items.definitions.first() {
                Some(first) if error.hint().is_none() => {
                    let first = shorten(&first.text);
                    error.with_hint(format!(
                        "a grammar in Lark begins with the rule `start`; the first one here is `{first}`"
                    ))
                }
                _ => error,
            }
            .into());
        }
        Ok(scope)
    }

    /// Returns the index of the definition of a name.
    pub(super) fn definition(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the error for a name that is not defined.
    pub(super) fn undefined(&self, source: &str, range: Range<usize>) -> SyntaxError {
        let name = &source[range.clone()];
        let error = SyntaxError::new(source, range.into(), format!("undefined name `{}`", shorten(name)));
        if super::common::pattern(name).is_some() {
            return error.with_hint(format!("write `%import common.{name}`"));
        }
        self.hint_at(name, error)
    }

    fn hint_at(&self, name: &str, error: SyntaxError) -> SyntaxError {
        /// More names are not compared.
        const CANDIDATES_MAX: usize = 4096;
        let names = self.items.definitions.iter().take(CANDIDATES_MAX).map(|definition| &*definition.text);
        match closest_name(name, names) {
            Some(near) => error.with_hint(format!("did you mean `{near}`?")),
            None if self.items.definitions.is_empty() => error.with_hint("the source has no rules"),
            None => error,
        }
    }
}
