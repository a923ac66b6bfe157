//! The tokens as a prefix tree in preorder arrays.
//!
//! A mask tests the bytes of every token. Tested one by one, 100,000 tokens cost some 600,000 byte steps, most of them
//! repeated: `"th"`, `"the"`, `"then"` and 300 others begin alike. A prefix tree makes each step once, and skips all that is below
//! a refused byte. A tree of nodes with maps or child pointers costs a cache miss per step and most of the build time; here a node
//! is an index in preorder, and a walk goes forward through a flat array of these:
//!
//! ```text
//! tokens  0:"a" 1:"abc" 2:"b" 3:"a"
//!
//! node         0     1     2     3     4
//! byte         -     a     b     c     b           root
//! depth        0     1     2     3     1           +- a  {0, 3}
//! subtree_end  5     4     4     4     5           |  +- b
//! tokens_start 0     0     2     2     3  4        |     +- c  {1}
//! tokens       0 3 1 2                             +- b  {2}
//! ```
//!
//! A walk goes to `node + 1` when the byte fits and to `subtree_end(node)` when it does not. Tokens are stored in the same order, so those
//! of a whole subtree are one slice.
//!
//! Built in one pass over the tokens in byte order: the nodes of a token that its predecessor lacks are appended. Cost: the
//! sort, plus time linear in the bytes; 16 bytes a node and 4 a token.

use super::TokenId;
use crate::util::index_type;

index_type!(
    /// Names a node of a [`Trie`]: its index in preorder. Functions of a trie panic if it has no such node.
    pub TrieNode
);

impl TrieNode {
    /// The root.
    pub const ROOT: TrieNode = TrieNode(0);

    /// Returns the node after this one in preorder: its first child, if it has children.
    #[inline]
    pub fn next(self) -> TrieNode {
        TrieNode(self.0 + 1)
    }
}

/// A prefix tree of all text tokens with at least one byte, as arrays in preorder. The children of a node follow it,
/// in ascending order of their bytes.
#[derive(Clone)]
pub struct Trie {
    /// The nodes in preorder, and a sentinel whose `tokens_start` is the number of tokens.
    nodes: Box<[Node]>,
    tokens: Box<[TokenId]>,
    /// The child of the root for each byte; the root where there is none.
    root_children: Box<[TrieNode; 256]>,
    /// Nodes with many children, ascending, and where their children end in `wide_children`.
    wide: Box<[(TrieNode, u32)]>,
    /// The children of those nodes with their bytes.
    wide_children: Box<[(u8, TrieNode)]>,
}

/// Returns the bit of a byte in a 64-bit approximation of byte sets: letters, digits and the space have one each, all others share one.
pub(crate) fn byte_bit(byte: u8) -> u64 {
    let bit = match byte {
        b'a'..=b'z' => byte - b'a',
        b'A'..=b'Z' => byte - b'A' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b' ' => 62,
        _ => 63,
    };
    1 << bit
}

/// A node, in 16 bytes: a walk that skips subtrees rarely finds two nodes in one cache line, so one node's fields lie together.
#[derive(Clone, Copy)]
struct Node {
    subtree_end: TrieNode,
    /// Where its tokens begin.
    tokens_start: u32,
    depth: u16,
    /// Number of characters that begin on the path to it, its own byte included.
    n_chars: u16,
    byte: u8,
    /// Whether its children are listed in `wide_children`.
    is_wide: bool,
    /// Number of bytes on the longest path down from it, at most 255.
    height: u8,
}

const _: () = assert!(size_of::<Node>() == 16);

impl Node {
    const ROOT: Node =
        Node { subtree_end: TrieNode::ROOT, tokens_start: 0, depth: 0, n_chars: 0, byte: 0, is_wide: false, height: 0 };
}

/// Fewest children that are worth a list of them.
const WIDE_MIN: usize = 16;

/// Returns whether a byte is not a continuation byte of UTF-8.
#[inline]
pub(crate) fn begins_character(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

impl Trie {
    /// Builds the trie of the tokens `bytes[starts[id]..starts[id + 1]]`; empty ones are left out.
    pub(super) fn new(bytes: &[u8], starts: &[u32]) -> Trie {
        let bytes_of = |id: TokenId| &bytes[starts[id as usize] as usize..starts[id as usize + 1] as usize];
        let tokens = sorted_tokens(bytes, starts);

        let mut nodes: Vec<Node> = Vec::with_capacity(tokens.len() * 3);
        let mut root_children = Box::new([TrieNode::ROOT; 256]);
        // The nodes from below the root to the last token's node.
        let mut path: Vec<TrieNode> = Vec::new();
        let mut last: &[u8] = &[];

        nodes.push(Node::ROOT);
        for (position, &id) in tokens.iter().enumerate() {
            let token = bytes_of(id);
            let n_shared = token.iter().zip(last).take_while(|(a, b)| a == b).count();
            let end = TrieNode::new(nodes.len());
            path.drain(n_shared..).for_each(|node| nodes[node.index()].subtree_end = end);
            for (at, &byte) in token.iter().enumerate().skip(n_shared) {
                let node = TrieNode::new(nodes.len());
                if at == 0 {
                    root_children[usize::from(byte)] = node;
                }
                let before = path.last().map_or(0, |&parent| nodes[parent.index()].n_chars);
                let n_chars = before + u16::from(begins_character(byte));
                path.push(node);
                nodes.push(Node {
                    subtree_end: TrieNode::ROOT,
                    tokens_start: position as u32,
                    depth: at as u16 + 1,
                    n_chars,
                    byte,
                    is_wide: false,
                    height: 0,
                });
            }
            last = token;
        }
        let end = TrieNode::new(nodes.len());
        path.into_iter().chain([TrieNode::ROOT]).for_each(|node| nodes[node.index()].subtree_end = end);
        nodes.push(Node { subtree_end: end, tokens_start: tokens.len() as u32, ..Node::ROOT });
        let mut trie = Trie {
            nodes: nodes.into(),
            tokens: tokens.into(),
            root_children,
            wide: Box::new([]),
            wide_children: Box::new([]),
        };
        trie.measure();
        trie.list_children();
        trie
    }

    /// Finds the height of each node.
    fn measure(&mut self) {
        let nodes = &mut self.nodes[..];
        let depth_max = nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        // Backwards, so that children come before their parents. By depth: the greatest depth below the nodes met since the last parent.
        let mut deepest = vec![0; usize::from(depth_max) + 2];
        for node in nodes.iter_mut().rev() {
            let depth = usize::from(node.depth);
            let below = core::mem::take(&mut deepest[depth + 1]).max(node.depth);
            node.height = u8::try_from(below - node.depth).unwrap_or(u8::MAX);
            deepest[depth] = below.max(deepest[depth]);
        }
    }

    /// Returns by node the set of the bytes below it, as [`byte_bit`]s.
    pub(super) fn bytes_below(&self) -> Box<[u64]> {
        let depth_max = self.nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        // Backwards, so that children come before their parents. By depth: the bytes met since the last parent.
        let mut open = vec![0; usize::from(depth_max) + 2];
        let mut kinds = vec![0; self.nodes.len()];
        for (kinds, node) in kinds.iter_mut().zip(&self.nodes).rev() {
            let depth = usize::from(node.depth);
            *kinds = core::mem::take(&mut open[depth + 1]);
            open[depth] |= *kinds | byte_bit(node.byte);
        }
        kinds.into()
    }

    /// Lists the children of the nodes that have many.
    fn list_children(&mut self) {
        let (mut wide, mut wide_children) = (Vec::new(), Vec::new());
        let mut children: Vec<(u8, TrieNode)> = Vec::new();
        for node in (0..self.n_nodes()).map(TrieNode::new) {
            if self.n_nodes_at(node) <= WIDE_MIN {
                continue;
            }
            children.clear();
            children.extend(self.children(node).map(|child| (self.byte(child), child)));
            if children.len() >= WIDE_MIN {
                self.nodes[node.index()].is_wide = true;
                wide_children.extend_from_slice(&children);
                wide.push((node, wide_children.len() as u32));
            }
        }
        (self.wide, self.wide_children) = (wide.into(), wide_children.into());
    }

    /// Returns the trie of the suffixes of the tokens at and below some nodes, which begin with the bytes of the nodes. Tokens with equal
    /// suffixes share a node, in ascending order.
    pub(crate) fn merged(&self, nodes: &[TrieNode]) -> Trie {
        let (mut bytes, mut starts, mut ids, mut path) = (Vec::new(), vec![0u32], Vec::new(), Vec::new());
        for &top in nodes {
            for node in self.preorder(top) {
                path.truncate(usize::from(self.depth(node) - self.depth(top)));
                path.push(self.byte(node));
                for &id in self.tokens(node) {
                    bytes.extend_from_slice(&path);
                    starts.push(bytes.len() as u32);
                    ids.push(id);
                }
            }
        }
        let mut merged = Trie::new(&bytes, &starts);
        merged.tokens.iter_mut().for_each(|token| *token = ids[*token as usize]);
        for nodes in merged.nodes.windows(2) {
            merged.tokens[nodes[0].tokens_start as usize..nodes[1].tokens_start as usize].sort_unstable();
        }
        merged
    }

    /// Returns the number of nodes, the root included.
    #[inline]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Returns the byte on the edge to the node; 0 for the root.
    #[inline]
    pub fn byte(&self, node: TrieNode) -> u8 {
        self.nodes[node.index()].byte
    }

    /// Returns the node after the last one of the subtree, in preorder; past all nodes if there is none.
    #[inline]
    pub fn subtree_end(&self, node: TrieNode) -> TrieNode {
        self.nodes[node.index()].subtree_end
    }

    /// Returns the node and all nodes below it, in preorder.
    #[inline]
    pub fn preorder(&self, node: TrieNode) -> impl DoubleEndedIterator<Item = TrieNode> + use<> {
        (node.0..self.subtree_end(node).0).map(TrieNode)
    }

    /// Returns whether there are nodes below the node.
    #[inline]
    pub fn has_children(&self, node: TrieNode) -> bool {
        self.subtree_end(node) != node.next()
    }

    /// Returns the number of nodes at the node and below it.
    #[inline]
    pub fn n_nodes_at(&self, node: TrieNode) -> usize {
        (self.subtree_end(node).0 - node.0) as usize
    }

    /// Returns the number of bytes from the root to the node.
    #[inline]
    pub fn depth(&self, node: TrieNode) -> u16 {
        self.nodes[node.index()].depth
    }

    /// Returns the number of bytes from the node to the deepest one below it, at most [`u8::MAX`].
    #[inline]
    pub fn height(&self, node: TrieNode) -> u8 {
        self.nodes[node.index()].height
    }

    /// Returns the tokens that end exactly at the node, ascending.
    #[inline]
    pub fn tokens(&self, node: TrieNode) -> &[TokenId] {
        let node = node.index();
        &self.tokens[self.nodes[node].tokens_start as usize..self.nodes[node + 1].tokens_start as usize]
    }

    /// Returns the number of characters that begin on the path to the node, its own byte excluded.
    #[inline]
    pub fn n_chars_before(&self, node: TrieNode) -> u16 {
        let Node { n_chars, byte, .. } = self.nodes[node.index()];
        n_chars - u16::from(node != TrieNode::ROOT && begins_character(byte))
    }

    /// Returns the number of characters that begin on the path to the node, its own byte included.
    #[inline]
    pub fn n_chars(&self, node: TrieNode) -> u16 {
        self.nodes[node.index()].n_chars
    }

    /// Returns the tokens that end at the node or below it, in preorder.
    #[inline]
    pub fn subtree_tokens(&self, node: TrieNode) -> &[TokenId] {
        let Node { subtree_end, tokens_start, .. } = self.nodes[node.index()];
        &self.tokens[tokens_start as usize..self.nodes[subtree_end.index()].tokens_start as usize]
    }

    /// Returns the tokens that end at the nodes from one up to another, in preorder.
    pub(crate) fn tokens_between(&self, first: TrieNode, end: TrieNode) -> &[TokenId] {
        &self.tokens[self.nodes[first.index()].tokens_start as usize..self.nodes[end.index()].tokens_start as usize]
    }

    /// Returns the child of the root for the byte.
    #[inline]
    pub fn root_child(&self, byte: u8) -> Option<TrieNode> {
        Some(self.root_children[usize::from(byte)]).filter(|&node| node != TrieNode::ROOT)
    }

    /// Returns the children of a node with their bytes, ascending, if they are so many that they are listed.
    #[inline]
    pub(crate) fn wide_children(&self, node: TrieNode) -> Option<&[(u8, TrieNode)]> {
        if !self.nodes[node.index()].is_wide {
            return None;
        }
        let at = self.wide.binary_search_by_key(&node, |&(node, _)| node).ok()?;
        let first = if at == 0 { 0 } else { self.wide[at - 1].1 };
        Some(&self.wide_children[first as usize..self.wide[at].1 as usize])
    }

    /// Returns the children of a node, in ascending order of their bytes.
    pub fn children(&self, node: TrieNode) -> impl Iterator<Item = TrieNode> + '_ {
        let end = self.subtree_end(node);
        let mut child = node.next();
        core::iter::from_fn(move || {
            (child < end).then(|| {
                let this = child;
                child = self.subtree_end(child);
                this
            })
        })
    }

    /// Returns the child of a node for the byte. The root has a table, and nodes with many children have lists.
    pub fn child(&self, node: TrieNode, byte: u8) -> Option<TrieNode> {
        if node == TrieNode::ROOT {
            return self.root_child(byte);
        }
        if let Some(children) = self.wide_children(node) {
            return children.binary_search_by_key(&byte, |&(byte, _)| byte).ok().map(|at| children[at].1);
        }
        self.children(node).take_while(|&child| self.byte(child) <= byte).find(|&child| self.byte(child) == byte)
    }

    /// Returns the node of the path `bytes`, if some token begins with them.
    pub fn find(&self, bytes: &[u8]) -> Option<TrieNode> {
        bytes.iter().try_fold(TrieNode::ROOT, |node, &byte| self.child(node, byte))
    }

    /// Returns the longest token that `text` begins with, the lowest id among equals, and its length.
    pub(super) fn longest_match(&self, text: &[u8]) -> Option<(TokenId, usize)> {
        let mut node = TrieNode::ROOT;
        let mut longest = None;
        for (at, &byte) in text.iter().enumerate() {
            let Some(child) = self.child(node, byte) else { break };
            node = child;
            if let Some(&id) = self.tokens(node).first() {
                longest = Some((id, at + 1));
            }
        }
        longest
    }

    /// Returns the memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.nodes)
            + size_of_val(&*self.tokens)
            + size_of_val(&*self.root_children)
            + size_of_val(&*self.wide)
            + size_of_val(&*self.wide_children)
    }
}

impl core::fmt::Debug for Trie {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Trie").field("n_nodes", &self.n_nodes()).field("n_tokens", &self.tokens.len()).finish()
    }
}

/// Returns the ids of the tokens that have bytes, in ascending order of bytes and then of ids.
fn sorted_tokens(bytes: &[u8], starts: &[u32]) -> Vec<TokenId> {
    let bytes_of = |id: TokenId| &bytes[starts[id as usize] as usize..starts[id as usize + 1] as usize];
    // The first eight bytes as an integer decide nearly every comparison, without a cache miss for the tokens.
    let mut keyed: Vec<(u64, TokenId)> = (0..starts.len().saturating_sub(1) as TokenId)
        .filter(|&id| !bytes_of(id).is_empty())
        .map(|id| {
            let token = bytes_of(id);
            let mut head = [0; 8];
            let n = token.len().min(8);
            head[..n].copy_from_slice(&token[..n]);
            (u64::from_be_bytes(head), id)
        })
        .collect();
    // Equal heads decide nothing: the tokens may differ later, or one may be a prefix padded with zeros.
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| bytes_of(a.1).cmp(bytes_of(b.1))).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Vocab;
    use super::*;

    #[test]
    fn the_children_of_wide_nodes_are_listed() {
        let letters = || (b'a'..=b'z').map(|byte| [byte]);
        let mut tokens: Vec<Vec<u8>> = letters().map(Vec::from).collect();
        tokens.extend(letters().take(WIDE_MIN).map(|byte| [b"x", &byte[..]].concat()));
        tokens.extend(letters().take(WIDE_MIN - 1).map(|byte| [b"y", &byte[..]].concat()));
        let vocab = Vocab::from_tokens(&tokens).unwrap();
        let trie = vocab.trie();
        for (text, is_wide) in [("", true), ("x", true), ("y", false), ("a", false)] {
            let node = trie.find(text.as_bytes()).unwrap();
            let children: Vec<(u8, TrieNode)> = trie.children(node).map(|child| (trie.byte(child), child)).collect();
            assert_eq!(trie.wide_children(node), is_wide.then_some(&*children), "{text:?}");
        }
    }

    #[test]
    fn bytes_below_are_those_of_the_whole_subtree() {
        let vocab = Vocab::from_tokens(["ab", "a Z", "a\"", "b9", "b"]).unwrap();
        let trie = vocab.trie();
        let kinds = |text: &str| vocab.bytes_below(trie.find(text.as_bytes()).unwrap());
        let of = |text: &str| text.bytes().fold(0, |kinds, byte| kinds | byte_bit(byte));
        assert_eq!(["", "a", "a ", "ab", "b"].map(kinds), ["ab Z\"9", "b Z\"", "Z", "", "9"].map(of));
    }

    #[test]
    fn heights_are_those_of_the_longest_tokens() {
        let long = "x".repeat(300);
        let vocab = Vocab::from_tokens(["a", "ab", "abcd", "ac", "b", &long]).unwrap();
        let trie = vocab.trie();
        let height = |text: &str| trie.height(trie.find(text.as_bytes()).unwrap());
        assert_eq!(["a", "ab", "abcd", "ac", "b"].map(height), [3, 2, 0, 0, 0]);
        assert_eq!((height(""), height("x"), height(&long[..45]), height(&long[..46])), (255, 255, 255, 254));
    }
}
