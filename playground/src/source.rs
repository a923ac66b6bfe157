//! Grammars from files and patterns, and the one place that compiles them.

use crate::failure::Failure;
use crate::options::{FileArgs, GrammarArgs, VocabArgs};
use crate::output::{complain, counted, harmless, of_command};
use crate::places::Places;
use crate::vocabulary;
use maskwright::frontend::Dialect;
use maskwright::frontend::regex::RegexOptions;
use maskwright::grammar::{Grammar, Warning};
use maskwright::json_schema::{SchemaOptions, Verdict};
use maskwright::structural_tag::{StructuralTag, TagOptions};
use maskwright::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler, Limits, Matcher, TokenId, Vocab};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 28;
/// Most warnings that are printed for people.
const WARNINGS_MAX: usize = 10;

/// A grammar to compile.
#[derive(Clone, Debug)]
pub struct GrammarSource {
    /// The path, or a description of the source.
    pub name: String,
    /// EBNF, Lark, a pattern, a schema or a structural tag.
    pub text: String,
    /// How to read it.
    pub form: Form,
}

/// The form of a grammar.
#[derive(Clone, Debug)]
pub enum Form {
    /// EBNF, with its root rule.
    Ebnf { root: String },
    /// Lark.
    Lark,
    /// A regular expression.
    Regex,
    /// A JSON Schema.
    Schema(Box<SchemaOptions>),
    /// A structural tag.
    Tag,
}

impl Form {
    /// Returns the name of the form.
    pub fn name(&self) -> &'static str {
        match self {
            Form::Ebnf { .. } => "EBNF",
            Form::Lark => "Lark",
            Form::Regex => "a regular expression",
            Form::Schema(_) => "a JSON Schema",
            Form::Tag => "a structural tag",
        }
    }

    /// Finds the form of a text: as the options say, else by its contents and the extension of its file.
    ///
    /// # Errors
    /// If an option has no meaning for that form.
    pub fn find(args: &GrammarArgs, extension: &str, text: &str) -> Result<Form, Failure> {
        let is = |name: &str| extension.eq_ignore_ascii_case(name);
        let start = text.trim_start().as_bytes().first();
        let is_json = is("json") || start == Some(&b'{') || matches!(text.trim(), "true" | "false");
        let root = || args.root.clone().unwrap_or_else(|| "root".into());
        let schema = || Form::Schema(Box::new(args.schema_args.options()));
        let form = match args {
            _ if args.regex.is_some() => Form::Regex,
            _ if args.ebnf => Form::Ebnf { root: root() },
            _ if args.lark => Form::Lark,
            _ if args.schema => schema(),
            _ if args.tag => Form::Tag,
            _ if is_json && is_tag(text) => Form::Tag,
            _ if is_json => schema(),
            _ if is("lark") => Form::Lark,
            _ if is("ebnf") || is("gbnf") || is("bnf") || args.root.is_some() => Form::Ebnf { root: root() },
            _ => match Dialect::of(text) {
                Dialect::Ebnf => Form::Ebnf { root: root() },
                Dialect::Lark => Form::Lark,
            },
        };
        if args.root.is_some() && !matches!(form, Form::Ebnf { .. }) {
            return Err(Failure::Usage(format!("--root is for EBNF, and the grammar is {}", form.name())));
        }
        if !matches!(form, Form::Schema(_)) {
            args.schema_args.check_unused(form.name())?;
        }
        Ok(form)
    }
}

/// Returns whether two forms read a text in the same way.
fn is_same_form(one: &Form, other: &Form) -> bool {
    match (one, other) {
        (Form::Ebnf { root: one }, Form::Ebnf { root: other }) => one == other,
        (Form::Schema(one), Form::Schema(other)) => one == other,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// Returns whether a JSON document has the envelope of a structural tag.
fn is_tag(text: &str) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str(text) else { return false };
    // Without a `format` it is no schema either: read as a tag, the error says what is missing.
    members.get("type").is_some_and(|name| name == "structural_tag")
        || members.contains_key("structures") && members.contains_key("triggers")
}

/// A grammar compiled for a vocabulary.
pub struct Loaded {
    /// The source.
    pub source: GrammarSource,
    /// The grammar.
    pub grammar: CompiledGrammar,
    /// The stop tokens, if they are not the vocabulary's.
    pub stop_tokens: Option<Vec<TokenId>>,
    /// How long compiling took.
    pub compile_time: Duration,
}

impl Loaded {
    /// Reads and compiles the grammar of a command, and prints its warnings to standard error.
    ///
    /// # Errors
    /// If the grammar or the vocabulary can't be read, the grammar can't be compiled, or there is no such stop token.
    pub fn new(file: &FileArgs, vocab: &VocabArgs) -> Result<Self, Failure> {
        let source = GrammarSource::read(&file.grammar, file.file.as_deref())?;
        Self::of_source(source, vocab)
    }

    /// As [`Self::new`], for a source that was read.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn of_source(source: GrammarSource, args: &VocabArgs) -> Result<Self, Failure> {
        let vocab = Arc::new(vocabulary::read(&args.vocab)?);
        let stop_tokens = vocabulary::stop_tokens(&vocab, &args.stop_token)?;
        let (grammar, compile_time) = source.compile(vocab)?;
        Ok(Loaded { source, grammar, stop_tokens, compile_time })
    }

    /// Returns a matcher with the stop tokens of the command.
    pub fn matcher(&self) -> Matcher {
        let mut matcher = self.grammar.matcher();
        if let Some(tokens) = &self.stop_tokens {
            matcher.set_stop_tokens(tokens).expect("the ids are in the vocabulary");
        }
        matcher
    }
}

impl GrammarSource {
    /// Reads the pattern if there is one, else the file.
    ///
    /// # Errors
    /// If the file can't be read or is not UTF-8, or an option has no meaning for it.
    pub fn read(args: &GrammarArgs, file: Option<&Path>) -> Result<Self, Failure> {
        if let Some(pattern) = &args.regex {
            let form = Form::find(args, "", pattern)?;
            return Ok(GrammarSource { name: "--regex".into(), text: pattern.clone(), form });
        }
        let Some(path) = file else { return Err(Failure::Usage("there is no grammar file".into())) };
        let name = shown_path(path);
        let text = String::from_utf8(read_file(path)?).map_err(|error| Failure::File {
            path: name.clone(),
            message: format!("the grammar is not UTF-8 at byte {}", error.utf8_error().valid_up_to()),
        })?;
        // The byte order mark that some editors write.
        let text = text.strip_prefix('\u{FEFF}').map_or(text.clone(), str::to_owned);
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let form = Form::find(args, &extension, &text)?;
        Ok(GrammarSource { name, text, form })
    }

    /// Returns whether this is the same text as another source, read in the same way.
    pub fn is_same(&self, other: &GrammarSource) -> bool {
        self.text == other.text && is_same_form(&self.form, &other.form)
    }

    /// Returns the grammar as it was parsed, if it is not a schema: what names control tokens.
    pub fn parsed(&self) -> Option<Grammar> {
        use maskwright::frontend::{ebnf, lark};
        let limits = Limits::default();
        match &self.form {
            Form::Ebnf { root } => ebnf::parse(&self.text, root, &limits).ok().map(|parsed| parsed.grammar),
            Form::Lark => lark::parse(&self.text, &limits).ok().map(|parsed| parsed.grammar),
            Form::Tag => {
                let tag = StructuralTag::parse(&self.text, &TagOptions::default(), &limits).ok();
                tag.map(|tag| tag.grammar().clone())
            }
            Form::Regex | Form::Schema(_) => None,
        }
    }

    /// Compiles the grammar without a word.
    ///
    /// # Errors
    /// If the grammar can't be compiled.
    pub fn compile_with(
        &self,
        compiler: &GrammarCompiler,
        options: &CompileOptions,
    ) -> Result<CompiledGrammar, CompileError> {
        match &self.form {
            Form::Ebnf { root } => compiler.compile_ebnf_with(&self.text, root, options),
            Form::Lark => compiler.compile_lark_with(&self.text, options),
            Form::Regex => compiler.compile_regex_with(&self.text, &RegexOptions::default(), options),
            Form::Schema(schema) => compiler.compile_json_schema_with(&self.text, schema, options),
            Form::Tag => compiler.compile_structural_tag_with(&self.text, &TagOptions::default(), options),
        }
    }

    /// Returns the failure of an error.
    pub fn failure(&self, error: CompileError) -> Failure {
        let facts = Box::new(error.facts(&self.text));
        Failure::Grammar { from: self.name.clone(), error, facts }
    }

    /// Compiles the grammar, prints its warnings to standard error, and returns the time it took.
    ///
    /// # Errors
    /// If the grammar can't be compiled.
    pub fn compile(&self, vocab: Arc<Vocab>) -> Result<(CompiledGrammar, Duration), Failure> {
        let compiler = GrammarCompiler::new(vocab);
        let start = Instant::now();
        let compiled = self.compile_with(&compiler, &CompileOptions::default());
        let time = start.elapsed();
        let grammar = compiled.map_err(|error| self.failure(error))?;
        let places = Places::new(&self.text);
        for warning in grammar.warnings().iter().take(WARNINGS_MAX) {
            let mut text = format!("warning: {}: {}", self.name, harmless(&of_command(&warning.to_string())));
            if let Some(span) = warning.span() {
                let (line, column) = places.line_column(span.start as usize);
                text.push_str(&format!(" (line {line}, column {column})"));
            }
            complain(&text);
        }
        if let Some(n_more @ 1..) = grammar.warnings().len().checked_sub(WARNINGS_MAX) {
            complain(&format!("warning: {}: {n_more} more like these; `playground lint` lists them", self.name));
        }
        let findings = grammar.schema_reports().flat_map(|(_, report)| report.findings());
        let n_relaxed = findings.filter(|finding| matches!(finding.verdict, Verdict::Relaxed(_))).count();
        if n_relaxed > 0 {
            let keywords = counted(n_relaxed, "keyword");
            complain(&format!("warning: {}: not enforced: {keywords}; `playground explain` lists them", self.name));
        }
        Ok((grammar, time))
    }

    /// Returns warnings about the grammar as JSON.
    pub fn warnings_json(&self, warnings: &[Warning]) -> Value {
        let places = Places::new(&self.text);
        let of = |warning: &Warning| {
            let place = warning.span().map(|span| places.line_column(span.start as usize));
            json!({
                "message": of_command(&warning.to_string()),
                "rule": (!warning.rule().is_empty()).then(|| warning.rule()),
                "line": place.map(|(line, _)| line),
                "column": place.map(|(_, column)| column),
            })
        };
        warnings.iter().map(of).collect()
    }
}

/// Reads a whole file, or standard input for `-`.
///
/// # Errors
/// If it can't be read or is too long.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |message: String| Failure::File { path: shown_path(path), message };
    let mut bytes = Vec::new();
    let read = if is_stdin(path) {
        std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    match read {
        Err(error) => Err(failed(error.to_string())),
        Ok(_) if bytes.len() as u64 > FILE_BYTES_MAX => Err(failed(format!("it has more than {FILE_BYTES_MAX} bytes"))),
        Ok(_) => Ok(bytes),
    }
}

/// Returns whether a path means standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses to read standard input twice.
///
/// # Errors
/// If more than one path is `-`.
pub fn check_stdin_once<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    match paths.into_iter().filter(|path| is_stdin(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::Usage("standard input (`-`) can be read only once".into())),
    }
}

/// Shows a path; control characters in it are shown as question marks.
pub fn shown_path(path: &Path) -> String {
    if is_stdin(path) {
        return "standard input".into();
    }
    path.to_string_lossy().chars().map(|c| if crate::output::is_unseen(c) { '?' } else { c }).collect()
}
