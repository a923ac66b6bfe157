//! Errors as OpenAI's interface has them: a status, and a JSON object with message, type, parameter and code.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use maskwright::{CompileError, MatchError};
use serde_json::json;

pub struct ApiError {
    status: StatusCode,
    message: String,
    parameter: Option<&'static str>,
    code: &'static str,
}

impl ApiError {
    pub fn invalid(parameter: &'static str, code: &'static str, message: String) -> ApiError {
        ApiError { status: StatusCode::BAD_REQUEST, message, parameter: Some(parameter), code }
    }

    /// The message of a grammar's or schema's error has its place: line and column, or a JSON pointer.
    pub fn of_compile_error(error: &CompileError, parameter: &'static str) -> ApiError {
        let code = match error {
            CompileError::Schema(_) => "invalid_schema",
            CompileError::Build(_) => "grammar_refused",
            _ => "invalid_grammar",
        };
        ApiError::invalid(parameter, code, error.to_string())
    }

    /// A step that a hostile grammar made too expensive is the request's fault.
    pub fn of_match_error(error: &MatchError) -> ApiError {
        if error.is_over_budget() {
            return ApiError::invalid("response_format", "grammar_too_expensive", error.to_string());
        }
        ApiError::internal()
    }

    pub fn of_body(status: StatusCode, message: String) -> ApiError {
        ApiError { status, message, parameter: None, code: "invalid_body" }
    }

    pub fn busy() -> ApiError {
        let message = "too many requests are being answered; try again".to_owned();
        ApiError { status: StatusCode::TOO_MANY_REQUESTS, message, parameter: None, code: "busy" }
    }

    pub fn internal() -> ApiError {
        let message = "the request couldn't be answered".to_owned();
        ApiError { status: StatusCode::INTERNAL_SERVER_ERROR, message, parameter: None, code: "internal" }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let kind = if self.status.is_client_error() { "invalid_request_error" } else { "server_error" };
        let error = json!({"message": self.message, "type": kind, "param": self.parameter, "code": self.code});
        (self.status, Json(json!({"error": error}))).into_response()
    }
}
