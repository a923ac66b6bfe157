//! The command line: one variant per command; the arguments of a command are beside its code.

use crate::{bench, check, demo, explain, generate, graph, lint, mask, serve, shell, step, tokens, trace};
use clap::{Parser, Subcommand};

pub const EXIT_CODES: &str = "\
Exit codes:
  0  yes: the documents match, the token is allowed, nothing to complain of
  1  no: a document doesn't match, the token is not allowed, a check failed
  2  the command line is wrong
  3  the grammar can't be compiled
  4  a file or a vocabulary can't be read, the output can't be written, or a step exceeds the limits";

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
    Demo(demo::Args),
    /// Checks documents against a grammar and shows where and why one doesn't match. Without documents, checks the grammar.
    Check(check::Args),
    /// Shows the tokens that may follow a prefix, and why others may not.
    Mask(mask::Args),
    /// Samples documents of a grammar or schema, and prints them.
    Generate(generate::Args),
    /// Shows for each keyword of a JSON Schema whether it is enforced, relaxed or an annotation; or in what two grammars differ.
    Explain(explain::Args),
    /// Follows a document token by token: is it allowed, how many others are, and where is it blocked?
    Trace(trace::Args),
    /// Writes an output by hand, with commands from standard input.
    Step(step::Args),
    /// Lists probable mistakes in a grammar or schema.
    Lint(lint::Args),
    /// Prints the rules of a grammar as a graph: DOT or SVG.
    Graph(graph::Args),
    /// Measures compiling and masks on this machine.
    Bench(bench::Args),
    /// Prints completions for a shell.
    Completions(shell::CompletionsArgs),
    /// Prints the manual page of a command.
    Man(shell::ManArgs),
    /// Shows how a vocabulary cuts a text, and what its tokens are.
    Tokens(tokens::Args),
    /// Serves a page for trying grammars, to this machine alone.
    Serve(serve::Args),
}
