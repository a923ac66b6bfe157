//! A server that answers chat completions in the style of OpenAI with structured output: what a request demands becomes a grammar, and a toy
//! model follows its masks.
//!
//! What carries over to a server with a real model: one compiler for all requests, compilation and decoding away from the threads that
//! answer, a deadline and limits for what strangers send, and errors that say where a schema or grammar is wrong.

mod error;
mod model;
mod request;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Json;
use axum::routing::post;
use error::ApiError;
use maskwright::grammar::Grammar;
use maskwright::{CompileOptions, CompiledGrammar, Encoding, GrammarCompiler, Vocab, VocabError};
use request::{Constraint, Request};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// What one request may cost, and how many are answered at once.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Bytes of a request's body.
    pub body_bytes_max: usize,
    /// Most tokens of an answer, whatever the request says.
    pub answer_tokens_max: usize,
    /// Time to compile a grammar.
    pub compile_time_max: Duration,
    /// Requests that are answered at once; more are refused.
    pub n_requests_max: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            body_bytes_max: 1 << 18,
            answer_tokens_max: 1024,
            compile_time_max: Duration::from_secs(2),
            n_requests_max: 16,
        }
    }
}

/// The state that all requests share.
pub struct Server {
    compiler: GrammarCompiler,
    limits: ServerLimits,
    slots: Arc<Semaphore>,
}

impl Server {
    /// Returns a server with the embedded vocabulary `cl100k_base`.
    ///
    /// # Errors
    /// If the vocabulary can't be built.
    pub fn new(limits: ServerLimits) -> Result<Server, VocabError> {
        let compiler = GrammarCompiler::new(Arc::new(Vocab::tiktoken(Encoding::Cl100kBase)?));
        let slots = Arc::new(Semaphore::new(limits.n_requests_max));
        Ok(Server { compiler, limits, slots })
    }

    /// Returns the routes of the server.
    pub fn router(self) -> Router {
        let body_bytes_max = self.limits.body_bytes_max;
        Router::new()
            .route("/v1/chat/completions", post(complete))
            .layer(DefaultBodyLimit::max(body_bytes_max))
            .with_state(Arc::new(self))
    }

    fn compile(&self, constraint: &Constraint) -> Result<CompiledGrammar, ApiError> {
        let deadline = Some(Instant::now() + self.limits.compile_time_max);
        let options = CompileOptions { deadline, ..CompileOptions::default() };
        let compiler = &self.compiler;
        let compiled = match constraint {
            Constraint::None => compiler.compile_ebnf_with("root ::= .*", "root", &options),
            Constraint::JsonObject => compiler.compile_json_object(),
            Constraint::JsonSchema(schema) => compiler.compile_json_schema_with(schema, &Default::default(), &options),
            Constraint::Regex(pattern) => compiler.compile_regex_with(pattern, &Default::default(), &options),
            Constraint::Grammar(text) => compiler.compile_ebnf_with(text, "root", &options),
            Constraint::Choice(texts) => {
                compiler.compile_with(&Grammar::choice(texts.iter().map(String::as_str)), &options)
            }
        };
        compiled.map_err(|error| ApiError::of_compile_error(&error, constraint.parameter()))
    }

    fn answer(&self, body: &[u8]) -> Result<Value, ApiError> {
        let request = Request::read(body)?;
        let grammar = self.compile(&request.constraint()?)?;
        let n_tokens_max = request.max_tokens.map_or(256, |n| n.min(self.limits.answer_tokens_max));
        let answer = model::sample(&grammar, request.seed, n_tokens_max)?;
        Ok(json!({
            "id": format!("chatcmpl-{:016x}", request.seed),
            "object": "chat.completion",
            "model": "toy",
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": answer.text},
                "finish_reason": if answer.is_complete { "stop" } else { "length" },
            }],
            "usage": {"completion_tokens": answer.n_tokens},
        }))
    }
}

async fn complete(
    State(server): State<Arc<Server>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ApiError> {
    let body = body.map_err(|rejection| ApiError::of_body(rejection.status(), rejection.body_text()))?;
    let slot = Arc::clone(&server.slots).try_acquire_owned().map_err(|_| ApiError::busy())?;
    // Compiling and decoding take processor time, which the threads that answer must not spend.
    let answer = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        server.answer(&body)
    });
    answer.await.map_err(|_| ApiError::internal())?.map(Json)
}
