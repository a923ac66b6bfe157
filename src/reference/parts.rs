//! The grammar as the recognizer reads it: one part per expression, and how short a text of each can be.

use super::error::RecognizerError;
use super::machine::{Key, Machine, MachineBuilder};
use super::utf8;
use crate::grammar::{ControlRef, Expr, ExprId, Grammar, RuleId};
use crate::limits::Limits;
use crate::regular::{CharSet, Node};
use crate::util::index_type;
use core::cmp::Reverse;
use hashbrown::HashMap;
use std::collections::BinaryHeap;

index_type!(pub(super) PartId);

/// A part of the grammar, as written.
pub(super) enum Part {
    /// These bytes; the state is how many are read.
    Bytes(Box<[u8]>),
    /// One character; the state is the begun character, or [`DONE`].
    Class(CharSet),
    /// A control token; the state is 0 or [`DONE`].
    Control(ControlRef),
    /// An intersection or complement; the state is that of the automaton.
    Machine(Box<Machine>),
    /// A reference to a rule (the root is one, too); the state is 0 or [`DONE`].
    Rule(RuleId, PartId),
    /// A sequence; the state is how many operands are read.
    Sequence(Box<[PartId]>),
    /// A choice, sorted; the state is 0 or [`DONE`].
    Choice(Box<[PartId]>),
    /// A repeat; the state is how many copies are read, never more than tells a difference.
    Repeat { body: PartId, min: u32, max: Option<u32> },
}

/// The state of a part that is read and has no other way to say so.
pub(super) const DONE: u32 = u32::MAX;

/// No text at all: the least length of a part that can't be finished.
pub(super) const NEVER: u64 = u64::MAX;

pub(super) struct Parts {
    parts: Vec<Part>,
    exprs: Vec<Option<ExprId>>,
    /// Least number of symbols of a text of each part; [`NEVER`] if it has none, 0 if the empty text is one.
    least: Vec<u64>,
    /// The order in which least lengths became known: a shortest text of a part is made of texts of parts with lower ranks.
    rank: Vec<u32>,
}

/// Returns the characters that equal `c` under simple case folding.
pub(super) fn any_case(c: char) -> CharSet {
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    class.try_case_fold_simple().expect("the tables of simple case folding are compiled in");
    CharSet::from_ranges(class.ranges().iter().map(|range| (range.start(), range.end())))
}

impl Parts {
    /// The root rule.
    pub(super) const ROOT: PartId = PartId(0);

    pub(super) fn new(grammar: &Grammar, limits: &Limits) -> Result<Parts, RecognizerError> {
        let mut builder = Builder { exprs: vec![None], n_parts: 1, ids: HashMap::new(), pending: vec![] };
        let mut machines = MachineBuilder::new(grammar, limits);
        let root = builder.part_of(Key::Expr(grammar.rule(grammar.root()).body));
        let mut parts = vec![(Parts::ROOT, Part::Rule(grammar.root(), root))];
        while let Some((id, key)) = builder.pending.pop() {
            let part = builder.read(grammar, key, &mut machines, &mut parts)?;
            parts.push((id, part));
        }
        parts.sort_unstable_by_key(|&(id, _)| id);
        let mut parts: Vec<Part> = parts.into_iter().map(|(_, part)| part).collect();
        let (least, rank) = least_lengths(&parts);
        if least[Parts::ROOT.index()] == NEVER {
            return Err(RecognizerError::empty_language(grammar));
        }
        // Nothing that can't be finished is begun; copies without text are as good as none.
        for part in &mut parts {
            match part {
                Part::Choice(operands) => {
                    *operands = operands.iter().copied().filter(|operand| least[operand.index()] != NEVER).collect();
                    operands.sort_unstable();
                }
                Part::Repeat { body, min, max } => match least[body.index()] {
                    NEVER => *max = Some(0),
                    0 => *min = 0,
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(Parts { parts, exprs: builder.exprs, least, rank })
    }

    pub(super) fn get(&self, id: PartId) -> &Part {
        &self.parts[id.index()]
    }

    /// Returns the expression that a part is (or is inside of); `None` for the root.
    pub(super) fn expr(&self, id: PartId) -> Option<ExprId> {
        self.exprs[id.index()]
    }

    /// Returns the least number of symbols of a text of a part.
    pub(super) fn least(&self, id: PartId) -> u64 {
        self.least[id.index()]
    }

    /// Returns the operand of a choice to take for a shortest text.
    pub(super) fn nearest(&self, operands: &[PartId]) -> Option<PartId> {
        operands.iter().copied().min_by_key(|operand| self.rank[operand.index()])
    }

    /// Returns the least number of symbols that finish a part in a state.
    pub(super) fn least_rest(&self, id: PartId, state: u32) -> u64 {
        let sum = |operands: &[PartId]| operands.iter().fold(0, |sum, &operand| add(sum, self.least(operand)));
        match self.get(id) {
            Part::Bytes(bytes) => (bytes.len() - state as usize) as u64,
            Part::Sequence(operands) => sum(&operands[state as usize..]),
            Part::Class(_) | Part::Control(_) | Part::Rule(..) | Part::Choice(_) if state == DONE => 0,
            Part::Class(set) => utf8::complete(set, state).map_or(NEVER, |(begun, _, len)| (len - begun) as u64),
            Part::Control(_) | Part::Rule(..) | Part::Choice(_) => self.least(id),
            Part::Machine(machine) => machine.distance(state).map_or(NEVER, u64::from),
            Part::Repeat { body, min, .. } => times(self.least(*body), min.saturating_sub(state)),
        }
    }
}

/// Reads expressions into parts.
struct Builder {
    exprs: Vec<Option<ExprId>>,
    n_parts: usize,
    ids: HashMap<Key, PartId>,
    pending: Vec<(PartId, Key)>,
}

impl Builder {
    fn fresh(&mut self, expr: ExprId) -> PartId {
        self.exprs.push(Some(expr));
        self.n_parts += 1;
        PartId::new(self.n_parts - 1)
    }

    fn part_of(&mut self, key: Key) -> PartId {
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = self.fresh(key.expr());
        self.ids.insert(key, id);
        self.pending.push((id, key));
        id
    }

    fn parts_of(&mut self, keys: impl Iterator<Item = Key>) -> Box<[PartId]> {
        keys.map(|key| self.part_of(key)).collect()
    }

    fn read(
        &mut self,
        grammar: &Grammar,
        key: Key,
        machines: &mut MachineBuilder<'_>,
        extra: &mut Vec<(PartId, Part)>,
    ) -> Result<Part, RecognizerError> {
        let machine = |machines: &mut MachineBuilder<'_>| Ok(Part::Machine(Box::new(machines.machine(key)?)));
        let nothing = || Part::Choice(Box::new([]));
        let (expr, node) = match key {
            Key::Expr(expr) => (expr, None),
            Key::Node(expr, node) => (expr, Some(node)),
        };
        Ok(match (grammar.expr(expr), node) {
            (Expr::Regex(regex), Some(node)) => match regex.regular.node(node) {
                Node::Empty => Part::Sequence(Box::new([])),
                Node::Bytes(bytes) => Part::Bytes(bytes.clone()),
                Node::Class(set) => Part::Class(set.clone()),
                Node::Concat(nodes) => Part::Sequence(self.parts_of(nodes.iter().map(|&id| Key::Node(expr, id)))),
                Node::Union(nodes) => Part::Choice(self.parts_of(nodes.iter().map(|&id| Key::Node(expr, id)))),
                Node::Repeat { body, min, max } => {
                    Part::Repeat { body: self.part_of(Key::Node(expr, *body)), min: *min, max: *max }
                }
                Node::And(..) | Node::Not(_) => machine(machines)?,
            },
            (Expr::Regex(regex), None) => match regex.regular.root() {
                Some(root) => Part::Sequence(Box::new([self.part_of(Key::Node(expr, root))])),
                None => nothing(),
            },
            (Expr::Empty, _) => Part::Sequence(Box::new([])),
            (Expr::Literal(bytes), _) => Part::Bytes(bytes.clone()),
            (Expr::LiteralNoCase(text), _) => {
                let chars = text.chars().map(|c| {
                    let id = self.fresh(expr);
                    extra.push((id, Part::Class(any_case(c))));
                    id
                });
                Part::Sequence(chars.collect())
            }
            (Expr::Class(set), _) => Part::Class(set.clone()),
            (Expr::Control(control), _) => Part::Control(control.clone()),
            (Expr::Rule(rule), _) => Part::Rule(*rule, self.part_of(Key::Expr(grammar.rule(*rule).body))),
            (Expr::Sequence(exprs), _) => Part::Sequence(self.parts_of(exprs.iter().map(|&id| Key::Expr(id)))),
            (Expr::Choice(exprs), _) => Part::Choice(self.parts_of(exprs.iter().map(|&id| Key::Expr(id)))),
            (Expr::Repeat { body, min, max }, _) => {
                Part::Repeat { body: self.part_of(Key::Expr(*body)), min: *min, max: *max }
            }
            (Expr::And(..) | Expr::Minus(..) | Expr::Not(_), _) => machine(machines)?,
        })
    }
}

/// Adds lengths; a length that doesn't fit is the greatest one that is still a length.
pub(super) fn add(a: u64, b: u64) -> u64 {
    if a == NEVER || b == NEVER { NEVER } else { a.saturating_add(b).min(NEVER - 1) }
}

fn times(a: u64, n: u32) -> u64 {
    match (a, n) {
        (_, 0) => 0,
        (NEVER, _) => NEVER,
        _ => a.saturating_mul(u64::from(n)).min(NEVER - 1),
    }
}

/// Returns the least length of each part: the shortest are settled first (Knuth's generalisation of Dijkstra's algorithm).
fn least_lengths(parts: &[Part]) -> (Vec<u64>, Vec<u32>) {
    let mut least = vec![NEVER; parts.len()];
    let mut rank = vec![u32::MAX; parts.len()];
    let mut n_known = 0;
    let mut users: Vec<Vec<u32>> = vec![vec![]; parts.len()];
    let mut n_missing: Vec<usize> = vec![0; parts.len()];
    let mut queue = BinaryHeap::new();
    for (i, part) in parts.iter().enumerate() {
        let mut uses = |operand: &PartId| {
            users[operand.index()].push(i as u32);
            n_missing[i] += 1;
        };
        let known = match part {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::Class(set) => utf8::complete(set, 0).map_or(NEVER, |(_, _, len)| len as u64),
            Part::Control(_) => 1,
            Part::Machine(machine) => machine.distance(0).map_or(NEVER, u64::from),
            Part::Sequence(operands) => {
                operands.iter().for_each(uses);
                if operands.is_empty() { 0 } else { NEVER }
            }
            Part::Choice(operands) => {
                operands.iter().for_each(uses);
                NEVER
            }
            Part::Rule(_, body) => {
                uses(body);
                NEVER
            }
            Part::Repeat { body, min, .. } => {
                uses(body);
                if *min == 0 { 0 } else { NEVER }
            }
        };
        if known != NEVER {
            queue.push(Reverse((known, i)));
        }
    }
    while let Some(Reverse((length, i))) = queue.pop() {
        if least[i] != NEVER {
            continue;
        }
        least[i] = length;
        rank[i] = n_known;
        n_known += 1;
        for &user in &users[i] {
            let user = user as usize;
            n_missing[user] -= 1;
            let candidate = match &parts[user] {
                Part::Sequence(operands) if n_missing[user] == 0 => {
                    operands.iter().fold(0, |sum, operand| add(sum, least[operand.index()]))
                }
                Part::Sequence(_) => continue,
                Part::Repeat { min, .. } => times(length, *min),
                _ => length,
            };
            queue.push(Reverse((candidate, user)));
        }
    }
    (least, rank)
}
