//! Grammars from files and patterns; JSON Schemas from files.

use crate::cli::GrammarArgs;
use crate::failure::Failure;
use crate::output::complain;
use maskwright::json_schema::SchemaOptions;
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, Vocab};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 28;

/// A grammar to compile.
#[derive(Clone, Debug)]
pub struct GrammarSource {
    /// The path, or a description of the source.
    pub name: String,
    /// EBNF, Lark, a pattern or a schema.
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
    Schema { is_lenient: bool },
}

impl GrammarSource {
    /// Reads the pattern if there is one, else the file.
    ///
    /// # Errors
    /// If the file can't be read or is not UTF-8.
    pub fn read(args: &GrammarArgs, file: Option<&Path>) -> Result<Self, Failure> {
        if let Some(pattern) = &args.regex {
            return Ok(GrammarSource { name: "--regex".into(), text: pattern.clone(), form: Form::Regex });
        }
        let Some(path) = file else { return Err(Failure::Usage("there is no grammar file".into())) };
        let name = shown_path(path);
        let text = String::from_utf8(read_file(path)?).map_err(|error| Failure::File {
            path: name.clone(),
            message: format!("the grammar is not UTF-8 at byte {}", error.utf8_error().valid_up_to()),
        })?;
        // The byte order mark that some editors write.
        let text = text.strip_prefix('\u{FEFF}').map_or(text.clone(), str::to_owned);
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let is_lark = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("lark"));
        let form = match args.schema || is_json {
            true => Form::Schema { is_lenient: false },
            false if is_lark => Form::Lark,
            false => Form::Ebnf { root: args.root.clone() },
        };
        Ok(GrammarSource { name, text, form })
    }

    /// Reads a schema from a file of any name.
    ///
    /// # Errors
    /// If the file can't be read or is not UTF-8.
    pub fn read_schema(file: &Path, is_lenient: bool) -> Result<Self, Failure> {
        let args = GrammarArgs { root: "root".into(), regex: None, schema: true };
        Ok(GrammarSource { form: Form::Schema { is_lenient }, ..GrammarSource::read(&args, Some(file))? })
    }

    /// Compiles the grammar, prints its warnings to standard error, and returns the time it took.
    ///
    /// # Errors
    /// If the grammar can't be compiled.
    pub fn compile(&self, vocab: Arc<Vocab>) -> Result<(CompiledGrammar, Duration), Failure> {
        let compiler = GrammarCompiler::new(vocab);
        let start = Instant::now();
        let compiled = match &self.form {
            Form::Ebnf { root } => compiler.compile_ebnf_with_root(&self.text, root),
            Form::Lark => compiler.compile_lark(&self.text),
            Form::Regex => compiler.compile_regex(&self.text),
            Form::Schema { is_lenient } => {
                let options = SchemaOptions { is_lenient: *is_lenient, ..SchemaOptions::default() };
                compiler.compile_json_schema_with(&self.text, &options, &CompileOptions::default())
            }
        };
        let time = start.elapsed();
        let grammar = compiled.map_err(|error| Failure::Grammar { from: self.name.clone(), error })?;
        for warning in grammar.warnings() {
            let mut text = format!("warning: {}: {warning}", self.name);
            if let Some(span) = warning.span() {
                let (line, column) = span.line_column(&self.text);
                text.push_str(&format!(" (line {line}, column {column})"));
            }
            complain(&text);
        }
        Ok((grammar, time))
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
