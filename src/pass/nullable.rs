//! Nullable rules: which rules match the empty string, which match other strings, and a network in which every call reads something.
//!
//! A nullable rule could be entered and left without reading a byte, so that the closure might not terminate. Here each call of
//! such a rule gets an epsilon edge beside it, and from then on a call stands for the rule's *non-empty* words. Rules without any are not
//! called any more, so unproductive rules disappear in the same sweep.
//!
//! Both questions are reachability ("is an accepting state reachable through calls whose answer is yes?"), answered for all
//! rules at once by one search that resumes at the callers of a rule when its answer turns to yes: linear in the network.

use super::BuildError;
use super::compile_budget::CompileBudget;
use super::network::{Label, NetRuleId, Network, Nfa};
use crate::machine::Counter;

/// The kinds of words that a rule matches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Words {
    /// The empty string.
    pub empty: bool,
    /// Some other string.
    pub other: bool,
}

/// Returns by rule the kinds of words that it matches, with counters taken into account.
pub(crate) fn words(network: &Network<Nfa>, budget: &CompileBudget) -> Result<Vec<Words>, BuildError> {
    let n_rules = network.rules.len();
    let mut search = Search::new(network, budget)?;
    for rule in 0..n_rules {
        search.reach(rule, network.rules[rule].automaton.start, false);
    }
    search.run(budget)?;
    Ok(search.words)
}

/// Makes every call read something: adds epsilon edges beside calls of nullable rules, drops calls of rules that match nothing else,
/// and makes counters with a nullable body count only copies that read something.
pub(crate) fn factor(network: &mut Network<Nfa>, words: &[Words]) {
    for rule in &mut network.rules {
        let automaton = &mut rule.automaton;
        for &(from, label, to) in &automaton.edges {
            if let Label::Call(callee) = label
                && words[callee.index()].empty
            {
                automaton.epsilons.push((from, to));
            }
        }
        automaton.edges.retain(|&(_, label, _)| match label {
            Label::Call(callee) => words[callee.index()].other,
            _ => true,
        });
    }
    let bodies = body_words(network, words);
    for (rule, body) in network.rules.iter_mut().zip(bodies) {
        if let (Some(counter), true) = (rule.counter, body.empty) {
            // (X|""){n,m} is (X without ""){0,m}; its non-empty words are those with at least one copy.
            rule.counter = Some(Counter::new(1, counter.max()));
        }
    }
}

/// Returns by rule the kinds of words of its automaton; for a counter that is its body.
fn body_words(network: &Network<Nfa>, words: &[Words]) -> Vec<Words> {
    // With `factor`'s edges in place, the body is nullable exactly if epsilon edges lead to acceptance.
    network
        .rules
        .iter()
        .zip(words)
        .map(|(rule, &words)| match rule.counter {
            None => words,
            Some(_) => Words { empty: reaches_by_empties(&rule.automaton), other: words.other },
        })
        .collect()
}

fn reaches_by_empties(nfa: &Nfa) -> bool {
    let mut epsilons = nfa.epsilons.clone();
    epsilons.sort_unstable();
    let mut seen = vec![false; nfa.n_states as usize];
    let mut pending = vec![nfa.start];
    while let Some(state) = pending.pop() {
        if !core::mem::replace(&mut seen[state as usize], true) {
            let first = epsilons.partition_point(|&(from, _)| from < state);
            pending.extend(epsilons[first..].iter().take_while(|&&(from, _)| from == state).map(|&(_, to)| to));
        }
    }
    seen[nfa.accept as usize]
}

/// A search over (rule, state, whether something has been read).
struct Search<'a> {
    network: &'a Network<Nfa>,
    /// By rule: the number of its first state among those of all rules.
    bases: Vec<u32>,
    /// The edges of all states, and where those of each state begin.
    edges: Vec<(Option<Label>, u32)>,
    offsets: Vec<u32>,
    reached: Vec<[bool; 2]>,
    /// By rule: the positions that wait for its words, as (caller, state after the call, whether something was read before it).
    waiting: Vec<Vec<(u32, u32, bool)>>,
    words: Vec<Words>,
    pending: Vec<(u32, u32, bool)>,
}

impl<'a> Search<'a> {
    fn new(network: &'a Network<Nfa>, budget: &CompileBudget) -> Result<Self, BuildError> {
        let n_rules = network.rules.len();
        let mut bases = Vec::with_capacity(n_rules);
        let mut n_states = 0;
        for rule in &network.rules {
            bases.push(n_states);
            n_states += rule.automaton.n_states;
        }
        let (mut offsets, mut edges) = (Vec::with_capacity(n_states as usize + 1), Vec::new());
        let mut next = Vec::new();
        for rule in &network.rules {
            let Nfa { n_states, edges: labelled, epsilons, .. } = &rule.automaton;
            budget.spend(1 + labelled.len() + epsilons.len())?;
            let of_rule = labelled.iter().map(|&(from, label, to)| (from, Some(label), to));
            let of_rule = of_rule.chain(epsilons.iter().map(|&(from, to)| (from, None, to)));
            next.clear();
            next.resize(*n_states as usize, 0);
            of_rule.clone().for_each(|(from, ..)| next[from as usize] += 1);
            let mut end = edges.len() as u32;
            for n_arcs in &mut next {
                offsets.push(end);
                end += core::mem::replace(n_arcs, end);
            }
            edges.resize(end as usize, (None, 0));
            for (from, label, to) in of_rule {
                edges[next[from as usize] as usize] = (label, to);
                next[from as usize] += 1;
            }
        }
        offsets.push(edges.len() as u32);
        Ok(Search {
            network,
            bases,
            edges,
            offsets,
            reached: vec![[false; 2]; n_states as usize],
            waiting: vec![Vec::new(); n_rules],
            words: vec![Words::default(); n_rules],
            pending: Vec::new(),
        })
    }

    fn reach(&mut self, rule: usize, state: u32, has_read: bool) {
        let reached = &mut self.reached[(self.bases[rule] + state) as usize][usize::from(has_read)];
        if !core::mem::replace(reached, true) {
            self.pending.push((rule as u32, state, has_read));
        }
    }

    fn run(&mut self, budget: &CompileBudget) -> Result<(), BuildError> {
        while let Some((rule, state, has_read)) = self.pending.pop() {
            let rule = rule as usize;
            let at = (self.bases[rule] + state) as usize;
            let edges = self.offsets[at] as usize..self.offsets[at + 1] as usize;
            budget.spend(1 + edges.len())?;
            if state == self.network.rules[rule].automaton.accept {
                // A counter has at least one copy of its body, so it matches the same kinds of words.
                self.learn(rule, has_read);
            }
            for index in edges {
                match self.edges[index] {
                    (None, to) => self.reach(rule, to, has_read),
                    (Some(Label::Call(callee)), to) => self.call(rule, callee, to, has_read),
                    (Some(_), to) => self.reach(rule, to, true),
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, rule: usize, callee: NetRuleId, to: u32, has_read: bool) {
        let words = self.words[callee.index()];
        if words.empty {
            self.reach(rule, to, has_read);
        }
        if words.other {
            self.reach(rule, to, true);
        }
        if !(words.empty && words.other) {
            self.waiting[callee.index()].push((rule as u32, to, has_read));
        }
    }

    /// Records that `rule` matches the empty or another string, and resumes the search at its callers.
    fn learn(&mut self, rule: usize, has_read: bool) {
        let words = &mut self.words[rule];
        let answer = if has_read { &mut words.other } else { &mut words.empty };
        if core::mem::replace(answer, true) {
            return;
        }
        for i in 0..self.waiting[rule].len() {
            let (caller, to, caller_has_read) = self.waiting[rule][i];
            self.reach(caller as usize, to, has_read || caller_has_read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::NetRule;
    use super::*;

    fn rule(edges: &[(u32, Label, u32)], epsilons: &[(u32, u32)], counter: Option<Counter>) -> NetRule<Nfa> {
        let n_states = 2 + edges.len() as u32;
        NetRule {
            name: "r".into(),
            automaton: Nfa { n_states, start: 0, accept: 1, edges: edges.to_vec(), epsilons: epsilons.to_vec() },
            counter,
        }
    }

    const A: Label = Label::Bytes(b'a', b'a');

    fn call(index: usize) -> Label {
        Label::Call(NetRuleId::new(index))
    }

    #[test]
    fn mutual_recursion_without_an_end_matches_nothing() {
        // x ::= "a" y;  y ::= "a" x;  z ::= x | ""
        let network = Network {
            rules: vec![
                rule(&[(0, A, 2), (2, call(1), 1)], &[], None),
                rule(&[(0, A, 2), (2, call(0), 1)], &[], None),
                rule(&[(0, call(0), 1)], &[(0, 1)], None),
            ],
            root: NetRuleId::new(2),
        };
        let words = words(&network, &CompileBudget::none()).unwrap();
        assert_eq!(words[0], Words { empty: false, other: false });
        assert_eq!(words[2], Words { empty: true, other: false });
        let mut factored = network;
        factor(&mut factored, &words);
        assert!(factored.rules[2].automaton.edges.is_empty());
    }

    #[test]
    fn a_counter_over_an_empty_body_may_do_with_fewer_copies() {
        // n ::= (m){3,5};  m ::= "a" | ""
        let mut network = Network {
            rules: vec![
                rule(&[(0, call(1), 1)], &[], Some(Counter::new(3, Some(5)))),
                rule(&[(0, A, 1)], &[(0, 1)], None),
            ],
            root: NetRuleId::new(0),
        };
        let words = words(&network, &CompileBudget::none()).unwrap();
        assert_eq!(words[0], Words { empty: true, other: true });
        factor(&mut network, &words);
        assert_eq!(network.rules[0].counter, Some(Counter::new(1, Some(5))));
    }
}
