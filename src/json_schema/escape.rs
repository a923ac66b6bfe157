//! The shortest spelling of a byte in a JSON string.

use smallvec::SmallVec;

/// Tells whether a byte has to be escaped.
pub(super) fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Returns the letter behind a backslash that stands for a byte, if there is one.
pub(super) fn short_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => return None,
    })
}

/// Returns a byte of a string as it is written.
pub(super) fn spelled_byte(byte: u8) -> SmallVec<[u8; 6]> {
    if !is_escaped(byte) {
        return SmallVec::from_slice(&[byte]);
    }
    match short_escape(byte) {
        Some(letter) => SmallVec::from_slice(&[b'\\', letter]),
        None => format!("\\u{byte:04x}").into_bytes().into(),
    }
}
