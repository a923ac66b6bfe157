//! Token masks: where automata and vocabulary meet.
//!
//! For a state with an unknown caller below, the token trie is walked once ([`walk`]) and tokens fall into three groups: those
//! consumed inside the unit or ending exactly where it may end are allowed under every caller (*context-independent*); those that
//! die inside are never allowed; for the rest the unit ends at some trie node, and what lies below that node is up to the caller
//! (*context-dependent*): a *remainder*.
//!
//! What is allowed below remainders is found by walking on from where the caller goes on. What was found is cached in a *decision tree*
//! ([`decision`]): its root is the state, each branch is the answer to "where does the next frame return to?", and a node without
//! remainders has the whole mask. So a mask is looked up by exactly as much of the stack as its tokens can see. A configuration of several heads has the union of
//! their masks, which is cached as well ([`union`]).
//!
//! Where the text can be read in many ways there are more such parts than there is time for. Then the configuration is walked as a whole, by a lazy DFA
//! ([`configuration`]), and its mask is cached under what tokens can see of its stacks ([`signature`]). The work of all that is counted, and bounded.
//!
//! Some states would make a walk long, and have short cuts, each of which can be turned off ([`switches`]): loops over characters and chains of states take the
//! tokens of such characters from the vocabulary's regions ([`loops`]); so do clusters, state sets that are closed under most characters ([`cluster`]); a state that
//! reads nearly as a loop does is walked together with it, where they differ ([`model`]); one that only calls is taken for what it calls ([`callee`]). What walks of different states have in common, the body of a string, say, is memoized
//! ([`subwalk`]), and masks that are nearly equal share a row of bits ([`row_pool`]).

mod callee;
mod cluster;
mod configuration;
mod controls;
mod decision;
mod declared_keys;
mod entry;
mod found;
mod lookahead;
mod loops;
mod model;
mod need;
mod query;
mod region_walk;
mod remainder;
mod row;
mod row_pool;
mod signature;
mod store;
mod subwalk;
mod switches;
mod table;
mod union;
mod walk;
mod walk_context;
mod walker;

pub(crate) use controls::add_controls;
pub(crate) use decision::DecisionNode;
pub(crate) use declared_keys::{DeclaredKeyTokens, KeyTokens};
pub(crate) use query::{FillOutcome, MaskQuery, add, fill, mask_ids};
pub use row::TokenMask;
pub use store::MaskStats;
pub(crate) use store::MaskStore;
#[cfg(feature = "testing")]
pub use switches::ShortCut;
pub(crate) use table::{Place, Table};
