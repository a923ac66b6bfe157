//! Failures of commands, and the exit codes.

use crate::output::of_command;
use crate::refusal::Refusal;
use maskwright::compiler::{ErrorCode, ErrorFacts};
use maskwright::json_schema::SchemaError;
use maskwright::{CompileError, VocabError};
use serde_json::{Value, json};
use std::fmt;

/// The answer is yes.
pub const CODE_YES: u8 = 0;
/// The answer is no.
pub const CODE_NO: u8 = 1;
/// The command line is wrong.
pub const CODE_USAGE: u8 = 2;
/// The grammar can't be compiled.
pub const CODE_GRAMMAR: u8 = 3;
/// Something can't be read or written, or not within the limits.
pub const CODE_FILE: u8 = 4;

/// The answer of a command that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything matches, is allowed, passed.
    Yes,
    /// Something doesn't.
    No,
    /// Some documents could not be read, or not within the limits, which was reported already.
    Unread,
}

impl Verdict {
    /// Returns `Yes` if the condition holds, else `No`.
    pub fn of(holds: bool) -> Self {
        if holds { Verdict::Yes } else { Verdict::No }
    }

    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Verdict::Yes => CODE_YES,
            Verdict::No => CODE_NO,
            Verdict::Unread => CODE_FILE,
        }
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something impossible.
    Usage(String),
    /// The grammar can't be compiled.
    Grammar { from: String, error: CompileError, facts: Box<ErrorFacts> },
    /// A file can't be read.
    File { path: String, message: String },
    /// A vocabulary can't be read.
    Vocabulary { from: String, error: VocabError },
    /// The text before the mask is refused, which leaves nothing to show.
    Prefix(Box<Refusal>),
    /// A step of the matcher failed for another reason than a refusal.
    Step(String),
    /// The vocabulary can't spell what the grammar requires.
    Stuck(String),
}

impl Failure {
    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => CODE_USAGE,
            Failure::Grammar { .. } => CODE_GRAMMAR,
            // A step that is over its limit is no answer either way.
            Failure::File { .. } | Failure::Vocabulary { .. } | Failure::Step(_) => CODE_FILE,
            Failure::Prefix(_) | Failure::Stuck(_) => CODE_NO,
        }
    }

    /// Returns the failure as JSON.
    pub fn to_json(&self) -> Value {
        let kind = match self {
            Failure::Usage(_) => "usage",
            Failure::Grammar { .. } => "grammar",
            Failure::File { .. } => "file",
            Failure::Vocabulary { .. } => "vocabulary",
            Failure::Prefix(_) => "prefix",
            Failure::Step(_) => "step",
            Failure::Stuck(_) => "stuck",
        };
        let mut error = json!({ "kind": kind, "message": self.to_string() });
        match self {
            Failure::Grammar { error: compile, facts, .. } => {
                error["code"] = facts.code.as_str().into();
                error["line"] = facts.line_column.map(|(line, _)| line).into();
                error["column"] = facts.line_column.map(|(_, column)| column).into();
                error["hint"] = facts.hint.as_deref().map(of_command).into();
                error["pointer"] = facts.pointer.clone().into();
                error["keyword"] = facts.keyword.clone().into();
                error["limit"] = facts.limit.map(|(given, limit)| json!({ "given": given, "limit": limit })).into();
                let keywords: Vec<&str> =
                    schema_error(compile).iter().flat_map(|schema| schema.contradicting()).collect();
                error["is_unsatisfiable"] = (facts.code == ErrorCode::Unsatisfiable).into();
                error["keywords"] = keywords.into();
            }
            Failure::Prefix(refusal) => refusal.add_to(&mut error),
            _ => {}
        }
        json!({ "version": 1, "error": error })
    }
}

/// Returns the error of a schema: it may be the grammar, or an operand or a part of it.
fn schema_error(error: &CompileError) -> Option<&SchemaError> {
    match error {
        CompileError::Schema(schema) => Some(schema),
        CompileError::Operand(operand) => Some(operand.schema_error()),
        CompileError::Tag(tag) => tag.as_schema(),
        _ => None,
    }
}

/// Returns the option of the command line that an option of schemas comes from.
fn option_name(option: &str) -> String {
    match option {
        "pointer" => "--schema-pointer".into(),
        option => format!("--{}", option.replace('_', "-")),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) => f.write_str(message),
            Failure::Grammar { from, error, .. } => {
                let message = if f.alternate() { format!("{error:#}") } else { error.to_string() };
                let message = match schema_error(error).and_then(SchemaError::invalid_option) {
                    Some(option) => message.replace(&format!("`{option}`"), &format!("`{}`", option_name(option))),
                    None => message,
                };
                write!(f, "{from}: {}", of_command(&message))
            }
            Failure::File { path, message } => write!(f, "can't read {path}: {message}"),
            Failure::Vocabulary { from, error } => write!(f, "vocabulary {from}: {error}"),
            Failure::Prefix(refusal) if f.alternate() => {
                write!(f, "the text {}", refusal.lines().join("\n"))
            }
            Failure::Prefix(refusal) => write!(f, "the text {}", refusal.headline()),
            Failure::Step(message) | Failure::Stuck(message) => f.write_str(message),
        }
    }
}
