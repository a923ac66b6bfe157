//! Allocation of obligations to bits of the state of an object.
//!
//! An obligation is live from after the first name that may satisfy it up to the last one: before, it can't have been satisfied; afterwards,
//! it has been, or the object is refused. So obligations that are not live at the same time share a bit (a *slot*), as values in a program
//! share registers:
//!
//! ```text
//! dependentRequired: a1 -> b1, a2 -> b2         names:   a1  b1  a2  b2
//!                                               slot 0:  |---|   |---|
//! ```
//!
//! n such conditions take one slot instead of n, and the states of the automaton grow with n, not with 2^n. Conditions that overlap at more
//! than [`SLOTS_MAX`] places are refused. Where names come in any order all obligations are live all the time.

use super::super::Lowered;
use super::plan::{Class, Name, Rest};
use crate::json_schema::error::SchemaError;
use smallvec::SmallVec;

/// Most obligations that are live at once.
pub(super) const SLOTS_MAX: usize = SlotSet::BITS as usize;

/// A set of slots, as bits.
pub(super) type SlotSet = u128;

/// The range of names, by index, that may satisfy an obligation; other keys count as one name after the last.
#[derive(Clone, Copy)]
struct Window {
    first: u32,
    last: u32,
    /// The last name whose absence satisfies it.
    last_without: Option<u32>,
}

/// The obligations that a name, or other keys, may satisfy: by their values, or by being absent.
#[derive(Default, Clone)]
pub(super) struct Chances {
    pub by_value: SmallVec<[usize; 4]>,
    pub without: SmallVec<[usize; 4]>,
}

/// Allocates slots to obligations, and returns the [`Rest`] of the names from each on; `None` if an obligation can't be satisfied at all.
///
/// # Errors
/// If too many are live at once.
pub(super) fn assign(
    is_any_order: bool,
    n_obligations: usize,
    chances: &[Chances],
    names: &mut [Name],
    classes: &mut [Class],
) -> Lowered<Option<Vec<Rest>>> {
    let n_names = names.len() as u32;
    let mut windows: Vec<Option<Window>> = vec![None; n_obligations];
    for (place, chances) in chances.iter().enumerate() {
        let place = (place as u32).min(n_names);
        for (&obligation, is_without) in chances
            .by_value
            .iter()
            .map(|obligation| (obligation, false))
            .chain(chances.without.iter().map(|obligation| (obligation, true)))
        {
            let window = windows[obligation].get_or_insert(Window { first: place, last: place, last_without: None });
            window.last = place;
            if is_without {
                window.last_without = Some(place);
            }
        }
    }
    let Some(mut windows) = windows.into_iter().collect::<Option<Vec<Window>>>() else { return Ok(None) };
    if is_any_order {
        // Each name may come last.
        windows.iter_mut().for_each(|window| (window.first, window.last) = (0, n_names));
    }
    let slots = slots(&windows)?;
    let bit = |obligation: &usize| (1 as SlotSet) << slots[*obligation];
    let bits = |obligations: &[usize]| obligations.iter().fold(0, |bits, obligation| bits | bit(obligation));
    for (name, chances) in names.iter_mut().zip(chances) {
        name.without = bits(&chances.without);
        if let Some(content) = &mut name.content {
            // Drop obligations that no value of this name satisfies.
            content.met.retain(|(obligation, _)| chances.by_value.contains(obligation));
            content.met.iter_mut().for_each(|(obligation, _)| *obligation = usize::from(slots[*obligation]));
        }
    }
    for (class, chances) in classes.iter_mut().zip(&chances[names.len()..]) {
        class.content.met.retain(|(obligation, _)| chances.by_value.contains(obligation));
        class.content.met.iter_mut().for_each(|(obligation, _)| *obligation = usize::from(slots[*obligation]));
    }
    Ok(Some(suffixes(&windows, &slots, names)))
}

/// Returns the slot of each obligation.
fn slots(windows: &[Window]) -> Lowered<Vec<u8>> {
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|&obligation| windows[obligation].first);
    let mut slots = vec![0; windows.len()];
    // By slot: the end of the last window that uses it.
    let mut taken: Vec<u32> = Vec::new();
    for obligation in order {
        let Window { first, last, .. } = windows[obligation];
        let slot = match taken.iter().position(|&end| end < first) {
            Some(slot) => slot,
            None => {
                taken.push(0);
                taken.len() - 1
            }
        };
        if slot >= SLOTS_MAX {
            let n_open = windows.iter().filter(|window| (window.first..=window.last).contains(&first)).count();
            let reason = format!("{n_open} conditions wait for a key at once, and at most {SLOTS_MAX} may");
            return Err(SchemaError::unsupported("not", reason).into());
        }
        taken[slot] = last;
        slots[obligation] = slot as u8;
    }
    Ok(slots)
}

fn suffixes(windows: &[Window], slots: &[u8], names: &mut [Name]) -> Vec<Rest> {
    let n_names = names.len();
    let end =
        Rest { next_required: n_names as u32, next_stop: n_names as u32, open: 0, without: 0, are_later_met: true };
    let mut suffixes = vec![end; n_names + 1];
    for (window, &slot) in windows.iter().zip(slots) {
        let bit = (1 as SlotSet) << slot;
        for place in window.first + 1..=window.last {
            suffixes[place as usize].open |= bit;
            if window.last_without.is_some_and(|last| place <= last) {
                suffixes[place as usize].without |= bit;
            }
            names[place as usize - 1].later |= bit;
        }
        if let Some(name) = names.get_mut(window.last as usize) {
            name.closes |= bit;
        }
        // An obligation that lies ahead is satisfied without any name only if an absence satisfies it; no obligation lies after other keys.
        if window.first as usize == n_names {
            suffixes[n_names].open |= bit;
        }
        if let Some(rest) = suffixes[..n_names].get_mut((window.first as usize).min(n_names.wrapping_sub(1))) {
            rest.are_later_met &= window.last_without.is_some();
        }
    }
    for index in (0..n_names).rev() {
        let behind = suffixes[index + 1];
        let (name, rest) = (&names[index], &mut suffixes[index]);
        let is_stop = name.is_required || name.without != 0 || name.closes != 0;
        rest.next_required = if name.is_required { index as u32 } else { behind.next_required };
        rest.next_stop = if is_stop { index as u32 } else { behind.next_stop };
        rest.are_later_met &= behind.are_later_met;
    }
    suffixes
}
