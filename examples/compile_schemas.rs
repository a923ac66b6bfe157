//! Compiles some of the schemas of a corpus once, to count instructions:
//!
//! ```sh
//! cargo build --release --example compile_schemas
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/compile_schemas FILE.jsonl 300 shortest
//! ```
//!
//! The file has a JSON object per line with the schema under `schema`; of its lines so many are taken, evenly spread.

use maskwright::json_schema::{SchemaOptions, Spelling};
use maskwright::{CompileOptions, GrammarCompiler, Vocab};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, n_schemas, spelling] = arguments.as_slice() else { panic!("FILE.jsonl N shortest|any") };
    let spelling = if spelling == "any" { Spelling::Any } else { Spelling::Shortest };
    let options = SchemaOptions { spelling, is_lenient: true, ..SchemaOptions::default() };
    let text = std::fs::read_to_string(file).expect("the file can be read");
    let lines: Vec<&str> = text.lines().collect();
    let every = lines.len().div_ceil(n_schemas.parse().expect("a number of schemas"));
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).expect("bytes").into());
    let (mut n_compiled, mut n_states) = (0, 0);
    for line in lines.iter().step_by(every) {
        let schema = serde_json::from_str::<serde_json::Value>(line).expect("a line is JSON")["schema"].to_string();
        if let Ok(grammar) = compiler.compile_json_schema_with(&schema, &options, &CompileOptions::default()) {
            (n_compiled, n_states) = (n_compiled + 1, n_states + grammar.n_states());
        }
    }
    println!("{n_compiled} schemas compiled, {n_states} states");
}
