//! A normal form as a grammar again, for what works on grammars as written.

use super::NormalGrammar;
use super::network::{Label, NetRuleId};
use crate::grammar::{ControlRef, Expr, ExprId, Grammar, GrammarBuilder, RuleId};

impl NormalGrammar {
    /// Returns a grammar of the same language: a rule for each state, which reads a letter and goes on as the next state's rule.
    pub fn to_grammar(&self) -> Grammar {
        let mut builder = GrammarBuilder::new();
        let rules = &self.network.rules;
        // The rule itself, then one for each state.
        let mut whole: Vec<RuleId> = Vec::with_capacity(rules.len());
        let mut states: Vec<Vec<RuleId>> = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            whole.push(builder.rule(&format!("{}-{index}", name_of(&rule.name))));
            let n_states = rule.automaton.n_states();
            states.push(
                (0..n_states).map(|state| builder.rule(&format!("{}-{index}-{state}", name_of(&rule.name)))).collect(),
            );
        }
        let called = |builder: &mut GrammarBuilder, rule: NetRuleId| builder.push(Expr::Rule(whole[rule.index()]));
        for (index, rule) in rules.iter().enumerate() {
            let start = builder.push(Expr::Rule(states[index][0]));
            let body = match &rule.counter {
                None => start,
                Some(counter) => builder.push(Expr::Repeat { body: start, min: counter.min(), max: counter.max() }),
            };
            builder.define(whole[index], body);
            for state in 0..rule.automaton.n_states() as u32 {
                let mut choices: Vec<ExprId> = Vec::new();
                if rule.automaton.is_accepting(state) {
                    choices.push(builder.push(Expr::Empty));
                }
                for edge in rule.automaton.edges(state) {
                    let letter = match edge.label {
                        Label::Call(rule) => called(&mut builder, rule),
                        Label::Control(id) => builder.push(Expr::Control(ControlRef::Id(id))),
                        Label::Bytes(low, high) => {
                            let bytes: Vec<ExprId> =
                                (low..=high).map(|byte| builder.push(Expr::Literal([byte].into()))).collect();
                            builder.push(Expr::Choice(bytes.into()))
                        }
                    };
                    let next = builder.push(Expr::Rule(states[index][edge.target as usize]));
                    choices.push(builder.push(Expr::Sequence([letter, next].into())));
                }
                let body = builder.push(Expr::Choice(choices.into()));
                builder.define(states[index][state as usize], body);
            }
        }
        builder.finish(whole[self.network.root.index()]).expect("every rule is defined")
    }

    /// Returns about how much memory the automata take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.network.rules.iter().map(|rule| size_of_val(rule) + rule.automaton.memory_bytes()).sum()
    }
}

/// Returns a name that grammars can have.
fn name_of(name: &str) -> String {
    name.replace(' ', "-")
}
