//! Forced text: what every completion begins with.

use super::{Matcher, Scratch};
use crate::automaton::{Linked, LocalState, Owner, Program, Reads};
use crate::exec::{Configuration, Stacks, Viability, is_done, step_byte};

/// Longest text that [`Matcher::jump_forward`] returns, in bytes; a grammar can force any amount.
pub const JUMP_FORWARD_BYTES_MAX: usize = 1 << 16;

impl Matcher {
    /// Returns the longest text that every completion begins with, at most [`JUMP_FORWARD_BYTES_MAX`] bytes of it and as much as one step's work finds. Empty when the text
    /// is complete already; ends before a control token that the grammar names. The text of a marker is part of it, although a control token may spell that: as tokens
    /// [`jump_forward_tokens`](Self::jump_forward_tokens) has it. It can end within a character: see [`jump_forward_text`](Self::jump_forward_text).
    pub fn jump_forward(&mut self) -> Vec<u8> {
        let mut forced = Vec::new();
        if self.is_terminated() || self.failure.is_poisoned {
            return forced;
        }
        let mark = self.stacks.mark();
        self.allow_work();
        let Scratch { current, next, viability, .. } = &mut self.scratch;
        current.clone_from(&self.live);
        let program = self.grammar.program();
        while forced.len() < JUMP_FORWARD_BYTES_MAX && !is_done(current) {
            let reads = current.iter().map(|head| program.info(head.state).map_or(Reads::Nothing, |info| info.reads));
            let mut only = None;
            let is_forced = reads.into_iter().all(|reads| match reads {
                Reads::Only(byte) => *only.get_or_insert(byte) == byte,
                Reads::Nothing | Reads::More => false,
            });
            let only =
                only.filter(|_| is_forced).or_else(|| only_byte(program, &mut self.stacks, current, next, viability));
            let Some(byte) = only else { break };
            step_byte(program, &mut self.stacks, current, byte, next);
            viability.retain(program, &mut self.stacks, next);
            if next.is_empty() || self.stacks.work.is_spent() {
                break;
            }
            forced.push(byte);
            core::mem::swap(current, next);
        }
        self.stacks.truncate(mark);
        forced
    }

    /// Returns the forced text up to the last whole character.
    pub fn jump_forward_text(&mut self) -> String {
        let forced = self.jump_forward();
        match String::from_utf8(forced) {
            Ok(text) => text,
            Err(error) => {
                let n_valid = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                bytes.truncate(n_valid);
                String::from_utf8(bytes).expect("cut at the first byte that is not part of a whole character")
            }
        }
    }
}

/// Returns the only byte that can follow, where a count of pieces, or values that run out, may rule out what the automaton reads; nothing
/// where none of that is so.
fn only_byte(
    program: &Program,
    stacks: &mut Stacks,
    live: &Configuration,
    next: &mut Configuration,
    viability: &mut Viability,
) -> Option<u8> {
    let has_register_rule = |state| matches!(program.owner(state), Some(Owner::RegisterRules(_)));
    let names_controls = |state| {
        let is_named = |(linked, state): (&Linked, LocalState)| {
            linked.unit.controls(state).iter().any(|(letter, _)| !letter.is_spelling())
        };
        program.place(state).is_some_and(is_named)
    };
    let may_be_ruled_out = program.may_run_out() || live.iter().any(|head| has_register_rule(head.state));
    if !may_be_ruled_out || live.iter().any(|head| names_controls(head.state)) {
        return None;
    }
    let mut only = None;
    for byte in 0..=255 {
        let mark = stacks.mark();
        step_byte(program, stacks, live, byte, next);
        viability.retain(program, stacks, next);
        stacks.truncate(mark);
        if !next.is_empty() && only.replace(byte).is_some() {
            return None;
        }
    }
    only
}
