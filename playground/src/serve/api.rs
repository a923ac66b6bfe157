//! What can be asked: JSON to JSON.
//!
//! Every question names the grammar, how to read it, the vocabulary, the document and a place in it. Places are offsets in bytes. Numbers of tokens count tokens of the
//! vocabulary; times are nanoseconds.

use super::allowed::{self, Filter};
use super::assets::EXAMPLES;
use super::document::{self, DOCUMENT_BYTES_MAX};
use super::grammars::{Compiled, Dialect, GRAMMAR_BYTES_MAX, Grammars, Reading, Refused};
use super::place::Place;
use super::schema::SchemaRequest;
use super::workers::{Stopped, Task};
use super::{continuation, explanation};
use crate::check::nanos;
use crate::exclusions::Exclusions;
use crate::output::{harmless, of_page};
use crate::places::Places;
use crate::source::{Form, GrammarSource};
use hyper::StatusCode;
use maskwright::CompileError;
use serde::Deserialize;
use serde_json::{Value, json};

/// Most warnings that are returned.
const WARNINGS_MAX: usize = 50;
/// Most tokens of a continuation.
const CONTINUATION_TOKENS_MAX: usize = 1000;

/// What a request asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Everything about grammar, document and place.
    Check,
    /// A page of the allowed tokens at a place.
    Tokens,
    /// Why a token is allowed at a place or not.
    Why,
    /// A random continuation from a place.
    Continue,
}

impl Question {
    /// Returns the question of a path.
    pub fn at(path: &str) -> Option<Self> {
        match path {
            "/api/check" => Some(Question::Check),
            "/api/tokens" => Some(Question::Tokens),
            "/api/why" => Some(Question::Why),
            "/api/continue" => Some(Question::Continue),
            _ => None,
        }
    }
}

/// The body of a request.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Body {
    grammar: String,
    #[serde(default)]
    dialect: Dialect,
    /// The root rule of EBNF.
    #[serde(default)]
    root: Option<String>,
    /// Options of a JSON Schema.
    #[serde(default)]
    schema: SchemaRequest,
    vocab: String,
    #[serde(default)]
    document: String,
    /// The place, in bytes; the end of the document if there is none.
    #[serde(default)]
    cursor: Option<usize>,
    /// Which of the allowed tokens to return.
    #[serde(default)]
    filter: Filter,
    /// Of [`Question::Why`]: an id, a name or a text.
    #[serde(default)]
    token: Option<String>,
    /// Of [`Question::Continue`].
    #[serde(default)]
    seed: u64,
    /// Of [`Question::Continue`]: most tokens before the text is completed.
    #[serde(default)]
    max_tokens: Option<usize>,
}

/// An answer.
pub struct Answer {
    pub status: StatusCode,
    pub value: Value,
}

impl Answer {
    fn error(status: StatusCode, code: &str, message: &str) -> Self {
        Answer { status, value: json!({ "version": 1, "error": { "code": code, "message": message } }) }
    }
}

impl From<Stopped> for Answer {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::TimeOver => Answer::error(
                StatusCode::SERVICE_UNAVAILABLE,
                "time_over",
                "this takes too long: it was stopped at the time limit of a request",
            ),
            // Nobody reads this.
            Stopped::Cancelled => {
                Answer::error(StatusCode::SERVICE_UNAVAILABLE, "cancelled", "the request was cancelled")
            }
        }
    }
}

/// Returns what a page needs to begin.
pub fn info(grammars: &Grammars) -> Value {
    let examples = EXAMPLES
        .iter()
        .map(|example| json!({ "name": example.name, "grammar": example.grammar, "document": example.document }));
    json!({
        "version": 1,
        "program": concat!("maskwright ", env!("CARGO_PKG_VERSION")),
        "vocabularies": grammars.vocab_names(),
        "dialects": ["auto", "ebnf", "lark", "regex", "json_schema", "structural_tag"],
        "examples": examples.collect::<Vec<_>>(),
        "limits": { "grammar_bytes": GRAMMAR_BYTES_MAX, "document_bytes": DOCUMENT_BYTES_MAX },
    })
}

/// Answers a question.
pub fn answer(question: Question, body: &[u8], grammars: &Grammars, task: &Task) -> Answer {
    let body: Body = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => {
            return Answer::error(StatusCode::BAD_REQUEST, "request", &format!("the request can't be read: {error}"));
        }
    };
    if body.document.len() > DOCUMENT_BYTES_MAX {
        let message = format!("the document has {} bytes, and may have {DOCUMENT_BYTES_MAX}", body.document.len());
        return Answer::error(StatusCode::PAYLOAD_TOO_LARGE, "document", &message);
    }
    if let Err(stopped) = task.check() {
        return stopped.into();
    }
    let reading = Reading { dialect: body.dialect, root: body.root.as_deref(), schema: &body.schema };
    let compiled = match grammars.compile(&body.grammar, reading, &body.vocab, task) {
        Ok(compiled) => compiled,
        Err(Refused::Request(message)) => return Answer::error(StatusCode::BAD_REQUEST, "request", &message),
        Err(Refused::TooLong(message)) => return Answer::error(StatusCode::PAYLOAD_TOO_LARGE, "grammar", &message),
        Err(Refused::Vocab(message)) => {
            return Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "vocabulary", &message);
        }
        Err(Refused::Grammar(refused)) => {
            let (source, error) = *refused;
            return Answer {
                status: StatusCode::OK,
                value: json!({ "version": 1, "grammar": refusal(&source, &error) }),
            };
        }
    };
    match of_grammar(question, &body, grammars, &compiled, task) {
        Ok(value) => Answer { status: StatusCode::OK, value },
        Err(stopped) => stopped.into(),
    }
}

fn of_grammar(
    question: Question,
    body: &Body,
    grammars: &Grammars,
    compiled: &Compiled,
    task: &Task,
) -> Result<Value, Stopped> {
    let text = body.document.as_bytes();
    let cells = document::cells(grammars, compiled, text);
    let offset = body.cursor.unwrap_or(text.len()).min(text.len());
    let mut place = Place::new(compiled.grammar.matcher(), text, &cells, offset);
    let mut value = json!({ "version": 1, "offset": place.offset });
    match question {
        Question::Check => {
            let (report, refused_at) = document::report(compiled, text, &cells, task)?;
            value["grammar"] = success(compiled);
            value["document"] = report;
            value["allowed"] = allowed::report(&mut place.matcher, &body.filter, task)?;
            value["forced"] = place.matcher.jump_forward_text().into();
            let rest = if refused_at == Some(place.offset) { &text[place.offset..] } else { b"" };
            value["expected"] = explanation::expected(&place.matcher, rest, task)?;
        }
        Question::Tokens => value["allowed"] = allowed::report(&mut place.matcher, &body.filter, task)?,
        Question::Why => {
            let asked = body.token.as_deref().unwrap_or_default();
            let compiler = grammars.compiler_of(compiled);
            let exclusions = Exclusions::within(&compiled.source, compiler, task.compile_options());
            value["why"] = explanation::why(&place.matcher, asked, &exclusions, task)?;
        }
        Question::Continue => {
            let n_tokens_max = body.max_tokens.unwrap_or(60).min(CONTINUATION_TOKENS_MAX);
            value["continuation"] = continuation::report(place.matcher, body.seed, n_tokens_max, task)?;
        }
    }
    Ok(value)
}

fn form(source: &GrammarSource) -> &'static str {
    match source.form {
        Form::Ebnf { .. } => "ebnf",
        Form::Lark => "lark",
        Form::Regex => "regex",
        Form::Schema(_) => "json_schema",
        Form::Tag => "structural_tag",
    }
}

fn success(compiled: &Compiled) -> Value {
    let Compiled { source, grammar, time, is_kept, exclusions, .. } = compiled;
    let warnings = || grammar.warnings().iter().chain(&**exclusions);
    let places = Places::new(&source.text);
    let warning = |warning: &maskwright::grammar::Warning| {
        let span = warning.span();
        let place = span.map(|span| places.line_column(span.start as usize));
        json!({
            "message": harmless(&of_page(&warning.to_string())),
            "start": span.map(|span| span.start),
            "end": span.map(|span| span.end),
            "line": place.map(|(line, _)| line),
            "column": place.map(|(_, column)| column),
        })
    };
    json!({
        "is_ok": true,
        "dialect": form(source),
        "n_rules": if matches!(source.form, Form::Schema(_)) { Value::Null } else { grammar.grammar().rules().len().into() },
        "n_states": grammar.n_states(),
        "memory_bytes": grammar.memory_bytes(),
        "compile_ns": nanos(*time),
        "is_kept": is_kept,
        "n_warnings": warnings().count(),
        "warnings": warnings().take(WARNINGS_MAX).map(warning).collect::<Vec<_>>(),
    })
}

fn refusal(source: &GrammarSource, error: &CompileError) -> Value {
    let facts = error.facts(&source.text);
    let message = match error {
        CompileError::Syntax(error) => error.message().to_owned(),
        error => error.to_string(),
    };
    json!({
        "is_ok": false,
        "dialect": form(source),
        "error": {
            "message": harmless(&of_page(&message)),
            "code": facts.code.as_str(),
            "start": facts.span.map(|span| span.start),
            "end": facts.span.map(|span| span.end),
            "line": facts.line_column.map(|(line, _)| line),
            "column": facts.line_column.map(|(_, column)| column),
            "hint": facts.hint.as_deref().map(|hint| harmless(&of_page(hint))),
            "pointer": facts.pointer,
            "keyword": facts.keyword,
        },
    })
}
