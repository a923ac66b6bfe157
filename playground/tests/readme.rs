//! The commands that the README and the guide to the playground show work, and print what is shown.

use std::process::{Command, Output};

const README: &str = include_str!("../../README.md");
const GUIDE: &str = include_str!("../../docs/playground.md");

/// Returns the commands of a text: its lines with a prefix.
fn commands(text: &'static str, prefix: &str) -> Vec<&'static str> {
    text.lines().filter_map(|line| line.strip_prefix(prefix)).collect()
}

/// Runs the playground in the root of the repository; quoted arguments are in single quotes.
fn run(command: &str) -> Output {
    let mut arguments: Vec<String> = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        match index % 2 {
            0 => arguments.extend(part.split_whitespace().map(String::from)),
            _ => arguments.push(part.to_string()),
        }
    }
    let mut playground = Command::new(env!("CARGO_BIN_EXE_playground"));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    playground.args(&arguments).current_dir(root).output().expect("the playground starts")
}

#[test]
fn commands_work() {
    let commands_of_readme = commands(README, "cargo run --release --bin playground -- ");
    assert!(commands_of_readme.len() >= 3);
    let commands_of_guide = commands(GUIDE, "playground ");
    assert!(commands_of_guide.len() >= 15);
    for command in commands_of_readme.into_iter().chain(commands_of_guide) {
        let output = run(command);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}\n{out}\n{err}");
    }
}

/// Replaces times, which differ from run to run.
fn without_times(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for index in 1..words.len() {
        let unit = words[index].split(['\n', ',', ')']).next().unwrap_or_default();
        if matches!(unit, "us" | "ms" | "ns" | "s") && words[index - 1].starts_with(|c: char| c.is_ascii_digit()) {
            words[index - 1] = "N";
        }
    }
    words.join(" ").replace(" ms", " us").replace(" ns", " us")
}

#[test]
fn outputs_are_as_shown() {
    let blocks: Vec<&str> = README.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let (command, shown) = block.split_once('\n').expect("a command and its output");
        let command = command.strip_prefix("$ playground ").expect("a command of the playground");
        let output = run(command);
        assert_eq!(without_times(&String::from_utf8_lossy(&output.stdout)), without_times(shown), "{command}");
    }
}
