//! Sets of tokens that are given by what is not in them.

use super::ControlRef;
use core::ops::RangeInclusive;

/// Tokens that a place in a grammar excludes, where it reads any one token but these: some by name, some by id.
///
/// Equal sets of references are equal, however they were written.
///
/// ```
/// use maskwright::grammar::{ControlRef, ExcludedTokens};
/// let excluded = ExcludedTokens::new([ControlRef::Id(4), ControlRef::Name("</s>".into()), ControlRef::Id(3)]);
/// assert_eq!(excluded, ExcludedTokens::of_ranges([3..=4], ["</s>"]));
/// assert_eq!((excluded.ids(), excluded.excludes_id(5)), (&[(3, 4)][..], false));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ExcludedTokens {
    /// Ascending, each once.
    names: Box<[Box<str>]>,
    /// Ranges, ascending, with gaps between them; both ends included.
    ids: Box<[(u32, u32)]>,
}

impl ExcludedTokens {
    /// Returns the set of these tokens, in any order, repeated or not.
    pub fn new(tokens: impl IntoIterator<Item = ControlRef>) -> Self {
        let (mut names, mut ids): (Vec<Box<str>>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        for token in tokens {
            match token {
                ControlRef::Name(name) => names.push(name),
                ControlRef::Id(id) => ids.push((id, id)),
            }
        }
        Self::sorted(names, ids)
    }

    /// Returns the set of the tokens of some ranges of ids and with some names, in any order, repeated or not.
    pub fn of_ranges<'n>(
        ids: impl IntoIterator<Item = RangeInclusive<u32>>,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let ids = ids.into_iter().filter(|range| !range.is_empty()).map(RangeInclusive::into_inner);
        Self::sorted(names.into_iter().map(Into::into).collect(), ids.collect())
    }

    fn sorted(mut names: Vec<Box<str>>, ids: Vec<(u32, u32)>) -> Self {
        names.sort_unstable();
        names.dedup();
        ExcludedTokens { names: names.into(), ids: merged(ids).into() }
    }

    /// Returns the names, ascending.
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// Returns the ranges of ids, ascending, with gaps between them; both ends are included.
    pub fn ids(&self) -> &[(u32, u32)] {
        &self.ids
    }

    /// Returns whether no token is excluded.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.ids.is_empty()
    }

    /// Returns whether a token is excluded by its id. It may be excluded by its name as well.
    pub fn excludes_id(&self, id: u32) -> bool {
        let at = self.ids.partition_point(|&(_, high)| high < id);
        self.ids.get(at).is_some_and(|&(low, _)| low <= id)
    }

    /// Returns the ids as the dialects write them, like `1,3-7`.
    pub fn written_ids(&self) -> String {
        let range = |&(low, high): &(u32, u32)| if low == high { low.to_string() } else { format!("{low}-{high}") };
        self.ids.iter().map(range).collect::<Vec<_>>().join(",")
    }
}

/// Returns ranges of numbers as a set: ascending, with gaps between them. Both ends are included.
pub(crate) fn merged(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some((_, last)) if low <= last.saturating_add(1) => *last = high.max(*last),
            _ => merged.push((low, high)),
        }
    }
    merged
}
