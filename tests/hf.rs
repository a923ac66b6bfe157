//! Vocabularies from `tokenizer.json` files: small tokenizers of each kind are trained here, and the bytes of tokens are compared
//! with what the `tokenizers` crate decodes.
#![cfg(feature = "hf")]

use maskwright::{TokenId, TokenKind, Vocab, VocabBuilder};
use serde_json::{Value, json};
use std::sync::LazyLock;
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::BpeTrainer;
use tokenizers::models::unigram::UnigramTrainer;
use tokenizers::models::wordlevel::WordLevelTrainer;
use tokenizers::models::wordpiece::WordPieceTrainer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer};

const CORPUS: [&str; 12] = [
    "The quick brown fox jumps over the lazy dog, and the dog isn't amused.",
    "She sells sea shells; the shells she sells are sea shells, I'm sure.",
    "fn main() {\n    let total = 12345 + 67890;\n    println!(\"{total}\");\n}\n",
    "{\"name\": \"value\", \"list\": [1, 2, 3], \"nested\": {\"key\": null}}",
    "Übergrößenträger müssen für ihre Schlüssel zahlen. Größe: 42 cm",
    "Привет, мир! Как дела? Привет, привет!",
    "東京は日本の首都です。東京に行きました。",
    "tabs\tand\ttabs\r\nand  double   spaces    everywhere",
    "playing played plays player replay displayed the playing players",
    "In 2023 there were 365 days; in 2024 there are 366 days.",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z . , ! ? ' - A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
    "café naïve résumé — “quotes” … and the café again",
];

const TEXTS: [&str; 14] = [
    "The players replayed the display.",
    " leading space",
    "  two leading spaces and trailing  ",
    "trailing newline\n",
    "\n\n\t mixed\r\n white   space",
    "don't do not I'm she 's . , !",
    "Größe und Привет und 東京",
    "emoji 🦀 and 🧑‍🚀, combining e\u{301}, odd \u{0} \u{7f} \u{ad} \u{a0}",
    "{\"key\": [1, 2.5e10, \"\\u00e9\"]}",
    "1234567890",
    "",
    "▁ and ##ing and Ġ and <0x41>",
    "called <tool> and </tool> here",
    "    indented\n        more",
];

fn trainer(kind: &str) -> TrainerWrapper {
    let special = |content: &str| AddedToken::from(content, true);
    match kind {
        "byte level" => BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(500)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .special_tokens(vec![special("<|endoftext|>")])
            .build()
            .into(),
        "BPE" => BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(400)
            .special_tokens(vec![special("<unk>"), special("<s>"), special("</s>")])
            .build()
            .into(),
        "Unigram" => UnigramTrainer::builder()
            .show_progress(false)
            .vocab_size(300)
            .unk_token(Some("<unk>".into()))
            .special_tokens(vec![special("<pad>"), special("</s>"), special("<unk>")])
            .build()
            .unwrap()
            .into(),
        "WordPiece" => WordPieceTrainer::builder()
            .show_progress(false)
            .vocab_size(400)
            .special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map(special).to_vec())
            .build()
            .into(),
        "WordLevel" => {
            let specials = vec![special("[UNK]")];
            WordLevelTrainer::builder().show_progress(false).special_tokens(specials).build().unwrap().into()
        }
        other => panic!("no trainer for {other}"),
    }
}

/// Trains a tokenizer with these sections and adds the text tokens `<tool>` and `</tool>`.
fn train(kind: &str, normalizer: Value, pre_tokenizer: Value, decoder: Value) -> Value {
    let model = match kind {
        "byte level" => json!({"type": "BPE", "vocab": {}, "merges": []}),
        "BPE" => json!({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "vocab": {}, "merges": []}),
        "Unigram" => json!({"type": "Unigram", "unk_id": null, "vocab": []}),
        "WordPiece" => json!({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {}}),
        "WordLevel" => json!({"type": "WordLevel", "unk_token": "[UNK]", "vocab": {}}),
        other => panic!("no model for {other}"),
    };
    let empty = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "post_processor": null,
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "decoder": decoder, "model": model});
    let mut tokenizer: Tokenizer = empty.to_string().parse().unwrap();
    tokenizer.train(&mut trainer(kind), CORPUS.iter()).unwrap();
    let tool = |content: &str| AddedToken::from(content, false).normalized(false);
    tokenizer.add_tokens(&[tool("<tool>"), tool("</tool>")]);
    serde_json::from_str(&tokenizer.to_string(false).unwrap()).unwrap()
}

/// Adds the 256 byte tokens to a trained model, and moves the added tokens that follow.
fn with_byte_fallback(mut file: Value) -> Value {
    let model = &mut file["model"];
    model["byte_fallback"] = json!(true);
    let bytes = (0..256).map(|byte| format!("<0x{byte:02X}>"));
    if let Some(pieces) = model["vocab"].as_array_mut() {
        pieces.extend(bytes.map(|token| json!([token, -30.0])));
    } else {
        let ids = model["vocab"].as_object_mut().unwrap();
        let n = ids.len();
        ids.extend(bytes.enumerate().map(|(i, token)| (token, json!(n + i))));
    }
    for added in file["added_tokens"].as_array_mut().unwrap() {
        if added["special"] == false {
            added["id"] = json!(added["id"].as_u64().unwrap() + 256);
        }
    }
    file
}

const SPACE_TO_MARKER: &str = r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#;
const MARKER_TO_SPACE: &str = r#"{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}"#;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn sequence(parts: &str, list: Vec<Value>) -> Value {
    json!({"type": "Sequence", parts: list})
}

fn byte_level(add_prefix_space: bool, use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex})
}

fn metaspace(scheme: &str, split: bool) -> Value {
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split})
}

fn llama_decoder() -> Value {
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let list = vec![parse(MARKER_TO_SPACE), json!({"type": "ByteFallback"}), json!({"type": "Fuse"}), strip];
    sequence("decoders", list)
}

/// The trained tokenizers: a name, the file, and whether it can spell every text.
static FILES: LazyLock<Vec<(&str, Value, bool)>> = LazyLock::new(|| {
    let split = json!({"type": "Split", "pattern": {"Regex": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"},
        "behavior": "Isolated", "invert": false});
    let llama_normalizer =
        sequence("normalizers", vec![json!({"type": "Prepend", "prepend": "▁"}), parse(SPACE_TO_MARKER)]);
    let gemma_split =
        json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false});
    let gemma_decoder =
        sequence("decoders", vec![parse(MARKER_TO_SPACE), json!({"type": "ByteFallback"}), json!({"type": "Fuse"})]);
    let bert = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true});
    let word_piece = |cleanup: bool| json!({"type": "WordPiece", "prefix": "##", "cleanup": cleanup});
    let bert_split = || json!({"type": "BertPreTokenizer"});
    vec![
        (
            "byte level, as GPT-2",
            train("byte level", Value::Null, byte_level(false, true), byte_level(true, true)),
            true,
        ),
        (
            "byte level with a prefix space",
            train("byte level", Value::Null, byte_level(true, true), byte_level(true, true)),
            true,
        ),
        (
            "byte level after a split, as Llama 3",
            train(
                "byte level",
                Value::Null,
                sequence("pretokenizers", vec![split.clone(), byte_level(false, false)]),
                byte_level(true, true),
            ),
            true,
        ),
        (
            "byte level in a sequence, normalized, as Qwen",
            train(
                "byte level",
                json!({"type": "NFC"}),
                sequence("pretokenizers", vec![split, byte_level(false, false)]),
                sequence("decoders", vec![byte_level(false, false)]),
            ),
            true,
        ),
        (
            "prepended marker, as Llama 2",
            with_byte_fallback(train("BPE", llama_normalizer, Value::Null, llama_decoder())),
            true,
        ),
        (
            "metaspace before, replace after, as Mistral",
            with_byte_fallback(train("BPE", Value::Null, metaspace("first", false), llama_decoder())),
            true,
        ),
        (
            "marker without a prefix, as Gemma",
            with_byte_fallback(train("BPE", parse(SPACE_TO_MARKER), gemma_split, gemma_decoder.clone())),
            true,
        ),
        (
            "unigram with byte fallback",
            with_byte_fallback(train("Unigram", parse(SPACE_TO_MARKER), Value::Null, gemma_decoder)),
            true,
        ),
        (
            "unigram with metaspace, as T5",
            train("Unigram", Value::Null, metaspace("always", true), metaspace("always", true)),
            false,
        ),
        ("word pieces", train("WordPiece", bert.clone(), bert_split(), word_piece(false)), false),
        ("word pieces, cleaned up, as BERT", train("WordPiece", bert, bert_split(), word_piece(true)), false),
    ]
});

fn file(name_start: &str) -> Value {
    FILES.iter().find(|(name, ..)| name.starts_with(name_start)).unwrap().1.clone()
}

fn vocab_of(file: &Value) -> Vocab {
    Vocab::from_hf_json(&file.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

fn error_of(file: &Value) -> maskwright::VocabError {
    Vocab::from_hf_json(&file.to_string()).unwrap_err()
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<TokenId> {
    tokenizer.encode(text, false).unwrap().get_ids().to_vec()
}

fn is_spelled(vocab: &Vocab, ids: &[TokenId]) -> bool {
    ids.iter().all(|&id| vocab.kind(id) != TokenKind::Control)
}

#[test]
fn bytes_of_tokens_are_the_decoded_text() {
    for (name, file, spells_all) in FILES.iter() {
        let tokenizer: Tokenizer = file.to_string().parse().unwrap();
        let vocab = vocab_of(file);
        let mut n_compared = 0;
        for prefix in ["the", "dog, and"] {
            let head = encode(&tokenizer, prefix);
            assert!(is_spelled(&vocab, &head), "{name}: {prefix}");
            let head_text = tokenizer.decode(&head, true).unwrap();
            for text in TEXTS {
                let ids = encode(&tokenizer, text);
                if !is_spelled(&vocab, &ids) {
                    assert!(!spells_all, "{name}: {text:?}");
                    continue;
                }
                n_compared += 1;
                let whole = tokenizer.decode(&[&head[..], &ids].concat(), true).unwrap();
                let added = whole.strip_prefix(&head_text).unwrap();
                assert_eq!(String::from_utf8(vocab.decode(&ids)).unwrap(), added, "{name}: {text:?} after {prefix:?}");
            }
        }
        assert!(n_compared >= 8, "{name}: only {n_compared} texts are compared");
    }
}

#[test]
fn each_token_adds_its_bytes_between_others() {
    for (name, file, _) in FILES.iter() {
        let tokenizer: Tokenizer = file.to_string().parse().unwrap();
        let vocab = vocab_of(file);
        let (head, tail) = (encode(&tokenizer, "the dog"), encode(&tokenizer, "sea"));
        let decode = |parts: &[&[TokenId]]| tokenizer.decode(&parts.concat(), true).unwrap();
        let head_text = decode(&[&head]);
        let tail_text = decode(&[&head, &tail])[head_text.len()..].to_owned();
        let mut n_compared = 0;
        for id in 0..vocab.n_tokens() as TokenId {
            if matches!(vocab.kind(id), TokenKind::Text | TokenKind::AddedText)
                && let Ok(text) = std::str::from_utf8(vocab.bytes(id))
            {
                n_compared += 1;
                let expected = format!("{head_text}{text}{tail_text}");
                assert_eq!(
                    decode(&[&head, &[id], &tail]),
                    expected,
                    "{name}: token {id} {:?}",
                    tokenizer.id_to_token(id)
                );
            }
        }
        assert!(n_compared > 150, "{name}: only {n_compared} tokens are compared");
    }
}

#[test]
fn kinds_names_and_stop_tokens() {
    for (name, file, spells_all) in FILES.iter() {
        let tokenizer: Tokenizer = file.to_string().parse().unwrap();
        let vocab = vocab_of(file);
        assert_eq!(vocab.n_tokens(), tokenizer.get_vocab_size(true), "{name}");
        assert_eq!(*spells_all, vocab.unspellable_bytes().is_empty(), "{name}");
        let stops: Vec<&str> = vocab.stop_tokens().iter().map(|&id| vocab.name(id).unwrap()).collect();
        let expected = match *name {
            _ if name.starts_with("byte level") => "<|endoftext|>",
            _ if name.starts_with("word pieces") => "[SEP]",
            _ => "</s>",
        };
        assert_eq!(stops, [expected], "{name}");
        for (id, added) in tokenizer.get_added_tokens_decoder() {
            let kind = if added.special { TokenKind::Control } else { TokenKind::AddedText };
            assert_eq!((vocab.kind(id), vocab.name(id)), (kind, Some(&*added.content)), "{name}");
            assert_eq!(vocab.ids_named(&added.content), [id], "{name}");
        }
        let tool = vocab.ids_named("<tool>")[0];
        let space = if name.starts_with("word pieces") { " " } else { "" };
        assert_eq!(vocab.bytes(tool), format!("{space}<tool>").as_bytes(), "{name}");
    }
}

#[test]
fn what_the_file_says_can_be_overridden() {
    let json = file("byte level, as GPT-2").to_string();
    let mut builder = VocabBuilder::from_hf_json(&json).unwrap();
    let n = builder.n_pushed();
    let tool = Vocab::from_hf_json(&json).unwrap().ids_named("<tool>")[0];
    let vocab = builder
        .stop_tokens([5])
        .set_kind(tool, TokenKind::Control)
        .set_kind(0, TokenKind::Text)
        .logits_width(n + 7)
        .build()
        .unwrap();
    assert_eq!((vocab.n_tokens(), vocab.stop_tokens()), (n + 7, &[5][..]));
    assert_eq!((vocab.kind(tool), vocab.kind(n as TokenId)), (TokenKind::Control, TokenKind::Padding));
    assert_eq!((vocab.kind(0), vocab.bytes(0)), (TokenKind::Text, &b"<|endoftext|>"[..]));
    assert_eq!(VocabBuilder::from_hf_json(&json).unwrap().stop_tokens([]).build().unwrap().stop_tokens(), [0; 0]);
}

#[test]
fn without_a_decoder_the_pre_tokenizer_says_how_to_decode() {
    for name in [
        "byte level, as",
        "byte level after",
        "prepended",
        "metaspace before",
        "marker without",
        "unigram with byte",
        "word pieces",
    ] {
        let with = vocab_of(&file(name));
        let mut bare = file(name);
        bare["decoder"] = Value::Null;
        let without = vocab_of(&bare);
        for id in 0..with.n_tokens() as TokenId {
            assert_eq!(with.bytes(id), without.bytes(id), "{name}: token {id}");
        }
    }
    let words = vocab_of(&train("WordLevel", Value::Null, json!({"type": "Whitespace"}), Value::Null));
    assert_eq!(
        words.tokenize_greedy(b" the dog"),
        [b" the", b" dog"].map(|word| words.trie().tokens(words.trie().find(word).unwrap())[0])
    );
    let mut plain = file("metaspace before");
    plain["decoder"] = Value::Null;
    plain["pre_tokenizer"] = json!({"type": "Whitespace"});
    assert_eq!(error_of(&plain).unsupported_section(), Some("decoder"));
}

#[test]
fn decoders_that_look_across_tokens_are_refused_by_name() {
    let fuse = json!({"type": "Fuse"});
    let fallback = json!({"type": "ByteFallback"});
    let replace = parse(MARKER_TO_SPACE);
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    let ctc = json!({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true});
    let inner = sequence("decoders", vec![fuse.clone(), replace.clone()]);
    for (section, decoder) in [
        ("decoder.CTC", ctc.clone()),
        ("decoder.CTC", sequence("decoders", vec![fuse.clone(), ctc])),
        ("decoder.BPEDecoder", json!({"type": "BPEDecoder", "suffix": "</w>"})),
        ("decoder.Replace", sequence("decoders", vec![fallback.clone(), replace.clone()])),
        ("decoder.Replace", sequence("decoders", vec![inner])),
        ("decoder.Strip", sequence("decoders", vec![fallback.clone(), strip.clone()])),
        ("decoder.Metaspace", sequence("decoders", vec![fuse.clone(), metaspace("always", true)])),
        ("decoder.ByteLevel", sequence("decoders", vec![fallback.clone(), byte_level(true, true)])),
        ("decoder.ByteFallback", sequence("decoders", vec![byte_level(true, true), fallback.clone()])),
        ("decoder.Quantum", json!({"type": "Quantum"})),
        ("decoder.Quantum", sequence("decoders", vec![fuse.clone(), json!({"type": "Quantum"})])),
        ("decoder.Strip", json!({"type": "Strip", "content": "  ", "start": 1, "stop": 0})),
    ] {
        let mut file = file("prepended");
        file["decoder"] = decoder.clone();
        let error = error_of(&file);
        assert_eq!(error.unsupported_section(), Some(section), "{decoder}: {error}");
        assert!(error.to_string().starts_with(section), "{error}");
    }
    // Stripping the text, and a regular expression on each token, can be said.
    let mut file = file("prepended");
    let regex = json!({"type": "Replace", "pattern": {"Regex": "^▁+"}, "content": "  "});
    file["decoder"] = sequence("decoders", vec![regex, replace, fallback, fuse, strip]);
    let vocab = vocab_of(&file);
    assert!((0..vocab.n_tokens() as TokenId).any(|id| vocab.bytes(id).starts_with(b"  the")));
}

#[test]
fn strip_before_fuse_is_said_token_by_token() {
    let strip = json!({"type": "Strip", "content": "e", "start": 1, "stop": 2});
    let file = json!({
        "decoder": sequence("decoders", vec![strip, parse(MARKER_TO_SPACE)]),
        "model": {"type": "BPE", "vocab": {"▁the": 0, "e": 1, "eeded": 2, "▁": 3, "eeeeeee": 4}, "merges": []},
    });
    let vocab = vocab_of(&file);
    assert_eq!([0, 1, 2, 3, 4].map(|id| vocab.bytes(id)), [&b" th"[..], b"", b"eded", b" ", b"eeee"]);
    assert!(!vocab.is_text(1) && vocab.kind(1) == TokenKind::Text);
}

#[test]
fn holes_and_repeats_in_the_tables() {
    let decoder = byte_level(true, true);
    let added = |id: u32, content: &str, special: bool| json!({"id": id, "content": content, "special": special});
    let file = |vocab: Value, added: Vec<Value>| json!({"added_tokens": added, "decoder": decoder, "model": {"type": "BPE", "vocab": vocab, "merges": []}});
    let vocab = vocab_of(&file(
        json!({"a": 0, "Ġb": 3}),
        vec![added(6, "<|x|>", true), added(7, "<|x|>", true), added(0, "a", false)],
    ));
    let kinds: Vec<TokenKind> = (0..8).map(|id| vocab.kind(id)).collect();
    use TokenKind::{AddedText, Control, Padding, Text};
    assert_eq!(kinds, [AddedText, Padding, Padding, Text, Padding, Padding, Control, Control]);
    assert_eq!((vocab.ids_named("<|x|>"), vocab.bytes(3)), (&[6, 7][..], &b" b"[..]));
    for bad in [
        file(json!({"a": 0, "b": 0}), vec![]),
        file(json!({"a": 0}), vec![added(0, "b", true)]),
        file(json!({"a": 0, "b": 1}), vec![added(2, "b", true)]),
        file(json!({"a": 0}), vec![added(2, "b", true), added(2, "c", true)]),
        file(json!({"a": -1}), vec![]),
        file(json!([["a", 0.5]]), vec![]),
    ] {
        let error = error_of(&bad);
        assert!(error.is_malformed(), "{bad}: {error}");
    }
    assert!(error_of(&file(json!({"a": u32::MAX}), vec![])).bound().is_some());
    assert!(error_of(&file(json!({}), vec![added(1 << 24, "b", true)])).bound().is_some());
    assert!(error_of(&file(json!({}), vec![])).is_empty_vocab());
    let long = "a".repeat(Vocab::TOKEN_BYTES_MAX + 1);
    assert_eq!(error_of(&file(json!({"a": 0, long: 1}), vec![])).token_id(), Some(1));
    // Pieces of a unigram model may repeat.
    let pieces = json!({"decoder": metaspace("always", true), "model": {"type": "Unigram", "unk_id": 0,
        "vocab": [["<unk>", 0.0], ["▁a", -1.0], ["▁a", -2.0]]}});
    let vocab = vocab_of(&pieces);
    assert_eq!((vocab.bytes(1), vocab.bytes(2), vocab.kind(0)), (&b" a"[..], &b" a"[..], Control));
}

#[test]
fn unknown_versions_and_models_are_refused() {
    let mut changed = file("word pieces");
    changed["version"] = json!("2.0");
    assert_eq!(error_of(&changed).unsupported_section(), Some("version"));
    let mut changed = file("word pieces");
    changed["model"]["type"] = json!("Quantum");
    assert_eq!(error_of(&changed).unsupported_section(), Some("model.Quantum"));
}

#[test]
fn old_files_do_not_say_the_type_of_the_model() {
    let bytes = |model: Value| {
        let vocab = vocab_of(&json!({"model": model}));
        [0, 1].map(|id| String::from_utf8(vocab.bytes(id).to_vec()).unwrap())
    };
    let ids = json!({"a": 0, "##b": 1});
    assert_eq!(bytes(json!({"vocab": ids, "max_input_chars_per_word": 100})), [" a", "b"]);
    assert_eq!(bytes(json!({"vocab": ids, "unk_token": "[UNK]"})), [" a", " ##b"]);
    assert_eq!(error_of(&json!({"model": {"vocab": ids, "merges": []}})).unsupported_section(), Some("decoder"));
    assert_eq!(error_of(&json!({"model": {"vocab": [["a", 0.0]]}})).unsupported_section(), Some("decoder"));
}

#[test]
fn sections_that_only_encoding_needs_may_be_anything() {
    let mut changed = file("byte level, as");
    let before = vocab_of(&changed);
    changed["pre_tokenizer"] = json!({"type": "Quantum"});
    changed["model"]["merges"] = json!(["x", 3]);
    changed["post_processor"] = json!(7);
    let after = vocab_of(&changed);
    assert!((0..before.n_tokens() as TokenId).all(|id| before.bytes(id) == after.bytes(id)));
}

#[test]
fn truncated_and_garbled_files_are_errors() {
    let text = file("marker without").to_string();
    for cut in (0..text.len()).step_by(97).filter(|&cut| text.is_char_boundary(cut)) {
        let error = Vocab::from_hf_json(&text[..cut]).unwrap_err();
        assert!(error.is_malformed(), "{error}");
        assert!(error.to_string().len() < 1000);
    }
    for garbage in
        ["", "{}", "[]", "null", "{\"model\": null}", "{\"model\": {}}", "\u{0}", "{\"model\": {\"vocab\": 3}}"]
    {
        assert!(Vocab::from_hf_json(garbage).unwrap_err().is_malformed(), "{garbage:?}");
    }
    let deep = format!("{{\"decoder\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Vocab::from_hf_json(&deep).unwrap_err().is_malformed());
    // Any answer will do for a file that was changed a little, as long as there is one.
    let mut random = 0x5eed_u64;
    let mut n_errors = 0;
    for _ in 0..2000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..3 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (random >> 33) as usize % bytes.len();
            bytes[at] = b"0019{}[]\",:xnft-\\"[(random >> 20) as usize % 17];
        }
        n_errors += usize::from(Vocab::from_hf_json(&String::from_utf8_lossy(&bytes)).is_err());
    }
    assert!(n_errors > 500);
}

#[test]
fn files_are_read_from_paths() {
    let path = std::env::temp_dir().join(format!("maskwright-hf-{}.json", std::process::id()));
    assert_eq!(Vocab::from_hf_file(&path).unwrap_err().io_kind(), Some(std::io::ErrorKind::NotFound));
    std::fs::write(&path, file("word pieces").to_string()).unwrap();
    let vocab = Vocab::from_hf_file(&path);
    std::fs::write(&path, b"\xFF\xFE").unwrap();
    let error = VocabBuilder::from_hf_file(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(vocab.unwrap().ids_named("[SEP]").len(), 1);
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::InvalidData));
}
