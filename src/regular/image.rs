//! Texts by what they are written as: the inverse image of a language under a function that writes each byte as some bytes.
//!
//! The strings that a JSON document writes without `\\n"` in them are as regular as the texts without it. A state of the automaton of those texts is one of the automaton of the strings, which goes on by a byte
//! as the other does by all that the byte is written as:
//!
//! ```text
//! without `n`:    0 --[^n]--> 0           written as in JSON:   0 --[^n\n]--> 0     (a line end is written `\n`, with an `n` in it)
//! ```

use super::Dfa;
use super::error::{RegularError, Work};
use super::minimize::Table;
use crate::Limits;

impl Dfa {
    /// Returns the automaton of the texts that are matches when each byte is written as `written` says.
    ///
    /// # Errors
    /// If the budget is exhausted. There are no more states than this automaton has.
    pub(crate) fn inverse_image<T: AsRef<[u8]>>(
        &self,
        written: impl Fn(u8) -> T,
        limits: &Limits,
        work: &mut Work<'_>,
    ) -> Result<Dfa, RegularError> {
        debug_assert!(self.n_states() <= limits.dfa_states_max);
        let Some(start) = self.start() else { return Ok(Dfa::default()) };
        let images: Vec<T> = (0..=u8::MAX).map(written).collect();
        // States in the order in which they are reached.
        let mut places: Vec<Option<u32>> = vec![None; self.n_states()];
        places[start as usize] = Some(0);
        let mut reached = vec![start];
        let mut table = Table::default();
        let mut next = 0;
        while let Some(&state) = reached.get(next) {
            next += 1;
            work.spend(images.len())?;
            for (byte, image) in (0..=u8::MAX).zip(&images) {
                let target = image.as_ref().iter().try_fold(state, |state, &byte| self.next(state, byte));
                let Some(target) = target else { continue };
                let place = *places[target as usize].get_or_insert_with(|| {
                    reached.push(target);
                    reached.len() as u32 - 1
                });
                table.push_edge((byte, byte, place));
            }
            table.end_state(self.is_accepting(state));
        }
        table.minimize(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular::{CharSet, Node, Regular};

    #[test]
    fn texts_are_judged_by_what_they_are_written_as() {
        let limits = Limits::default();
        let mut regular = Regular::new();
        let other = regular.push(Node::Class(CharSet::from_iter(['n']).negate()));
        let all = regular.push(Node::Repeat { body: other, min: 0, max: None });
        regular.set_root(all);
        let dfa = Dfa::new(&regular, &limits).unwrap();
        let written = |byte: u8| if byte == b'\n' { b"\\n".to_vec() } else { vec![byte] };
        let mut is_going = |_: usize| true;
        let image = dfa.inverse_image(written, &limits, &mut Work(&mut is_going)).unwrap();
        for (text, is_in) in [("", true), ("a\u{e9}", true), ("an", false), ("a\n", false)] {
            assert_eq!(image.is_match(text.as_bytes()), is_in, "{text:?}");
        }
    }
}
