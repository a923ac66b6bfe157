//! An expression under construction: nodes are interned and simplified.

use crate::Limits;
use crate::regular::{CharSet, Node, NodeId, Regular};
use hashbrown::HashMap;

/// What may follow a position, by what precedes it: nothing, a word character, another character.
pub(super) type Continuation = [NodeId; 3];

/// A variable: a language defined by an equation; see `solve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Variable(u32);

/// A byte that is not in UTF-8, so no other node begins with it: the mark of a variable.
const MARK: u8 = 0xFF;

/// Steps that making nodes may take, for each of `n_exprs_max`: one for each node, operand and look at one.
const STEPS_PER_EXPR: usize = 16;

pub(super) struct Arena {
    regular: Regular,
    interned: HashMap<Node, NodeId>,
    /// By node: whether it matches the empty string.
    nullable: Vec<bool>,
    /// By node: whether it is made of variables.
    has_variables: Vec<bool>,
    n_steps_left: usize,
    /// The number of nodes and of their operands.
    size: usize,
    n_variables: u32,
}

impl Arena {
    pub(super) fn new(limits: &Limits) -> Arena {
        Arena {
            regular: Regular::default(),
            interned: HashMap::new(),
            nullable: Vec::new(),
            has_variables: Vec::new(),
            n_steps_left: limits.n_exprs_max.saturating_mul(STEPS_PER_EXPR),
            size: 0,
            n_variables: 0,
        }
    }

    /// Counts steps; [`Self::is_spent`] tells when there were too many.
    pub(super) fn spend(&mut self, n_steps: usize) {
        self.n_steps_left = self.n_steps_left.saturating_sub(n_steps);
    }

    /// Returns whether making nodes takes too long. Nodes made since may be anything.
    pub(super) fn is_spent(&self) -> bool {
        self.n_steps_left == 0
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        self.regular.node(id)
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.nullable.len()
    }

    /// Returns the number of nodes and of their operands.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn is_nullable(&self, id: NodeId) -> bool {
        self.nullable[id.index()]
    }

    /// Returns whether a node is made of variables. They stand under no complement and in no plain repeat.
    pub(super) fn has_variables(&self, id: NodeId) -> bool {
        self.has_variables[id.index()]
    }

    fn push(&mut self, node: Node) -> NodeId {
        let mut n_operands = 0;
        node.for_each_operand(|_| n_operands += 1);
        self.spend(1 + n_operands);
        if let Some(&id) = self.interned.get(&node) {
            return id;
        }
        let nullable = |id: &NodeId| self.nullable[id.index()];
        let is_nullable = match &node {
            Node::Empty => true,
            Node::Bytes(bytes) => bytes.is_empty(),
            Node::Class(_) => false,
            Node::Concat(operands) => operands.iter().all(nullable),
            Node::Union(operands) => operands.iter().any(nullable),
            Node::Repeat { body, min, .. } => *min == 0 || nullable(body),
            Node::And(a, b) => nullable(a) && nullable(b),
            Node::Not(a) => !nullable(a),
            Node::Substring(_) => true,
        };
        let mut has_variables = false;
        node.for_each_operand(|operand| has_variables |= self.has_variables[operand.index()]);
        self.size += 1 + n_operands;
        let id = self.regular.push(node.clone());
        self.nullable.push(is_nullable);
        self.has_variables.push(has_variables);
        self.interned.insert(node, id);
        id
    }

    pub(super) fn empty(&mut self) -> NodeId {
        self.push(Node::Empty)
    }

    pub(super) fn nothing(&mut self) -> NodeId {
        self.push(Node::Union(Box::new([])))
    }

    /// Makes the node of all strings.
    pub(super) fn anything(&mut self) -> NodeId {
        let any = self.class(&CharSet::all());
        self.push(Node::Repeat { body: any, min: 0, max: None })
    }

    pub(super) fn class(&mut self, set: &CharSet) -> NodeId {
        if set.is_empty() { self.nothing() } else { self.push(Node::Class(set.clone())) }
    }

    /// Makes a new variable, whose language is nullable or not.
    pub(super) fn variable(&mut self, is_nullable: bool) -> NodeId {
        let number = self.n_variables.to_be_bytes();
        self.n_variables += 1;
        let id = self.push(Node::Bytes([&[MARK], &number[..]].concat().into()));
        self.nullable[id.index()] = is_nullable;
        self.has_variables[id.index()] = true;
        id
    }

    pub(super) fn as_variable(&self, id: NodeId) -> Option<Variable> {
        match self.node(id) {
            Node::Bytes(bytes) if bytes.first() == Some(&MARK) => {
                Some(Variable(u32::from_be_bytes(bytes[1..].try_into().expect("four bytes follow the mark"))))
            }
            _ => None,
        }
    }

    pub(super) fn is_nothing(&self, id: NodeId) -> bool {
        matches!(self.node(id), Node::Union(operands) if operands.is_empty())
    }

    pub(super) fn is_anything(&self, id: NodeId) -> bool {
        matches!(self.node(id), &Node::Repeat { body, min: 0, max: None }
            if matches!(self.node(body), Node::Class(set) if *set == CharSet::all()))
    }

    pub(super) fn concat(&mut self, operands: &[NodeId]) -> NodeId {
        let mut flat: Vec<NodeId> = Vec::new();
        for &operand in operands {
            match self.node(operand) {
                Node::Empty => {}
                Node::Union(of) if of.is_empty() => return operand,
                Node::Concat(of) => flat.extend(of),
                _ => flat.push(operand),
            }
        }
        self.spend(flat.len());
        match flat[..] {
            [] => self.empty(),
            [one] => one,
            _ => self.push(Node::Concat(flat.into())),
        }
    }

    pub(super) fn union(&mut self, operands: impl IntoIterator<Item = NodeId>) -> NodeId {
        let mut flat: Vec<NodeId> = Vec::new();
        for operand in operands {
            if self.is_anything(operand) {
                return operand;
            }
            match self.node(operand) {
                Node::Union(of) => flat.extend(of),
                _ => flat.push(operand),
            }
        }
        self.spend(flat.len());
        flat.sort_unstable();
        flat.dedup();
        if flat.iter().any(|&id| !matches!(self.node(id), Node::Empty) && self.is_nullable(id)) {
            flat.retain(|&id| !matches!(self.node(id), Node::Empty));
        }
        let is_class = |id: &NodeId| matches!(self.node(*id), Node::Class(_));
        if flat.iter().filter(|id| is_class(id)).count() > 1 {
            let mut ranges = Vec::new();
            flat.retain(|&id| match self.node(id) {
                Node::Class(set) => {
                    ranges.extend_from_slice(set.ranges());
                    false
                }
                _ => true,
            });
            let class = self.class(&CharSet::from_ranges(ranges));
            flat.push(class);
            flat.sort_unstable();
        }
        if let [one] = flat[..] { one } else { self.push(Node::Union(flat.into())) }
    }

    pub(super) fn repeat(&mut self, body: NodeId, min: u32, max: Option<u32>) -> NodeId {
        match (self.node(body), min, max) {
            (_, _, Some(0)) => self.empty(),
            (_, 1, Some(1)) | (Node::Empty, ..) => body,
            (Node::Union(of), 0, _) if of.is_empty() => self.empty(),
            (Node::Union(of), ..) if of.is_empty() => body,
            _ => self.push(Node::Repeat { body, min, max }),
        }
    }

    pub(super) fn and(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let (a, b) = (a.min(b), a.max(b));
        if a == b || self.is_nothing(a) || self.is_anything(b) {
            return a;
        }
        if self.is_nothing(b) || self.is_anything(a) {
            return b;
        }
        for (one, other) in [(a, b), (b, a)] {
            match self.node(one) {
                Node::Empty if self.is_nullable(other) => return one,
                Node::Empty => return self.nothing(),
                _ => {}
            }
        }
        // In ascending order, each operand once.
        let mut operands = Vec::new();
        let mut pending = vec![a, b];
        while let Some(id) = pending.pop() {
            match *self.node(id) {
                Node::And(a, b) => pending.extend([a, b]),
                _ => operands.push(id),
            }
        }
        self.spend(operands.len());
        operands.sort_unstable();
        operands.dedup();
        self.balanced_and(&operands)
    }

    fn balanced_and(&mut self, operands: &[NodeId]) -> NodeId {
        if let [one] = operands {
            return *one;
        }
        let (low, high) = operands.split_at(operands.len() / 2);
        let (low, high) = (self.balanced_and(low), self.balanced_and(high));
        self.push(Node::And(low, high))
    }

    pub(super) fn not(&mut self, a: NodeId) -> NodeId {
        if self.is_anything(a) {
            return self.nothing();
        }
        match *self.node(a) {
            Node::Not(a) => a,
            Node::Union(ref of) if of.is_empty() => self.anything(),
            _ => self.push(Node::Not(a)),
        }
    }

    /// Returns the expression with the root `root`, without unreachable nodes. Consecutive characters become one literal.
    pub(super) fn finish(self, root: NodeId) -> Regular {
        let nodes = self.regular.nodes();
        let mut needed = vec![false; root.index() + 1];
        needed[root.index()] = true;
        for id in (0..=root.index()).rev() {
            if needed[id] {
                let is_joined = |operand: NodeId| {
                    matches!(nodes[id], Node::Concat(_))
                        && matches!(&nodes[operand.index()], Node::Class(set) if single(set).is_some())
                };
                nodes[id].for_each_operand(|operand| needed[operand.index()] |= !is_joined(operand));
            }
        }
        let mut regular = Regular::new();
        let mut moved: Vec<Option<NodeId>> = vec![None; needed.len()];
        for (id, node) in nodes.iter().enumerate().take(needed.len()).filter(|(id, _)| needed[*id]) {
            let new = |id: NodeId| moved[id.index()].expect("operands come first");
            let node = match node {
                Node::Class(set) if single(set).is_some() => text(&[single(set).expect("there is one")]),
                Node::Concat(operands) => {
                    let mut joined: Vec<NodeId> = Vec::new();
                    let mut run: Vec<char> = Vec::new();
                    for &operand in operands {
                        match &nodes[operand.index()] {
                            Node::Class(set) if single(set).is_some() => run.extend(single(set)),
                            _ => {
                                if !run.is_empty() {
                                    joined.push(regular.push(text(&run)));
                                    run.clear();
                                }
                                joined.push(new(operand));
                            }
                        }
                    }
                    match (&run[..], &joined[..]) {
                        (_, []) => text(&run),
                        ([], _) => Node::Concat(joined.into()),
                        _ => {
                            joined.push(regular.push(text(&run)));
                            Node::Concat(joined.into())
                        }
                    }
                }
                node => node.map_operands(new),
            };
            moved[id] = Some(regular.push(node));
        }
        regular.set_root(moved[root.index()].expect("the root is needed"));
        regular
    }
}

/// Returns the only member of a set, if it has one.
fn single(set: &CharSet) -> Option<char> {
    match set.ranges() {
        [(low, high)] if low == high => Some(*low),
        _ => None,
    }
}

fn text(chars: &[char]) -> Node {
    Node::Bytes(chars.iter().collect::<String>().into_bytes().into())
}
