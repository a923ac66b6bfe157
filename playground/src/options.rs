//! Options that commands share: which grammar, how to read it, which vocabulary.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use maskwright::json_schema::{Draft, SchemaOptions, Spelling, WhiteSpace};
use std::path::PathBuf;

/// The form of the grammar.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Grammar")]
pub struct GrammarArgs {
    /// A regular expression instead of a grammar file; the whole document matches it
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true, conflicts_with_all = ["ebnf", "lark", "schema", "tag", "root"])]
    pub regex: Option<String>,
    /// Read the grammar file as EBNF (GBNF files are), whatever it looks like
    #[arg(long, visible_alias = "gbnf", conflicts_with_all = ["lark", "schema", "tag"])]
    pub ebnf: bool,
    /// Read the grammar file as Lark
    #[arg(long, conflicts_with_all = ["schema", "tag", "root"])]
    pub lark: bool,
    /// Read the grammar file as a JSON Schema
    #[arg(long, conflicts_with_all = ["tag", "root"])]
    pub schema: bool,
    /// Read the grammar file as a structural tag
    #[arg(long, conflicts_with = "root")]
    pub tag: bool,
    /// The rule of an EBNF grammar that the whole document matches [default: root]
    #[arg(long, value_name = "RULE")]
    pub root: Option<String>,
    #[command(flatten)]
    pub schema_args: SchemaArgs,
}

/// How a JSON Schema is compiled.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "JSON Schema")]
pub struct SchemaArgs {
    /// Where the schema is within the file, as a JSON pointer, like /components/schemas/Pet
    #[arg(long, value_name = "POINTER")]
    pub schema_pointer: Option<String>,
    /// Relax what can't be enforced, instead of refusing the schema
    #[arg(long)]
    pub lenient: bool,
    /// White space between JSON tokens: compact, flexible, flexible=N (runs of at most N characters) or indent=N
    #[arg(long, value_name = "FORM", value_parser = white_space, conflicts_with = "separators")]
    pub white_space: Option<WhiteSpace>,
    /// Exactly these separators between items and behind keys, like ", " and ": "
    #[arg(long, num_args = 2, value_names = ["ITEM", "KEY"], allow_hyphen_values = true)]
    pub separators: Option<Vec<String>>,
    /// Don't assert `format`
    #[arg(long)]
    pub no_formats: bool,
    /// Objects without `additionalProperties` allow their `properties` alone
    #[arg(long)]
    pub no_additional_properties: bool,
    /// The keys of an object may come in any order, and not only as declared
    #[arg(long)]
    pub any_order: bool,
    /// The spelling of characters in constrained strings
    #[arg(long, value_name = "SPELLING")]
    pub spelling: Option<SpellingName>,
    /// Integers may be written with a fraction of zeros, like 1.0
    #[arg(long)]
    pub integer_fractions: bool,
    /// The draft of schemas without `$schema`: 4, 6, 7, 2019-09 or 2020-12
    #[arg(long, value_name = "DRAFT", value_parser = draft)]
    pub draft: Option<Draft>,
    /// Keywords of other drafts are annotations
    #[arg(long)]
    pub no_foreign_keywords: bool,
    /// `nullable` counts also in schemas with `$schema`
    #[arg(long)]
    pub nullable: bool,
}

/// A spelling, by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpellingName {
    /// Each character in one way, with the shortest escape.
    Shortest,
    /// Each character in every way of JSON.
    Any,
}

/// Reads a form of white space.
///
/// # Errors
/// If there is no such form: which there are.
pub fn white_space(text: &str) -> Result<WhiteSpace, String> {
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is no number"));
    match text.split_once('=') {
        None if text == "compact" => Ok(WhiteSpace::Compact),
        None if text == "flexible" => Ok(WhiteSpace::default()),
        Some(("flexible", run_max)) => Ok(WhiteSpace::Flexible { run_max: number(run_max)? }),
        Some(("indent", spaces)) => Ok(WhiteSpace::Indent { spaces: number(spaces)? }),
        _ => Err("it is compact, flexible, flexible=N or indent=N".to_owned()),
    }
}

/// Reads the name of a draft.
///
/// # Errors
/// If there is no such draft: which there are.
pub fn draft(text: &str) -> Result<Draft, String> {
    match text {
        "4" => Ok(Draft::Draft4),
        "6" => Ok(Draft::Draft6),
        "7" => Ok(Draft::Draft7),
        "2019-09" | "2019" => Ok(Draft::Draft2019),
        "2020-12" | "2020" => Ok(Draft::Draft2020),
        _ => Err("it is 4, 6, 7, 2019-09 or 2020-12".to_owned()),
    }
}

impl SchemaArgs {
    /// Returns the options of compiling a schema.
    pub fn options(&self) -> SchemaOptions {
        let mut options = SchemaOptions {
            is_lenient: self.lenient,
            has_formats: !self.no_formats,
            has_additional_properties: !self.no_additional_properties,
            has_integer_fractions: self.integer_fractions,
            has_any_order: self.any_order,
            ..SchemaOptions::default()
        };
        if let Some(white_space) = &self.white_space {
            options.white_space = white_space.clone();
        }
        if let Some([item, key]) = self.separators.as_deref() {
            options.white_space = WhiteSpace::Separators { item: item.as_str().into(), key: key.as_str().into() };
        }
        if self.spelling == Some(SpellingName::Any) {
            options.spelling = Spelling::Any;
        }
        if let Some(draft) = self.draft {
            options.read.draft = draft;
        }
        options.read.has_foreign_keywords = !self.no_foreign_keywords;
        options.read.has_nullable = self.nullable;
        // As it stands in messages and in `$ref`, with `#` before it, it is the same place.
        let pointer = self.schema_pointer.as_deref().unwrap_or_default();
        options.read.pointer = pointer.strip_prefix('#').unwrap_or(pointer).to_owned();
        options
    }

    /// Returns the first option that was given.
    fn given(&self) -> Option<&'static str> {
        let given = [
            (self.schema_pointer.is_some(), "--schema-pointer"),
            (self.lenient, "--lenient"),
            (self.white_space.is_some(), "--white-space"),
            (self.separators.is_some(), "--separators"),
            (self.no_formats, "--no-formats"),
            (self.no_additional_properties, "--no-additional-properties"),
            (self.any_order, "--any-order"),
            (self.spelling.is_some(), "--spelling"),
            (self.integer_fractions, "--integer-fractions"),
            (self.draft.is_some(), "--draft"),
            (self.no_foreign_keywords, "--no-foreign-keywords"),
            (self.nullable, "--nullable"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }

    /// Refuses options of schemas for what is no schema.
    ///
    /// # Errors
    /// If one was given.
    pub fn check_unused(&self, form: &str) -> Result<(), Failure> {
        match self.given() {
            None => Ok(()),
            Some(name) => Err(Failure::Usage(format!("{name} is for JSON Schemas, and the grammar is {form}"))),
        }
    }
}

/// The grammar of a command that has one.
#[derive(Args, Clone, Debug, Default)]
pub struct FileArgs {
    /// The grammar file, unless --regex is given; `-` is standard input
    ///
    /// Its form is that of its options, else of its contents and its name: JSON is a structural tag or a JSON Schema; `.lark` is Lark, `.ebnf` and `.gbnf` are EBNF; in
    /// other files `::=` tells EBNF from Lark.
    #[arg(value_name = "GRAMMAR_FILE", required_unless_present = "regex", conflicts_with = "regex")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub grammar: GrammarArgs,
}

/// The vocabulary.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Vocabulary")]
pub struct VocabArgs {
    /// Vocabulary: cl100k_base, o200k_base, or the path of a tokenizer.json or .tiktoken file
    #[arg(long, value_name = "VOCAB", default_value = "cl100k_base")]
    pub vocab: String,
    /// A token that ends the output, by id or name, instead of those of the vocabulary (can be repeated)
    #[arg(long, value_name = "TOKEN")]
    pub stop_token: Vec<String>,
}

/// A text before a mask.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Text so far")]
pub struct PrefixArgs {
    /// Text so far, with the escapes \n \r \t \\ \xHH
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "prefix_file")]
    pub prefix: Option<String>,
    /// File with the text so far, byte by byte; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub prefix_file: Option<PathBuf>,
    /// Read names of control tokens in the text that the grammar names, such as `<|eot_id|>` or `<[7]>`, or that spell its markers, as those tokens
    #[arg(long)]
    pub control_tokens: bool,
}

impl PrefixArgs {
    /// Returns the bytes of the text.
    ///
    /// # Errors
    /// If the file can't be read, or the text has an unknown escape.
    pub fn read(&self) -> Result<Vec<u8>, Failure> {
        match (&self.prefix_file, &self.prefix) {
            (Some(path), _) => crate::source::read_file(path),
            (None, Some(text)) => crate::output::unescaped(text).map_err(Failure::Usage),
            (None, None) => Ok(Vec::new()),
        }
    }
}
