//! The command line.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  yes: the documents match, the token is allowed, the demo's checks passed
  1  no: a document doesn't match, the token is not allowed, a check failed
  2  the command line is wrong
  3  the grammar can't be compiled
  4  a file or a vocabulary can't be read, or the output can't be written";

/// Tries grammars: exact token masks for language models.
#[derive(Parser, Debug)]
#[command(name = "playground", version, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Samples JSON, arithmetic and a tool call from the embedded cl100k_base vocabulary, and checks the results.
    Demo(DemoArgs),
    /// Checks documents against a grammar and shows where and why one doesn't match. Without documents, checks the grammar.
    Check(CheckArgs),
    /// Shows the tokens that may follow a prefix, and why others may not.
    Mask(MaskArgs),
    /// Samples a document of a grammar or schema, and prints it.
    Generate(GenerateArgs),
    /// Shows for each keyword of a JSON Schema whether it is enforced, relaxed or an annotation.
    Explain(ExplainArgs),
}

/// Options of `demo`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct DemoArgs {
    /// Seed of the sampler: the same seed, the same output
    #[arg(long, default_value_t = 85)]
    pub seed: u64,
    /// Most tokens of each output, the stop token included; the output is closed in time (twice the shortest if that is longer)
    #[arg(long, default_value_t = 80, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub max_tokens: u32,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `check`.
#[derive(Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground check [OPTIONS] GRAMMAR_FILE [DOCUMENT|-]...\n       playground check [OPTIONS] --regex PATTERN [DOCUMENT|-]..."
)]
pub struct CheckArgs {
    /// The grammar file (unless --regex is given), then documents; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "regex")]
    pub files: Vec<PathBuf>,
    /// Check this text too (can be repeated)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Vec<String>,
    #[command(flatten)]
    pub grammar: GrammarArgs,
    /// Read names of the grammar's control tokens in a document, such as `<|eot_id|>` or `<[7]>`, as those tokens
    #[arg(long)]
    pub control_tokens: bool,
    /// Drop one line end at the end of each document file, which editors add
    #[arg(long)]
    pub trim: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `mask`.
#[derive(Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground mask [OPTIONS] GRAMMAR_FILE\n       playground mask [OPTIONS] --regex PATTERN"
)]
pub struct MaskArgs {
    /// The grammar file, unless --regex is given; `-` is standard input
    #[arg(value_name = "GRAMMAR_FILE", required_unless_present = "regex", conflicts_with = "regex")]
    pub file: Option<PathBuf>,
    /// Text before the mask
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "prefix_file")]
    pub prefix: Option<String>,
    /// File with the text before the mask; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub prefix_file: Option<PathBuf>,
    #[command(flatten)]
    pub grammar: GrammarArgs,
    /// Read names of control tokens in the prefix as those tokens
    #[arg(long)]
    pub control_tokens: bool,
    /// How many of the allowed tokens to show
    #[arg(short = 'n', long = "show", value_name = "N", default_value_t = 20)]
    pub show: usize,
    /// Explain why a token is allowed or not: an id, a name, or its text (can be repeated)
    ///
    /// Text is read with the escapes \n \r \t \\ \xHH; put it in double quotes if it is a number.
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    pub why: Vec<String>,
    /// Vocabulary: cl100k_base, o200k_base, or the path of a tokenizer.json or .tiktoken file
    #[arg(long, value_name = "VOCAB", default_value = "cl100k_base")]
    pub vocab: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `generate`.
#[derive(Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground generate [OPTIONS] GRAMMAR_FILE\n       playground generate [OPTIONS] --regex PATTERN"
)]
pub struct GenerateArgs {
    /// The grammar file, unless --regex is given; `-` is standard input
    #[arg(value_name = "GRAMMAR_FILE", required_unless_present = "regex", conflicts_with = "regex")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub grammar: GrammarArgs,
    /// Seed of the sampler: the same seed, the same document
    #[arg(long, default_value_t = 85)]
    pub seed: u64,
    /// Most tokens of the document, the stop token included; the document is closed in time
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub max_tokens: u32,
    /// Vocabulary: cl100k_base, o200k_base, or the path of a tokenizer.json or .tiktoken file
    #[arg(long, value_name = "VOCAB", default_value = "cl100k_base")]
    pub vocab: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `explain`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct ExplainArgs {
    /// The schema file; `-` is standard input
    #[arg(value_name = "SCHEMA_FILE")]
    pub file: PathBuf,
    /// Relax what can't be enforced, instead of refusing the schema
    #[arg(long)]
    pub lenient: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The form of the grammar.
#[derive(Args, Debug)]
pub struct GrammarArgs {
    /// The rule that the whole document matches
    #[arg(long, value_name = "RULE", default_value = "root", conflicts_with = "regex")]
    pub root: String,
    /// A regular expression instead of a grammar file; the whole document matches it
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub regex: Option<String>,
    /// Read the grammar file as a JSON Schema, whatever its name; `.json` files always are
    #[arg(long, conflicts_with_all = ["regex", "root"])]
    pub schema: bool,
}
