//! The vocabularies that every engine loads: cl100k_base and o200k_base, as raw bytes by id.

use tiktoken_rs::CoreBPE;

/// A vocabulary as bytes by id, with the tokenizer that made it.
pub struct Vocabulary {
    /// Name used in bench ids.
    pub name: &'static str,
    /// Bytes of each token; empty where the id is a special token or unused.
    pub tokens: Vec<Vec<u8>>,
    /// Special tokens: id and spelling.
    pub specials: Vec<(u32, String)>,
    /// The token that ends a text.
    pub stop: u32,
    bpe: CoreBPE,
}

impl Vocabulary {
    /// cl100k_base: 100,277 ids.
    pub fn cl100k() -> Vocabulary {
        Vocabulary::new("cl100k_base", tiktoken_rs::cl100k_base().expect("embedded data"), 100_256)
    }

    /// o200k_base: 200,019 ids.
    pub fn o200k() -> Vocabulary {
        Vocabulary::new("o200k_base", tiktoken_rs::o200k_base().expect("embedded data"), 199_998)
    }

    fn new(name: &'static str, bpe: CoreBPE, n_text: u32) -> Vocabulary {
        let mut tokens: Vec<Vec<u8>> = bpe._decode_native_and_split((0..n_text).collect()).collect();
        assert!(tokens.iter().all(|bytes| !bytes.is_empty()));
        let mut specials: Vec<(u32, String)> = bpe
            .special_tokens()
            .iter()
            .map(|text| (bpe.encode_with_special_tokens(text)[0], text.to_string()))
            .collect();
        specials.sort_unstable();
        let (_, stop) = specials
            .iter()
            .map(|(id, text)| (text, *id))
            .find(|(text, _)| *text == "<|endoftext|>")
            .expect("stop token");
        let n_tokens = specials.iter().map(|(id, _)| id + 1).max().unwrap_or(0).max(n_text);
        tokens.resize(n_tokens as usize, Vec::new());
        Vocabulary { name, tokens, specials, stop, bpe }
    }

    /// Returns the number of ids, unused ones included.
    pub fn n_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the words in a mask row.
    pub fn n_mask_words(&self) -> usize {
        self.n_tokens().div_ceil(32)
    }

    /// Tokenizes a text as the model's tokenizer does, special tokens read as text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.bpe.encode_ordinary(text)
    }

    /// Returns the bytes of some tokens as text, for messages.
    pub fn show(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| self.tokens[id as usize].iter().copied()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_a_text_spell_it() {
        for vocabulary in [Vocabulary::cl100k(), Vocabulary::o200k()] {
            let text = "naïve 🦉 {\"a\": [1, 2]}\n";
            assert_eq!(vocabulary.show(&vocabulary.encode(text)), text);
            assert_eq!(vocabulary.n_tokens(), if vocabulary.name == "cl100k_base" { 100_277 } else { 200_019 });
            assert!(vocabulary.tokens[vocabulary.stop as usize].is_empty());
        }
    }
}
