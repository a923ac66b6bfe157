//! From a grammar to its normal form, one rewrite per file.
//!
//! ```text
//! Grammar --lower--> epsilon automata --nullable--> every call reads something --determinize--> one minimal automaton per rule
//!         --left_corner--> no rule begins with itself --inline, absorb--> few rules, loops instead of trailing recursion
//! ```
//!
//! Every pass preserves the language exactly and nothing else about the grammar, which is why explanations use the grammar as written.

mod absorb;
mod as_grammar;
mod compile_budget;
mod determinize;
mod error;
mod inline;
mod left_corner;
mod lower;
mod minimize;
mod network;
mod nullable;
mod order;
mod short_text;
mod token_budget;
mod token_sets;

pub use error::BuildError;

pub(crate) use compile_budget::{CompileBudget, steps_of_sorting};
pub(crate) use determinize::Splitter;
pub(crate) use lower::{External, References};
pub(crate) use network::{
    Callees, ControlKind, ControlLetter, Determinism, Edge, FinishedNetwork, FinishedRule, Label, NetRuleId,
    RuleAutomaton,
};
pub(crate) use token_sets::{TokenRanges, TokenSets};

use crate::grammar::analysis::reachable_rules;
use crate::grammar::{Expr, Grammar, RuleId, WarningKind};
use crate::limits::Limits;
use hashbrown::HashSet;
use lower::LoweredGrammar;
use network::{NetRule, Network};

/// A grammar in normal form: no rule is nullable, left-recursive or unproductive.
#[derive(Clone, Debug)]
pub(crate) struct NormalGrammar {
    pub network: FinishedNetwork,
    /// Whether the empty string is in the language; the network has all other strings.
    pub has_empty_text: bool,
}

impl NormalGrammar {
    /// Tells whether there are texts other than the empty one.
    pub fn has_other_texts(&self) -> bool {
        !self.network.rule(self.network.root).automaton.edges(0).is_empty()
    }
}

/// Returns the normal form of `grammar`, and the reachable rules that no string matches, such as `"a" & "b"`.
///
/// # Errors
/// If the language is empty, a control token is unknown, an operand is not regular, a limit is met, or `budget` is exhausted.
pub(crate) fn normalize(
    grammar: &Grammar,
    references: &dyn References,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<(NormalGrammar, Vec<RuleId>), BuildError> {
    let (normal, empty_rules) = normalize_part(grammar, references, limits, budget)?;
    if !normal.has_empty_text && !normal.has_other_texts() {
        let rule = grammar.rule(grammar.root());
        let reasons = reasons_of_emptiness(grammar, &empty_rules, limits);
        return Err(BuildError::empty_language(&rule.name, reasons).at(rule.span, grammar.source()));
    }
    Ok((normal, empty_rules))
}

/// Most reasons why a grammar matches nothing that its error has.
const REASONS_MAX: usize = 3;

/// Returns what in a grammar without sentences matches nothing by itself: rules that use no other such rule, with their lines, and what exclusions leave nothing of.
fn reasons_of_emptiness(grammar: &Grammar, empty_rules: &[RuleId], limits: &Limits) -> Vec<String> {
    let is_empty: HashSet<RuleId> = empty_rules.iter().copied().collect();
    let is_by_itself = |rule: RuleId| {
        let mut pending = vec![grammar.rule(rule).body];
        let mut seen = HashSet::new();
        while let Some(id) = pending.pop() {
            match grammar.expr(id) {
                Expr::Rule(used) if is_empty.contains(used) => return false,
                expr if seen.insert(id) => expr.for_each_operand(|operand| pending.push(operand)),
                _ => {}
            }
        }
        true
    };
    let others = empty_rules.iter().copied().filter(|&rule| rule != grammar.root());
    let rules = others.filter(|&rule| is_by_itself(rule)).take(REASONS_MAX).map(|rule| {
        let rule = grammar.rule(rule);
        let line = grammar.source().zip(rule.span).map(|(source, span)| span.line_column(source).0);
        let place = line.map_or(String::new(), |line| format!(" (line {line})"));
        format!("rule `{}`{place} matches nothing", rule.name)
    });
    let exclusions = grammar.exclusion_warnings(limits).into_iter();
    let emptied = exclusions.filter(|warning| warning.kind() == WarningKind::Suspicious);
    rules.chain(emptied.take(REASONS_MAX).map(|warning| warning.to_string())).collect()
}

/// As [`normalize`], of a grammar that may match nothing.
///
/// # Errors
/// As [`normalize`], but for an empty language.
pub(crate) fn normalize_part(
    grammar: &Grammar,
    references: &dyn References,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<(NormalGrammar, Vec<RuleId>), BuildError> {
    let LoweredGrammar { network: mut lowered, token_sets, bounded } =
        lower::lower(grammar, references, limits, budget)?;
    let words = nullable::words(&lowered, budget)?;
    let root_words = words[lowered.root.index()];
    let is_empty = |&rule: &RuleId| words[rule.index()] == nullable::Words::default();
    let is_used = reachable_rules(grammar);
    let used = (0..grammar.rules().len()).filter(|&rule| is_used[rule]).map(RuleId::new);
    let empty_rules = used.filter(is_empty).collect();
    if root_words == nullable::Words::default() {
        return Ok((NormalGrammar { network: FinishedNetwork::of_nothing(), has_empty_text: false }, empty_rules));
    }
    budget.check()?;
    nullable::factor(&mut lowered, &words);
    budget.check()?;
    let mut network = Network { rules: Vec::with_capacity(lowered.rules.len()), root: lowered.root };
    let mut n_states = 0;
    for rule in lowered.rules {
        let automaton = determinize::determinize(&rule.automaton, budget)?;
        n_states += automaton.n_states();
        BuildError::check_states(n_states, limits)?;
        network.rules.push(NetRule { name: rule.name, automaton, counter: rule.counter });
    }
    inline::drop_uncalled(&mut network);
    budget.check()?;
    left_corner::remove_left_recursion(&mut network, limits, budget)?;
    inline::inline(&mut network, limits, budget)?;
    budget.check()?;
    Ok((
        NormalGrammar { network: network.finished(token_sets, bounded), has_empty_text: root_words.empty },
        empty_rules,
    ))
}
