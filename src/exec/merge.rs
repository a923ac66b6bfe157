//! Few heads of many: those that others stand for are dropped, and stacks below one state are joined.
//!
//! A text that can be read in many ways leads to many heads of one state over different stacks. What can follow is the union of what can follow each, so they become one
//! head over one node, which returns to wherever any of theirs does.

use super::head::{Head, StackNodeId, can_end, stands_for};
use super::stack::{Stacks, StacksMark, WORK_PER_EXIT};
use crate::automaton::Program;
use smallvec::SmallVec;

/// Nodes made in one step lie over each other as deep as one move pushes; joins stop here.
const JOINS_DEEP_MAX: usize = 64;

/// Exits looked at to drop heads of one state that others stand for: some, and some for each head.
const IMPLIED_FREE: usize = 64;
const IMPLIED_PER_HEAD: usize = 4;

impl Stacks {
    /// Makes few heads of many, which are sorted: drops those that others stand for, and makes one head of the first of a state and register and the others
    /// that `are_joined` with it. Those that are left come first, and their number is returned. `fresh` is the mark from before the step.
    pub(super) fn merge_heads(
        &mut self,
        program: &Program,
        heads: &mut [Head],
        fresh: StacksMark,
        n_deep: usize,
        are_joined: impl Fn(&Head, &Head) -> bool,
    ) -> usize {
        let n_left = join_registers(program, heads);
        let n_left = self.drop_implied(program, &mut heads[..n_left]);
        let heads = &mut heads[..n_left];
        heads.sort_unstable_by_key(|head| (head.state, head.register, head.node));
        let (mut n_kept, mut first) = (0, 0);
        while first < heads.len() {
            let head = heads[first];
            let is_met =
                |other: &Head| (other.state, other.register) == (head.state, head.register) && are_joined(&head, other);
            let end = first + 1 + heads[first + 1..].partition_point(is_met);
            let node = match &heads[first..end] {
                [only] => only.node,
                _ => self.join(program, &mut heads[first..end], fresh, n_deep),
            };
            heads[n_kept] = Head { node, ..head };
            n_kept += 1;
            first = end;
        }
        n_kept
    }

    /// Returns the node that returns to where any of the nodes of some heads does, which are of one state and register, and sorted; `fresh` is the mark from
    /// before the step. All are joined at once, since what is made on the way would be kept.
    fn join(&mut self, program: &Program, heads: &mut [Head], fresh: StacksMark, n_deep: usize) -> StackNodeId {
        self.work.spend(heads.len() as u64);
        // What is included in what depends on the nodes that are left out, too.
        heads.iter().for_each(|head| self.look_at(head.node));
        let n_left = self.inclusions.drop_included(heads);
        if let [only] = heads[..n_left] {
            return only.node;
        }
        let mut exits: SmallVec<[Head; 8]> = SmallVec::new();
        for head in &heads[..n_left] {
            if self.work.is_spent() {
                break;
            }
            exits.extend(self.exits(head.node));
            self.work.spend(self.n_exits(head.node) as u64);
        }
        let joined = self.node_of(program, &mut exits, fresh, n_deep);
        let largest = heads[..n_left].iter().map(|head| head.node).max_by_key(|&node| self.n_exits(node));
        // Otherwise exits may be missing.
        if !self.work.is_spent()
            && let Some(included) = largest
        {
            self.inclusions.add(joined, included);
        }
        joined
    }

    /// Drops heads that others stand for. The heads are sorted by state, node and register; those that are left come first, and their number is
    /// returned.
    ///
    /// A head stands for those of its state that returning from it leads to, unless their registers ask for something else; they were
    /// left out when it was added; and so on from there. So others of that state over their nodes can go too if their registers allow no
    /// more. Exits lead to older nodes, so this never goes round in a circle.
    fn drop_implied(&mut self, program: &Program, heads: &mut [Head]) -> usize {
        let (mut n_kept, mut first) = (0, 0);
        let mut implied: SmallVec<[Head; 8]> = SmallVec::new();
        while first < heads.len() {
            let state = heads[first].state;
            let last = first + heads[first..].partition_point(|head| head.state == state);
            if last - first > 1 {
                implied.clear();
                let mut n_left = IMPLIED_FREE + IMPLIED_PER_HEAD * (last - first);
                for &head in heads[first..last].iter().rev().filter(|&&head| can_end(program, head)) {
                    self.add_implied(program, head, &mut implied, &mut n_left);
                }
                let mut next = 0;
                while next < implied.len() {
                    self.add_implied(program, implied[next], &mut implied, &mut n_left);
                    next += 1;
                }
                implied.sort_unstable_by_key(|head| head.node);
            }
            for index in first..last {
                let head = heads[index];
                let like = implied.partition_point(|other| other.node < head.node);
                let is_implied = last - first > 1
                    && implied[like..]
                        .iter()
                        .take_while(|other| other.node == head.node)
                        .any(|&other| joined(program, other, head.register) == Some(other.register));
                if !is_implied {
                    heads[n_kept] = head;
                    n_kept += 1;
                }
            }
            first = last;
        }
        n_kept
    }

    /// Adds the exits of its own state that `head`, which may end, stands for; takes what it looks at from `n_left`.
    fn add_implied(&mut self, program: &Program, head: Head, implied: &mut SmallVec<[Head; 8]>, n_left: &mut usize) {
        self.look_at(head.node);
        for index in 0..self.n_exits(head.node).min(*n_left) {
            *n_left -= 1;
            let exit = self.exit(head.node, index);
            if exit.state == head.state && stands_for(program, head, exit.register) {
                implied.push(exit);
            }
        }
    }

    /// Returns the node with these exits, in any order, repeated or not. Exits to one state over different nodes are joined
    /// if the nodes were made since `fresh`: they stand for the same place in the text, reached in different ways, and would
    /// multiply with each step. Older ones stay apart, since joining them would make new nodes in each step.
    pub(super) fn node_of(
        &mut self,
        program: &Program,
        exits: &mut SmallVec<[Head; 8]>,
        fresh: StacksMark,
        n_deep: usize,
    ) -> StackNodeId {
        if exits.len() > 1 && !self.work.is_spent() {
            self.work.spend(WORK_PER_EXIT * exits.len() as u64);
            exits.sort_unstable();
            let are_joined = |a: &Head, b: &Head| n_deep < JOINS_DEEP_MAX && !fresh.has(a.node) && !fresh.has(b.node);
            let n_left = self.merge_heads(program, exits, fresh, n_deep + 1, are_joined);
            exits.truncate(n_left);
        }
        self.find_or_add(exits)
    }
}

/// Makes one head of those that differ at most in registers which one register can stand for. The heads are sorted by state, node and
/// register; those that are left come first, and their number is returned.
fn join_registers(program: &Program, heads: &mut [Head]) -> usize {
    let mut n_kept = 0;
    for index in 0..heads.len() {
        let head = heads[index];
        if let Some(last) = heads[..n_kept].last_mut()
            && (last.state, last.node) == (head.state, head.node)
            && let Some(register) = joined(program, *last, head.register)
        {
            last.register = register;
            continue;
        }
        heads[n_kept] = head;
        n_kept += 1;
    }
    n_kept
}

/// Returns the register that stands for that of `head` and for `other`, if there is one.
fn joined(program: &Program, head: Head, other: u64) -> Option<u64> {
    if head.register == other {
        // The end of the text is no state of a unit.
        return Some(other);
    }
    let (linked, local) = program.place(head.state)?;
    linked.unit.join(local, head.register, other)
}
