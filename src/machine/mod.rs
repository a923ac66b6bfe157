//! Registers: 64 bits beside an automaton state, for what would take far too many states of a finite automaton.
//!
//! | constraint | as a finite automaton | register |
//! |---|---|---|
//! | [`Counter`]: `X{min,max}` | a copy of `X` for each count | an interval of counts |
//! | [`Length`]: `min` to `max` characters of a regular language | a product with all lengths | a count of characters |
//! | [`Residue`]: decimal multiples of a number | a state for each residue | a residue |
//! | [`TokenBudget`]: a regular language with at most `max` tokens | impossible: where tokens end is no part of the text | a count of tokens |
//! | [`Distinct`]: keys or items that must all differ | impossible | the set of values read so far |
//!
//! The register of a counter is kept by the automaton that calls the repeated body, and changes when a copy is complete. The registers of
//! lengths, residues and tokens change with the states of one automaton: a [`RegisterRule`] of each state says how. All answer the same four
//! questions: the register after one more step (`advance`), whether more may follow (`can_continue`), whether the text may end here
//! (`can_end`), and a *signature*: one register for all that no token can tell apart, so that masks are shared among them.

mod counter;
mod declared_keys;
mod distinct;
mod json_value;
mod length;
mod normal_json;
mod register_rule;
mod residue;
mod token_budget;

pub use counter::Counter;
pub(crate) use counter::merged_bounds;
pub use declared_keys::DeclaredKeys;
pub use distinct::{Distinct, Equality, Exhaustible, SCARCE};
pub(crate) use json_value::{JsonScalars, ends_within_escape};
pub use length::Length;
pub(crate) use normal_json::normal_json;
pub use register_rule::RegisterRule;
pub use residue::{Continuations, DigitRange, EndCondition, Residue};
pub use token_budget::TokenBudget;

/// The value of a register. Its meaning is private to the rule that it belongs to; 0 is the value on entry.
pub type Register = u64;
