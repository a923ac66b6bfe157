//! Prefixes of UTF-8 characters.
//!
//! The prefix of a character is packed into 32 bits: its length (one to three bytes) and its bytes. Zero is the empty prefix.

use crate::regular::CharSet;

/// The result of reading one more byte of a character.
pub(super) enum Step {
    /// A longer prefix, packed.
    Partial(u32),
    /// The whole character.
    Whole,
}

/// Returns the bytes of a packed prefix and their number.
pub(super) fn prefix_bytes(state: u32) -> ([u8; 3], usize) {
    let [len, a, b, c] = state.to_be_bytes();
    ([a, b, c], usize::from(len))
}

/// Reads one more byte of a character of `set`; `None` if no member has the longer prefix.
pub(super) fn step(set: &CharSet, state: u32, byte: u8) -> Option<Step> {
    let (prefix, len) = prefix_bytes(state);
    let mut bytes = [prefix[0], prefix[1], prefix[2], 0];
    bytes[len] = byte;
    let (range, n_missing) = chars_with_prefix(&bytes[..=len])?;
    first_in(set, range)?;
    if n_missing == 0 {
        return Some(Step::Whole);
    }
    Some(Step::Partial(u32::from_be_bytes([len as u8 + 1, bytes[0], bytes[1], bytes[2]])))
}

/// Returns the least member of `set` with a packed prefix: the length of the prefix, the bytes of the member, their number.
pub(super) fn complete(set: &CharSet, state: u32) -> Option<(usize, [u8; 4], usize)> {
    let (prefix, len) = prefix_bytes(state);
    let range = if len == 0 { (0, u32::from(char::MAX)) } else { chars_with_prefix(&prefix[..len])?.0 };
    let c = first_in(set, range)?;
    let mut buffer = [0; 4];
    let end = c.encode_utf8(&mut buffer).len();
    Some((len, buffer, end))
}

/// Returns the least member of `set` within a range of scalar values.
fn first_in(set: &CharSet, (low, high): (u32, u32)) -> Option<char> {
    let ranges = set.ranges();
    let at = ranges.partition_point(|&(_, last)| u32::from(last) < low);
    let &(first, _) = ranges.get(at)?;
    let least = u32::from(first).max(low);
    if least > high { None } else { char::from_u32(least) }
}

/// Returns the range of the scalar values whose UTF-8 begins with `bytes` (one to four), and the number of bytes missing.
fn chars_with_prefix(bytes: &[u8]) -> Option<((u32, u32), usize)> {
    let (&lead, tail) = bytes.split_first()?;
    let (len, bits, least, greatest) = match lead {
        0x00..=0x7F => (1, lead, 0, 0x7F),
        0xC2..=0xDF => (2, lead & 0x1F, 0x80, 0x7FF),
        0xE0..=0xEF => (3, lead & 0x0F, 0x800, 0xFFFF),
        0xF0..=0xF4 => (4, lead & 0x07, 0x1_0000, 0x10_FFFF),
        _ => return None,
    };
    let mut value = u32::from(bits);
    for &byte in tail {
        if byte & 0xC0 != 0x80 {
            return None;
        }
        value = value << 6 | u32::from(byte & 0x3F);
    }
    let n_missing: usize = len - bytes.len();
    let low = (value << (6 * n_missing)).max(least);
    let mut high = ((value << (6 * n_missing)) | ((1 << (6 * n_missing)) - 1)).min(greatest);
    // Surrogates have no encoding; a block of a two-byte prefix lies wholly inside or outside of them.
    if (0xD800..=0xDFFF).contains(&high) {
        if low >= 0xD800 {
            return None;
        }
        high = 0xD7FF;
    }
    (low <= high).then_some(((low, high), n_missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(set: &CharSet, bytes: &[u8]) -> Option<bool> {
        let mut state = 0;
        for (i, &byte) in bytes.iter().enumerate() {
            match step(set, state, byte)? {
                Step::Partial(next) => state = next,
                Step::Whole => return (i + 1 == bytes.len()).then_some(true),
            }
        }
        Some(false)
    }

    #[test]
    fn every_character_and_no_other_byte_string() {
        let all = CharSet::all();
        let mut buffer = [0; 4];
        for c in (0..=0x10_FFFFu32).step_by(7).filter_map(char::from_u32) {
            assert_eq!(accepts(&all, c.encode_utf8(&mut buffer).as_bytes()), Some(true), "{c:?}");
            assert_eq!(accepts(&CharSet::range(c, c), c.encode_utf8(&mut buffer).as_bytes()), Some(true), "{c:?}");
        }
        // Against the standard library on every string of two bytes, and three with a fixed tail.
        for (a, b) in (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| (a, b))) {
            let viable = (0x80..=0xBF).any(|c| {
                [0x80, 0xBF].iter().any(|&d| {
                    [&[a, b][..], &[a, b, c], &[a, b, c, d]]
                        .iter()
                        .any(|bytes| core::str::from_utf8(bytes).is_ok_and(|text| text.chars().count() == 1))
                })
            });
            assert_eq!(accepts(&all, &[a, b]).is_some(), viable, "{a:02x} {b:02x}");
        }
    }

    #[test]
    fn a_set_prunes_in_the_middle_of_a_character() {
        let set: CharSet = ['一', '丁'].into_iter().collect(); // e4 b8 80, e4 b8 81
        assert_eq!(accepts(&set, &[0xE4, 0xB8]), Some(false));
        assert_eq!(accepts(&set, &[0xE4, 0xB9]), None);
        assert_eq!(accepts(&set, &[0xE4, 0xB8, 0x81]), Some(true));
        assert_eq!(accepts(&set, &[0xE4, 0xB8, 0x82]), None);
        assert_eq!(complete(&set, u32::from_be_bytes([1, 0xE4, 0, 0])), Some((1, [0xE4, 0xB8, 0x80, 0], 3)));
    }
}
