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
//! lead to ever more configurations, but one head stays in the name; and where a star may open or close something or be a plain character, each of a hundred stars may be plain. So
//! single heads are followed first, over stacks of which nothing is seen: what is found holds wherever a head has that state.
//!
//! Look-aheads are found breadth first, by characters. A byte that leads to the empty configuration leaves the alphabet; where most do, or far enough, the search ends, and the
//! distance is the look-ahead's.

use crate::automaton::Program;
use crate::exec::{ConfigId, Head, LazyDfa};
use crate::util::{ByteSet, Threshold, Utf8State};
use crate::vocab::{Alphabet, NonAscii, ascii_bytes, ascii_set};
use ahash::{AHashMap, AHashSet};

/// Fewest characters of ASCII that make an alphabet worth a region.
const ASCII_MIN: Threshold = Threshold::new(8);
/// Characters after which a search ends: few tokens are longer.
const FAR_CHARS: usize = 16;
/// Characters that make up less than one part in so many are few.
const FEW_PART: u32 = 6;
/// Fewest characters of a look-ahead: those of nearly all tokens, since longer ones are walked one by one.
const CHARS_MIN: Threshold = Threshold::new(12);
/// Most work of a search.
const WORK_MAX: u64 = 1 << 17;
/// Most configurations between characters to look at; of single heads more, since each keyword that a name may be has as many as it has letters.
const CONFIGS_MAX: usize = 96;
const HEADS_MAX: usize = 512;
/// Most heads of a configuration that are followed.
const FOLLOWED_MAX: usize = 4;
/// Heights are rounded up to the next of these, so that few look-aheads are searched for.
const HEIGHTS: [u8; 3] = [8, 16, 32];

/// Characters that a configuration can read without being dead.
#[derive(Clone, Debug)]
pub(super) struct Lookahead {
    pub alphabet: Alphabet,
    /// How many of them; [`usize::MAX`] if there is no end.
    pub n_chars: usize,
    /// Bytes that begin no character of the alphabet, and some configuration on the way reads; any state, if there is an end or a single head was followed.
    pub leaving: ByteSet,
    /// Whether characters may be read of which a byte is none of UTF-8.
    pub may_break: bool,
    /// What was stepped from to find that out.
    pub configs: Box<[ConfigId]>,
}

/// Finds look-aheads, in memory that is kept.
#[derive(Debug, Default)]
pub(super) struct Lookaheads {
    /// Those of single heads over unseen stacks, once asked for.
    alone: AHashMap<(ConfigId, u8), Option<Lookahead>>,
    /// The configurations between characters, and what leads there.
    seen: AHashMap<ConfigId, Entered>,
    seen_within: AHashSet<(ConfigId, Utf8State)>,
    level: Vec<ConfigId>,
    next_level: Vec<ConfigId>,
    within: Vec<(ConfigId, Utf8State)>,
    /// Where the characters of the alphabet lead the configuration under way.
    steps: Vec<(u8, ConfigId)>,
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

/// What a search follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Follow {
    /// All heads of a configuration.
    All,
    /// One of them, at each character.
    One,
}

/// Returns a height that stands for the given one in searches: what holds with more bytes to come holds with fewer.
pub(super) fn rounded(height: u8) -> u8 {
    HEIGHTS.iter().copied().find(|&rounded| height <= rounded).unwrap_or(u8::MAX)
}

impl Lookaheads {
    /// Returns the look-ahead of a configuration behind which there are at most `height` bytes, if it reads many characters.
    pub fn find(&mut self, program: &Program, dfa: &mut LazyDfa, config: ConfigId, height: u8) -> Option<Lookahead> {
        let bytes = dfa.bytes(program, config);
        let ascii = ascii_set(|&byte| bytes.contains(byte));
        if (ascii.count_ones() as usize) < ASCII_MIN.get() {
            return None;
        }
        let has_others = (0x80..=0xFF).all(|byte| Utf8State::of_lead(byte).is_none() || bytes.contains(byte));
        let words = ascii & words();
        let is_nearly_all = |lookahead: &Lookahead| {
            let has_most = |all: u128| FEW_PART * (all & !lookahead.alphabet.ascii).count_ones() <= all.count_ones();
            let are_others_left = has_others && lookahead.alphabet.non_ascii == NonAscii::None;
            !are_others_left && has_most(words) && (words.count_ones() as usize >= ASCII_MIN.get() || has_most(ascii))
        };
        for index in 0..dfa.heads(config).len().min(FOLLOWED_MAX) {
            let head = dfa.heads(config)[index];
            if let Some(lookahead) = self.find_alone(program, dfa, head, height).filter(is_nearly_all) {
                return Some(lookahead);
            }
        }
        self.search(program, dfa, config, height, Follow::All, u128::MAX)
    }

    /// As [`Self::find`], of one head, whatever the stack below it.
    fn find_alone(&mut self, program: &Program, dfa: &mut LazyDfa, head: Head, height: u8) -> Option<Lookahead> {
        let config = dfa.config_alone(head)?;
        if let Some(known) = self.alone.get(&(config, height)) {
            return known.clone();
        }
        let note = dfa.note();
        // What begins a name goes on with others of those; signs beside them begin strings and groups.
        let found = [u128::MAX, words()]
            .into_iter()
            .find_map(|among| self.search(program, dfa, config, height, Follow::One, among));
        // Other heads may read anything.
        let found = found.map(|found| Lookahead { may_break: found.alphabet.non_ascii != NonAscii::None, ..found });
        // No stack was looked at.
        dfa.forget(note);
        if !dfa.work().is_spent() {
            self.alone.insert((config, height), found.clone());
        }
        found
    }

    /// As [`Self::find`], of what is followed, `among` some characters of ASCII and, if these are all, others.
    fn search(
        &mut self,
        program: &Program,
        dfa: &mut LazyDfa,
        config: ConfigId,
        height: u8,
        follow: Follow,
        among: u128,
    ) -> Option<Lookahead> {
        self.seen.clear();
        self.seen_within.clear();
        self.level.clear();
        self.level.push(config);
        self.seen.insert(config, Entered::default());
        let bytes = dfa.bytes(program, config);
        let mut ascii = 0u128;
        for byte in ascii_bytes(among & ascii_set(|&byte| bytes.contains(byte))) {
            if self.step(program, dfa, config, byte, follow) != ConfigId::DEAD {
                ascii |= 1 << byte;
            }
        }
        let mut leads = (0x80..=0xFF).filter(|&byte| Utf8State::of_lead(byte).is_some());
        let has_others =
            among == u128::MAX && leads.all(|byte| self.step(program, dfa, config, byte, follow) != ConfigId::DEAD);
        let mut alphabet = Alphabet { ascii, non_ascii: if has_others { NonAscii::All } else { NonAscii::None } };
        let mut n_chars = 0;
        let work_max = dfa.work().done() + WORK_MAX;
        let n_configs_max = if follow == Follow::All { CONFIGS_MAX } else { HEADS_MAX };
        while !self.level.is_empty() {
            if n_chars >= usize::from(height) {
                // There is nothing further to read.
                return Lookahead::bounded(program, alphabet, usize::MAX);
            }
            if self.seen.len() > n_configs_max || n_chars >= FAR_CHARS {
                return Lookahead::bounded(program, alphabet, n_chars);
            }
            self.next_level.clear();
            for at in 0..self.level.len() {
                let config = self.level[at];
                if dfa.work().done() > work_max || !self.expand(program, dfa, config, &mut alphabet, follow) {
                    return Lookahead::bounded(program, alphabet, n_chars);
                }
            }
            core::mem::swap(&mut self.level, &mut self.next_level);
            n_chars += 1;
        }
        if follow == Follow::One {
            return Lookahead::bounded(program, alphabet, usize::MAX);
        }
        let mut leaving = ByteSet::EMPTY;
        for (&config, _) in self.seen.iter().filter(|(_, entered)| !entered.is_left_out) {
            leaving |= dfa.bytes(program, config);
        }
        let lookahead = Lookahead::bounded(program, alphabet, usize::MAX)?;
        Some(Lookahead { leaving: lookahead.leaving & leaving, ..lookahead })
    }

    /// Returns the configuration after a byte, or one of its heads to follow: one that was met over unseen stacks, or else the one that reads most.
    fn step(&self, program: &Program, dfa: &mut LazyDfa, config: ConfigId, byte: u8, follow: Follow) -> ConfigId {
        let next = dfa.step(program, config, byte);
        if follow == Follow::All || next == ConfigId::DEAD {
            return next;
        }
        let mut best: Option<(_, Head, ConfigId)> = None;
        for index in 0..dfa.heads(next).len() {
            let head = dfa.heads(next)[index];
            let Some(alone) = dfa.config_alone(head) else { continue };
            if self.seen.contains_key(&alone) {
                return alone;
            }
            let n_bytes = dfa.bytes(program, alone).len();
            if best.is_none_or(|(n_bytes_before, ..)| n_bytes > n_bytes_before) {
                best = Some((n_bytes, head, alone));
            }
        }
        // Within a character it may return at once; elsewhere what it returns to would make one more configuration of each bracket.
        best.map_or(ConfigId::DEAD, |(_, head, alone)| if byte.is_ascii() { alone } else { dfa.config_of(head) })
    }

    /// Takes out of the alphabet what a configuration refuses, and adds to the next level what the others lead to; or says no, if it refuses too much.
    fn expand(
        &mut self,
        program: &Program,
        dfa: &mut LazyDfa,
        config: ConfigId,
        alphabet: &mut Alphabet,
        follow: Follow,
    ) -> bool {
        self.steps.clear();
        let mut refused = 0u128;
        let mut of_class = [None; 256];
        for byte in ascii_bytes(alphabet.ascii) {
            let of_class = &mut of_class[usize::from(dfa.class(byte))];
            let next = *of_class.get_or_insert_with(|| self.step(program, dfa, config, byte, follow));
            if next == ConfigId::DEAD {
                refused |= 1 << byte;
            }
            self.steps.push((byte, next));
        }
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
        if follow == Follow::All {
            self.leave_out_few(alphabet);
        }
        if alphabet.non_ascii != NonAscii::None && !self.reads_others(program, dfa, config, follow) {
            alphabet.non_ascii = NonAscii::None;
        }
        for at in 0..self.steps.len() {
            let (byte, next) = self.steps[at];
            if alphabet.ascii >> byte & 1 == 0 {
                continue;
            }
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
    fn leave_out_few(&mut self, alphabet: &mut Alphabet) {
        self.targets.clear();
        for &(byte, next) in self.steps.iter().filter(|(byte, _)| alphabet.ascii >> byte & 1 == 1) {
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
    fn reads_others(&mut self, program: &Program, dfa: &mut LazyDfa, config: ConfigId, follow: Follow) -> bool {
        self.within.clear();
        for byte in 0x80..=0xFF {
            let Some(rest) = Utf8State::of_lead(byte) else { continue };
            let next = self.step(program, dfa, config, byte, follow);
            if next == ConfigId::DEAD {
                return false;
            }
            if self.seen_within.insert((next, rest)) {
                self.within.push((next, rest));
            }
        }
        while let Some((config, rest)) = self.within.pop() {
            // Nothing else may be read there: a region has no tokens that break a character.
            let others = !rest.bytes().collect::<ByteSet>();
            if follow == Follow::All && !(dfa.bytes(program, config) & others).is_empty() {
                return false;
            }
            for byte in rest.bytes() {
                let next = self.step(program, dfa, config, byte, follow);
                if next == ConfigId::DEAD {
                    return false;
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

/// Returns the characters of ASCII that names consist of.
fn words() -> u128 {
    ascii_set(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

impl Lookahead {
    fn bounded(program: &Program, alphabet: Alphabet, n_chars: usize) -> Option<Lookahead> {
        let is_wide = n_chars >= CHARS_MIN.get() && alphabet.ascii.count_ones() as usize >= ASCII_MIN.get();
        let leaving = program.all_bytes() & !alphabet.first_bytes();
        is_wide.then(|| Lookahead { alphabet, n_chars, leaving, may_break: false, configs: Box::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::DONE;
    use crate::exec::{Stacks, Work, start};
    use crate::{GrammarCompiler, Vocab};

    fn find(grammar: &str) -> Option<Lookahead> {
        let vocab = Vocab::from_tokens(["a"]).unwrap();
        let grammar = GrammarCompiler::new(vocab.into()).compile_ebnf(grammar).unwrap();
        let (program, mut live) = (grammar.program(), Vec::new());
        start(program, &mut live);
        let mut dfa = LazyDfa::new(program);
        let config = dfa.start(program, &Stacks::new(DONE), &live, Work::default(), usize::MAX, 64);
        Lookaheads::default().find(program, &mut dfa, config, u8::MAX)
    }

    #[test]
    fn one_head_that_goes_on_is_enough() {
        let marks = find("root ::= mark* \"\\n\"\nmark ::= \"**\" mark+ \"**\" | \"*\" mark+ \"*\" | [^\\n]").unwrap();
        assert_eq!((marks.n_chars, marks.alphabet.ascii.count_ones()), (usize::MAX, 127));
        assert_eq!(marks.alphabet.non_ascii, NonAscii::All);
        assert_eq!(marks.leaving.iter().filter(u8::is_ascii).collect::<Vec<_>>(), b"\n");
        assert!(marks.may_break, "other heads may read bytes that are no characters");
        let names = find(
            "root ::= name (\" \" (\"in\" | \"is\" | \"instance\") \" \" name)*\nname ::= [a-z_]+ | \"in\" name \"ni\"",
        )
        .unwrap();
        assert_eq!((names.n_chars, names.alphabet.ascii.count_ones()), (usize::MAX, 27));
        assert!(names.leaving.contains(b' ') && !names.leaving.contains(b'a') && !names.may_break);
        assert!(find("root ::= \"a\"{40} | [0-3]{3}").is_none());
    }
}
