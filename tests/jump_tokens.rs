//! Forced text as tokens, against the definition: what the tokenizer makes of every text that may follow.

use maskwright::testing::cases::default_vocab;
use maskwright::testing::{Rng, rounds};
use maskwright::vocab::{TokenKind, Tokenize};
use maskwright::{AcceptedPiece, GrammarCompiler, Matcher, TokenId, Vocab};
use std::sync::Arc;

/// Byte pair encoding: the merge that was learned first comes first, from the left.
struct Bpe {
    /// The parts of each token but the first, which are single bytes.
    merges: Vec<(TokenId, TokenId)>,
    alphabet: Vec<u8>,
}

impl Bpe {
    fn random(rng: &mut Rng, alphabet: &[u8]) -> (Bpe, Vocab) {
        let mut tokens: Vec<Vec<u8>> = alphabet.iter().map(|&byte| vec![byte]).collect();
        let mut merges = Vec::new();
        for _ in 0..rng.between(2, 14) {
            let (left, right) = (rng.below(tokens.len()), rng.below(tokens.len()));
            let whole = [tokens[left].as_slice(), &tokens[right]].concat();
            if whole.len() <= 5 && !tokens.contains(&whole) {
                tokens.push(whole);
                merges.push((left as TokenId, right as TokenId));
            }
        }
        (Bpe { merges, alphabet: alphabet.to_vec() }, Vocab::from_tokens(tokens).unwrap())
    }
}

impl Tokenize for Bpe {
    fn tokenize(&self, text: &[u8]) -> Vec<TokenId> {
        let id = |byte: &u8| self.alphabet.iter().position(|known| known == byte).expect("a byte of the alphabet");
        let mut tokens: Vec<TokenId> = text.iter().map(|byte| id(byte) as TokenId).collect();
        let merge_of = |pair: &[TokenId]| self.merges.iter().position(|&(left, right)| *pair == [left, right]);
        while let Some((merge, at)) =
            tokens.windows(2).enumerate().filter_map(|(at, pair)| Some((merge_of(pair)?, at))).min()
        {
            tokens[at] = (self.alphabet.len() + merge) as TokenId;
            tokens.remove(at + 1);
        }
        tokens
    }
}

fn random_grammar(rng: &mut Rng, alphabet: &[u8]) -> String {
    let literal =
        |rng: &mut Rng| -> String { (0..rng.between(1, 5)).map(|_| char::from(*rng.pick(alphabet))).collect() };
    let mut parts = String::from("root ::=");
    for _ in 0..rng.between(1, 5) {
        let (one, other) = (literal(rng), literal(rng));
        parts += &match rng.below(6) {
            0 => format!(" (\"{one}\" | \"{other}\")"),
            1 => format!(" \"{one}\"?"),
            2 => format!(" [{one}]"),
            3 => format!(" [{one}]* "),
            _ => format!(" \"{one}\""),
        };
    }
    parts
}

/// Returns the texts of up to `n_max` bytes that may follow.
fn continuations(matcher: &Matcher, alphabet: &[u8], n_max: usize) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = vec![vec![]];
    let mut next = 0;
    while let Some(text) = found.get(next).cloned() {
        for &byte in alphabet.iter().filter(|_| text.len() < n_max) {
            let longer = [text.as_slice(), &[byte]].concat();
            if matcher.fork().accept_bytes(&longer).is_ok() {
                found.push(longer);
            }
        }
        next += 1;
    }
    found
}

/// Returns how many steps to take back, and the tokens to add, by definition. The end of each accepted token that can be taken back is in `boundaries`.
fn expect(
    vocab: &Vocab,
    tokenizer: &dyn Tokenize,
    accepted: &[u8],
    boundaries: &[usize],
    forced: &[u8],
    following: &[Vec<u8>],
) -> (usize, Vec<TokenId>) {
    let mut certain: Option<Vec<TokenId>> = None;
    for text in following {
        let tokens = tokenizer.tokenize(&[accepted, forced, text].concat());
        let common = match &certain {
            None => tokens.len(),
            Some(known) => known.iter().zip(&tokens).take_while(|(a, b)| a == b).count(),
        };
        certain = Some(tokens[..common].to_vec());
    }
    let certain = certain.expect("the empty text may follow");
    let length = |tokens: &[TokenId]| tokens.iter().map(|&token| vocab.bytes(token).len()).sum::<usize>();
    if forced.is_empty() || length(&certain) <= accepted.len() {
        return (0, vec![]);
    }
    assert!(length(&certain) <= accepted.len() + forced.len());
    let mut kept = boundaries.to_vec();
    while let Some(boundary) = kept.pop() {
        if let Some(first) = (0..=certain.len()).find(|&n_tokens| length(&certain[..n_tokens]) == boundary) {
            return (boundaries.len() - 1 - kept.len(), certain[first..].to_vec());
        }
    }
    (0, vec![])
}

fn check(rng: &mut Rng, n_back: &mut usize, n_added: &mut usize, n_dropped: &mut usize) {
    let alphabet = &b"abc"[..rng.between(2, 3)];
    let (bpe, vocab) = Bpe::random(rng, alphabet);
    let vocab = Arc::new(vocab);
    let tokenizer: &dyn Tokenize = if rng.chance(60) { &bpe } else { &*vocab };
    let text = random_grammar(rng, alphabet);
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    let Ok(grammar) = compiler.compile_ebnf(&text) else { return };
    let mut matcher = grammar.matcher();
    let (mut accepted, mut boundaries) = (Vec::new(), vec![0]);
    for _ in 0..rng.below(6) {
        let mask: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
        if mask.is_empty() {
            break;
        }
        let token = *rng.pick(&mask);
        accepted.extend_from_slice(vocab.bytes(token));
        if rng.chance(10) {
            matcher.accept_bytes(vocab.bytes(token)).unwrap();
            boundaries = vec![accepted.len()];
        } else {
            matcher.accept_token(token).unwrap();
            boundaries.push(accepted.len());
        }
    }
    let forced = matcher.jump_forward();
    let mut behind = matcher.fork();
    behind.accept_bytes(&forced).unwrap();
    let following = continuations(&behind, alphabet, vocab.token_bytes_max());
    let context = format!("{text}\n{:?}\nafter {accepted:?} {boundaries:?}, forced {forced:?}", bpe.merges);
    let before = format!("{:?}{:?}", matcher.accepted(), matcher.mask());
    let found = matcher.jump_forward_tokens(Some(tokenizer)).unwrap();
    assert_eq!(format!("{:?}{:?}", matcher.accepted(), matcher.mask()), before, "{context}");
    let expected = expect(&vocab, tokenizer, &accepted, &boundaries, &forced, &following);
    assert_eq!((found.n_taken_back, &found.tokens), (expected.0, &expected.1), "{context}");
    let alone = matcher.jump_forward_tokens(None).unwrap();
    let expected = expect(&vocab, &*vocab, b"", &[0], &forced, &following);
    assert_eq!((alone.n_taken_back, alone.tokens), expected, "{context}");
    // To follow it succeeds, and gives the text that was forced.
    matcher.rollback(found.n_taken_back).unwrap();
    matcher.accept_tokens(&found.tokens).unwrap();
    let mut text = Vec::new();
    for piece in matcher.accepted().unwrap() {
        match piece {
            AcceptedPiece::Token(token) => text.extend_from_slice(vocab.bytes(token)),
            AcceptedPiece::Bytes(bytes) => text.extend(bytes),
        }
    }
    assert!([accepted.as_slice(), &forced].concat().starts_with(&text) && text.len() >= accepted.len(), "{context}");
    *n_back += found.n_taken_back;
    *n_added += found.tokens.len();
    *n_dropped += usize::from(!forced.is_empty() && text.len() < accepted.len() + forced.len());
}

#[test]
fn forced_tokens_are_those_of_every_continuation() {
    let (mut n_back, mut n_added, mut n_dropped) = (0, 0, 0);
    let mut rng = Rng::new(rounds::seed_or(3));
    for _ in 0..20_000 {
        check(&mut Rng::new(rng.bits()), &mut n_back, &mut n_added, &mut n_dropped);
    }
    println!("{n_back} tokens taken back, {n_added} added, {n_dropped} ends left to the model");
    assert!(n_back > 100 && n_added > 1000 && n_dropped > 100, "{n_back} {n_added} {n_dropped}");
}

#[test]
fn control_tokens_and_forgotten_texts_bound_what_the_tokenizer_sees() {
    let vocab = Arc::new(default_vocab());
    let grammar = GrammarCompiler::new(Arc::clone(&vocab)).compile_ebnf(r#"root ::= "fo" <|x|> "foo" [0-9] "bat""#);
    let mut matcher = grammar.unwrap().matcher();
    let tokens = |text: &str| vocab.tokenize_greedy(text.as_bytes());
    let asked = std::cell::RefCell::new(Vec::new());
    let spy = |text: &[u8]| {
        asked.borrow_mut().push(text.to_vec());
        vocab.tokenize_greedy(text)
    };
    let x = 300;
    for token in [b'f'.into(), b'o'.into(), x, b'f'.into()] {
        matcher.accept_token(token).unwrap();
    }
    let forced = matcher.jump_forward_tokens(Some(&spy)).unwrap();
    assert_eq!((forced.n_taken_back, forced.tokens), (1, tokens("foo")));
    assert!(asked.borrow().iter().all(|text| b"foo".starts_with(text) || text.starts_with(b"foo")), "{asked:?}");
    // What is forgotten can't be taken back.
    matcher.forget_history();
    assert!(matcher.jump_forward_tokens(Some(&spy)).is_err());
    let forced = matcher.jump_forward_tokens(None).unwrap();
    assert_eq!((forced.n_taken_back, forced.tokens), (0, tokens("oo")));
    matcher.accept_bytes(b"oo1").unwrap();
    // Nothing is forced where a stop token is needed to say it.
    matcher.set_stop_tokens(&tokens("bat")).unwrap();
    assert!(matcher.jump_forward_tokens(None).unwrap().tokens.is_empty());
    matcher.set_stop_tokens(&[]).unwrap();
    assert_eq!(matcher.jump_forward_tokens(None).unwrap().tokens, tokens("bat"));
}

#[test]
fn tokenizers_that_do_not_spell_the_text_are_errors() {
    let vocab = Arc::new(default_vocab());
    let grammar = GrammarCompiler::new(vocab).compile_ebnf(r#"root ::= "né" "e" [0-9]"#).unwrap();
    let mut matcher = grammar.matcher();
    for (tokens, offset, token) in [
        (vec![TokenId::from(b'x')], 0, TokenId::from(b'x')),
        (vec![b'n'.into(), 300], 1, 300),
        (vec![b'n'.into(), 9999], 1, 9999),
        (vec![b'n'.into(), 0xc3, 0xa9, b'e'.into(), b'1'.into()], 4, b'1'.into()),
    ] {
        let error = matcher.jump_forward_tokens(Some(&|_: &[u8]| tokens.clone())).unwrap_err();
        assert_eq!((error.byte_offset(), error.token()), (Some(offset), Some(token)), "{error}");
    }
    assert_eq!(matcher.n_steps(), 0);
    // A tokenizer of whole characters reads the text as far as they go.
    let whole = |text: &[u8]| -> Vec<TokenId> {
        let n_valid = core::str::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
        text[..n_valid].iter().map(|&byte| byte.into()).collect()
    };
    assert_eq!(matcher.jump_forward(), "née".as_bytes());
    let forced = matcher.jump_forward_tokens(Some(&whole)).unwrap();
    assert_eq!(forced.tokens, [b'n'.into(), 0xc3, 0xa9, b'e'.into()]);
    assert!(matcher.jump_forward_tokens(Some(&|_: &[u8]| vec![])).unwrap().tokens.is_empty());
}

#[test]
fn markers_are_written_with_control_tokens() {
    let marker = 256;
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]).collect::<Vec<_>>());
    assert_eq!(builder.push(""), marker);
    builder.set_kind(marker, TokenKind::Control).set_name(marker, "<call>");
    builder.extend([">x", "\n<"]);
    let compiler = GrammarCompiler::new(Arc::new(builder.build().unwrap()));
    let letters = |text: &str| -> Vec<TokenId> { text.bytes().map(TokenId::from).collect() };
    // As the tokenizers of models do, wherever the name stands.
    let special = |text: &[u8]| -> Vec<TokenId> {
        let text = core::str::from_utf8(text).unwrap();
        let parts = text.split("<call>").map(letters).collect::<Vec<_>>();
        parts.join(&[marker][..])
    };
    let tag = r#"{"type": "structural_tag", "format": {"type": "const_string", "value": "a\n<call>x<call>"}}"#;
    let mut matcher = compiler.compile_structural_tag(tag).unwrap().matcher();
    assert_eq!(matcher.jump_forward(), b"a\n<call>x<call>");
    let spelled = [letters("a\n"), vec![marker], letters("x"), vec![marker]].concat();
    for tokenizer in [None, Some(&special as &dyn Tokenize)] {
        let forced = matcher.jump_forward_tokens(tokenizer).unwrap();
        assert_eq!((forced.n_taken_back, &forced.tokens), (0, &spelled));
    }
    // A tokenizer that knows no control tokens writes letters.
    let plain = |text: &[u8]| -> Vec<TokenId> { text.iter().map(|&byte| byte.into()).collect() };
    assert_eq!(matcher.jump_forward_tokens(Some(&plain)).unwrap().tokens, letters("a\n<call>x<call>"));
    matcher.accept_tokens(&spelled).unwrap();
    assert!(matcher.is_accepting());
    // Behind what was written of a marker by letters come letters.
    matcher.reset();
    matcher.accept_bytes(b"a\n<ca").unwrap();
    let forced = matcher.jump_forward_tokens(None).unwrap();
    assert_eq!(forced.tokens, [letters("ll"), vec![257], vec![marker]].concat());
    // Text is never a control token.
    let mut text = compiler.compile_ebnf(r#"root ::= "ab<call>c""#).unwrap().matcher();
    assert_eq!(text.jump_forward_tokens(None).unwrap().tokens, letters("ab<call>c"));
    assert_eq!(text.jump_forward_tokens(Some(&special)).unwrap().tokens, letters("ab"));
}
