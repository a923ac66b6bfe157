//! What identifies where the text so far leads, to find out whether two texts can go on alike.

use super::Matcher;
use crate::exec::{BOTTOM, Head, StackNodeId};
use hashbrown::HashMap;

/// Most stack nodes of a place that has a key.
const NODES_MAX: usize = 1 << 12;

/// Identifies a place in a grammar: matchers of one [`CompiledGrammar`](crate::CompiledGrammar) whose keys are equal can go on with the same texts. (The same may hold
/// where keys are not equal.)
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PlaceKey(Box<[u64]>);

impl Matcher {
    /// Returns what identifies the place that the text so far leads to; `None` where that depends on the text itself (values that must differ), or on very deep stacks.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let grammar = GrammarCompiler::new(Vocab::from_tokens(["a", "b"])?.into()).compile_regex("(a|b)*a")?;
    /// let after = |text: &str| {
    ///     let mut matcher = grammar.matcher();
    ///     matcher.accept_bytes(text.as_bytes()).map(|()| matcher.place_key().unwrap())
    /// };
    /// assert_eq!(after("ba")?, after("abba")?);
    /// assert_ne!(after("ba")?, after("ab")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn place_key(&self) -> Option<PlaceKey> {
        if self.stacks.values().is_some() {
            return None;
        }
        // Nodes are numbered in the order in which they are reached; their ids depend on the text. Equal keys are the same graph of nodes.
        let mut numbers: HashMap<StackNodeId, u64> = HashMap::new();
        let mut pending: Vec<StackNodeId> = Vec::new();
        let mut key = vec![u64::from(self.is_terminated()), self.live.len() as u64];
        let mut next = 0;
        let mut write = |head: Head, key: &mut Vec<u64>, pending: &mut Vec<StackNodeId>| {
            let n_known = numbers.len() as u64;
            let number = *numbers.entry(head.node).or_insert_with(|| {
                pending.push(head.node);
                n_known
            });
            key.extend([u64::from(head.state.0), head.register, number]);
        };
        self.live.iter().for_each(|&head| write(head, &mut key, &mut pending));
        while next < pending.len() {
            let node = pending[next];
            next += 1;
            if next > NODES_MAX {
                return None;
            }
            let n_exits = if node == BOTTOM { 0 } else { self.stacks.n_exits(node) };
            key.push(n_exits as u64);
            for index in 0..n_exits {
                write(self.stacks.exit(node, index), &mut key, &mut pending);
            }
        }
        Some(PlaceKey(key.into()))
    }
}
