//! Vocabularies from byte strings and from tiktoken data: kinds, names, limits, and the indexes against brute force.

use maskwright::vocab::{TokenId, TokenKind, Trie, TrieNode, Vocab};
use proptest::prelude::*;

/// Checks every index of a vocabulary against its definition.
fn check_indexes(vocab: &Vocab) {
    check_trie(vocab);
    let ids = 0..vocab.n_tokens() as TokenId;
    assert_eq!(vocab.token_bytes_max(), ids.clone().map(|id| vocab.bytes(id).len()).max().unwrap_or(0));
    let spelled = |byte| ids.clone().any(|id| vocab.bytes(id) == [byte]);
    for byte in 0..=255 {
        assert_eq!(vocab.unspellable_bytes().contains(byte), !spelled(byte), "byte {byte}");
    }
    assert!(vocab.memory_bytes() > vocab.n_tokens());
}

fn check_trie(vocab: &Vocab) {
    let trie = vocab.trie();
    let mut n_visited = vec![0; vocab.n_tokens()];
    // The bytes from the root to the current node of a walk in index order.
    let mut path: Vec<u8> = Vec::new();
    let root = TrieNode::ROOT;
    let mut open_ends: Vec<TrieNode> = vec![trie.subtree_end(root)];
    let mut n_below: Vec<usize> = vec![0; trie.n_nodes()];
    assert_eq!((trie.subtree_end(root).index(), trie.depth(root), trie.tokens(root).len()), (trie.n_nodes(), 0, 0));
    for node in trie.preorder(root).skip(1) {
        let depth = usize::from(trie.depth(node));
        assert!((1..=path.len() + 1).contains(&depth), "{node:?} skips a level");
        path.truncate(depth - 1);
        path.push(trie.byte(node));
        open_ends.truncate(depth);
        assert!(
            node < open_ends[depth - 1] && trie.subtree_end(node) <= open_ends[depth - 1],
            "{node:?} leaves its parent"
        );
        open_ends.push(trie.subtree_end(node));
        assert!(trie.tokens(node).is_sorted());
        for &id in trie.tokens(node) {
            assert_eq!(vocab.bytes(id), path, "token {id} at {node:?}");
            n_visited[id as usize] += 1;
        }
        n_below[node.index()] = trie.tokens(node).len();
        assert!(!trie.subtree_tokens(node).is_empty(), "{node:?} leads to no token");
    }
    for id in 0..vocab.n_tokens() as TokenId {
        let is_text = matches!(vocab.kind(id), TokenKind::Text | TokenKind::AddedText) && !vocab.bytes(id).is_empty();
        assert_eq!(n_visited[id as usize], usize::from(is_text), "token {id}");
        assert_eq!(vocab.is_text(id), is_text);
    }
    for node in trie.preorder(root) {
        check_children(trie, node);
        let n: usize = n_below[node.index()..trie.subtree_end(node).index()].iter().sum();
        assert_eq!(trie.subtree_tokens(node).len(), n);
        if let Some(&first) = trie.tokens(node).first() {
            assert_eq!(trie.subtree_tokens(node)[0], first);
        }
    }
}

fn check_children(trie: &Trie, node: TrieNode) {
    let children: Vec<TrieNode> = trie.children(node).collect();
    assert!(children.is_sorted_by(|&a, &b| trie.byte(a) < trie.byte(b)));
    let n_below: usize = children.iter().map(|&child| trie.n_nodes_at(child)).sum();
    assert_eq!(n_below + 1, trie.n_nodes_at(node));
    assert_eq!(trie.has_children(node), !children.is_empty());
    assert!(children.iter().all(|&child| trie.depth(child) == trie.depth(node) + 1));
    if node == TrieNode::ROOT {
        for byte in 0..=255 {
            assert_eq!(trie.root_child(byte), children.iter().copied().find(|&child| trie.byte(child) == byte));
        }
    }
    assert!(children.iter().all(|&child| trie.child(node, trie.byte(child)) == Some(child)));
}

/// Pseudo-random numbers with a fixed seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    /// Token lengths and letters are skewed, so that prefixes are shared and tokens repeat.
    fn token(&mut self) -> Vec<u8> {
        let len = 1 + self.below(4) * self.below(4);
        (0..len).map(|_| if self.below(4) == 0 { self.below(256) as u8 } else { b'a' + self.below(6) as u8 }).collect()
    }
}

#[test]
fn kinds_names_stops_and_padding() {
    let mut builder = Vocab::builder();
    builder.extend(["a", "<|im_start|>", "<think>", "", "</s>", "<|im_start|>", "a"]);
    builder.set_kind(1, TokenKind::Control).set_kind(2, TokenKind::AddedText).set_kind(5, TokenKind::Control);
    builder.set_kind(9, TokenKind::Control).set_name(9, "<|extra|>").stop_tokens([8, 4, 8]).logits_width(70);
    let vocab = builder.build().unwrap();
    check_indexes(&vocab);
    assert_eq!((vocab.n_tokens(), vocab.n_mask_words()), (70, 3));
    use TokenKind::{AddedText, Control, Padding, Text};
    let kinds: Vec<TokenKind> = (0..11).map(|id| vocab.kind(id)).collect();
    assert_eq!(kinds, [Text, Control, AddedText, Text, Control, Control, Text, Padding, Control, Control, Padding]);
    assert_eq!(vocab.kind(TokenId::MAX), Padding);
    assert_eq!(vocab.stop_tokens(), [4, 8]);
    assert_eq!(vocab.ids_named("<|im_start|>"), [1, 5]);
    assert_eq!(vocab.ids_named("<think>"), [2]);
    assert_eq!(vocab.ids_named("<|extra|>"), [9]);
    assert_eq!(vocab.ids_named("a"), [0; 0]);
    assert_eq!((vocab.name(4), vocab.name(8), vocab.name(0), vocab.name(1000)), (Some("</s>"), None, None, None));
    assert_eq!(vocab.names().map(|(name, ids)| (name, ids.len())).last(), Some(("<|im_start|>", 2)));
    let bytes: Vec<&[u8]> = [0, 1, 2, 3, 4, 6, 7, 69, 70, TokenId::MAX].map(|id| vocab.bytes(id)).to_vec();
    assert_eq!(bytes, [&b"a"[..], b"", b"<think>", b"", b"", b"a", b"", b"", b"", b""]);
    assert_eq!(vocab.trie().find(b"a").map(|node| vocab.trie().tokens(node)), Some(&[0, 6][..]));
    assert_eq!(vocab.trie().find(b"</"), None, "the spelling of a stop token is not text");
}

#[test]
fn later_calls_override_earlier_ones() {
    let mut builder = Vocab::builder();
    builder.extend(["a", "<x>"]);
    builder.set_kind(1, TokenKind::Control).set_kind(1, TokenKind::Text).stop_tokens([1]).stop_tokens([]);
    let vocab = builder.build().unwrap();
    assert_eq!((vocab.kind(1), vocab.bytes(1), vocab.name(1)), (TokenKind::Text, &b"<x>"[..], None));
    builder.set_kind(1, TokenKind::Control).set_name(1, "y");
    let vocab = builder.build().unwrap();
    assert_eq!((vocab.bytes(1), vocab.name(1), vocab.stop_tokens()), (&b""[..], Some("y"), &[][..]));
}

#[test]
fn stop_tokens_are_guessed_among_control_tokens_only() {
    let mut builder = Vocab::builder();
    builder.extend(["</s>", "</s>", "<|eot_id|>", "<|im_start|>", "x"]);
    builder.set_kind(1, TokenKind::Control).set_kind(2, TokenKind::Control).set_kind(3, TokenKind::Control);
    builder.set_kind(4, TokenKind::Control).set_name(4, "<eos>").guess_stop_tokens();
    assert_eq!(builder.build().unwrap().stop_tokens(), [1, 2, 4]);
}

#[test]
fn decoding_and_greedy_spelling() {
    let vocab = Vocab::from_tokens([&b"a"[..], b"ab", b"abcd", b"c", b"\xC3", b"\xA9", b"b", b"\xE2\x82"]).unwrap();
    assert_eq!(vocab.tokenize_greedy("abcaé".as_bytes()), [1, 3, 0, 4, 5]);
    assert_eq!(vocab.decode(&[1, 3, 0, 4, 5]), "abcaé".as_bytes());
    assert_eq!(vocab.tokenize_greedy(b"ab?c"), [1], "stops where no token fits");
    assert_eq!(vocab.tokenize_greedy(b""), [0; 0]);
    assert_eq!(vocab.decode(&[2, 99, TokenId::MAX, 0]), b"abcda", "unknown ids add nothing");
    assert!(vocab.unspellable_bytes().contains(b'd') && !vocab.unspellable_bytes().contains(0xA9));
    // Half a character is a text token, though it is not UTF-8.
}

#[test]
fn errors_are_typed() {
    let build = |change: &dyn Fn(&mut maskwright::VocabBuilder)| {
        let mut builder = Vocab::builder();
        builder.extend(["a", "b"]);
        change(&mut builder);
        builder.build().map(drop).unwrap_err()
    };
    let e = build(&|b| {
        b.stop_tokens([1, 2]);
    });
    assert_eq!((e.token_id(), e.bound()), (Some(2), Some((2, 2))));
    assert_eq!(e.to_string(), "stop token 2 is not in the vocabulary, whose ids are below 2");
    let e = build(&|b| {
        b.set_kind(7, TokenKind::Control);
    });
    assert_eq!((e.token_id(), e.bound()), (Some(7), Some((7, 2))));
    let e = build(&|b| {
        b.set_name(TokenId::MAX, "x");
    });
    assert_eq!(e.token_id(), Some(TokenId::MAX));
    let e = build(&|b| {
        b.logits_width(1);
    });
    assert_eq!((e.token_id(), e.bound()), (None, Some((1, 2))));
    let e = build(&|b| {
        b.logits_width(usize::MAX);
    });
    assert_eq!(e.bound(), Some((usize::MAX, Vocab::N_TOKENS_MAX)));
    let e = build(&|b| {
        b.push(vec![b'x'; Vocab::TOKEN_BYTES_MAX + 1]);
    });
    assert_eq!((e.token_id(), e.bound()), (Some(2), Some((65536, 65535))));
    let e = build(&|b| {
        let token = vec![b'x'; 1 << 15];
        (0..Vocab::BYTES_MAX >> 15).for_each(|_| {
            b.push(&token);
        });
    });
    assert!(e.to_string().contains("bytes together"), "{e}");
}

#[test]
fn one_hundred_and_twenty_eight_thousand_tokens_build_in_time() {
    let mut random = Random(0x5eed_0002);
    let mut random_token = || {
        let len = 1 + random.below(12);
        (0..len).map(|_| random.below(256) as u8).collect()
    };
    let tokens: Vec<Vec<u8>> = (0..128_000).map(|_| random_token()).collect();
    let times = (0..3).map(|_| {
        let start = std::time::Instant::now();
        let vocab = Vocab::from_tokens(&tokens).unwrap();
        assert_eq!(vocab.trie().subtree_tokens(TrieNode::ROOT).len(), 128_000);
        start.elapsed()
    });
    let fastest = times.min().unwrap();
    println!("128,000 random tokens of 1 to 12 bytes: {fastest:?}");
    assert!(fastest.as_millis() < 300, "{fastest:?}");
}

#[test]
fn the_number_of_tokens_is_bounded() {
    let mut builder = Vocab::builder();
    builder.extend(std::iter::repeat_n("", Vocab::N_TOKENS_MAX));
    assert!(builder.build().is_ok());
    builder.extend(["", ""]);
    let error = builder.build().unwrap_err();
    assert_eq!(error.bound(), Some((Vocab::N_TOKENS_MAX + 1, Vocab::N_TOKENS_MAX)));
    assert_eq!(builder.n_pushed(), Vocab::N_TOKENS_MAX);
}

#[test]
fn a_vocabulary_is_shared_among_threads() {
    fn is_shared<T: Send + Sync + 'static>(_: &T) {}
    is_shared(&Vocab::from_tokens(["a"]).unwrap());
}

#[test]
fn an_empty_vocabulary_is_an_error_but_one_without_text_is_not() {
    assert!(Vocab::from_tokens([""; 0]).unwrap_err().is_empty_vocab());
    let vocab = Vocab::from_tokens([""]).unwrap();
    check_indexes(&vocab);
    assert_eq!((vocab.trie().n_nodes(), vocab.kind(0)), (1, TokenKind::Text));
    let mut builder = Vocab::builder();
    let padding = builder.logits_width(40).stop_tokens([39]).build().unwrap();
    check_indexes(&padding);
    assert_eq!(
        (padding.n_mask_words(), padding.kind(39), padding.kind(38)),
        (2, TokenKind::Control, TokenKind::Padding)
    );
}

#[test]
fn the_longest_token_works() {
    let mut long = vec![b'x'; Vocab::TOKEN_BYTES_MAX];
    let last = long.len() - 1;
    let mut tokens = vec![long.clone(), long[..last].to_vec()];
    long[last] = b'y';
    tokens.extend([long, b"x".to_vec()]);
    let vocab = Vocab::from_tokens(&tokens).unwrap();
    check_indexes(&vocab);
    assert_eq!(vocab.trie().n_nodes(), 1 + last + 2);
    assert_eq!(vocab.token_bytes_max(), 65535);
    assert_eq!(vocab.tokenize_greedy(&tokens[2]), [2]);
}

#[test]
fn tokens_that_differ_in_trailing_zeros_are_kept_apart() {
    // Short tokens are padded with zeros for sorting.
    let tokens: [&[u8]; 7] = [b"a\0\0", b"a", b"a\0", b"\0", b"\0\0", b"a\0\0\0\0\0\0\0\0", b"a\0"];
    let vocab = Vocab::from_tokens(tokens).unwrap();
    check_indexes(&vocab);
    assert_eq!(vocab.trie().subtree_tokens(TrieNode::ROOT), [3, 4, 1, 2, 6, 0, 5]);
}

#[test]
fn two_hundred_and_sixty_thousand_tokens() {
    let mut random = Random(0x5eed_0001);
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.resize_with(260_000, || random.token());
    let vocab = Vocab::from_tokens(&tokens).unwrap();
    assert_eq!(vocab.n_tokens(), 260_000);
    assert!(vocab.unspellable_bytes().is_empty());
    for (id, token) in tokens.iter().enumerate() {
        assert_eq!(vocab.bytes(id as TokenId), token);
    }
    check_trie(&vocab);
    let ids: Vec<TokenId> = (0..1000).map(|_| random.below(260_000) as TokenId).collect();
    let text = vocab.decode(&ids);
    assert_eq!(vocab.decode(&vocab.tokenize_greedy(&text)), text);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn indexes_equal_brute_force(
        tokens in prop::collection::vec(prop::collection::vec(prop_oneof![0u8..4, 0x7Eu8..0x84, Just(0xC3), any::<u8>()], 0..7), 1..60),
        specials in prop::collection::vec((any::<u32>(), 0..4), 0..6),
        n_padding in 0usize..40,
    ) {
        let width = tokens.len() + n_padding;
        let mut builder = Vocab::builder();
        builder.extend(&tokens).logits_width(width);
        let mut stops = Vec::new();
        for (id, kind) in specials {
            let id = id % width as u32;
            match kind {
                0 => { builder.set_kind(id, TokenKind::Control); }
                1 => { builder.set_kind(id, TokenKind::AddedText); }
                2 => { builder.set_kind(id, TokenKind::Padding); }
                _ => stops.push(id),
            }
        }
        let vocab = builder.stop_tokens(stops.clone()).build().unwrap();
        check_indexes(&vocab);
        for id in 0..width as TokenId {
            let is_text = matches!(vocab.kind(id), TokenKind::Text | TokenKind::AddedText);
            let pushed = tokens.get(id as usize).map_or(&[][..], |token| token);
            prop_assert_eq!(vocab.bytes(id), if is_text { pushed } else { &[] });
        }
        prop_assert!(stops.iter().all(|&id| vocab.kind(id) == TokenKind::Control && vocab.stop_tokens().contains(&id)));
    }

    #[test]
    fn greedy_spelling_decodes_to_a_prefix(
        tokens in prop::collection::vec(prop::collection::vec(b'a'..b'd', 0..5), 1..20),
        text in prop::collection::vec(b'a'..b'e', 0..40),
    ) {
        let vocab = Vocab::from_tokens(&tokens).unwrap();
        let ids = vocab.tokenize_greedy(&text);
        let spelled = vocab.decode(&ids);
        prop_assert!(text.starts_with(&spelled));
        let rest = &text[spelled.len()..];
        prop_assert!(!tokens.iter().any(|token| !token.is_empty() && rest.starts_with(token)));
    }
}

#[cfg(feature = "tiktoken")]
mod tiktoken {
    use super::*;
    use maskwright::Encoding;
    use maskwright::vocab::tiktoken::encode;

    const TEXTS: [&str; 5] = [
        "",
        "fn main() {\n    println!(\"Hello, world\");\n}\r\n\t# 1234567",
        "Grüße aus Zürich; 東京は日本の首都です。 Привет, мир!",
        "🦀🧑‍🚀 e\u{301} \u{0} \u{fffd} <|endoftext|> <|im_start|>",
        "          spaces   and\n\n\n\nlines   ",
    ];

    #[test]
    fn embedded_encodings_decode_what_they_encode() {
        for (encoding, n_tokens, endoftext) in
            [(Encoding::Cl100kBase, 100_277, 100_257), (Encoding::O200kBase, 200_019, 199_999)]
        {
            let vocab = Vocab::tiktoken(encoding).unwrap();
            assert_eq!((vocab.n_tokens(), vocab.stop_tokens()), (n_tokens, &[endoftext][..]), "{}", encoding.name());
            assert_eq!((vocab.kind(endoftext), vocab.name(endoftext)), (TokenKind::Control, Some("<|endoftext|>")));
            assert_eq!(vocab.ids_named("<|endofprompt|>").len(), 1);
            assert!(vocab.unspellable_bytes().is_empty());
            for text in TEXTS {
                let ids = encode(encoding, text);
                assert!(ids.iter().all(|&id| vocab.kind(id) == TokenKind::Text));
                assert_eq!(vocab.decode(&ids), text.as_bytes());
                assert_eq!(vocab.decode(&vocab.tokenize_greedy(text.as_bytes())), text.as_bytes());
            }
            check_trie(&vocab);
        }
    }

    #[test]
    fn holes_are_padding() {
        let vocab = Vocab::tiktoken(Encoding::Cl100kBase).unwrap();
        let n_of = |kind| (0..vocab.n_tokens() as TokenId).filter(|&id| vocab.kind(id) == kind).count();
        assert_eq!((n_of(TokenKind::Text), n_of(TokenKind::Control), n_of(TokenKind::Padding)), (100_256, 5, 16));
        assert_eq!((vocab.kind(100_256), vocab.bytes(100_256)), (TokenKind::Padding, &[][..]));
    }

    #[test]
    fn tiktoken_text() {
        let text = "YQ== 0\n\r\nIHRoZQ== 2\r\n/w== 1\n";
        let vocab = Vocab::from_tiktoken_text(text, &[("<|endoftext|>", 5), ("<|x|>", 3)]).unwrap();
        check_indexes(&vocab);
        assert_eq!(vocab.n_tokens(), 6);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|id| vocab.bytes(id)), [&b"a"[..], b"\xFF", b" the", b"", b"", b""]);
        assert_eq!(
            (vocab.stop_tokens(), vocab.kind(4), vocab.kind(3)),
            (&[5][..], TokenKind::Padding, TokenKind::Control)
        );
    }

    #[test]
    fn tiktoken_text_errors_carry_the_line() {
        let huge = format!("YQ== {}", Vocab::N_TOKENS_MAX);
        for (text, line, message) in [
            ("YQ== 0\nYg==\n", 2, "expected a token in base64, a space and its rank"),
            ("YQ== 0\n\nYg== -1", 3, "\"-1\" is not a rank"),
            ("Y 0", 1, "\"Y\" is not base64"),
            ("YQ== 0\nYg== 1\nYw== 0\n", 3, "rank 0 is given twice"),
            (&huge, 1, "rank 4194304 is not below 4194304"),
        ] {
            let error = Vocab::from_tiktoken_text(text, &[]).map(drop).unwrap_err();
            assert_eq!(error.line_number(), Some(line), "{text:?}");
            assert_eq!(error.to_string(), format!("line {line}: {message}"));
        }
        assert!(Vocab::from_tiktoken_text("YQ== 0", &[("<x>", 0)]).unwrap_err().is_malformed());
        assert!(Vocab::from_tiktoken_text("YQ== 0", &[("<x>", 1), ("<y>", 1)]).unwrap_err().is_malformed());
        assert!(Vocab::from_tiktoken_text("", &[("<x>", u32::MAX)]).unwrap_err().bound().is_some());
        assert!(Vocab::from_tiktoken_text("", &[]).unwrap_err().is_empty_vocab());
    }
}

/// A model may have fewer logits than its tokenizer has tokens.
#[test]
fn a_vocabulary_is_cut_to_the_width_of_the_logits() {
    let tokens = ["a", "", "<s>", "bc", "<e>", "x"];
    for width in 1..=8 {
        let mut builder = Vocab::builder();
        builder.extend(tokens).set_kind(4, TokenKind::Control).set_name(5, "ex").set_name(0, "first");
        builder.stop_tokens([4, 2]).cut_to_logits_width(width);
        let cut = builder.build().unwrap();
        check_indexes(&cut);
        let mut expected = Vocab::builder();
        expected.extend(tokens.iter().take(width)).set_name(0, "first");
        if width > 5 {
            expected.set_name(5, "ex");
        }
        expected.stop_tokens([2, 4].into_iter().filter(|&id| id < width as TokenId)).logits_width(width);
        let expected = expected.build().unwrap();
        assert_eq!((cut.n_tokens(), cut.stop_tokens()), (width, expected.stop_tokens()));
        assert_eq!(cut.names().collect::<Vec<_>>(), expected.names().collect::<Vec<_>>());
        for id in 0..9 {
            assert_eq!((cut.kind(id), cut.bytes(id)), (expected.kind(id), expected.bytes(id)), "{id} of {width}");
        }
        assert_eq!(cut.memory_bytes(), expected.memory_bytes());
        // The builder is as it was: a wider vocabulary has all of it.
        assert_eq!(builder.cut_to_logits_width(6).build().unwrap().stop_tokens(), [2, 4]);
        // A width that may not cut.
        assert_eq!(builder.logits_width(width).build().is_err(), width < 6);
    }
    assert!(Vocab::builder().cut_to_logits_width(0).build().unwrap_err().is_empty_vocab());
}
