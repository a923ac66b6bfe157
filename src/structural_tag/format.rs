//! The formats of a structural tag, typed.

use super::nested::Nested;
use super::parameters::Parameters;
use crate::grammar::{ControlRef, Grammar, Regex, SchemaOperand, Warning};
use crate::json_schema::ValueId;
use crate::util::index_type;

index_type!(
    /// The index of a format of a [`Model`].
    pub(super) FormatId
);

/// The formats of a document; each refers to earlier ones only.
#[derive(Debug)]
pub(super) struct Model {
    /// With the place in the document.
    pub formats: Vec<(Format, ValueId)>,
    pub root: FormatId,
    /// Of the grammars in it.
    pub warnings: Vec<Warning>,
}

#[derive(Debug)]
pub(super) enum Format {
    /// This text.
    ConstString(String),
    /// A JSON document, and where its schema is.
    JsonSchema(SchemaOperand, ValueId),
    /// Parameters that are no JSON.
    Parameters(Box<Parameters>),
    /// Arguments as elements within elements.
    Nested(Box<Nested>),
    /// What a grammar matches.
    Grammar(Box<Grammar>),
    /// What a regular expression matches.
    Regex(Regex),
    /// Any text in which none of these occurs, of so many characters and tokens at most.
    AnyText { excludes: Vec<String>, n_chars_max: Option<u32>, n_tokens_max: Option<u32> },
    /// One behind the other.
    Sequence(Vec<FormatId>),
    /// One of them.
    Or(Vec<FormatId>),
    /// `min` to `max` times.
    Repeat { content: FormatId, min: u32, max: Option<u32> },
    /// A begin, a content, an end.
    Tag(Tag),
    /// Free text, and wherever a trigger occurs, one of the tags that begin with it.
    TriggeredTags { triggers: Vec<String>, tags: Vec<Tag>, times: Times, excludes: Vec<String> },
    /// Tags with a separator between them.
    TagsWithSeparator { tags: Vec<Tag>, separator: String, times: Times },
    /// Free text, and behind each occurrence of a pattern its format.
    Dispatch { rules: Vec<(String, FormatId)>, is_loop: bool, excludes: Vec<String> },
    /// One token.
    Token(ControlRef),
    /// Any one token but these.
    ExcludeToken(Vec<ControlRef>),
    /// Any tokens but these, so many at most.
    AnyTokens { excludes: Vec<ControlRef>, n_tokens_max: Option<u32> },
    /// Any tokens, and wherever a trigger occurs, one of the tags that begin with it.
    TokenTriggeredTags { triggers: Vec<ControlRef>, tags: Vec<Tag>, times: Times, excludes: Vec<ControlRef> },
    /// Any tokens, and behind each occurrence of one of these its format.
    TokenDispatch { rules: Vec<(ControlRef, FormatId)>, is_loop: bool, excludes: Vec<ControlRef> },
}

/// How many tags there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The output begins with a tag.
    pub at_least_one: bool,
    /// The output ends behind the first tag.
    pub stop_after_first: bool,
}

/// A tag.
#[derive(Debug)]
pub(super) struct Tag {
    /// Where it is in the document.
    pub at: ValueId,
    pub begin: Edge,
    pub content: FormatId,
    /// The ends, of which one follows.
    pub ends: Vec<Edge>,
}

/// What begins or ends a tag.
#[derive(Clone, Debug)]
pub(super) enum Edge {
    Text(String),
    Token(ControlRef),
}
