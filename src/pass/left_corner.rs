//! Removal of left recursion.
//!
//! A rule that can begin with itself (`e ::= e "+" t | t`) would be called for ever without reading a byte. The simple method —
//! substitute and split off a tail rule — works on one rule at a time, grows exponentially over mutual recursion, and fails on
//! recursion hidden behind nullable symbols (those were factored out before).
//!
//! The method here takes a whole strongly connected component of the relation "can begin with a call of" at once. Seen from the
//! bottom of a left spine, the text begins with a letter outside the component, completes a member B, continues after the B of some
//! rule that begins with B, completes that rule, and so on up to the member A that was called. That is a regular language over
//! the other letters: one automaton, with a state "B complete" for each member, that starts with the first letters of members that
//! lie outside the component, has an epsilon edge from "B complete" to every state reached by an edge `start --B--> q`, and accepts
//! at "A complete". Only the accepting state differs among members. For
//!
//! ```text
//! e ::= e "+" t | t          start --t--> [e complete] --"+"--> . --t--> [e complete]
//! ```
//!
//! A counted rule in such a component is first written `X{m,n} = X X{m-1,n-1}`, which takes the counter out of the left corner.
//!
//! Members that are only called at a left corner of their component are not called any more, and get no automaton.
//!
//! Cost: the automata of a component are copied once per member that is still called.

use super::BuildError;
use super::compile_budget::CompileBudget;
use super::determinize::determinize;
use super::network::{Edge, Label, NetRule, NetRuleId, Network, Nfa, RuleAutomaton};
use crate::limits::Limits;
use crate::machine::Counter;
use crate::util::components;
use hashbrown::HashMap;

/// Returns an equivalent network in which no rule can begin with itself.
pub(crate) fn remove_left_recursion(
    network: &mut Network<RuleAutomaton>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<(), BuildError> {
    let mut n_states: usize = network.rules.iter().map(|rule| rule.automaton.n_states()).sum();
    let components = left_components(network);
    let mut is_called = called_from_elsewhere(network, &components);
    for mut members in components {
        let n_rules_before = network.rules.len();
        take_out_counters(network, &mut members, budget)?;
        is_called.resize(network.rules.len(), false);
        // The rule of the remaining copies is no member.
        for rule in network.rules[n_rules_before..].iter().filter(|rule| rule.counter.is_some()) {
            rule.automaton.for_each_call(|callee| is_called[callee.index()] = true);
        }
        let spine = Spine::new(network, &members);
        spine.for_each_call(|callee| is_called[callee.index()] = true);
        let n_called = members.iter().filter(|id| is_called[id.index()]).count();
        n_states = n_states.saturating_add(spine.n_states().saturating_mul(n_called));
        if n_states > limits.automaton_states_max {
            return Err(BuildError::limit(
                "states of the automata of left-recursive rules (automaton_states_max)",
                n_states as u64,
                limits.automaton_states_max as u64,
            ));
        }
        for (index, &id) in members.iter().enumerate() {
            network.rules[id.index()].automaton = if is_called[id.index()] {
                budget.spend(spine.n_arcs())?;
                determinize(&spine.ending_with(index), budget)?
            } else {
                RuleAutomaton::of_nothing()
            };
        }
    }
    Ok(())
}

/// Returns by rule whether it is the root or is called by a rule outside its component.
fn called_from_elsewhere(network: &Network<RuleAutomaton>, components: &[Vec<NetRuleId>]) -> Vec<bool> {
    let mut component_of = vec![usize::MAX; network.rules.len()];
    for (index, members) in components.iter().enumerate() {
        members.iter().for_each(|id| component_of[id.index()] = index);
    }
    let mut is_called = vec![false; network.rules.len()];
    is_called[network.root.index()] = true;
    for (caller, rule) in network.rules.iter().enumerate() {
        rule.automaton.for_each_call(|callee| {
            is_called[callee.index()] |= component_of[callee.index()] != component_of[caller];
        });
    }
    is_called
}

/// Returns the components of the left-corner relation that have a cycle.
fn left_components(network: &Network<RuleAutomaton>) -> Vec<Vec<NetRuleId>> {
    let corners = network.rules.iter().map(|rule| left_corners(&rule.automaton).collect());
    let corners: Vec<Vec<NetRuleId>> = corners.collect();
    let all = components(corners.len(), |rule: NetRuleId| &corners[rule.index()]);
    let is_cyclic = |members: &&[NetRuleId]| members.len() > 1 || corners[members[0].index()].contains(&members[0]);
    all.iter().filter(is_cyclic).map(<[NetRuleId]>::to_vec).collect()
}

fn left_corners(automaton: &RuleAutomaton) -> impl Iterator<Item = NetRuleId> + '_ {
    automaton.edges(0).iter().filter_map(|edge| match edge.label {
        Label::Call(rule) => Some(rule),
        _ => None,
    })
}

/// Rewrites each counted member `X{m,n}` as `X X{m-1,n-1}`, where the body X and the remaining copies are new rules; X joins the component.
fn take_out_counters(
    network: &mut Network<RuleAutomaton>,
    members: &mut Vec<NetRuleId>,
    budget: &CompileBudget,
) -> Result<(), BuildError> {
    for position in 0..members.len() {
        let id = members[position];
        let Some(counter) = network.rules[id.index()].counter.take() else { continue };
        let name = network.rule(id).name.clone();
        let body_automaton = network.rule(id).automaton.clone();
        let mut add = |automaton: RuleAutomaton, counter: Option<Counter>| {
            network.rules.push(NetRule { name: name.clone(), automaton, counter });
            NetRuleId::new(network.rules.len() - 1)
        };
        let body = add(body_automaton.clone(), None);
        let mut nfa = Nfa::new();
        let after_first = nfa.state();
        nfa.edges.push((0, Label::Call(body), after_first));
        if counter.min() == 1 {
            nfa.epsilons.push((after_first, 1));
        }
        let rest_max = counter.max().map(|max| max - 1);
        if rest_max != Some(0) {
            let rest = add(body_automaton, Some(Counter::new((counter.min() - 1).max(1), rest_max)));
            nfa.edges.push((after_first, Label::Call(rest), 1));
        }
        network.rules[id.index()].automaton = determinize(&nfa, budget)?;
        members.push(body);
    }
    Ok(())
}

/// The common automaton of a component.
struct Spine {
    nfa: Nfa,
    /// The state "B complete" of each member.
    complete: Vec<u32>,
}

impl Spine {
    fn new(network: &Network<RuleAutomaton>, members: &[NetRuleId]) -> Self {
        let mut nfa = Nfa::new();
        let complete: Vec<u32> = members.iter().map(|_| nfa.state()).collect();
        let positions: HashMap<NetRuleId, usize> = members.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        for (index, &id) in members.iter().enumerate() {
            let automaton = &network.rule(id).automaton;
            let base = nfa.embed(automaton);
            for state in automaton.accepting_states() {
                nfa.epsilons.push((base + state, complete[index]));
            }
            for &Edge { label, target } in automaton.edges(0) {
                let member = match label {
                    Label::Call(callee) => positions.get(&callee),
                    _ => None,
                };
                match member {
                    Some(&member) => nfa.epsilons.push((complete[member], base + target)),
                    None => nfa.edges.push((nfa.start, label, base + target)),
                }
            }
        }
        Spine { nfa, complete }
    }

    fn n_states(&self) -> usize {
        self.nfa.n_states as usize
    }

    fn n_arcs(&self) -> usize {
        self.nfa.edges.len() + self.nfa.epsilons.len()
    }

    /// Calls `visit` with each rule that is still called. The copies of start states are reached only where a rule returns to its start
    /// after reading something.
    fn for_each_call(&self, mut visit: impl FnMut(NetRuleId)) {
        let mut is_entered = vec![false; self.n_states()];
        is_entered[self.nfa.start as usize] = true;
        self.nfa.edges.iter().for_each(|&(_, _, to)| is_entered[to as usize] = true);
        self.nfa.epsilons.iter().for_each(|&(_, to)| is_entered[to as usize] = true);
        for &(from, label, _) in &self.nfa.edges {
            if let (Label::Call(callee), true) = (label, is_entered[from as usize]) {
                visit(callee);
            }
        }
    }

    fn ending_with(&self, member: usize) -> Nfa {
        let mut nfa = self.nfa.clone();
        nfa.epsilons.push((self.complete[member], nfa.accept));
        nfa
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(b: u8) -> Label {
        Label::Bytes(b, b)
    }

    fn network(rules: &[&[(u32, Label, u32)]]) -> Network<RuleAutomaton> {
        let rules = rules.iter().map(|edges| {
            let n_states = 2 + edges.iter().map(|edge| edge.0.max(edge.2)).max().unwrap_or(0);
            let nfa = Nfa { n_states, start: 0, accept: 1, edges: edges.to_vec(), epsilons: vec![] };
            NetRule { name: "r".into(), automaton: determinize(&nfa, &CompileBudget::none()).unwrap(), counter: None }
        });
        Network { rules: rules.collect(), root: NetRuleId::new(0) }
    }

    fn call(index: usize) -> Label {
        Label::Call(NetRuleId::new(index))
    }

    fn matches(automaton: &RuleAutomaton, text: &[u8]) -> bool {
        let end = text.iter().try_fold(0, |state, &b| {
            let reads = |edge: &&Edge| matches!(edge.label, Label::Bytes(low, high) if low <= b && b <= high);
            automaton.edges(state).iter().find(reads).map(|edge| edge.target)
        });
        end.is_some_and(|state| automaton.is_accepting(state))
    }

    #[test]
    fn direct() {
        // e ::= e "+" "1" | "1"
        let mut network = network(&[&[(0, call(0), 2), (2, byte(b'+'), 3), (3, byte(b'1'), 1), (0, byte(b'1'), 1)]]);
        remove_left_recursion(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        let e = &network.rules[0].automaton;
        assert!(left_corners(e).next().is_none());
        for (text, verdict) in [("1", true), ("1+1+1", true), ("1+", false), ("+1", false)] {
            assert_eq!(matches(e, text.as_bytes()), verdict, "{text}");
        }
    }

    #[test]
    fn indirect_through_two_rules() {
        // a ::= b "x" | "p";  b ::= a "y" | "q"
        let mut network = network(&[
            &[(0, call(1), 2), (2, byte(b'x'), 1), (0, byte(b'p'), 1)],
            &[(0, call(0), 2), (2, byte(b'y'), 1), (0, byte(b'q'), 1)],
        ]);
        remove_left_recursion(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        let a = &network.rules[0].automaton;
        for (text, verdict) in [("p", true), ("qx", true), ("pyx", true), ("qxyx", true), ("py", false), ("q", false)] {
            assert_eq!(matches(a, text.as_bytes()), verdict, "{text}");
        }
        assert_eq!(network.rules[1].automaton.n_states(), 1, "b is not called any more");
    }

    #[test]
    fn a_member_called_elsewhere_keeps_its_automaton() {
        // r ::= "." b;  a ::= b "x" | "p";  b ::= a "y" | "q"
        let mut network = network(&[
            &[(0, byte(b'.'), 2), (2, call(2), 1)],
            &[(0, call(2), 2), (2, byte(b'x'), 1), (0, byte(b'p'), 1)],
            &[(0, call(1), 2), (2, byte(b'y'), 1), (0, byte(b'q'), 1)],
        ]);
        remove_left_recursion(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        assert!(matches(&network.rules[2].automaton, b"qxy"));
        assert!(matches(&network.rules[2].automaton, b"py"));
    }

    #[test]
    fn through_a_counter() {
        // s ::= c | "b";  c ::= (s "a"){2,3}
        let mut network = network(&[&[(0, call(1), 1), (0, byte(b'b'), 1)], &[(0, call(0), 2), (2, byte(b'a'), 1)]]);
        network.rules[1].counter = Some(Counter::new(2, Some(3)));
        remove_left_recursion(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        assert!(left_components(&network).is_empty());
    }
}
