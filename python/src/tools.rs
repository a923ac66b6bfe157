//! Structural tags for the tool calls of models.

use crate::options::json_text;
use maskwright::Limits;
use maskwright::structural_tag::models::{ModelFormat, Thinking, Tool, ToolCallOptions, ToolChoice};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::num::NonZeroU32;

/// Returns the names of the formats of tool calls.
#[pyfunction]
pub fn tool_call_formats() -> Vec<&'static str> {
    ModelFormat::all().map(ModelFormat::name).collect()
}

/// Returns the structural tag, as JSON text, for outputs of a model that calls tools.
///
/// `format` is the name of the model's format; `tools` are pairs of a name and the schema of the arguments (text, dict, model, or None for any object). `choice` is `"auto"`, `"required"`, `"none"`, or the name of
/// a tool as `{"name": ...}` or in the shape of OpenAI, `{"type": "function", "function": {"name": ...}}`. `thinking` is `"off"`, `"from_marker"` (the output begins with the marker that opens the reasoning), or `"from_inside"` (the prompt ended with that marker). `max_calls` bounds the number of calls;
/// with `parallel=False` there is one at most.
#[pyfunction]
#[pyo3(signature = (format, tools, *, choice=None, thinking="off", parallel=true, max_calls=None))]
pub fn tool_call_tag(
    py: Python<'_>,
    format: &str,
    tools: Vec<(String, Option<Bound<'_, PyAny>>)>,
    choice: Option<&Bound<'_, PyAny>>,
    thinking: &str,
    parallel: bool,
    max_calls: Option<i64>,
) -> PyResult<String> {
    let value_error = |error: &dyn ToString| PyValueError::new_err(error.to_string());
    let mut list = Vec::with_capacity(tools.len());
    for (name, schema) in tools {
        let tool = Tool::new(name);
        list.push(match schema {
            Some(schema) => tool.with_parameters(json_text(&schema)?),
            None => tool,
        });
    }
    let choice = match choice {
        None => ToolChoice::Auto,
        Some(choice) => match choice.extract::<String>() {
            Ok(word) => match &*word {
                "auto" => ToolChoice::Auto,
                "required" => ToolChoice::Required,
                "none" => ToolChoice::None,
                _ => return Err(PyValueError::new_err(format!("there is no choice {word:?}"))),
            },
            Err(_) => ToolChoice::Named(name_of(choice)?),
        },
    };
    let mut options = ToolCallOptions::default();
    options.thinking = match thinking {
        "off" => Thinking::Off,
        "from_marker" => Thinking::FromMarker,
        "from_inside" => Thinking::FromInside,
        _ => {
            return Err(PyValueError::new_err(format!(
                "thinking is off, from_marker or from_inside, not {thinking:?}"
            )));
        }
    };
    options.is_parallel = parallel;
    options.n_calls_max = match max_calls {
        None => None,
        Some(n) => {
            let n_max = u32::try_from(n).ok().and_then(NonZeroU32::new);
            Some(n_max.ok_or_else(|| PyValueError::new_err(format!("max_calls is from 1 to {}, not {n}", u32::MAX)))?)
        }
    };
    let format = ModelFormat::from_name(format).map_err(|error| value_error(&error))?;
    let tag = py.detach(|| format.structural_tag(&list, &choice, &options, &Limits::default()));
    tag.map_err(|error| value_error(&error))
}

/// Returns the name in the choice of one tool.
fn name_of(choice: &Bound<'_, PyAny>) -> PyResult<String> {
    let tool = choice.get_item("function").unwrap_or_else(|_| choice.clone());
    let name = tool.get_item("name").and_then(|name| name.extract());
    name.map_err(|_| PyValueError::new_err(r#"the choice of a tool is {"name": ...}, with a string"#))
}
