//! The commands that the README shows work.

const README: &str = include_str!("../../README.md");

#[test]
fn commands_work() {
    let prefix = "cargo run --release --bin playground -- ";
    let commands: Vec<String> = README.lines().filter_map(|line| line.strip_prefix(prefix)).map(String::from).collect();
    assert!(commands.len() >= 3);
    for command in commands {
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
