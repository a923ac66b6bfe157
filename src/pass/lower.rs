//! Lowering: from the grammar as written to a network, one automaton with epsilon edges per rule (Thompson's construction).
//!
//! Each expression is emitted between two given states and never adds an edge into the first or out of the second, so expressions
//! compose without copies of states. A worklist replaces recursion. Small bounded repetitions are unrolled; larger ones become rules
//! with a counter. Copies of copies (`("a"{3,}){3,}`) could be counted in many ways, all of them live at once, so they are counted once
//! (`"a"{9,}`) where that is equivalent. Intersections, differences and complements are regular by definition: their automaton is built at
//! once and copied in.

mod literals;
mod sizes;

use super::BuildError;
use super::compile_budget::CompileBudget;
use super::network::{ControlLetter, Label, NetRule, NetRuleId, Network, Nfa, RuleAutomaton};
use super::token_sets::{TokenRanges, TokenSets};
use super::{short_text, token_budget};
use crate::grammar::analysis::reachable_rules;
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, RuleId, SchemaOperand};
use crate::limits::{BOUND_MAX, Limits};
use crate::machine::{Counter, merged_bounds};
use crate::regular::{CharSet, Dfa, Node, NodeId, Regular, utf8_sequences};
use hashbrown::HashMap;
use sizes::{UNROLLED_STATES_MAX, grammar_sizes, regular_sizes};
use smallvec::SmallVec;
use std::sync::Arc;

/// Most states of the product of an automaton with numbers of characters that is preferred to a register.
const SHORT_WRITTEN_MAX: u64 = 1 << 12;

/// Steps of a compile that emitting the UTF-8 of a small set counts as.
const STEPS_PER_CLASS: usize = 32;

/// A lookup of what a grammar refers to: the control tokens of a vocabulary, and schemas that were compiled before.
pub(crate) trait References {
    /// Returns the ids of the tokens that `name` stands for.
    fn resolve(&self, name: &ControlRef) -> Result<SmallVec<[u32; 2]>, BuildError>;
    /// Returns the ids of excluded tokens; nothing if no token is left, stop tokens aside.
    fn excluded(&self, tokens: &ExcludedTokens) -> Result<Option<TokenRanges>, BuildError>;
    /// Calls `visit` with the length in bytes of each name of control tokens that `text` begins with, and with the id of each of these tokens.
    fn for_each_spelling(&self, text: &str, visit: &mut dyn FnMut(usize, u32));
    /// Returns what is known of a schema that was compiled before.
    fn external(&self, schema: &SchemaOperand) -> External;
    /// Returns what is known of a rule, if it was compiled before.
    fn external_rule(&self, _rule: RuleId) -> Option<External> {
        None
    }
}

/// A schema or a rule that was compiled before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct External {
    /// The number of the automaton of its texts that are not empty, if there are some.
    pub number: Option<u32>,
    /// Whether the empty text is one of its texts.
    pub has_empty_text: bool,
}

/// A grammar as a network, and what its labels refer to.
pub(super) struct LoweredGrammar {
    pub network: Network<Nfa>,
    pub token_sets: TokenSets,
    /// Automata that count tokens or characters, by number ([`Label::Bounded`]).
    pub bounded: Vec<RuleAutomaton>,
}

/// Returns the network of `grammar`.
pub(super) fn lower(
    grammar: &Grammar,
    references: &dyn References,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<LoweredGrammar, BuildError> {
    let mut lowering = Lowering {
        grammar,
        references,
        limits,
        budget,
        sizes: grammar_sizes(grammar),
        regulars: Vec::new(),
        rules: Vec::with_capacity(grammar.rules().len()),
        pending: Vec::new(),
        token_sets: TokenSets::default(),
        set_numbers: HashMap::new(),
        n_states: 0,
        bounded: Vec::new(),
        bounded_numbers: HashMap::new(),
        short_numbers: HashMap::new(),
        before_literal: HashMap::new(),
    };
    // Rules that are not reachable keep their numbers and match nothing, so that they cost nothing.
    let is_used = reachable_rules(grammar);
    for (rule, &is_used) in grammar.rules().iter().zip(&is_used) {
        budget.spend(1)?;
        lowering.add_rule(if is_used { &rule.name } else { "" }, None);
    }
    for (index, rule) in grammar.rules().iter().enumerate().filter(|&(index, _)| is_used[index]) {
        lowering.pending.push(Piece { rule: index, from: 0, to: 1, what: What::Expr(rule.body) });
        lowering.run()?;
    }
    let network = Network { rules: lowering.rules, root: NetRuleId::new(grammar.root().index()) };
    Ok(LoweredGrammar { network, token_sets: lowering.token_sets, bounded: lowering.bounded })
}

/// An expression to emit between two states of a rule's automaton.
struct Piece {
    rule: usize,
    from: u32,
    to: u32,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Expr(ExprId),
    /// A node of one of the regular expressions, by the index of that expression.
    Node(usize, NodeId),
}

struct Lowering<'a> {
    grammar: &'a Grammar,
    references: &'a dyn References,
    limits: &'a Limits,
    budget: &'a CompileBudget,
    /// By expression: an estimate of its states.
    sizes: Vec<u64>,
    /// The regular expressions so far.
    regulars: Vec<LoweredRegex>,
    rules: Vec<NetRule<Nfa>>,
    pending: Vec<Piece>,
    token_sets: TokenSets,
    /// The indices of the sets that were found, nothing for one without tokens.
    set_numbers: HashMap<ExcludedTokens, Option<u32>>,
    n_states: u64,
    /// Automata that count tokens or characters.
    bounded: Vec<RuleAutomaton>,
    /// By body and bound: its automaton, and whether the empty text is one of its texts.
    bounded_numbers: HashMap<(ExprId, u32), BoundedText>,
    /// The same of automata that count characters; nothing where the characters are not counted.
    short_numbers: HashMap<(ExprId, u32), Option<BoundedText>>,
    /// By rule, literal and the state behind it: the state before it, for a literal at the end of a sequence. Nothing else is read there.
    before_literal: HashMap<(usize, Literal<'a>, u32), u32>,
}

/// A text of at least one byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Literal<'a> {
    text: &'a [u8],
    /// Whether control tokens may spell it.
    is_marker: bool,
}

/// The index of the automaton of the texts that are not empty, if there are some, and whether the empty text is one.
type BoundedText = (Option<u32>, bool);

/// A regular expression of a grammar.
struct LoweredRegex {
    regular: Arc<Regular>,
    /// Whether control tokens may spell its literals.
    has_markers: bool,
    /// By node: an estimate of its states.
    sizes: Vec<u64>,
}

impl<'a> Lowering<'a> {
    fn add_rule(&mut self, name: &str, counter: Option<Counter>) -> NetRuleId {
        self.rules.push(NetRule { name: name.to_owned().into(), automaton: Nfa::new(), counter });
        NetRuleId::new(self.rules.len() - 1)
    }

    fn run(&mut self) -> Result<(), BuildError> {
        while let Some(piece) = self.pending.pop() {
            let n_states_before = self.n_states;
            let at = match piece.what {
                What::Expr(id) => self.grammar.span(id),
                What::Node(..) => None,
            };
            self.emit(piece).map_err(|error| error.at(at, self.grammar.source()))?;
            self.budget.spend(1 + 4 * (self.n_states - n_states_before) as usize)?;
            BuildError::check_states(self.n_states as usize, self.limits)?;
        }
        Ok(())
    }

    fn nfa(&mut self, rule: usize) -> &mut Nfa {
        &mut self.rules[rule].automaton
    }

    fn state(&mut self, rule: usize) -> u32 {
        self.n_states += 1;
        self.nfa(rule).state()
    }

    fn edge(&mut self, rule: usize, from: u32, label: Label, to: u32) {
        self.nfa(rule).edges.push((from, label, to));
    }

    fn empty(&mut self, rule: usize, from: u32, to: u32) {
        self.nfa(rule).epsilons.push((from, to));
    }

    fn emit(&mut self, piece: Piece) -> Result<(), BuildError> {
        match piece.what {
            What::Expr(id) => self.emit_expr(&piece, id),
            What::Node(regular, id) => self.emit_node(&piece, regular, id),
        }
    }

    fn emit_expr(&mut self, piece: &Piece, id: ExprId) -> Result<(), BuildError> {
        let &Piece { rule, from, to, .. } = piece;
        let grammar = self.grammar;
        match grammar.expr(id) {
            Expr::Empty => self.empty(rule, from, to),
            Expr::Literal(bytes) => {
                BuildError::check_states(self.n_states as usize + bytes.len(), self.limits)?;
                self.emit_bytes(rule, from, to, bytes);
            }
            Expr::Marker(text) => self.emit_marker(rule, from, to, text)?,
            Expr::Schema(schema) => self.emit_external(rule, from, to, self.references.external(schema)),
            Expr::LiteralNoCase(text) => self.emit_no_case(rule, from, to, text)?,
            Expr::Class(set) => self.emit_class(rule, from, to, set),
            Expr::Regex(regex) => {
                if let Some(root) = regex.regular.root() {
                    let index = self.add_regular(Arc::clone(&regex.regular), regex.has_markers());
                    self.pending.push(Piece { rule, from, to, what: What::Node(index, root) });
                }
            }
            Expr::Control(name) => {
                for token in self.references.resolve(name)? {
                    self.edge(rule, from, Label::Control(ControlLetter::named(token)), to);
                }
            }
            Expr::TokenExcept(tokens) => {
                if let Some(set) = self.token_set(tokens)? {
                    self.edge(rule, from, Label::Control(ControlLetter::set(set)), to);
                }
            }
            Expr::Rule(callee) => match self.references.external_rule(*callee) {
                Some(external) => self.emit_external(rule, from, to, external),
                None => self.edge(rule, from, Label::Call(NetRuleId::new(callee.index())), to),
            },
            Expr::Sequence(parts) => match self.separated(parts) {
                Some((item, separator)) => {
                    let (before, after) = (self.state(rule), self.state(rule));
                    self.empty(rule, from, before);
                    self.pending.push(Piece { rule, from: before, to: after, what: What::Expr(item) });
                    self.pending.push(Piece { rule, from: after, to: before, what: What::Expr(separator) });
                    self.empty(rule, after, to);
                }
                None => self.emit_parts(rule, from, to, parts)?,
            },
            Expr::Choice(parts) => self.emit_alternatives(rule, from, to, parts)?,
            Expr::Repeat { body, min, max } => {
                self.emit_repeat(piece, What::Expr(*body), *min, *max)?;
            }
            Expr::AtMostTokens { body, max } => {
                let (number, has_empty_text) = self.bounded_text(*body, *max)?;
                if let Some(number) = number {
                    self.edge(rule, from, Label::Bounded(number), to);
                }
                if has_empty_text {
                    self.empty(rule, from, to);
                }
            }
            Expr::And(..) | Expr::Minus(..) | Expr::Not(_) => {
                if let &Expr::And(body, chars) = grammar.expr(id)
                    && let Some(max) = self.chars_max(chars)
                    && let Some((number, has_empty_text)) = self.short_text(body, max)?
                {
                    if let Some(number) = number {
                        self.edge(rule, from, Label::Bounded(number), to);
                    }
                    if has_empty_text {
                        self.empty(rule, from, to);
                    }
                    return Ok(());
                }
                let regular = grammar
                    .regular_of(id, self.limits)
                    .map_err(|error| BuildError::not_regular(&error).at(error.span(), grammar.source()))?;
                self.emit_dfa(rule, from, to, &regular)?;
            }
        }
        Ok(())
    }

    /// Returns n if an expression is any text of at most n characters.
    fn chars_max(&self, id: ExprId) -> Option<u32> {
        match *self.grammar.expr(id) {
            Expr::Repeat { body, min: 0, max: Some(max) } => match self.grammar.expr(body) {
                Expr::Class(set) if *set == CharSet::all() => Some(max),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the index of the automaton of the texts that are not empty of a body with so many characters at most, if there are some, and whether the empty text is one; nothing
    /// if the product of both is small, or the bound is none.
    fn short_text(&mut self, body: ExprId, max: u32) -> Result<Option<BoundedText>, BuildError> {
        if let Some(&known) = self.short_numbers.get(&(body, max)) {
            return Ok(known);
        }
        let dfa = self.dfa_of(body)?;
        let has_empty_text = dfa.start().is_some_and(|start| dfa.is_accepting(start));
        let is_bounded =
            dfa.byte_lengths().is_none_or(|(_, longest)| longest.is_some_and(|n| n as u64 <= u64::from(max)));
        let n_written = u64::from(max).saturating_mul(dfa.n_states() as u64);
        let found = if is_bounded || n_written <= SHORT_WRITTEN_MAX {
            None
        } else {
            let number = short_text::automaton(&dfa, max).map(|automaton| self.add_bounded(automaton));
            Some((number, has_empty_text))
        };
        BuildError::check_states(self.n_states as usize, self.limits)?;
        self.short_numbers.insert((body, max), found);
        Ok(found)
    }

    fn add_bounded(&mut self, automaton: RuleAutomaton) -> u32 {
        self.n_states += automaton.n_states() as u64;
        self.bounded.push(automaton);
        self.bounded.len() as u32 - 1
    }

    /// Returns the automaton of a regular expression of the grammar.
    fn dfa_of(&self, id: ExprId) -> Result<Dfa, BuildError> {
        let regular = self
            .grammar
            .regular_of(id, self.limits)
            .map_err(|error| BuildError::not_regular(&error).at(error.span(), self.grammar.source()))?;
        self.budget.check()?;
        Dfa::new_within(&regular, self.limits, &mut |n_steps| self.budget.spend(8 * n_steps))
            .map_err(|error| BuildError::limit(error.limit_name(), error.given(), error.limit()))?
    }

    /// Returns the index of the automaton of the texts that are not empty of a body with so many tokens at most, if there are some, and whether the empty text is one.
    fn bounded_text(&mut self, body: ExprId, max: u32) -> Result<BoundedText, BuildError> {
        if let Some(&known) = self.bounded_numbers.get(&(body, max)) {
            return Ok(known);
        }
        let dfa = self.dfa_of(body)?;
        let has_empty_text = dfa.start().is_some_and(|start| dfa.is_accepting(start));
        let automaton = token_budget::automaton(&dfa, max);
        let number = automaton.map(|automaton| self.add_bounded(automaton));
        BuildError::check_states(self.n_states as usize, self.limits)?;
        self.bounded_numbers.insert((body, max), (number, has_empty_text));
        Ok((number, has_empty_text))
    }

    /// Returns the index of the set of all tokens but some, if any token is left.
    fn token_set(&mut self, tokens: &ExcludedTokens) -> Result<Option<u32>, BuildError> {
        if let Some(&known) = self.set_numbers.get(tokens) {
            return Ok(known);
        }
        self.budget.spend(1 + tokens.names().len() + tokens.ids().len())?;
        let number = self.references.excluded(tokens)?.map(|excluded| self.token_sets.add(excluded));
        self.set_numbers.insert(tokens.clone(), number);
        Ok(number)
    }

    /// Returns `x` and `s` of `x (s x)*`, if both `x` are the same expression: one copy of it is enough.
    fn separated(&self, parts: &[ExprId]) -> Option<(ExprId, ExprId)> {
        let &[item, more] = parts else { return None };
        let &Expr::Repeat { body, min: 0, max: None } = self.grammar.expr(more) else { return None };
        match self.grammar.expr(body) {
            Expr::Sequence(parts) => match **parts {
                [separator, again] if again == item => Some((item, separator)),
                _ => None,
            },
            _ => None,
        }
    }

    fn emit_node(&mut self, piece: &Piece, index: usize, id: NodeId) -> Result<(), BuildError> {
        let &Piece { rule, from, to, .. } = piece;
        let regular = Arc::clone(&self.regulars[index].regular);
        match regular.node(id) {
            Node::Empty => self.empty(rule, from, to),
            Node::Bytes(bytes) => match core::str::from_utf8(bytes) {
                Ok(text) if self.regulars[index].has_markers => self.emit_marker(rule, from, to, text)?,
                _ => self.emit_bytes(rule, from, to, bytes),
            },
            Node::Class(set) => self.emit_class(rule, from, to, set),
            Node::Concat(parts) => self.emit_nodes(rule, from, to, parts, index),
            Node::Union(parts) => self.emit_choice(rule, from, to, parts, |id| What::Node(index, id)),
            Node::Repeat { body, min, max } => {
                self.emit_repeat(piece, What::Node(index, *body), *min, *max)?;
            }
            Node::And(..) | Node::Not(_) | Node::Substring(_) => {
                let mut part = Regular::clone(&regular);
                part.set_root(id);
                self.emit_dfa(rule, from, to, &part)?;
            }
        }
        Ok(())
    }

    fn add_regular(&mut self, regular: Arc<Regular>, has_markers: bool) -> usize {
        let sizes = regular_sizes(&regular);
        self.regulars.push(LoweredRegex { regular, has_markers, sizes });
        self.regulars.len() - 1
    }

    fn emit_external(&mut self, rule: usize, from: u32, to: u32, External { number, has_empty_text }: External) {
        if let Some(number) = number {
            self.edge(rule, from, Label::External(number), to);
        }
        if has_empty_text {
            self.empty(rule, from, to);
        }
    }

    /// Emits the UTF-8 of a set. Sequences with a common suffix share its states.
    fn emit_class(&mut self, rule: usize, from: u32, to: u32, set: &CharSet) {
        if set.ranges().iter().all(|(_, high)| high.is_ascii()) {
            // Classes of single bytes: most classes, white space among them.
            let edges = set.ranges().iter().map(|&(low, high)| (from, Label::Bytes(low as u8, high as u8), to));
            return self.rules[rule].automaton.edges.extend(edges);
        }
        let mut ends: HashMap<SmallVec<[(u8, u8); 4]>, u32> = HashMap::new();
        for sequence in utf8_sequences(set) {
            let mut next = to;
            for start in (1..sequence.len()).rev() {
                let end = SmallVec::from_slice(&sequence[start..]);
                next = match ends.get(&end) {
                    Some(&state) => state,
                    None => {
                        let state = self.state(rule);
                        let (low, high) = sequence[start];
                        self.edge(rule, state, Label::Bytes(low, high), next);
                        ends.insert(end, state);
                        state
                    }
                };
            }
            let (low, high) = sequence[0];
            self.edge(rule, from, Label::Bytes(low, high), next);
        }
    }

    /// Emits nodes of a regular expression, one behind the other.
    fn emit_nodes(&mut self, rule: usize, from: u32, to: u32, parts: &[NodeId], regular: usize) {
        let Some((&last, first)) = parts.split_last() else { return self.empty(rule, from, to) };
        let mut at = from;
        for &part in first {
            let next = self.state(rule);
            self.pending.push(Piece { rule, from: at, to: next, what: What::Node(regular, part) });
            at = next;
        }
        self.pending.push(Piece { rule, from: at, to, what: What::Node(regular, last) });
    }

    fn emit_choice<I: Copy>(&mut self, rule: usize, from: u32, to: u32, parts: &[I], what: impl Fn(I) -> What) {
        self.pending.extend(parts.iter().map(|&part| Piece { rule, from, to, what: what(part) }));
    }

    fn emit_dfa(&mut self, rule: usize, from: u32, to: u32, regular: &Regular) -> Result<(), BuildError> {
        self.budget.check()?;
        let dfa = Dfa::new_within(regular, self.limits, &mut |n_steps| self.budget.spend(8 * n_steps))
            .map_err(|error| BuildError::limit(error.limit_name(), error.given(), error.limit()))??;
        let Some(start) = dfa.start() else { return Ok(()) };
        let base = self.nfa(rule).n_states;
        self.n_states += dfa.n_states() as u64;
        self.nfa(rule).n_states += dfa.n_states() as u32;
        self.empty(rule, from, base + start);
        for state in 0..dfa.n_states() as u32 {
            for (low, high, target) in dfa.edges(state) {
                self.edge(rule, base + state, Label::Bytes(low, high), base + target);
            }
            if dfa.is_accepting(state) {
                self.empty(rule, base + state, to);
            }
        }
        Ok(())
    }

    /// Returns the body and bounds of `what`, if it is a repetition.
    fn repeat(&self, what: What) -> Option<(What, (u32, Option<u32>))> {
        match what {
            What::Expr(id) => match *self.grammar.expr(id) {
                Expr::Repeat { body, min, max } => Some((What::Expr(body), (min, max))),
                _ => None,
            },
            What::Node(index, id) => match *self.regulars[index].regular.node(id) {
                Node::Repeat { body, min, max } => Some((What::Node(index, body), (min, max))),
                _ => None,
            },
        }
    }

    fn emit_repeat(
        &mut self,
        piece: &Piece,
        mut body: What,
        mut min: u32,
        mut max: Option<u32>,
    ) -> Result<(), BuildError> {
        let &Piece { rule, from, to, .. } = piece;
        check_bounds((min, max))?;
        while let Some((inner, bounds)) = self.repeat(body) {
            check_bounds(bounds)?;
            let Some(merged) = merged_bounds((min, max), bounds) else { break };
            (body, (min, max)) = (inner, merged);
        }
        let body_size = match body {
            What::Expr(id) => self.sizes[id.index()],
            What::Node(index, id) => self.regulars[index].sizes[id.index()],
        };
        let n_copies = u64::from(max.unwrap_or(min).max(1));
        // One copy is always emitted, whatever its size; and each copy counts as a state even if the body has none.
        if n_copies > 1 && n_copies.saturating_mul(body_size.max(1)) > UNROLLED_STATES_MAX {
            let counter = Counter::new(min.max(1), max);
            let name = format!("{}{{{min},{}}}", self.rules[rule].name, max.map_or(String::new(), |m| m.to_string()));
            let counted = self.add_rule(&name, Some(counter));
            self.pending.push(Piece { rule: counted.index(), from: 0, to: 1, what: body });
            self.edge(rule, from, Label::Call(counted), to);
            if min == 0 {
                self.empty(rule, from, to);
            }
            return Ok(());
        }
        let mut at = from;
        // The last copy of an open repetition is the one that loops, so that no copy is written twice.
        let n_before_loop = if max.is_none() { min.saturating_sub(1) } else { min };
        for _ in 0..n_before_loop {
            let next = self.state(rule);
            self.pending.push(Piece { rule, from: at, to: next, what: body });
            at = next;
        }
        match max {
            None => {
                let (before, after) = (self.state(rule), self.state(rule));
                self.empty(rule, at, before);
                self.pending.push(Piece { rule, from: before, to: after, what: body });
                self.empty(rule, after, before);
                self.empty(rule, after, to);
                if min == 0 {
                    self.empty(rule, before, to);
                }
            }
            Some(max) => {
                for _ in min..max {
                    let next = self.state(rule);
                    self.empty(rule, at, to);
                    self.pending.push(Piece { rule, from: at, to: next, what: body });
                    at = next;
                }
                self.empty(rule, at, to);
            }
        }
        Ok(())
    }
}

const _: () = assert!(BOUND_MAX == Counter::BOUND_MAX, "bounds within the limits are those of counters");

/// Checks the bounds of a repetition: those of a grammar that was not read from a text may be any.
fn check_bounds((min, max): (u32, Option<u32>)) -> Result<(), BuildError> {
    let (given, limit) = (max.unwrap_or(min), BOUND_MAX);
    match given > limit {
        true => Err(BuildError::limit("copies of a repetition (repeat_max)", given.into(), limit.into())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::determinize::determinize;
    use super::*;
    use crate::frontend::ebnf;

    pub(super) struct NoControls;

    impl References for NoControls {
        fn for_each_spelling(&self, _text: &str, _visit: &mut dyn FnMut(usize, u32)) {}

        fn excluded(&self, tokens: &ExcludedTokens) -> Result<Option<TokenRanges>, BuildError> {
            Ok(Some(tokens.ids().into()))
        }

        fn external(&self, _schema: &SchemaOperand) -> External {
            unreachable!("there are no schemas")
        }

        fn resolve(&self, name: &ControlRef) -> Result<SmallVec<[u32; 2]>, BuildError> {
            match name {
                ControlRef::Id(id) => Ok(SmallVec::from_slice(&[*id, *id + 1])),
                ControlRef::Name(name) => Err(BuildError::unknown_control(name, None)),
            }
        }
    }

    pub(super) fn lowered(text: &str, limits: &Limits) -> Result<Network<Nfa>, BuildError> {
        let grammar = ebnf::parse(text, "root", limits).unwrap().grammar;
        Ok(lower(&grammar, &NoControls, limits, &CompileBudget::none())?.network)
    }

    fn automaton(text: &str) -> RuleAutomaton {
        let network = lowered(text, &Limits::default()).unwrap();
        assert_eq!(network.rules.len(), 1, "everything is written out in {text}");
        determinize(&network.rules[0].automaton, &CompileBudget::none()).unwrap()
    }

    #[test]
    fn bounds_that_no_counter_has_are_refused() {
        for (min, max) in [(0, Some(u32::MAX)), (u32::MAX, None), (u32::MAX, Some(u32::MAX))] {
            for body in [r#"root ::= "a""#, "root ::= /ab?/"] {
                let grammar = ebnf::parse(body, "root", &Limits::default()).unwrap().grammar.repeat(min, max);
                let nested = grammar.repeat(2, Some(3));
                for grammar in [grammar, nested] {
                    let lowered = lower(&grammar, &NoControls, &Limits::default(), &CompileBudget::none());
                    let error = lowered.map(drop).unwrap_err();
                    assert_eq!(error.limit_met(), Some((u64::from(u32::MAX), u64::from(u32::MAX - 1))), "{error}");
                }
            }
        }
    }

    #[test]
    fn different_spellings_of_a_language_give_one_automaton() {
        for spellings in [
            &[r#"root ::= "ab" | "ac""#, r#"root ::= "a" [bc]"#, "root ::= /a(b|c)/", r#"root ::= [a] ([a-c] - "a")"#]
                [..],
            &[r#"root ::= "x"{2,}"#, r#"root ::= "x" "x" "x"*"#, r#"root ::= "x" "x"+"#, "root ::= /xx+/"],
            &[
                r#"root ::= "a"{0,2}"#,
                r#"root ::= ("a" "a"?)?"#,
                r#"root ::= "" | "a" | "aa""#,
                r#"root ::= ("a"?){2}"#,
            ],
            &[r#"root ::= "é"i"#, "root ::= [éÉ]", "root ::= /é/i", r#"root ::= /./s & "é"i"#],
            &["root ::= [^\\0-\u{10FFFF}] | \"z\"", r#"root ::= "z""#],
        ] {
            let expected = automaton(spellings[0]);
            for text in &spellings[1..] {
                assert_eq!(automaton(text), expected, "{text} and {}", spellings[0]);
            }
        }
    }

    #[test]
    fn large_counts_become_counters_and_small_ones_states() {
        let counters = |text: &str| -> Vec<(u32, Option<u32>)> {
            let network = lowered(text, &Limits::default()).unwrap();
            network.rules.iter().filter_map(|rule| rule.counter).map(|counter| (counter.min(), counter.max())).collect()
        };
        assert_eq!(counters("root ::= [a-z]{1,1000000}"), [(1, Some(1_000_000))]);
        assert_eq!(counters("root ::= [a-z]{0,40}"), [(1, Some(40))], "none at all is an epsilon edge beside the call");
        assert_eq!(counters("root ::= /[a-z]{50,}/"), [(50, None)]);
        assert_eq!(counters("root ::= [a-z]{4} [a-z]* ([a-z]+){0,1}"), []);
        assert_eq!(counters("root ::= (([a-z]{99} \",\"){99} \";\"){99}"), [(99, Some(99)); 3]);
    }

    #[test]
    fn copies_of_copies_are_counted_once() {
        let counters = |text: &str| -> Vec<(u32, Option<u32>)> {
            let network = lowered(text, &Limits::default()).unwrap();
            network.rules.iter().filter_map(|rule| rule.counter).map(|counter| (counter.min(), counter.max())).collect()
        };
        assert_eq!(counters("root ::= (([a-z]{99}){99}){99}"), [(970_299, Some(970_299))]);
        assert_eq!(counters("root ::= (([a-z]{3,}){3,}){4,}"), [(36, None)]);
        assert_eq!(counters("root ::= /((a{0,9})*){4,}/"), []);
        assert_eq!(
            counters("root ::= (\"ab\"{40}){2,50}"),
            [(2, Some(50)), (40, Some(40))],
            "80 or 120 copies, not 81"
        );
        assert_eq!(counters("root ::= ([a]{1,100000}){1,100000}"), [(1, Some(100_000)); 2], "more than 32 bits");
    }

    #[test]
    fn a_name_with_several_ids_is_a_choice() {
        let nfa = &lowered("root ::= <[7]>", &Limits::default()).unwrap().rules[0].automaton;
        let labels: Vec<Label> = nfa.edges.iter().map(|edge| edge.1).collect();
        assert_eq!(labels, [7, 8].map(|token| Label::Control(ControlLetter::named(token))));
    }

    #[test]
    fn errors_point_at_the_expression() {
        let error = lowered("root ::= \"a\" <nobody>", &Limits::default()).unwrap_err();
        assert_eq!(error.span().map(|span| (span.start, span.end)), Some((13, 21)));
        assert!(format!("{error:#}").contains("^^^^^^^^"), "{error:#}");
        let limits = Limits { automaton_states_max: 10, ..Limits::default() };
        let error = lowered("root ::= \"a text of more than ten states\"", &limits).unwrap_err();
        assert!(error.limit_met().is_some_and(|(given, limit)| given > limit && limit == 10), "{error}");
    }
}
