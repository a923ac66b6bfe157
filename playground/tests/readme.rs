//! The commands that the README and the guide to the playground show work.

const README: &str = include_str!("../../README.md");
const GUIDE: &str = include_str!("../../docs/playground.md");

/// Returns the commands of a text: its lines with a prefix.
fn commands(text: &'static str, prefix: &str) -> Vec<&'static str> {
    text.lines().filter_map(|line| line.strip_prefix(prefix)).collect()
}

#[test]
fn commands_work() {
    let commands_of_readme = commands(README, "cargo run --release --bin playground -- ");
    assert!(commands_of_readme.len() >= 3);
    let commands_of_guide = commands(GUIDE, "playground ");
    assert!(commands_of_guide.len() >= 15);
    for command in commands_of_readme.into_iter().chain(commands_of_guide) {
        let mut arguments: Vec<String> = Vec::new();
        // Quoted arguments are in single quotes.
        for (index, part) in command.split('\'').enumerate() {
            match index % 2 {
                0 => arguments.extend(part.split_whitespace().map(String::from)),
                _ => arguments.push(part.to_string()),
            }
        }
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_playground"))
            .args(&arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .output()
            .expect("the playground starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}\n{out}\n{err}");
    }
}
