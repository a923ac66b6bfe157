//! Stacks whose nodes are known by content.
//!
//! Nodes of a [`Stacks`] have the numbers in which one text made them. Here equal stacks have equal nodes, however they were reached and whichever matcher they came
//! from: nodes are interned by their exits, from the bottom up. So what was found out about a configuration holds for all that look the same, in this step and in
//! later ones.
//!
//! ```text
//! one matcher's    n7 -> (u, n2) -> (v, bottom)      imported, 2 deep    #3 -> (u, #2) -> (v, bottom)
//! another one's    n5 -> (u, n4) -> (v, bottom)                          the same nodes
//!                  n9 -> (u, n8) -> (v, n6) -> ...                       #5 -> (u, #4) -> (v, UNSEEN)
//! ```
//!
//! Frames that are too deep to be returned to are left out, and [`UNSEEN`] stands for them.

use super::head::{BOTTOM, Configuration, Head, StackNodeId, signature};
use super::stack::{Stacks, StacksMark, UNUSED, WORK_PER_EXIT, hash_of, spread};
use crate::automaton::{BELOW, DONE, Program};
use ahash::{AHashMap, AHashSet};
use hashbrown::HashTable;
use smallvec::SmallVec;

/// The node below what was left out: it returns to [`BELOW`].
pub(super) const UNSEEN: StackNodeId = StackNodeId(1);

/// Stacks with nodes by content, and memory to find equal ones.
#[derive(Debug)]
pub(super) struct InternedStacks {
    /// For steps, whose nodes are interned afterwards ([`InternedStacks::intern`]).
    pub stacks: Stacks,
    /// Hashes of contents, and the nodes.
    nodes: HashTable<(u64, StackNodeId)>,
    /// What so many bytes can see of a node.
    visible: AHashMap<(StackNodeId, u8), StackNodeId>,
    /// The nodes of the stacks imported last, ascending, and what they are here.
    imported: Vec<(StackNodeId, StackNodeId)>,
    /// The nodes of the last step: where their exits begin and end in `exits`.
    fresh: Vec<(u32, u32)>,
    exits: Vec<Head>,
    /// What they are now; [`UNUSED`] before that is known.
    renamed: Vec<StackNodeId>,
}

impl Default for InternedStacks {
    fn default() -> Self {
        let mut stacks = Stacks::new(DONE);
        stacks.note_reads();
        let unseen = stacks.add_node(&[Head { state: BELOW, node: BOTTOM, register: 0 }]);
        debug_assert_eq!(unseen, UNSEEN);
        InternedStacks {
            stacks,
            nodes: HashTable::new(),
            visible: AHashMap::new(),
            imported: Vec::new(),
            fresh: Vec::new(),
            exits: Vec::new(),
            renamed: Vec::new(),
        }
    }
}

impl InternedStacks {
    /// Replaces the nodes of `live`, which are of other stacks, by equal ones. Of nodes with `n_deep` others above them nothing is seen, and of registers no more
    /// than `horizon` bytes can tell. Of no use if the work is spent then.
    pub fn import(&mut self, program: &Program, from: &Stacks, live: &mut Configuration, n_deep: usize, horizon: u32) {
        // Breadth first, so that a node is met at its least depth.
        let mut seen: AHashSet<StackNodeId> = AHashSet::new();
        let mut level: Vec<StackNodeId> = live.iter().map(|head| head.node).collect();
        let mut next_level = Vec::new();
        self.imported.clear();
        self.imported.push((BOTTOM, BOTTOM));
        for _ in 0..n_deep {
            level.retain(|&node| node != BOTTOM && seen.insert(node));
            if level.is_empty() || self.stacks.work.is_spent() {
                break;
            }
            for &node in &level {
                self.imported.push((node, UNUSED));
                self.stacks.work.spend(WORK_PER_EXIT * from.n_exits(node) as u64);
                next_level.extend(from.exits(node).map(|exit| exit.node));
            }
            level.clear();
            core::mem::swap(&mut level, &mut next_level);
        }
        // Exits lead to nodes made earlier.
        self.imported.sort_unstable();
        let mut exits: SmallVec<[Head; 8]> = SmallVec::new();
        for index in 1..self.imported.len() {
            let node = self.imported[index].0;
            exits.clear();
            exits.extend(from.exits(node));
            for exit in &mut exits {
                exit.register = signature(program, exit.state, exit.register, horizon);
                exit.node = self.here(exit.node);
            }
            let here = self.node_of(&mut exits);
            self.imported[index].1 = here;
            let included = from.inclusions.included_in(node).map(|included| self.here(included));
            if let Some(included) = included.filter(|&included| included != UNSEEN) {
                self.stacks.inclusions.add(here, included);
            }
        }
        for head in live.iter_mut() {
            head.register = signature(program, head.state, head.register, horizon);
            head.node = self.here(head.node);
        }
        live.sort_unstable();
        live.dedup();
    }

    /// Returns what a node of the stacks imported last is here.
    fn here(&self, node: StackNodeId) -> StackNodeId {
        match self.imported.binary_search_by_key(&node, |&(from, _)| from) {
            Ok(index) => self.imported[index].1,
            Err(_) => UNSEEN,
        }
    }

    /// Returns those of the nodes imported last whose exits were read if those of `read` were: the same nodes, or what is visible of them.
    pub fn imported_of(&self, read: &AHashSet<StackNodeId>) -> AHashSet<StackNodeId> {
        let mut known = AHashMap::new();
        self.imported.iter().filter(|(_, here)| self.is_read(*here, read, &mut known)).map(|&(from, _)| from).collect()
    }

    fn is_read(
        &self,
        node: StackNodeId,
        read: &AHashSet<StackNodeId>,
        known: &mut AHashMap<StackNodeId, bool>,
    ) -> bool {
        let mut pending: SmallVec<[StackNodeId; 16]> = SmallVec::from_slice(&[node]);
        let mut met: SmallVec<[StackNodeId; 16]> = SmallVec::new();
        let mut is_read = false;
        while let Some(node) = pending.pop() {
            if read.contains(&node) || known.get(&node) == Some(&true) {
                is_read = true;
                break;
            }
            if known.contains_key(&node) || met.contains(&node) {
                continue;
            }
            met.push(node);
            pending.extend((0..=HEIGHT_MAX).filter_map(|height| self.visible.get(&(node, height)).copied()));
        }
        known.insert(node, is_read);
        is_read
    }

    /// Replaces the nodes made since `fresh` by equal ones that are interned, interns the others, and forgets those that `live` does not need.
    pub fn intern(&mut self, fresh: StacksMark, live: &mut Configuration) {
        let (first, n_nodes) = (fresh.n_nodes, self.stacks.mark().n_nodes);
        if first == n_nodes {
            return;
        }
        self.fresh.clear();
        self.exits.clear();
        for node in (first..n_nodes).map(StackNodeId) {
            let start = self.exits.len() as u32;
            self.exits.extend(self.stacks.exits(node));
            self.fresh.push((start, self.exits.len() as u32));
        }
        self.mark_used(first, live);
        let links = self.stacks.inclusions.since(first);
        let mut links = links.iter().peekable();
        self.stacks.truncate(fresh);
        let mut exits: SmallVec<[Head; 8]> = SmallVec::new();
        for index in 0..self.fresh.len() {
            let link = links.next_if(|(joined, _)| joined.0 == first + index as u32);
            if self.renamed[index] == UNUSED {
                continue;
            }
            let renamed =
                |node: StackNodeId| node.0.checked_sub(first).map_or(node, |index| self.renamed[index as usize]);
            let (start, end) = self.fresh[index];
            exits.clear();
            exits.extend(
                self.exits[start as usize..end as usize].iter().map(|exit| Head { node: renamed(exit.node), ..*exit }),
            );
            // A node that nothing needs any more has no place, and is not linked to: its number is the greatest.
            let included = link.map(|&(_, included)| renamed(included));
            let node = self.node_of(&mut exits);
            self.renamed[index] = node;
            if let Some(included) = included {
                self.stacks.inclusions.add(node, included);
            }
        }
        for head in live.iter_mut() {
            if let Some(index) = head.node.0.checked_sub(first) {
                head.node = self.renamed[index as usize];
            }
        }
        live.sort_unstable();
        live.dedup();
    }

    /// Notes in `renamed` which nodes of the last step `live` needs.
    fn mark_used(&mut self, first: u32, live: &[Head]) {
        let InternedStacks { fresh, exits, renamed, .. } = self;
        renamed.clear();
        renamed.resize(fresh.len(), UNUSED);
        let mark = |renamed: &mut Vec<StackNodeId>, head: &Head| {
            if let Some(index) = head.node.0.checked_sub(first) {
                renamed[index as usize] = BOTTOM;
            }
        };
        live.iter().for_each(|head| mark(renamed, head));
        // Exits lead to nodes made earlier.
        for index in (0..fresh.len()).rev() {
            if renamed[index] != UNUSED {
                let (start, end) = fresh[index];
                exits[start as usize..end as usize].iter().for_each(|exit| mark(renamed, exit));
            }
        }
    }

    /// Returns the interned node with these exits.
    fn node_of(&mut self, exits: &mut SmallVec<[Head; 8]>) -> StackNodeId {
        exits.sort_unstable_by_key(|exit| (exit.state, exit.register, exit.node));
        exits.dedup();
        let hash = spread(hash_of(exits));
        let is_equal =
            |&(known_hash, known): &(u64, StackNodeId)| known_hash == hash && self.stacks.has_exits(known, exits);
        if let Some(&(_, known)) = self.nodes.find(hash, is_equal) {
            return known;
        }
        let node = self.stacks.add_node(exits);
        self.nodes.insert_unique(hash, (hash, node), |&(hash, _)| hash);
        node
    }

    /// Returns a node that `height` further bytes, at most [`HEIGHT_MAX`], can't tell from `node`. To return through a frame takes a byte at least, so frames further
    /// down make no difference.
    pub fn visible(&mut self, program: &Program, node: StackNodeId, height: u8) -> StackNodeId {
        if node <= UNSEEN {
            return node;
        }
        if height == 0 {
            return UNSEEN;
        }
        if let Some(&known) = self.visible.get(&(node, height)) {
            return known;
        }
        let mut exits: SmallVec<[Head; 8]> = self.stacks.exits(node).collect();
        self.stacks.work.spend(WORK_PER_EXIT * exits.len() as u64);
        for exit in &mut exits {
            exit.register = signature(program, exit.state, exit.register, u32::from(height));
            exit.node = self.visible(program, exit.node, height - 1);
        }
        let found = self.node_of(&mut exits);
        self.visible.insert((node, height), found);
        found
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.stacks.memory_bytes()
            + self.nodes.capacity() * size_of::<(u64, StackNodeId)>()
            + self.visible.capacity() * size_of::<[StackNodeId; 4]>()
    }
}

/// Greatest height that [`InternedStacks::visible`] is asked for: with more, nodes for each height would cost more than they save.
pub(super) const HEIGHT_MAX: u8 = 8;
