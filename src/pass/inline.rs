//! Inlining of rules.
//!
//! Calls cost frames, and a rule that may end or continue keeps two states alive, so a border between rules should exist only where it pays.
//! Rules are visited callees first; one that doesn't call itself, and is small or called once, is copied into its callers. These stay
//! separate rules:
//!
//! - recursive rules (one of each cycle remains after its neighbours are inlined);
//! - counters;
//! - *wide* loops that end with a terminator of their own (the body of a string): classifying the vocabulary for one is expensive, so it
//!   should be done once, and few tokens reach beyond the terminator.
//!
//! Wide loops without a terminator (names, free text) are inlined like others: any of their tokens may end them and begin what
//! follows, so as units they would leave most of the vocabulary to their callers.
//!
//! A larger rule is copied too if only one other rule calls it and the copies merge there, so that the result is no larger than both rules:
//! in `e1 ::= e2 ("or" e2)*` both calls have the same continuations if `e2` is a loop over operators as well. So the levels of an operator
//! table become one loop, however many and large they are; [`super::order`] arranges that they are inlined one by one.
//!
//! A rule whose calls all end words of one rule, its *host*, or of other rules with that host is a part of it: in
//!
//! ```text
//! r ::= a | b;   a ::= "a" b?;   b ::= "b" c?;   c ::= "c"
//! ```
//!
//! whatever reads `b` or `c` ends with it, so the host needs one copy of each. Parts are copied when the host is visited, all at once: copied link
//! by link a chain of such rules would be determinized again for each of its links.
//!
//! Copies of copies (`x{3,}` where `x ::= y{2,}`) could be counted in many ways, all of them live at once, so they are counted once
//! (`y{6,}`) where that is equivalent.
//!
//! A chain of rules that each call the next amid their words is copied again at each of its links, and rules that call each other can double at
//! each; so all copies together are bounded as well, by [`COPIED_FREE`] states and as many as the grammar has. Further calls stay calls.
//!
//! Cost: one determinization per rule, and one per try, of automata of [`TRIED_EDGES_MAX`] edges in all.

use super::BuildError;
use super::absorb::absorb;
use super::compile_budget::CompileBudget;
use super::determinize::determinize;
use super::network::{Determinism, Edge, Label, NetRule, NetRuleId, Network, Nfa, Rows, RuleAutomaton};
use super::order::callees_first;
use crate::limits::Limits;
use crate::machine::Counter;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

/// Most states of copies that seem to stay apart, for which it is tried whether they do.
const UNMERGED_MAX: usize = 4096;
/// Most states that copies of one rule may add to the grammar.
const COPIES_MAX: usize = 160;
/// A rule called once is inlined up to this many states.
const SINGLE_MAX: usize = 1 << 14;
/// Most states of all copies together, beyond as many as the grammar has.
const COPIED_FREE: usize = 1 << 17;
/// Most edges of all automata into which it is tried to copy rules that may stay apart, each as often as it is tried.
const TRIED_EDGES_MAX: usize = 1 << 20;
/// Edges that a state of a copy counts as there.
const EDGES_PER_STATE: usize = 4;
/// Fewest bytes on self-loops that make a state *wide*.
const WIDE_BYTES: u32 = 20;

/// Inlines rules, absorbs trailing recursion on the way, and drops rules that are no longer called.
pub(crate) fn inline(
    network: &mut Network<RuleAutomaton>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<(), BuildError> {
    let callees: Vec<Vec<NetRuleId>> = network.rules.iter().map(|rule| callees(&rule.automaton)).collect();
    let mut n_sites = vec![0usize; network.rules.len()];
    callees.iter().flatten().for_each(|callee| n_sites[callee.index()] += 1);
    budget.check()?;
    let (mut is_inlined, mut is_done) = (vec![false; network.rules.len()], vec![false; network.rules.len()]);
    let n_states: usize = network.rules.iter().map(|rule| rule.automaton.n_states()).sum();
    let mut n_left = COPIED_FREE.saturating_add(n_states);
    let mut n_tried_left = TRIED_EDGES_MAX;
    let order = callees_first(&callees, network.root);
    let hosts = hosts(network, &order, &n_sites);
    let callees = callees_of_hosts(callees, &hosts);
    let callers = only_callers(&callees);
    budget.check()?;
    for id in order {
        let index = id.index();
        budget.spend(1)?;
        if hosts[index] != id {
            is_done[index] = true;
            is_inlined[index] = true;
            continue;
        }
        if let Some(nfa) = expand(network, id, &is_inlined, &mut n_left) {
            budget.check()?;
            network.rules[index].automaton = determinize(&nfa, budget)?;
        }
        merge_counters(network, id, &mut n_left);
        if network.rules[index].counter.is_none() {
            let automaton = core::mem::replace(&mut network.rules[index].automaton, empty());
            network.rules[index].automaton = absorb(id, automaton, budget)?;
        }
        let is_candidate = |callee: &NetRuleId| {
            callers[callee.index()] == Some(id)
                && is_done[callee.index()]
                && !is_inlined[callee.index()]
                && may_be_copied(network.rule(*callee), *callee)
        };
        let candidates = distinct(&callees[index]).into_iter().filter(is_candidate).collect();
        merge_copies(network, id, candidates, &mut is_inlined, &mut n_left, &mut n_tried_left, budget)?;
        is_done[index] = true;
        is_inlined[index] = id != network.root && is_worth_it(&network.rules[index], id, n_sites[index]);
    }
    drop_uncalled(network);
    let n_states: usize = network.rules.iter().map(|rule| rule.automaton.n_states()).sum();
    BuildError::check_states(n_states, limits)?;
    Ok(())
}

/// Returns by rule its host: itself, unless all its calls end words of parts of another rule. `order` has callees before their callers, but for
/// some calls in cycles.
fn hosts(network: &Network<RuleAutomaton>, order: &[NetRuleId], n_sites: &[usize]) -> Vec<NetRuleId> {
    let mut hosts: Vec<NetRuleId> = (0..network.rules.len()).map(NetRuleId::new).collect();
    // By rule: the one host of the calls seen so far that end its words, and how many these are.
    let mut found: Vec<(Option<NetRuleId>, usize)> = vec![(None, 0); network.rules.len()];
    for &id in order.iter().rev() {
        let rule = network.rule(id);
        if let (Some(host), n_found) = found[id.index()]
            && id != network.root
            && n_found == n_sites[id.index()]
            && rule.automaton.n_states() <= SINGLE_MAX
            && may_be_copied(rule, id)
        {
            hosts[id.index()] = host;
        }
        let host = hosts[id.index()];
        if rule.counter.is_some() {
            continue;
        }
        for edge in rule.automaton.all_edges() {
            let Label::Call(callee) = edge.label else { continue };
            let (known, n_found) = &mut found[callee.index()];
            if rule.automaton.is_pure_end(edge.target) && known.is_none_or(|known| known == host) {
                *known = Some(host);
                *n_found += 1;
            }
        }
    }
    hosts
}

/// Returns by rule what it and its parts call, but for the parts, if it is a host.
fn callees_of_hosts(callees: Vec<Vec<NetRuleId>>, hosts: &[NetRuleId]) -> Vec<Vec<NetRuleId>> {
    let mut of_hosts = vec![Vec::new(); callees.len()];
    for (callees, host) in callees.into_iter().zip(hosts) {
        of_hosts[host.index()].extend(callees.into_iter().filter(|callee| hosts[callee.index()] == *callee));
    }
    of_hosts
}

fn empty() -> RuleAutomaton {
    RuleAutomaton::from_parts(Rows::default(), Vec::new(), Determinism::Minimal)
}

fn callees(automaton: &RuleAutomaton) -> Vec<NetRuleId> {
    let mut found = Vec::new();
    automaton.for_each_call(|rule| found.push(rule));
    found
}

/// Returns whether no reason other than its size keeps a rule separate.
fn may_be_copied(rule: &NetRule<RuleAutomaton>, id: NetRuleId) -> bool {
    let automaton = &rule.automaton;
    let ends_itself = || automaton.accepting_states().all(|state| automaton.is_pure_end(state));
    rule.counter.is_none() && !callees(automaton).contains(&id) && !(ends_itself() && is_wide(automaton))
}

fn is_worth_it(rule: &NetRule<RuleAutomaton>, id: NetRuleId, n_sites: usize) -> bool {
    let n_states = rule.automaton.n_states();
    may_be_copied(rule, id)
        && ((n_sites <= 1 && n_states <= SINGLE_MAX) || n_states.saturating_mul(n_sites) <= COPIES_MAX)
}

/// Returns by rule its caller, if it has exactly one.
fn only_callers(callees: &[Vec<NetRuleId>]) -> Vec<Option<NetRuleId>> {
    let mut callers = vec![(None, false); callees.len()];
    for (caller, callees) in callees.iter().enumerate() {
        let caller = Some(NetRuleId::new(caller));
        for callee in callees {
            let (only_caller, has_others) = &mut callers[callee.index()];
            *has_others |= only_caller.is_some() && *only_caller != caller;
            *only_caller = caller;
        }
    }
    callers.into_iter().map(|(caller, has_others)| caller.filter(|_| !has_others)).collect()
}

/// Returns the rules in order, each once.
fn distinct(rules: &[NetRuleId]) -> SmallVec<[NetRuleId; 4]> {
    let mut rules = SmallVec::from_slice(rules);
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// Copies rules that no other rule calls into `id`, unless the copies stay apart: those of a level of an operator table, `e2 ("or" e2)*`,
/// have the same continuations and merge. All are tried together, and each half of those that stay apart by itself, while `n_tried_left` edges last.
fn merge_copies(
    network: &mut Network<RuleAutomaton>,
    id: NetRuleId,
    candidates: Vec<NetRuleId>,
    is_inlined: &mut [bool],
    n_left: &mut usize,
    n_tried_left: &mut usize,
    budget: &CompileBudget,
) -> Result<(), BuildError> {
    let mut pending = vec![&candidates[..]];
    while let Some(callees) = pending.pop()
        && !callees.is_empty()
    {
        let n_edges = |rule: NetRuleId| network.rule(rule).automaton.all_edges().len();
        let n_own = n_edges(id) + callees.iter().map(|&callee| n_edges(callee)).sum::<usize>();
        let Some(left) = n_tried_left.checked_sub(n_own) else { return Ok(()) };
        *n_tried_left = left;
        let n_copied = n_states_of_copies(network, id, callees);
        let are_few = n_copied <= UNMERGED_MAX;
        if are_few {
            *n_tried_left = n_tried_left.saturating_sub(EDGES_PER_STATE * n_copied);
        }
        callees.iter().for_each(|callee| is_inlined[callee.index()] = true);
        if !(are_few && merge_copies_of(network, id, callees, is_inlined, n_left, budget)?) {
            callees.iter().for_each(|callee| is_inlined[callee.index()] = false);
            if let (first @ [_, ..], second) = callees.split_at(callees.len() / 2) {
                pending.extend([second, first]);
            }
        }
    }
    Ok(())
}

/// Copies some rules into `id` if they merge; returns whether they did.
fn merge_copies_of(
    network: &mut Network<RuleAutomaton>,
    id: NetRuleId,
    callees: &[NetRuleId],
    is_inlined: &[bool],
    n_left: &mut usize,
    budget: &CompileBudget,
) -> Result<bool, BuildError> {
    let mut n_left_then = *n_left;
    let Some(nfa) = expand(network, id, is_inlined, &mut n_left_then) else { return Ok(false) };
    let automaton = determinize(&nfa, budget)?;
    let n_states = |rule: NetRuleId| network.rule(rule).automaton.n_states();
    let n_states_max = n_states(id) + callees.iter().map(|&callee| n_states(callee)).sum::<usize>();
    let is_merged = automaton.determinism() == Determinism::Minimal && automaton.n_states() <= n_states_max;
    if is_merged {
        network.rules[id.index()].automaton = automaton;
        *n_left = n_left_then;
    }
    Ok(is_merged)
}

/// Returns about how many states copies of rules have in a caller: those that return to different states nearly always stay apart.
fn n_states_of_copies(network: &Network<RuleAutomaton>, caller: NetRuleId, callees: &[NetRuleId]) -> usize {
    let mut returns: HashSet<(NetRuleId, u32)> = HashSet::new();
    for edge in network.rule(caller).automaton.all_edges() {
        if let Label::Call(callee) = edge.label
            && callees.binary_search(&callee).is_ok()
        {
            returns.insert((callee, edge.target));
        }
    }
    let mut returns: Vec<(NetRuleId, u32)> = returns.into_iter().collect();
    returns.sort_unstable();
    let of_callee = |returns: &[(NetRuleId, u32)]| {
        let copied = &network.rule(returns[0].0).automaton;
        // A copy begins at a state of the caller, and where nothing follows an end, that is the state to which it returns.
        let n_shared = 1 + copied.accepting_states().filter(|&state| copied.is_pure_end(state)).count();
        returns.len().saturating_mul(copied.n_states().saturating_sub(n_shared))
    };
    returns.chunk_by(|a, b| a.0 == b.0).map(of_callee).fold(0, usize::saturating_add)
}

/// Returns whether some state has self-loops over many bytes.
fn is_wide(automaton: &RuleAutomaton) -> bool {
    (0..automaton.n_states() as u32).any(|state| {
        let own = automaton.edges(state).iter().filter(|edge| edge.target == state);
        let n_bytes: u32 = own
            .map(|edge| match edge.label {
                Label::Bytes(low, high) => u32::from(high - low) + 1,
                _ => 0,
            })
            .sum();
        n_bytes >= WIDE_BYTES
    })
}

/// Returns the automaton of `id` with the rules to be inlined copied in, or `None` if it calls none of them. Subtracts the states of the
/// copies from `n_left`; a call of a larger rule stays a call.
fn expand(network: &Network<RuleAutomaton>, id: NetRuleId, is_inlined: &[bool], n_left: &mut usize) -> Option<Nfa> {
    let is_inlined_call = |label: Label| matches!(label, Label::Call(callee) if is_inlined[callee.index()]);
    let automaton = &network.rule(id).automaton;
    if !automaton.all_edges().iter().any(|edge| is_inlined_call(edge.label)) {
        return None;
    }
    let mut nfa = Nfa::new();
    let base = nfa.embed_before(automaton, nfa.accept);
    nfa.epsilons.push((nfa.start, base));
    // By callee and where its calls return to: the copy of it. One copy does for all calls that return to the same state.
    let mut copies: HashMap<(NetRuleId, u32), u32> = HashMap::new();
    let mut position = 0;
    while position < nfa.edges.len() {
        let (from, label, to) = nfa.edges[position];
        let callee = match label {
            Label::Call(callee) if is_inlined[callee.index()] => callee,
            _ => {
                position += 1;
                continue;
            }
        };
        let copy = match copies.get(&(callee, to)) {
            Some(&copy) => copy,
            None => {
                let automaton = &network.rule(callee).automaton;
                let Some(left) = n_left.checked_sub(automaton.n_states()) else {
                    position += 1;
                    continue;
                };
                *n_left = left;
                let copy = nfa.embed_before(automaton, to);
                copies.insert((callee, to), copy);
                copy
            }
        };
        nfa.edges.swap_remove(position);
        nfa.epsilons.push((from, copy));
    }
    Some(nfa)
}

/// While `id` counts only copies of another counted rule, makes it count the copies of that rule's body instead.
fn merge_counters(network: &mut Network<RuleAutomaton>, id: NetRuleId, n_left: &mut usize) {
    while let Some((inner, counter)) = inner_counter(network, id)
        && let Some(left) = n_left.checked_sub(network.rule(inner).automaton.n_states())
    {
        *n_left = left;
        let automaton = network.rule(inner).automaton.clone();
        let rule = &mut network.rules[id.index()];
        (rule.automaton, rule.counter) = (automaton, Some(counter));
    }
}

/// Returns the counted rule whose copies `id` counts, and the counter of that rule's body in `id`, if `id` has nothing else.
fn inner_counter(network: &Network<RuleAutomaton>, id: NetRuleId) -> Option<(NetRuleId, Counter)> {
    let rule = network.rule(id);
    match *rule.automaton.all_edges() {
        [Edge { label: Label::Call(callee), target }] if callee != id && rule.automaton.is_pure_end(target) => {
            let counter = rule.counter?.of_copies(&network.rule(callee).counter?)?;
            Some((callee, counter))
        }
        _ => None,
    }
}

/// Drops rules that can't be reached from the root, and numbers the rest in the order of a walk from it.
pub(crate) fn drop_uncalled(network: &mut Network<RuleAutomaton>) {
    let mut number = vec![u32::MAX; network.rules.len()];
    let mut order = vec![network.root];
    number[network.root.index()] = 0;
    let mut next = 0;
    while next < order.len() {
        let id = order[next];
        next += 1;
        network.rule(id).automaton.for_each_call(|callee| {
            if number[callee.index()] == u32::MAX {
                number[callee.index()] = order.len() as u32;
                order.push(callee);
            }
        });
    }
    let mut rules: Vec<Option<_>> = core::mem::take(&mut network.rules).into_iter().map(Some).collect();
    network.rules = order.iter().filter_map(|id| rules[id.index()].take()).collect();
    network.root = NetRuleId(0);
    for rule in &mut network.rules {
        rule.automaton.rename_calls(|callee| NetRuleId(number[callee.index()]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(b: u8) -> Label {
        Label::Bytes(b, b)
    }

    fn rule(n_states: u32, edges: &[(u32, Label, u32)]) -> NetRule<RuleAutomaton> {
        let nfa = Nfa { n_states, start: 0, accept: 1, edges: edges.to_vec(), epsilons: vec![] };
        NetRule { name: "r".into(), automaton: determinize(&nfa, &CompileBudget::none()).unwrap(), counter: None }
    }

    fn call(index: usize) -> Label {
        Label::Call(NetRuleId::new(index))
    }

    #[test]
    fn mutual_recursion_folds_into_one_rule() {
        // v ::= "1" | a;  a ::= "[" v "]"
        let mut network = Network {
            rules: vec![
                rule(2, &[(0, byte(b'1'), 1), (0, call(1), 1)]),
                rule(4, &[(0, byte(b'['), 2), (2, call(0), 3), (3, byte(b']'), 1)]),
            ],
            root: NetRuleId::new(0),
        };
        inline(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        assert_eq!(network.rules.len(), 1);
        assert_eq!(callees(&network.rules[0].automaton), [NetRuleId(0)]);
    }

    #[test]
    fn rules_that_double_each_other_are_bounded() {
        // r ::= "x" | x1 x1;  x1 ::= "a" x2 x2;  x2 ::= "a" x3 x3;  ...;  xn ::= "a" r r
        let n = 40;
        let mut rules = vec![rule(3, &[(0, byte(b'x'), 1), (0, call(1), 2), (2, call(1), 1)])];
        for index in 1..=n {
            let next = call((index + 1) % (n + 1));
            rules.push(rule(4, &[(0, byte(b'a'), 2), (2, next, 3), (3, next, 1)]));
        }
        let mut network = Network { rules, root: NetRuleId::new(0) };
        inline(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        let n_states: usize = network.rules.iter().map(|rule| rule.automaton.n_states()).sum();
        assert!(n_states < 2 * COPIED_FREE, "{n_states} states");
    }

    #[test]
    fn copies_of_copies_are_counted_once() {
        // r ::= "x" a;  a ::= b{2,3};  b ::= c{10,20};  c ::= d{5,9};  d ::= ("y" r?){4,}
        let counted = |callee: usize, min, max| NetRule {
            counter: Some(Counter::new(min, max)),
            ..rule(2, &[(0, call(callee), 1)])
        };
        let mut network = Network {
            rules: vec![
                rule(3, &[(0, byte(b'x'), 2), (2, call(1), 1)]),
                counted(2, 2, Some(3)),
                counted(3, 10, Some(20)),
                counted(4, 5, Some(9)),
                NetRule {
                    counter: Some(Counter::new(4, None)),
                    ..rule(3, &[(0, byte(b'y'), 1), (0, byte(b'y'), 2), (2, call(0), 1)])
                },
            ],
            root: NetRuleId::new(0),
        };
        inline(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        let counters: Vec<Counter> = network.rules.iter().filter_map(|rule| rule.counter).collect();
        assert_eq!(counters, [Counter::new(400, None)]);
    }

    #[test]
    fn text_that_ends_itself_stays_a_rule() {
        // r ::= s "," s;  s ::= '"' [a-z]* '"'
        let mut network = Network {
            rules: vec![
                rule(4, &[(0, call(1), 2), (2, byte(b','), 3), (3, call(1), 1)]),
                rule(3, &[(0, byte(b'"'), 2), (2, Label::Bytes(b'a', b'z'), 2), (2, byte(b'"'), 1)]),
            ],
            root: NetRuleId::new(0),
        };
        inline(&mut network, &Limits::default(), &CompileBudget::none()).unwrap();
        assert_eq!(network.rules.len(), 2);
    }
}
