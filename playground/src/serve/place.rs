//! A place in a document: a matcher that has read the text before it.

use super::document::Cell;
use maskwright::{MatchError, Matcher};

/// A matcher at a place.
pub struct Place {
    pub matcher: Matcher,
    /// The number of bytes that were read: those before the asked place, but for what is refused.
    pub offset: usize,
}

impl Place {
    /// Reads the cells of a document up to an offset: whole tokens as such, so that grammars that count tokens count them.
    pub fn new(mut matcher: Matcher, text: &[u8], cells: &[Cell], offset: usize) -> Self {
        let mut read = 0;
        for cell in cells {
            let end = cell.at.end.min(offset);
            if cell.at.start >= offset {
                break;
            }
            if end == cell.at.end {
                if cell.accept(&mut matcher, text).is_ok() {
                    read = end;
                    continue;
                }
            } else if cell.is_control {
                break;
            }
            let bytes = &text[cell.at.start..end];
            let refused_at = matcher.accept_bytes(bytes).err();
            let n_read = refused_at.as_ref().map_or(bytes.len(), refused_offset);
            if refused_at.is_some() && !cell.is_control {
                let _ = matcher.accept_bytes(&bytes[..n_read]);
            }
            read = cell.at.start + n_read;
            break;
        }
        Place { matcher, offset: read }
    }
}

/// Returns how many bytes were accepted before an error.
pub fn refused_offset(error: &MatchError) -> usize {
    error.byte_offset().unwrap_or(0)
}
