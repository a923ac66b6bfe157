//! Case folding of sets of characters.

use super::CharSet;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

impl CharSet {
    /// Returns the set with, for each member, all characters that are the same to simple case folding of Unicode.
    ///
    /// Simple folding maps one character to one character, so `ß` is not `ss`; but `k` is also the Kelvin sign.
    ///
    /// ```
    /// use maskwright::regular::CharSet;
    /// assert_eq!(CharSet::range('k', 'k').case_fold_simple(), CharSet::from_iter(['K', 'k', '\u{212A}']));
    /// ```
    pub fn case_fold_simple(&self) -> CharSet {
        let ranges = self.ranges().iter().map(|&(low, high)| ClassUnicodeRange::new(low, high));
        let mut class = ClassUnicode::new(ranges);
        class.case_fold_simple();
        CharSet::from_ranges(class.ranges().iter().map(|range| (range.start(), range.end())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_is_closed() {
        let some = CharSet::from_iter(['s', 'Σ', 'Ж', '1', 'ß']);
        let folded = some.case_fold_simple();
        assert_eq!(folded, CharSet::from_iter(['s', 'S', 'ſ', 'σ', 'ς', 'Σ', 'ж', 'Ж', '1', 'ß', 'ẞ']));
        assert_eq!(folded.case_fold_simple(), folded);
        assert_eq!(CharSet::all().case_fold_simple(), CharSet::all());
        assert_eq!(CharSet::empty().case_fold_simple(), CharSet::empty());
    }
}
