//! What one mask found out for the next ones: most tokens within a text lead back to the place that they came from, and the keys that a token could
//! repeat are the same until the next key ends.

use crate::exec::{Head, StackNodeId, StacksMark};
use crate::mask::{DecisionNode, Place, Table};
use crate::vocab::TokenId;

/// Objects to remember; those under way at a time are rarely more.
const OBJECTS_MAX: usize = 8;

/// Found for the last masks.
#[derive(Default)]
pub(super) struct MaskMemo {
    /// The head that was live, the version of the table, and where in it the node with the mask is.
    pub place: Option<(Head, u64, Place)>,
    /// Whether the mask of that head is that of the node without `refused`, wherever the head is live again; and whether it is empty then.
    pub lasting: Option<bool>,
    pub refused: Vec<TokenId>,
    /// A node below which all values that are compared are keys that can't be exhausted.
    pub among_keys: Option<StackNodeId>,
    objects: [Object; OBJECTS_MAX],
    /// Whether any object is remembered, or was.
    has_objects: bool,
    /// The one to replace next.
    next: usize,
}

/// An object under way: its unit, the set of its keys, and the stack below it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectKey {
    pub unit: u32,
    pub set: u32,
    pub node: StackNodeId,
}

#[derive(Default)]
struct Object {
    key: Option<ObjectKey>,
    /// The tokens that may repeat a key of it or of the objects around it.
    tokens: Vec<TokenId>,
}

/// Where an object is remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectSlot(usize);

impl MaskMemo {
    /// Forgets what has to do with nodes and sets that are no more: those left are the first.
    pub fn truncate(&mut self, mark: StacksMark, n_sets: u32) {
        // The head may name a set.
        self.lasting = None;
        self.place = self.place.filter(|(head, ..)| mark.has(head.node));
        self.among_keys = self.among_keys.filter(|&node| mark.has(node));
        if !self.has_objects {
            return;
        }
        for object in &mut self.objects {
            // The empty set is none of them.
            object.key = object.key.filter(|key| mark.has(key.node) && key.set <= n_sets);
        }
    }

    pub fn find_object(&self, key: ObjectKey) -> Option<ObjectSlot> {
        self.objects.iter().position(|object| object.key == Some(key)).map(ObjectSlot)
    }

    /// Forgets the object that was remembered first, and returns the memory of its tokens for another one.
    pub fn take_oldest_tokens(&mut self) -> Vec<TokenId> {
        core::mem::take(&mut self.objects[self.next]).tokens
    }

    /// Remembers an object instead of the one that was remembered first.
    pub fn add_object(&mut self, key: ObjectKey, tokens: Vec<TokenId>) -> ObjectSlot {
        self.has_objects = true;
        let slot = ObjectSlot(self.next);
        self.next = (self.next + 1) % OBJECTS_MAX;
        self.objects[slot.0] = Object { key: Some(key), tokens };
        slot
    }

    /// Returns the tokens of an object, to be taken out and put back.
    pub fn tokens_mut(&mut self, slot: ObjectSlot) -> &mut Vec<TokenId> {
        &mut self.objects[slot.0].tokens
    }

    /// Returns the memory of the tokens, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let tokens = self.objects.iter().map(|object| &object.tokens).chain([&self.refused]);
        tokens.map(|tokens| tokens.capacity() * size_of::<TokenId>()).sum()
    }

    /// Returns the node of the last mask, if that head is live again.
    pub fn node<'a>(&self, live: &[Head], table: &'a Table) -> Option<&'a DecisionNode> {
        let (head, version, place) = self.place?;
        let is_same = live == [head] && version == table.version();
        is_same.then(|| table.node(place))
    }
}
