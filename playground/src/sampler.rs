//! A stand-in for a language model: draws among the allowed tokens with weights that favour what looks like text.
//!
//! A uniform choice among 100,000 tokens gives noise and seldom ends. Here tokens have a class (word, number, opening, ...); the class
//! is drawn by weight, then a token of it, with a preference for low ids, which a tokenizer gives to frequent tokens. The mask alone
//! decides what is allowed: weights only choose among allowed tokens.

use maskwright::{TokenId, TokenKind, TokenMask, Vocab};

/// SplitMix64.
pub struct Rng(u64);

impl Rng {
    /// Returns a generator; the same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Returns a number in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The class of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    /// Lower-case letters, with a space before them or not.
    Word,
    /// Digits.
    Number,
    /// A quote that begins or ends a string.
    Quote,
    /// A quote that ends a string, and what follows, like `",`.
    EndOfString,
    /// Punctuation that begins with an opening bracket, like `{"`.
    Opening,
    /// Other punctuation, like `},`.
    Mark,
    /// One space or line end.
    Blank,
    /// A token that is no text: where the grammar names one, it is as likely as a word or so.
    Control,
    /// Everything else; drawn only if nothing else is allowed.
    Other,
}

const N_CLASSES: usize = 9;

/// Punctuation with a meaning in the grammars of the demo.
const MARKS: &[u8] = b"{}[](),:+-*/^\" ";

fn class_of(bytes: &[u8]) -> Class {
    let without_space = bytes.strip_prefix(b" ").unwrap_or(bytes);
    let is_all = |test: fn(&u8) -> bool| !without_space.is_empty() && without_space.iter().all(test);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        if bytes.len() == 1 { Class::Blank } else { Class::Other }
    } else if is_all(u8::is_ascii_lowercase) {
        Class::Word
    } else if is_all(u8::is_ascii_digit) {
        Class::Number
    } else if !bytes.iter().all(|byte| MARKS.contains(byte)) || is_ornament(bytes) {
        Class::Other
    } else {
        match without_space {
            b"\"" => Class::Quote,
            [b'"', b',' | b':' | b'}' | b']', ..] => Class::EndOfString,
            [b'"', ..] => Class::Other,
            [b'{' | b'[' | b'(', ..] => Class::Opening,
            _ => Class::Mark,
        }
    }
}

/// Returns whether punctuation is more likely a ruler line than syntax.
fn is_ornament(bytes: &[u8]) -> bool {
    let repeats = |pair: &[u8]| pair[0] == pair[1] && !b")]}".contains(&pair[0]);
    bytes.len() > 4 || bytes.windows(2).any(repeats)
}

/// A sampler of tokens.
pub struct Sampler {
    rng: Rng,
    classes: Vec<Class>,
    /// A token that is allowed where any text is.
    free_text_probe: Option<TokenId>,
    /// A token that is allowed where an object can begin.
    object_probe: Option<TokenId>,
    style: Style,
}

/// The context of a choice, beside the mask.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The text so far.
    pub text: &'a [u8],
    /// How much of the budget is used, from 0 to 1.
    pub used: f64,
    /// The text can end here.
    pub is_accepting: bool,
    /// The stop tokens in force.
    pub stop_tokens: &'a [TokenId],
}

/// How a sampler chooses.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// What looks like text.
    #[default]
    Text,
    /// A shortest document.
    Shortest,
    /// Rare tokens first: those with the highest ids.
    Rare,
    /// White space wherever it may stand.
    Blank,
}

impl Sampler {
    /// Returns a sampler for a vocabulary.
    pub fn new(vocab: &Vocab, seed: u64, style: Style) -> Self {
        let classes = (0..vocab.n_tokens() as TokenId).map(|token| match vocab.kind(token) {
            TokenKind::Text if !vocab.bytes(token).is_empty() => class_of(vocab.bytes(token)),
            TokenKind::Control | TokenKind::AddedText => Class::Control,
            _ => Class::Other,
        });
        let token_of =
            |text: &[u8]| vocab.trie().find(text).and_then(|node| vocab.trie().tokens(node).first().copied());
        let (free_text_probe, object_probe) = (token_of(b"%"), token_of(b"{"));
        Sampler { rng: Rng::new(seed), classes: classes.collect(), free_text_probe, object_probe, style }
    }

    /// Draws one of the allowed tokens; a stop token only through [`wants_end`](Self::wants_end). `None` if there is no other.
    pub fn draw(&mut self, mask: &TokenMask, vocab: &Vocab, view: View) -> Option<TokenId> {
        let others = mask.iter().filter(|token| !view.stop_tokens.contains(token));
        match self.style {
            Style::Shortest => return None,
            Style::Rare => {
                let others: Vec<TokenId> = others.collect();
                let reversed: Vec<TokenId> = others.into_iter().rev().collect();
                return self.draw_frequent(&reversed);
            }
            Style::Blank if self.rng.unit() < 0.9 => {
                let is_blank = |token: &TokenId| vocab.bytes(*token).first().is_some_and(u8::is_ascii_whitespace);
                let blanks: Vec<TokenId> = others.filter(is_blank).collect();
                if let Some(token) = self.draw_frequent(&blanks) {
                    return Some(token);
                }
            }
            Style::Blank | Style::Text => {}
        }
        let allows = |probe: Option<TokenId>| probe.is_some_and(|probe| mask.contains(probe));
        let (is_free_text, is_value) = (allows(self.free_text_probe), allows(self.object_probe));
        let mut by_class: [Vec<TokenId>; N_CLASSES] = Default::default();
        for token in mask.iter().filter(|token| !view.stop_tokens.contains(token)) {
            by_class[self.classes[token as usize] as usize].push(token);
        }
        let weights = weights(is_free_text, is_value, view);
        let total: f64 =
            weights.iter().zip(&by_class).filter(|(_, tokens)| !tokens.is_empty()).map(|(weight, _)| weight).sum();
        if total <= 0.0 {
            let others: Vec<TokenId> = by_class.concat();
            return self.draw_frequent(&others);
        }
        let mut left = self.rng.unit() * total;
        let mut chosen = None;
        for (weight, tokens) in
            weights.iter().zip(&by_class).filter(|(weight, tokens)| **weight > 0.0 && !tokens.is_empty())
        {
            chosen = Some(tokens);
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        chosen.and_then(|tokens| self.draw_frequent(tokens))
    }

    /// Draws whether to end a text that is complete: rarely at first, always when the budget is used.
    pub fn wants_end(&mut self, view: View) -> bool {
        view.is_accepting && (self.style == Style::Shortest || self.rng.unit() < view.used)
    }

    /// Draws from ascending ids with a preference for the first.
    fn draw_frequent(&mut self, tokens: &[TokenId]) -> Option<TokenId> {
        let position = self.rng.unit().powi(3) * tokens.len() as f64;
        tokens.get(position as usize).or(tokens.last()).copied()
    }
}

/// Returns the weight of each class.
fn weights(is_free_text: bool, is_value: bool, view: View) -> [f64; N_CLASSES] {
    let mut weights = [0.0; N_CLASSES];
    let mut set = |class: Class, weight: f64| weights[class as usize] = weight;
    let room = 1.0 - view.used;
    if is_free_text {
        // Strings of a word or three.
        let n_since_quote = view.text.iter().rev().take_while(|byte| **byte != b'"').count();
        let end = if n_since_quote < 4 { 0.1 } else { n_since_quote as f64 / 6.0 };
        set(Class::Word, 2.0);
        set(Class::Quote, end / 3.0);
        set(Class::EndOfString, end);
        set(Class::Control, 0.3);
        return weights;
    }
    if is_value && view.text.is_empty() {
        set(Class::Opening, 1.0);
        return weights;
    }
    let last = view.text.iter().rev().find(|byte| !byte.is_ascii_whitespace()).copied().unwrap_or(b' ');
    let (is_number, is_name) = (last.is_ascii_digit(), last.is_ascii_alphabetic());
    set(Class::Number, if is_number || is_name { 0.4 } else { 2.0 });
    set(Class::Word, if is_number { 0.0 } else { 0.6 });
    set(Class::Quote, 3.0 * room);
    set(Class::Opening, 6.0 * room / (1.0 + depth(view.text) as f64));
    set(Class::Mark, if b"+-*/^(".contains(&last) { 0.3 } else { 1.5 });
    set(Class::Control, 1.0);
    set(Class::Blank, if view.text.last().is_some_and(u8::is_ascii_whitespace) { 0.0 } else { 0.02 });
    weights
}

/// Returns the number of open brackets; those within strings count too, which only affects weights.
fn depth(text: &[u8]) -> usize {
    text.iter().fold(0, |depth: usize, byte| match byte {
        b'{' | b'[' | b'(' => depth + 1,
        b'}' | b']' | b')' => depth.saturating_sub(1),
        _ => depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut rng = Rng::new(1234567);
        assert_eq!([rng.next(), rng.next()], [6457827717110365317, 3203168211198807973]);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&rng.unit())));
    }

    #[test]
    fn only_allowed_tokens_are_drawn() {
        let vocab = Vocab::from_tokens(["a", "1", "{\"", "\",", "}", " ", "\u{E9}"]).unwrap();
        let mut sampler = Sampler::new(&vocab, 7, Style::Text);
        for allowed in 1u32..1 << 7 {
            let mut mask = TokenMask::new(vocab.n_tokens());
            mask.as_words_mut()[0] = allowed;
            for text in [&b""[..], b"1", b"{\"ab"] {
                let token = sampler
                    .draw(&mask, &vocab, View { text, used: 0.5, is_accepting: false, stop_tokens: &[] })
                    .unwrap();
                assert!(mask.contains(token));
            }
        }
        assert_eq!(
            sampler.draw(
                &TokenMask::new(7),
                &vocab,
                View { text: b"", used: 0.0, is_accepting: true, stop_tokens: &[] }
            ),
            None
        );
    }
}
