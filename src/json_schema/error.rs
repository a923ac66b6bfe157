//! Errors of schemas.

use super::value::{Json, ValueId};
use crate::frontend::SyntaxError;
use crate::pass::BuildError;
use crate::util::Span;
use core::fmt;

/// The reason why a schema can't be compiled, with the document and the JSON pointer.
///
/// `{}` is one line; `{:#}` adds the source line with a caret, if the schema came from a text.
///
/// ```
/// use maskwright::{Limits, json_schema::{Json, NoDocuments, ReadOptions, SchemaModel}};
/// let json = Json::parse(r#"{"properties": {"a": {"minLength": -1}}}"#, &Limits::default())?;
/// let error = SchemaModel::read(json, &ReadOptions::default(), &NoDocuments, &Limits::default()).unwrap_err();
/// assert_eq!(error.keyword(), Some("minLength"));
/// assert_eq!(error.pointer(), "/properties/a/minLength");
/// assert_eq!(error.to_string(), "`minLength` at #/properties/a/minLength must be a non-negative integer, not -1");
/// # Ok::<(), maskwright::json_schema::SchemaError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SchemaError {
    parts: Box<Parts>,
}

#[derive(Clone, PartialEq, Eq)]
struct Parts {
    kind: Kind,
    /// Empty for the schema itself.
    document: Box<str>,
    pointer: Box<str>,
    span: Option<Span>,
    excerpt: Box<str>,
    /// Whether the document and the pointer are known: both are empty at the root.
    is_placed: bool,
    hint: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Syntax(SyntaxError),
    Keyword {
        keyword: Box<str>,
        reason: Box<str>,
    },
    NotASchema {
        found: Box<str>,
    },
    DuplicateKey {
        key: Box<str>,
    },
    MissingDocument {
        keyword: Box<str>,
        uri: Box<str>,
    },
    MissingTarget {
        keyword: Box<str>,
        reference: Box<str>,
        reason: Box<str>,
    },
    Limit {
        bound: &'static str,
        given: usize,
        limit: usize,
    },
    Unsupported {
        keyword: Box<str>,
        reason: Box<str>,
    },
    Unsatisfiable {
        reason: Box<str>,
        keywords: Box<[Box<str>]>,
    },
    Option {
        option: &'static str,
        reason: Box<str>,
    },
    /// Whoever watches wanted to stop, and says why.
    Interrupted,
}

/// The reason why lowering failed.
#[derive(Debug)]
pub(crate) enum LowerError {
    Schema(SchemaError),
    /// A deadline, a cancellation or a limit.
    Build(BuildError),
}

/// The result of expanding or lowering a part of a schema.
pub(super) type Expanded<T> = Result<T, LowerError>;

impl From<SchemaError> for LowerError {
    fn from(error: SchemaError) -> Self {
        LowerError::Schema(error)
    }
}

impl From<BuildError> for LowerError {
    fn from(error: BuildError) -> Self {
        LowerError::Build(error)
    }
}

impl SchemaError {
    fn new(kind: Kind) -> Self {
        let (document, pointer, excerpt, hint) = Default::default();
        let parts = Parts { kind, document, pointer, span: None, excerpt, is_placed: false, hint };
        SchemaError { parts: Box::new(parts) }
    }

    pub(super) fn syntax(error: SyntaxError) -> Self {
        let span = error.span();
        let mut this = SchemaError::new(Kind::Syntax(error));
        this.parts.span = Some(span);
        this
    }

    pub(super) fn interrupted() -> Self {
        SchemaError::new(Kind::Interrupted)
    }

    pub(super) fn keyword_value(keyword: &str, reason: impl Into<String>) -> Self {
        SchemaError::new(Kind::Keyword { keyword: keyword.into(), reason: reason.into().into() })
    }

    pub(super) fn not_a_schema(found: impl Into<String>) -> Self {
        SchemaError::new(Kind::NotASchema { found: found.into().into() })
    }

    pub(super) fn duplicate_key(key: &str) -> Self {
        SchemaError::new(Kind::DuplicateKey { key: key.into() })
    }

    pub(super) fn without_document(keyword: &str, uri: &str) -> Self {
        SchemaError::new(Kind::MissingDocument { keyword: keyword.into(), uri: uri.into() })
    }

    pub(super) fn missing_target(keyword: &str, reference: &str, reason: impl Into<String>) -> Self {
        let reason = reason.into().into();
        SchemaError::new(Kind::MissingTarget { keyword: keyword.into(), reference: reference.into(), reason })
    }

    /// Returns the error for a bound on the members of an object that is too large.
    pub(super) fn too_many_members(keyword: &str, bound: u64, limit: u64) -> Self {
        let reason = format!("{bound} members would have to be told apart, and at most {limit} are");
        SchemaError::unsupported(keyword, reason)
    }

    pub(super) fn too_much(bound: &'static str, given: usize, limit: usize) -> Self {
        SchemaError::new(Kind::Limit { bound, given, limit })
    }

    /// Returns the error for a keyword that can't be enforced exactly.
    pub(super) fn unsupported(keyword: &str, reason: impl Into<String>) -> Self {
        SchemaError::new(Kind::Unsupported { keyword: keyword.into(), reason: reason.into().into() })
    }

    /// Returns the error for a schema without values, because of some keywords.
    pub(super) fn unsatisfiable(reason: impl Into<String>, keywords: Vec<String>) -> Self {
        let keywords = keywords.into_iter().map(Into::into).collect();
        SchemaError::new(Kind::Unsatisfiable { reason: reason.into().into(), keywords })
    }

    /// Returns the error that no valid value has the form that the options ask for.
    pub(crate) fn without_form() -> Self {
        Self::unsatisfiable("no valid value has the form that `root` asks for", Vec::new())
    }

    /// Returns the error for an invalid option.
    pub(crate) fn option(option: &'static str, reason: impl Into<String>) -> Self {
        SchemaError::new(Kind::Option { option, reason: reason.into().into() })
    }

    /// Adds the location: a value of a document.
    pub(super) fn at(self, document: &str, json: &Json, id: ValueId) -> Self {
        self.placed_at(document, json, id).illustrated(json)
    }

    /// As [`Self::at`], without the excerpt, which takes as long as reading the source up to there: most errors of a question are never seen.
    pub(super) fn placed_at(mut self, document: &str, json: &Json, id: ValueId) -> Self {
        self.parts.document = document.into();
        self.parts.pointer = json.pointer(id).into();
        self.parts.is_placed = true;
        self.parts.span = (!json.source().is_empty()).then(|| json.span(id));
        self
    }

    /// Adds the excerpt of an error that was [placed](Self::placed_at) in a document.
    pub(super) fn illustrated(self, json: &Json) -> Self {
        match self.parts.span {
            Some(span) if self.parts.excerpt.is_empty() => self.in_source(json.source(), span),
            _ => self,
        }
    }

    /// Adds the location: a span of a source text.
    pub(super) fn in_source(mut self, source: &str, span: Span) -> Self {
        let mut excerpt = String::new();
        span.write_caret(source, &mut excerpt).expect("writing to a string succeeds");
        self.parts.span = Some(span);
        self.parts.excerpt = excerpt.into();
        self
    }

    /// Adds what the author may have meant.
    pub(super) fn with_hint(mut self, hint: String) -> Self {
        self.parts.hint = Some(hint.into());
        self
    }

    /// Returns what the author may have meant.
    pub fn hint(&self) -> Option<&str> {
        self.parts.hint.as_deref()
    }

    /// Replaces the keyword of the error.
    pub(super) fn about(mut self, word: &str) -> Self {
        if let Kind::Unsupported { keyword, .. } = &mut self.parts.kind {
            *keyword = word.into();
        }
        self
    }

    /// Returns whether the location was added.
    pub(super) fn is_placed(&self) -> bool {
        self.parts.is_placed
    }

    pub(super) fn in_document(mut self, document: &str) -> Self {
        self.parts.document = document.into();
        self
    }

    /// Returns the keyword whose value is malformed, unsupported or an unresolvable reference.
    pub fn keyword(&self) -> Option<&str> {
        match &self.parts.kind {
            Kind::Keyword { keyword, .. }
            | Kind::Unsupported { keyword, .. }
            | Kind::MissingDocument { keyword, .. }
            | Kind::MissingTarget { keyword, .. } => Some(keyword),
            _ => None,
        }
    }

    /// Returns the keywords that contradict each other, as they are written; none if the error is another or they are unknown.
    ///
    /// ```
    /// use maskwright::{CompileError, GrammarCompiler, Vocab};
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte]))?.into());
    /// let schema = r#"{"type": "object", "required": ["a"], "properties": {"a": {"enum": [1, 2], "type": "string"}}}"#;
    /// let Err(CompileError::Schema(error)) = compiler.compile_json_schema(schema) else { panic!() };
    /// assert_eq!(error.to_string(), "unsatisfiable: enum [1, 2] with type string, at #/properties/a");
    /// assert!(error.contradicting().eq(["enum", "type"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contradicting(&self) -> impl Iterator<Item = &str> {
        let keywords: &[Box<str>] = match &self.parts.kind {
            Kind::Unsatisfiable { keywords, .. } => keywords,
            _ => &[],
        };
        keywords.iter().map(|keyword| &**keyword)
    }

    /// Returns the JSON pointer of the location, from the root of its document.
    pub fn pointer(&self) -> &str {
        &self.parts.pointer
    }

    /// Returns the URI of the document of the location; empty for a schema without one.
    pub fn document(&self) -> &str {
        &self.parts.document
    }

    /// Returns the span in the source text, if the document was read from a text.
    pub fn span(&self) -> Option<Span> {
        self.parts.span
    }

    /// Returns the syntax error, if the document is not JSON.
    pub fn as_syntax(&self) -> Option<&SyntaxError> {
        if let Kind::Syntax(error) = &self.parts.kind { Some(error) } else { None }
    }

    /// Returns the URI of a referenced document that the resolver doesn't know.
    pub fn missing_document(&self) -> Option<&str> {
        if let Kind::MissingDocument { uri, .. } = &self.parts.kind { Some(uri) } else { None }
    }

    /// Returns the field of [`Limits`](crate::Limits) that was exceeded, the given value, and the limit.
    pub fn limit(&self) -> Option<(&'static str, usize, usize)> {
        if let Kind::Limit { bound, given, limit } = self.parts.kind { Some((bound, given, limit)) } else { None }
    }

    /// Returns whether no value is valid.
    pub fn is_unsatisfiable(&self) -> bool {
        matches!(self.parts.kind, Kind::Unsatisfiable { .. })
    }

    /// Returns whether the schema is well-formed and has a keyword that can't be enforced exactly.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.parts.kind, Kind::Unsupported { .. })
    }

    /// Returns the invalid option, like `separators`; the schema is well-formed then.
    pub fn invalid_option(&self) -> Option<&'static str> {
        if let Kind::Option { option, .. } = self.parts.kind { Some(option) } else { None }
    }

    /// Returns the reason, without the location.
    pub fn reason(&self) -> String {
        match &self.parts.kind {
            Kind::Syntax(error) => error.message().to_owned(),
            Kind::Keyword { reason, .. } | Kind::Option { reason, .. } => reason.to_string(),
            Kind::Unsupported { reason, .. } => format!("can't be enforced: {reason}"),
            Kind::Unsatisfiable { reason, .. } => format!("unsatisfiable: {reason}"),
            Kind::NotASchema { found } => format!("a schema must be an object or a boolean, not {found}"),
            Kind::DuplicateKey { key } => format!("the key {} is repeated", shown(key)),
            Kind::MissingDocument { uri, .. } => format!("needs the document {}, which is not known", shown(uri)),
            Kind::MissingTarget { reference, reason, .. } => format!("{} leads nowhere: {reason}", shown(reference)),
            Kind::Limit { bound, given, limit } => format!("{bound} is {limit}, but {given} would be needed"),
            Kind::Interrupted => "reading was interrupted".to_owned(),
        }
    }
}

/// Returns an untrusted text in quotes, truncated for messages.
pub(super) fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    match text.char_indices().nth(CHARS_MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, document, pointer, span, excerpt, hint, .. } = &*self.parts;
        let reason = self.reason();
        match kind {
            Kind::Syntax(error) => {
                if !document.is_empty() {
                    write!(f, "{document}: ")?;
                }
                return fmt::Display::fmt(error, f);
            }
            Kind::Option { option, .. } => write!(f, "the option `{option}` makes no sense: {reason}")?,
            Kind::Limit { .. } if pointer.is_empty() && span.is_none() => f.write_str(&reason)?,
            Kind::Keyword { keyword, .. }
            | Kind::Unsupported { keyword, .. }
            | Kind::MissingDocument { keyword, .. }
            | Kind::MissingTarget { keyword, .. } => write!(f, "`{keyword}` at {document}#{pointer} {reason}")?,
            _ => write!(f, "{reason}, at {document}#{pointer}")?,
        }
        if let Some(hint) = hint {
            write!(f, "; {hint}")?;
        }
        if f.alternate() {
            f.write_str(excerpt)?;
        }
        Ok(())
    }
}

impl fmt::Debug for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, document, pointer, span, .. } = &*self.parts;
        let mut fields = f.debug_struct("SchemaError");
        fields.field("kind", kind).field("document", document).field("pointer", pointer).field("span", span).finish()
    }
}

impl std::error::Error for SchemaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.as_syntax().map(|error| error as _)
    }
}
