//! Conversion of a normal form back to a grammar, for the reference recognizer and explanations.

use super::NormalGrammar;
use super::network::{ControlKind, ControlLetter, Label, RuleAutomaton};
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, GrammarBuilder, RuleId};
use crate::machine::{Register, RegisterRule};
use std::collections::HashMap;

impl NormalGrammar {
    /// Returns a right-linear grammar of the same language: a rule for each state, which reads a letter and then the next state's rule. For
    /// automata with a register there is a rule for each state and register, up to [`REGISTER_STATES_MAX`] of them; with more, registers are
    /// ignored and the grammar has a larger language.
    pub fn to_grammar(&self) -> Grammar {
        let mut builder = GrammarBuilder::new();
        let rules = &self.network.rules;
        // The rule itself, then one for each state.
        let mut whole: Vec<RuleId> = Vec::with_capacity(rules.len());
        let mut states: Vec<Vec<RuleId>> = Vec::with_capacity(rules.len());
        let mut spreads: Vec<Spread> = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            whole.push(builder.rule(&format!("{}-{index}", name_of(&rule.name))));
            let spread = Spread::new(&rule.automaton);
            let rules = (0..spread.places.len()).map(|state| format!("{}-{index}-{state}", name_of(&rule.name)));
            states.push(rules.map(|name| builder.rule(&name)).collect());
            spreads.push(spread);
        }
        for (index, rule) in rules.iter().enumerate() {
            let start = builder.push(Expr::Rule(states[index][0]));
            let body = match &rule.counter {
                None => start,
                Some(counter) => builder.push(Expr::Repeat { body: start, min: counter.min(), max: counter.max() }),
            };
            builder.define(whole[index], body);
            let spread = &spreads[index];
            for (place, &(state, count)) in spread.places.iter().enumerate() {
                let mut choices: Vec<ExprId> = Vec::new();
                if spread.can_end(&rule.automaton, state, count) {
                    choices.push(builder.push(Expr::Empty));
                }
                for edge in rule.automaton.edges(state) {
                    let Some(target) = spread.target(&rule.automaton, edge.target, count) else { continue };
                    let letter = match edge.label {
                        Label::Call(called) => builder.push(Expr::Rule(whole[rule.callee(called).index()])),
                        Label::Control(letter) => builder.push(control(&rule.automaton, letter)),
                        Label::External(_) | Label::Bounded(_) => {
                            unreachable!("all automata are called in a finished network")
                        }
                        Label::Bytes(low, high) => {
                            let bytes: Vec<ExprId> =
                                (low..=high).map(|byte| builder.push(Expr::Literal([byte].into()))).collect();
                            builder.push(Expr::Choice(bytes.into()))
                        }
                    };
                    let next = builder.push(Expr::Rule(states[index][target]));
                    choices.push(builder.push(Expr::Sequence([letter, next].into())));
                }
                let body = builder.push(Expr::Choice(choices.into()));
                builder.define(states[index][place], body);
            }
        }
        let mut root = whole[self.network.root.index()];
        if self.has_empty_text {
            let (whole, empty) = (builder.rule_ref(root), builder.empty());
            let body = builder.choice([whole, empty]);
            root = builder.rule("text");
            builder.define(root, body);
        }
        builder.finish(root).expect("every rule is defined")
    }

    /// Returns about how much memory the automata take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.network.rules.iter().map(|rule| size_of_val(rule) + rule.automaton.memory_bytes()).sum()
    }
}

/// Returns the expression of a letter that is tokens.
fn control(automaton: &RuleAutomaton, letter: ControlLetter) -> Expr {
    match (letter.kind(), automaton.token_sets()) {
        (ControlKind::Set(set), Some(sets)) => {
            let ranges = sets.excluded(set).iter().map(|&(low, high)| low..=high);
            Expr::TokenExcept(ExcludedTokens::of_ranges(ranges, []))
        }
        (ControlKind::Token(token), _) => Expr::Control(ControlRef::Id(token)),
        (ControlKind::Set(_), None) => unreachable!("the automaton has the sets that it reads"),
    }
}

/// Returns a valid rule name.
fn name_of(name: &str) -> String {
    name.replace(' ', "-")
}

/// Most pairs of a state and a register of one rule that get rules of their own.
const REGISTER_STATES_MAX: usize = 1 << 18;

/// The states of a rule, or its reachable pairs of a state and a register.
struct Spread {
    places: Vec<(u32, Register)>,
    /// With a register: the index of each pair of a state and a register.
    numbers: Option<HashMap<(u32, Register), usize>>,
}

impl Spread {
    fn new(automaton: &RuleAutomaton) -> Self {
        let plain =
            || Spread { places: (0..automaton.n_states() as u32).map(|state| (state, 0)).collect(), numbers: None };
        match automaton.strictest_register_rule() {
            None => return plain(),
            // Nearly every residue is reachable.
            Some(RegisterRule::Residue(residue)) if residue.modulus > REGISTER_STATES_MAX as u64 => return plain(),
            Some(_) => {}
        }
        let mut places: Vec<(u32, Register)> = vec![(0, 0)];
        let mut numbers = HashMap::from([((0, 0), 0)]);
        let mut next = 0;
        while let Some(&(state, count)) = places.get(next) {
            next += 1;
            for edge in automaton.edges(state) {
                let Some(place) = advance(automaton, edge.target, count) else { continue };
                numbers.entry(place).or_insert_with(|| {
                    places.push(place);
                    places.len() - 1
                });
            }
            if places.len() > REGISTER_STATES_MAX {
                return plain();
            }
        }
        Spread { places, numbers: Some(numbers) }
    }

    fn target(&self, automaton: &RuleAutomaton, state: u32, count: Register) -> Option<usize> {
        match &self.numbers {
            None => Some(state as usize),
            Some(numbers) => advance(automaton, state, count).map(|place| numbers[&place]),
        }
    }

    fn can_end(&self, automaton: &RuleAutomaton, state: u32, count: Register) -> bool {
        match automaton.register_rule(state).filter(|_| self.numbers.is_some()) {
            Some(register_rule) => register_rule.can_end(count),
            None => automaton.is_accepting(state),
        }
    }
}

/// Returns the state with its register after it is entered, or `None` if the register rule refuses that.
fn advance(automaton: &RuleAutomaton, state: u32, count: Register) -> Option<(u32, Register)> {
    let count = automaton.register_rule(state).map_or(Some(count), |register_rule| register_rule.advance(count))?;
    Some((state, count))
}
