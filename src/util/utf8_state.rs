//! UTF-8, one byte after the other.

use core::ops::RangeInclusive;

/// A place in UTF-8 text: between two characters, or within one that still needs some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Utf8State(u8);

/// By state: how many continuation bytes follow, and the range of the first of them (Unicode 16, table 3-7).
const FOLLOWING: [(u8, u8, u8); Utf8State::COUNT] = [
    (0, 0, 0),
    (1, 0x80, 0xBF),
    (2, 0x80, 0xBF),
    (2, 0xA0, 0xBF),
    (2, 0x80, 0x9F),
    (3, 0x80, 0xBF),
    (3, 0x90, 0xBF),
    (3, 0x80, 0x8F),
];

impl Utf8State {
    /// Between two characters.
    pub const BOUNDARY: Utf8State = Utf8State(0);
    /// The number of states.
    pub const COUNT: usize = 8;

    /// Returns the state with a number below [`Self::COUNT`]; that of the boundary is 0.
    pub fn of_index(index: usize) -> Utf8State {
        debug_assert!(index < Self::COUNT);
        Utf8State(index as u8)
    }

    /// Returns the number of the state.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the state after the first byte of a character beyond ASCII; nothing if the byte begins none.
    #[inline]
    pub fn of_lead(byte: u8) -> Option<Utf8State> {
        Some(Utf8State(match byte {
            0xC2..=0xDF => 1,
            0xE1..=0xEC | 0xEE..=0xEF => 2,
            0xE0 => 3,
            0xED => 4,
            0xF1..=0xF3 => 5,
            0xF0 => 6,
            0xF4 => 7,
            _ => return None,
        }))
    }

    /// Returns how many continuation bytes follow.
    #[inline]
    pub fn n_left(self) -> u8 {
        FOLLOWING[self.index()].0
    }

    /// Returns the continuation bytes of which one follows, within a character.
    #[inline]
    pub fn bytes(self) -> RangeInclusive<u8> {
        let (_, low, high) = FOLLOWING[self.index()];
        low..=high
    }

    /// Returns the state after one of [`Self::bytes`], within a character.
    #[inline]
    pub fn after_continuation(self) -> Utf8State {
        // What follows then is in the whole range.
        Utf8State(self.n_left() - 1)
    }

    /// Returns the state after a byte; nothing if the text is then no UTF-8.
    #[cfg(test)]
    fn next(self, byte: u8) -> Option<Utf8State> {
        match self {
            Utf8State::BOUNDARY if byte < 0x80 => Some(self),
            Utf8State::BOUNDARY => Utf8State::of_lead(byte),
            _ => self.bytes().contains(&byte).then(|| self.after_continuation()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Utf8State;

    #[test]
    fn exactly_utf8_is_read() {
        // All texts of two bytes, and all of four whose last bytes are at the ends of ranges.
        let ends = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF];
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let tails =
                    ends.iter().flat_map(|&third| ends.iter().map(move |&fourth| vec![first, second, third, fourth]));
                for text in tails.chain([vec![first, second, 0x80], vec![first, second], vec![first]]) {
                    let read = text.iter().try_fold(Utf8State::BOUNDARY, |state, &byte| state.next(byte));
                    let is_text = read == Some(Utf8State::BOUNDARY);
                    assert_eq!(is_text, core::str::from_utf8(&text).is_ok(), "{text:?}");
                    assert_eq!(
                        read.is_some(),
                        core::str::from_utf8(&text).map_or_else(|e| e.error_len().is_none(), |_| true)
                    );
                }
            }
        }
        assert!((0..Utf8State::COUNT).all(|index| Utf8State::of_index(index).index() == index));
    }
}
