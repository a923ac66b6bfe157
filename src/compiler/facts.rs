//! Errors of compiling as plain values, for bindings to other languages and for protocols.

use super::error::CompileError;
use crate::frontend::SyntaxError;
use crate::json_schema::SchemaError;
use crate::pass::BuildError;
use crate::util::Span;

/// What kind of error it is, and so who can do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum ErrorCode {
    /// The source is malformed.
    Syntax = 1,
    /// The source is no JSON Schema, or no structural tag.
    Document = 2,
    /// The source is well formed and asks for something that can't be enforced.
    Unsupported = 3,
    /// The source is well formed, and no text conforms to it.
    Unsatisfiable = 4,
    /// The grammar names a token that the vocabulary lacks.
    UnknownToken = 5,
    /// A limit of [`Limits`](crate::Limits) was exceeded.
    Limit = 6,
    /// The deadline passed, or the compile was cancelled: another attempt may succeed.
    Interrupted = 7,
    /// An option makes no sense.
    Option = 8,
}

impl ErrorCode {
    /// Every code, in ascending order.
    pub const ALL: [ErrorCode; 8] = [
        ErrorCode::Syntax,
        ErrorCode::Document,
        ErrorCode::Unsupported,
        ErrorCode::Unsatisfiable,
        ErrorCode::UnknownToken,
        ErrorCode::Limit,
        ErrorCode::Interrupted,
        ErrorCode::Option,
    ];

    /// Returns the code as a word in lower case, such as `unknown_token`.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::Syntax => "syntax",
            ErrorCode::Document => "document",
            ErrorCode::Unsupported => "unsupported",
            ErrorCode::Unsatisfiable => "unsatisfiable",
            ErrorCode::UnknownToken => "unknown_token",
            ErrorCode::Limit => "limit",
            ErrorCode::Interrupted => "interrupted",
            ErrorCode::Option => "option",
        }
    }
}

/// What is known of a [`CompileError`] beyond its message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorFacts {
    /// The kind of error.
    pub code: ErrorCode,
    /// The place in the source: of what stands in a structural tag, such as a regular expression, the place in the tag's text; of a schema within a grammar the operand.
    pub span: Option<Span>,
    /// The 1-based line and column (in characters) where the place begins.
    pub line_column: Option<(usize, usize)>,
    /// The JSON pointer of the place in a schema or in a structural tag; empty for the whole document.
    pub pointer: Option<String>,
    /// The keyword of a schema; of several that contradict each other the first.
    pub keyword: Option<String>,
    /// What the author may have meant, or what to write instead.
    pub hint: Option<String>,
    /// What was given (or a lower bound of it), and the limit.
    pub limit: Option<(u64, u64)>,
}

impl ErrorFacts {
    fn of(code: ErrorCode) -> Self {
        ErrorFacts { code, span: None, line_column: None, pointer: None, keyword: None, hint: None, limit: None }
    }

    fn of_syntax(error: &SyntaxError) -> Self {
        let limit = error.limit_met();
        ErrorFacts {
            span: Some(error.span()),
            line_column: Some(error.line_column()),
            hint: error.hint().map(Into::into),
            limit,
            ..Self::of(if limit.is_some() { ErrorCode::Limit } else { ErrorCode::Syntax })
        }
    }

    fn of_schema(error: &SchemaError, source: &str) -> Self {
        if let Some(syntax) = error.as_syntax() {
            return Self::of_syntax(syntax);
        }
        let code = match error {
            _ if error.limit().is_some() => ErrorCode::Limit,
            _ if error.is_unsatisfiable() => ErrorCode::Unsatisfiable,
            _ if error.is_unsupported() => ErrorCode::Unsupported,
            _ if error.invalid_option().is_some() => ErrorCode::Option,
            _ => ErrorCode::Document,
        };
        // A span is one of the document that the error is about, which need not be the source.
        let span = error.span().filter(|_| error.document().is_empty());
        ErrorFacts {
            span,
            line_column: span.map(|span| span.line_column(source)),
            pointer: Some(error.pointer().into()),
            keyword: error.keyword().or_else(|| error.contradicting().next()).map(Into::into),
            hint: error.hint().map(Into::into),
            limit: error.limit().map(|(_, given, limit)| (given as u64, limit as u64)),
            ..Self::of(code)
        }
    }

    fn of_build(error: &BuildError) -> Self {
        let code = match error {
            _ if error.is_interrupted() => ErrorCode::Interrupted,
            _ if error.limit_met().is_some() => ErrorCode::Limit,
            _ if error.is_unsatisfiable() => ErrorCode::Unsatisfiable,
            _ if error.is_unknown_token() => ErrorCode::UnknownToken,
            // An operator on what is not regular.
            _ => ErrorCode::Unsupported,
        };
        ErrorFacts { span: error.span(), line_column: error.line_column(), limit: error.limit_met(), ..Self::of(code) }
    }
}

impl CompileError {
    /// Returns what is known of the error as plain values. `source` is the text that was compiled, for lines and columns in it.
    ///
    /// ```
    /// use maskwright::compiler::ErrorCode;
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens(["a"])?.into());
    /// let source = "root ::= a\nb ::= [";
    /// let facts = compiler.compile_ebnf(source).unwrap_err().facts(source);
    /// assert_eq!((facts.code, facts.line_column), (ErrorCode::Syntax, Some((2, 7))));
    /// let source = r#"{"properties": {"a": {"type": "integer", "minimum": "1"}}}"#;
    /// let facts = compiler.compile_json_schema(source).unwrap_err().facts(source);
    /// assert_eq!((facts.code, facts.keyword.as_deref()), (ErrorCode::Document, Some("minimum")));
    /// assert_eq!(facts.pointer.as_deref(), Some("/properties/a/minimum"));
    /// # Ok::<(), maskwright::VocabError>(())
    /// ```
    pub fn facts(&self, source: &str) -> ErrorFacts {
        match self {
            CompileError::Syntax(error) => ErrorFacts::of_syntax(error),
            CompileError::Schema(error) => ErrorFacts::of_schema(error, source),
            CompileError::Operand(error) => ErrorFacts {
                span: error.span(),
                line_column: error.span().map(|span| span.line_column(source)),
                ..ErrorFacts::of_schema(error.schema_error(), "")
            },
            CompileError::Tag(error) if error.as_json().is_some() => error
                .as_json()
                .map_or_else(|| ErrorFacts::of(ErrorCode::Document), |json| ErrorFacts::of_schema(json, source)),
            CompileError::Tag(error) => {
                let span = error.span();
                let inner = match (error.as_syntax(), error.as_schema()) {
                    _ if error.as_build().is_some() => {
                        error.as_build().map_or_else(|| ErrorFacts::of(ErrorCode::Limit), ErrorFacts::of_build)
                    }
                    (Some(syntax), _) => ErrorFacts::of_syntax(syntax),
                    (None, Some(schema)) => ErrorFacts::of_schema(schema, ""),
                    (None, None) => ErrorFacts {
                        limit: error.limit_met(),
                        ..ErrorFacts::of(match error {
                            _ if error.limit_met().is_some() => ErrorCode::Limit,
                            _ if error.is_unsupported() => ErrorCode::Unsupported,
                            _ => ErrorCode::Document,
                        })
                    },
                };
                let within = inner.pointer.unwrap_or_default();
                ErrorFacts {
                    pointer: Some(format!("{}{within}", error.pointer())),
                    span,
                    line_column: span.map(|span| span.line_column(source)),
                    ..inner
                }
            }
            CompileError::Build(error) => ErrorFacts::of_build(error),
        }
    }
}
