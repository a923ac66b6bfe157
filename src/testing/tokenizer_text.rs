//! Arbitrary files of tokenizers: an error, or a vocabulary that holds together.

use super::Rng;
use super::engine::Coverage;
use crate::vocab::{TokenId, Vocab};
use serde_json::json;

/// Reads bytes as a `tokenizer.json` and as tiktoken data; a vocabulary that comes of it is checked.
///
/// # Panics
/// If a property doesn't hold.
pub fn check(data: &[u8]) -> Coverage {
    let text = String::from_utf8_lossy(data);
    let mut coverage = Coverage::default();
    let read = [Vocab::from_hf_json(&text), Vocab::from_tiktoken_text(&text, &[])];
    for outcome in read {
        match outcome {
            Ok(vocab) => {
                coverage.n_grammars += 1;
                check_vocab(&vocab);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    coverage
}

fn check_vocab(vocab: &Vocab) {
    assert_eq!(vocab.n_mask_words(), vocab.n_tokens().div_ceil(32));
    let n_tokens = TokenId::try_from(vocab.n_tokens()).expect("ids are 32 bits");
    let is_spellable = |bytes: &[u8]| bytes.iter().all(|&byte| !vocab.unspellable_bytes().contains(byte));
    for id in (0..n_tokens).take(1 << 10) {
        let bytes = vocab.bytes(id);
        assert!(bytes.len() <= vocab.token_bytes_max().max(bytes.len() * usize::from(!vocab.is_text(id))));
        if vocab.is_text(id) && is_spellable(bytes) {
            let spelled: Vec<u8> =
                vocab.tokenize_greedy(bytes).iter().flat_map(|&id| vocab.bytes(id)).copied().collect();
            assert_eq!(spelled, bytes, "token {id}");
        }
    }
    for (name, ids) in vocab.names() {
        assert!(!ids.is_empty() && vocab.ids_named(name) == ids, "{name:?}");
    }
    assert!(vocab.stop_tokens().iter().all(|&id| id < n_tokens));
}

/// Returns a random text that is the file of a tokenizer or nearly so.
pub fn random_text(rng: &mut Rng) -> Vec<u8> {
    let mut text = if rng.chance(25) { random_tiktoken(rng) } else { random_hf(rng) };
    if rng.chance(20) {
        let at = rng.below(text.len() + 1);
        if text.is_char_boundary(at) {
            text.truncate(at);
        }
    }
    let mut bytes = text.into_bytes();
    if rng.chance(20) && !bytes.is_empty() {
        let at = rng.below(bytes.len());
        bytes[at] = rng.bits() as u8;
    }
    bytes
}

fn random_tiktoken(rng: &mut Rng) -> String {
    const ENCODED: [&str; 7] = ["YQ==", "Yg==", "YWI=", "/w==", "", "!", "w6k="];
    let line = |rank: usize, rng: &mut Rng| format!("{} {}\n", rng.pick(&ENCODED), rank + rng.below(3) / 2);
    (0..rng.below(8)).map(|rank| line(rank, rng)).collect()
}

fn random_hf(rng: &mut Rng) -> String {
    const TOKENS: [&str; 16] =
        ["a", "b", "ab", "Ġ", "Ġa", "▁", "▁a", "<0x0A>", "<0xFF>", "é", "Ã", "<unk>", "##a", "", "</s>", "a</w>"];
    let mut tokens = serde_json::Map::new();
    for id in 0..rng.below(12) {
        tokens.insert((*rng.pick(&TOKENS)).into(), json!(id + rng.below(8) / 7 * rng.below(1 << 20)));
    }
    let added: Vec<_> = (0..rng.below(3))
        .map(|index| {
            let content = *rng.pick(&["<|x|>", "</s>", "<think>", "a", ""]);
            let flag = rng.chance(70);
            json!({ "id": 12 + index, "content": content, "special": flag, "single_word": false, "lstrip": false, "rstrip": false, "normalized": !flag })
        })
        .collect();
    let model = match rng.below(4) {
        0 => {
            json!({ "type": "BPE", "vocab": tokens, "merges": [], "byte_fallback": rng.chance(50), "unk_token": null })
        }
        1 => {
            json!({ "type": "WordPiece", "vocab": tokens, "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100 })
        }
        2 => {
            let pieces: Vec<_> = tokens.keys().map(|token| json!([token, -1.0])).collect();
            json!({ "type": "Unigram", "vocab": pieces, "unk_id": null, "byte_fallback": rng.chance(50) })
        }
        _ => json!({ "type": "WordLevel", "vocab": tokens, "unk_token": "<unk>" }),
    };
    let decoder = match rng.below(6) {
        0 => json!(null),
        1 => json!({ "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true }),
        2 => json!({ "type": "ByteFallback" }),
        3 => {
            json!({ "type": "Sequence", "decoders": [{ "type": "Replace", "pattern": { "String": "▁" }, "content": " " }, { "type": "ByteFallback" }, { "type": "Fuse" }] })
        }
        4 => json!({ "type": "WordPiece", "prefix": "##", "cleanup": false }),
        _ => json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true }),
    };
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": decoder, "model": model,
    });
    file.to_string()
}
