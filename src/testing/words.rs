//! The definition of a language, taken literally: the set of its words up to some length.
//!
//! Every expression is a set of words, every operator an operation on sets, recursion a least fixpoint. This checks the oracle itself.
//! Words are over the characters of an alphabet and control tokens; classes and complements are restricted to that alphabet.

use crate::grammar::{ControlRef, ExcludedTokens, Expr, Grammar};
use crate::regular::{CharSet, Node, Regular};
use std::collections::BTreeSet;

/// A letter of a word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Letter {
    /// A character.
    Char(char),
    /// A control token.
    Control(ControlRef),
    /// Some token but these.
    TokenExcept(ExcludedTokens),
}

/// A word.
pub type Word = Vec<Letter>;

/// A set of words.
pub type Words = BTreeSet<Word>;

struct Universe {
    alphabet: Vec<char>,
    len_max: usize,
    /// All words over the alphabet, without control tokens.
    texts: Words,
}

/// Returns all words over `letters` of at most `len_max` letters.
pub fn all_words(letters: &[Letter], len_max: usize) -> Words {
    let mut words = Words::from([vec![]]);
    let mut longest: Vec<Word> = vec![vec![]];
    for _ in 0..len_max {
        longest = longest
            .iter()
            .flat_map(|word| letters.iter().map(|l| [&word[..], core::slice::from_ref(l)].concat()))
            .collect();
        words.extend(longest.iter().cloned());
    }
    words
}

/// Returns the words of a grammar over `alphabet` and control tokens, of at most `len_max` letters. Markers count as their characters. `None` if
/// a literal is not UTF-8, or there is a schema.
pub fn words_of(grammar: &Grammar, alphabet: &[char], len_max: usize) -> Option<Words> {
    let letters: Vec<Letter> = alphabet.iter().map(|&c| Letter::Char(c)).collect();
    let universe = Universe { alphabet: alphabet.to_vec(), len_max, texts: all_words(&letters, len_max) };
    let is_recursive = recursive_rules(grammar);
    let mut of_rule = vec![Words::new(); grammar.rules().len()];
    for n_rounds in 0.. {
        let mut of_expr: Vec<Words> = Vec::with_capacity(grammar.exprs().len());
        for expr in grammar.exprs() {
            let words = match expr {
                Expr::Empty => Words::from([vec![]]),
                Expr::Literal(bytes) => universe.literal(core::str::from_utf8(bytes).ok()?),
                Expr::Marker(text) => universe.literal(text),
                Expr::Schema(_) => return None,
                Expr::LiteralNoCase(text) => text.chars().fold(Words::from([vec![]]), |words, c| {
                    let same = |other: &char| same_folded(c, *other);
                    let here = universe.alphabet.iter().filter(|c| same(c)).map(|&c| vec![Letter::Char(c)]).collect();
                    universe.concat(&words, &here)
                }),
                Expr::Class(set) => universe.class(set),
                Expr::Regex(regex) => universe.regular(&regex.regular)?,
                Expr::Control(control) => Words::from([vec![Letter::Control(control.clone())]]),
                Expr::TokenExcept(excluded) => Words::from([vec![Letter::TokenExcept(excluded.clone())]]),
                Expr::Rule(rule) => of_rule[rule.index()].clone(),
                Expr::Sequence(operands) => operands
                    .iter()
                    .fold(Words::from([vec![]]), |words, operand| universe.concat(&words, &of_expr[operand.index()])),
                Expr::Choice(operands) => {
                    operands.iter().flat_map(|operand| of_expr[operand.index()].iter().cloned()).collect()
                }
                Expr::Repeat { body, min, max } => universe.repeat(&of_expr[body.index()], *min, *max),
                // Each word may be one token.
                Expr::AtMostTokens { body, max } => match max {
                    0 => of_expr[body.index()].iter().filter(|word| word.is_empty()).cloned().collect(),
                    _ => of_expr[body.index()].clone(),
                },
                Expr::And(a, b) => &of_expr[a.index()] & &of_expr[b.index()],
                Expr::Minus(a, b) => &of_expr[a.index()] - &of_expr[b.index()],
                Expr::Not(a) => &universe.texts - &of_expr[a.index()],
            };
            of_expr.push(words);
        }
        let mut next: Vec<Words> = grammar.rules().iter().map(|rule| of_expr[rule.body.index()].clone()).collect();
        if n_rounds <= grammar.rules().len() {
            // Sets may shrink where an operand of `-` or `~` grows. Such operands don't recurse, so they converge first.
            next.iter_mut()
                .zip(&is_recursive)
                .filter(|(_, recursive)| **recursive)
                .for_each(|(words, _)| words.clear());
        } else if next == of_rule {
            return Some(next[grammar.root().index()].clone());
        }
        of_rule = next;
    }
    unreachable!("there are finitely many words")
}

/// Returns by rule whether it is recursive.
fn recursive_rules(grammar: &Grammar) -> Vec<bool> {
    let reaches = |from: usize| {
        let mut seen = vec![false; grammar.rules().len()];
        let mut pending = vec![grammar.rules()[from].body];
        while let Some(expr) = pending.pop() {
            match grammar.expr(expr) {
                Expr::Rule(rule) if !core::mem::replace(&mut seen[rule.index()], true) => {
                    pending.push(grammar.rule(*rule).body);
                }
                other => other.for_each_operand(|operand| pending.push(operand)),
            }
        }
        seen[from]
    };
    (0..grammar.rules().len()).map(reaches).collect()
}

fn same_folded(a: char, b: char) -> bool {
    a == b || a.to_lowercase().eq(b.to_lowercase())
}

impl Universe {
    fn literal(&self, text: &str) -> Words {
        let word: Word = text.chars().map(Letter::Char).collect();
        let is_inside = word.len() <= self.len_max && text.chars().all(|c| self.alphabet.contains(&c));
        if is_inside { Words::from([word]) } else { Words::new() }
    }

    fn class(&self, set: &CharSet) -> Words {
        self.alphabet.iter().filter(|&&c| set.contains(c)).map(|&c| vec![Letter::Char(c)]).collect()
    }

    fn concat(&self, a: &Words, b: &Words) -> Words {
        let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
        pairs.filter(|(x, y)| x.len() + y.len() <= self.len_max).map(|(x, y)| [&x[..], &y[..]].concat()).collect()
    }

    fn repeat(&self, body: &Words, min: u32, max: Option<u32>) -> Words {
        let has_empty = body.contains(&vec![]);
        let mut copies = Words::from([vec![]]);
        let mut words = Words::new();
        for n in 0..=max.unwrap_or(u32::MAX) {
            if n >= min {
                let before = words.len();
                words.extend(copies.iter().cloned());
                if n > min && words.len() == before && n as usize > self.len_max {
                    break;
                }
            }
            let next = self.concat(&copies, body);
            if next == copies && n < min {
                // Converged.
                words.extend(copies);
                break;
            }
            if next.is_empty() && !has_empty {
                break;
            }
            copies = next;
        }
        words
    }

    fn regular(&self, regular: &Regular) -> Option<Words> {
        let mut of_node: Vec<Words> = Vec::new();
        for node in regular.nodes() {
            let words = match node {
                Node::Empty => Words::from([vec![]]),
                Node::Bytes(bytes) => self.literal(core::str::from_utf8(bytes).ok()?),
                Node::Class(set) => self.class(set),
                Node::Concat(operands) => operands
                    .iter()
                    .fold(Words::from([vec![]]), |words, operand| self.concat(&words, &of_node[operand.index()])),
                Node::Union(operands) => {
                    operands.iter().flat_map(|operand| of_node[operand.index()].iter().cloned()).collect()
                }
                Node::Repeat { body, min, max } => self.repeat(&of_node[body.index()], *min, *max),
                Node::And(a, b) => &of_node[a.index()] & &of_node[b.index()],
                Node::Not(a) => &self.texts - &of_node[a.index()],
                Node::Substring(chunks) => {
                    let chunks: Option<Vec<&str>> =
                        chunks.iter().map(|chunk| core::str::from_utf8(chunk).ok()).collect();
                    let chunks = chunks?;
                    let runs = (0..chunks.len()).flat_map(|start| (start..chunks.len()).map(move |end| start..=end));
                    let words = runs.flat_map(|run| self.literal(&chunks[run].concat()));
                    words.chain([vec![]]).collect()
                }
            };
            of_node.push(words);
        }
        Some(regular.root().map_or(Words::new(), |root| of_node[root.index()].clone()))
    }
}
