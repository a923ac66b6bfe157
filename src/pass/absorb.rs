//! Trailing recursion, turned into loops.
//!
//! In `e ::= "1" ("+" e)*` the inner `e` is called, and after it returns the outer one may continue with `"+" e` — but so may the inner
//! one. Calling would push a frame for each `+`, and after each number the text could continue from every frame. If the call
//! returns to an accepting state r, and every continuation of r is also one of each accepting state f of the rule, then
//! `L(e) L(r) = L(e)`: the call may as well *jump* to the rule's start. This turns `s ::= s s | [a-z ]` into `[a-z ]+`, expression
//! grammars into deterministic ones, and right recursion into loops.
//!
//! Inclusion of the continuations of r in those of f is checked on the automaton with labels as letters: a walk over pairs of states,
//! at most [`PAIRS_MAX`] of them, and [`EDGES_MAX`] edges compared in all. A check that would be larger counts as failed: the call
//! stays, which is slower and exact as well.

use super::BuildError;
use super::compile_budget::CompileBudget;
use super::determinize::determinize;
use super::network::{Determinism, Label, NetRuleId, Nfa, RuleAutomaton};
use hashbrown::HashSet;

const PAIRS_MAX: usize = 4096;
/// Most edges that all checks of one round compare: with many accepting states and many returns there are many checks.
const EDGES_MAX: usize = 1 << 20;
const ROUNDS_MAX: usize = 8;

/// Returns the automaton of the rule `id`, which has no counter, with calls of itself replaced by jumps where that is exact.
pub(crate) fn absorb(
    id: NetRuleId,
    mut automaton: RuleAutomaton,
    budget: &CompileBudget,
) -> Result<RuleAutomaton, BuildError> {
    for _ in 0..ROUNDS_MAX {
        budget.spend(automaton.all_edges().len())?;
        let Some(nfa) = absorbed(id, &automaton) else { break };
        automaton = determinize(&nfa, budget)?;
    }
    Ok(automaton)
}

fn absorbed(id: NetRuleId, automaton: &RuleAutomaton) -> Option<Nfa> {
    let returns: HashSet<u32> =
        automaton.all_edges().iter().filter(|e| e.label == Label::Call(id)).map(|e| e.target).collect();
    if returns.is_empty() {
        return None;
    }
    let mut returns: Vec<u32> = returns.into_iter().collect();
    // Sorted, so that what the bound cuts off does not depend on hashing.
    returns.sort_unstable();
    let mut n_edges_left = EDGES_MAX;
    let is_jump = |&state: &u32| {
        automaton.is_pure_end(state)
            || (automaton.determinism() == Determinism::Minimal
                && automaton.is_accepting(state)
                && automaton.accepting_states().all(|end| follows_too(automaton, state, end, &mut n_edges_left)))
    };
    let jumps: HashSet<u32> = returns.into_iter().filter(is_jump).collect();
    if jumps.is_empty() {
        return None;
    }
    let mut nfa = Nfa::new();
    let base = nfa.embed(automaton);
    nfa.epsilons.push((nfa.start, base));
    nfa.epsilons.extend(automaton.accepting_states().map(|state| (base + state, nfa.accept)));
    let (others, calls): (Vec<_>, Vec<_>) =
        nfa.edges.iter().partition(|edge| !(edge.1 == Label::Call(id) && jumps.contains(&(edge.2 - base))));
    nfa.edges = others;
    nfa.epsilons.extend(calls.iter().map(|&(from, _, _)| (from, base)));
    Some(nfa)
}

/// Returns whether every word accepted from `small` is also accepted from `large`. Subtracts the edges that it compares from
/// `n_edges_left`; when none are left, the answer is no.
fn follows_too(automaton: &RuleAutomaton, small: u32, large: u32, n_edges_left: &mut usize) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![(small, large)];
    while let Some((a, b)) = pending.pop() {
        if a == b || !seen.insert((a, b)) {
            continue;
        }
        if seen.len() > PAIRS_MAX || automaton.is_accepting(a) && !automaton.is_accepting(b) {
            return false;
        }
        // Each edge of one state is compared with those of the other.
        let n_edges = 1 + automaton.edges(a).len() * automaton.edges(b).len();
        match n_edges_left.checked_sub(n_edges) {
            Some(left) => *n_edges_left = left,
            None => return false,
        }
        for edge in automaton.edges(a) {
            match edge.label {
                Label::Bytes(low, high) => {
                    // Ranges of a deterministic automaton are disjoint and ascending.
                    let mut next = u16::from(low);
                    for other in automaton.edges(b) {
                        let Label::Bytes(from, to) = other.label else { continue };
                        let is_met = u16::from(from) <= next && next <= u16::from(to);
                        if is_met && next <= u16::from(high) {
                            pending.push((edge.target, other.target));
                            next = u16::from(to) + 1;
                        }
                    }
                    if next <= u16::from(high) {
                        return false;
                    }
                }
                label => match automaton.edges(b).iter().find(|other| other.label == label) {
                    Some(other) => pending.push((edge.target, other.target)),
                    None => return false,
                },
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(b: u8) -> Label {
        Label::Bytes(b, b)
    }

    fn automaton(n_states: u32, edges: &[(u32, Label, u32)], epsilons: &[(u32, u32)]) -> RuleAutomaton {
        let nfa = Nfa { n_states, start: 0, accept: 1, edges: edges.to_vec(), epsilons: epsilons.to_vec() };
        determinize(&nfa, &CompileBudget::none()).unwrap()
    }

    fn n_calls(automaton: &RuleAutomaton) -> usize {
        let mut n = 0;
        automaton.for_each_call(|_| n += 1);
        n
    }

    const SELF: Label = Label::Call(NetRuleId(0));

    #[test]
    fn a_list_becomes_a_loop() {
        // l ::= "a" l | "a"
        let given = automaton(3, &[(0, byte(b'a'), 2), (2, SELF, 1)], &[(2, 1)]);
        let got = absorb(NetRuleId(0), given, &CompileBudget::none()).unwrap();
        assert_eq!((n_calls(&got), got.n_states()), (0, 2));
    }

    #[test]
    fn what_lies_beside_a_range_does_not_matter() {
        // e ::= e "-" e | [0-9]+ ("." [0-9]+)?  as left recursion leaves it: "." comes right behind "-".
        let digit = Label::Bytes(b'0', b'9');
        let given = automaton(
            6,
            &[
                (0, digit, 2),
                (2, digit, 2),
                (2, byte(b'.'), 3),
                (3, digit, 4),
                (4, digit, 4),
                (1, byte(b'-'), 5),
                (5, SELF, 1),
            ],
            &[(2, 1), (4, 1)],
        );
        assert_eq!(n_calls(&given), 1);
        let got = absorb(NetRuleId(0), given, &CompileBudget::none()).unwrap();
        assert_eq!(n_calls(&got), 0);
    }

    #[test]
    fn operators_become_a_loop_but_brackets_stay_calls() {
        // e ::= ([0-9]+ | "(" e ")") ("+" e)*  with the calls as left recursion leaves them
        let digit = Label::Bytes(b'0', b'9');
        let given = automaton(
            7,
            &[
                (0, digit, 2),
                (2, digit, 2),
                (0, byte(b'('), 4),
                (4, SELF, 5),
                (5, byte(b')'), 3),
                (3, byte(b'+'), 6),
                (6, SELF, 3),
            ],
            &[(2, 3), (3, 1)],
        );
        let got = absorb(NetRuleId(0), given, &CompileBudget::none()).unwrap();
        assert_eq!(n_calls(&got), 1, "only the call between brackets is left");
    }

    #[test]
    fn a_dangling_else_is_not_absorbed() {
        // s ::= "i" s ("e" s)? | "o"
        let given = automaton(
            5,
            &[(0, byte(b'i'), 2), (2, SELF, 3), (3, byte(b'e'), 4), (4, SELF, 1), (0, byte(b'o'), 1)],
            &[(3, 1)],
        );
        let got = absorb(NetRuleId(0), given, &CompileBudget::none()).unwrap();
        assert_eq!(n_calls(&got), 1, "the call that ends the rule is a jump, the one before `else` is not");
    }
}
