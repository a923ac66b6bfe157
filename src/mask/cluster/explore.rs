//! The breadth-first search for a cluster: which places the characters of an alphabet lead to from a state, and how far each is from where a text may be refused.

use super::super::need::Need;
use super::place::{BOUNDARY, Place, is_plain, own_target};
use crate::automaton::{LocalState, PackedMove, Unit};
use crate::util::Utf8State;
use crate::vocab::{Alphabet, NonAscii, ascii_bytes, ascii_set, byte_bit};
use ahash::AHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Most looks at where a class of bytes leads from a place, in one search; where classes are many, it ends with fewer places.
const LOOKS_MAX: usize = 12 << 10;

/// Why an alphabet makes no cluster.
pub(super) enum Opens {
    /// These characters of ASCII soon lead to states that don't read letters and digits as the first one does, or end.
    By(u128),
    ByOthers,
}

/// The places that characters lead to from a start, nearest first.
pub(super) struct Exploration {
    pub places: Vec<Place>,
    /// By place: where bytes lead.
    targets: Ways,
    /// By place: the kind of the bytes that lead nowhere, or where nobody looked, if they have it in common; all kinds if there are none.
    refused: Vec<u64>,
    /// Whether all places were seen.
    pub is_whole: bool,
    /// Whether characters of the alphabet lead nowhere else.
    pub is_closed: bool,
}

impl Exploration {
    /// Looks around from a start, up to so many places; an error if characters lead out in fewer than `safe_bytes_min` bytes.
    pub fn of(
        unit: &Unit,
        start: LocalState,
        alphabet: Alphabet,
        safe_bytes_min: u8,
        places_max: usize,
    ) -> Result<Exploration, Opens> {
        Search::new(unit, start, alphabet, safe_bytes_min, places_max).run()
    }

    /// Returns by place the places that lead there.
    pub fn sources(&self) -> Ways {
        self.targets.reversed(self.places.len())
    }

    /// Returns the places from which some byte leads nowhere, or where nobody looked.
    fn frontier(&self) -> Vec<u32> {
        (0..self.places.len() as u32).filter(|&place| self.refused[place as usize] != u64::MAX).collect()
    }

    /// Returns by place what texts need that are refused from there on.
    pub fn needs(&self, sources: &Ways) -> Vec<Need> {
        let mut needs = vec![Need::default(); self.places.len()];
        let mut is_pending = vec![false; self.places.len()];
        let mut pending: VecDeque<u32> = self.frontier().into();
        // A text is refused at once, or behind a byte.
        for &place in &pending {
            needs[place as usize].add(self.refused[place as usize]);
            is_pending[place as usize] = true;
        }
        while let Some(place) = pending.pop_front() {
            is_pending[place as usize] = false;
            let need = core::mem::take(&mut needs[place as usize]);
            // What a text needs behind a byte that leads back is no less.
            for &(source, kinds) in sources.of(place).iter().filter(|(source, _)| *source != place) {
                let is_more = needs[source as usize].add_behind(kinds, &need);
                if is_more && !core::mem::replace(&mut is_pending[source as usize], true) {
                    pending.push_back(source);
                }
            }
            needs[place as usize] = need;
        }
        needs
    }

    /// Returns by place how many bytes can surely be read; [`u8::MAX`] stands for any number.
    pub fn safe_bytes(&self, sources: &Ways) -> Vec<u8> {
        let mut safe_bytes = vec![u8::MAX; self.places.len()];
        let mut pending = self.frontier();
        pending.iter().for_each(|&place| safe_bytes[place as usize] = 0);
        // Nearest to the frontier first.
        let mut next = 0;
        while let Some(&place) = pending.get(next) {
            next += 1;
            // Heights of the trie are cut off at that number: at a distance as large as that, nothing is sure.
            let n_safe_bytes = safe_bytes[place as usize].saturating_add(1).min(u8::MAX - 1);
            for &(source, _) in sources.of(place) {
                if safe_bytes[source as usize] > n_safe_bytes {
                    safe_bytes[source as usize] = n_safe_bytes;
                    pending.push(source);
                }
            }
        }
        safe_bytes
    }
}

/// Ways from places to others, with the kind of the bytes that lead there if they have it in common; those of all places in turn.
#[derive(Default)]
pub(super) struct Ways {
    ways: Vec<(u32, u64)>,
    /// By place: where its ways end.
    ends: Vec<u32>,
}

impl Ways {
    fn n_places(&self) -> usize {
        self.ends.len()
    }

    fn of(&self, place: u32) -> &[(u32, u64)] {
        let first = place.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.ways[first as usize..self.ends[place as usize] as usize]
    }

    /// Adds the ways of the next place.
    fn push(&mut self, ways: &[(u32, u64)]) {
        self.ways.extend_from_slice(ways);
        self.ends.push(self.ways.len() as u32);
    }

    /// Returns by place the places that lead there.
    fn reversed(&self, n_places: usize) -> Ways {
        let mut ends = vec![0u32; n_places];
        self.ways.iter().for_each(|&(target, _)| ends[target as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += core::mem::replace(end, sum);
        }
        // Each is where the next way of its place is written, and in the end where its ways end.
        let mut ways = vec![(0, 0); self.ways.len()];
        for place in 0..self.n_places() as u32 {
            for &(target, kinds) in self.of(place) {
                let next = &mut ends[target as usize];
                ways[*next as usize] = (place, kinds);
                *next += 1;
            }
        }
        Ways { ways, ends }
    }
}

/// A search under way, breadth first.
struct Search<'u> {
    unit: &'u Unit,
    alphabet: Alphabet,
    safe_bytes_min: u8,
    places_max: usize,
    found: Exploration,
    known: KnownPlaces,
    states: SeenStates<'u>,
    /// By place: how many bytes lead there.
    distances: Vec<u8>,
    classes: SmallVec<[AsciiClass; 32]>,
    /// By what is still to come of a character: the bytes beyond ASCII that go on with it, one of each class, and what is to come behind them.
    letters: [SmallVec<[(u8, Utf8State); 16]>; Utf8State::COUNT],
    /// Likewise: the bytes that don't.
    strangers: [SmallVec<[u8; 64]>; Utf8State::COUNT],
    /// Characters of ASCII that lead out of the cluster in few bytes.
    opening_soon: u128,
    /// Where bytes lead from the place that is looked at.
    targets: Vec<(u32, u64)>,
    /// By place: which of the targets it was when it was one last.
    places_in_targets: Vec<u32>,
}

impl<'u> Search<'u> {
    fn new(unit: &'u Unit, start: LocalState, alphabet: Alphabet, safe_bytes_min: u8, places_max: usize) -> Self {
        let letters: [_; Utf8State::COUNT] = core::array::from_fn(|rest| letters_of(unit, Utf8State::of_index(rest)));
        let strangers = core::array::from_fn(|rest| strangers_of(unit, Utf8State::of_index(rest)));
        let classes = classes_of(unit, alphabet.ascii);
        let words = classes_of(unit, alphabet.ascii & ascii_set(u8::is_ascii_alphanumeric));
        let n_looks_per_place = classes.len() + letters[BOUNDARY.index()].len();
        let places_max = places_max.min(LOOKS_MAX / n_looks_per_place.max(1));
        let mut known = KnownPlaces::new(unit.n_states());
        known.insert((start, BOUNDARY), 0);
        let mut states = SeenStates::new(unit, words.iter().map(|class| class.byte).collect());
        states.seen[start.index()] = Seen::ReadsOn;
        let found = Exploration {
            places: vec![(start, BOUNDARY)],
            targets: Ways::default(),
            refused: Vec::new(),
            is_whole: true,
            is_closed: true,
        };
        Search {
            unit,
            alphabet,
            safe_bytes_min,
            places_max,
            found,
            known,
            states,
            distances: vec![0],
            classes,
            letters,
            strangers,
            opening_soon: 0,
            targets: Vec::new(),
            places_in_targets: vec![0; places_max.max(1)],
        }
    }

    fn run(mut self) -> Result<Exploration, Opens> {
        while let Some(&(state, rest)) = self.found.places.get(self.found.targets.n_places()) {
            let distance = self.distances[self.found.targets.n_places()];
            // All characters that open the cluster are found before any is left out: looking around anew for each took up to 10 ms.
            if distance >= self.safe_bytes_min && self.opening_soon != 0 {
                return Err(Opens::By(self.opening_soon));
            }
            self.targets.clear();
            let of_ascii = if rest == BOUNDARY { self.look_at_ascii(state, distance) } else { u64::MAX };
            let refused = of_ascii & self.look_at_others((state, rest), distance)?;
            // Within a character nothing else may be read.
            let is_read = |&byte: &u8| self.unit.code(state, byte) != PackedMove::NONE;
            if rest != BOUNDARY && self.strangers[rest.index()].iter().any(is_read) {
                return Err(Opens::ByOthers);
            }
            self.found.targets.push(&self.targets);
            self.found.refused.push(refused);
        }
        match self.opening_soon {
            0 => Ok(self.found),
            opening => Err(Opens::By(opening)),
        }
    }

    /// Notes where the characters of ASCII lead from a state; returns the kind of those that lead nowhere, or where nobody looks.
    fn look_at_ascii(&mut self, state: LocalState, distance: u8) -> u64 {
        let (mut refused, mut opening) = (u64::MAX, 0u128);
        for index in 0..self.classes.len() {
            let AsciiClass { byte, bytes, kind } = self.classes[index];
            let to = own_target(self.unit, state, byte);
            match (to, to.map_or(Seen::Other, |to| self.states.look(to))) {
                (Some(to), Seen::ReadsOn) => {
                    if !self.add((to, BOUNDARY), kind, distance) {
                        refused = 0;
                    }
                }
                (_, seen) => {
                    self.found.is_closed &= seen == Seen::Other;
                    opening |= bytes;
                    refused &= kind;
                }
            }
        }
        if distance < self.safe_bytes_min {
            self.opening_soon |= opening;
        }
        refused
    }

    /// As [`Self::look_at_ascii`], for the bytes beyond ASCII that go on with a character, or begin one.
    fn look_at_others(&mut self, (state, rest): Place, distance: u8) -> Result<u64, Opens> {
        let mut refused = u64::MAX;
        if self.alphabet.non_ascii == NonAscii::None && rest == BOUNDARY {
            return Ok(refused);
        }
        for index in 0..self.letters[rest.index()].len() {
            let (byte, next) = self.letters[rest.index()][index];
            let to = own_target(self.unit, state, byte);
            let is_known = match (to, to.map_or(Seen::Other, |to| self.states.look(to))) {
                (Some(to), Seen::ReadsOn) => self.add((to, next), byte_bit(byte), distance),
                (Some(to), Seen::Plain) if next != BOUNDARY => self.add((to, next), byte_bit(byte), distance),
                (_, seen) => {
                    self.found.is_closed &= seen == Seen::Other;
                    false
                }
            };
            if is_known {
                continue;
            }
            if distance < self.safe_bytes_min && self.found.is_whole {
                return Err(Opens::ByOthers);
            }
            refused = if self.found.is_whole { refused & byte_bit(byte) } else { 0 };
        }
        Ok(refused)
    }

    /// Notes that bytes of some kinds lead to a place, from one at a distance; says no if it is one too many.
    fn add(&mut self, place: Place, kinds: u64, distance: u8) -> bool {
        let index = match self.known.get(place) {
            Some(index) => index,
            None if self.found.places.len() >= self.places_max => {
                self.found.is_whole = false;
                return false;
            }
            None => {
                let index = self.found.places.len() as u32;
                self.known.insert(place, index);
                self.found.places.push(place);
                self.distances.push(distance.saturating_add(1));
                index
            }
        };
        let place_in_targets = &mut self.places_in_targets[index as usize];
        match self.targets.get_mut(*place_in_targets as usize).filter(|(known, _)| *known == index) {
            Some((_, common)) => *common &= kinds,
            None => {
                *place_in_targets = self.targets.len() as u32;
                self.targets.push((index, kinds));
            }
        }
        true
    }
}

/// What is known of a state during a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    /// It is [plain](is_plain), and reads all letters and digits of the alphabet.
    ReadsOn,
    Plain,
    Other,
}

/// The states that a search has seen: most are seen often.
struct SeenStates<'u> {
    unit: &'u Unit,
    /// Letters and digits of the alphabet, one of each class.
    words: SmallVec<[u8; 32]>,
    seen: Vec<Seen>,
    plain: Vec<Option<bool>>,
}

impl<'u> SeenStates<'u> {
    fn new(unit: &'u Unit, words: SmallVec<[u8; 32]>) -> Self {
        SeenStates { unit, words, seen: vec![Seen::Not; unit.n_states()], plain: vec![None; unit.n_states()] }
    }

    fn look(&mut self, state: LocalState) -> Seen {
        if self.seen[state.index()] == Seen::Not {
            self.seen[state.index()] = match self.is_plain(state) {
                true if self.reads_on(state) => Seen::ReadsOn,
                true => Seen::Plain,
                false => Seen::Other,
            };
        }
        self.seen[state.index()]
    }

    fn is_plain(&mut self, state: LocalState) -> bool {
        *self.plain[state.index()].get_or_insert_with(|| is_plain(self.unit, state))
    }

    fn reads_on(&mut self, state: LocalState) -> bool {
        let unit = self.unit;
        (0..self.words.len())
            .all(|index| own_target(unit, state, self.words[index]).is_some_and(|to| self.is_plain(to)))
    }
}

/// The numbers of places. Most are between characters.
struct KnownPlaces {
    /// By state: one more than the number.
    between: Vec<u32>,
    within: AHashMap<Place, u32>,
}

impl KnownPlaces {
    fn new(n_states: usize) -> KnownPlaces {
        KnownPlaces { between: vec![0; n_states], within: AHashMap::new() }
    }

    fn get(&self, (state, rest): Place) -> Option<u32> {
        match rest {
            BOUNDARY => self.between[state.index()].checked_sub(1),
            rest => self.within.get(&(state, rest)).copied(),
        }
    }

    fn insert(&mut self, (state, rest): Place, number: u32) {
        match rest {
            BOUNDARY => self.between[state.index()] = number + 1,
            rest => _ = self.within.insert((state, rest), number),
        }
    }
}

/// Returns the bytes beyond ASCII that go on with a character, one for each class of the unit and each rest behind it, with that rest.
fn letters_of(unit: &Unit, rest: Utf8State) -> SmallVec<[(u8, Utf8State); 16]> {
    let bytes = match rest {
        BOUNDARY => 0x80..=0xFF,
        rest => rest.bytes(),
    };
    let mut letters: SmallVec<[(u8, Utf8State); 16]> = SmallVec::new();
    for byte in bytes {
        let next = match rest {
            BOUNDARY => Utf8State::of_lead(byte),
            rest => Some(rest.after_continuation()),
        };
        let is_new = |next: &Utf8State| {
            !letters.iter().any(|&(known, after)| unit.class(known) == unit.class(byte) && after == *next)
        };
        if let Some(next) = next.filter(is_new) {
            letters.push((byte, next));
        }
    }
    letters
}

/// Returns the bytes that go on with no character of which something is still to come, one for each class of the unit.
fn strangers_of(unit: &Unit, rest: Utf8State) -> SmallVec<[u8; 64]> {
    let mut is_known = [false; 256];
    let mut is_new = |byte: u8| !core::mem::replace(&mut is_known[usize::from(unit.class(byte))], true);
    (0..=255).filter(|byte| !rest.bytes().contains(byte)).filter(|&byte| is_new(byte)).collect()
}

/// Bytes of ASCII that lead from each state of a unit to the same.
#[derive(Clone, Copy)]
struct AsciiClass {
    /// The first of them.
    byte: u8,
    bytes: u128,
    /// The kind that they have in common.
    kind: u64,
}

fn classes_of(unit: &Unit, ascii: u128) -> SmallVec<[AsciiClass; 32]> {
    let mut classes: SmallVec<[AsciiClass; 32]> = SmallVec::new();
    for byte in ascii_bytes(ascii) {
        match classes.iter_mut().find(|class| unit.class(class.byte) == unit.class(byte)) {
            Some(class) => {
                class.bytes |= 1 << byte;
                class.kind &= byte_bit(byte);
            }
            None => classes.push(AsciiClass { byte, bytes: 1 << byte, kind: byte_bit(byte) }),
        }
    }
    classes
}
