//! The grammar as the recognizer reads it: one production per expression, and the least length of a string of each.

use super::dfa::{Dfa, DfaBuilder, Key, any_case};
use super::error::RecognizerError;
use super::utf8;
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, RuleId};
use crate::limits::Limits;
use crate::regular::{CharSet, Node};
use crate::util::index_type;
use core::cmp::Reverse;
use hashbrown::HashMap;
use std::collections::BinaryHeap;

index_type!(pub(super) ProductionId);

/// A production: an expression of the grammar, as written, that items read from state 0 on.
pub(super) enum Production {
    /// These bytes; the state is the number of bytes read.
    Bytes(Box<[u8]>),
    /// A literal that control tokens may spell; the state is the number of bytes read.
    Marker(Box<str>),
    /// One character; the state is the packed prefix of the character, or [`DONE`].
    Class(CharSet),
    /// A control token; the state is 0 or [`DONE`].
    Control(ControlRef),
    /// Any one token but these; the state is 0 or [`DONE`].
    TokenExcept(ExcludedTokens),
    /// An intersection or complement; the state is that of the automaton.
    Dfa(Box<Dfa>),
    /// A text of at most so many tokens; the state is a [`BoundedState`], packed.
    AtMostTokens { dfa: Box<Dfa>, max: u32 },
    /// A reference to a rule (the root is one, too); the state is 0 or [`DONE`].
    Rule(RuleId, ProductionId),
    /// A sequence; the state is the number of operands read.
    Sequence(Box<[ProductionId]>),
    /// A choice, sorted; the state is 0 or [`DONE`].
    Choice(Box<[ProductionId]>),
    /// A repeat; the state is the number of copies read, capped at `min` if there is no upper bound.
    Repeat { body: ProductionId, min: u32, max: Option<u32> },
}

/// How far a text of at most so many tokens was read.
#[derive(Clone, Copy)]
pub(super) struct BoundedState {
    /// The state of the automaton.
    pub at: u32,
    /// The tokens so far, up to as many as may count.
    pub n_tokens: u32,
    /// Whether the token under way is one of them.
    pub is_counted: bool,
}

impl BoundedState {
    pub fn unpack(state: u32, max: u32) -> Self {
        let n_registers = 2 * max + 2;
        let register = state % n_registers;
        BoundedState { at: state / n_registers, n_tokens: register / 2, is_counted: register % 2 == 1 }
    }

    pub fn pack(self, max: u32) -> u32 {
        self.at * (2 * max + 2) + 2 * self.n_tokens + u32::from(self.is_counted)
    }

    /// Returns the state after a byte. Each token counts; behind the last one only a shortest way to an end may be read.
    pub fn after(self, byte: u8, dfa: &Dfa, max: u32) -> Option<Self> {
        let at = dfa.next(self.at, byte)?;
        let is_nearer = || dfa.distance(at).is_some_and(|left| dfa.distance(self.at) > Some(left));
        match self.n_tokens {
            _ if self.is_counted => Some(BoundedState { at, ..self }),
            n_tokens if n_tokens < max => Some(BoundedState { at, n_tokens: n_tokens + 1, is_counted: true }),
            _ => is_nearer().then_some(BoundedState { at, ..self }),
        }
    }
}

/// The state of a production that is complete, where the number of things read doesn't show it.
pub(super) const DONE: u32 = u32::MAX;

/// The least length of a production that matches no string.
pub(super) const NEVER: u64 = u64::MAX;

pub(super) struct Productions {
    productions: Vec<Production>,
    exprs: Vec<Option<ExprId>>,
    /// The operands of choices in the order in which they are written, where that is not the order of their ids.
    written: HashMap<ProductionId, Box<[ProductionId]>>,
    /// By production: the least number of symbols of a string that it matches, or [`NEVER`].
    least: Vec<u64>,
    /// By production: the order in which least lengths were found. A shortest string consists of strings of operands of lower rank.
    rank: Vec<u32>,
}

impl Productions {
    /// The root rule.
    pub(super) const ROOT: ProductionId = ProductionId(0);

    pub(super) fn new(grammar: &Grammar, limits: &Limits) -> Result<Productions, RecognizerError> {
        let mut builder = Builder { exprs: vec![None], n_productions: 1, ids: HashMap::new(), pending: vec![] };
        let mut dfas = DfaBuilder::new(grammar, limits);
        let root = builder.production_of(Key::Expr(grammar.rule(grammar.root()).body));
        let mut productions = vec![(Productions::ROOT, Production::Rule(grammar.root(), root))];
        while let Some((id, key)) = builder.pending.pop() {
            let production = builder.read(grammar, key, &mut dfas, &mut productions)?;
            productions.push((id, production));
        }
        productions.sort_unstable_by_key(|&(id, _)| id);
        let mut productions: Vec<Production> = productions.into_iter().map(|(_, production)| production).collect();
        let (least, rank) = least_lengths(&productions);
        if least[Productions::ROOT.index()] == NEVER {
            return Err(RecognizerError::empty_language(grammar));
        }
        // Operands that match no string are never begun; empty copies are as good as none.
        let mut written = HashMap::new();
        for (index, production) in productions.iter_mut().enumerate() {
            match production {
                Production::Choice(operands) => {
                    *operands = operands.iter().copied().filter(|operand| least[operand.index()] != NEVER).collect();
                    if !operands.is_sorted() {
                        written.insert(ProductionId::new(index), operands.clone());
                        operands.sort_unstable();
                    }
                }
                Production::Repeat { body, min, max } => match least[body.index()] {
                    NEVER => *max = Some(0),
                    0 => *min = 0,
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(Productions { productions, exprs: builder.exprs, written, least, rank })
    }

    pub(super) fn get(&self, id: ProductionId) -> &Production {
        &self.productions[id.index()]
    }

    /// Returns the operands of a choice in the order in which they are written.
    pub(super) fn alternatives(&self, id: ProductionId) -> &[ProductionId] {
        match (self.written.get(&id), self.get(id)) {
            (Some(written), _) | (None, Production::Choice(written)) => written,
            _ => &[],
        }
    }

    /// Returns the expression that a production is (or is inside of); `None` for the root.
    pub(super) fn expr(&self, id: ProductionId) -> Option<ExprId> {
        self.exprs[id.index()]
    }

    /// Returns the least number of symbols of a string of a production.
    pub(super) fn least(&self, id: ProductionId) -> u64 {
        self.least[id.index()]
    }

    /// Returns the operand of a choice that has a shortest string.
    pub(super) fn shortest(&self, operands: &[ProductionId]) -> Option<ProductionId> {
        operands.iter().copied().min_by_key(|operand| self.rank[operand.index()])
    }

    /// Returns the least number of symbols that complete a production in a state.
    pub(super) fn least_to_complete(&self, id: ProductionId, state: u32) -> u64 {
        let sum = |operands: &[ProductionId]| operands.iter().fold(0, |sum, &operand| add(sum, self.least(operand)));
        match self.get(id) {
            Production::Bytes(bytes) => (bytes.len() - state as usize) as u64,
            // A letter is always one way on; one control token may be less, of a symbol each.
            Production::Marker(text) => (text.len() - state as usize) as u64,
            Production::Sequence(operands) => sum(&operands[state as usize..]),
            Production::Class(_) | Production::Control(_) | Production::TokenExcept(_) | Production::Rule(..)
                if state == DONE =>
            {
                0
            }
            Production::Choice(_) if state == DONE => 0,
            Production::Class(set) => {
                utf8::complete(set, state).map_or(NEVER, |(prefix, _, len)| (len - prefix) as u64)
            }
            Production::Control(_) | Production::TokenExcept(_) => 1,
            Production::Rule(..) | Production::Choice(_) => self.least(id),
            Production::Dfa(dfa) => dfa.distance(state).map_or(NEVER, u64::from),
            Production::AtMostTokens { dfa, max } => {
                dfa.distance(BoundedState::unpack(state, *max).at).map_or(NEVER, u64::from)
            }
            Production::Repeat { body, min, .. } => times(self.least(*body), min.saturating_sub(state)),
        }
    }
}

/// Makes productions of expressions.
struct Builder {
    exprs: Vec<Option<ExprId>>,
    n_productions: usize,
    ids: HashMap<Key, ProductionId>,
    pending: Vec<(ProductionId, Key)>,
}

impl Builder {
    fn fresh(&mut self, expr: ExprId) -> ProductionId {
        self.exprs.push(Some(expr));
        self.n_productions += 1;
        ProductionId::new(self.n_productions - 1)
    }

    fn production_of(&mut self, key: Key) -> ProductionId {
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = self.fresh(key.expr());
        self.ids.insert(key, id);
        self.pending.push((id, key));
        id
    }

    fn productions_of(&mut self, keys: impl Iterator<Item = Key>) -> Box<[ProductionId]> {
        keys.map(|key| self.production_of(key)).collect()
    }

    fn read(
        &mut self,
        grammar: &Grammar,
        key: Key,
        dfas: &mut DfaBuilder<'_>,
        extra: &mut Vec<(ProductionId, Production)>,
    ) -> Result<Production, RecognizerError> {
        let dfa = |dfas: &mut DfaBuilder<'_>| Ok(Production::Dfa(Box::new(dfas.dfa(key)?)));
        let nothing = || Production::Choice(Box::new([]));
        let (expr, node) = match key {
            Key::Expr(expr) => (expr, None),
            Key::Node(expr, node) => (expr, Some(node)),
        };
        Ok(match (grammar.expr(expr), node) {
            (Expr::Regex(regex), Some(node)) => match regex.regular.node(node) {
                Node::Empty => Production::Sequence(Box::new([])),
                Node::Bytes(bytes) => match core::str::from_utf8(bytes) {
                    Ok(text) if regex.has_markers() => Production::Marker(text.into()),
                    _ => Production::Bytes(bytes.clone()),
                },
                Node::Class(set) => Production::Class(set.clone()),
                Node::Concat(nodes) => {
                    Production::Sequence(self.productions_of(nodes.iter().map(|&id| Key::Node(expr, id))))
                }
                Node::Union(nodes) => {
                    Production::Choice(self.productions_of(nodes.iter().map(|&id| Key::Node(expr, id))))
                }
                Node::Repeat { body, min, max } => {
                    Production::Repeat { body: self.production_of(Key::Node(expr, *body)), min: *min, max: *max }
                }
                Node::And(..) | Node::Not(_) | Node::Substring(_) => dfa(dfas)?,
            },
            (Expr::Regex(regex), None) => match regex.regular.root() {
                Some(root) => Production::Sequence(Box::new([self.production_of(Key::Node(expr, root))])),
                None => nothing(),
            },
            (Expr::Empty, _) => Production::Sequence(Box::new([])),
            (Expr::Literal(bytes), _) => Production::Bytes(bytes.clone()),
            (Expr::Marker(text), _) => Production::Marker(text.clone()),
            (Expr::Schema(_), _) => return Err(RecognizerError::schema(grammar, grammar.span(expr))),
            (Expr::LiteralNoCase(text), _) => {
                let chars = text.chars().map(|c| {
                    let id = self.fresh(expr);
                    extra.push((id, Production::Class(any_case(c))));
                    id
                });
                Production::Sequence(chars.collect())
            }
            (Expr::Class(set), _) => Production::Class(set.clone()),
            (Expr::Control(control), _) => Production::Control(control.clone()),
            (Expr::TokenExcept(excluded), _) => Production::TokenExcept(excluded.clone()),
            (Expr::Rule(rule), _) => Production::Rule(*rule, self.production_of(Key::Expr(grammar.rule(*rule).body))),
            (Expr::Sequence(exprs), _) => {
                Production::Sequence(self.productions_of(exprs.iter().map(|&id| Key::Expr(id))))
            }
            (Expr::Choice(exprs), _) => Production::Choice(self.productions_of(exprs.iter().map(|&id| Key::Expr(id)))),
            (Expr::Repeat { body, min, max }, _) => {
                Production::Repeat { body: self.production_of(Key::Expr(*body)), min: *min, max: *max }
            }
            (Expr::AtMostTokens { body, max }, _) => {
                let dfa = Box::new(dfas.dfa(Key::Expr(*body))?);
                let n_states = (dfa.n_states() as u64).saturating_mul(2 * u64::from(*max) + 2);
                match max {
                    0 if dfa.is_accepting(0) => Production::Sequence(Box::new([])),
                    0 => nothing(),
                    _ if n_states >= u64::from(DONE) => {
                        let given = usize::try_from(n_states).unwrap_or(usize::MAX);
                        return Err(RecognizerError::too_large(grammar, grammar.span(expr), given, DONE as usize));
                    }
                    max => Production::AtMostTokens { dfa, max: *max },
                }
            }
            (Expr::And(..) | Expr::Minus(..) | Expr::Not(_), _) => dfa(dfas)?,
        })
    }
}

/// Adds lengths, saturating below [`NEVER`].
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

/// Returns the least length and the rank of each production, shortest first (Knuth's generalization of Dijkstra's algorithm).
fn least_lengths(productions: &[Production]) -> (Vec<u64>, Vec<u32>) {
    let mut least = vec![NEVER; productions.len()];
    let mut rank = vec![u32::MAX; productions.len()];
    let mut n_ranked = 0;
    let mut users: Vec<Vec<u32>> = vec![vec![]; productions.len()];
    let mut n_missing: Vec<usize> = vec![0; productions.len()];
    let mut queue = BinaryHeap::new();
    for (i, production) in productions.iter().enumerate() {
        let mut uses = |operand: &ProductionId| {
            users[operand.index()].push(i as u32);
            n_missing[i] += 1;
        };
        let at_once = match production {
            Production::Bytes(bytes) => bytes.len() as u64,
            Production::Marker(text) => text.len() as u64,
            Production::Class(set) => utf8::complete(set, 0).map_or(NEVER, |(_, _, len)| len as u64),
            Production::Control(_) | Production::TokenExcept(_) => 1,
            Production::Dfa(dfa) | Production::AtMostTokens { dfa, .. } => dfa.distance(0).map_or(NEVER, u64::from),
            Production::Sequence(operands) => {
                operands.iter().for_each(uses);
                if operands.is_empty() { 0 } else { NEVER }
            }
            Production::Choice(operands) => {
                operands.iter().for_each(uses);
                NEVER
            }
            Production::Rule(_, body) => {
                uses(body);
                NEVER
            }
            Production::Repeat { body, min, .. } => {
                uses(body);
                if *min == 0 { 0 } else { NEVER }
            }
        };
        if at_once != NEVER {
            queue.push(Reverse((at_once, i)));
        }
    }
    while let Some(Reverse((length, i))) = queue.pop() {
        if least[i] != NEVER {
            continue;
        }
        least[i] = length;
        rank[i] = n_ranked;
        n_ranked += 1;
        for &user in &users[i] {
            let user = user as usize;
            n_missing[user] -= 1;
            let candidate = match &productions[user] {
                Production::Sequence(operands) if n_missing[user] == 0 => {
                    operands.iter().fold(0, |sum, operand| add(sum, least[operand.index()]))
                }
                Production::Sequence(_) => continue,
                Production::Repeat { min, .. } => times(length, *min),
                _ => length,
            };
            queue.push(Reverse((candidate, user)));
        }
    }
    (least, rank)
}
