//! Fixtures: a random grammar over a random vocabulary, compiled, with the reference recognizer as its oracle.
//!
//! Tiny vocabularies find bugs soon and with small counterexamples; large ones over a small alphabet have trie subtrees of hundreds of
//! nodes under every character, which is where the engine takes its short cuts. Large vocabularies are built once and shared, with the
//! indexes inside them: masks must not depend on the grammars compiled before.

use super::{GrammarShape, Rng, VocabShape, dump_grammar, dump_vocab, random_grammar, random_vocab};
use crate::grammar::{ControlRef, Grammar};
use crate::reference::{OracleMatcher, Recognizer};
use crate::regular::CharSet;
use crate::vocab::{TokenKind, Vocab};
use crate::{CompileError, CompiledGrammar, Config, GrammarCompiler, Limits};
use std::sync::{Arc, LazyLock};

/// A compiled grammar and its oracle.
#[derive(Debug)]
pub struct Fixture {
    /// The vocabulary.
    pub vocab: Arc<Vocab>,
    /// The compiler.
    pub compiler: GrammarCompiler,
    /// The grammar, compiled by the engine.
    pub compiled: CompiledGrammar,
    /// The reference recognizer of the grammar.
    pub recognizer: Recognizer,
}

/// The kind of a fixture's vocabulary, and the grammars that suit it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixtureKind {
    /// Some dozens of tokens of every kind.
    Tiny,
    /// Thousands of tokens: all short strings over a few characters, so that whatever can happen within a token does.
    Full,
    /// Thousands of tokens over some thirty characters, and grammars that loop over wide sets of them.
    Wide,
    /// As `Full`, with some ten times as many tokens.
    Huge,
}

/// Returns small limits, so that hard grammars are refused soon.
pub fn limits() -> Limits {
    Limits {
        // A mask that takes long is compared like all others: what steps may take has tests of its own.
        step_work_max: 1 << 28,
        source_bytes_max: 1 << 16,
        dfa_states_max: 2_000,
        automaton_states_max: 20_000,
        automaton_moves_max: 400_000,
        ..Limits::default()
    }
}

/// Returns caches of random sizes: default, empty, tiny or small.
pub fn random_config(rng: &mut Rng) -> Config {
    match *rng.pick(&[None, None, Some(0), Some(4 << 10), Some(64 << 10)]) {
        None => Config::default(),
        Some(bytes) => tight_config(bytes),
    }
}

/// Returns a configuration in which every cache has at most `bytes` bytes.
pub fn tight_config(bytes: usize) -> Config {
    Config {
        mask_store_bytes_max: bytes,
        unit_store_bytes_max: bytes,
        grammar_cache_bytes_max: bytes,
        ..Config::default()
    }
}

impl Fixture {
    /// Returns a random fixture, or `None` if its language is empty or a limit is met.
    pub fn random(rng: &mut Rng) -> Option<Fixture> {
        let kind = *rng.pick(&[
            FixtureKind::Tiny,
            FixtureKind::Wide,
            FixtureKind::Tiny,
            FixtureKind::Full,
            FixtureKind::Tiny,
            FixtureKind::Tiny,
        ]);
        Fixture::random_of(rng, kind)
    }

    /// Returns a random fixture of a kind, or `None` if its language is empty or a limit is met.
    pub fn random_of(rng: &mut Rng, kind: FixtureKind) -> Option<Fixture> {
        let (shape, vocab) = random_setting(rng, kind);
        let config = random_config(rng);
        let compiler = GrammarCompiler::builder(vocab).config(config).limits(limits()).build();
        Fixture::new(&compiler, &random_grammar(rng, &shape))
    }

    /// Compiles a grammar and makes its reference recognizer; `None` if its language is empty or a limit is met.
    ///
    /// # Panics
    /// If the two disagree about whether the language is empty or an operand is regular.
    pub fn new(compiler: &GrammarCompiler, grammar: &Grammar) -> Option<Fixture> {
        let compiled = compiler.compile(grammar);
        let recognizer = Recognizer::new(grammar, compiler.limits());
        match (compiled, recognizer) {
            (Ok(compiled), Ok(recognizer)) => {
                Some(Fixture { vocab: Arc::clone(compiler.vocab()), compiler: compiler.clone(), compiled, recognizer })
            }
            (Err(CompileError::Build(error)), _) if error.limit_met().is_some() => None,
            (_, Err(error)) if error.limit().is_some() => None,
            // The engine requires operands of `&`, `-` and `~` to be UTF-8, in unused rules too.
            (Err(error), _) if error.to_string().contains("not UTF-8") => None,
            (Err(_), Err(_)) => None,
            (compiled, recognizer) => {
                panic!("compiling: {:?}, oracle: {:?}\n{}", compiled.err(), recognizer.err(), dump_grammar(grammar))
            }
        }
    }

    /// Returns the oracle, before the first token.
    pub fn oracle(&self) -> OracleMatcher {
        OracleMatcher::new(&self.recognizer, Arc::clone(&self.vocab))
    }

    /// Returns the grammar and, if it is small, the vocabulary, for messages.
    pub fn describe(&self) -> String {
        let n_tokens = self.vocab.n_tokens();
        let vocab = if n_tokens <= 200 { dump_vocab(&self.vocab) } else { format!("{n_tokens} tokens") };
        format!("{}\n{vocab}", dump_grammar(self.compiled.grammar()))
    }
}

/// Returns a random shape of grammars and a vocabulary for them.
pub fn random_setting(rng: &mut Rng, kind: FixtureKind) -> (GrammarShape, Arc<Vocab>) {
    let mut shape = GrammarShape::random(rng);
    // Names that overlap the text and one another.
    let mut overlapping: Vec<String> = vec![];
    if rng.chance(30) {
        shape.marker_names = ["<|x|>", "<|y|>"].map(String::from).to_vec();
        for _ in 0..rng.between(0, 3) {
            let n_chars = rng.between(1, 3);
            overlapping.push((0..n_chars).map(|_| *rng.pick(&shape.alphabet)).collect());
        }
        shape.marker_names.extend(overlapping.iter().cloned());
    }
    let vocab = match kind {
        FixtureKind::Tiny => {
            let names = shape.controls.iter().filter_map(|control| match control {
                ControlRef::Name(name) => Some(name.to_string()),
                ControlRef::Id(_) => None,
            });
            let vocab_shape = VocabShape {
                alphabet: shape.alphabet.clone(),
                names: names.chain(overlapping).collect(),
                n_text: rng.between(4, 60),
                spells_everything: rng.chance(70),
            };
            if rng.chance(30) {
                shape.wide_sets = wide_sets();
            }
            Arc::new(random_vocab(rng, &vocab_shape))
        }
        FixtureKind::Full | FixtureKind::Huge => {
            let (alphabet, vocab) = rng.pick(if kind == FixtureKind::Full { &FULL } else { &HUGE });
            shape.alphabet = alphabet.chars().collect();
            Arc::clone(vocab)
        }
        FixtureKind::Wide => {
            shape.alphabet = "ab\"\\<é世 ".chars().collect();
            shape.wide_sets = wide_sets();
            shape.with_raw_bytes = rng.chance(40);
            Arc::clone(&WIDE)
        }
    };
    (shape, vocab)
}

/// Returns character classes that real grammars repeat.
fn wide_sets() -> Vec<CharSet> {
    let but = |text: &str| text.chars().collect::<CharSet>().negate();
    let controls: CharSet = ('\0'..' ').chain("\"\\".chars()).collect();
    vec![
        CharSet::all(),
        but("\"\\"),
        but("<"),
        but("\n"),
        but("é"),
        controls.negate(),
        CharSet::range('a', 'z'),
        ('a'..='z').chain(['é']).collect(),
        ('a'..='z').chain('0'..='9').chain(['_']).collect(),
        CharSet::range(' ', '~'),
        CharSet::range('\0', '\u{7f}'),
        CharSet::range('é', '\u{ffff}'),
    ]
}

/// Vocabularies of all strings over a few characters up to a length, some thousand tokens each.
static FULL: LazyLock<Vec<(&str, Arc<Vocab>)>> =
    LazyLock::new(|| full_vocabs([("ab", 9), ("abc", 6), ("aAb", 6), ("aéè", 6), ("一丁a", 6), ("abé😀", 5)]));

/// As [`FULL`], up to a greater length.
static HUGE: LazyLock<Vec<(&str, Arc<Vocab>)>> =
    LazyLock::new(|| full_vocabs([("ab", 14), ("abc", 9), ("aAb", 9), ("aéè", 9), ("一丁a", 9), ("abé😀", 7)]));

/// Returns vocabularies of all strings over some characters up to some length.
fn full_vocabs(settings: [(&'static str, usize); 6]) -> Vec<(&'static str, Arc<Vocab>)> {
    let vocab = |(alphabet, len_max): (&'static str, usize)| {
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let mut longest: Vec<String> = vec![String::new()];
        for _ in 0..len_max {
            longest = longest.iter().flat_map(|text| alphabet.chars().map(move |c| format!("{text}{c}"))).collect();
            tokens.extend(longest.iter().map(|text| text.as_bytes().to_vec()));
            // Some tokens begin or end within a character.
            tokens.extend(longest.iter().step_by(7).map(|text| text.as_bytes()[1..].to_vec()));
            tokens.extend(longest.iter().step_by(5).map(|text| text.as_bytes()[..text.len() - 1].to_vec()));
        }
        (alphabet, with_special_tokens(&tokens))
    };
    settings.into_iter().map(vocab).collect()
}

static WIDE: LazyLock<Arc<Vocab>> = LazyLock::new(|| {
    let mut rng = Rng::new(5);
    // The first five characters are frequent, so that deep subtrees share them.
    let alphabet: Vec<char> = "ab\"e \\<é1>,世n_:{}xyz\n😀\0~".chars().collect();
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for _ in 0..3_000 {
        let len = rng.between(1, 7);
        let text: String =
            (0..len).map(|_| if rng.chance(65) { alphabet[rng.below(5)] } else { *rng.pick(&alphabet) }).collect();
        let (mut start, mut end) = (0, text.len());
        if rng.chance(10) {
            start = rng.below(text.len());
            end = rng.between(start, text.len());
        }
        tokens.push(text.as_bytes()[start..end].to_vec());
    }
    with_special_tokens(&tokens)
});

fn with_special_tokens(tokens: &[Vec<u8>]) -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    builder.extend(tokens);
    for name in ["<|x|>", "<|y|>"] {
        let id = builder.push(name);
        builder.set_kind(id, TokenKind::Control).set_name(id, name);
    }
    let think = builder.push("aab");
    builder.set_kind(think, TokenKind::AddedText).set_name(think, "<|x|>");
    let stop = builder.push("<|end|>");
    let n_pushed = builder.n_pushed();
    builder.stop_tokens([stop]).logits_width(n_pushed + 3);
    Arc::new(builder.build().expect("a vocabulary of short tokens"))
}
