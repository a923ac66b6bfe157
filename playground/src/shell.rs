//! `playground completions` and `playground man`: the command line for shells and for `man`.

use crate::cli::{Cli, EXIT_CODES};
use crate::failure::{Failure, Verdict};
use crate::output::Output;
use clap::CommandFactory;
use clap_complete::Shell;

/// Options of `completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// Options of `man`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct ManArgs {
    /// The command; the page of the program without one
    pub command: Option<String>,
}

/// Prints completions for a shell.
pub fn completions(args: &CompletionsArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "playground", &mut script);
    output.line(String::from_utf8_lossy(&script).trim_end());
    Ok(Verdict::Yes)
}

/// Prints a manual page.
///
/// # Errors
/// If there is no such command.
pub fn man(args: &ManArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name).cloned();
            found.ok_or_else(|| Failure::Usage(format!("there is no command `{name}`")))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::File { path: "the page".into(), message: error.to_string() })?;
    output.line(String::from_utf8_lossy(&page).trim_end());
    Ok(Verdict::Yes)
}
