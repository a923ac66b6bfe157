//! Recursive transition networks: the intermediate form between grammars and automata.
//!
//! A *network* has one automaton per rule, whose edges are labelled with bytes, control tokens or calls of other rules. While
//! it is rewritten an automaton is an [`Nfa`] with epsilon edges; in between it is a [`RuleAutomaton`]: no epsilon edges, trimmed,
//! deterministic and minimal (unless that would be too large), state 0 first. Labels are compared as letters: two automata
//! over the same letters denote the same language, whatever the rules behind the calls are.

use super::token_sets::TokenSets;
use crate::machine::{Counter, DeclaredKeys, Distinct, RegisterRule};
use crate::util::index_type;
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

index_type!(
    /// The index of a rule of a network.
    pub(crate) NetRuleId
);

/// Tokens as a letter: one that the grammar names; one that spells a part of a literal, which its bytes spell as well; or any of a set ([`TokenSets`]).
///
/// ```text
/// | 1 bit: a set | 30 bits: the token, or the index of the set | 1 bit: spells a part of a literal |
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ControlLetter(u32);

/// What a [`ControlLetter`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlKind {
    /// This token.
    Token(u32),
    /// Any token of the set with this index.
    Set(u32),
}

impl ControlLetter {
    const SET: u32 = 1 << 31;

    /// Returns the letter of a token that the grammar names.
    pub fn named(token: u32) -> Self {
        ControlLetter(token << 1)
    }

    /// Returns the letter of a token that spells a part of a literal.
    pub fn spelling(token: u32) -> Self {
        ControlLetter(token << 1 | 1)
    }

    /// Returns the letter of a set, by its index.
    pub fn set(index: u32) -> Self {
        debug_assert!(index < Self::SET >> 1);
        ControlLetter(Self::SET | index << 1)
    }

    #[inline]
    pub fn kind(self) -> ControlKind {
        match self.0 & Self::SET {
            0 => ControlKind::Token(self.0 >> 1),
            _ => ControlKind::Set((self.0 & !Self::SET) >> 1),
        }
    }

    /// Returns whether the letter is a set of tokens. Such letters sort behind all others.
    #[inline]
    pub fn is_set(self) -> bool {
        self.0 & Self::SET != 0
    }

    /// Returns whether the token spells a part of a literal.
    pub fn is_spelling(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The label of an edge. Bytes sort before control tokens, and these before calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Label {
    /// One byte of an inclusive range.
    Bytes(u8, u8),
    /// One control token, or any token of a set.
    Control(ControlLetter),
    /// A non-empty word of another rule.
    Call(NetRuleId),
    /// A word of an automaton that was built before, by its index among those of the grammar. None of its words is empty.
    External(u32),
    /// A word of an automaton that counts tokens or characters, by its index. None of its words is empty. No pass may look into it: the states that count are not those of a language.
    Bounded(u32),
}

impl Label {
    /// Returns a number by which labels sort, which is cheaper to compare than the enum.
    #[inline]
    pub fn key(self) -> u64 {
        match self {
            Label::Bytes(low, high) => u64::from(low) << 8 | u64::from(high),
            Label::Control(letter) => 1 << 32 | u64::from(letter.0),
            Label::Call(rule) => 2 << 32 | u64::from(rule.0),
            Label::External(index) => 3 << 32 | u64::from(index),
            Label::Bounded(index) => 4 << 32 | u64::from(index),
        }
    }
}

impl Ord for Label {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Label {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An edge of a [`RuleAutomaton`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge {
    pub label: Label,
    pub target: u32,
}

impl Hash for Edge {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Nearly all edges read bytes: those hash as one word.
        match self.label {
            Label::Bytes(low, high) => {
                state.write_u64(u64::from(self.target) << 16 | u64::from(low) << 8 | u64::from(high));
            }
            Label::Control(letter) => {
                state.write_u64(1 << 63 | u64::from(self.target));
                state.write_u32(letter.0);
            }
            Label::Call(rule) => {
                state.write_u64(1 << 62 | u64::from(self.target));
                state.write_u32(rule.0);
            }
            Label::External(index) => {
                state.write_u64(1 << 61 | u64::from(self.target));
                state.write_u32(index);
            }
            Label::Bounded(index) => {
                state.write_u64(1 << 60 | u64::from(self.target));
                state.write_u32(index);
            }
        }
    }
}

/// An automaton under construction: edges in any order, epsilon edges allowed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Nfa {
    pub n_states: u32,
    pub start: u32,
    pub accept: u32,
    pub edges: Vec<(u32, Label, u32)>,
    pub epsilons: Vec<(u32, u32)>,
}

impl Nfa {
    /// Returns an automaton with a start state (0), an accepting state (1) and no edges.
    pub fn new() -> Self {
        Nfa { n_states: 2, start: 0, accept: 1, edges: Vec::new(), epsilons: Vec::new() }
    }

    /// Adds a state.
    pub fn state(&mut self) -> u32 {
        self.n_states += 1;
        self.n_states - 1
    }

    /// Adds the states and edges of `automaton`; returns the number of its start state here. Its accepting states are left to
    /// the caller, as `(returned value) + state`.
    pub fn embed(&mut self, automaton: &RuleAutomaton) -> u32 {
        let base = self.n_states;
        self.n_states += automaton.n_states() as u32;
        for state in 0..automaton.n_states() as u32 {
            let edges = automaton.edges(state).iter().map(|edge| (base + state, edge.label, base + edge.target));
            self.edges.extend(edges);
        }
        base
    }

    /// Adds the states and edges of `automaton` such that its words lead to `end`; returns the number of its start state here. A state that only
    /// ends the automaton is `end` itself, so that calls before it return to `end` as well.
    pub fn embed_before(&mut self, automaton: &RuleAutomaton, end: u32) -> u32 {
        let base = self.n_states;
        self.n_states += automaton.n_states() as u32;
        for state in 0..automaton.n_states() as u32 {
            self.edges.extend(automaton.edges(state).iter().map(|edge| {
                let target = if automaton.is_pure_end(edge.target) { end } else { base + edge.target };
                (base + state, edge.label, target)
            }));
            if automaton.is_accepting(state) {
                self.epsilons.push((base + state, end));
            }
        }
        base
    }
}

/// The edges of states, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    edges: Vec<Edge>,
    offsets: Vec<u32>,
}

impl Default for Rows {
    fn default() -> Self {
        Rows { edges: Vec::new(), offsets: vec![0] }
    }
}

impl Rows {
    /// Returns no rows, with room for those of so many states.
    pub fn with_capacity(n_states: usize) -> Self {
        let mut offsets = Vec::with_capacity(n_states + 1);
        offsets.push(0);
        Rows { edges: Vec::with_capacity(2 * n_states), offsets }
    }

    /// Returns the number of states whose edges are complete.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns whether no state has its edges yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the edges of a state.
    #[inline]
    pub fn row(&self, state: usize) -> &[Edge] {
        &self.edges[self.offsets[state] as usize..self.offsets[state + 1] as usize]
    }

    fn row_mut(&mut self, state: usize) -> &mut [Edge] {
        &mut self.edges[self.offsets[state] as usize..self.offsets[state + 1] as usize]
    }

    /// Returns the edges of all states.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the edges of the next state so far.
    #[inline]
    pub fn next_row(&self) -> &[Edge] {
        &self.edges[self.offsets[self.offsets.len() - 1] as usize..]
    }

    /// Returns the edges of the next state so far, to change them.
    #[inline]
    pub fn open_row(&mut self) -> &mut [Edge] {
        let start = self.offsets[self.offsets.len() - 1] as usize;
        &mut self.edges[start..]
    }

    /// Adds an edge of the next state.
    #[inline]
    pub fn push(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// Completes the edges of the next state.
    pub fn end_row(&mut self) {
        self.offsets.push(self.edges.len() as u32);
    }

    /// Sorts the edges of the next state so far, and drops those that are there twice.
    pub fn sort_open_row(&mut self) {
        let start = self.offsets[self.offsets.len() - 1] as usize;
        self.edges[start..].sort_unstable();
        let mut n = start;
        for at in start..self.edges.len() {
            if n == start || self.edges[n - 1] != self.edges[at] {
                self.edges[n] = self.edges[at];
                n += 1;
            }
        }
        self.edges.truncate(n);
    }

    /// Takes back the edges of the next state.
    pub fn drop_open_row(&mut self) {
        self.edges.truncate(self.offsets[self.offsets.len() - 1] as usize);
    }
}

/// The automaton of a rule: no epsilon edges, state 0 starts and doesn't accept, every state lies on a path from start to
/// acceptance. Edges are sorted by label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RuleAutomaton {
    offsets: Vec<u32>,
    edges: Vec<Edge>,
    accepting: Accepting,
    determinism: Determinism,
    /// States to which calls of distinct values return, ascending. All values of one call of this rule must differ.
    elements: Vec<(u32, Distinct)>,
    /// Lists of declared keys, which count as taken from the start.
    declared_keys: SmallVec<[Arc<DeclaredKeys>; 1]>,
    /// States with a register rule, ascending. A rule that has any makes no calls and is deterministic.
    register_rules: Vec<(u32, RegisterRule)>,
    /// What letters that are sets mean, if there are some and the network is finished.
    token_sets: Option<Arc<TokenSets>>,
}

/// What is known of an automaton.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Determinism {
    /// No two edges of a state can read the same letter, and no smaller automaton is like that.
    Minimal,
    /// A deterministic automaton of the language would be too large.
    TooLarge,
    Unknown,
}

/// The accepting states, as a bitmap that is inline for up to 128 states.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Accepting(SmallVec<[u64; 2]>);

impl Accepting {
    #[inline]
    fn get(&self, state: u32) -> bool {
        self.0[state as usize / 64] >> (state % 64) & 1 == 1
    }
}

impl FromIterator<bool> for Accepting {
    fn from_iter<I: IntoIterator<Item = bool>>(states: I) -> Self {
        let (mut words, mut word, mut n_bits) = (SmallVec::new(), 0, 0);
        for accepts in states {
            word |= u64::from(accepts) << n_bits;
            n_bits += 1;
            if n_bits == 64 {
                words.push(word);
                (word, n_bits) = (0, 0);
            }
        }
        if n_bits > 0 {
            words.push(word);
        }
        Accepting(words)
    }
}

impl Hash for RuleAutomaton {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The edges determine nearly everything: the rest hashes as few words.
        self.edges.hash(state);
        self.accepting.0.iter().for_each(|&states| state.write_u64(states));
        (&self.elements, &self.declared_keys, &self.register_rules).hash(state);
    }
}

impl RuleAutomaton {
    /// Assembles an automaton from the edges of each state in turn.
    pub fn from_parts(mut rows: Rows, accepting: Vec<bool>, determinism: Determinism) -> Self {
        for state in 0..rows.len() {
            rows.row_mut(state).sort_unstable();
        }
        let automaton = RuleAutomaton::from_sorted(rows.edges, rows.offsets, accepting.into_iter());
        RuleAutomaton { determinism, ..automaton }
    }

    /// Returns an automaton of one state that doesn't accept.
    pub fn of_nothing() -> Self {
        let mut rows = Rows::default();
        rows.end_row();
        RuleAutomaton::from_parts(rows, vec![false], Determinism::Minimal)
    }

    /// Assembles an automaton, deterministic or not, from the sorted edges of all states, and where those of each state begin and end.
    pub fn from_sorted(edges: Vec<Edge>, offsets: Vec<u32>, accepting: impl Iterator<Item = bool>) -> Self {
        RuleAutomaton {
            offsets,
            edges,
            accepting: accepting.collect(),
            determinism: Determinism::Unknown,
            elements: Vec::new(),
            declared_keys: SmallVec::new(),
            register_rules: Vec::new(),
            token_sets: None,
        }
    }

    /// Returns what letters that are sets of tokens mean, if there are some.
    pub fn token_sets(&self) -> Option<&Arc<TokenSets>> {
        self.token_sets.as_ref()
    }

    /// Returns the automaton with states to which calls of distinct values return (ascending, and not reached otherwise) and with lists of
    /// declared keys.
    pub fn with_elements(self, elements: Vec<(u32, Distinct)>, declared_keys: &[Arc<DeclaredKeys>]) -> Self {
        RuleAutomaton { elements, declared_keys: declared_keys.iter().cloned().collect(), ..self }
    }

    /// Returns the lists of declared keys.
    pub fn declared_keys(&self) -> &[Arc<DeclaredKeys>] {
        &self.declared_keys
    }

    /// Returns the automaton with register rules of states, ascending.
    pub fn with_register_rules(self, register_rules: Vec<(u32, RegisterRule)>) -> Self {
        RuleAutomaton { register_rules, ..self }
    }

    /// Returns the register rule of a state.
    #[inline]
    pub fn register_rule(&self, state: u32) -> Option<&RegisterRule> {
        let place = self.register_rules.binary_search_by_key(&state, |&(state, _)| state).ok()?;
        Some(&self.register_rules[place].1)
    }

    /// Returns the strictest of all register rules, if there are any.
    pub fn strictest_register_rule(&self) -> Option<RegisterRule> {
        self.register_rules.iter().map(|(_, register_rule)| register_rule.clone()).reduce(RegisterRule::strictest)
    }

    /// Returns whether the states of the rule have a register.
    pub fn has_register(&self) -> bool {
        !self.elements.is_empty() || !self.register_rules.is_empty()
    }

    /// Returns the combined constraint on the distinct values of the rule, if it has any: domains may differ, and the combination is
    /// exhaustible if one is. It has no declared keys.
    pub fn distinct(&self) -> Option<Distinct> {
        let &(_, first) = self.elements.first()?;
        let first = Distinct { declared_keys: None, ..first };
        let join = |all: Distinct, &(_, one): &(u32, Distinct)| Distinct {
            scarce_after: all.scarce_after.into_iter().chain(one.scarce_after).min(),
            exhaustible: all.exhaustible.max(one.exhaustible),
            ..all
        };
        Some(self.elements.iter().fold(first, join))
    }

    /// Returns the states to which calls of distinct values return, ascending, with their constraints.
    pub fn elements(&self) -> &[(u32, Distinct)] {
        &self.elements
    }

    /// Returns the constraint on distinct values, if calls of them return to `state`.
    #[inline]
    pub fn element(&self, state: u32) -> Option<Distinct> {
        let place = self.elements.binary_search_by_key(&state, |&(state, _)| state).ok()?;
        Some(self.elements[place].1)
    }

    pub fn n_states(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline]
    pub fn edges(&self, state: u32) -> &[Edge] {
        &self.edges[self.offsets[state as usize] as usize..self.offsets[state as usize + 1] as usize]
    }

    /// Returns about how much memory the automaton takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let register_rules: usize =
            self.register_rules.iter().map(|(_, register_rule)| register_rule.memory_bytes()).sum();
        let declared_keys: usize =
            self.declared_keys.iter().map(|declared_keys| declared_keys.memory_bytes() + 32).sum();
        size_of_val(&*self.offsets)
            + size_of_val(&*self.edges)
            + register_rules
            + declared_keys
            + self.token_sets.as_ref().map_or(0, |sets| sets.memory_bytes())
            + size_of_val(&*self.accepting.0)
    }

    pub fn all_edges(&self) -> &[Edge] {
        &self.edges
    }

    #[inline]
    pub fn is_accepting(&self, state: u32) -> bool {
        self.accepting.get(state)
    }

    pub fn accepting_states(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.n_states() as u32).filter(|&state| self.is_accepting(state))
    }

    pub fn determinism(&self) -> Determinism {
        self.determinism
    }

    /// Returns whether `state` only ends the rule: it accepts and nothing follows.
    #[inline]
    pub fn is_pure_end(&self, state: u32) -> bool {
        self.is_accepting(state) && self.edges(state).is_empty()
    }

    /// Calls `visit` with each called rule, as often as it is called.
    pub fn for_each_call(&self, mut visit: impl FnMut(NetRuleId)) {
        for edge in &self.edges {
            if let Label::Call(rule) = edge.label {
                visit(rule);
            }
        }
    }

    /// Makes calls of the automata that were built before: their numbers follow those of `n_rules` rules.
    fn call_externals(&mut self, n_rules: usize) {
        for edge in &mut self.edges {
            if let Label::External(index) = edge.label {
                edge.label = Label::Call(NetRuleId::new(n_rules + index as usize));
            }
        }
    }

    /// Returns the automaton with every called rule renamed.
    pub fn rename_calls(&mut self, rename: impl Fn(NetRuleId) -> NetRuleId) {
        for edge in &mut self.edges {
            if let Label::Call(rule) = &mut edge.label {
                *rule = rename(*rule);
            }
        }
        for state in 0..self.n_states() {
            self.edges[self.offsets[state] as usize..self.offsets[state + 1] as usize].sort_unstable();
        }
    }
}

/// A rule of a network; its automaton is an `A`.
#[derive(Clone, Debug)]
pub(crate) struct NetRule<A> {
    /// The name, for people, of the rule of the grammar that this one comes from.
    pub name: Cow<'static, str>,
    /// The words of the rule; for a counted rule, the words of its body.
    pub automaton: A,
    /// Present when the rule is `body{min,max}`.
    pub counter: Option<Counter>,
}

/// A network of rules, with its root.
#[derive(Clone, Debug)]
pub(crate) struct Network<A> {
    pub rules: Vec<NetRule<A>>,
    pub root: NetRuleId,
}

impl<A> Network<A> {
    pub fn rule(&self, id: NetRuleId) -> &NetRule<A> {
        &self.rules[id.index()]
    }
}

/// The rules that a rule calls, each once: nearly always few.
pub(crate) type Callees = SmallVec<[NetRuleId; 4]>;

/// A rule whose automaton calls rules by their index among its callees, so that grammars with other numbers can share the automaton.
#[derive(Clone, Debug)]
pub(crate) struct FinishedRule {
    pub name: Cow<'static, str>,
    pub automaton: Arc<RuleAutomaton>,
    /// The rules called, each once.
    pub callees: Callees,
    pub counter: Option<Counter>,
}

/// A network of finished rules, with its root. Numbers of rules that follow the last one are those of automata that were built before: see
/// [`Label::External`].
#[derive(Clone, Debug)]
pub(crate) struct FinishedNetwork {
    pub rules: Vec<FinishedRule>,
    pub root: NetRuleId,
}

impl FinishedRule {
    /// Returns the rule that a call of the automaton names.
    pub fn callee(&self, called: NetRuleId) -> NetRuleId {
        self.callees[called.index()]
    }
}

impl FinishedNetwork {
    /// Returns the network of a rule that matches nothing.
    pub fn of_nothing() -> Self {
        let automaton = RuleAutomaton::of_nothing();
        let network =
            Network { rules: vec![NetRule { name: "root".into(), automaton, counter: None }], root: NetRuleId::new(0) };
        network.finished(TokenSets::default(), Vec::new())
    }

    pub fn rule(&self, id: NetRuleId) -> &FinishedRule {
        &self.rules[id.index()]
    }
}

impl Network<RuleAutomaton> {
    /// Returns the network of finished rules.
    pub fn finished(mut self, token_sets: TokenSets, bounded: Vec<RuleAutomaton>) -> FinishedNetwork {
        self.call_bounded(bounded);
        let n_rules = self.rules.len();
        let token_sets = Arc::new(token_sets);
        let reads_sets = |edge: &Edge| matches!(edge.label, Label::Control(letter) if letter.is_set());
        let rules = self.rules.into_iter().map(|NetRule { name, mut automaton, counter }| {
            automaton.call_externals(n_rules);
            if !token_sets.is_empty() && automaton.all_edges().iter().any(reads_sets) {
                automaton.token_sets = Some(Arc::clone(&token_sets));
            }
            let mut callees = Vec::new();
            automaton.for_each_call(|callee| callees.push(callee));
            callees.sort_unstable();
            callees.dedup();
            let place = |callee| callees.binary_search(&callee).expect("all callees are listed");
            automaton.rename_calls(|callee| NetRuleId::new(place(callee)));
            FinishedRule { name, automaton: Arc::new(automaton), callees: callees.into(), counter }
        });
        FinishedNetwork { rules: rules.collect(), root: self.root }
    }

    /// Makes rules of the automata that count tokens and are used, and calls of the labels that mean them.
    fn call_bounded(&mut self, bounded: Vec<RuleAutomaton>) {
        let mut bounded: Vec<Option<RuleAutomaton>> = bounded.into_iter().map(Some).collect();
        let mut called: Vec<Option<NetRuleId>> = vec![None; bounded.len()];
        for rule in 0..self.rules.len() {
            let mut edges = core::mem::take(&mut self.rules[rule].automaton.edges);
            for edge in &mut edges {
                let Label::Bounded(index) = edge.label else { continue };
                let index = index as usize;
                if let Some(automaton) = bounded[index].take() {
                    called[index] = Some(NetRuleId::new(self.rules.len()));
                    self.rules.push(NetRule { name: "bounded text".into(), automaton, counter: None });
                }
                edge.label = Label::Call(called[index].expect("it is a rule now"));
            }
            self.rules[rule].automaton.edges = edges;
        }
    }
}
