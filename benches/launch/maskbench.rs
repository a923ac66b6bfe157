//! Runs the bench `maskbench` of the package of benches, with the same arguments: the other engines that it needs are
//! no dependencies of this package.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["bench", "--package", "maskwright-bench", "--bench", "maskbench", "--"]);
    // Paths are those of the caller's folder.
    let here = std::env::current_dir().unwrap_or_default();
    command.args(std::env::args_os().skip(1).filter(|argument| argument != "--bench").map(|argument| {
        let path = here.join(&argument);
        if path.exists() { path.into_os_string() } else { argument }
    }));
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("cargo can't be run: {error}");
            ExitCode::FAILURE
        }
    }
}
