//! The body of a request, and the constraint that it puts on the answer.

use crate::error::ApiError;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The parts of a request that the toy model heeds.
#[derive(Deserialize)]
pub struct Request {
    #[serde(default)]
    pub seed: u64,
    #[serde(alias = "max_completion_tokens")]
    pub max_tokens: Option<usize>,
    #[serde(default)]
    stream: bool,
    response_format: Option<ResponseFormat>,
    guided_regex: Option<String>,
    guided_grammar: Option<String>,
    guided_choice: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct ResponseFormat {
    r#type: String,
    json_schema: Option<JsonSchema>,
}

#[derive(Deserialize)]
struct JsonSchema {
    /// As it was sent: the order of properties is the order of keys in the answer.
    schema: Box<RawValue>,
}

/// What the answer must obey.
pub enum Constraint {
    None,
    JsonObject,
    JsonSchema(String),
    Regex(String),
    Grammar(String),
    Choice(Vec<String>),
}

impl Request {
    pub fn read(body: &[u8]) -> Result<Request, ApiError> {
        serde_json::from_slice(body).map_err(|error| ApiError::invalid("body", "invalid_json", error.to_string()))
    }

    /// Returns the one constraint of the request.
    pub fn constraint(&self) -> Result<Constraint, ApiError> {
        if self.stream {
            return Err(ApiError::invalid("stream", "unsupported", "this example doesn't stream".to_owned()));
        }
        let mut constraints = Vec::new();
        if let Some(format) = &self.response_format {
            constraints.push(format.constraint()?);
        }
        constraints.extend(self.guided_regex.clone().map(Constraint::Regex));
        constraints.extend(self.guided_grammar.clone().map(Constraint::Grammar));
        constraints.extend(self.guided_choice.clone().map(Constraint::Choice));
        match constraints.len() {
            0 => Ok(Constraint::None),
            1 => Ok(constraints.remove(0)),
            _ => {
                let message = "a request has one of `response_format` and `guided_...` at most";
                Err(ApiError::invalid("response_format", "conflict", message.to_owned()))
            }
        }
    }
}

impl ResponseFormat {
    fn constraint(&self) -> Result<Constraint, ApiError> {
        let refuse = |message: &str| ApiError::invalid("response_format", "invalid_format", message.to_owned());
        match (&*self.r#type, &self.json_schema) {
            ("text", None) => Ok(Constraint::None),
            ("json_object", None) => Ok(Constraint::JsonObject),
            ("json_schema", Some(format)) => Ok(Constraint::JsonSchema(format.schema.get().to_owned())),
            ("json_schema", None) => Err(refuse("`json_schema` is missing")),
            ("text" | "json_object", Some(_)) => Err(refuse("`json_schema` belongs to the type `json_schema`")),
            _ => Err(refuse("`type` is `text`, `json_object` or `json_schema`")),
        }
    }
}

impl Constraint {
    /// The parameter of the request that an error is about.
    pub fn parameter(&self) -> &'static str {
        match self {
            Constraint::None | Constraint::JsonObject => "response_format",
            Constraint::JsonSchema(_) => "response_format.json_schema.schema",
            Constraint::Regex(_) => "guided_regex",
            Constraint::Grammar(_) => "guided_grammar",
            Constraint::Choice(_) => "guided_choice",
        }
    }
}
