//! The text read so far and the sets of values in it, for rules whose values must all be different.
//!
//! The register of such a rule holds a set (lower half) and, in the frame of a value under way, the place where the value began (upper half).
//! Sets are lists that share their ends; a value is a piece of the text. Both only grow at their ends and are cut back by rolling back.

use crate::machine::{DeclaredKeys, Distinct, Equality, JsonScalars};
use crate::util::ByteSet;
use crate::util::chunked::Chunked;
use core::ops::Range;
use smallvec::SmallVec;

/// Names a set: 0 is the empty one.
type SetId = u32;

/// The Bloom filter of a container that may have any scalars.
const ANY_SCALARS: u64 = u64::MAX;

/// A set: another one and one more value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Set {
    rest: SetId,
    value: Piece,
    /// The number of values in the set.
    n_values: u32,
    /// What the values of the set begin with.
    first_bytes: FirstBytes,
    /// A number that equal values have in common, and few others, once it was needed; else 0.
    fingerprint: u64,
    /// The Bloom filter of the scalars of a container that was looked at; else [`ANY_SCALARS`].
    scalar_bits: u64,
    /// Whether a token may hold it whole, if it is a key.
    is_held: bool,
}

/// What some JSON values begin with: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FirstBytes(u8);

impl FirstBytes {
    /// The bytes of each bit.
    const OF_BITS: [&[u8]; 5] = [b"\"", b"-0123456789", b"{", b"[", b"tfn"];

    fn of(byte: Option<u8>) -> FirstBytes {
        let is_first = |of_bit: &&[u8]| byte.is_some_and(|byte| of_bit.contains(&byte));
        let bit = FirstBytes::OF_BITS.iter().position(is_first);
        // Of any other byte all count.
        FirstBytes(bit.map_or(u8::MAX, |bit| 1 << bit))
    }

    fn bytes(self) -> ByteSet {
        let of_bit = |(bit, bytes): (usize, &&[u8])| match self.0 >> bit & 1 {
            1 => ByteSet::from_bytes(bytes),
            _ => ByteSet::EMPTY,
        };
        match self.0 {
            u8::MAX => ByteSet::ALL,
            _ => FirstBytes::OF_BITS.iter().enumerate().map(of_bit).fold(ByteSet::EMPTY, |all, one| all | one),
        }
    }
}

/// A piece of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    start: u32,
    end: u32,
}

impl Piece {
    fn n_bytes(self) -> u32 {
        self.end - self.start
    }
}

/// What values are compared with.
#[derive(Clone, Debug)]
pub(crate) struct DistinctValues {
    text: Chunked<u8>,
    sets: Chunked<Set>,
    /// Sets whose values were looked at: those that a token added which is only tried are not.
    n_examined: usize,
    /// By byte of the text, as far as it was examined: what it leaves the text within.
    strings: Chunked<Within>,
    /// How often a value was refused, ever.
    n_refused: u64,
    /// What the text is within where nothing was read.
    start: Within,
}

/// What a text ends within.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Within {
    /// A text that is more than one JSON document: quotes tell nothing.
    Unknown,
    /// A JSON text, outside of strings.
    Nothing,
    String,
    /// A string, right behind a backslash.
    Escape,
}

impl Within {
    /// Tells whether it certainly is a string, so that a suffix is outside of one only behind a quote.
    pub fn is_string(self) -> bool {
        matches!(self, Within::String | Within::Escape)
    }

    /// Returns what a text ends within that has one byte more.
    pub fn after(self, byte: u8) -> Within {
        match (self, byte) {
            (Within::Nothing, b'"') | (Within::Escape, _) => Within::String,
            (Within::String, b'\\') => Within::Escape,
            (Within::String, b'"') => Within::Nothing,
            (within, _) => within,
        }
    }
}

impl DistinctValues {
    /// Returns the values of a text of which nothing was read; `is_json` tells whether all of it is a JSON document.
    pub fn new(is_json: bool) -> Self {
        DistinctValues {
            text: Chunked::default(),
            sets: Chunked::default(),
            n_examined: 0,
            strings: Chunked::default(),
            n_refused: 0,
            start: if is_json { Within::Nothing } else { Within::Unknown },
        }
    }

    #[inline]
    pub fn n_bytes(&self) -> u32 {
        self.text.len() as u32
    }

    /// Returns the number of sets; a set's number is at most that.
    pub fn n_sets(&self) -> u32 {
        self.sets.len() as u32
    }

    pub fn read(&mut self, byte: u8) {
        assert!(self.text.len() < u32::MAX as usize, "a text with distinct values has fewer than 2^32 bytes");
        self.text.push(byte);
    }

    /// Forgets all but the first `n_bytes` bytes, and the values that end behind them.
    pub fn truncate(&mut self, n_bytes: u32) {
        while self.sets.len() > 0 && self.sets.get(self.sets.len() - 1).value.end > n_bytes {
            self.sets.truncate(self.sets.len() - 1);
        }
        self.n_examined = self.n_examined.min(self.sets.len());
        self.text.truncate(n_bytes as usize);
        if self.strings.len() > n_bytes as usize {
            self.strings.truncate(n_bytes as usize);
        }
    }

    /// Looks at what was read and admitted since the last time, now that it stays: where strings are, which keys a token may hold, and at
    /// containers, so that others are told apart from them quickly.
    pub fn examine(&mut self, is_held: impl Fn(&[u8]) -> bool) {
        let mut within = self.within();
        for place in self.strings.len()..self.text.len() {
            within = within.after(self.text.get(place));
            self.strings.push(within);
        }
        for index in self.n_examined..self.sets.len() {
            let set = self.sets.get(index);
            if self.is_container(set.value) {
                let text: Vec<u8> = self.bytes(set.value).collect();
                let scalar_bits = JsonScalars::of(&text).bloom_bits();
                self.sets.replace(
                    index,
                    Set { fingerprint: fingerprint(&Equality::Json.canonical(&text)), scalar_bits, ..set },
                );
            } else if !is_held(&self.short_text(set.value)) {
                self.sets.replace(index, Set { is_held: false, ..set });
            }
        }
        self.n_examined = self.sets.len();
    }

    fn is_container(&self, piece: Piece) -> bool {
        piece.n_bytes() > 0 && matches!(self.text.get(piece.start as usize), b'{' | b'[')
    }

    /// Returns the register of the frame of a value that begins with the last byte.
    pub fn begin(&self, register: u64) -> u64 {
        u64::from(register as u32) | u64::from(self.n_bytes() - 1) << 32
    }

    /// Ends the value of a frame; returns the register with the new set, unless the value was in it already, or is declared.
    pub fn admit(&mut self, register: u64, distinct: Distinct, declared_keys: Option<&DeclaredKeys>) -> Option<u64> {
        let (rest, value) = (register as u32, self.begun(register));
        if declared_keys.is_some_and(|declared_keys| declared_keys.contains(&self.short_text(value))) {
            self.n_refused += 1;
            return None;
        }
        let mut canonical = None;
        let is_container = distinct.equality == Equality::Json && self.is_container(value);
        let mut new_fingerprint = 0;
        // Long values are told apart without spelling all of them anew, and nothing is spelled if there is nothing to compare with.
        let is_same = |set: Set| {
            if is_container && set.fingerprint != 0 {
                if new_fingerprint == 0 {
                    new_fingerprint = fingerprint(canonical.insert(self.canonical(value)));
                }
                if set.fingerprint != new_fingerprint {
                    return false;
                }
            } else if distinct.equality == Equality::Json && is_container != self.is_container(set.value) {
                return false;
            }
            self.same(distinct.equality, set.value, value, &mut canonical)
        };
        if self.sets(register).any(is_same) {
            self.n_refused += 1;
            return None;
        }
        let (n_before, bits_before) = self.last_set(register).map_or((0, 0), |set| (set.n_values, set.first_bytes.0));
        let first_bytes = FirstBytes(bits_before | FirstBytes::of(self.first_of(value)).0);
        let set = Set {
            rest,
            value,
            n_values: 1 + n_before,
            first_bytes,
            fingerprint: 0,
            scalar_bits: ANY_SCALARS,
            is_held: true,
        };
        // Other places where the text can lead end the same value.
        let n_sets = self.sets.len();
        let is_known = |&index: &usize| {
            let known = self.sets.get(index);
            (known.rest, known.value) == (set.rest, set.value)
        };
        let known = (n_sets.saturating_sub(4)..n_sets).find(is_known);
        let index = known.unwrap_or_else(|| {
            self.sets.push(set);
            n_sets
        });
        Some(index as u64 + 1)
    }

    /// Tells whether two values are the same; `canonical` keeps the canonical text of the second.
    fn same(&self, equality: Equality, known: Piece, new: Piece, canonical: &mut Option<Vec<u8>>) -> bool {
        if known.n_bytes() == new.n_bytes() && self.bytes(known).eq(self.bytes(new)) {
            return true;
        }
        // Nearly all strings and integers have one spelling, and then there is nothing to allocate.
        if equality == Equality::Bytes || is_normal_spelling(self.bytes(known)) && is_normal_spelling(self.bytes(new)) {
            return false;
        }
        *canonical.get_or_insert_with(|| self.canonical(new)) == self.canonical(known)
    }

    /// Returns the canonical text of a value that is compared as JSON.
    fn canonical(&self, piece: Piece) -> Vec<u8> {
        Equality::Json.canonical(&self.bytes(piece).collect::<Vec<u8>>())
    }

    /// Returns the values of the frame's set, the last one first.
    pub fn in_set(&self, register: u64) -> impl Iterator<Item = Piece> + '_ {
        self.sets(register).map(|set| set.value)
    }

    /// Returns the values of the frame's set, except containers that lack a scalar with one of these bits ([`JsonScalars::bloom_bits`]).
    pub fn in_set_with(&self, register: u64, bits: u64) -> impl Iterator<Item = Piece> + '_ {
        self.sets(register).filter(move |set| bits & !set.scalar_bits == 0).map(|set| set.value)
    }

    /// Returns the keys of the frame's set that a token may hold whole.
    pub fn held_keys(&self, register: u64) -> impl Iterator<Item = Piece> + '_ {
        self.sets(register).filter(|set| set.is_held).map(|set| set.value)
    }

    /// Returns the suffix of each value of the frame's set of which the value under way is a prefix.
    pub fn suffixes(&self, register: u64) -> impl Iterator<Item = Piece> + '_ {
        let begun = self.begun(register);
        self.in_set(register).filter_map(move |Piece { start, end }| {
            let at = start.checked_add(begun.n_bytes()).filter(|&at| at <= end)?;
            self.bytes(Piece { start, end: at }).eq(self.bytes(begun)).then_some(Piece { start: at, end })
        })
    }

    /// Returns the declared keys of which the value under way is a prefix, by number.
    pub fn declared_with_prefix(&self, register: u64, declared_keys: &DeclaredKeys) -> Range<usize> {
        declared_keys.with_prefix(&self.begun_key(register))
    }

    /// Returns the number of values of the frame's set.
    pub fn n_values(&self, register: u64) -> u32 {
        self.last_set(register).map_or(0, |set| set.n_values)
    }

    /// Returns the bytes that the values of the frame's set begin with, and perhaps others.
    pub fn first_bytes(&self, register: u64) -> ByteSet {
        self.last_set(register).map_or(ByteSet::EMPTY, |set| set.first_bytes.bytes())
    }

    /// Returns the frame's set, unless it is empty.
    fn last_set(&self, register: u64) -> Option<Set> {
        (register as u32).checked_sub(1).map(|last| self.sets.get(last as usize))
    }

    /// Returns the frame's set and those that it grew from, the last one first.
    fn sets(&self, register: u64) -> impl Iterator<Item = Set> + '_ {
        core::iter::successors(self.last_set(register), |set| self.last_set(u64::from(set.rest)))
    }

    /// Returns what was read of the value of a frame.
    pub fn begun(&self, register: u64) -> Piece {
        Piece { start: (register >> 32) as u32, end: self.n_bytes() }
    }

    /// Returns the number of bytes that were read of the value of a frame.
    pub fn n_begun(&self, register: u64) -> u32 {
        self.begun(register).n_bytes()
    }

    /// Returns what was read of the value of a frame, where that is short, as keys are.
    pub fn begun_key(&self, register: u64) -> SmallVec<[u8; 64]> {
        self.short_text(self.begun(register))
    }

    /// Returns a piece that is short, as keys are.
    fn short_text(&self, piece: Piece) -> SmallVec<[u8; 64]> {
        self.bytes(piece).collect()
    }

    /// Returns what the text ends within, as far as it was examined.
    pub fn within(&self) -> Within {
        self.strings.len().checked_sub(1).map_or(self.start, |last| self.strings.get(last))
    }

    /// Returns how often a value was refused so far, because it was there already; rolling back takes nothing from it.
    pub fn n_refused(&self) -> u64 {
        self.n_refused
    }

    /// Returns the first byte of a piece.
    pub fn first_of(&self, piece: Piece) -> Option<u8> {
        (piece.n_bytes() > 0).then(|| self.text.get(piece.start as usize))
    }

    /// Returns a number that sets have in common which were made of the same one of the first `n_sets` by adding the same values, in any order, and
    /// few others.
    pub fn fingerprint_of(&mut self, register: u64, n_sets: u32) -> u64 {
        let (mut id, mut sum) = (register as u32, 0u64);
        while id > n_sets {
            let index = id as usize - 1;
            let mut set = self.sets.get(index);
            if set.fingerprint == 0 {
                set.fingerprint = fingerprint(&self.canonical(set.value));
                self.sets.replace(index, set);
            }
            let mixed = set.fingerprint.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            sum = sum.wrapping_add(mixed ^ mixed >> 29);
            id = set.rest;
        }
        sum ^ u64::from(id)
    }

    /// Returns the text from a place on.
    pub fn bytes_from(&self, start: u32) -> impl Iterator<Item = u8> + '_ {
        self.bytes(Piece { start, end: self.n_bytes() })
    }

    /// Returns the text from its end to its beginning.
    pub fn bytes_backward(&self) -> impl Iterator<Item = u8> + '_ {
        (0..self.text.len()).rev().map(|place| self.text.get(place))
    }

    /// Returns the bytes of a piece.
    pub fn bytes(&self, piece: Piece) -> impl Iterator<Item = u8> + '_ {
        (piece.start..piece.end).map(|place| self.text.get(place as usize))
    }

    pub fn memory_bytes(&self) -> usize {
        self.text.memory_bytes() + self.sets.memory_bytes() + self.strings.memory_bytes()
    }
}

fn fingerprint(canonical: &[u8]) -> u64 {
    canonical.iter().fold(1, |fingerprint, &byte| (fingerprint ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)) | 1
}

/// Tells whether a value is spelled so that no other value spelled so is equal to it: strings without escapes, words, integers without sign or exponent.
fn is_normal_spelling(mut bytes: impl Iterator<Item = u8>) -> bool {
    match bytes.next() {
        Some(b'"') => bytes.all(|byte| byte != b'\\'),
        Some(b'1'..=b'9') => bytes.all(|byte| byte.is_ascii_digit()),
        Some(first) => first.is_ascii_lowercase(),
        None => true,
    }
}
