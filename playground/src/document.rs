//! Positions in documents of arbitrary bytes: valid UTF-8 or not, with lines of any length.

use crate::output::is_unseen;
use std::fmt;
use unicode_width::UnicodeWidthChar;

/// How much of a line is shown before and after a position, in characters.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 40;

/// A position in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPosition {
    /// Offset in bytes.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1; a byte that is part of no character counts as one.
    pub column: usize,
    excerpt: String,
    /// The columns of the terminal before the position: wide characters take two.
    width_before: usize,
}

impl DocumentPosition {
    /// Returns the position of a byte offset.
    pub fn new(document: &[u8], offset: usize) -> Self {
        let offset = offset.min(document.len());
        let line_start = document[..offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line_end =
            document[offset..].iter().position(|&byte| byte == b'\n').map_or(document.len(), |at| offset + at);
        // Within a character the position is that of the character.
        let char_start = (offset.saturating_sub(3)..=offset)
            .find(|&at| at >= line_start && at < line_end && char_len(&document[at..line_end]) > offset - at)
            .unwrap_or(offset);
        let before: Vec<char> = cells(&document[line_start..char_start]).collect();
        let after = cells(&document[char_start..line_end.min(char_start + 4 * SHOWN_AFTER)]);
        let n_skipped = before.len().saturating_sub(SHOWN_BEFORE);
        let mut excerpt: String = before[n_skipped..].iter().collect();
        let width_before = before[n_skipped..].iter().map(|c| c.width().unwrap_or(0)).sum();
        excerpt.extend(after.take(SHOWN_AFTER));
        let line = document[..line_start].iter().filter(|&&byte| byte == b'\n').count() + 1;
        DocumentPosition { offset, line, column: before.len() + 1, excerpt, width_before }
    }
}

/// Writes the line with a caret below the position.
impl fmt::Display for DocumentPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        writeln!(f, " {number} | {}", self.excerpt)?;
        write!(f, " {:pad$} | {:indent$}^", "", "", pad = number.len(), indent = self.width_before)
    }
}

/// Returns the length of the character that the bytes begin with, 1 if they don't begin with one.
fn char_len(bytes: &[u8]) -> usize {
    let head = &bytes[..bytes.len().min(4)];
    let valid = head.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    valid.chars().next().map_or(1, char::len_utf8)
}

/// Shows bytes with one character for each character or stray byte.
fn cells(bytes: &[u8]) -> impl Iterator<Item = char> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let plain = chunk.valid().chars().map(|c| if is_unseen(c) { ' ' } else { c });
        plain.chain(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_columns() {
        let document = "ab\nc\u{E9}\tx\nlast".as_bytes();
        let position = DocumentPosition::new(document, 7);
        assert_eq!((position.line, position.column), (2, 4));
        assert_eq!(position.to_string(), " 2 | cé x\n   |    ^");
        assert_eq!(
            (DocumentPosition::new(document, 5).line, DocumentPosition::new(document, 5).column),
            (2, 2),
            "within a character"
        );
        let wide = DocumentPosition::new("日本x".as_bytes(), 6);
        assert_eq!((wide.column, wide.to_string()), (3, " 1 | 日本x\n   |     ^".to_owned()));
        let end = DocumentPosition::new(document, document.len());
        assert_eq!((end.line, end.column, end.offset), (3, 5, 13));
    }

    #[test]
    fn any_bytes_have_places() {
        let document = b"\xFF\xE4\xB8\n\xF0\x9F\x98\x80\n\n\xC3";
        for offset in 0..=document.len() + 2 {
            let position = DocumentPosition::new(document, offset);
            assert!(position.column >= 1 && position.to_string().ends_with('^'), "{offset}");
        }
        let long = vec![b'a'; 100_000];
        assert_eq!(DocumentPosition::new(&long, 50_000).column, 50_001);
        assert!(DocumentPosition::new(&long, 50_000).to_string().len() < 300);
    }
}
