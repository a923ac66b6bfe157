//! Properties of random inputs: the bodies of the fuzz targets, and properties of whole families of grammars.
//!
//! Each test prints its seed, which is always the same under `CI=true`; `MASKWRIGHT_SEED=n` repeats it, `MASKWRIGHT_SECONDS=n` runs it for longer.

use maskwright::grammar::GrammarBuilder;
use maskwright::regular::CharSet;
use maskwright::testing::engine::{self, Coverage};
use maskwright::testing::fixture::{Fixture, FixtureKind};
use maskwright::testing::rounds::{data, run};
use maskwright::testing::{
    Rng, ebnf_text, finite, fixture, json_schema, lark_text, lexical, limits, operations, regex_text, schema_text,
    sharing, tag_text,
};
use maskwright::{GrammarCompiler, Limits, TokenKind, Vocab, frontend::ebnf};
use std::sync::Arc;

#[test]
fn ebnf_texts() {
    let coverage = run(|rng| ebnf_text::check(&ebnf_text::random_text(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 20, "{coverage:?}");
}

#[test]
fn lark_texts() {
    let coverage = run(|rng| lark_text::check(&lark_text::random_text(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 20, "{coverage:?}");
}

#[test]
fn schema_texts() {
    let coverage = run(|rng| schema_text::check(&schema_text::random_text(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 20, "{coverage:?}");
}

#[test]
fn tag_texts() {
    let coverage = run(|rng| tag_text::check(&tag_text::random_text(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 20, "{coverage:?}");
}

#[test]
fn sources_under_tight_limits() {
    let coverage = run(|rng| limits::check(&data(rng)), |coverage| coverage.n_grammars > 50);
    assert!(coverage.n_masks > 50, "{coverage:?}");
}

#[cfg(all(feature = "hf", feature = "tiktoken"))]
#[test]
fn files_of_tokenizers() {
    use maskwright::testing::tokenizer_text;
    let check = |rng: &mut Rng| tokenizer_text::check(&tokenizer_text::random_text(rng));
    assert!(run(check, |coverage| coverage.n_grammars > 20).n_grammars > 20);
}

#[test]
fn regex_texts() {
    let coverage = run(|rng| regex_text::check(&regex_text::random_text(rng)), |coverage| coverage.n_grammars > 100);
    assert!(coverage.n_masks > 100, "{coverage:?}");
}

#[test]
fn json_schemas() {
    let coverage = run(|rng| json_schema::check(&data(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 200 && coverage.n_completions > 10, "{coverage:?}");
}

/// Masks of schemas against the set of all their documents, which shares no code with them.
#[test]
fn schemas_of_finitely_many_documents() {
    let coverage = run(|rng| finite::check(&data(rng)), |coverage| coverage.n_grammars > 40);
    assert!(coverage.n_masks > 400, "{coverage:?}");
}

#[test]
fn engine_against_oracle() {
    let coverage = run(|rng| engine::check(&data(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 20 && coverage.n_completions > 10, "{coverage:?}");
}

#[test]
fn lexical_grammars() {
    let coverage = run(|rng| lexical::check(&data(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 40, "{coverage:?}");
}

#[test]
fn operation_sequences() {
    let coverage = run(|rng| operations::check(&data(rng)), |coverage| coverage.n_grammars > 20);
    assert!(coverage.n_masks > 20, "{coverage:?}");
}

#[test]
fn masks_do_not_depend_on_what_is_kept() {
    let coverage = run(|rng| sharing::check(&data(rng)), |coverage| coverage.n_grammars > 10);
    assert!(coverage.n_masks > 50, "{coverage:?}");
}

/// The bits of all masks here were compared with the oracle's.
#[test]
fn a_hundred_million_bits() {
    const N_BITS: u64 = 100_000_000;
    let check = |rng: &mut Rng| {
        let mut coverage = Coverage::default();
        if let Some(fixture) = Fixture::random_of(rng, FixtureKind::Huge) {
            engine::walk(rng, &fixture, &mut coverage);
        }
        coverage
    };
    let coverage = run(check, |coverage| coverage.n_bits >= N_BITS);
    println!("{} bits of {} masks are equal", coverage.n_bits, coverage.n_masks);
    assert!(coverage.n_bits >= N_BITS);
}

/// Grammars on which engines fail, and alphabets for their vocabularies.
const GRAMMARS: &[(&str, &str)] = &[
    ("ab", "root ::= \"a\" \"b\""),
    ("ab", "root ::= [ab]+ \"b\""),
    ("ab", "root ::= \"a\" root \"b\" | \"\""),
    ("ab1", "root ::= x x x\nx ::= \"a\" | \"aa\""),
    ("ab ", "root ::= root root | [ab ] | \"\""),
    ("0+*()", "root ::= e\ne ::= e \"+\" e | e \"*\" e | \"(\" e \")\" | [0-9]+"),
    ("0+*()", "root ::= e\ne ::= e \"+\" t | t\nt ::= t \"*\" f | f\nf ::= \"(\" e \")\" | [0-9]+"),
    ("iceo", "root ::= s\ns ::= \"i\" \"c\" s | \"i\" \"c\" s \"e\" s | \"o\""),
    ("ab,", "root ::= [a-b]{2,5} \",\" [ab]{3} \",\" (\"a\"|\"aa\"){2,7}"),
    ("ab,", "root ::= (\"ab\" | \"a\" | \"b\"){40,43} \",\"?"),
    ("ab,", "root ::= [ab]{40,} \",\""),
    ("ab,", "root ::= ([ab] (\",\" [ab]){0,50} \",\" ){1,50}"),
    ("ab", "root ::= a \"b\" | \"b\"\na ::= root \"a\" | \"a\""),
    ("ab", "root ::= x\nx ::= (x \"a\"){2,50} | \"b\""),
    ("ab[]", "root ::= v\nv ::= \"[\" (v (\"a\" v)*)? \"]\" | \"b\""),
    ("ab<", "root ::= \"a\" <s> \"b\" | \"a\" \"b\" <s> | <s> root"),
    ("ab", "root ::= (\"a\" | \"aaa\"){3,60} \"b\""),
    ("ab", "root ::= ((\"a\"|\"ab\"){1,40} \"b\"){1,40}"),
    (
        "ab\"\\ ",
        "root ::= obj\nobj ::= \"a\" ws str ws (\"b\" ws str ws)*\nstr ::= \"\\\"\" ([^\"\\\\] | \"\\\\\" [\"\\\\])* \"\\\"\"\nws ::= \" \"*",
    ),
    ("aé世b", "root ::= [^b]{1,40} \"b\"{2}"),
    ("aé世b", "root ::= \"世\"+ [é] . \"b\""),
    ("ab", "root ::= a\na ::= \"a\" b | \"a\" c\nb ::= \"a\" a \"b\" | \"\"\nc ::= b c \"b\" | \"a\""),
    ("ab", "root ::= root root root | \"a\" | \"b\""),
];

fn vocab_over(alphabet: &str, rng: &mut Rng) -> Arc<Vocab> {
    let bytes = alphabet.as_bytes();
    let mut builder = Vocab::builder();
    bytes.iter().for_each(|&byte| _ = builder.push([byte]));
    for _ in 0..60 {
        let token: Vec<u8> = (0..rng.between(2, 5)).map(|_| *rng.pick(bytes)).collect();
        builder.push(token);
    }
    let (control, end) = (builder.push("<s>"), builder.push("</s>"));
    builder.set_kind(control, TokenKind::Control).set_name(control, "<s>").stop_tokens([end]);
    Arc::new(builder.build().unwrap())
}

#[test]
fn grammars_on_which_engines_fail() {
    let check = |rng: &mut Rng| {
        let mut coverage = Coverage::default();
        let (alphabet, text) = rng.pick(GRAMMARS);
        let config = fixture::random_config(rng);
        let compiler = GrammarCompiler::builder(vocab_over(alphabet, rng)).config(config).build();
        let grammar = ebnf::parse(text, "root", &Limits::default()).unwrap_or_else(|e| panic!("{e:#}")).grammar;
        engine::walk(rng, &Fixture::new(&compiler, &grammar).expect(text), &mut coverage);
        coverage
    };
    let coverage = run(check, |coverage| coverage.n_grammars > 200);
    assert!(coverage.n_masks > 1_000, "{coverage:?}");
}

/// A vocabulary in which walks take short cuts: hundreds of tokens below each character.
fn dense_vocab(more: &[Vec<u8>]) -> Arc<Vocab> {
    let pieces: [&[u8]; 6] = [b"a", b"b", b"\"", "世".as_bytes(), b"\xE4\xB8", b"("];
    let mut tokens: Vec<Vec<u8>> = vec![vec![]];
    for len in 1..5 {
        tokens.extend((0..6usize.pow(len)).map(|index| {
            (0..len).flat_map(|place| pieces[index / 6usize.pow(place) % 6].to_vec()).collect::<Vec<u8>>()
        }));
    }
    tokens.extend_from_slice(more);
    let mut builder = Vocab::builder();
    builder.extend(&tokens);
    let end = builder.push("</s>");
    builder.stop_tokens([end]);
    Arc::new(builder.build().unwrap())
}

/// The walk skips tokens that consist of whole characters of a loop; here the loop's unit may end after two bytes of one.
#[test]
fn a_loop_that_may_end_within_a_character() {
    let mut builder = GrammarBuilder::new();
    let (root, text) = (builder.rule("root"), builder.rule("text"));
    // Brackets nest, so that the text is called and stays a unit.
    let class = builder.class(CharSet::from_iter(['"', '(', ')']).negate());
    let (open, inside, close) = (builder.literal("("), builder.rule_ref(text), builder.literal(")"));
    let nested = builder.sequence([open, inside, close]);
    let piece = builder.choice([class, nested]);
    let many = builder.repeat(piece, 0, None);
    let cuts: Vec<_> = (0x80..=0xBF).map(|byte| builder.literal([0xE4, byte])).collect();
    let cut = builder.choice(cuts);
    let maybe_cut = builder.repeat(cut, 0, Some(1));
    let body = builder.sequence([many, maybe_cut]);
    builder.define(text, body);
    let quote = builder.literal("\"");
    let body = builder.sequence([open, inside, quote]);
    builder.define(root, body);
    let grammar = builder.finish(root).unwrap();
    let fixture = Fixture::new(&GrammarCompiler::new(dense_vocab(&[])), &grammar).unwrap();
    let (mut matcher, mut oracle) = (fixture.compiled.matcher(), fixture.oracle());
    for bytes in [&b"("[..], b"a", b"\xE4", b"\xB8"] {
        matcher.accept_bytes(bytes).unwrap();
        assert!(oracle.accept_bytes(bytes));
        engine::compare(&mut Rng::new(1), &fixture, &mut matcher, &mut oracle, &[], &mut Coverage::default());
    }
}

/// Every prefix of a long token has hundreds of nodes below it; walks must not recurse there.
#[test]
fn a_very_long_token() {
    let vocab = dense_vocab(&[vec![b'a'; 60_000], [vec![b'a'; 50_000], vec![b'b']].concat()]);
    for text in ["root ::= \"a\"* \"b\"", "root ::= [^\"]* \"\\\"\"", "root ::= \"a\" root \"b\" | \"b\""] {
        // A step over so many bytes exceeds the default budget.
        let limits = Limits { step_work_max: u64::MAX, ..Limits::default() };
        let compiler = GrammarCompiler::builder(Arc::clone(&vocab)).limits(limits).build();
        let mut matcher = compiler.compile_ebnf(text).unwrap().matcher();
        let mask = matcher.mask().unwrap();
        assert!((0..vocab.n_tokens() as u32).all(|id| mask.contains(id) == matcher.is_token_allowed(id)), "{text}");
    }
}
