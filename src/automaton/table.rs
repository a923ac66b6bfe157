//! The moves of a unit's states, from ranges of bytes to the table by classes.

use super::build::Bounds;
use super::unit::{Code, Kind, Reads, Run, StateInfo};
use crate::pass::{BuildError, Label};
use core::hash::{Hash, Hasher};
use smallvec::SmallVec;

/// Where the bytes of a range lead.
pub(super) type Piece = (u8, u8, Target);

/// Where a letter leads: to a state of the unit with nothing pushed, or to the moves of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Target {
    State(u32),
    List(u32),
}

/// The moves of each state by letter: disjoint byte ranges ascending, and control tokens.
#[derive(Default)]
pub(super) struct Rows {
    pub bytes: Vec<Piece>,
    pub controls: Vec<(u32, Target)>,
    /// By state: where its ranges and control tokens end.
    ends: Vec<(u32, u32)>,
}

/// The moves of one state.
pub(super) struct Row<'a> {
    pub bytes: &'a [Piece],
    pub controls: &'a [(u32, Target)],
}

impl Rows {
    pub fn with_capacity(n_states: usize, n_ranges: usize) -> Self {
        Rows { bytes: Vec::with_capacity(n_ranges), controls: Vec::new(), ends: Vec::with_capacity(n_states) }
    }

    pub fn push(&mut self, label: Label, target: Target) {
        match label {
            Label::Bytes(low, high) => self.bytes.push((low, high, target)),
            Label::Control(token) => self.controls.push((token, target)),
            Label::Call(_) => unreachable!("calls were followed"),
        }
    }

    /// Ends the row of a state.
    pub fn end(&mut self) {
        self.ends.push((self.bytes.len() as u32, self.controls.len() as u32));
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut first = (0, 0);
        self.ends.iter().map(move |&end| {
            let bytes = &self.bytes[first.0 as usize..end.0 as usize];
            let controls = &self.controls[first.1 as usize..end.1 as usize];
            first = end;
            Row { bytes, controls }
        })
    }
}

fn code(target: Target, infos: &[StateInfo]) -> Code {
    match target {
        Target::List(list) => Code::list(list),
        Target::State(state) => {
            let info = &infos[state as usize];
            if info.kind == Kind::Inner && info.has_moves() { Code::quiet(state) } else { Code::simple(state) }
        }
    }
}

pub(super) fn reads(row: &Row<'_>) -> Reads {
    match (row.bytes, row.controls) {
        ([], []) => Reads::Nothing,
        (&[(low, high, _)], []) if low == high => Reads::Only(low),
        _ => Reads::More,
    }
}

/// The moves of all states of a unit. Bytes are of one class when no row tells them apart: bytes between two neighbouring ends of ranges never
/// are, and of these intervals, those with equal columns are one class.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct MoveTable {
    /// Tells different tables apart, nearly always.
    fingerprint: u64,
    pub n_classes: usize,
    pub class_of: Box<[u8; 256]>,
    /// The first byte of each interval, ascending from 0.
    starts: Box<[u8]>,
    /// By state, then class.
    pub codes: Box<[Code]>,
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
        infos: &[StateInfo],
        bounds: Bounds<'_>,
        n_listed: usize,
    ) -> Result<MoveTable, BuildError> {
        let intervals = Intervals::of(rows);
        let n_intervals = intervals.starts.len();
        // PERF: columns are told apart by fingerprints of what is in them; the table is checked while it is filled.
        let mut columns = [0u64; 256];
        for (state, row) in rows.iter().enumerate() {
            bounds.watch.spend(row.bytes.len())?;
            for &(low, high, target) in row.bytes {
                let entry = fingerprint(state as u64, target);
                columns[intervals.between(low, high)]
                    .iter_mut()
                    .for_each(|column| *column = column.wrapping_add(entry));
            }
        }
        let mut class_of_interval = [0u8; 256];
        let mut of_class: SmallVec<[u64; 32]> = SmallVec::new();
        for (class, &column) in class_of_interval.iter_mut().zip(&columns[..n_intervals]) {
            let known = of_class.iter().position(|&known| known == column);
            *class = known.unwrap_or(of_class.len()) as u8;
            if known.is_none() {
                of_class.push(column);
            }
        }
        let mut n_classes = of_class.len();
        bounds.check_moves(n_listed.saturating_add(rows.len().saturating_mul(n_classes)))?;
        bounds.watch.look()?;
        let mut codes = filled(rows, infos, &intervals, &class_of_interval[..n_intervals], n_classes);
        if codes.is_none() {
            class_of_interval.iter_mut().zip(0..n_intervals).for_each(|(class, interval)| *class = interval as u8);
            n_classes = n_intervals;
            bounds.check_moves(n_listed.saturating_add(rows.len().saturating_mul(n_classes)))?;
            codes = filled(rows, infos, &intervals, &class_of_interval[..n_intervals], n_classes);
        }
        let codes = codes.expect("intervals are never cut by a range").into();
        let mut class_of = Box::new([0; 256]);
        for (interval, &class) in class_of_interval[..n_intervals].iter().enumerate() {
            class_of[intervals.bytes(interval)].fill(class);
        }
        let columns = columns[..n_intervals].iter().zip(&intervals.starts);
        let fingerprint =
            columns.fold(rows.len() as u64, |sum, (column, &start)| mixed(sum ^ u64::from(start)) ^ column);
        Ok(MoveTable { fingerprint, n_classes, class_of, starts: intervals.starts.as_slice().into(), codes })
    }

    /// Returns the table of one state, from which all bytes have the same code.
    #[cfg(test)]
    pub(super) fn of_one(code: Code) -> MoveTable {
        let class_of = Box::new([0; 256]);
        MoveTable { fingerprint: 0, n_classes: 1, class_of, starts: [0].into(), codes: [code].into() }
    }

    /// Returns the codes of a state, by class.
    #[inline]
    pub fn row(&self, state: u32) -> &[Code] {
        &self.codes[state as usize * self.n_classes..][..self.n_classes]
    }

    #[inline]
    pub fn code(&self, state: u32, byte: u8) -> Code {
        self.codes[state as usize * self.n_classes + usize::from(self.class_of[usize::from(byte)])]
    }

    /// Returns the bytes that `state` reads, ascending, neighbours with the same code together.
    pub fn runs(&self, state: u32) -> Vec<Run> {
        let row = self.row(state);
        let mut runs: Vec<Run> = Vec::with_capacity(8);
        for (index, &start) in self.starts.iter().enumerate() {
            let code = row[usize::from(self.class_of[usize::from(start)])];
            if code == Code::NONE {
                continue;
            }
            let end = self.starts.get(index + 1).map_or(u8::MAX, |next| next - 1);
            match runs.last_mut() {
                Some((_, high, last)) if *last == code && *high + 1 == start => *high = end,
                _ => runs.push((start, end, code)),
            }
        }
        runs
    }

    /// Returns about how much memory the table takes beside its own size, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.class_of) + size_of_val(&*self.starts) + size_of_val(&*self.codes)
    }
}

/// Bytes that no range tells apart.
struct Intervals {
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
        let mut intervals = Intervals { starts: SmallVec::new(), of: [0; 256] };
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

    /// Returns the intervals of a range of bytes.
    #[inline]
    fn between(&self, low: u8, high: u8) -> core::ops::RangeInclusive<usize> {
        usize::from(self.of[usize::from(low)])..=usize::from(self.of[usize::from(high)])
    }
}

/// Returns the table by state and class; nothing if intervals of one class differ somewhere.
fn filled(
    rows: &Rows,
    infos: &[StateInfo],
    intervals: &Intervals,
    class_of_interval: &[u8],
    n_classes: usize,
) -> Option<Vec<Code>> {
    let mut sizes = [0u32; 256];
    class_of_interval.iter().for_each(|&class| sizes[usize::from(class)] += 1);
    let mut table = vec![Code::NONE; rows.len() * n_classes];
    for (row, codes) in rows.iter().zip(table.chunks_mut(n_classes)) {
        // Intervals with a move, and those of the classes that got one.
        let (mut n_covered, mut n_in_classes) = (0, 0);
        for &(low, high, target) in row.bytes {
            let code = code(target, infos);
            for &class in &class_of_interval[intervals.between(low, high)] {
                let place = &mut codes[usize::from(class)];
                n_covered += 1;
                if *place == Code::NONE {
                    n_in_classes += sizes[usize::from(class)];
                } else if *place != code {
                    return None;
                }
                *place = code;
            }
        }
        if n_covered != n_in_classes {
            return None;
        }
    }
    Some(table)
}

fn fingerprint(state: u64, target: Target) -> u64 {
    let target = match target {
        Target::State(state) => u64::from(state),
        Target::List(list) => u64::from(list) | 1 << 32,
    };
    mixed(state << 33 ^ target)
}

/// Mixes bits (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn mixed(bits: u64) -> u64 {
    let mut bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}
