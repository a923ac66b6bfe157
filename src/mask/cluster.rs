//! Clusters: state sets that are closed under most characters, with the distance of each state to the nearest rejecting transition.
//!
//! A string that contains `abc` somewhere is read in four states: nothing found yet, `a`, `ab`, and all of it. None of them loops on all characters, so that a walk would
//! visit most of the trie; but no character ends the string either: each leads to one of the four. A string of at most fifty words is the same until the last word. Which
//! tokens are allowed needs hardly a walk there: from each state a number of bytes can be read safely, whatever they are, and tokens that are no longer are allowed without a
//! look. There are also bytes that rejected strings contain (the space, where words are counted; the letters of some word, where words must not occur), and tokens that lack
//! these are allowed as well. Where a byte that is no such character follows (the closing quote), it matters to which of the states the characters before it lead, so those
//! tokens are walked.
//!
//! A cluster is found by a breadth-first search from a state, bounded in states; states at its frontier, where the search stopped, have no safe bytes. A search takes up
//! to a millisecond; one mask makes two at most.

mod alphabet;
mod explore;
mod place;
mod walk;

use super::need::Need;
use crate::automaton::{LocalState, Owner, PackedMove, RegisterRuleId, Step, Unit};
use crate::exec::{PlainStep, enter};
use crate::util::{ByteSet, Threshold, Utf8State};
use crate::vocab::{Alphabet, NonAscii};
use ahash::AHashMap;
use alphabet::{ReadingOn, alphabet, words_of};
use explore::{Exploration, Opens};
use place::{BOUNDARY, Place, is_plain, target};
use smallvec::SmallVec;

/// Fewest characters of ASCII that are worth a region.
const CHARS_MIN: Threshold = Threshold::new(48);
/// Most places of a cluster; what lies behind them is not known.
const PLACES_MAX: usize = 512;
/// As many as it takes to see whether a cluster is worth it.
const PLACES_FIRST: usize = 192;
/// Most states of a unit with clusters: each cluster notes something of each.
const STATES_MAX: usize = 1 << 14;
/// Bytes that the characters of a cluster surely lead from where it is looked for.
const SAFE_BYTES_MIN: u8 = 5;
/// Alphabets that are tried for one state, each smaller than the one before.
const ALPHABETS_MAX: usize = 8;
/// Letters by which a state is asked what follows.
const SAMPLE: &[u8] = b"eaqnzXT5";
/// Kinds of bytes that each refused text behind a place has, and then few texts have them.
const NEEDED_KINDS_GOOD: u32 = 3;
/// A number of safe bytes that is good enough for a place at the frontier of a cluster, where more might be known by looking from there.
const SAFE_BYTES_GOOD: u8 = 24;

/// States of a unit that the characters of an alphabet lead between.
#[derive(Debug)]
pub(super) struct ScanCluster {
    pub alphabet: Alphabet,
    /// The other bytes that some state reads to which characters lead, perhaps with more.
    pub bytes: ByteSet,
    /// The strictest register rule, if characters are counted.
    pub strictest: Option<RegisterRuleId>,
    /// By state: which of `safeties` is its own.
    slots: Box<[u16]>,
    safeties: Box<[Safety]>,
    /// What refused texts need, each once.
    needs: Box<[Need]>,
}

/// What is known of a state's places, by what is still to come of a character.
#[derive(Clone, Copy, Debug, Default)]
struct Safety {
    safe_bytes: [u8; Utf8State::COUNT],
    /// Which of the cluster's needs texts have that are refused.
    needs: [u16; Utf8State::COUNT],
}

/// Where a byte leads within a cluster.
pub(super) enum Next {
    /// To another place, and what was counted.
    Place(Place, u64),
    /// Nowhere.
    Nowhere,
    /// The byte belongs to no character of the alphabet.
    Border,
    /// To something that is no state of a cluster.
    Out,
}

/// Tells whether a state may have a cluster, by what is seen at once: most states read two or three bytes.
pub(super) fn may_have_cluster(unit: &Unit, start: LocalState) -> bool {
    unit.n_states() <= STATES_MAX && unit.bytes(start).len() >= CHARS_MIN.get() && is_plain(unit, start)
}

/// Returns the states of which a state's cluster says enough, and the cluster, if there is one. The state [may have one](may_have_cluster).
pub(super) fn cluster(unit: &Unit, start: LocalState) -> Option<(Vec<LocalState>, ScanCluster)> {
    // Characters that lead nowhere from here may be like all others behind the first one.
    let behind = SAMPLE.iter().find_map(|&byte| target(unit, start, byte)).filter(|&behind| behind != start);
    let mut reading_on = ReadingOn::new(words_of(unit, start));
    let wider = behind.map(|behind| match words_of(unit, behind) {
        words if words == reading_on.words => alphabet(unit, start, behind, &mut reading_on),
        words => alphabet(unit, start, behind, &mut ReadingOn::new(words)),
    });
    let own = alphabet(unit, start, start, &mut reading_on);
    let is_wide = |alphabet: &Alphabet| alphabet.ascii.count_ones() as usize >= CHARS_MIN.get();
    let wider = wider.filter(|wider| is_wide(wider) && wider.ascii & !own.ascii != 0);
    let cluster = wider.and_then(|wider| wide(unit, start, wider));
    cluster.or_else(|| if is_wide(&own) { wide(unit, start, own).or_else(|| safe(unit, start, own)) } else { None })
}

/// Returns the cluster of all characters that a state reads, if most letters lead to where many more can be read.
fn wide(unit: &Unit, start: LocalState, alphabet: Alphabet) -> Option<(Vec<LocalState>, ScanCluster)> {
    let glance = Exploration::of(unit, start, alphabet, 0, PLACES_FIRST).ok()?;
    let after = |state: LocalState, byte: u8| target(unit, state, byte);
    let behind_two = SAMPLE.iter().filter_map(|&byte| after(start, byte).and_then(|state| after(state, b'o')));
    let samples: SmallVec<[usize; SAMPLE.len()]> =
        behind_two.filter_map(|state| glance.places.iter().position(|place| *place == (state, BOUNDARY))).collect();
    let are_most =
        |is_good: &dyn Fn(usize) -> bool| samples.iter().filter(|&&place| is_good(place)).count() > SAMPLE.len() / 2;
    // A text that is refused has no more kinds of bytes than bytes: where these are few, what it needs says little, and is not looked for.
    let sources = glance.sources();
    let safe_bytes = glance.safe_bytes(&sources);
    if !are_most(&|place| u32::from(safe_bytes[place]) + 1 >= NEEDED_KINDS_GOOD) {
        return None;
    }
    let needs = glance.needs(&sources);
    if !are_most(&|place| says_enough(safe_bytes[place], &needs[place], SAFE_BYTES_MIN)) {
        return None;
    }
    // Others that read more or less have clusters of their own.
    let is_alike = |state: LocalState| unit.reads_alike(state, start);
    if glance.is_whole {
        let cluster = ScanCluster::new(unit, start, alphabet, &glance, &safe_bytes, needs);
        return Some(cluster.of_states(start, &glance, is_alike));
    }
    let exploration = Exploration::of(unit, start, alphabet, 0, PLACES_MAX).ok()?;
    Some(ScanCluster::of(unit, start, alphabet, &exploration).of_states(start, &exploration, is_alike))
}

/// Returns the cluster of those characters that a state reads which don't soon lead to where fewer are read.
fn safe(unit: &Unit, start: LocalState, mut alphabet: Alphabet) -> Option<(Vec<LocalState>, ScanCluster)> {
    for _ in 0..ALPHABETS_MAX {
        match Exploration::of(unit, start, alphabet, SAFE_BYTES_MIN, PLACES_MAX) {
            Ok(exploration) => {
                let cluster = ScanCluster::of(unit, start, alphabet, &exploration);
                return Some(cluster.of_states(start, &exploration, |_| true));
            }
            Err(Opens::By(characters)) => alphabet.ascii &= !characters,
            Err(Opens::ByOthers) => alphabet.non_ascii = NonAscii::None,
        }
        if (alphabet.ascii.count_ones() as usize) < CHARS_MIN.get() {
            return None;
        }
    }
    None
}

/// Returns those of some bytes that some of these states read.
fn read_by(unit: &Unit, states: &[LocalState], bytes: impl Iterator<Item = u8>) -> ByteSet {
    // By class: whether one of its bytes is read, which all are then.
    let mut known = [None; 256];
    let is_read = |byte: &u8| {
        let reads = |&state: &LocalState| unit.code(state, *byte) != PackedMove::NONE;
        *known[usize::from(unit.class(*byte))].get_or_insert_with(|| states.iter().any(reads))
    };
    bytes.filter(is_read).collect()
}

/// Returns whether few of the texts behind a place need a look: many bytes are safe, or refused texts need several kinds of bytes.
fn says_enough(n_safe_bytes: u8, need: &Need, safe_bytes_min: u8) -> bool {
    n_safe_bytes >= safe_bytes_min || need.n_kinds_min() >= NEEDED_KINDS_GOOD
}

impl ScanCluster {
    fn of(unit: &Unit, start: LocalState, alphabet: Alphabet, exploration: &Exploration) -> ScanCluster {
        let sources = exploration.sources();
        let (safe_bytes, needs) = (exploration.safe_bytes(&sources), exploration.needs(&sources));
        Self::new(unit, start, alphabet, exploration, &safe_bytes, needs)
    }

    /// Puts together what an exploration found, with the safe bytes and the needs of its places.
    fn new(
        unit: &Unit,
        start: LocalState,
        alphabet: Alphabet,
        exploration: &Exploration,
        safe_bytes: &[u8],
        needs_of_places: Vec<Need>,
    ) -> ScanCluster {
        let strictest = match unit.info(start).owner {
            Some(Owner::RegisterRules(register_rule)) => Some(register_rule),
            _ => None,
        };
        // The first are those of states that were not seen.
        let mut safeties = vec![Safety::default()];
        let mut needs = vec![Need::unknown()];
        let mut numbers: AHashMap<Need, u16> = AHashMap::new();
        let mut slots = vec![0; unit.n_states()];
        let known = safe_bytes.iter().zip(needs_of_places);
        for (&(state, rest), (&n_safe_bytes, need)) in exploration.places.iter().zip(known) {
            let slot = &mut slots[state.index()];
            if *slot == 0 {
                *slot = safeties.len() as u16;
                safeties.push(Safety::default());
            }
            let safety = &mut safeties[usize::from(*slot)];
            safety.safe_bytes[rest.index()] = n_safe_bytes;
            safety.needs[rest.index()] = *numbers.entry(need).or_insert_with_key(|need| {
                needs.push(need.clone());
                needs.len() as u16 - 1
            });
        }
        let is_other = |byte: &u8| !alphabet.begins(*byte);
        let bytes = if exploration.is_whole && exploration.is_closed {
            let between = exploration.places.iter().filter(|(_, rest)| *rest == BOUNDARY);
            let between: Vec<LocalState> = between.map(|&(state, _)| state).collect();
            read_by(unit, &between, (0..=u8::MAX).filter(is_other))
        } else {
            unit.all_bytes().iter().filter(is_other).collect()
        };
        ScanCluster { alphabet, bytes, strictest, slots: slots.into(), safeties: safeties.into(), needs: needs.into() }
    }

    /// Returns the states of which the cluster says enough, and the cluster.
    fn of_states(
        self,
        start: LocalState,
        exploration: &Exploration,
        is_alike: impl Fn(LocalState) -> bool,
    ) -> (Vec<LocalState>, ScanCluster) {
        let safe_bytes_min = if exploration.is_whole { SAFE_BYTES_MIN } else { SAFE_BYTES_GOOD };
        let is_good = |&&(state, rest): &&Place| {
            let place = (state, rest);
            let says_enough = || says_enough(self.n_safe_bytes(place), self.need(place), safe_bytes_min);
            rest == BOUNDARY && (state == start || says_enough() && is_alike(state))
        };
        let states = exploration.places.iter().filter(is_good).map(|place| place.0).collect();
        (states, self)
    }

    /// Returns where a byte leads from a place, with what was counted so far.
    #[inline]
    pub fn next(&self, unit: &Unit, (state, rest): Place, register: u64, byte: u8) -> Next {
        let rest = match rest {
            BOUNDARY if !self.alphabet.begins(byte) => return Next::Border,
            // An ASCII character is whole, and most are.
            BOUNDARY if byte.is_ascii() => BOUNDARY,
            BOUNDARY => Utf8State::of_lead(byte).unwrap_or(BOUNDARY),
            rest if !rest.bytes().contains(&byte) => return Next::Nowhere,
            rest => rest.after_continuation(),
        };
        let to = match unit.code(state, byte).step() {
            Step::None => return Next::Nowhere,
            Step::Plain(to) => {
                return if unit.controls(to).is_empty() { Next::Place((to, rest), register) } else { Next::Out };
            }
            Step::Local(to) => to,
            Step::List(_) => return Next::Out,
        };
        if !is_plain(unit, to) {
            return Next::Out;
        }
        match enter(unit, to, register) {
            PlainStep::To(_, register) => Next::Place((to, rest), register),
            // A plain state that counts may not end, so this one doesn't count.
            PlainStep::Other => Next::Place((to, rest), register),
            PlainStep::Nowhere => Next::Nowhere,
        }
    }

    fn safety(&self, state: LocalState) -> &Safety {
        &self.safeties[usize::from(self.slots[state.index()])]
    }

    /// Returns how much memory the cluster takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let needs = self.needs.iter().map(Need::memory_bytes).sum::<usize>();
        size_of::<ScanCluster>()
            + size_of_val(&*self.slots)
            + size_of_val(&*self.safeties)
            + size_of_val(&*self.needs)
            + needs
    }

    /// Returns how many bytes of characters can surely be read from a place, but for what is counted.
    #[inline]
    pub fn n_safe_bytes(&self, (state, rest): Place) -> u8 {
        self.safety(state).safe_bytes[rest.index()]
    }

    /// Returns what texts have that are refused from a place on, but for what is counted.
    #[inline]
    pub fn need(&self, (state, rest): Place) -> &Need {
        &self.needs[usize::from(self.safety(state).needs[rest.index()])]
    }

    /// Returns the state and the register after `bytes`, which are characters of the alphabet; nothing if they can't be read, or lead out of the
    /// cluster.
    pub fn run(&self, unit: &Unit, state: LocalState, register: u64, bytes: &[u8]) -> Option<(LocalState, u64)> {
        let mut at = ((state, BOUNDARY), register);
        for &byte in bytes {
            let Next::Place(place, register) = self.next(unit, at.0, at.1, byte) else { return None };
            at = (place, register);
        }
        Some((at.0.0, at.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::{Vocab, byte_bit};
    use crate::{CompiledGrammar, GrammarCompiler};
    use std::sync::Arc;

    fn compiled(pattern: &str) -> CompiledGrammar {
        compiled_ebnf(&format!("root ::= /{pattern}/"))
    }

    fn compiled_ebnf(source: &str) -> CompiledGrammar {
        let mut vocab = Vocab::builder();
        vocab.extend((0..=255u8).map(|byte| [byte]).collect::<Vec<_>>());
        let compiler = GrammarCompiler::new(Arc::new(vocab.build().unwrap()));
        compiler.compile_ebnf(source).unwrap()
    }

    fn found(pattern: &str) -> Option<(usize, Alphabet)> {
        let compiled = compiled(pattern);
        let (linked, start) = compiled.program().place(compiled.program().start()).unwrap();
        may_have_cluster(&linked.unit, start)
            .then(|| cluster(&linked.unit, start))
            .flatten()
            .map(|(states, found)| (states.len(), found.alphabet))
    }

    #[test]
    fn what_leads_nowhere_at_first_is_among_the_characters() {
        let compiled = compiled_ebnf(r#"root ::= ([^"]* - (/[^"]*abc[^"]*/)) "\""  "#);
        let (linked, start) = compiled.program().place(compiled.program().start()).unwrap();
        let unit = &linked.unit;
        let behind = |text: &[u8]| text.iter().fold(start, |state, &byte| target(unit, state, byte).unwrap());
        assert_eq!(unit.code(behind(b"ab"), b'c'), PackedMove::NONE);
        let (states, found) = cluster(unit, behind(b"ab")).unwrap();
        assert_eq!(states, [behind(b"ab")], "the others read more");
        assert!(b"abcxyz ".iter().all(|&byte| found.alphabet.begins(byte)) && !found.alphabet.begins(b'"'));
        let next = |text: &[u8]| found.run(unit, behind(b"ab"), 0, text).map(|(state, _)| state);
        assert_eq!((next(b"c"), next(b"xab"), next(b"xabc")), (None, Some(behind(b"ab")), None));
    }

    #[test]
    fn a_search_is_closed_under_all_but_what_ends_it() {
        // Nothing, `a`, `ab`; where all of it was read the quote is read too, which is a cluster of its own.
        let (n_states, alphabet) = found(r#"[^"]*abc[^"]*""#).unwrap();
        assert_eq!((n_states, alphabet.non_ascii), (3, NonAscii::All));
        assert!((0..128).all(|byte| (alphabet.ascii >> byte & 1 == 1) == (byte != u32::from(b'"'))));
    }

    #[test]
    fn characters_that_lead_out_are_no_part_of_the_alphabet() {
        // Behind the `@` fewer characters may follow, and in the end none of the others.
        let (n_states, alphabet) = found(r#"([a-zA-Z0-9]+\.)*[a-zA-Z0-9]+@[a-z]""#).unwrap();
        assert!(n_states <= 2 && alphabet.ascii.count_ones() == 62 && alphabet.non_ascii == NonAscii::None);
        assert!(found(r#"[a-zA-Z0-9]{5}""#).is_none(), "each letter leads nearer to the end");
        assert!(found(r#"[ab]+""#).is_none(), "too few to be worth it");
        assert!(found("[^\"]*").is_none(), "it may end anywhere");
    }

    #[test]
    fn a_radius_is_the_way_to_where_something_is_refused() {
        // The number of safe bytes behind a text, in the cluster that is found behind its first letter.
        let n_safe_bytes = |pattern: &str, text: &str| {
            let compiled = compiled(pattern);
            let (linked, start) = compiled.program().place(compiled.program().start()).unwrap();
            let first = target(&linked.unit, start, text.as_bytes()[0]).unwrap();
            let Some((_, cluster)) = cluster(&linked.unit, first) else { panic!() };
            let (state, _) = cluster.run(&linked.unit, first, 0, &text.as_bytes()[1..]).unwrap();
            (cluster.alphabet.ascii >> b' ' & 1 == 1, cluster.n_safe_bytes((state, BOUNDARY)))
        };
        // The eleventh word is one too many: ten times a letter and a space.
        let words = [&r#"([^ "]+ +)?"#.repeat(9), r#"[^ "]+""#].concat();
        assert!(["a", "ab c"].into_iter().all(|text| n_safe_bytes(&words, text).0), "spaces lead to and fro");
        let safe_bytes = ["a", "ab", "ab c", "ab c d"].map(|text| n_safe_bytes(&words, text).1);
        assert!(
            safe_bytes.is_sorted_by(|a, b| a >= b) && safe_bytes[0] > safe_bytes[3] && safe_bytes[3] >= 10,
            "{safe_bytes:?}"
        );
        assert_eq!(n_safe_bytes(r#"[^"]*abc[^"]*""#, "xab"), (true, u8::MAX));
        // That no two dots follow each other is soon seen; so they are left out.
        let (linked_dots, dot) = found(r#"([^".]+[.])*[^".]+""#).unwrap();
        assert!(linked_dots >= 1 && dot.ascii >> b'.' & 1 == 0 && dot.ascii >> b' ' & 1 == 1);
    }

    #[test]
    fn what_is_refused_needs_the_letters_of_some_word() {
        // Behind the word, `make` and `then` must not follow.
        let source = r#"root ::= (/[^"]*abc[^"]*/ & ~(.* "abc" .* ("make" | "then") .*)) '"'"#;
        let compiled = compiled_ebnf(source);
        let (linked, start) = compiled.program().place(compiled.program().start()).unwrap();
        let Some((_, cluster)) = cluster(&linked.unit, start) else { panic!("few texts are refused") };
        let kinds = |text: &str| text.bytes().fold(0, |kinds, byte| kinds | byte_bit(byte));
        let is_sure = |before: &str, text: &str| {
            let (state, _) = cluster.run(&linked.unit, start, 0, before.as_bytes()).unwrap();
            cluster.need((state, BOUNDARY)).is_missing_in(kinds(text))
        };
        assert!(is_sure("abc", "ma t") && is_sure("abcth", "xyz"));
        assert!(!is_sure("abc", "xx make") && !is_sure("abcth", "en") && !is_sure("ab", "c then"));
        assert!(is_sure("ab", "then"), "the first word is missing");
    }

    #[test]
    fn running_follows_characters() {
        let compiled = compiled(r#"[^"]*abc[^"]*""#);
        let (linked, start) = compiled.program().place(compiled.program().start()).unwrap();
        let unit = &linked.unit;
        let Some((_, cluster)) = cluster(unit, start) else { panic!("it is closed") };
        let after = |text: &str| cluster.run(unit, start, 0, text.as_bytes()).unwrap().0;
        let can_end = |state: LocalState| unit.code(state, b'"') != PackedMove::NONE;
        assert_eq!(["", "ab", "xabc", "abcé"].map(|text| can_end(after(text))), [false, false, true, true]);
        assert_eq!(cluster.run(unit, start, 0, b"\""), None);
    }
}
