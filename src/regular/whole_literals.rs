//! Literals of an expression through its groups and alternatives.
//!
//! In `<(en|fr)>` the texts `<en>` and `<fr>` are literals as much as in `<en>|<fr>`, and whoever asks what stands in a literal wants them whole. So alternatives
//! are written out where they meet literals: each node becomes a list of *branches*, sequences of literals and of other nodes, where neighbouring literals are
//! one. Repeats stay as they are, but for `x?`, which is `x` or nothing.
//!
//! Written out, `(a|b)(a|b)(a|b)...` has a branch for each text: where a sequence would grow beyond [`SIZE_MAX`], what comes before is one node, and so no part
//! of the expression is copied more often than that.

use super::{Node, NodeId, Regular};

/// Most states of the branches of a node, about.
const SIZE_MAX: usize = 1 << 9;

#[derive(Clone)]
enum Item {
    Literal(Vec<u8>),
    /// A node of the new expression.
    Node(NodeId),
}

type Branch = Vec<Item>;

impl Regular {
    /// Returns an expression for the same strings in which literals are whole: `<(en|fr)>` is `<en>|<fr>`, while what alternatives meet takes at most
    /// half a thousand bytes when it is written out.
    ///
    /// ```
    /// use maskwright::{Limits, frontend::regex, regular::Node};
    /// let regular = regex::parse("<(en|fr)>", "", &Limits::default()).unwrap().with_whole_literals();
    /// assert!(regular.nodes().contains(&Node::Bytes(b"<en>".as_slice().into())));
    /// ```
    #[must_use]
    pub fn with_whole_literals(&self) -> Regular {
        let Some(root) = self.root() else { return self.clone() };
        let mut new = Writer::default();
        // By node: its branches, and the node of the new expression that they are, once it is needed.
        let mut branches: Vec<Vec<Branch>> = Vec::with_capacity(self.nodes().len());
        let mut nodes: Vec<Option<NodeId>> = vec![None; self.nodes().len()];
        for node in &self.nodes()[..=root.index()] {
            let of_node = match node {
                Node::Empty => vec![Branch::new()],
                Node::Bytes(bytes) => vec![vec![Item::Literal(bytes.to_vec())]],
                Node::Union(operands) => operands.iter().flat_map(|id| branches[id.index()].iter().cloned()).collect(),
                Node::Repeat { body, min: 0, max: Some(1) } => {
                    let mut optional = branches[body.index()].clone();
                    optional.push(Branch::new());
                    optional
                }
                Node::Concat(operands) => new.sequence(operands.iter().map(|id| &*branches[id.index()])),
                _ => {
                    let node = node
                        .map_operands(|id| *nodes[id.index()].get_or_insert_with(|| new.union(&branches[id.index()])));
                    vec![vec![Item::Node(new.push(node))]]
                }
            };
            branches.push(match new.size(&of_node) > SIZE_MAX {
                true => vec![vec![Item::Node(new.union(&of_node))]],
                false => of_node,
            });
        }
        let root = new.union(&branches[root.index()]);
        new.regular.set_root(root);
        new.regular
    }
}

/// The new expression, with the size of each node.
#[derive(Default)]
struct Writer {
    regular: Regular,
    sizes: Vec<usize>,
}

impl Writer {
    fn push(&mut self, node: Node) -> NodeId {
        let mut of_operands = 0usize;
        node.for_each_operand(|id| of_operands = of_operands.saturating_add(self.sizes[id.index()]));
        self.sizes.push(match &node {
            Node::Bytes(bytes) => 1 + bytes.len(),
            Node::Class(set) => 1 + set.ranges().len(),
            Node::Repeat { min, max, .. } => of_operands.saturating_mul(max.unwrap_or(*min).max(1) as usize),
            Node::Substring(_) => SIZE_MAX,
            _ => of_operands.saturating_add(1),
        });
        self.regular.push(node)
    }

    fn size(&self, branches: &[Branch]) -> usize {
        let of_item = |item: &Item| match item {
            Item::Literal(bytes) => bytes.len(),
            Item::Node(id) => self.sizes[id.index()],
        };
        let items = branches.iter().flatten();
        items.fold(branches.len(), |sum, item| sum.saturating_add(of_item(item)))
    }

    /// Returns the branches of a sequence.
    fn sequence<'b>(&mut self, operands: impl Iterator<Item = &'b [Branch]>) -> Vec<Branch> {
        // What comes before all branches.
        let mut before = Branch::new();
        let mut all = vec![Branch::new()];
        for next in operands {
            let copies_of_all = self.size(&all).saturating_mul(next.len());
            if copies_of_all.saturating_add(self.size(next).saturating_mul(all.len())) > SIZE_MAX {
                let one = core::mem::replace(&mut all, vec![Branch::new()]);
                self.end(&mut before, one);
            }
            all = all.iter().flat_map(|first| next.iter().map(|then| joined(first, then))).collect();
        }
        if before.is_empty() {
            return all;
        }
        self.end(&mut before, all);
        vec![before]
    }

    /// Appends what some branches are together.
    fn end(&mut self, before: &mut Branch, branches: Vec<Branch>) {
        match <[Branch; 1]>::try_from(branches) {
            Ok([only]) => append(before, &only),
            Err(branches) => before.push(Item::Node(self.union(&branches))),
        }
    }

    /// Adds the union of some branches.
    fn union(&mut self, branches: &[Branch]) -> NodeId {
        let nodes: Vec<NodeId> = branches.iter().map(|branch| self.branch(branch)).collect();
        match *nodes {
            [only] => only,
            _ => self.push(Node::Union(nodes.into())),
        }
    }

    fn branch(&mut self, branch: &Branch) -> NodeId {
        let items = branch.iter().map(|item| match item {
            Item::Literal(bytes) => self.push(Node::Bytes(bytes.as_slice().into())),
            Item::Node(id) => *id,
        });
        let nodes: Vec<NodeId> = items.collect();
        match *nodes {
            [] => self.push(Node::Empty),
            [only] => only,
            _ => self.push(Node::Concat(nodes.into())),
        }
    }
}

/// Returns one branch behind another.
fn joined(first: &Branch, then: &Branch) -> Branch {
    let mut all = first.clone();
    append(&mut all, then);
    all
}

fn append(all: &mut Branch, then: &Branch) {
    for item in then {
        match (all.last_mut(), item) {
            (Some(Item::Literal(bytes)), Item::Literal(more)) => bytes.extend_from_slice(more),
            _ => all.push(item.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::frontend::regex;
    use crate::regular::Dfa;

    #[test]
    fn the_strings_stay_and_literals_are_whole() {
        let limits = Limits::default();
        let many = "(a|b)".repeat(40);
        let long = format!("x({})y", vec!["abcdefgh"; 300].join("|"));
        for (pattern, literals) in [
            ("<(en|fr)>", &["<en>", "<fr>"][..]),
            ("<a(b|[0-9])c>", &["<abc>", "<a", "c>"]),
            ("<(a?|(b|)(c|d))>", &["<a>", "<>", "<bc>", "<d>"]),
            ("(<a>|x)+y?", &["<a>", "x", "y"]),
            ("a(b|c)*d", &["a", "b", "c", "d"]),
            ("(a(b|c)){2}", &["ab", "ac"]),
            (&many, &["aaaaaa"]),
            (&long, &["abcdefgh"]),
            ("[^a](b|)", &["b"]),
            ("(x[0-9]{900}|<)(a|b)(c|d)", &["<"]),
            ("", &[]),
        ] {
            let given = regex::parse(pattern, "", &limits).unwrap();
            let whole = given.with_whole_literals();
            assert_eq!(Dfa::new(&given, &limits).unwrap(), Dfa::new(&whole, &limits).unwrap(), "{pattern}");
            let has = |text: &&str| {
                whole.nodes().iter().any(|node| matches!(node, Node::Bytes(b) if **b == *text.as_bytes()))
            };
            assert!(literals.iter().all(has), "{pattern}: {whole:?}");
            assert!(whole.nodes().len() <= 1500, "{pattern}: {} nodes", whole.nodes().len());
        }
    }
}
