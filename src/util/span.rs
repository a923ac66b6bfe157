//! Spans of a source text, and the messages that point at them.

use core::fmt;
use unicode_width::UnicodeWidthChar;

/// A half-open range of byte offsets in a source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the span `start..end`; offsets past 4 GiB are clamped.
    pub fn new(start: usize, end: usize) -> Self {
        let cut = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { start: cut(start), end: cut(end.max(start)) }
    }

    /// Returns the smallest span that covers both.
    pub fn join(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the 1-based line and column (in characters) of the start of this span in `source`.
    pub fn line_column(self, source: &str) -> (usize, usize) {
        let start = floor_char_boundary(source, self.start as usize);
        let before = &source[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// Writes the source line in which this span starts and, below it, carets under the span.
    ///
    /// # Errors
    /// Only those of the formatter.
    pub fn write_caret(self, source: &str, f: &mut impl fmt::Write) -> fmt::Result {
        const WIDTH_MAX: usize = 160;
        let start = floor_char_boundary(source, self.start as usize);
        let line_start = source[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |i| start + i);
        let end = floor_char_boundary(source, self.end as usize).clamp(start, line_end);
        let (line, column) = self.line_column(source);
        // A very long line is shown from a little before the span.
        let column_skip = if column > WIDTH_MAX { column - WIDTH_MAX / 2 } else { 0 };
        let shown: String = source[line_start..line_end].chars().skip(column_skip).take(WIDTH_MAX).map(plain).collect();
        let n_marked =
            source[start..end].chars().count().clamp(1, (WIDTH_MAX + column_skip + 1).saturating_sub(column).max(1));
        // On a terminal wide characters take two columns, and combining ones none.
        let width = |text: &str, n_chars: usize| -> usize {
            text.chars().take(n_chars).map(|c| plain(c).width().unwrap_or(0)).sum()
        };
        let n_before = column - 1 - column_skip;
        let n_carets = width(&source[start..end], n_marked).max(1);
        let number = line.to_string();
        write!(
            f,
            "\n {number} | {shown}\n {:pad$} | {:indent$}{}",
            "",
            "",
            "^".repeat(n_carets),
            pad = number.len(),
            indent = width(&shown, n_before)
        )
    }
}

/// Replaces a character that would move the cursor by a blank.
fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

fn floor_char_boundary(source: &str, mut index: usize) -> usize {
    index = index.min(source.len());
    while !source.is_char_boundary(index) {
        index -= 1;
    }
    index
}

impl From<core::ops::Range<usize>> for Span {
    fn from(range: core::ops::Range<usize>) -> Self {
        Span::new(range.start, range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_points_at_the_span() {
        let source = "a ::= b\nroot ::= é [x\n";
        let start = source.find("[x").unwrap();
        let mut text = String::new();
        Span::new(start, start + 2).write_caret(source, &mut text).unwrap();
        assert_eq!(text, "\n 2 | root ::= é [x\n   |            ^^");
        assert_eq!(Span::new(start, start).line_column(source), (2, 12));
    }

    #[test]
    fn odd_spans_do_not_panic() {
        for (start, end) in [(0, 0), (5, 2), (9, 99), (99, 100), (1, 2)] {
            let mut text = String::new();
            Span { start, end }.write_caret("é\n\né", &mut text).unwrap();
            assert!(text.contains('^'));
        }
    }
}
