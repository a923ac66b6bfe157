//! Locations of late errors: the keyword that an error names, among those that apply to the value.

use super::*;
use crate::json_schema::model::{Applies, NumberKeyword, ValueKeyword};

/// Most sub-schemas that are searched for a keyword.
const LOOKS_MAX: usize = 4096;
/// Greatest decimal exponent of numbers that doubles certainly represent.
const EXPONENT_MAX: i64 = 300;

/// Returns the keywords that an error about one may refer to, the most likely ones first.
fn meant_by(keyword: &str) -> &[&str] {
    const BOUNDS: [&str; 8] =
        ["multipleOf", "const", "enum", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "type"];
    const CONDITIONS: [&str; 8] =
        ["not", "oneOf", "if", "anyOf", "dependentSchemas", "dependencies", "dependentRequired", "enum"];
    match keyword {
        "multipleOf" => &BOUNDS,
        // Bounds outside of the doubles: a divisor is the least likely cause.
        "minimum" => &["const", "enum", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"],
        "not" => &CONDITIONS,
        "contains" => &["contains", "not", "oneOf", "if", "anyOf", "items", "additionalItems"],
        "patternProperties" => &["patternProperties", "propertyNames", "additionalProperties", "not"],
        "properties" => &["properties", "required", "patternProperties", "propertyNames"],
        "minProperties" => &["minProperties", "maxProperties"],
        "maxProperties" => &["maxProperties", "minProperties"],
        _ => &[],
    }
}

impl Expander<'_> {
    /// Adds the location to an error about the values of a conjunction, if it has none.
    pub fn placed_at(&self, id: ConjunctionId, error: LowerError) -> LowerError {
        match error {
            LowerError::Schema(error) => self.placed(self.conjunctions.members(id), error).into(),
            error => error,
        }
    }

    /// Adds the location to an error about the values of some members, if it has none.
    pub(super) fn placed(&self, members: &[Member], error: SchemaError) -> SchemaError {
        // A limit on all automata together has no location.
        if error.is_placed() || error.limit().is_some_and(|(bound, ..)| bound == "automaton_states_max") {
            return error;
        }
        let first = members.iter().find_map(|member| match member.subject {
            Subject::Schema(id) => Some((id, self.model.schema(id).value())),
            _ => None,
        });
        let keyword = error.keyword().map(str::to_owned);
        match keyword.and_then(|keyword| self.find_keyword(members, &keyword)).or(first) {
            Some((id, value)) => {
                let word = self.model.json(self.model.schema(id).document()).key_of(value);
                let is_keyword = self.model.schema(id).value() != value;
                let error = match word {
                    Some(word) if is_keyword => error.about(word),
                    _ => error,
                };
                self.model.error_at(id, value, error)
            }
            None => error,
        }
    }

    /// Returns the keyword that a name refers to, among those that apply to values of some members.
    fn find_keyword(&self, members: &[Member], name: &str) -> Option<(SchemaId, ValueId)> {
        let only = [name];
        let wanted = match meant_by(name) {
            [] => &only[..],
            wanted => wanted,
        };
        let mut pending: VecDeque<Subject> = members.iter().map(|member| member.subject).collect();
        let mut seen: HashSet<Subject> = HashSet::new();
        let mut best: Option<((bool, usize), (SchemaId, ValueId))> = None;
        while let Some(subject) = pending.pop_front() {
            if !seen.insert(subject) || seen.len() > LOOKS_MAX {
                continue;
            }
            let id = match subject {
                Subject::Schema(id) => id,
                Subject::Choice(id) => {
                    let of = self.conjunctions.choices(id).iter();
                    pending.extend(of.flat_map(|&id| self.conjunctions.members(id)).map(|member| member.subject));
                    continue;
                }
                Subject::Value(..) | Subject::Nothing => continue,
            };
            let json = self.model.json(self.model.schema(id).document());
            for entry in self.model.schema(id).entries() {
                let word = json.key_of(entry.value).unwrap_or_default();
                if let Some(rank) = wanted.iter().position(|wanted| *wanted == word) {
                    let rank = (name == "minimum" && !is_beyond_doubles(&entry.keyword), rank);
                    if best.is_none_or(|(best_rank, _)| rank < best_rank) {
                        best = Some((rank, (id, entry.value)));
                    }
                }
                entry.keyword.for_each_schema(|&id, applies| match applies {
                    Applies::InPlace | Applies::InPlaceNegated => pending.push_back(Subject::Schema(id)),
                    Applies::ToChild => {}
                });
            }
        }
        best.map(|(_, place)| place)
    }
}

/// Returns whether a keyword's number may be outside of the range of doubles; true for lists of values.
fn is_beyond_doubles(keyword: &Keyword) -> bool {
    match keyword {
        Keyword::Number(NumberKeyword::Minimum(number))
        | Keyword::Number(NumberKeyword::Maximum(number))
        | Keyword::Number(NumberKeyword::ExclusiveMinimum(number))
        | Keyword::Number(NumberKeyword::ExclusiveMaximum(number))
        | Keyword::Number(NumberKeyword::MultipleOf(number)) => {
            (number.exponent() + number.digits().len() as i64).abs() > EXPONENT_MAX
        }
        Keyword::Value(ValueKeyword::Const(_)) | Keyword::Value(ValueKeyword::Enum(_)) => true,
        _ => false,
    }
}
