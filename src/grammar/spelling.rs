//! How EBNF spells characters and texts.

use super::Regex;
use crate::regular::{Node, Regular};
use core::fmt::Write as _;
use std::sync::Arc;

impl Regex {
    /// Returns the regular expression whose language is the contiguous runs of some chunks, the empty one too, and whose pattern is the macro `Substring("chunk", ...)`.
    ///
    /// However the chunks were written, the pattern is the same: equal grammars are equal in their patterns.
    pub(crate) fn substring(chunks: Vec<Box<[u8]>>) -> Regex {
        let (pattern, _) = substring_text(&chunks);
        let mut regular = Regular::new();
        let root = regular.push(Node::Substring(chunks.into()));
        regular.set_root(root);
        Regex { pattern: pattern.into(), flags: "".into(), regular: Arc::new(regular) }
    }
}

/// Returns a pattern that means the same and can stand between slashes: `//` begins a comment.
pub(crate) fn between_slashes(pattern: &str) -> &str {
    if pattern.is_empty() { "(?:)" } else { pattern }
}

/// Returns the macro of the contiguous runs of some chunks, and whether EBNF can say it: each chunk is a text.
pub(super) fn substring_text(chunks: &[Box<[u8]>]) -> (String, bool) {
    let (mut text, mut is_exact) = ("Substring(".to_owned(), true);
    for (index, chunk) in chunks.iter().enumerate() {
        if index > 0 {
            text += ", ";
        }
        match core::str::from_utf8(chunk) {
            Ok(chunk) => push_literal(&mut text, chunk),
            Err(_) => {
                is_exact = false;
                write!(text, "<?bytes {}?>", chunk.escape_ascii()).expect("writing to a string succeeds");
            }
        }
    }
    text.push(')');
    (text, is_exact)
}

/// Writes a literal.
pub(super) fn push_literal(text: &mut String, literal: &str) {
    text.push('"');
    literal.chars().for_each(|c| push_char(text, c, &['"', '\\']));
    text.push('"');
}

/// Writes a character of a literal or a class: as it is when it can be seen and has no meaning of its own.
pub(super) fn push_char(text: &mut String, c: char, escaped: &[char]) {
    match c {
        '\n' => *text += "\\n",
        '\r' => *text += "\\r",
        '\t' => *text += "\\t",
        '\0' => *text += "\\0",
        _ if escaped.contains(&c) => text.extend(['\\', c]),
        // The debug form escapes what is invisible or joins the character before it.
        ' '..='~' => text.push(c),
        _ if c.escape_debug().count() == 1 => text.push(c),
        _ => write!(text, "\\u{{{:X}}}", u32::from(c)).expect("writing to a string succeeds"),
    }
}
