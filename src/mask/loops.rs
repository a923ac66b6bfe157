//! Recognizing states that loop on whole characters.

use super::cluster::{ScanCluster, cluster, may_have_cluster};
use super::switches::ShortCut;
use crate::automaton::{Kind, LocalState, PackedMove, Program, StateId, Step, Unit, UnitState};
use crate::util::{BoundedMap, ByteSet, Utf8State};
use crate::vocab::{Alphabet, NonAscii, ascii_bytes};
use ahash::AHashSet;
use smallvec::SmallVec;
use std::sync::Arc;

/// Fewest characters of ASCII that make a loop wide enough to be worth a region.
const WIDE_CHARS: u32 = 8;

/// Fewest characters of ASCII that lead along a chain, and fewest and most characters of a chain that is worth a region.
const CHAIN_CHARS: u32 = 4;
const CHAIN_MIN: usize = 3;
const CHAIN_MAX: usize = 256;

/// A state from which characters of an alphabet are read one by one.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub alphabet: Alphabet,
    pub form: Form,
}

impl Loop {
    /// Returns the memory of what it shares, in bytes.
    fn memory_bytes(&self) -> usize {
        match &self.form {
            Form::Endless | Form::Counted => 0,
            Form::Chain(chain) => size_of::<Chain>() + size_of_val(&*chain.states),
            Form::ScanCluster(cluster) => cluster.memory_bytes(),
        }
    }
}

/// Where the characters of a [`Loop`] lead.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Back to the state.
    Endless,
    /// To the state, as copies of a counted body.
    Counted,
    /// From state to state of the unit, by all of its characters alike.
    Chain(Arc<Chain>),
    /// From state to state of a cluster.
    ScanCluster(Arc<ScanCluster>),
}

/// States in a row.
#[derive(Debug)]
pub(super) struct Chain {
    /// The states after 0, 1, ... characters.
    pub states: Box<[LocalState]>,
    /// The other bytes that some of them read.
    pub bytes: ByteSet,
}

/// The loops of states that were asked for, by unit and state: recognizing one takes some microseconds.
#[derive(Debug)]
pub(super) struct Loops {
    known: BoundedMap<UnitState, Option<Loop>>,
    /// The clusters of states that were asked for, and of those that belong to one.
    clusters: BoundedMap<UnitState, Option<Loop>>,
    /// States whose model turned out to be none.
    without_model: AHashSet<UnitState>,
    /// Looks for clusters that are left to this walk.
    n_explorations_left: u32,
}

/// What an entry takes beside the loop's states, in bytes.
const LOOP_BYTES: usize = 2 * size_of::<(UnitState, Option<Loop>)>();

/// Looks for clusters within one walk; each takes up to a millisecond.
const EXPLORATIONS_MAX: u32 = 2;

impl Default for Loops {
    fn default() -> Self {
        Loops {
            known: BoundedMap::new(Loops::BYTES_MAX),
            clusters: BoundedMap::new(Loops::BYTES_MAX),
            without_model: AHashSet::new(),
            n_explorations_left: 0,
        }
    }
}

impl Loops {
    /// Most states that are remembered not to be like their models; then all are forgotten.
    const WITHOUT_MODEL_MAX: usize = 1 << 12;

    /// Memory for loops, and for clusters, in bytes.
    const BYTES_MAX: usize = 4 << 20;

    /// Remembers that a state is not like its model.
    pub fn forget_model(&mut self, program: &Program, state: StateId) {
        if self.without_model.len() >= Loops::WITHOUT_MODEL_MAX {
            self.without_model.clear();
        }
        self.without_model.extend(program.place(state).map(|(linked, local)| linked.unit.unit_state(local)));
    }

    /// Tells whether a state is known not to be like its model.
    pub fn has_no_model(&self, program: &Program, state: StateId) -> bool {
        program.place(state).is_some_and(|(linked, local)| self.without_model.contains(&linked.unit.unit_state(local)))
    }

    /// Allows a mask's share of looks for clusters.
    pub fn allow_explorations(&mut self) {
        self.n_explorations_left = EXPLORATIONS_MAX;
    }

    /// Tells whether the cluster of a state is known, or may be looked for: beyond a mask's share, the state is walked this time.
    fn may_look_for_cluster(&mut self, key: UnitState) -> bool {
        self.n_explorations_left > 0 || self.clusters.get(&key).is_some()
    }

    /// Returns the loop of a state, if it is one.
    pub fn get(&mut self, program: &Program, state: StateId) -> Option<Loop> {
        let (linked, local) = program.place(state)?;
        // Most states read two or three bytes, and need no look at the table.
        if linked.unit.bytes(local).len() < CHAIN_CHARS as usize {
            return None;
        }
        let key = |local: LocalState| linked.unit.unit_state(local);
        if let Some(known) = self.known.get(&key(local)) {
            return known;
        }
        let unit = &linked.unit;
        let endless = alphabet(unit, local).map(|alphabet| Loop { alphabet, form: Form::Endless });
        let counted = || counted_alphabet(unit, local).map(|alphabet| Loop { alphabet, form: Form::Counted });
        let chain = || chain(unit, local).filter(|_| ShortCut::Chains.is_on());
        let mut found = endless.or_else(counted).or_else(chain);
        if let Some(Loop { alphabet, .. }) = found
            && leaves_by_words(unit, local, alphabet)
        {
            if !self.may_look_for_cluster(key(local)) {
                return found;
            }
            // Where the cluster lacks characters that lead back, more tokens are walked from where these follow than are saved.
            let is_wider = |cluster: &Loop| {
                let (own, wider) = (WORDS & alphabet.ascii, WORDS & cluster.alphabet.ascii);
                wider & own == own && wider != own
            };
            found = self.cluster(program, state).filter(is_wider).or(found);
        }
        let bytes = found.as_ref().map_or(0, Loop::memory_bytes);
        self.known.insert(key(local), LOOP_BYTES + bytes, found.clone());
        found
    }

    /// Returns the cluster that a state belongs to, if there is one.
    pub fn cluster(&mut self, program: &Program, state: StateId) -> Option<Loop> {
        let (linked, local) = program.place(state).filter(|_| ShortCut::Clusters.is_on())?;
        if !may_have_cluster(&linked.unit, local) {
            return None;
        }
        let key = |local: LocalState| linked.unit.unit_state(local);
        if let Some(known) = self.clusters.get(&key(local)) {
            return known;
        }
        if !self.may_look_for_cluster(key(local)) {
            return None;
        }
        self.n_explorations_left -= 1;
        let Some((states, cluster)) = cluster(&linked.unit, local) else {
            self.clusters.insert(key(local), LOOP_BYTES, None);
            return None;
        };
        let bytes = LOOP_BYTES + cluster.memory_bytes() / states.len().max(1);
        let found = Loop { alphabet: cluster.alphabet, form: Form::ScanCluster(Arc::new(cluster)) };
        // One look finds it for all.
        states.into_iter().for_each(|state| self.clusters.insert(key(state), bytes, Some(found.clone())));
        Some(found)
    }
}

/// What most tokens are made of: letters, digits and the space.
const WORDS: u128 = {
    let (mut words, mut byte) = (1 << b' ', 0u8);
    while byte < 128 {
        words |= (byte.is_ascii_alphanumeric() as u128) << byte;
        byte += 1;
    }
    words
};

/// Tells whether letters, digits or the space lead from a loop over an alphabet to other states.
fn leaves_by_words(unit: &Unit, local: LocalState, alphabet: Alphabet) -> bool {
    let leaving = WORDS & !alphabet.ascii;
    let leaves = |byte: u8| byte < 128 && leaving >> byte & 1 == 1;
    unit.bytes(local).iter().any(leaves)
}

/// Returns the characters that lead from `state` back to it, if they are many and `state` is not between copies of a counted body:
/// those of ASCII, and all others if they all do.
fn alphabet(unit: &Unit, local: LocalState) -> Option<Alphabet> {
    if !matches!(unit.info(local).kind, Kind::Inner | Kind::End) {
        return None;
    }
    let ascii = ascii_with(unit, local, |code| matches!(code.step(), Step::Plain(to) | Step::Local(to) if to == local));
    if ascii.count_ones() < WIDE_CHARS {
        return None;
    }
    Some(Alphabet { ascii, non_ascii: others(unit, local, local) })
}

/// Returns the characters that are pieces of a count one by one and lead back to `state`, if they are many.
fn counted_alphabet(unit: &Unit, local: LocalState) -> Option<Alphabet> {
    let is_copy = |to: LocalState| match unit.info(local).kind {
        Kind::Loop { counter } => {
            unit.info(to).kind == Kind::BodyEnd { counter, loop_state: local } && !unit.info(to).has_moves()
        }
        Kind::RegisterRule { register_rule } => to == local && unit.register_rule(register_rule).counts_chars(),
        _ => false,
    };
    let copy = |code: PackedMove| match code.step() {
        Step::Local(to) if is_copy(to) => Some(to),
        _ => None,
    };
    let ascii = ascii_with(unit, local, |code| copy(code).is_some());
    if ascii.count_ones() < WIDE_CHARS || !unit.controls(local).is_empty() {
        return None;
    }
    let home = copy(unit.code(local, ascii.trailing_zeros() as u8))?;
    Some(Alphabet { ascii, non_ascii: others(unit, local, home) })
}

/// Returns the chain of states that begins with a state: white space of limited length, say, or the digits of a date.
fn chain(unit: &Unit, start: LocalState) -> Option<Loop> {
    let target = |from: LocalState, code: PackedMove| match code.step() {
        Step::Plain(to) | Step::Local(to) if to != from => Some(to),
        _ => None,
    };
    let next = |from: LocalState, byte: u8| target(from, unit.code(from, byte));
    // The characters that share their target with most others.
    let mut targets: SmallVec<[(LocalState, u128); 8]> = SmallVec::new();
    for (bytes, code) in unit.moves_of_bytes(start) {
        let (Some(to), ascii) = (target(start, code), bytes.ascii()) else { continue };
        match targets.iter().position(|(known, _)| *known == to) {
            Some(at) => targets[at].1 |= ascii,
            None if ascii == 0 => {}
            None if targets.len() == targets.inline_size() => return None,
            None => targets.push((to, ascii)),
        }
    }
    let (_, ascii) = targets.into_iter().max_by_key(|(_, ascii)| ascii.count_ones())?;
    if ascii.count_ones() < CHAIN_CHARS {
        return None;
    }
    // One byte of each class: the others lead to the same states.
    let mut bytes: SmallVec<[u8; 32]> = SmallVec::new();
    for byte in ascii_bytes(ascii) {
        if !bytes.iter().any(|&known| unit.class(known) == unit.class(byte)) {
            bytes.push(byte);
        }
    }
    // A circle of states runs into the bound, and is no chain.
    let mut states = vec![start];
    loop {
        let last = states[states.len() - 1];
        let to = next(last, bytes[0]);
        let is_alike = bytes.iter().all(|&byte| match to {
            Some(_) => next(last, byte) == to,
            None => unit.code(last, byte) == PackedMove::NONE,
        });
        match to {
            _ if !is_alike => return None,
            Some(to) if states.len() <= CHAIN_MAX => states.push(to),
            Some(_) => return None,
            None => break,
        }
    }
    // Where the unit may end in the chain, it may end from there on.
    let ends = |state: &LocalState| match unit.info(*state).kind {
        Kind::RegisterRule { register_rule } => unit.register_rule(register_rule).can_ever_end(),
        kind => kind == Kind::End,
    };
    let counts = |state: &LocalState| matches!(unit.info(*state).kind, Kind::RegisterRule { register_rule } if unit.register_rule(register_rule).counts_chars());
    let is_plain = |state: &LocalState| matches!(unit.info(*state).kind, Kind::Inner | Kind::End) || counts(state);
    let rest = states[1..].iter().skip_while(|state| !ends(state));
    let is_chain = states.len() > CHAIN_MIN && states[1..].iter().all(is_plain) && rest.clone().all(ends);
    if !is_chain {
        return None;
    }
    let alphabet = Alphabet { ascii, non_ascii: NonAscii::None };
    let read = states.iter().fold(ByteSet::EMPTY, |read, &state| read | unit.bytes(state));
    let bytes = read & !alphabet.first_bytes();
    Some(Loop { alphabet, form: Form::Chain(Arc::new(Chain { states: states.into(), bytes })) })
}

/// Returns the characters beyond ASCII that lead from `at` to `home`, if the others lead nowhere: none if it is another set.
fn others(unit: &Unit, at: LocalState, home: LocalState) -> NonAscii {
    let mut is_whole = true;
    // Bytes that are alike lead to the same state.
    let mut known: SmallVec<[(LocalState, Utf8State); 8]> = SmallVec::new();
    let is_set = (0x80..=0xFF).all(|byte| match (Utf8State::of_lead(byte), unit.code(at, byte).step()) {
        (None, Step::None) => true,
        (Some(rest), Step::Plain(to)) if known.contains(&(to, rest)) => true,
        (Some(rest), Step::Plain(to)) => {
            if completes(unit, home, to, rest) {
                known.push((to, rest));
                return true;
            }
            is_whole = false;
            byte == 0xE2 && completes_but_separators(unit, home, to)
        }
        _ => false,
    });
    match is_set {
        true if is_whole => NonAscii::All,
        true => NonAscii::AllButSeparators,
        false => NonAscii::None,
    }
}

/// Tells whether from `at`, after the byte E2, exactly the characters that begin so lead to `home`, but U+2028 and U+2029.
fn completes_but_separators(unit: &Unit, home: LocalState, at: LocalState) -> bool {
    let Some(rest) = Utf8State::of_lead(0xE2) else { return false };
    let last_byte = rest.after_continuation();
    // U+2028 and U+2029 are E2 80 A8 and E2 80 A9.
    let behind_80 = ByteSet::from_bytes(&[0x80]);
    let leads_on = |(bytes, code): (ByteSet, PackedMove)| match code.step() {
        Step::Plain(to) => bytes.is_subset(&behind_80) || completes(unit, home, to, last_byte),
        _ => false,
    };
    let Step::Plain(last) = unit.code(at, 0x80).step() else { return false };
    let but_separators = continuations(last_byte) & !ByteSet::from_bytes(&[0xA8, 0xA9]);
    is_inside(unit, at)
        && unit.bytes(at) == continuations(rest)
        && unit.moves_of_bytes(at).all(leads_on)
        && is_inside(unit, last)
        && unit.bytes(last) == but_separators
        && only_target(unit, last) == Some(home)
}

/// Tells whether from `at` exactly the continuation bytes that a place in a character still needs lead back to `home`.
fn completes(unit: &Unit, home: LocalState, at: LocalState, rest: Utf8State) -> bool {
    if !is_inside(unit, at) || unit.bytes(at) != continuations(rest) {
        return false;
    }
    match (only_target(unit, at), rest.after_continuation()) {
        (Some(next), Utf8State::BOUNDARY) => next == home,
        (Some(next), rest) => completes(unit, home, next, rest),
        (None, _) => false,
    }
}

/// Returns the continuation bytes of which one follows at a place in a character.
fn continuations(rest: Utf8State) -> ByteSet {
    let bytes = rest.bytes();
    ByteSet::range(*bytes.start(), *bytes.end())
}

/// Tells whether nothing may end in a state, as the walk does not look for that within characters.
fn is_inside(unit: &Unit, at: LocalState) -> bool {
    unit.info(at).kind == Kind::Inner && unit.controls(at).is_empty()
}

/// Returns the state that all bytes lead to which a state reads, if it is one and nothing is pushed.
fn only_target(unit: &Unit, at: LocalState) -> Option<LocalState> {
    let mut targets = unit.moves_of_bytes(at).map(|(_, code)| match code.step() {
        Step::Plain(to) | Step::Local(to) => Some(to),
        Step::None | Step::List(_) => None,
    });
    let first = targets.next()?;
    if targets.all(|target| target == first) { first } else { None }
}

/// Returns the characters of ASCII whose move passes a test.
fn ascii_with(unit: &Unit, state: LocalState, test: impl Fn(PackedMove) -> bool) -> u128 {
    unit.moves_of_bytes(state).filter(|&(_, code)| test(code)).fold(0, |all, (bytes, _)| all | bytes.ascii())
}
