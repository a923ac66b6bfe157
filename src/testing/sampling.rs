//! JSON texts sampled from masks, and ways to end them.
//!
//! A [`Sampler`] walks from mask to mask. Left to chance it would never leave a string: one token in a thousand closes
//! it. So it chooses in two steps, a kind of byte (quotes, brackets, digits, letters, what begins a character of
//! several bytes, ...) and then a token that begins so; a long text is steered to its end, closers first.
//!
//! A text that chance doesn't end within the bounds is ended by the search of [`CompletionSearch`](super::completion_search::CompletionSearch).

use super::Rng;
use crate::matcher::Matcher;
use crate::vocab::{TokenId, Vocab};

/// How tokens are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taste {
    /// By the share of tokens, though a closing quote gets its chance.
    Common,
    /// Every kind of byte alike, however few tokens begin with it.
    Rare,
}

/// Where in a JSON text we are, as far as its bytes tell.
#[derive(Clone, Copy, Default, Debug)]
struct Place {
    is_in_string: bool,
    is_escaped: bool,
    /// Bytes of the number or word that is being written.
    n_in_scalar: usize,
    n_in_exponent: usize,
}

impl Place {
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

/// A kind of byte.
fn kind_of(byte: u8) -> u8 {
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

/// Returns how far a byte leads away from the end of the text.
fn distance(place: Place, byte: u8) -> u8 {
    if place.is_in_string {
        return match byte {
            _ if place.is_escaped => 1,
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

/// Samples JSON texts from the masks of one vocabulary.
pub struct Sampler {
    /// The token of each byte, which the vocabulary must have.
    bytes: Vec<TokenId>,
    first_bytes: Vec<Option<u8>>,
    texts: Vec<Box<[u8]>>,
    /// Texts longer than this are steered to their end.
    pub n_bytes_soft: usize,
    /// Texts this long are given up.
    pub n_bytes_max: usize,
}

/// A text under way.
pub struct Sample {
    /// After the text.
    pub matcher: Matcher,
    /// The bytes so far.
    pub text: Vec<u8>,
    place: Place,
}

impl Sample {
    /// Returns the empty text.
    pub fn new(matcher: Matcher) -> Sample {
        Sample { matcher, text: Vec::new(), place: Place::default() }
    }

    /// Returns an independent copy.
    pub fn fork(&self) -> Sample {
        Sample { matcher: self.matcher.fork(), text: self.text.clone(), place: self.place }
    }

    fn push(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.place.step(byte));
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

    /// Takes one step; says no where the text ends.
    ///
    /// # Panics
    /// If nothing may follow a text that is not complete, or a token of the mask is refused.
    pub fn step(&self, rng: &mut Rng, taste: Taste, sample: &mut Sample) -> bool {
        let is_long = sample.text.len() > self.n_bytes_soft;
        let is_scalar_long = sample.place.n_in_scalar > 8 || sample.place.n_in_exponent > 2;
        let is_accepting = sample.matcher.is_accepting();
        // White space can follow some texts for ever, and digits numbers.
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
        let id = match taste {
            Taste::Common if sample.place.is_in_string && mask.contains(close) && rng.chance(15) => close,
            // White space and exponents have no end.
            Taste::Common => {
                let is_dull = |id: TokenId| kind_of(first(id)) == 7 && !sample.place.is_in_string;
                (0..3).map(|_| *rng.pick(&allowed)).find(|&id| !is_dull(id)).unwrap_or_else(|| *rng.pick(&allowed))
            }
            Taste::Rare => {
                let mut bytes: Vec<u8> = allowed.iter().map(|&id| first(id)).collect();
                bytes.sort_unstable();
                bytes.dedup();
                let mut kinds: Vec<u8> = bytes.iter().map(|&byte| kind_of(byte)).collect();
                kinds.sort_unstable();
                kinds.dedup();
                let kind = *rng.pick(&kinds);
                bytes.retain(|&byte| kind_of(byte) == kind);
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

    /// Takes a step towards the end, byte by byte; says no where the text ends.
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
        // A detour now and then: the nearest way can be a circle.
        if !rng.chance(15) {
            let nearest = bytes.iter().map(|&byte| distance(sample.place, byte)).min().expect("there is a byte");
            bytes.retain(|&byte| distance(sample.place, byte) == nearest);
        }
        let id = self.bytes[usize::from(*rng.pick(&bytes))];
        self.accept(sample, id);
        true
    }

    /// Returns a whole text, if one was found within the bounds.
    ///
    /// # Panics
    /// As [`step`](Self::step).
    pub fn sample(&self, rng: &mut Rng, taste: Taste, matcher: Matcher) -> Option<Vec<u8>> {
        let mut sample = Sample::new(matcher);
        while sample.text.len() < self.n_bytes_max {
            if !self.step(rng, taste, &mut sample) {
                return Some(sample.text);
            }
        }
        None
    }
}
