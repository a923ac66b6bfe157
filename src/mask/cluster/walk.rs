//! Walking with a state of a cluster.
//!
//! Nearly all tokens of the cluster's characters are allowed. Those that are not are looked for among the tokens that are longer than the bytes that are sure, or have the bytes
//! that refused texts need; one by one if these are few, else by a walk of the trie that turns back where nothing below can be refused. Tokens with other bytes
//! are walked from where the first of these follows.

use super::super::walk_context::WalkContext;
use super::super::walker::{NODES_PER_WORK, Walker};
use super::place::Place;
use super::{Next, ScanCluster};
use crate::automaton::{PackedMove, RegisterRuleId, Unit};
use crate::exec::Head;
use crate::util::Utf8State;
use crate::vocab::{Region, TokenId, TrieNode};
use std::sync::Arc;

/// Tokens that are looked at one by one, at most: beyond, the trie is walked, which reads what they have in common once.
const CANDIDATES_MAX: usize = 1024;
/// Fewest kinds of bytes that refused tokens must have for these to tell them apart; with fewer, those that are long enough must be few.
const KINDS_MIN: u32 = 2;
/// Steps that a look at such a token takes, about.
const STEPS_PER_CANDIDATE: usize = 8;

impl Walker {
    /// Walks the tokens below a region's node with a state of a cluster: along characters only as far as they may be refused, and from where
    /// another byte follows.
    pub(in crate::mask) fn below_cluster(
        &mut self,
        context: WalkContext<'_>,
        region: &Arc<Region>,
        head: Head,
        cluster: &ScanCluster,
    ) {
        let WalkContext { program, vocab, trie, .. } = context;
        let Some((linked, local)) = program.place(head.state) else { return };
        let head_at = |(state, _): Place, register| Head { state: linked.own(state), register, ..head };
        let mut refused = Vec::new();
        for (node, place, register) in self.refused_by(context, region.from(), head, cluster, &mut refused) {
            self.enter_with(context, node, head_at(place, register));
        }
        self.take_region(context, region, usize::MAX, refused);
        let depth = usize::from(trie.depth(region.from()));
        for byte in cluster.bytes.iter() {
            for &node in region.border(byte) {
                if self.is_spent() {
                    return;
                }
                let Some(&token) = trie.subtree_tokens(node).first() else { continue };
                let before = &vocab.bytes(token)[depth..usize::from(trie.depth(node)) - 1];
                let Some((local, register)) = cluster.run(&linked.unit, local, head.register, before) else { continue };
                if linked.unit.code(local, byte) != PackedMove::NONE {
                    self.enter_with(context, node, head_at((local, Utf8State::BOUNDARY), register));
                }
            }
        }
    }

    /// Collects the tokens below `from` that a state of a cluster refuses, perhaps with others that hold more than characters of the cluster; returns the
    /// nodes whose byte leads out of it, with the places before them, the tokens below which are collected too.
    fn refused_by(
        &mut self,
        context: WalkContext<'_>,
        from: TrieNode,
        head: Head,
        cluster: &ScanCluster,
        refused: &mut Vec<TokenId>,
    ) -> Vec<(TrieNode, Place, u64)> {
        let WalkContext { program, vocab, trie, .. } = context;
        let mut leading_out = Vec::new();
        let Some((linked, local)) = program.place(head.state) else { return leading_out };
        let unit = &linked.unit;
        let n_far = n_far(unit, head.register, cluster.strictest, vocab.token_bytes_max());
        let is_sure = |node: TrieNode, place: Place, depth: usize| {
            let height = trie.height(node);
            if height == 0 {
                // Nothing is below, and its own byte led to the place.
                return true;
            }
            let is_read =
                height <= cluster.n_safe_bytes(place) || cluster.need(place).is_missing_in(vocab.bytes_below(node));
            // Heights are cut off.
            let is_near = || height < u8::MAX && depth + usize::from(height) <= n_far;
            is_read && (n_far > vocab.token_bytes_max() || is_near())
        };
        let first = (local, Utf8State::BOUNDARY);
        if is_sure(from, first, 0) {
            return leading_out;
        }
        if from == TrieNode::ROOT
            && let Some(tokens) = self.refused_tokens(context, head, cluster, n_far)
        {
            *refused = tokens;
            return leading_out;
        }
        let depth_base = usize::from(trie.depth(from)) + 1;
        let mut levels: Vec<(Place, u64)> = vec![(first, head.register)];
        let (mut node, end) = (from.next(), trie.subtree_end(from));
        while node < end {
            self.found.n_nodes += 1;
            self.stacks.work.spend(u64::from(self.found.n_nodes.is_multiple_of(NODES_PER_WORK)));
            let depth = usize::from(trie.depth(node)) - depth_base;
            levels.truncate(depth + 1);
            let (place, register) = levels[depth];
            match cluster.next(unit, place, register, trie.byte(node)) {
                Next::Place(place, register) if !is_sure(node, place, depth + 1) => {
                    levels.push((place, register));
                    node = node.next();
                    continue;
                }
                Next::Place(..) | Next::Border => {}
                Next::Nowhere => refused.extend_from_slice(trie.subtree_tokens(node)),
                Next::Out => {
                    refused.extend_from_slice(trie.subtree_tokens(node));
                    leading_out.push((node, place, register));
                }
            }
            node = trie.subtree_end(node);
        }
        leading_out
    }

    /// Returns the tokens of characters that a state of a cluster refuses, perhaps with others, by a look at each that it may refuse; nothing if these are many,
    /// or if a byte leads out of the cluster.
    fn refused_tokens(
        &mut self,
        context: WalkContext<'_>,
        head: Head,
        cluster: &ScanCluster,
        n_far: usize,
    ) -> Option<Vec<TokenId>> {
        let WalkContext { program, vocab, .. } = context;
        let (linked, local) = program.place(head.state)?;
        let first = (local, Utf8State::BOUNDARY);
        let (need, n_safe) = (cluster.need(first), usize::from(cluster.n_safe_bytes(first)));
        let longest = vocab.longest_first();
        // Where bytes tell little, and where characters may soon be too many, only lengths do.
        let len_max = if need.n_kinds_min() < KINDS_MIN { n_safe.min(n_far) } else { n_far };
        if longest.n_longer(len_max) > CANDIDATES_MAX {
            return None;
        }
        let mut candidates: Vec<TokenId> = Vec::new();
        longest.add_with_kinds(n_safe.min(n_far), need.sets(), CANDIDATES_MAX, &mut candidates);
        // Some of these are there already.
        longest.add_with_kinds(n_far, &[0], CANDIDATES_MAX, &mut candidates);
        self.stacks.work.spend((candidates.len() * STEPS_PER_CANDIDATE) as u64 / NODES_PER_WORK);
        if candidates.len() > CANDIDATES_MAX {
            return None;
        }
        let mut refused = Vec::new();
        for token in candidates {
            let mut at = (first, head.register);
            let bytes = vocab.bytes(token);
            for (&byte, n_left) in bytes.iter().zip((0..bytes.len()).rev()) {
                self.found.n_nodes += 1;
                match cluster.next(&linked.unit, at.0, at.1, byte) {
                    Next::Place(place, _)
                        if bytes.len() <= n_far && n_left <= usize::from(cluster.n_safe_bytes(place)) =>
                    {
                        break;
                    }
                    Next::Place(place, register) => at = (place, register),
                    Next::Nowhere => {
                        refused.push(token);
                        break;
                    }
                    Next::Border => break,
                    Next::Out => return None,
                }
            }
        }
        Some(refused)
    }
}

/// Returns how many pieces, at most one more than `n_max`, surely reach no greatest number of what is counted, if anything is.
fn n_far(unit: &Unit, register: u64, strictest: Option<RegisterRuleId>, n_max: usize) -> usize {
    let Some(register_rule) = strictest.map(|register_rule| unit.register_rule(register_rule)) else {
        return n_max + 1;
    };
    (1..=n_max as u32 + 1).take_while(|&n| register_rule.upper_bound_out_of_reach(register, n)).count()
}

#[cfg(test)]
mod tests {
    use crate::{GrammarCompiler, Vocab};
    use std::sync::Arc;

    /// Distances of more than 255 bytes, where some tokens are as long.
    #[test]
    fn tokens_of_hundreds_of_bytes() {
        let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        tokens.extend((0..=255u8).map(|byte| vec![b'a' + byte % 26, byte]));
        tokens.extend([100, 253, 254, 255, 256, 257, 270, 271, 279, 280, 281, 300, 320].map(|n| vec![b'a'; n]));
        let n_tokens = tokens.len() as u32;
        let compiler = GrammarCompiler::new(Arc::new(Vocab::from_tokens(tokens).unwrap()));
        let written_out = format!("/{}\"/", "[A-Za-z0-9]".repeat(280));
        let words = format!("/{}[a-z]*\"/", "[a-z]+ ".repeat(3));
        let counted = ["/[a-z0-9]{0,270}\"/", "/[^\"]{3,300}\"/", "/([a-z]{1,130}[.]?){2}\"/"];
        for source in [&*written_out, &*words].into_iter().chain(counted) {
            let compiled = compiler.compile_ebnf(&format!("root ::= {source}")).unwrap();
            for n in [0, 1, 5, 20, 24, 25, 26, 150, 270] {
                let mut matcher = compiled.matcher();
                if matcher.accept_bytes(&vec![b'a'; n]).is_err() {
                    continue;
                }
                let mask = matcher.mask().unwrap();
                let wrong = (0..n_tokens).find(|&id| mask.contains(id) != matcher.is_token_allowed(id));
                assert_eq!(wrong, None, "behind {n} letters of {source}");
            }
        }
    }
}
