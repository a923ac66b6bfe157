//! Runs the examples that need no arguments: each of them checks its own result.

#[path = "../examples/batch.rs"]
mod batch;
#[path = "../examples/custom_vocabulary.rs"]
mod custom_vocabulary;
#[path = "../examples/drafts.rs"]
mod drafts;
#[path = "../examples/greedy_loop.rs"]
mod greedy_loop;
#[path = "../examples/tool_calls.rs"]
mod tool_calls;

#[test]
fn greedy_loop_runs() {
    greedy_loop::main().unwrap();
}

#[test]
fn batch_runs() {
    batch::main().unwrap();
}

#[test]
fn drafts_run() {
    drafts::main().unwrap();
}

#[test]
fn tool_calls_run() {
    tool_calls::main().unwrap();
}

#[test]
fn custom_vocabulary_runs() {
    custom_vocabulary::main().unwrap();
}
