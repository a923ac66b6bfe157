//! A contradiction in words: `minLength 5 with maxLength 3`.

use super::super::error::shown;
use super::*;

impl Search<'_> {
    /// Returns the remaining keywords in words, with their location: the keyword if it is one, the schema if all are of one, else the level.
    pub(super) fn in_words(
        &mut self,
        level: &Level,
        parts: &[Part],
        mut atoms: Vec<Atom>,
        is_any_number: bool,
    ) -> Verdict {
        // `minLength` implies strings, so its type is not mentioned.
        let mut about =
            atoms.iter().map(|atom| keyword(parts, *atom)).filter(|keyword| !is_type(keyword)).map(types_of);
        if let Some(Some(only)) = about.next()
            && about.all(|other| other == Some(only))
        {
            let says_more = |set: TypeSet| {
                !only.contains(set) || set == TypeSet::INTEGER && only == TypeSet::NUMBER && !is_any_number
            };
            atoms.retain(|atom| match keyword(parts, *atom) {
                Keyword::Value(ValueKeyword::Type(set)) => says_more(*set) || is_nullable(&parts[atom.part].schema),
                _ => true,
            });
        }
        atoms.sort_by_key(|atom| (rank(keyword(parts, *atom)), atom.part, atom.entry, atom.sub));
        let mut groups: Vec<Vec<Atom>> = Vec::new();
        for atom in atoms {
            match groups.last_mut() {
                Some(group) if (group[0].part, group[0].entry) == (atom.part, atom.entry) => group.push(atom),
                _ => groups.push(vec![atom]),
            }
        }
        let entry = |group: &[Atom]| &parts[group[0].part].schema.entries()[group[0].entry];
        let name = |group: &[Atom]| {
            let json = self.model.json(parts[group[0].part].schema.document());
            json.key_of(entry(group).value).unwrap_or_default().to_owned()
        };
        let keywords: Vec<String> = groups.iter().map(|group| name(group)).collect();
        let first = &parts[groups[0][0].part];
        if let [group] = &groups[..] {
            let entry = entry(group);
            let at = self.below_key(&first.schema, first.location, entry, None);
            return match (describe_alone(&entry.keyword, &keywords[0]), &entry.keyword) {
                // It is two keywords.
                (Some(text), Keyword::Array(ArrayKeyword::Contains { .. })) => {
                    let keywords = parts_of("contains").iter().map(|&part| part.to_owned()).collect();
                    Verdict::Reason { text, keywords, at: first.location }
                }
                (Some(text), _) => Verdict::Reason { text, keywords, at },
                (None, _) => {
                    let text = format!("{} allows no value", self.words(parts, group, &keywords[0]));
                    Verdict::Reason { text, keywords, at }
                }
            };
        }
        let is_one = groups.iter().all(|group| group[0].part == groups[0][0].part);
        let at = if is_one { first.location } else { level.home };
        // The schema of a required key or item that is forbidden is the reason.
        let forbids = |group: &Vec<Atom>| {
            let (id, at) = self.value_under(parts, group[0])?;
            matches!(self.model.schema(id).body(), Body::Bool(false)).then_some(at)
        };
        let is_about_one = groups.iter().all(|group| is_about_values(&entry(group).keyword));
        let at = groups.iter().filter(|_| is_about_one).find_map(forbids).unwrap_or(at);
        let n_more = groups.len().saturating_sub(LISTED_MAX);
        groups.truncate(LISTED_MAX);
        let mut words: Vec<String> =
            groups.iter().zip(&keywords).map(|(group, name)| self.words(parts, group, name)).collect();
        let names_any =
            groups.iter().any(|group| matches!(entry(group).keyword, Keyword::Object(ObjectKeyword::Properties(_))));
        if !is_about_one && !names_any {
            for (group, words) in groups.iter().zip(&mut words) {
                if let Keyword::Object(ObjectKeyword::AdditionalProperties(_)) = entry(group).keyword {
                    words.push_str(&declared_beside(&parts[group[0].part].schema));
                }
            }
        }
        if n_more > 0 {
            words.push(format!("{n_more} more"));
        }
        Verdict::Reason { text: joined(&words), keywords, at }
    }

    /// Returns a keyword and its remaining value.
    fn words(&self, parts: &[Part], group: &[Atom], name: &str) -> String {
        let Part { schema, .. } = &parts[group[0].part];
        let parts: Vec<usize> = group.iter().filter_map(|atom| atom.sub).collect();
        let wording = Wording {
            name,
            parts: &parts,
            json: self.model.json(schema.document()),
            is_nullable: is_nullable(schema),
            is_false: &|id| matches!(self.model.schema(id).body(), Body::Bool(false)),
            n_values: &|id| self.n_different(id),
        };
        describe(&schema.entries()[group[0].entry].keyword, &wording)
    }

    /// Returns the number of values that satisfy a schema, if that is visible.
    fn n_different(&self, id: SchemaId) -> Option<usize> {
        if self.is_dynamic {
            return None;
        }
        if let [Entry { keyword: Keyword::Value(ValueKeyword::Type(set)), .. }] = self.model.schema(id).entries()
            && TypeSet::NULL.union(TypeSet::BOOLEAN).contains(*set)
        {
            return Some(usize::from(set.contains(TypeSet::NULL)) + 2 * usize::from(set.contains(TypeSet::BOOLEAN)));
        }
        n_different(self.model, id, self.options, self.store, self.limits, self.budget)
    }
}

/// Returns a description of what requires a value below, and its keyword.
pub(super) fn asking(through: &Through) -> (String, &'static str) {
    match through {
        Through::Root => ("$ref".to_owned(), "$ref"),
        Through::Required(name) => (format!("required {}", shown(name)), "required"),
        Through::MinItems(min) => (format!("minItems {min}"), "minItems"),
        Through::Contains | Through::ContainsWithItems => ("contains".to_owned(), "contains"),
    }
}

/// Returns whether a keyword requires or constrains a value below.
fn is_about_values(keyword: &Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Value(ValueKeyword::Type(_))
            | Keyword::Object(ObjectKeyword::Required(_))
            | Keyword::Array(ArrayKeyword::MinItems(_))
            | Keyword::Object(ObjectKeyword::Properties(_))
            | Keyword::Object(ObjectKeyword::PatternProperties(_))
            | Keyword::Object(ObjectKeyword::AdditionalProperties(_))
            | Keyword::Array(ArrayKeyword::PrefixItems(_))
            | Keyword::Array(ArrayKeyword::Items(_))
    )
}

fn is_type(keyword: &Keyword) -> bool {
    matches!(keyword, Keyword::Value(ValueKeyword::Type(_)))
}

fn is_nullable(schema: &Schema) -> bool {
    schema.entries().iter().any(|entry| matches!(entry.keyword, Keyword::Value(ValueKeyword::Nullable(true))))
}

/// Returns a description of the names to which `additionalProperties` of a schema does not apply.
fn declared_beside(schema: &Schema) -> String {
    let names = schema.entries().iter().find_map(|entry| match &entry.keyword {
        Keyword::Object(ObjectKeyword::Properties(named)) if !named.is_empty() => Some(named),
        _ => None,
    });
    match names {
        Some(named) => {
            let names: Vec<String> = named.iter().map(|(name, _)| shown(name)).collect();
            format!(" beside properties {}", listed(&names))
        }
        None => String::new(),
    }
}

/// Returns `a with b`, `a with b and c`, `a with b, c and d`.
fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first, last] => format!("{first} with {last}"),
        [first, middle @ .., last] => format!("{first} with {} and {last}", middle.join(", ")),
    }
}
