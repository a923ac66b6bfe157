//! A tree of drafts, to be walked depth first.

use super::error::MatchError;

/// Memory to walk a tree in.
#[derive(Default)]
pub(super) struct DraftWalk {
    /// By node: its first child and its next sibling, [`NONE`] if there is none.
    pub links: Vec<(u32, u32)>,
    pub is_acceptable: Vec<bool>,
    /// The nodes that are accepted, and the next one to try below each.
    pub path: Vec<(u32, u32)>,
}

/// No node.
pub(super) const NONE: u32 = u32::MAX;

impl DraftWalk {
    pub fn memory_bytes(&self) -> usize {
        (self.links.capacity() + self.path.capacity()) * size_of::<(u32, u32)>() + self.is_acceptable.capacity()
    }

    /// Makes lists of children of the list of parents.
    pub fn link(&mut self, parents: &[i32]) -> Result<(), MatchError> {
        self.links.clear();
        self.links.resize(parents.len(), (NONE, NONE));
        self.is_acceptable.clear();
        self.is_acceptable.resize(parents.len(), false);
        self.path.clear();
        for (node, &parent) in parents.iter().enumerate() {
            if node == 0 && parent == -1 {
                continue;
            }
            let parent = usize::try_from(parent).ok().filter(|&parent| parent < node);
            let Some(parent) = parent else { return Err(MatchError::parent_out_of_order(node, parents[node])) };
            let first = core::mem::replace(&mut self.links[parent].0, node as u32);
            self.links[node].1 = first;
        }
        Ok(())
    }
}
