//! Free text up to a pattern: what a model may write before it calls a tool.
//!
//! The text before a pattern is that up to its *first* occurrence, the one that begins first, as parsers of model output find it: of `a<t><t>` the text before `<t>` is `a`.
//! Written as "text without the pattern, then the pattern", the pattern `aa` would also be found at the end of `aaa`, since `a` is a text
//! without it. So the text before a pattern `m` is each `v` for which no occurrence of a pattern in `v m` begins within `v`: `v` has
//! none in it, and doesn't end with a beginning `u` of a pattern `u y` where `y` is a beginning of `m` (or all of it). That is regular, a difference of
//! finitely many pieces, and for nearly all patterns there are no such `u` at all.
//!
//! ```text
//! patterns   text     read as
//! aa         aaa      aa, then a
//! ab, b      ab       ab: that begins first
//! a, ab      ab       a, then b; or ab: both begin at the same place
//! aba, b     ab..     aba if an a follows, else a, then b
//! ```
//!
//! An excluded text counts wherever it ends, also at the end of the pattern, and hides a pattern that has it inside.

use super::overlap::{Beginning, beginnings};
use super::{Expr, ExprId, GrammarBuilder};
use crate::regular::CharSet;
use core::convert::Infallible;
use hashbrown::HashMap;

impl GrammarBuilder {
    /// Adds any text of valid UTF-8.
    pub fn any_text(&mut self) -> ExprId {
        let any = self.class(CharSet::all());
        self.repeat(any, 0, None)
    }

    /// Adds any text in which none of `excludes` occurs. Beginnings of them may, also at its end. An empty text in the list excludes everything.
    pub fn text_without(&mut self, excludes: &[&str]) -> ExprId {
        let all = self.any_text();
        if excludes.is_empty() {
            return all;
        }
        let excludes = self.literals(excludes);
        let excluded = self.sequence([all, excludes, all]);
        self.push(Expr::Minus(all, excluded))
    }

    /// Adds free text up to the first occurrence of some pattern, and then the arm of that pattern, which begins with the pattern itself. The first occurrence is the one that begins first; of
    /// patterns that begin at the same place each may be the one. None of `excludes` occurs before the end of the pattern, or ends there. Takes time for each pair of texts.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab, grammar::GrammarBuilder};
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.rule("root");
    /// let (digit, bold) = (builder.literal("$1"), builder.literal("<b>!"));
    /// let body = builder.text_until(&[("$", digit), ("<b>", bold)], &["stop"]);
    /// builder.define(root, body);
    /// let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?;
    /// let grammar = GrammarCompiler::new(vocab.into()).compile(&builder.finish(root)?)?;
    /// for (text, is_match) in [("a < b <b>!", true), ("$1", true), ("<b>$1", false), ("stop $1", false), ("sto $1", true)] {
    ///     let mut matcher = grammar.matcher();
    ///     assert_eq!(matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting(), is_match, "{text}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text_until(&mut self, arms: &[(&str, ExprId)], excludes: &[&str]) -> ExprId {
        self.text_until_within(arms, excludes, usize::MAX).expect("there is no limit")
    }

    /// As [`Self::text_until`]; nothing if the builder would have more than so many expressions then, or a text has more bytes. Texts that overlap themselves and one another take some for each
    /// place where they do.
    pub(crate) fn text_until_within(
        &mut self,
        arms: &[(&str, ExprId)],
        excludes: &[&str],
        n_exprs_max: usize,
    ) -> Option<ExprId> {
        let all: Vec<&str> = arms.iter().map(|&(pattern, _)| pattern).chain(excludes.iter().copied()).collect();
        if all.iter().any(|text| text.len() > n_exprs_max) {
            return None;
        }
        let without = self.text_without(&all);
        // Arms before which the same texts may stand are alternatives behind one such text.
        let mut numbers: HashMap<Vec<Endings>, usize> = HashMap::new();
        let mut groups: Vec<(ExprId, Vec<ExprId>)> = Vec::new();
        for &(pattern, arm) in arms {
            if excludes.iter().any(|text| pattern.contains(text)) {
                continue;
            }
            let endings = forbidden_endings(pattern, &all);
            let number = match numbers.get(&endings) {
                Some(&known) => known,
                None => {
                    let n_places: usize = endings.iter().map(|(_, ends)| ends.len()).sum();
                    if self.n_exprs().saturating_add(EXPRS_PER_PLACE * n_places) > n_exprs_max {
                        return None;
                    }
                    let before = self.text_not_ending(without, &all, &endings);
                    groups.push((before, Vec::new()));
                    numbers.insert(endings, groups.len() - 1);
                    groups.len() - 1
                }
            };
            groups[number].1.push(arm);
        }
        let mut alternatives = Vec::with_capacity(groups.len());
        for (before, arms) in groups {
            let arms = self.one_of(arms);
            alternatives.push(self.sequence([before, arms]));
        }
        Some(self.one_of(alternatives))
    }

    /// Returns the texts of an expression that don't end with any of some beginnings of texts.
    fn text_not_ending(&mut self, text: ExprId, all: &[&str], endings: &[Endings]) -> ExprId {
        if endings.is_empty() {
            return text;
        }
        let endings = endings.iter().map(|(index, ends)| {
            let added = beginnings(all[*index], ends, &mut |expr| Ok::<_, Infallible>(self.push(expr)));
            let Ok(added) = added;
            added
        });
        let endings: Vec<ExprId> = endings.collect();
        let (any, endings) = (self.any_text(), self.one_of(endings));
        let forbidden = self.sequence([any, endings]);
        self.push(Expr::Minus(text, forbidden))
    }

    /// Adds a choice, without one where there is a single alternative.
    pub(crate) fn one_of(&mut self, alternatives: Vec<ExprId>) -> ExprId {
        match *alternatives {
            [only] => only,
            _ => self.choice(alternatives),
        }
    }

    fn literals(&mut self, texts: &[&str]) -> ExprId {
        let texts = texts.iter().map(|text| self.literal(text)).collect();
        self.one_of(texts)
    }
}

/// Expressions of a beginning among several ([`beginnings`]).
const EXPRS_PER_PLACE: usize = 3;

/// A text by its index, and the lengths of some of its beginnings, ascending.
type Endings = (usize, Vec<usize>);

/// Returns the beginnings of texts with which the text before a pattern must not end, since that text would begin before the pattern.
fn forbidden_endings(pattern: &str, all: &[&str]) -> Vec<Endings> {
    let pattern = Beginning::new(pattern);
    let found = all.iter().enumerate().map(|(index, other)| (index, pattern.places_in(other)));
    found.filter(|(_, ends)| !ends.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::reference::Recognizer;

    /// Returns the numbers of the patterns at the end of a text before which no pattern begins, if nothing excluded occurs.
    fn first_at_end(text: &str, patterns: &[&str], excludes: &[&str]) -> Vec<usize> {
        let is_first = |pattern: &&str| {
            let start = text.len() - pattern.len();
            (0..start).all(|at| !patterns.iter().any(|other| text[at..].starts_with(other)))
        };
        if excludes.iter().any(|excluded| text.contains(excluded)) {
            return vec![];
        }
        (0..patterns.len()).filter(|&index| text.ends_with(patterns[index]) && is_first(&patterns[index])).collect()
    }

    #[test]
    fn the_first_occurrence_counts() {
        let settings: [(&[&str], &[&str]); 11] = [
            (&["a", "aba", "ba"], &["bb"]),
            (&["bb", "abba"], &[]),
            (&["abaab", "aab", "ba"], &["babb"]),
            (&["aa"], &[]),
            (&["aba", "b"], &[]),
            (&["ab", "bb"], &["aab"]),
            (&["abab", "ba"], &[]),
            (&["a", "ab"], &[]),
            (&["aab", "ab", "b"], &[]),
            (&["abb"], &["ab"]),
            (&["bab", "abb"], &["bb"]),
        ];
        let mut texts = vec![String::new()];
        for from in 0..(1 << 8) - 1 {
            let text: &String = &texts[from];
            let longer = [format!("{text}a"), format!("{text}b")];
            texts.extend(longer);
        }
        for (patterns, excludes) in settings {
            let mut builder = GrammarBuilder::new();
            let root = builder.rule("root");
            // Each arm has a mark of its own behind the pattern.
            let marks = ["0", "1", "2"];
            let arms: Vec<(&str, ExprId)> = patterns
                .iter()
                .zip(marks)
                .map(|(&pattern, mark)| (pattern, builder.literal(format!("{pattern}{mark}"))))
                .collect();
            let body = builder.text_until(&arms, excludes);
            builder.define(root, body);
            let grammar = builder.finish(root).unwrap();
            let recognizer = Recognizer::new(&grammar, &Limits::default());
            for text in &texts {
                let found = first_at_end(text, patterns, excludes);
                let Ok(recognizer) = &recognizer else {
                    assert!(found.is_empty(), "{patterns:?} {excludes:?} {text}");
                    continue;
                };
                for (number, mark) in marks.iter().enumerate().take(patterns.len()) {
                    let mut chart = recognizer.start();
                    let whole = format!("{text}{mark}");
                    let is_match = chart.push_bytes(whole.as_bytes()) == whole.len() && chart.is_accepting();
                    assert_eq!(is_match, found.contains(&number), "{patterns:?} {excludes:?} {whole}");
                }
            }
        }
    }
}
