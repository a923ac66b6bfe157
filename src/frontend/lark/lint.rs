//! Where longest match would read another language.
//!
//! A lexer that takes the longest match, as llguidance's does, goes on with a lexeme as long as it can, even where the text could only be read by stopping
//! earlier: `/[ab]+/ "b"` matches nothing there. At a place where some lexemes may come, let `a` be a text of one of them, A, and let C be one of them that `a` begins, too (A
//! itself, or another). If C goes on after `a` with a byte that a lexeme behind A may begin with, the lexer may take that byte for C.
//!
//! Which lexemes may come at a place, and behind each, are the sets FIRST and FOLLOW of the grammar over lexemes. The texts are searched in pairs of states of the automata of A
//! and C. So a finding is a place where the languages may differ, not always one where they do; and a grammar with many lexemes, or with lexemes of large automata, is not
//! searched.

use super::capture::Lexeme;
use crate::frontend::check::shorten;
use crate::frontend::{ReadError, Spend};
use crate::grammar::{Expr, ExprId, Grammar, Warning, WarningKind, analysis};
use crate::limits::Limits;
use crate::regular::Dfa;
use crate::util::ByteSet;
use hashbrown::{HashMap, HashSet};

/// Most lexemes of a grammar that is searched.
const LEXEMES_MAX: usize = 256;
/// Most expressions of a grammar that is searched.
const EXPRS_MAX: usize = 4096;
/// Most states of the automaton of a lexeme.
const STATES_MAX: usize = 1024;
/// Most pairs of states that are visited for a grammar.
const PAIRS_MAX: usize = 1 << 17;
/// Most rounds until the sets stay as they are.
const ROUNDS_MAX: usize = 64;
/// Most findings that are told.
const FINDINGS_MAX: usize = 8;

/// A set of lexemes.
type Set = [u64; LEXEMES_MAX / 64];

fn union(set: &mut Set, other: &Set) -> bool {
    let before = *set;
    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
    *set != before
}

fn members(set: &Set) -> impl Iterator<Item = usize> + '_ {
    (0..LEXEMES_MAX).filter(|&index| set[index / 64] >> (index % 64) & 1 == 1)
}

/// Returns a warning for each lexeme behind which longest match may go on where the grammar does not. `spend` hears of the work.
pub(super) fn longest_match(
    grammar: &Grammar,
    source: &str,
    lexemes: &[Lexeme],
    limits: &Limits,
    spend: Spend<'_>,
) -> Result<Vec<Warning>, ReadError> {
    if lexemes.len() > LEXEMES_MAX || grammar.exprs().len() > EXPRS_MAX {
        return Ok(Vec::new());
    }
    let Some(automata) = Automata::new(grammar, lexemes, limits, spend)? else { return Ok(Vec::new()) };
    let Some(sets) = Sets::new(grammar, lexemes, &automata) else { return Ok(Vec::new()) };
    spend(ROUNDS_MAX * grammar.exprs().len())?;
    let mut places: HashSet<Set> = HashSet::new();
    places.insert(sets.first[grammar.rule(grammar.root()).body.index()]);
    places.extend(lexemes.iter().map(|lexeme| sets.follow[lexeme.expr.index()]));
    // In the order of the text.
    let mut places: Vec<Set> = places.into_iter().collect();
    places.sort_unstable();
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut n_pairs_left = PAIRS_MAX;
    for place in &places {
        for a in members(place).filter(|&a| !lexemes[a].is_ignored) {
            if found.iter().any(|&(found, _)| found == a) {
                continue;
            }
            let mut bytes = ByteSet::default();
            members(&sets.follow[lexemes[a].expr.index()]).for_each(|b| automata.add_first_bytes(b, &mut bytes));
            let goes_on = |c: &usize| automata.goes_on(a, *c, &bytes, &mut n_pairs_left);
            found.extend(members(place).find(goes_on).map(|c| (a, c)));
        }
    }
    spend(PAIRS_MAX - n_pairs_left)?;
    found.sort_unstable_by_key(|&(a, _)| lexemes[a].span);
    let written = |index: usize| {
        let span = lexemes[index].span;
        shorten(&source[span.start as usize..span.end as usize])
    };
    let warning = |&(a, c): &(usize, usize)| {
        let goes_on = if automata.of[a] == automata.of[c] { "it".to_owned() } else { format!("`{}`", written(c)) };
        let detail = format!(
            "where `{}` can end, {goes_on} can go on with what follows: llguidance takes the longest match and reads another language",
            written(a)
        );
        let rule = &grammar.rule(lexemes[a].rule).name;
        Warning::of_source(WarningKind::ReadDifferently, rule, lexemes[a].span, detail)
    };
    Ok(found.iter().take(FINDINGS_MAX).map(warning).collect())
}

/// The automata of lexemes.
struct Automata {
    dfas: Vec<Dfa>,
    /// By lexeme: its automaton, if it has one.
    of: Vec<Option<usize>>,
}

impl Automata {
    /// Builds the automata, or returns `None` if that takes too much.
    fn new(
        grammar: &Grammar,
        lexemes: &[Lexeme],
        limits: &Limits,
        spend: Spend<'_>,
    ) -> Result<Option<Automata>, ReadError> {
        let regular = analysis::Regularity::new(grammar);
        let limits = Limits { dfa_states_max: STATES_MAX.min(limits.dfa_states_max), ..limits.clone() };
        let (mut dfas, mut of) = (Vec::new(), Vec::with_capacity(lexemes.len()));
        let mut known: HashMap<&Expr, usize> = HashMap::new();
        for lexeme in lexemes {
            let expr = grammar.expr(lexeme.expr);
            if let Some(&index) = known.get(expr) {
                of.push(Some(index));
                continue;
            }
            // Special tokens and blocks are no texts of a lexer.
            if !regular.is_regular(lexeme.expr)
                || matches!(expr, Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_))
            {
                of.push(None);
                continue;
            }
            let Ok(expression) = grammar.regular_of(lexeme.expr, &limits) else { return Ok(None) };
            let Ok(dfa) = Dfa::new_within(&expression, &limits, spend) else { return Ok(None) };
            known.insert(expr, dfas.len());
            of.push(Some(dfas.len()));
            dfas.push(dfa?);
        }
        Ok(Some(Automata { dfas, of }))
    }

    fn dfa(&self, lexeme: usize) -> Option<&Dfa> {
        self.of[lexeme].map(|index| &self.dfas[index])
    }

    fn is_nullable(&self, lexeme: usize) -> bool {
        self.dfa(lexeme).is_some_and(|dfa| dfa.start().is_some_and(|start| dfa.is_accepting(start)))
    }

    fn add_first_bytes(&self, lexeme: usize, bytes: &mut ByteSet) {
        if let Some(dfa) = self.dfa(lexeme)
            && let Some(start) = dfa.start()
        {
            dfa.edges(start).for_each(|(low, high, _)| (low..=high).for_each(|byte| bytes.insert(byte)));
        }
    }

    /// Returns whether some text of `a` begins a text of `c` that goes on with one of some bytes.
    fn goes_on(&self, a: usize, c: usize, bytes: &ByteSet, n_pairs_left: &mut usize) -> bool {
        let (Some(a), Some(c)) = (self.dfa(a), self.dfa(c)) else { return false };
        let (Some(start_a), Some(start_c)) = (a.start(), c.start()) else { return false };
        *n_pairs_left = n_pairs_left.saturating_sub(1);
        let goes_on = |(low, high, _): (u8, u8, u32)| (low..=high).any(|byte| bytes.contains(byte));
        let mut seen: HashSet<(u32, u32)> = HashSet::new();
        let mut pending: Vec<(u32, u32)> = Vec::new();
        let mut next = Some((start_a, start_c));
        while let Some((state_a, state_c)) = next {
            // Both lists of edges ascend by byte.
            let (mut edges_a, mut edges_c) = (a.edges(state_a), c.edges(state_c));
            let (mut edge_a, mut edge_c) = (edges_a.next(), edges_c.next());
            while let (Some((low, high, to_a)), Some((from, to, to_c))) = (edge_a, edge_c) {
                if from <= high && to >= low {
                    pending.push((to_a, to_c));
                }
                if high < to {
                    edge_a = edges_a.next();
                } else {
                    edge_c = edges_c.next();
                }
            }
            // The empty text is no match of a lexer, so the first pair counts only where it comes again.
            next = None;
            while let Some(pair) = pending.pop() {
                if seen.insert(pair) {
                    next = Some(pair);
                    break;
                }
            }
            let Some((state_a, state_c)) = next else { break };
            if *n_pairs_left == 0 {
                return false;
            }
            *n_pairs_left -= 1;
            if a.is_accepting(state_a) && c.edges(state_c).any(goes_on) {
                return true;
            }
        }
        false
    }
}

/// The lexemes that come first in expressions, and those that follow them.
struct Sets {
    first: Vec<Set>,
    follow: Vec<Set>,
}

impl Sets {
    /// Computes the sets, or returns `None` if that takes too many rounds.
    fn new(grammar: &Grammar, lexemes: &[Lexeme], automata: &Automata) -> Option<Sets> {
        let exprs = grammar.exprs();
        let index_of: HashMap<ExprId, usize> =
            lexemes.iter().enumerate().map(|(index, lexeme)| (lexeme.expr, index)).collect();
        let mut first = vec![Set::default(); exprs.len()];
        let mut nullable = vec![false; exprs.len()];
        for (&expr, &index) in &index_of {
            first[expr.index()][index / 64] |= 1 << (index % 64);
            nullable[expr.index()] = automata.is_nullable(index);
        }
        let inner = |id: usize| !index_of.contains_key(&ExprId::new(id));
        let mut rounds = 0..ROUNDS_MAX;
        let mut is_changed = true;
        while core::mem::take(&mut is_changed) {
            rounds.next()?;
            for id in (0..exprs.len()).filter(|&id| inner(id)) {
                let (mut set, mut is_nullable) = (first[id], nullable[id]);
                match &exprs[id] {
                    Expr::Empty => is_nullable = true,
                    Expr::Rule(rule) => {
                        let body = grammar.rule(*rule).body.index();
                        union(&mut set, &first[body]);
                        is_nullable |= nullable[body];
                    }
                    Expr::Sequence(parts) => {
                        let n_first = parts.iter().position(|part| !nullable[part.index()]);
                        let parts_first = &parts[..n_first.map_or(parts.len(), |n| n + 1)];
                        parts_first.iter().for_each(|part| _ = union(&mut set, &first[part.index()]));
                        is_nullable |= n_first.is_none();
                    }
                    Expr::Choice(parts) => {
                        parts.iter().for_each(|part| _ = union(&mut set, &first[part.index()]));
                        is_nullable |= parts.iter().any(|part| nullable[part.index()]);
                    }
                    Expr::Repeat { body, min, .. } => {
                        union(&mut set, &first[body.index()]);
                        is_nullable |= *min == 0 || nullable[body.index()];
                    }
                    _ => {}
                }
                is_changed |= (set, is_nullable) != (first[id], nullable[id]);
                (first[id], nullable[id]) = (set, is_nullable);
            }
        }
        let follow = Self::follow(grammar, &first, &nullable, inner)?;
        Some(Sets { first, follow })
    }

    fn follow(grammar: &Grammar, first: &[Set], nullable: &[bool], inner: impl Fn(usize) -> bool) -> Option<Vec<Set>> {
        let exprs = grammar.exprs();
        // Only what the root leads to counts.
        let is_reachable = analysis::reachable_rules(grammar);
        let mut is_used = vec![false; exprs.len()];
        let rules = grammar.rules().iter().zip(is_reachable).filter(|(_, is_reachable)| *is_reachable);
        rules.for_each(|(rule, _)| is_used[rule.body.index()] = true);
        let mut follow = vec![Set::default(); exprs.len()];
        let mut rounds = 0..ROUNDS_MAX;
        let mut is_changed = true;
        while core::mem::take(&mut is_changed) {
            rounds.next()?;
            for id in (0..exprs.len()).rev().filter(|&id| inner(id)) {
                if !is_used[id] {
                    continue;
                }
                let after = follow[id];
                match &exprs[id] {
                    Expr::Rule(rule) => {
                        let body = grammar.rule(*rule).body.index();
                        is_changed |= union(&mut follow[body], &after) | !core::mem::replace(&mut is_used[body], true);
                    }
                    Expr::Sequence(parts) => {
                        let mut next = after;
                        for part in parts.iter().rev() {
                            let index = part.index();
                            is_changed |=
                                union(&mut follow[index], &next) | !core::mem::replace(&mut is_used[index], true);
                            if !nullable[index] {
                                next = Set::default();
                            }
                            union(&mut next, &first[index]);
                        }
                    }
                    expr => {
                        let mut next = after;
                        if let Expr::Repeat { body, max, .. } = expr
                            && *max != Some(1)
                        {
                            union(&mut next, &first[body.index()]);
                        }
                        expr.for_each_operand(|part| {
                            let index = part.index();
                            is_changed |=
                                union(&mut follow[index], &next) | !core::mem::replace(&mut is_used[index], true);
                        });
                    }
                }
            }
        }
        Some(follow)
    }
}
