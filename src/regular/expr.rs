//! Regular expressions as index arenas.

use super::CharSet;
use crate::util::index_type;

index_type!(
    /// The index of a node of a [`Regular`].
    pub NodeId
);

/// A node of a [`Regular`]. Children always have smaller ids than their parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Node {
    /// The empty string, like `""`.
    Empty,
    /// Exactly these bytes (usually the UTF-8 of a text), like `"abc"`.
    Bytes(Box<[u8]>),
    /// One character of a set, like `[a-z]`; no string when the set is empty.
    Class(CharSet),
    /// A concatenation, like `a b`.
    Concat(Box<[NodeId]>),
    /// A union, like `a | b`; no string without operands.
    Union(Box<[NodeId]>),
    /// A repetition, `min` to `max` copies (no upper bound: `None`), like `a{2,5}`.
    Repeat {
        /// What is repeated.
        body: NodeId,
        /// The least number of copies.
        min: u32,
        /// The greatest number of copies, if any; never less than `min`.
        max: Option<u32>,
    },
    /// An intersection, like `a & b`.
    And(NodeId, NodeId),
    /// A complement among all strings of valid UTF-8, like `~a`.
    Not(NodeId),
    /// Any contiguous run of these chunks, the empty one included, like `Substring("a ", "b ")`.
    Substring(Box<[Box<[u8]>]>),
}

impl Node {
    /// Calls `visit` with each direct operand, in order.
    pub fn for_each_operand(&self, mut visit: impl FnMut(NodeId)) {
        match self {
            Node::Empty | Node::Bytes(_) | Node::Class(_) | Node::Substring(_) => {}
            Node::Concat(operands) | Node::Union(operands) => operands.iter().copied().for_each(visit),
            Node::Repeat { body, .. } => visit(*body),
            Node::And(a, b) => {
                visit(*a);
                visit(*b);
            }
            Node::Not(a) => visit(*a),
        }
    }

    /// Returns whether the literals of this node are UTF-8; nodes with operands have none.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Node::Bytes(bytes) => core::str::from_utf8(bytes).is_ok(),
            Node::Substring(chunks) => chunks.iter().all(|chunk| core::str::from_utf8(chunk).is_ok()),
            _ => true,
        }
    }

    /// Returns the node with each operand mapped by `new`.
    pub fn map_operands(&self, mut new: impl FnMut(NodeId) -> NodeId) -> Node {
        match self {
            Node::Empty | Node::Bytes(_) | Node::Class(_) | Node::Substring(_) => self.clone(),
            Node::Concat(operands) => Node::Concat(operands.iter().map(|&id| new(id)).collect()),
            Node::Union(operands) => Node::Union(operands.iter().map(|&id| new(id)).collect()),
            &Node::Repeat { body, min, max } => Node::Repeat { body: new(body), min, max },
            &Node::And(a, b) => Node::And(new(a), new(b)),
            &Node::Not(a) => Node::Not(new(a)),
        }
    }
}

/// A regular expression over characters and bytes.
///
/// Built from the leaves up; the node added last is usually the root:
///
/// ```
/// use maskwright::regular::{CharSet, Node, Regular};
/// let mut regular = Regular::new();
/// let digit = regular.push(Node::Class(CharSet::range('0', '9')));
/// let number = regular.push(Node::Repeat { body: digit, min: 1, max: None });
/// regular.set_root(number);
/// assert_eq!(regular.nodes().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Regular {
    nodes: Vec<Node>,
    root: Option<NodeId>,
}

impl Regular {
    /// Returns an expression without nodes; it stands for no string until a root is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node whose children were added before it.
    ///
    /// # Panics
    /// If a child is not a node of this expression, or a repeat has `max < min`.
    pub fn push(&mut self, node: Node) -> NodeId {
        let known = |id: &NodeId| id.index() < self.nodes.len();
        match &node {
            Node::Empty | Node::Bytes(_) | Node::Class(_) | Node::Substring(_) => {}
            Node::Concat(children) | Node::Union(children) => assert!(children.iter().all(known), "unknown child"),
            Node::Repeat { body, min, max } => {
                assert!(known(body) && max.is_none_or(|max| *min <= max), "unknown child or empty range of counts");
            }
            Node::And(a, b) => assert!(known(a) && known(b), "unknown child"),
            Node::Not(a) => assert!(known(a), "unknown child"),
        }
        self.nodes.push(node);
        NodeId::new(self.nodes.len() - 1)
    }

    /// Sets the node that is the whole expression.
    pub fn set_root(&mut self, root: NodeId) {
        assert!(root.index() < self.nodes.len(), "unknown root");
        self.root = Some(root);
    }

    /// Returns the node that is the whole expression; `None` stands for no string.
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }

    /// Returns the nodes, children before parents.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}
