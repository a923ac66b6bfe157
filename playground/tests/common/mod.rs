#![allow(dead_code, reason = "each suite uses some")]
//! Running the binary as a user runs it.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_playground"));
    command.args(args).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    command
}

pub fn run_with_input(args: &[&str], input: &[u8]) -> Run {
    let mut command = command(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    // A program that reads nothing closes the pipe: that is no failure.
    let _ = child.stdin.take().expect("stdin is piped").write_all(input);
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the binary ends");
    let (out, err) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    Run { code: status.code().expect("not killed"), out, err }
}

pub fn run(args: &[&str]) -> Run {
    run_with_input(args, b"")
}

pub fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out))
}

/// Writes a file of the test that calls: others run at the same time, and may have one of that name.
pub fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let test = std::thread::current().name().unwrap_or("main").replace("::", "-");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}
