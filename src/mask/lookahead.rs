//! What configurations have in common with a loop over characters.
//!
//! Nearly every token consists of letters, digits and signs that a text, a name or a comment just goes on with: configurations lead to and fro
//! between a few of each other, or to a new one with each character as a counter does, and refuse nothing for a while. A *look-ahead* says so of a configuration:
//! after at most so many characters of an alphabet it is never dead. What is known of the vocabulary for that alphabet
//! ([`Region`](crate::vocab::Region)) then answers for whole subtrees of the trie at once.
//!
//! ```text
//! /(\w+ ?){1,50}/   {word}  --[a-z]-->  {word}             alphabet: letters and digits; without an end
//!                   {word}  --" "-->    {between} --" "--> dead: the space belongs to no alphabet of {word}
//! [^"]{0,100} "\""  {n}     --[^"]-->   {n + 1}            alphabet: all but the quote; 16 characters, where the search ends
//! ```
//!
//! One head is enough to say so of a configuration, whatever the others read: in SQL any keyword may begin behind a name (`a`, and then `WHERE`, or a name `aW`), so that names
//! lead to ever more configurations, but one head stays in the name. So heads are followed one at a time first.
//!
//! Other look-aheads are found breadth first, by characters. A byte that leads to the empty configuration leaves the alphabet; where most do, or far enough, the search ends, and the
//! distance is the look-ahead's.

use crate::automaton::Program;
use crate::exec::{ConfigId, Head, LazyDfa};
use crate::util::{ByteSet, Utf8State};
use crate::vocab::{Alphabet, NonAscii, ascii_bytes, ascii_set};
use ahash::{AHashMap, AHashSet};

/// Fewest characters of ASCII that make an alphabet worth a region.
const ASCII_MIN: u32 = 8;
/// Characters after which a search ends: few tokens are longer.
const FAR_CHARS: usize = 16;
/// Characters that make up less than one part in so many are few.
const FEW_PART: u32 = 6;
/// Fewest characters of a look-ahead: those of nearly all tokens, since longer ones are walked one by one.
const CHARS_MIN: usize = 12;
/// Most work of a search.
const WORK_MAX: u64 = 1 << 17;
/// Most configurations between characters to look at.
const CONFIGS_MAX: usize = 96;
/// Most heads of a configuration that are followed, and most heads that one leads to in turn.
const FOLLOWED_MAX: usize = 4;
const STAYING_MAX: usize = 64;
/// Fewest letters and digits that are worth it to follow a head.
const WORDS_MIN: u32 = 48;

/// Characters that a configuration can read without being dead.
#[derive(Clone, Debug)]
pub(super) struct Lookahead {
    pub alphabet: Alphabet,
    /// How many of them; [`usize::MAX`] if there is no end.
    pub n_chars: usize,
    /// Bytes that begin no character of the alphabet, and some configuration on the way reads; all of them, if there is an end.
    pub leaving: ByteSet,
}

/// Finds look-aheads, in memory that is kept.
#[derive(Debug, Default)]
pub(super) struct Lookaheads {
    /// The configurations between characters, and what leads there.
    seen: AHashMap<ConfigId, Entered>,
    seen_within: AHashSet<(ConfigId, Utf8State)>,
    level: Vec<ConfigId>,
    next_level: Vec<ConfigId>,
    within: Vec<(ConfigId, Utf8State)>,
    targets: Vec<(ConfigId, u128)>,
}

/// What leads to a configuration.
#[derive(Clone, Copy, Debug, Default)]
struct Entered {
    ascii: u128,
    by_others: bool,
    /// It refuses most of the alphabet, so that what leads there is left out.
    is_left_out: bool,
}

impl Lookaheads {
    /// Returns the look-ahead of a configuration behind which there are at most `height` bytes, if it reads many characters.
    pub fn find(&mut self, program: &Program, dfa: &mut LazyDfa, config: ConfigId, height: u8) -> Option<Lookahead> {
        let ascii = read_of(program, dfa, config, u128::MAX);
        if ascii.count_ones() < ASCII_MIN {
            return None;
        }
        let reads = |byte: u8| dfa.step(program, config, byte) != ConfigId::DEAD;
        let has_others = (0x80..=0xFF).filter(|&byte| Utf8State::of_lead(byte).is_some()).all(reads);
        if !has_others && let Some(ascii) = staying(program, dfa, config, ascii) {
            return Lookahead::bounded(Alphabet { ascii, non_ascii: NonAscii::None }, usize::MAX);
        }
        let mut alphabet = Alphabet { ascii, non_ascii: if has_others { NonAscii::All } else { NonAscii::None } };
        self.seen.clear();
        self.seen_within.clear();
        self.level.clear();
        self.level.push(config);
        self.seen.insert(config, Entered::default());
        let mut n_chars = 0;
        let work_max = dfa.work().done() + WORK_MAX;
        while !self.level.is_empty() {
            if n_chars >= usize::from(height) {
                // There is nothing further to read.
                return Lookahead::bounded(alphabet, usize::MAX);
            }
            if self.seen.len() > CONFIGS_MAX || n_chars >= FAR_CHARS {
                return Lookahead::bounded(alphabet, n_chars);
            }
            self.next_level.clear();
            for at in 0..self.level.len() {
                if dfa.work().done() > work_max || !self.expand(program, dfa, self.level[at], &mut alphabet) {
                    return Lookahead::bounded(alphabet, n_chars);
                }
            }
            core::mem::swap(&mut self.level, &mut self.next_level);
            n_chars += 1;
        }
        if alphabet.ascii.count_ones() < ASCII_MIN {
            return None;
        }
        let mut leaving = ByteSet::EMPTY;
        for (&config, _) in self.seen.iter().filter(|(_, entered)| !entered.is_left_out) {
            let others = !alphabet.first_bytes();
            leaving |= others.iter().filter(|&byte| dfa.step(program, config, byte) != ConfigId::DEAD).collect();
        }
        Some(Lookahead { alphabet, n_chars: usize::MAX, leaving })
    }

    /// Takes out of the alphabet what a configuration refuses, and adds to the next level what the others lead to; or says no, if it refuses too much.
    fn expand(&mut self, program: &Program, dfa: &mut LazyDfa, config: ConfigId, alphabet: &mut Alphabet) -> bool {
        let refused = alphabet.ascii & !read_of(program, dfa, config, alphabet.ascii);
        let n_all = alphabet.ascii.count_ones();
        if 2 * refused.count_ones() > n_all {
            let entered = self.seen.get_mut(&config).expect("a configuration of a level was seen");
            let leading = entered.ascii & alphabet.ascii;
            let is_aside = !entered.by_others && 4 * leading.count_ones() <= n_all;
            entered.is_left_out = is_aside;
            alphabet.ascii &= !leading;
            return is_aside;
        }
        alphabet.ascii &= !refused;
        self.leave_out_few(program, dfa, config, alphabet);
        if alphabet.non_ascii != NonAscii::None && !self.reads_others(program, dfa, config) {
            alphabet.non_ascii = NonAscii::None;
        }
        for byte in ascii_bytes(alphabet.ascii) {
            let next = dfa.step(program, config, byte);
            let entered = self.enter(next);
            entered.ascii |= 1 << byte;
            if entered.is_left_out {
                alphabet.ascii &= !(1 << byte);
            }
        }
        true
    }

    /// Notes that characters lead to a configuration, on the next level if it is new.
    fn enter(&mut self, config: ConfigId) -> &mut Entered {
        self.seen.entry(config).or_insert_with(|| {
            self.next_level.push(config);
            Entered::default()
        })
    }

    /// Takes characters out of the alphabet that lead a configuration elsewhere than most others, if they are few: brackets, that is, each of which
    /// would lead to one more configuration.
    fn leave_out_few(&mut self, program: &Program, dfa: &mut LazyDfa, config: ConfigId, alphabet: &mut Alphabet) {
        self.targets.clear();
        for byte in ascii_bytes(alphabet.ascii) {
            let next = dfa.step(program, config, byte);
            match self.targets.iter_mut().find(|(target, _)| *target == next) {
                Some((_, ascii)) => *ascii |= 1 << byte,
                None => self.targets.push((next, 1 << byte)),
            }
        }
        let Some(&(_, most)) = self.targets.iter().max_by_key(|(_, ascii)| ascii.count_ones()) else { return };
        if FEW_PART * (alphabet.ascii & !most).count_ones() <= alphabet.ascii.count_ones() {
            alphabet.ascii = most;
        }
    }

    /// Tells whether a configuration reads all characters beyond ASCII; what they lead to joins the next level.
    fn reads_others(&mut self, program: &Program, dfa: &mut LazyDfa, config: ConfigId) -> bool {
        self.within.clear();
        for byte in 0x80..=0xFF {
            let Some(rest) = Utf8State::of_lead(byte) else { continue };
            let next = dfa.step(program, config, byte);
            if next == ConfigId::DEAD {
                return false;
            }
            if self.seen_within.insert((next, rest)) {
                self.within.push((next, rest));
            }
        }
        while let Some((config, rest)) = self.within.pop() {
            for byte in 0..=255 {
                let next = dfa.step(program, config, byte);
                // Nothing else may be read there: a region has no tokens that leave a character half-way.
                if (next == ConfigId::DEAD) == rest.bytes().contains(&byte) {
                    return false;
                }
                if next == ConfigId::DEAD {
                    continue;
                }
                let rest = rest.after_continuation();
                if rest != Utf8State::BOUNDARY {
                    if self.seen_within.insert((next, rest)) {
                        self.within.push((next, rest));
                    }
                    continue;
                }
                let entered = self.enter(next);
                if entered.is_left_out {
                    return false;
                }
                entered.by_others = true;
            }
        }
        true
    }
}

/// Returns letters and digits of the characters that a configuration reads, `ascii`, which lead some head of it from one head to the next without end, if they are nearly all
/// of those.
fn staying(program: &Program, dfa: &mut LazyDfa, config: ConfigId, ascii: u128) -> Option<u128> {
    let words = ascii & ascii_set(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    if words.count_ones() < WORDS_MIN {
        return None;
    }
    (0..dfa.heads(config).len().min(FOLLOWED_MAX)).find_map(|index| {
        let head = dfa.heads(config)[index];
        follow(program, dfa, head, words)
    })
}

/// As [`staying`], of one head.
fn follow(program: &Program, dfa: &mut LazyDfa, first: Head, ascii: u128) -> Option<u128> {
    let is_nearly_all = |left: u128| FEW_PART * (ascii & !left).count_ones() <= ascii.count_ones();
    let mut left = ascii;
    let mut heads = vec![first];
    let mut at = 0;
    while at < heads.len() {
        let alone = dfa.config_of(heads[at]);
        at += 1;
        for byte in ascii_bytes(left) {
            let next = dfa.step(program, alone, byte);
            let nexts = dfa.heads(next);
            if nexts.iter().any(|next| heads.contains(next)) {
                continue;
            }
            // The head that reads most is in a name, not in a keyword.
            match nexts.iter().max_by_key(|next| program.bytes(next.state).len()) {
                Some(&next) if heads.len() < STAYING_MAX => heads.push(next),
                Some(_) => return None,
                None => left &= !(1 << byte),
            }
        }
        if !is_nearly_all(left) {
            return None;
        }
    }
    Some(left)
}

/// Returns those of some characters of ASCII that a configuration reads.
fn read_of(program: &Program, dfa: &mut LazyDfa, config: ConfigId, ascii: u128) -> u128 {
    ascii_set(|&byte| ascii >> byte & 1 == 1 && dfa.step(program, config, byte) != ConfigId::DEAD)
}

impl Lookahead {
    fn bounded(alphabet: Alphabet, n_chars: usize) -> Option<Lookahead> {
        let is_wide = n_chars >= CHARS_MIN && alphabet.ascii.count_ones() >= ASCII_MIN;
        is_wide.then(|| Lookahead { alphabet, n_chars, leaving: !alphabet.first_bytes() })
    }
}
