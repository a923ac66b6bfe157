//! The playground: try grammars on vocabularies, documents and a sampler, from the command line.
//!
//! One file per command, with its arguments; each computes a report first and prints it then, as text or as JSON. Options that commands share are in [`options`]; [`source`]
//! is the one place that compiles a grammar.
//! No input may make the program panic: texts are bytes until they prove to be UTF-8, and output to a closed pipe is dropped.

mod affordable;
mod arithmetic;
mod bench;
mod check;
mod cli;
mod compare;
mod controls;
mod coverage;
mod demo;
mod document;
mod exclusions;
mod expected;
mod explain;
mod failure;
mod forced;
mod generate;
mod graph;
mod lint;
mod mask;
mod options;
mod output;
mod places;
mod refusal;
mod run;
mod sampler;
mod schema_graph;
mod serve;
mod shell;
mod source;
mod step;
mod tokenizer;
mod tokens;
mod trace;
mod vocabulary;

use clap::Parser;
use cli::{Cli, Command};
use output::Output;
use std::io::Write;
use std::process::ExitCode;

/// Prints help, or what is wrong with the command line, to the right stream. Who asks for JSON gets JSON, though not all options could be read.
fn show(message: &clap::Error) -> ExitCode {
    let mut options = std::env::args_os().skip(1).take_while(|argument| argument != "--");
    if message.use_stderr() && options.any(|option| option == "--json") {
        let text = message.to_string();
        output::complain(text.trim_end());
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let mut output = Output::stdout();
        output.json(&failure::Failure::Usage(text.trim_end().to_owned()).to_json());
        return exit(output, failure::CODE_USAGE);
    }
    match message.print().and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            output::complain(&format!("error: can't write the output: {error}"));
            ExitCode::from(failure::CODE_FILE)
        }
        _ => ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(failure::CODE_USAGE)),
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) => return show(&message),
    };
    let mut output = Output::stdout();
    let (outcome, as_json) = match &cli.command {
        Command::Demo(args) => (demo::run(args, &mut output), args.json),
        Command::Check(args) => (check::run(args, &mut output), args.json),
        Command::Mask(args) => (mask::run(args, &mut output), args.json),
        Command::Generate(args) => (generate::run(args, &mut output), args.json),
        Command::Explain(args) => (explain::run(args, &mut output), args.json),
        Command::Trace(args) => (trace::run(args, &mut output), args.json),
        Command::Step(args) => (step::run(args, &mut output), args.json),
        Command::Lint(args) => (lint::run(args, &mut output), args.json),
        Command::Graph(args) => (graph::run(args, &mut output), args.json),
        Command::Bench(args) => (bench::run(args, &mut output), args.json),
        Command::Completions(args) => (shell::completions(args, &mut output), false),
        Command::Man(args) => (shell::man(args, &mut output), false),
        Command::Tokens(args) => (tokens::run(args, &mut output), args.json),
        Command::Serve(args) => (serve::run(args, &mut output), false),
    };
    let code = match outcome {
        Ok(verdict) => verdict.code(),
        Err(failure) => {
            output::complain(&format!("error: {failure:#}"));
            if as_json {
                output.json(&failure.to_json());
            }
            failure.code()
        }
    };
    exit(output, code)
}

/// Writes what is left of the output.
fn exit(output: Output, code: u8) -> ExitCode {
    match output.finish() {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            output::complain(&format!("error: can't write the output: {error}"));
            ExitCode::from(failure::CODE_FILE)
        }
    }
}
