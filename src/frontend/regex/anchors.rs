//! Anchors at any position.
//!
//! The matches of an expression with anchors depend on its context, which is two facts: is its left end the start of the text, is its
//! right end the end of the text? So such an expression has four languages, and composing expressions composes the languages. The empty
//! string needs care, since both its ends are the same position: in `x y`, the left end of `y` is the start of the text only if that of
//! `x` is *and* `x` matched the empty string. Hence each expression has, for each context, whether it matches the empty string, and its
//! language without the empty string:
//!
//! ```text
//! (x y)[s,e] without ε  =  x'[s,-] y'[-,e]   |   x'[s,e] if y[-,e] has ε   |   y'[s,e] if x[s,-] has ε
//! ```
//!
//! and likewise for repeats, by the number of non-empty copies: none, one, or a first, some in the middle, and a
//! last. Nothing here recurses: operands are built first. Expressions without anchors are plain nodes, and stay as they are written;
//! the empty string is removed from one, as in `a*b*` to `aa*b*|bb*`, only beside an anchor that needs it.

use crate::regular::{Node, NodeId, Regular};
use hashbrown::HashMap;

/// An end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Start,
    End,
}

/// The language of a part of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// The same in every context.
    Plain(NodeId),
    /// It depends on the context.
    Anchored(Box<Contexts>),
}

/// A context: (the left end is the start of the text, the right end is the end of the text).
type Context = (bool, bool);

const PLACES: [Context; 4] = [(false, false), (false, true), (true, false), (true, true)];

/// The languages of a part by context (see [`at`]).
#[derive(Clone, Debug)]
pub(super) struct Contexts {
    languages: [Language; 4],
    /// It may depend on the left end.
    looks_left: bool,
    /// It may depend on the right end.
    looks_right: bool,
}

#[derive(Clone, Copy, Debug)]
struct Language {
    /// All matches.
    whole: NodeId,
    /// All matches but the empty string.
    nonempty: NodeId,
    /// Whether the empty string is matched.
    has_empty: bool,
}

impl Contexts {
    fn at(&self, place: Context) -> Language {
        self.languages[usize::from(place.0) * 2 + usize::from(place.1)]
    }
}

/// The pieces of one pattern: an expression under construction.
#[derive(Default)]
pub(super) struct Pieces {
    regular: Regular,
    /// By node: whether it matches the empty string.
    has_empty: Vec<bool>,
    /// By node, computed on demand: its language without the empty string.
    nonempty: HashMap<NodeId, NodeId>,
}

impl Pieces {
    /// Returns the number of nodes so far.
    pub(super) fn n_nodes(&self) -> usize {
        self.regular.nodes().len()
    }

    /// Makes a piece of a node without operands.
    pub(super) fn plain(&mut self, leaf: Node) -> Piece {
        Piece::Plain(self.push(leaf))
    }

    /// Makes the piece that matches the empty string at one end of the text.
    pub(super) fn anchor(&mut self, side: Side) -> Piece {
        let (empty, nothing) = (self.push(Node::Empty), self.nothing());
        let languages = PLACES.map(|(at_start, at_end)| {
            let has_empty = if side == Side::Start { at_start } else { at_end };
            Language { whole: if has_empty { empty } else { nothing }, nonempty: nothing, has_empty }
        });
        let (looks_left, looks_right) = (side == Side::Start, side == Side::End);
        Piece::Anchored(Box::new(Contexts { languages, looks_left, looks_right }))
    }

    /// Makes a concatenation.
    pub(super) fn concat(&mut self, operands: Vec<Piece>) -> Piece {
        // From the right: runs of plain pieces are one plain piece.
        let mut whole: Option<Piece> = None;
        let mut run: Vec<NodeId> = Vec::new();
        for operand in operands.into_iter().rev() {
            match operand {
                Piece::Plain(id) => run.push(id),
                Piece::Anchored(contexts) => {
                    whole = self.prepend_run(&mut run, whole);
                    whole = Some(self.concat_two(Piece::Anchored(contexts), whole));
                }
            }
        }
        self.prepend_run(&mut run, whole).unwrap_or_else(|| self.plain(Node::Empty))
    }

    fn prepend_run(&mut self, run: &mut Vec<NodeId>, whole: Option<Piece>) -> Option<Piece> {
        if run.is_empty() {
            return whole;
        }
        let ids: Vec<NodeId> = run.drain(..).rev().collect();
        let plain = Piece::Plain(self.concat_plain(&ids));
        Some(self.concat_two(plain, whole))
    }

    fn concat_two(&mut self, left: Piece, right: Option<Piece>) -> Piece {
        let Some(right) = right else { return left };
        let (x, y) = (self.contexts(left), self.contexts(right));
        let is_independent = !x.looks_right && !y.looks_left;
        let languages = PLACES.map(|(s, e)| {
            let (left, right) = (x.at((s, false)), y.at((false, e)));
            let mut parts = vec![self.concat_apart(&[left.nonempty, right.nonempty])];
            parts.extend(right.has_empty.then_some(x.at((s, e)).nonempty));
            parts.extend(left.has_empty.then_some(y.at((s, e)).nonempty));
            let has_empty = x.at((s, e)).has_empty && y.at((s, e)).has_empty;
            let mut language = self.language(parts, has_empty);
            if is_independent {
                language.whole = self.concat_apart(&[left.whole, right.whole]);
            }
            language
        });
        let (looks_left, looks_right) = (x.looks_left || y.looks_left, x.looks_right || y.looks_right);
        Piece::Anchored(Box::new(Contexts { languages, looks_left, looks_right }))
    }

    /// Makes a choice.
    pub(super) fn union(&mut self, operands: Vec<Piece>) -> Piece {
        let plain: Option<Vec<NodeId>> = operands
            .iter()
            .map(|operand| match operand {
                Piece::Plain(id) => Some(*id),
                Piece::Anchored(_) => None,
            })
            .collect();
        if let Some(ids) = plain {
            return Piece::Plain(self.union_plain(ids));
        }
        let operands: Vec<Box<Contexts>> = operands.into_iter().map(|operand| self.contexts(operand)).collect();
        let languages = PLACES.map(|place| {
            let nonempty = operands.iter().map(|operand| operand.at(place).nonempty).collect();
            let whole = operands.iter().map(|operand| operand.at(place).whole).collect();
            let has_empty = operands.iter().any(|operand| operand.at(place).has_empty);
            Language { whole: self.union_plain(whole), nonempty: self.union_plain(nonempty), has_empty }
        });
        let looks_left = operands.iter().any(|operand| operand.looks_left);
        let looks_right = operands.iter().any(|operand| operand.looks_right);
        Piece::Anchored(Box::new(Contexts { languages, looks_left, looks_right }))
    }

    /// Makes `min` to `max` copies.
    pub(super) fn repeat(&mut self, body: Piece, min: u32, max: Option<u32>) -> Piece {
        let x = match body {
            Piece::Plain(id) => return Piece::Plain(self.repeat_plain(id, min, max)),
            Piece::Anchored(contexts) => contexts,
        };
        let at_least = |n: u32| max.is_none_or(|max| max >= n);
        let languages = PLACES.map(|(s, e)| {
            let (alone, first) = (x.at((s, e)), x.at((s, false)));
            let (middle, last) = (x.at((false, false)), x.at((false, e)));
            let mut parts = Vec::new();
            // Copies that match nothing may stand where they can, in any number, to make up for `min`.
            if at_least(1) && (min <= 1 || first.has_empty || last.has_empty) {
                parts.push(alone.nonempty);
            }
            let n_least = if first.has_empty || middle.has_empty || last.has_empty { 2 } else { min.max(2) };
            if at_least(n_least) {
                let copies = self.repeat_plain(middle.nonempty, n_least - 2, max.map(|max| max - 2));
                parts.push(self.concat_apart(&[first.nonempty, copies, last.nonempty]));
            }
            self.language(parts, min == 0 || alone.has_empty)
        });
        Piece::Anchored(Box::new(Contexts { languages, ..*x }))
    }

    /// Returns the expression whose root is `whole`, standing for the whole text, without nodes that it doesn't need.
    pub(super) fn finish(self, whole: Piece) -> Regular {
        let root = match whole {
            Piece::Plain(id) => id,
            Piece::Anchored(contexts) => contexts.at((true, true)).whole,
        };
        let nodes = self.regular.nodes();
        let mut needed = vec![false; root.index() + 1];
        needed[root.index()] = true;
        for id in (0..=root.index()).rev() {
            if needed[id] {
                nodes[id].for_each_operand(|operand| needed[operand.index()] = true);
            }
        }
        if nodes.len() == needed.len() && needed.iter().all(|&needed| needed) {
            let mut regular = self.regular;
            regular.set_root(root);
            return regular;
        }
        let mut regular = Regular::new();
        let mut moved: Vec<Option<NodeId>> = vec![None; needed.len()];
        for (id, node) in nodes.iter().enumerate().take(needed.len()).filter(|(id, _)| needed[*id]) {
            let node = node.map_operands(|id| moved[id.index()].expect("operands come first"));
            moved[id] = Some(regular.push(node));
        }
        regular.set_root(moved[root.index()].expect("the root is needed"));
        regular
    }

    fn contexts(&mut self, piece: Piece) -> Box<Contexts> {
        match piece {
            Piece::Anchored(contexts) => contexts,
            Piece::Plain(whole) => {
                let nonempty = self.without_empty(whole);
                let language = Language { whole, nonempty, has_empty: self.has_empty[whole.index()] };
                Box::new(Contexts { languages: [language; 4], looks_left: false, looks_right: false })
            }
        }
    }

    fn language(&mut self, nonempty: Vec<NodeId>, has_empty: bool) -> Language {
        let nonempty = self.union_plain(nonempty);
        let whole = if has_empty {
            let empty = self.push(Node::Empty);
            self.union_plain(vec![nonempty, empty])
        } else {
            nonempty
        };
        Language { whole, nonempty, has_empty }
    }

    /// Returns what `root` matches without the empty string.
    fn without_empty(&mut self, root: NodeId) -> NodeId {
        let mut pending = vec![root];
        while let Some(&id) = pending.last() {
            if self.nonempty.contains_key(&id) {
                pending.pop();
                continue;
            }
            if !self.has_empty[id.index()] {
                self.nonempty.insert(id, id);
                continue;
            }
            let n_before = pending.len();
            let nonempty = &self.nonempty;
            self.regular.node(id).for_each_operand(|operand| {
                if !nonempty.contains_key(&operand) {
                    pending.push(operand);
                }
            });
            if pending.len() > n_before {
                continue;
            }
            let new = match self.regular.node(id).clone() {
                Node::Union(operands) => {
                    let operands = operands.iter().map(|operand| self.nonempty[operand]).collect();
                    self.union_plain(operands)
                }
                // All operands match the empty string. The first that doesn't do so now may be any of them.
                Node::Concat(operands) => {
                    let mut whole = self.nothing();
                    let mut rest = self.push(Node::Empty);
                    for operand in operands.iter().rev() {
                        let starting_here = self.concat_apart(&[self.nonempty[operand], rest]);
                        whole = self.union_plain(vec![starting_here, whole]);
                        rest = self.concat_apart(&[*operand, rest]);
                    }
                    whole
                }
                // Copies that match nothing can be left out, or make up for those that lack.
                Node::Repeat { body, min, max } => {
                    let min = if self.has_empty[body.index()] { 1 } else { min.max(1) };
                    self.repeat_plain(self.nonempty[&body], min, max)
                }
                _ => self.nothing(),
            };
            self.nonempty.insert(id, new);
        }
        self.nonempty[&root]
    }

    fn push(&mut self, node: Node) -> NodeId {
        let has_empty = |id: &NodeId| self.has_empty[id.index()];
        let empty = match &node {
            Node::Empty => true,
            Node::Bytes(bytes) => bytes.is_empty(),
            Node::Class(_) => false,
            Node::Concat(operands) => operands.iter().all(has_empty),
            Node::Union(operands) => operands.iter().any(has_empty),
            Node::Repeat { body, min, .. } => *min == 0 || has_empty(body),
            Node::And(..) | Node::Not(_) | Node::Substring(_) => unreachable!("patterns have none of these"),
        };
        self.has_empty.push(empty);
        self.regular.push(node)
    }

    fn nothing(&mut self) -> NodeId {
        self.push(Node::Union([].into()))
    }

    fn is_nothing(&self, id: NodeId) -> bool {
        match self.regular.node(id) {
            Node::Class(set) => set.is_empty(),
            Node::Union(operands) => operands.is_empty(),
            _ => false,
        }
    }

    /// Makes a concatenation in which a literal of several characters is one node.
    fn concat_plain(&mut self, ids: &[NodeId]) -> NodeId {
        let mut joined: Vec<NodeId> = Vec::with_capacity(ids.len());
        let mut text: Vec<u8> = Vec::new();
        for (i, &id) in ids.iter().enumerate() {
            let is_bytes = |id: NodeId| matches!(self.regular.node(id), Node::Bytes(_));
            let Node::Bytes(bytes) = self.regular.node(id) else {
                joined.push(id);
                continue;
            };
            text.extend_from_slice(bytes);
            if ids.get(i + 1).is_some_and(|&next| is_bytes(next)) {
                continue;
            }
            let whole = if text.len() > bytes.len() { self.push(Node::Bytes(text.as_slice().into())) } else { id };
            joined.push(whole);
            text.clear();
        }
        self.concat_apart(&joined)
    }

    /// Makes a concatenation of operands that stay as they are: beside an anchor each is an operand again and again, and longer each time.
    fn concat_apart(&mut self, ids: &[NodeId]) -> NodeId {
        if let Some(&nothing) = ids.iter().find(|id| self.is_nothing(**id)) {
            return nothing;
        }
        let is_empty = |id: &NodeId| matches!(self.regular.node(*id), Node::Empty);
        let operands: Vec<NodeId> = ids.iter().copied().filter(|id| !is_empty(id)).collect();
        match operands[..] {
            [] => self.push(Node::Empty),
            [id] => id,
            _ => self.push(Node::Concat(operands.into())),
        }
    }

    fn union_plain(&mut self, mut ids: Vec<NodeId>) -> NodeId {
        ids.retain(|&id| !self.is_nothing(id));
        match ids[..] {
            [id] => id,
            _ => self.push(Node::Union(ids.into())),
        }
    }

    fn repeat_plain(&mut self, body: NodeId, min: u32, max: Option<u32>) -> NodeId {
        match (self.regular.node(body), min, max) {
            (Node::Empty, ..) | (_, 1, Some(1)) => body,
            (_, _, Some(0)) => self.push(Node::Empty),
            _ if self.is_nothing(body) && min == 0 => self.push(Node::Empty),
            _ if self.is_nothing(body) => body,
            _ => self.push(Node::Repeat { body, min, max }),
        }
    }
}
