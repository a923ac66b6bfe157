//! The moves of a unit's states, from ranges of bytes to the table by classes.

use super::build::Bounds;
use super::unit::{Code, Kind, Reads, StateInfo};
use crate::pass::{BuildError, Label};
use hashbrown::HashMap;

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

    pub fn get(&self, state: usize) -> Row<'_> {
        let (first_byte, first_control) = if state == 0 { (0, 0) } else { self.ends[state - 1] };
        let (last_byte, last_control) = self.ends[state];
        Row {
            bytes: &self.bytes[first_byte as usize..last_byte as usize],
            controls: &self.controls[first_control as usize..last_control as usize],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|state| self.get(state))
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

/// Returns the class of each byte, the number of classes, and the table by state and class. Bytes are of one class when no row
/// tells them apart: bytes between two neighbouring ends of ranges never are, and of the intervals, equal columns are one.
pub(super) fn move_table(
    rows: &Rows,
    infos: &[StateInfo],
    bounds: Bounds<'_>,
    n_listed: usize,
) -> Result<(Vec<u8>, usize, Vec<Code>), BuildError> {
    let mut is_cut = [false; 257];
    for &(low, high, _) in &rows.bytes {
        is_cut[usize::from(low)] = true;
        is_cut[usize::from(high) + 1] = true;
    }
    let mut interval_of = [0u8; 256];
    let mut n_intervals = 1usize;
    for byte in 1..256 {
        n_intervals += usize::from(is_cut[byte]);
        interval_of[byte] = (n_intervals - 1) as u8;
    }
    let interval = |byte: u8| usize::from(interval_of[usize::from(byte)]);
    let intervals = |low: u8, high: u8| interval(low)..=interval(high);
    // PERF: columns are told apart by fingerprints of what is in them; the table is checked while it is filled.
    let mut columns = vec![0u64; n_intervals];
    for (state, row) in rows.iter().enumerate() {
        bounds.watch.spend(row.bytes.len())?;
        for &(low, high, target) in row.bytes {
            let entry = fingerprint(state as u64, target);
            columns[intervals(low, high)].iter_mut().for_each(|column| *column = column.wrapping_add(entry));
        }
    }
    let mut classes: HashMap<u64, u8> = HashMap::with_capacity(n_intervals);
    let class_of_interval = columns.into_iter().map(|column| {
        let n_classes = classes.len() as u8;
        *classes.entry(column).or_insert(n_classes)
    });
    let mut class_of_interval: Vec<u8> = class_of_interval.collect();
    let mut n_classes = classes.len();
    bounds.check_moves(n_listed.saturating_add(rows.len().saturating_mul(n_classes)))?;
    bounds.watch.look()?;
    let mut table = filled(rows, infos, &class_of_interval, n_classes, intervals);
    if table.is_none() {
        class_of_interval = (0..n_intervals).map(|interval| interval as u8).collect();
        n_classes = n_intervals;
        bounds.check_moves(n_listed.saturating_add(rows.len().saturating_mul(n_classes)))?;
        table = filled(rows, infos, &class_of_interval, n_classes, intervals);
    }
    let table = table.expect("intervals are never cut by a range");
    let class_of = interval_of.iter().map(|&interval| class_of_interval[usize::from(interval)]).collect();
    Ok((class_of, n_classes, table))
}

/// Returns the table by state and class; nothing if intervals of one class differ somewhere.
fn filled(
    rows: &Rows,
    infos: &[StateInfo],
    class_of_interval: &[u8],
    n_classes: usize,
    intervals: impl Fn(u8, u8) -> core::ops::RangeInclusive<usize>,
) -> Option<Vec<Code>> {
    let mut sizes = vec![0usize; n_classes];
    class_of_interval.iter().for_each(|&class| sizes[usize::from(class)] += 1);
    let mut table = vec![Code::NONE; rows.len() * n_classes];
    for (row, codes) in rows.iter().zip(table.chunks_mut(n_classes)) {
        // Intervals with a move, and those of the classes that got one.
        let (mut n_covered, mut n_in_classes) = (0, 0);
        for &(low, high, target) in row.bytes {
            let code = code(target, infos);
            for &class in &class_of_interval[intervals(low, high)] {
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

/// Mixes the bits of a state and where it goes (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn fingerprint(state: u64, target: Target) -> u64 {
    let target = match target {
        Target::State(state) => u64::from(state),
        Target::List(list) => u64::from(list) | 1 << 32,
    };
    let mut bits = (state << 33 ^ target).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}
