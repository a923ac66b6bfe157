//! What a caller asks for: tools, which of them are called, how often, and whether the model reasons before.

use super::error::ToolCallError;
use crate::json_schema::Json;
use crate::limits::Limits;
use crate::util::closest_name;
use core::num::NonZeroU32;
use std::collections::HashSet;

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Tool {
    /// The name, which calls are written with.
    pub name: String,
    /// The JSON text of the schema of its arguments. Without one they are any object.
    pub parameters: Option<String>,
}

impl Tool {
    /// Returns a tool whose arguments are any object.
    pub fn new(name: impl Into<String>) -> Tool {
        Tool { name: name.into(), parameters: None }
    }

    /// Returns the tool with a schema of its arguments, as JSON text.
    #[must_use]
    pub fn with_parameters(self, schema: impl Into<String>) -> Tool {
        Tool { parameters: Some(schema.into()), ..self }
    }

    /// Returns the JSON text of the schema of the arguments.
    pub(super) fn schema(&self) -> &str {
        self.parameters.as_deref().unwrap_or(r#"{"type": "object", "additionalProperties": true}"#)
    }

    /// Returns the JSON text of the schema of the arguments; of none without one.
    pub(super) fn declared_schema(&self) -> &str {
        self.parameters.as_deref().unwrap_or(r#"{"type": "object", "additionalProperties": false}"#)
    }
}

/// Which tools an output calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolChoice {
    /// None: the output is text, in which no call can begin.
    None,
    /// Any or none, as the model likes: text, calls, or text and then calls where the format has that.
    Auto,
    /// At least one call, and no text before it.
    Required,
    /// One call of the tool with this name, and no text before it.
    Named(String),
}

/// Whether the output begins with reasoning, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Thinking {
    /// There is no reasoning.
    #[default]
    Off,
    /// The output begins with the marker that opens the reasoning, such as `<think>`.
    FromMarker,
    /// The prompt ended with that marker: the output begins inside the reasoning.
    FromInside,
}

/// Options of tool calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ToolCallOptions {
    /// Whether the output begins with reasoning.
    pub thinking: Thinking,
    /// Whether an output may have several calls, where the format has that. The default is that it may.
    pub is_parallel: bool,
    /// How many calls an output has at most; by default any number.
    pub n_calls_max: Option<NonZeroU32>,
}

impl Default for ToolCallOptions {
    fn default() -> Self {
        ToolCallOptions { thinking: Thinking::Off, is_parallel: true, n_calls_max: None }
    }
}

/// Whether there are calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Never,
    Maybe,
    Always,
}

/// A request that was checked.
#[derive(Debug)]
pub(super) struct Plan<'t> {
    /// The tools that may be called; none of them has a name of another.
    pub tools: Vec<&'t Tool>,
    /// [`Need::Never`] exactly if there are no tools.
    pub need: Need,
    /// How many calls there are at most.
    pub n_calls_max: Option<u32>,
    pub thinking: Thinking,
}

impl<'t> Plan<'t> {
    /// Checks a request.
    pub fn new(
        tools: &'t [Tool],
        choice: &ToolChoice,
        options: &ToolCallOptions,
        limits: &Limits,
    ) -> Result<Plan<'t>, ToolCallError> {
        check(tools, limits)?;
        let n_calls_max = if options.is_parallel { options.n_calls_max.map(NonZeroU32::get) } else { Some(1) };
        let plan = |tools, need, n_calls_max| Plan { tools, need, n_calls_max, thinking: options.thinking };
        Ok(match choice {
            ToolChoice::None => plan(Vec::new(), Need::Never, n_calls_max),
            ToolChoice::Auto if tools.is_empty() => plan(Vec::new(), Need::Never, n_calls_max),
            ToolChoice::Auto => plan(tools.iter().collect(), Need::Maybe, n_calls_max),
            ToolChoice::Required if tools.is_empty() => return Err(ToolCallError::no_tools()),
            ToolChoice::Required => plan(tools.iter().collect(), Need::Always, n_calls_max),
            ToolChoice::Named(name) => {
                let Some(tool) = tools.iter().find(|tool| tool.name == *name) else {
                    let near = closest_name(name, tools.iter().map(|tool| &*tool.name));
                    return Err(ToolCallError::unknown_tool(name, near));
                };
                plan(vec![tool], Need::Always, Some(1))
            }
        })
    }
}

/// Checks names and parameters of tools.
fn check(tools: &[Tool], limits: &Limits) -> Result<(), ToolCallError> {
    let mut names = HashSet::new();
    for tool in tools {
        let is_markup = |character: char| "\"'\\<>[]{}|&".contains(character);
        if tool.name.is_empty() {
            return Err(ToolCallError::bad_name(&tool.name, "is empty"));
        }
        if tool.name.chars().any(|character| character.is_whitespace() || character.is_control()) {
            return Err(ToolCallError::bad_name(&tool.name, "has white space or a control character in it"));
        }
        if tool.name.chars().any(is_markup) {
            return Err(ToolCallError::bad_name(&tool.name, "has one of the characters \" ' \\ < > [ ] { } | & in it"));
        }
        if !names.insert(&*tool.name) {
            return Err(ToolCallError::duplicate_tool(&tool.name));
        }
        if let Some(schema) = &tool.parameters {
            Json::parse(schema, limits).map_err(|error| ToolCallError::bad_parameters(&tool.name, error))?;
        }
    }
    Ok(())
}
