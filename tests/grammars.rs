//! The grammars that come with the crate, and their samples: texts that must match and near-misses that must not.
//!
//! Engine and reference recognizer read each text independently. They must agree on the verdict, on the offset of the first error, and on the
//! tokens that are allowed.

use maskwright::reference::Recognizer;
use maskwright::{CompiledGrammar, GrammarCompiler, Limits, Vocab, diagnose};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The verdict on a text: it matches, ends too early, or is refused at a byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Matches,
    EndsAt(usize),
    RefusedAt(usize),
}

struct Sample {
    name: String,
    text: Vec<u8>,
    must_match: bool,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars")
}

/// The names of all grammars, in order.
fn grammars() -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ebnf") {
            names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
        }
    }
    names.sort();
    names
}

fn source(grammar: &str) -> String {
    std::fs::read_to_string(directory().join(grammar).with_extension("ebnf")).unwrap()
}

fn samples(grammar: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (folder, must_match) in [("pass", true), ("fail", false)] {
        let folder = directory().join("samples").join(grammar).join(folder);
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            let name = format!("{grammar}/{}", path.file_name().unwrap().to_string_lossy());
            samples.push(Sample { name, text: std::fs::read(&path).unwrap(), must_match });
        }
    }
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

fn bytes_vocab() -> Arc<Vocab> {
    Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap())
}

fn verdict_of_engine(grammar: &CompiledGrammar, text: &[u8]) -> Verdict {
    let mut matcher = grammar.matcher();
    match matcher.accept_bytes(text) {
        Err(error) => Verdict::RefusedAt(error.byte_offset().expect("bytes are refused at an offset")),
        Ok(()) if matcher.is_accepting() => Verdict::Matches,
        Ok(()) => Verdict::EndsAt(text.len()),
    }
}

fn verdict_of_oracle(recognizer: &Recognizer, text: &[u8]) -> Verdict {
    let mut chart = recognizer.start();
    match chart.push_bytes(text) {
        n_read if n_read < text.len() => Verdict::RefusedAt(n_read),
        _ if chart.is_accepting() => Verdict::Matches,
        n_read => Verdict::EndsAt(n_read),
    }
}

#[test]
fn every_grammar_is_tested() {
    let grammars = grammars();
    let mut sampled: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(directory().join("samples")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            sampled.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    sampled.sort();
    assert_eq!(sampled, grammars);
    for grammar in &grammars {
        let header = source(grammar);
        assert!(header.starts_with("# "), "{grammar} doesn't say what it describes");
        let samples = samples(grammar);
        let n_passing = samples.iter().filter(|sample| sample.must_match).count();
        assert!(n_passing >= 5 && samples.len() - n_passing >= 5, "{grammar}: {n_passing} of {}", samples.len());
    }
}

#[test]
fn grammars_compile_without_warnings() {
    let compiler = GrammarCompiler::new(bytes_vocab());
    for name in &grammars() {
        let grammar = compiler.compile_ebnf(&source(name)).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        assert_eq!(grammar.warnings(), [], "{name}");
    }
}

#[test]
fn engine_and_oracle_agree_on_every_sample() {
    let compiler = GrammarCompiler::new(bytes_vocab());
    let mut n_wrong = 0;
    for name in &grammars() {
        let grammar = compiler.compile_ebnf(&source(name)).unwrap();
        let recognizer = Recognizer::new(grammar.grammar(), &Limits::default()).unwrap();
        for sample in samples(name) {
            let (engine, oracle) =
                (verdict_of_engine(&grammar, &sample.text), verdict_of_oracle(&recognizer, &sample.text));
            if engine != oracle || (engine == Verdict::Matches) != sample.must_match {
                n_wrong += 1;
                println!("{}: must match {}, engine {engine:?}, oracle {oracle:?}", sample.name, sample.must_match);
            }
            // The diagnosis says the same.
            let place = match diagnose::check(grammar.grammar(), &recognizer, &sample.text) {
                Ok(()) => Verdict::Matches,
                Err(failure) if failure.is_incomplete() => Verdict::EndsAt(failure.offset()),
                Err(failure) => Verdict::RefusedAt(failure.offset()),
            };
            assert_eq!(place, oracle, "{}", sample.name);
        }
    }
    assert_eq!(n_wrong, 0, "see the output");
}

/// The grammar of grammars reads all of them, itself included.
#[test]
fn ebnf_reads_every_grammar() {
    let compiler = GrammarCompiler::new(bytes_vocab());
    let ebnf = compiler.compile_ebnf(&source("ebnf")).unwrap();
    for name in &grammars() {
        assert_eq!(verdict_of_engine(&ebnf, source(name).as_bytes()), Verdict::Matches, "{name}");
    }
}

#[test]
fn ebnf_agrees_with_the_parser() {
    for sample in samples("ebnf") {
        let text = std::str::from_utf8(&sample.text).unwrap();
        let parsed = maskwright::frontend::ebnf::parse(text, "root", &Limits::default());
        assert_eq!(parsed.is_ok(), sample.must_match, "{}: {:?}", sample.name, parsed.err());
    }
}

/// At each byte of each sample the bytes that may follow are the same, and so is whether the text may end.
#[test]
fn engine_and_oracle_agree_at_every_byte() {
    let vocab = bytes_vocab();
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    for name in &grammars() {
        let grammar = compiler.compile_ebnf(&source(name)).unwrap();
        let recognizer = Recognizer::new(grammar.grammar(), &Limits::default()).unwrap();
        for sample in samples(name) {
            let (mut matcher, mut chart) = (grammar.matcher(), recognizer.start());
            for (offset, &byte) in sample.text.iter().enumerate() {
                let context = || format!("{} at byte {offset}", sample.name);
                let allowed = matcher.mask().map(|mask| mask.iter().collect::<Vec<_>>()).unwrap_or_default();
                let expected: Vec<u32> = chart.next_bytes().iter().map(u32::from).collect();
                assert_eq!(allowed, expected, "{}", context());
                assert_eq!(matcher.is_accepting(), chart.is_accepting(), "{}", context());
                let is_read = chart.push_byte(byte);
                assert_eq!(matcher.accept_token(byte.into()).is_ok(), is_read, "{}", context());
                if !is_read {
                    break;
                }
            }
        }
    }
}

/// The tokens of a valid sample are allowed one after the other, and the stop token at the end.
#[cfg(feature = "tiktoken")]
#[test]
fn tokens_of_samples_are_allowed() {
    use maskwright::Encoding;
    use maskwright::vocab::tiktoken::encode;

    for encoding in Encoding::ALL {
        let vocab = Arc::new(Vocab::tiktoken(encoding).unwrap());
        let compiler = GrammarCompiler::new(Arc::clone(&vocab));
        let stop = vocab.stop_tokens()[0];
        for name in &grammars() {
            let grammar = compiler.compile_ebnf(&source(name)).unwrap();
            for sample in samples(name) {
                let Ok(text) = std::str::from_utf8(&sample.text) else { continue };
                let mut matcher = grammar.matcher();
                let mut is_match = true;
                for (index, token) in encode(encoding, text).into_iter().enumerate() {
                    let is_set = matcher.mask().unwrap().contains(token);
                    let is_accepted = matcher.accept_token(token).is_ok();
                    assert_eq!(is_set, is_accepted, "{}: token {token} at {index}", sample.name);
                    is_match &= is_accepted;
                    if !is_match {
                        break;
                    }
                }
                is_match = is_match && matcher.mask().unwrap().contains(stop);
                assert_eq!(is_match, sample.must_match, "{} over {}", sample.name, encoding.name());
            }
        }
    }
}
