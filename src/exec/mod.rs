//! Running a program over bytes: configurations, stacks, steps.
//!
//! A *configuration* is a small set of heads (state, stack); after each byte it holds every place where the text so far can lead,
//! returns included: a state that may end its unit stands beside the states that its callers go on from, except those that can do no more than it can. A text is a whole
//! sentence when [`DONE`](crate::automaton::DONE) is among the states.

mod candidates;
mod distinct_values;
mod head;
mod inclusions;
mod interned;
mod land;
mod lazy_dfa;
mod merge;
mod stack;
mod step;
mod viable;
mod work;

pub(crate) use candidates::Candidates;
pub(crate) use distinct_values::{DistinctValues, Within};
pub(crate) use head::{BOTTOM, Configuration, Head, StackNodeId, can_end, signature};
pub(crate) use lazy_dfa::{ConfigId, LazyDfa};
pub(crate) use stack::{Stacks, StacksMark};
pub(crate) use step::{
    PlainStep, end_token, enter, is_done, plain_step, start, step_byte, step_bytes, step_control, tidy,
};
pub(crate) use viable::Viability;
pub(crate) use work::{OverBudget, Work};
