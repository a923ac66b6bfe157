//! Explicit automata for expressions with intersection or complement: a state per derivative, without the dead ones.

use super::derivative::{TermId, Terms};
use super::error::RecognizerError;
use crate::grammar::{Expr, ExprId, Grammar};
use crate::limits::Limits;
use crate::regular::{CharSet, Node, NodeId};
use hashbrown::HashMap;

/// A deterministic automaton over bytes. State 0 is the start; there are no transitions to dead states.
pub(super) struct Dfa {
    class_of: Box<[u8; 256]>,
    members: Vec<u8>,
    next: Vec<u32>,
    /// By state: the least number of bytes to an accepting state, or `DEAD`.
    distance: Vec<u32>,
}

const DEAD: u32 = u32::MAX;

impl Dfa {
    /// Builds the automaton of a term.
    ///
    /// # Errors
    /// The number of states at which construction stopped.
    fn new(terms: &mut Terms, root: TermId, states_max: usize) -> Result<Dfa, usize> {
        let (class_of, members) = terms.byte_classes(root);
        let n_classes = members.len();
        let mut derivatives: Vec<HashMap<TermId, TermId>> = vec![HashMap::new(); n_classes];
        let mut number: HashMap<TermId, u32> = HashMap::from([(root, 0u32)]);
        let mut states = vec![root];
        let mut next: Vec<u32> = Vec::new();
        let mut done = 0;
        while done < states.len() {
            for (class, &byte) in members.iter().enumerate() {
                let Ok(target) = terms.derive(states[done], byte, &mut derivatives[class]) else {
                    return Err(states.len().max(states_max) + 1);
                };
                let n = states.len() as u32;
                let target = *number.entry(target).or_insert_with(|| {
                    states.push(target);
                    n
                });
                next.push(target);
            }
            done += 1;
            if states.len() > states_max {
                return Err(states.len());
            }
        }
        // Distances by breadth-first search backwards from the accepting states; states not reached are dead.
        let mut sources: Vec<Vec<u32>> = vec![vec![]; states.len()];
        for (at, &target) in next.iter().enumerate() {
            sources[target as usize].push((at / n_classes) as u32);
        }
        let mut distance = vec![DEAD; states.len()];
        let mut queue: Vec<u32> =
            (0..states.len() as u32).filter(|&s| terms.matches_empty(states[s as usize])).collect();
        queue.iter().for_each(|&state| distance[state as usize] = 0);
        let mut read = 0;
        while read < queue.len() {
            let state = queue[read] as usize;
            read += 1;
            for &source in &sources[state] {
                if distance[source as usize] == DEAD {
                    distance[source as usize] = distance[state] + 1;
                    queue.push(source);
                }
            }
        }
        next.iter_mut().filter(|target| distance[**target as usize] == DEAD).for_each(|target| *target = DEAD);
        Ok(Dfa { class_of: Box::new(class_of), members, next, distance })
    }

    pub(super) fn n_states(&self) -> usize {
        self.distance.len()
    }

    pub(super) fn next(&self, state: u32, byte: u8) -> Option<u32> {
        let class = usize::from(self.class_of[usize::from(byte)]);
        let target = self.next[state as usize * self.members.len() + class];
        (target != DEAD).then_some(target)
    }

    pub(super) fn is_accepting(&self, state: u32) -> bool {
        self.distance[state as usize] == 0
    }

    /// Returns the least number of bytes from a state to acceptance; `None` for the start of an empty language.
    pub(super) fn distance(&self, state: u32) -> Option<u32> {
        Some(self.distance[state as usize]).filter(|&distance| distance != DEAD)
    }

    /// Appends the bytes of a shortest path from a state to an accepting one.
    pub(super) fn complete(&self, mut state: u32, out: &mut Vec<u8>) {
        while self.distance[state as usize] > 0 {
            let nearer = |&&byte: &&u8| {
                self.next(state, byte).is_some_and(|to| self.distance[to as usize] < self.distance[state as usize])
            };
            let &byte = self.members.iter().find(nearer).expect("a live state has a nearer neighbour");
            out.push(byte);
            state = self.next(state, byte).expect("found above");
        }
    }
}

/// The source of a term: an expression of the grammar, or a node inside one of its regular expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    Expr(ExprId),
    Node(ExprId, NodeId),
}

impl Key {
    /// Returns the expression of the grammar that this is, or is inside.
    pub(super) fn expr(self) -> ExprId {
        match self {
            Key::Expr(expr) | Key::Node(expr, _) => expr,
        }
    }
}

/// Builds the automata of expressions with regular operands.
pub(super) struct DfaBuilder<'g> {
    grammar: &'g Grammar,
    terms: Terms,
    states_max: usize,
    built: HashMap<Key, TermId>,
}

impl<'g> DfaBuilder<'g> {
    pub(super) fn new(grammar: &'g Grammar, limits: &Limits) -> Self {
        let states_max = limits.dfa_states_max;
        let terms = Terms::new(states_max.saturating_mul(64).saturating_add(1 << 16));
        DfaBuilder { grammar, terms, states_max, built: HashMap::new() }
    }

    pub(super) fn dfa(&mut self, key: Key) -> Result<Dfa, RecognizerError> {
        let term = self.term(key)?;
        Dfa::new(&mut self.terms, term, self.states_max).map_err(|given| {
            RecognizerError::too_large(self.grammar, self.grammar.span(key.expr()), given, self.states_max)
        })
    }

    /// Builds the term of an expression, operands first, with a stack instead of recursion.
    fn term(&mut self, root: Key) -> Result<TermId, RecognizerError> {
        let mut open = hashbrown::HashSet::new();
        let mut pending = vec![root];
        while let Some(&key) = pending.last() {
            if self.built.contains_key(&key) {
                pending.pop();
                continue;
            }
            let operands = self.operands(key)?;
            if open.insert(key) {
                for &operand in operands.iter().filter(|operand| !self.built.contains_key(*operand)) {
                    if open.contains(&operand) {
                        return Err(self.recursive(key, operand));
                    }
                    pending.push(operand);
                }
            } else {
                let operands = operands.iter().map(|operand| self.built[operand]).collect();
                let term = self.combine(key, operands);
                self.terms.check().map_err(|_| {
                    let span = self.grammar.span(key.expr());
                    RecognizerError::too_large(self.grammar, span, self.states_max + 1, self.states_max)
                })?;
                self.built.insert(key, term);
                open.remove(&key);
                pending.pop();
            }
        }
        Ok(self.built[&root])
    }

    fn recursive(&self, at: Key, operand: Key) -> RecognizerError {
        let rule = self.grammar.rules().iter().find(|rule| rule.body == operand.expr());
        let name = rule.map_or("", |rule| &rule.name);
        RecognizerError::recursive_operand(self.grammar, self.grammar.span(at.expr()), name)
    }

    fn operands(&self, key: Key) -> Result<Vec<Key>, RecognizerError> {
        let mut operands = Vec::new();
        match key {
            Key::Expr(expr) => match self.grammar.expr(expr) {
                Expr::Schema(_) => {
                    return Err(RecognizerError::schema(self.grammar, self.grammar.span(expr)));
                }
                Expr::Control(_) | Expr::TokenExcept(_) | Expr::AtMostTokens { .. } => {
                    return Err(RecognizerError::control_in_operand(self.grammar, self.grammar.span(expr)));
                }
                Expr::Rule(rule) => operands.push(Key::Expr(self.grammar.rule(*rule).body)),
                Expr::Regex(regex) => operands.extend(regex.regular.root().map(|root| Key::Node(expr, root))),
                other => other.for_each_operand(|operand| operands.push(Key::Expr(operand))),
            },
            Key::Node(expr, node) => {
                let inner = |&id: &NodeId| Key::Node(expr, id);
                match self.node(expr, node) {
                    Node::Empty | Node::Bytes(_) | Node::Class(_) | Node::Substring(_) => {}
                    Node::Concat(nodes) | Node::Union(nodes) => operands.extend(nodes.iter().map(inner)),
                    Node::Repeat { body, .. } => operands.push(inner(body)),
                    Node::And(a, b) => operands.extend([inner(a), inner(b)]),
                    Node::Not(a) => operands.push(inner(a)),
                }
            }
        }
        Ok(operands)
    }

    fn node(&self, expr: ExprId, node: NodeId) -> &'g Node {
        match self.grammar.expr(expr) {
            Expr::Regex(regex) => regex.regular.node(node),
            other => unreachable!("{other:?} is no regular expression"),
        }
    }

    fn combine(&mut self, key: Key, operands: Vec<TermId>) -> TermId {
        let terms = &mut self.terms;
        match key {
            Key::Expr(expr) => match self.grammar.expr(expr) {
                Expr::Empty => Terms::EMPTY,
                Expr::Literal(bytes) => terms.bytes(bytes),
                Expr::Marker(text) => terms.bytes(text.as_bytes()),
                Expr::LiteralNoCase(text) => {
                    let chars: Vec<_> = text.chars().map(|c| terms.chars(&any_case(c))).collect();
                    chars.into_iter().rfold(Terms::EMPTY, |suffix, first| terms.cat(first, suffix))
                }
                Expr::Class(set) => terms.chars(set),
                Expr::Regex(_) => operands.first().copied().unwrap_or(Terms::NEVER),
                Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_) | Expr::AtMostTokens { .. } => {
                    unreachable!("refused before")
                }
                Expr::Rule(_) => operands[0],
                Expr::Sequence(_) => operands.into_iter().rfold(Terms::EMPTY, |suffix, first| terms.cat(first, suffix)),
                Expr::Choice(_) => terms.alt(operands),
                Expr::Repeat { min, max, .. } => terms.repeat(operands[0], *min, *max),
                Expr::And(..) => terms.both(operands),
                Expr::Minus(..) => {
                    let complement = terms.neg(operands[1]);
                    terms.both(vec![operands[0], complement])
                }
                Expr::Not(_) => terms.text_except(operands[0]),
            },
            Key::Node(expr, node) => match self.node(expr, node) {
                Node::Empty => Terms::EMPTY,
                Node::Bytes(bytes) => self.terms.bytes(bytes),
                Node::Class(set) => self.terms.chars(set),
                Node::Concat(_) => {
                    operands.into_iter().rfold(Terms::EMPTY, |suffix, first| self.terms.cat(first, suffix))
                }
                Node::Union(_) => self.terms.alt(operands),
                Node::Repeat { min, max, .. } => self.terms.repeat(operands[0], *min, *max),
                Node::And(..) => self.terms.both(operands),
                Node::Substring(chunks) => self.terms.runs(chunks),
                Node::Not(_) => self.terms.text_except(operands[0]),
            },
        }
    }
}

/// Returns the characters that equal `c` under simple case folding.
pub(super) fn any_case(c: char) -> CharSet {
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    class.try_case_fold_simple().expect("the tables of simple case folding are compiled in");
    CharSet::from_ranges(class.ranges().iter().map(|range| (range.start(), range.end())))
}
