//! Free text up to a pattern: what a model may write before it calls a tool.
//!
//! The text before a pattern is that up to its *first* occurrence, as parsers of model output find it: of `a<t><t>` the text before `<t>` is `a`.
//! Written as "text without the pattern, then the pattern", the pattern `aa` would also be found at the end of `aaa`, since `a` is a text
//! without it. So the text before a pattern `m` is each `v` for which `v m` has no occurrence of any pattern that ends before its end: `v` has
//! none within it, and doesn't end with a beginning `u` of a pattern `u y` where `y` is a beginning of `m`. That is regular, a difference of
//! finitely many pieces, and for nearly all patterns there are no such `u` at all.

use super::{Expr, ExprId, GrammarBuilder};
use crate::regular::CharSet;
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

    /// Adds free text up to the first occurrence of some pattern, and then the arm of that pattern, which begins with the pattern itself. Of patterns
    /// that end at the same place each may be the one. None of `excludes` occurs before the end of the pattern.
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
        let patterns: Vec<&str> = arms.iter().map(|&(pattern, _)| pattern).collect();
        let all: Vec<&str> = patterns.iter().chain(excludes).copied().collect();
        let without = self.text_without(&all);
        // Arms before which the same texts may stand are alternatives behind one such text.
        let mut numbers: HashMap<Vec<&str>, usize> = HashMap::new();
        let mut groups: Vec<(Vec<&str>, Vec<ExprId>)> = Vec::new();
        for &(pattern, arm) in arms {
            let Some(endings) = forbidden_endings(pattern, &patterns, excludes) else { continue };
            let number = *numbers.entry(endings.clone()).or_insert_with(|| {
                groups.push((endings, Vec::new()));
                groups.len() - 1
            });
            groups[number].1.push(arm);
        }
        let mut alternatives = Vec::with_capacity(groups.len());
        for (endings, arms) in groups {
            let before = match *endings {
                [] => without,
                _ => {
                    let (all, endings) = (self.any_text(), self.literals(&endings));
                    let forbidden = self.sequence([all, endings]);
                    self.push(Expr::Minus(without, forbidden))
                }
            };
            let arms = self.one_of(arms);
            alternatives.push(self.sequence([before, arms]));
        }
        self.one_of(alternatives)
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

/// Returns what the text before a pattern must not end with, sorted, so that nothing is found before the end of the pattern; nothing if that is
/// found whatever the text is.
fn forbidden_endings<'t>(pattern: &str, patterns: &[&'t str], excludes: &[&'t str]) -> Option<Vec<&'t str>> {
    let mut endings = Vec::new();
    // What counts of the pattern: an excluded text may not even end where it ends.
    let last = pattern.char_indices().next_back().map_or(0, |(at, _)| at);
    let found =
        patterns.iter().map(|&other| (other, &pattern[..last])).chain(excludes.iter().map(|&other| (other, pattern)));
    for (other, counted) in found {
        if counted.contains(other) {
            return None;
        }
        for (at, _) in other.char_indices().skip(1).filter(|&(at, _)| counted.starts_with(&other[at..])) {
            endings.push(&other[..at]);
        }
    }
    endings.sort_unstable();
    endings.dedup();
    Some(endings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::reference::Recognizer;

    /// Returns the number of the pattern that ends first in a text, if that is at its end and nothing excluded ends before or there.
    fn first_at_end(text: &str, patterns: &[&str], excludes: &[&str]) -> Vec<usize> {
        for end in 1..=text.len() {
            let ends_here = |other: &&str| text[..end].ends_with(other);
            if excludes.iter().any(ends_here) {
                return vec![];
            }
            let found: Vec<usize> = (0..patterns.len()).filter(|&index| ends_here(&patterns[index])).collect();
            if !found.is_empty() {
                return if end == text.len() { found } else { vec![] };
            }
        }
        vec![]
    }

    #[test]
    fn the_first_occurrence_counts() {
        let settings: [(&[&str], &[&str]); 8] = [
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
