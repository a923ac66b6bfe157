//! Errors of building structural tags for tool calls.

use crate::json_schema::SchemaError;
use core::fmt;

/// The reason why there is no structural tag for some tools in the format of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCallError {
    reason: Box<Reason>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    UnknownModel { name: String, near: Option<&'static str> },
    UnknownTool { name: String, near: Option<String> },
    DuplicateTool { name: String },
    BadName { name: String, why: &'static str },
    NoTools,
    BadParameters { name: String, error: SchemaError },
    NoReasoning { model: &'static str },
}

impl ToolCallError {
    fn new(reason: Reason) -> Self {
        ToolCallError { reason: Box::new(reason) }
    }

    pub(super) fn unknown_model(name: &str, near: Option<&'static str>) -> Self {
        Self::new(Reason::UnknownModel { name: name.to_owned(), near })
    }

    pub(super) fn unknown_tool(name: &str, near: Option<&str>) -> Self {
        Self::new(Reason::UnknownTool { name: name.to_owned(), near: near.map(str::to_owned) })
    }

    pub(super) fn duplicate_tool(name: &str) -> Self {
        Self::new(Reason::DuplicateTool { name: name.to_owned() })
    }

    pub(super) fn bad_name(name: &str, why: &'static str) -> Self {
        Self::new(Reason::BadName { name: name.to_owned(), why })
    }

    pub(super) fn no_tools() -> Self {
        Self::new(Reason::NoTools)
    }

    pub(super) fn bad_parameters(name: &str, error: SchemaError) -> Self {
        Self::new(Reason::BadParameters { name: name.to_owned(), error })
    }

    pub(super) fn no_reasoning(model: &'static str) -> Self {
        Self::new(Reason::NoReasoning { model })
    }

    /// Returns the name of the tool that the error is about, if it is about one.
    pub fn tool(&self) -> Option<&str> {
        match &*self.reason {
            Reason::UnknownTool { name, .. }
            | Reason::DuplicateTool { name }
            | Reason::BadName { name, .. }
            | Reason::BadParameters { name, .. } => Some(name),
            Reason::UnknownModel { .. } | Reason::NoTools | Reason::NoReasoning { .. } => None,
        }
    }

    /// Returns the error of the tool's parameters, if they are no JSON or meet a limit.
    pub fn as_schema(&self) -> Option<&SchemaError> {
        match &*self.reason {
            Reason::BadParameters { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for ToolCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.reason {
            Reason::UnknownModel { name, near } => {
                write!(f, "there is no format of tool calls named {name:?}")?;
                near.map_or(Ok(()), |near| write!(f, " (did you mean {near:?}?)"))
            }
            Reason::UnknownTool { name, near } => {
                write!(f, "the choice names a tool {name:?} that is not among the tools")?;
                near.as_ref().map_or(Ok(()), |near| write!(f, " (did you mean {near:?}?)"))
            }
            Reason::DuplicateTool { name } => write!(f, "two tools have the name {name:?}"),
            Reason::BadName { name, why } => write!(f, "the name {name:?} of a tool {why}"),
            Reason::NoTools => f.write_str("a call is required, and there are no tools"),
            Reason::BadParameters { name, error } => write!(f, "the parameters of the tool {name:?}: {error}"),
            Reason::NoReasoning { model } => {
                write!(f, "the format `{model}` has no reasoning, so that `thinking` must be off")
            }
        }
    }
}

impl std::error::Error for ToolCallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.as_schema().map(|error| error as _)
    }
}
