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

/// A set of tokens, a bit each.
struct TokenSet(Box<[u32]>);

impl TokenSet {
    fn new(n_tokens: usize, mut has: impl FnMut(TokenId) -> bool) -> Self {
        let mut words = vec![0; n_tokens.div_ceil(32)];
        for token in (0..n_tokens as TokenId).filter(|&token| has(token)) {
            words[token as usize / 32] |= 1 << (token % 32);
        }
        TokenSet(words.into())
    }

    /// Returns the number of its tokens among those of a mask.
    fn count(&self, mask: &[u32]) -> usize {
        self.0.iter().zip(mask).map(|(own, allowed)| (own & allowed).count_ones() as usize).sum()
    }

    /// Returns the token of its tokens among those of a mask that has so many before it.
    fn nth(&self, mask: &[u32], n_before: usize) -> Option<TokenId> {
        let mut n_left = n_before;
        for (index, (own, allowed)) in self.0.iter().zip(mask).enumerate() {
            let mut word = own & allowed;
            if n_left >= word.count_ones() as usize {
                n_left -= word.count_ones() as usize;
                continue;
            }
            for _ in 0..n_left {
                word &= word - 1;
            }
            return Some(index as TokenId * 32 + word.trailing_zeros());
        }
        None
    }
}

/// A sampler of tokens.
///
/// A mask may have 100,000 tokens, and one that leaves room to end is drawn in several tries: so the tokens of a class are counted word by word and never listed.
pub struct Sampler {
    rng: Rng,
    /// The tokens of each class.
    classes: [TokenSet; N_CLASSES],
    /// Tokens that begin with white space.
    blanks: TokenSet,
    all: TokenSet,
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
        let n_tokens = vocab.n_tokens();
        let class = |token: TokenId| match vocab.kind(token) {
            TokenKind::Text if !vocab.bytes(token).is_empty() => class_of(vocab.bytes(token)),
            TokenKind::Control | TokenKind::AddedText => Class::Control,
            _ => Class::Other,
        };
        let by_token: Vec<Class> = (0..n_tokens as TokenId).map(class).collect();
        let classes =
            std::array::from_fn(|class| TokenSet::new(n_tokens, |token| by_token[token as usize] as usize == class));
        let is_blank = |token: TokenId| vocab.bytes(token).first().is_some_and(u8::is_ascii_whitespace);
        let token_of =
            |text: &[u8]| vocab.trie().find(text).and_then(|node| vocab.trie().tokens(node).first().copied());
        let (free_text_probe, object_probe) = (token_of(b"%"), token_of(b"{"));
        Sampler {
            rng: Rng::new(seed),
            classes,
            blanks: TokenSet::new(n_tokens, is_blank),
            all: TokenSet::new(n_tokens, |_| true),
            free_text_probe,
            object_probe,
            style,
        }
    }

    /// Begins anew with another seed.
    pub fn restart(&mut self, seed: u64) {
        self.rng = Rng::new(seed);
    }

    /// Draws one of the allowed tokens; a stop token only through [`wants_end`](Self::wants_end). `None` if there is no other.
    pub fn draw(&mut self, mask: &TokenMask, view: View) -> Option<TokenId> {
        let mut allowed = mask.as_words().to_vec();
        for &stop in view.stop_tokens {
            if let Some(word) = allowed.get_mut(stop as usize / 32) {
                *word &= !(1 << (stop % 32));
            }
        }
        match self.style {
            Style::Shortest => return None,
            Style::Rare => {
                let n_tokens = self.all.count(&allowed);
                let position = self.frequent_position(n_tokens)?;
                return self.all.nth(&allowed, n_tokens - 1 - position);
            }
            Style::Blank if self.rng.unit() < 0.9 => {
                if let Some(position) = self.frequent_position(self.blanks.count(&allowed)) {
                    return self.blanks.nth(&allowed, position);
                }
            }
            Style::Blank | Style::Text => {}
        }
        let allows = |probe: Option<TokenId>| probe.is_some_and(|probe| mask.contains(probe));
        let (is_free_text, is_value) = (allows(self.free_text_probe), allows(self.object_probe));
        let counts: [usize; N_CLASSES] = std::array::from_fn(|class| self.classes[class].count(&allowed));
        let weights = weights(is_free_text, is_value, view);
        let total: f64 = weights.iter().zip(&counts).filter(|(_, n)| **n > 0).map(|(weight, _)| weight).sum();
        if total <= 0.0 {
            // All classes one after the other.
            let mut position = self.frequent_position(counts.iter().sum())?;
            let class = counts.iter().position(|&n| {
                let is_here = position < n;
                position -= if is_here { 0 } else { n };
                is_here
            })?;
            return self.classes[class].nth(&allowed, position);
        }
        let mut left = self.rng.unit() * total;
        let mut chosen = None;
        for class in (0..N_CLASSES).filter(|&class| weights[class] > 0.0 && counts[class] > 0) {
            chosen = Some(class);
            left -= weights[class];
            if left < 0.0 {
                break;
            }
        }
        let class = chosen?;
        let position = self.frequent_position(counts[class])?;
        self.classes[class].nth(&allowed, position)
    }

    /// Draws whether to end a text that is complete: rarely at first, always when the budget is used.
    pub fn wants_end(&mut self, view: View) -> bool {
        view.is_accepting && (self.style == Style::Shortest || self.rng.unit() < view.used)
    }

    /// Draws a position among so many ascending ids with a preference for the first.
    fn frequent_position(&mut self, n_tokens: usize) -> Option<usize> {
        let position = self.rng.unit().powi(3) * n_tokens as f64;
        Some((position as usize).min(n_tokens.checked_sub(1)?))
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
    fn sets_count_and_find_tokens_of_a_mask() {
        let set = TokenSet::new(70, |token| token % 3 == 0);
        let mask = [0b1111, 0, u32::MAX];
        // 0 and 3, then 66 and 69.
        assert_eq!(set.count(&mask), 4);
        let all: Vec<Option<TokenId>> = (0..5).map(|n_before| set.nth(&mask, n_before)).collect();
        assert_eq!(all, [Some(0), Some(3), Some(66), Some(69), None]);
    }

    #[test]
    fn only_allowed_tokens_are_drawn() {
        let vocab = Vocab::from_tokens(["a", "1", "{\"", "\",", "}", " ", "\u{E9}"]).unwrap();
        let mut sampler = Sampler::new(&vocab, 7, Style::Text);
        for allowed in 1u32..1 << 7 {
            let mut mask = TokenMask::new(vocab.n_tokens());
            mask.as_words_mut()[0] = allowed;
            for text in [&b""[..], b"1", b"{\"ab"] {
                let token =
                    sampler.draw(&mask, View { text, used: 0.5, is_accepting: false, stop_tokens: &[] }).unwrap();
                assert!(mask.contains(token));
            }
        }
        assert_eq!(
            sampler.draw(&TokenMask::new(7), View { text: b"", used: 0.0, is_accepting: true, stop_tokens: &[] }),
            None
        );
    }
}
