//! The moves of a unit's states, from ranges of bytes to the table by classes.

use super::bounds::Bounds;
use super::moves::{LocalState, MoveListId, PackedMove, Runs};
use super::state::{Reads, StateInfos};
use crate::pass::{BuildError, ControlLetter, Label};
use crate::util::{ByteSet, mixed};
use core::hash::{Hash, Hasher};
use smallvec::SmallVec;

/// Where the bytes of a range lead.
pub(super) type Piece = (u8, u8, Target);

/// Where a letter leads: to a state of the unit with nothing pushed, or to the moves of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Target {
    State(LocalState),
    List(MoveListId),
}

/// The moves of each state by letter: disjoint byte ranges ascending, and control tokens.
#[derive(Default)]
pub(super) struct Rows {
    pub bytes: Vec<Piece>,
    pub controls: Vec<(ControlLetter, Target)>,
    /// By state: where its ranges and control tokens end.
    ends: Vec<(u32, u32)>,
}

/// The moves of one state.
pub(super) struct Row<'a> {
    pub bytes: &'a [Piece],
    pub controls: &'a [(ControlLetter, Target)],
}

impl Rows {
    /// Forgets all rows, and makes room for others.
    pub fn clear(&mut self, n_states: usize, n_ranges: usize) {
        self.bytes.clear();
        self.bytes.reserve(n_ranges);
        self.controls.clear();
        self.ends.clear();
        self.ends.reserve(n_states);
    }

    pub fn push(&mut self, label: Label, target: Target) {
        match label {
            Label::Bytes(low, high) => self.bytes.push((low, high, target)),
            Label::Control(letter) => self.controls.push((letter, target)),
            Label::Call(_) | Label::External(_) | Label::Bounded(_) => unreachable!("calls were followed"),
        }
    }

    /// Ends the row of a state.
    pub fn end(&mut self) {
        self.ends.push((self.bytes.len() as u32, self.controls.len() as u32));
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        let mut first = (0, 0);
        self.ends.iter().map(move |&end| {
            let bytes = &self.bytes[first.0 as usize..end.0 as usize];
            let controls = &self.controls[first.1 as usize..end.1 as usize];
            first = end;
            Row { bytes, controls }
        })
    }
}

fn code(target: Target, infos: &StateInfos) -> PackedMove {
    match target {
        Target::List(list) => PackedMove::list(list),
        Target::State(state) if infos.is_quiet(state) => PackedMove::plain(state),
        Target::State(state) => PackedMove::local(state),
    }
}

pub(super) fn reads(row: &Row<'_>) -> Reads {
    // A token that spells a part of a literal stands beside its bytes.
    let is_named = row.controls.iter().any(|(letter, _)| !letter.is_spelling());
    match row.bytes {
        [] if !is_named => Reads::Nothing,
        &[(low, high, _)] if low == high && !is_named => Reads::Only(low),
        _ => Reads::More,
    }
}

/// The moves of all states of a unit.
///
/// Most states of a grammar with names and keywords read one byte: those have that byte and where it leads, and the others a row of a table
/// by *columns*. Bytes are of one column when no such row tells them apart: bytes between two neighbouring ends of ranges never are, and of
/// these intervals, those with equal moves are one column. A *class* of bytes is what no state at all tells apart: a column without the bytes
/// that are read alone somewhere, or one of those.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct MoveTable {
    /// Tells different tables apart, nearly always.
    fingerprint: u64,
    n_classes: usize,
    n_columns: usize,
    of_bytes: Box<OfBytes>,
    /// The first byte of each interval; 0 is one.
    starts: ByteSet,
    /// By state.
    places: Box<[RowPlace]>,
    codes: Box<[PackedMove]>,
}

/// Bytes that a row has one move for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Letter {
    Byte(u8),
    /// All bytes of a column.
    Column(usize),
}

/// By byte: its class, and its column.
#[derive(PartialEq, Eq, Debug)]
struct OfBytes {
    class: [u8; 256],
    column: [u8; 256],
}

/// Where the moves of a state are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RowPlace {
    /// Here: one byte at most is read.
    Only { byte: u8, code: PackedMove },
    /// A row that begins there among the codes.
    From(u32),
}

impl Hash for MoveTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.fingerprint);
    }
}

impl MoveTable {
    /// Returns the table of these rows.
    pub(super) fn new(
        rows: &Rows,
        infos: &StateInfos,
        bounds: Bounds<'_>,
        n_listed: usize,
    ) -> Result<MoveTable, BuildError> {
        let intervals = Intervals::of(rows);
        let n_intervals = intervals.starts.len();
        // Intervals are told apart by fingerprints of what is in them; the table is checked while it is filled. A fingerprint is a sum, and
        // here each interval has what it differs by from the one before.
        let mut changes = [0u64; 256];
        let mut is_alone = [false; 256];
        let mut fingerprint = rows.len() as u64;
        let mut n_wide = 0;
        bounds.compile_budget.spend(rows.bytes.len())?;
        for (state, row) in (0u64..).zip(rows.iter()) {
            match only(&row) {
                Some(None) => {}
                Some(Some((byte, target))) => {
                    is_alone[intervals.at(byte)] = true;
                    fingerprint = fingerprint.wrapping_add(fingerprint_of(state << 8 | u64::from(byte), target));
                }
                None => {
                    n_wide += 1;
                    for &(low, high, target) in row.bytes {
                        let own = fingerprint_of(state, target);
                        let (first, end) = (intervals.at(low), intervals.at(high) + 1);
                        changes[first] = changes[first].wrapping_add(own);
                        if let Some(change) = changes.get_mut(end) {
                            *change = change.wrapping_sub(own);
                        }
                    }
                }
            }
        }
        let mut column_of_interval = [0u8; 256];
        let mut of_column = Columns::default();
        let mut sum = 0u64;
        for (column, &change) in column_of_interval.iter_mut().zip(&changes[..n_intervals]) {
            sum = sum.wrapping_add(change);
            fingerprint = mixed(fingerprint ^ sum);
            *column = of_column.of(sum);
        }
        let mut n_columns = of_column.fingerprints.len();
        let check = |n_columns: usize| {
            bounds.check_moves(n_listed.saturating_add(rows.len()).saturating_add(n_columns.saturating_mul(n_wide)))
        };
        check(n_columns)?;
        bounds.compile_budget.spend(n_columns * n_wide)?;
        let mut codes = filled(rows, n_wide, infos, &intervals, &column_of_interval[..n_intervals], n_columns);
        if codes.is_none() {
            column_of_interval.iter_mut().zip(0..n_intervals).for_each(|(column, interval)| *column = interval as u8);
            n_columns = n_intervals;
            check(n_columns)?;
            codes = filled(rows, n_wide, infos, &intervals, &column_of_interval[..n_intervals], n_columns);
        }
        let (places, codes) = codes.expect("intervals are never cut by a range");
        let mut of_bytes = Box::new(OfBytes { class: [0; 256], column: [0; 256] });
        // One more than the class, if there is one yet.
        let mut class_of_column = [0u16; 256];
        let mut n_classes = 0u16;
        for (interval, &column) in column_of_interval[..n_intervals].iter().enumerate() {
            let known = if is_alone[interval] { 0 } else { class_of_column[usize::from(column)] };
            let class = match known {
                0 => {
                    n_classes += 1;
                    if !is_alone[interval] {
                        class_of_column[usize::from(column)] = n_classes;
                    }
                    n_classes
                }
                known => known,
            };
            let bytes = intervals.bytes(interval);
            of_bytes.class[bytes.clone()].fill((class - 1) as u8);
            of_bytes.column[bytes].fill(column);
        }
        let n_classes = usize::from(n_classes);
        let starts = ByteSet::from_words(intervals.is_start);
        fingerprint = intervals.is_start.iter().fold(fingerprint, |all, word| mixed(all ^ word));
        Ok(MoveTable { fingerprint, n_classes, n_columns, of_bytes, starts, places, codes })
    }

    /// Returns the table of one state, from which all bytes have the same code.
    #[cfg(test)]
    pub(super) fn of_one(code: PackedMove) -> MoveTable {
        let of_bytes = Box::new(OfBytes { class: [0; 256], column: [0; 256] });
        let (places, codes) = ([RowPlace::From(0)].into(), [code].into());
        let starts = ByteSet::from_bytes(&[0]);
        MoveTable { fingerprint: 0, n_classes: 1, n_columns: 1, of_bytes, starts, places, codes }
    }

    #[inline]
    pub fn code(&self, state: LocalState, byte: u8) -> PackedMove {
        match self.places[state.index()] {
            RowPlace::Only { byte: only, code } if only == byte => code,
            RowPlace::Only { .. } => PackedMove::NONE,
            RowPlace::From(first) => self.codes[first as usize + usize::from(self.of_bytes.column[usize::from(byte)])],
        }
    }

    /// Returns the class of each byte: bytes of one class have the same moves everywhere.
    #[inline]
    pub fn class_of(&self) -> &[u8; 256] {
        &self.of_bytes.class
    }

    /// Returns the number of codes that are kept.
    pub fn n_moves(&self) -> usize {
        self.places.len() + self.codes.len()
    }

    /// Returns the moves of `state`: those of each interval of bytes, with its first byte, as far as there are any.
    pub fn moves(&self, state: LocalState) -> impl Iterator<Item = (u8, PackedMove)> + '_ {
        let only = match self.places[state.index()] {
            RowPlace::Only { byte, code } => Some((byte, code)),
            RowPlace::From(_) => None,
        };
        let starts = if only.is_some() { ByteSet::EMPTY } else { self.starts };
        let of_intervals = starts.iter().map(move |start| (start, self.code(state, start)));
        only.into_iter().chain(of_intervals).filter(|&(_, code)| code != PackedMove::NONE)
    }

    /// Returns the moves of `state`, as few at a time as the table has them.
    pub(super) fn letters(&self, state: LocalState) -> impl Iterator<Item = (Letter, PackedMove)> + '_ {
        let (only, row) = match self.places[state.index()] {
            RowPlace::Only { byte, code } => (Some((Letter::Byte(byte), code)), &[][..]),
            RowPlace::From(first) => (None, &self.codes[first as usize..first as usize + self.n_columns]),
        };
        let columns = row.iter().enumerate().map(|(column, &code)| (Letter::Column(column), code));
        only.into_iter().chain(columns).filter(|&(_, code)| code != PackedMove::NONE)
    }

    /// Returns the number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Returns the column of each byte.
    pub fn column_of(&self) -> &[u8; 256] {
        &self.of_bytes.column
    }

    /// Returns the bytes that `state` reads, ascending, neighbours with the same code together.
    pub fn runs(&self, state: LocalState) -> Runs {
        if let RowPlace::Only { byte, code } = self.places[state.index()] {
            return if code == PackedMove::NONE { Runs::new() } else { Runs::from_slice(&[(byte, byte, code)]) };
        }
        let mut runs = Runs::new();
        let mut starts = self.starts.iter().peekable();
        while let Some(start) = starts.next() {
            let code = self.code(state, start);
            if code == PackedMove::NONE {
                continue;
            }
            let end = starts.peek().map_or(u8::MAX, |next| next - 1);
            match runs.last_mut() {
                Some((_, high, last)) if *last == code && *high + 1 == start => *high = end,
                _ => runs.push((start, end, code)),
            }
        }
        runs
    }

    /// Returns the bytes of each column.
    pub fn column_bytes(&self) -> Box<[ByteSet]> {
        let mut of_column = vec![ByteSet::EMPTY; self.n_columns];
        (0..=255u8).for_each(|byte| of_column[usize::from(self.of_bytes.column[usize::from(byte)])].insert(byte));
        of_column.into()
    }

    /// Returns the moves of `state`, each with bytes that have it, by the bytes of each column. Several may be the same.
    pub fn moves_by_column(
        &self,
        state: LocalState,
        of_column: &[ByteSet],
    ) -> impl Iterator<Item = (ByteSet, PackedMove)> {
        let (only, row) = match self.places[state.index()] {
            RowPlace::Only { byte, code } => (Some((ByteSet::from_bytes(&[byte]), code)), &[][..]),
            RowPlace::From(first) => (None, &self.codes[first as usize..][..self.n_columns]),
        };
        let row = of_column.iter().copied().zip(row.iter().copied());
        only.into_iter().chain(row).filter(|(_, code)| *code != PackedMove::NONE)
    }

    /// Tells whether two states read the same bytes.
    pub fn reads_alike(&self, state: LocalState, other: LocalState) -> bool {
        match (self.places[state.index()], self.places[other.index()]) {
            (RowPlace::From(first), RowPlace::From(other)) => {
                let row = |first: u32| &self.codes[first as usize..first as usize + self.n_columns];
                let mut codes = row(first).iter().zip(row(other));
                codes.all(|(code, other)| (*code == PackedMove::NONE) == (*other == PackedMove::NONE))
            }
            (RowPlace::Only { byte, code }, RowPlace::Only { byte: other_byte, code: other_code }) => {
                let reads = |code| code != PackedMove::NONE;
                reads(code) == reads(other_code) && (byte == other_byte || !reads(code))
            }
            // Rows are of states that read several bytes.
            _ => false,
        }
    }

    /// Returns the bytes that some state reads.
    pub fn all_bytes(&self, of_column: &[ByteSet]) -> ByteSet {
        let mut read = vec![0; self.n_columns];
        for row in self.codes.chunks_exact(self.n_columns) {
            read.iter_mut().zip(row).for_each(|(read, code)| *read |= code.bits());
        }
        let in_rows = read.iter().zip(of_column).filter(|(read, _)| **read != 0);
        let mut all = in_rows.fold(ByteSet::EMPTY, |all, (_, &of)| all | of);
        for place in &self.places {
            if let RowPlace::Only { byte, code } = *place
                && code != PackedMove::NONE
            {
                all.insert(byte);
            }
        }
        all
    }

    /// Returns about how much memory the table takes beside its own size, in bytes.
    pub fn memory_bytes(&self) -> usize {
        2 * 256 + size_of_val(&*self.places) + size_of_val(&*self.codes)
    }
}

/// Columns by their fingerprints.
struct Columns {
    fingerprints: SmallVec<[u64; 32]>,
    /// One more than the column, by some bits of the fingerprint or behind that.
    slots: [u16; Columns::N_SLOTS],
}

impl Default for Columns {
    fn default() -> Self {
        Columns { fingerprints: SmallVec::new(), slots: [0; Columns::N_SLOTS] }
    }
}

impl Columns {
    /// Twice as many as there are columns at most.
    const N_SLOTS: usize = 512;

    /// Returns the column of a fingerprint: the next one if it is new.
    fn of(&mut self, fingerprint: u64) -> u8 {
        let mut slot = fingerprint as usize % Self::N_SLOTS;
        loop {
            match self.slots[slot] {
                0 => {
                    self.fingerprints.push(fingerprint);
                    self.slots[slot] = self.fingerprints.len() as u16;
                    return (self.fingerprints.len() - 1) as u8;
                }
                column if self.fingerprints[usize::from(column) - 1] == fingerprint => return (column - 1) as u8,
                _ => slot = (slot + 1) % Self::N_SLOTS,
            }
        }
    }
}

/// Returns the byte that a row reads, and where it leads, or that it reads none; nothing if it reads several.
fn only(row: &Row<'_>) -> Option<Option<(u8, Target)>> {
    match *row.bytes {
        [] => Some(None),
        [(low, high, target)] if low == high => Some(Some((low, target))),
        _ => None,
    }
}

/// Bytes that no range tells apart.
struct Intervals {
    /// By byte, as bits: whether an interval starts there.
    is_start: [u64; 4],
    starts: SmallVec<[u8; 64]>,
    /// By byte: its interval.
    of: [u8; 256],
}

impl Intervals {
    fn of(rows: &Rows) -> Intervals {
        let mut is_start = [0u64; 4];
        is_start[0] = 1;
        for &(low, high, _) in &rows.bytes {
            is_start[usize::from(low >> 6)] |= 1 << (low & 63);
            if let Some(next) = high.checked_add(1) {
                is_start[usize::from(next >> 6)] |= 1 << (next & 63);
            }
        }
        let mut intervals = Intervals { is_start, starts: SmallVec::new(), of: [0; 256] };
        for (word, mut bits) in (0u8..).zip(is_start) {
            while bits != 0 {
                intervals.starts.push(word << 6 | bits.trailing_zeros() as u8);
                bits &= bits - 1;
            }
        }
        for interval in 1..intervals.starts.len() {
            let bytes = intervals.bytes(interval);
            intervals.of[bytes].fill(interval as u8);
        }
        intervals
    }

    /// Returns the bytes of an interval.
    fn bytes(&self, interval: usize) -> core::ops::Range<usize> {
        usize::from(self.starts[interval])..self.starts.get(interval + 1).map_or(256, |&next| usize::from(next))
    }

    /// Returns the interval of a byte.
    #[inline]
    fn at(&self, byte: u8) -> usize {
        usize::from(self.of[usize::from(byte)])
    }

    /// Returns the intervals of a range of bytes.
    #[inline]
    fn between(&self, low: u8, high: u8) -> core::ops::RangeInclusive<usize> {
        self.at(low)..=self.at(high)
    }
}

/// Where the moves of each state are, and the codes of the rows.
type FilledRows = (Box<[RowPlace]>, Box<[PackedMove]>);

/// Returns where the moves of each state are, and the rows of the `n_wide` that read several bytes; nothing if intervals of one column differ
/// somewhere.
fn filled(
    rows: &Rows,
    n_wide: usize,
    infos: &StateInfos,
    intervals: &Intervals,
    column_of_interval: &[u8],
    n_columns: usize,
) -> Option<FilledRows> {
    let mut sizes = [0u32; 256];
    column_of_interval.iter().for_each(|&column| sizes[usize::from(column)] += 1);
    let mut places = Vec::with_capacity(rows.len());
    let mut codes = vec![PackedMove::NONE; n_wide * n_columns];
    let mut first = 0;
    for row in rows.iter() {
        if let Some(only) = only(&row) {
            let (byte, code) = only.map_or((0, PackedMove::NONE), |(byte, target)| (byte, code(target, infos)));
            places.push(RowPlace::Only { byte, code });
            continue;
        }
        places.push(RowPlace::From(first as u32));
        let codes = &mut codes[first..first + n_columns];
        first += n_columns;
        // Intervals with a move, and those of the columns that got one.
        let (mut n_covered, mut n_in_columns) = (0, 0);
        for &(low, high, target) in row.bytes {
            let code = code(target, infos);
            for &column in &column_of_interval[intervals.between(low, high)] {
                let place = &mut codes[usize::from(column)];
                n_covered += 1;
                if *place == PackedMove::NONE {
                    n_in_columns += sizes[usize::from(column)];
                } else if *place != code {
                    return None;
                }
                *place = code;
            }
        }
        if n_covered != n_in_columns {
            return None;
        }
    }
    Some((places.into(), codes.into()))
}

fn fingerprint_of(state: u64, target: Target) -> u64 {
    let target = match target {
        Target::State(state) => u64::from(state.0),
        Target::List(list) => u64::from(list.0) | 1 << 32,
    };
    mixed(state << 33 ^ target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GrammarCompiler, Vocab};
    use std::sync::Arc;

    #[test]
    fn what_states_read_is_what_each_byte_says() {
        let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap());
        let schema = r#"{"type":"object","properties":{"a":{"type":"string","maxLength":3},"bc":{"enum":[1,"x"]}},"additionalProperties":false}"#;
        let grammar = GrammarCompiler::new(vocab).compile_json_schema(schema).unwrap();
        let (mut n_alike, mut n_other) = (0, 0);
        for linked in grammar.program().units() {
            let unit = &linked.unit;
            let read = |state: LocalState| -> ByteSet {
                (0..=255u8).filter(|&byte| unit.code(state, byte) != PackedMove::NONE).collect()
            };
            assert_eq!(unit.all_bytes(), unit.states().fold(ByteSet::EMPTY, |all, state| all | read(state)));
            for state in unit.states() {
                assert_eq!(unit.bytes(state), read(state));
                for other in unit.states() {
                    let is_alike = read(state) == read(other);
                    assert_eq!(unit.reads_alike(state, other), is_alike);
                    *(if is_alike { &mut n_alike } else { &mut n_other }) += 1;
                }
            }
        }
        assert!(n_alike > 100 && n_other > 100);
    }
}
