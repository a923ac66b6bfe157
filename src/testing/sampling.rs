//! JSON documents sampled from masks.
//!
//! A [`Sampler`] chooses a token of each mask. A uniform choice would never leave a string: one token in a thousand closes
//! it. So it chooses in two steps, a class of bytes (quotes, brackets, digits, letters, leading bytes of UTF-8, ...) and then a token that
//! begins with such a byte; a long document is steered to its end, closers first.
//!
//! A document that does not end within the bounds is completed by a [`CompletionSearch`](super::completion_search::CompletionSearch).

use super::Rng;
use crate::matcher::Matcher;
use crate::vocab::{TokenId, Vocab};

/// The way in which tokens are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SamplingMode {
    /// Classes of bytes in proportion to their tokens, with a minimum for closing quotes.
    Common,
    /// All classes of bytes alike, however few tokens they have.
    Rare,
}

/// The lexical position in a JSON document.
#[derive(Clone, Copy, Default, Debug)]
struct JsonPosition {
    is_in_string: bool,
    is_escaped: bool,
    /// Bytes of the current number or word.
    n_in_scalar: usize,
    n_in_exponent: usize,
}

impl JsonPosition {
    fn step(&mut self, byte: u8) {
        if self.is_in_string {
            let is_escaped = !self.is_escaped && byte == b'\\';
            self.is_in_string = self.is_escaped || byte != b'"';
            self.is_escaped = is_escaped;
            return;
        }
        let is_scalar = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        self.n_in_scalar = if is_scalar { self.n_in_scalar + 1 } else { 0 };
        let is_exponent = is_scalar && (self.n_in_exponent > 0 || matches!(byte, b'e' | b'E') && self.n_in_scalar > 1);
        self.n_in_exponent = if is_exponent { self.n_in_exponent + 1 } else { 0 };
        self.is_in_string = byte == b'"';
    }
}

/// Returns the class of a byte.
fn byte_class(byte: u8) -> u8 {
    match byte {
        b'"' => 0,
        b'}' | b']' => 1,
        b'{' | b'[' => 2,
        b',' | b':' => 3,
        b'0'..=b'9' => 4,
        b'a'..=b'z' => 5,
        b'A'..=b'Z' => 6,
        b' ' | b'\n' | b'\r' | b'\t' => 7,
        b'\\' => 8,
        0x80.. => 9,
        _ => 10,
    }
}

/// Returns how unlikely a byte is to bring the document closer to its end.
fn distance(position: JsonPosition, byte: u8) -> u8 {
    if position.is_in_string {
        return match byte {
            _ if position.is_escaped => 1,
            b'"' => 0,
            b'\\' | 0x80.. => 2,
            _ => 1,
        };
    }
    match byte {
        b'}' | b']' => 0,
        b',' | b':' => 1,
        b'"' => 2,
        b'n' | b't' | b'f' | b'0'..=b'9' => 3,
        b'[' => 4,
        b'{' => 5,
        b' ' | b'\n' | b'\r' | b'\t' => 8,
        _ => 6,
    }
}

/// A sampler of JSON documents from the masks of one vocabulary.
pub struct Sampler {
    /// The token of each byte, which the vocabulary must have.
    bytes: Vec<TokenId>,
    first_bytes: Vec<Option<u8>>,
    texts: Vec<Box<[u8]>>,
    /// Documents longer than this are steered to their end.
    pub n_bytes_soft: usize,
    /// Documents this long are abandoned.
    pub n_bytes_max: usize,
}

/// A document in progress.
pub struct Sample {
    /// The matcher, after the bytes so far.
    pub matcher: Matcher,
    /// The bytes so far.
    pub text: Vec<u8>,
    position: JsonPosition,
}

impl Sample {
    /// Returns a document without bytes.
    pub fn new(matcher: Matcher) -> Sample {
        Sample { matcher, text: Vec::new(), position: JsonPosition::default() }
    }

    /// Returns an independent copy.
    pub fn fork(&self) -> Sample {
        Sample { matcher: self.matcher.fork(), text: self.text.clone(), position: self.position }
    }

    fn push(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.position.step(byte));
        self.text.extend_from_slice(bytes);
    }
}

impl Sampler {
    /// Returns a sampler for a vocabulary.
    ///
    /// # Panics
    /// If some byte is no token.
    pub fn new(vocab: &Vocab) -> Sampler {
        let ids = 0..vocab.n_tokens() as TokenId;
        let texts: Vec<Box<[u8]>> =
            ids.map(|id| if vocab.is_text(id) { vocab.bytes(id).into() } else { Box::default() }).collect();
        let of = |byte: u8| texts.iter().position(|text| **text == [byte]).expect("every byte is a token") as TokenId;
        let bytes = (0..=255).map(of).collect();
        let first_bytes = texts.iter().map(|text| text.first().copied()).collect();
        Sampler { bytes, first_bytes, texts, n_bytes_soft: 300, n_bytes_max: 4_000 }
    }

    /// Appends one token; returns false where the document ends.
    ///
    /// # Panics
    /// If nothing may follow a text that is not complete, or a token of the mask is refused.
    pub fn step(&self, rng: &mut Rng, mode: SamplingMode, sample: &mut Sample) -> bool {
        let is_long = sample.text.len() > self.n_bytes_soft;
        let is_scalar_long = sample.position.n_in_scalar > 8 || sample.position.n_in_exponent > 2;
        let is_accepting = sample.matcher.is_accepting();
        // Some documents can be followed by white space for ever, and numbers by digits.
        if is_accepting && (is_long || is_scalar_long || rng.chance(50)) {
            return false;
        }
        if is_long || is_scalar_long && rng.chance(80) {
            return self.descend(rng, sample);
        }
        let mask = sample.matcher.mask().unwrap_or_else(|error| {
            panic!("after {:?}: {error}", String::from_utf8_lossy(&sample.text));
        });
        let allowed: Vec<TokenId> = mask.iter().filter(|&id| self.first_bytes[id as usize].is_some()).collect();
        if allowed.is_empty() {
            assert!(is_accepting, "after {:?} only stop tokens", String::from_utf8_lossy(&sample.text));
            return false;
        }
        let first = |id: TokenId| self.first_bytes[id as usize].expect("no empty tokens");
        let close = self.bytes[usize::from(b'"')];
        let id = match mode {
            SamplingMode::Common if sample.position.is_in_string && mask.contains(close) && rng.chance(15) => close,
            // White space and exponents have no end.
            SamplingMode::Common => {
                let is_dull = |id: TokenId| byte_class(first(id)) == 7 && !sample.position.is_in_string;
                (0..3).map(|_| *rng.pick(&allowed)).find(|&id| !is_dull(id)).unwrap_or_else(|| *rng.pick(&allowed))
            }
            SamplingMode::Rare => {
                let mut bytes: Vec<u8> = allowed.iter().map(|&id| first(id)).collect();
                bytes.sort_unstable();
                bytes.dedup();
                let mut kinds: Vec<u8> = bytes.iter().map(|&byte| byte_class(byte)).collect();
                kinds.sort_unstable();
                kinds.dedup();
                let kind = *rng.pick(&kinds);
                bytes.retain(|&byte| byte_class(byte) == kind);
                let byte = *rng.pick(&bytes);
                let tokens: Vec<TokenId> = allowed.iter().copied().filter(|&id| first(id) == byte).collect();
                *rng.pick(&tokens)
            }
        };
        self.accept(sample, id);
        true
    }

    fn accept(&self, sample: &mut Sample, id: TokenId) {
        sample.matcher.accept_token(id).unwrap_or_else(|error| {
            let text = String::from_utf8_lossy(&sample.text);
            panic!("after {text:?} the mask has {:?}: {error}", String::from_utf8_lossy(&self.texts[id as usize]));
        });
        sample.push(&self.texts[id as usize]);
    }

    /// Appends a byte that leads towards the end; returns false where the document ends.
    fn descend(&self, rng: &mut Rng, sample: &mut Sample) -> bool {
        if sample.matcher.is_accepting() {
            return false;
        }
        let forced = sample.matcher.jump_forward();
        if !forced.is_empty() {
            sample.matcher.accept_bytes(&forced).expect("forced text can be accepted");
            sample.push(&forced);
            return true;
        }
        let mask = sample.matcher.mask().unwrap_or_else(|error| {
            panic!("after {:?}: {error}", String::from_utf8_lossy(&sample.text));
        });
        let mut bytes: Vec<u8> = (0..=255).filter(|&byte| mask.contains(self.bytes[usize::from(byte)])).collect();
        assert!(!bytes.is_empty(), "after {:?} no byte", String::from_utf8_lossy(&sample.text));
        // Another byte now and then: the byte nearest to the end can lead around in a cycle.
        if !rng.chance(15) {
            let nearest = bytes.iter().map(|&byte| distance(sample.position, byte)).min().expect("there is a byte");
            bytes.retain(|&byte| distance(sample.position, byte) == nearest);
        }
        let id = self.bytes[usize::from(*rng.pick(&bytes))];
        self.accept(sample, id);
        true
    }

    /// Returns a complete document, if one was found within the bounds.
    ///
    /// # Panics
    /// As [`step`](Self::step).
    pub fn sample(&self, rng: &mut Rng, mode: SamplingMode, matcher: Matcher) -> Option<Vec<u8>> {
        let mut sample = Sample::new(matcher);
        while sample.text.len() < self.n_bytes_max {
            if !self.step(rng, mode, &mut sample) {
                return Some(sample.text);
            }
        }
        None
    }
}
