//! Choices between languages of strings: each is a language itself.
//!
//! Nine choices between three patterns each are 19,683 alternatives, and as many intersections in a union. But "any of three patterns" is as
//! regular as a pattern: its automaton takes the place of the choice, and what is left is one alternative of nine languages. Choices
//! that say something about lengths stay as they are, since lengths are counted beside the automaton.

use super::*;

impl Expander<'_> {
    /// Makes languages of the choices of a string that wait, if there are several; returns whether some is a goal now.
    pub(super) fn join_languages(&mut self, partial: &mut Partial) -> Expanded<bool> {
        // A choice alone multiplies nothing. Questions are about small things.
        if !matches!(partial.shape, Shape::String(_)) || partial.choices.len() < 2 || self.question_depth > 0 {
            return Ok(false);
        }
        let mut has_joined = false;
        for choice in core::mem::take(&mut partial.choices) {
            let Choice::Of(alternatives) = &choice else {
                partial.choices.push_back(choice);
                continue;
            };
            let language = match alternatives.language.get() {
                Some(&known) => known,
                None => {
                    let language = self.language_of(&alternatives.all)?;
                    *alternatives.language.get_or_init(|| language)
                }
            };
            match language {
                Some(language) => {
                    partial.goals.push(Goal::Fact(Fact::Language(language, true)));
                    has_joined = true;
                }
                None => partial.choices.push_back(choice),
            }
        }
        Ok(has_joined)
    }

    /// Returns the language of the strings that some alternatives allow; nothing if they say more than that, or are too many.
    fn language_of(&mut self, alternatives: &[Alternative]) -> Expanded<Option<LanguageId>> {
        let mut all: Vec<StringShape> = Vec::new();
        for goals in alternatives {
            let goals = goals.iter().rev().cloned().collect();
            self.question_depth += 1;
            let shapes = self.asking(|cx| cx.expand_goals(&[], goals, ValueKind::String, QUESTION_ALTERNATIVES_MAX));
            self.question_depth -= 1;
            let shapes = match shapes {
                (Ok(Some(shapes)), false) => shapes,
                (Ok(_), _) | (Err(LowerError::Schema(_)), _) => return Ok(None),
                (Err(error), _) => return Err(error),
            };
            all.extend(shapes.into_iter().filter_map(|shape| match shape {
                Shape::String(string) => Some(string),
                _ => None,
            }));
        }
        self.languages.any_of(&all.iter().collect::<Vec<_>>(), self.limits)
    }
}
