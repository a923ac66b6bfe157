//! A contradiction in words: `minLength 5 with maxLength 3`.

use super::super::error::shown;
use super::super::lower::n_different;
use super::*;

/// Most characters of a value that is shown.
const VALUE_CHARS_MAX: usize = 60;

/// Returns the position of a keyword in a message; keywords with a high rank are removed first.
pub(super) fn rank(keyword: &Keyword) -> u8 {
    match keyword {
        Keyword::Enum(_) | Keyword::Const(_) => 0,
        Keyword::Type(_) | Keyword::Nullable(_) => 1,
        Keyword::Required(_) | Keyword::Pattern(_) | Keyword::Format(..) | Keyword::MultipleOf(_) => 2,
        Keyword::Minimum(_)
        | Keyword::ExclusiveMinimum(_)
        | Keyword::MinLength(_)
        | Keyword::MinItems(_)
        | Keyword::MinProperties(_) => 3,
        Keyword::Maximum(_)
        | Keyword::ExclusiveMaximum(_)
        | Keyword::MaxLength(_)
        | Keyword::MaxItems(_)
        | Keyword::MaxProperties(_) => 4,
        Keyword::Contains { .. } => 5,
        Keyword::UniqueItems => 6,
        Keyword::Properties(_) | Keyword::PatternProperties(_) | Keyword::PrefixItems(_) => 7,
        Keyword::AdditionalProperties(_) | Keyword::Items(_) | Keyword::PropertyNames(_) => 8,
        Keyword::DependentRequired(_) => 9,
        Keyword::AllOf(_) | Keyword::Ref(_) | Keyword::DynamicRef { .. } | Keyword::DependentSchemas(_) => 10,
        Keyword::AnyOf(_) | Keyword::OneOf(_) | Keyword::Not(_) | Keyword::If { .. } => 11,
        Keyword::UnevaluatedProperties(_) | Keyword::UnevaluatedItems(_) => 12,
    }
}

/// Returns the type that a keyword constrains, if there is one.
fn type_of(keyword: &Keyword) -> Option<TypeSet> {
    Some(match keyword {
        Keyword::MultipleOf(_)
        | Keyword::Minimum(_)
        | Keyword::Maximum(_)
        | Keyword::ExclusiveMinimum(_)
        | Keyword::ExclusiveMaximum(_) => TypeSet::NUMBER,
        Keyword::MinLength(_) | Keyword::MaxLength(_) | Keyword::Pattern(_) | Keyword::Format(..) => TypeSet::STRING,
        Keyword::Properties(_)
        | Keyword::PatternProperties(_)
        | Keyword::AdditionalProperties(_)
        | Keyword::PropertyNames(_)
        | Keyword::Required(_)
        | Keyword::MinProperties(_)
        | Keyword::MaxProperties(_)
        | Keyword::DependentRequired(_)
        | Keyword::DependentSchemas(_)
        | Keyword::UnevaluatedProperties(_) => TypeSet::OBJECT,
        Keyword::PrefixItems(_)
        | Keyword::Items(_)
        | Keyword::Contains { .. }
        | Keyword::MinItems(_)
        | Keyword::MaxItems(_)
        | Keyword::UniqueItems
        | Keyword::UnevaluatedItems(_) => TypeSet::ARRAY,
        _ => return None,
    })
}

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
        let mut about = atoms.iter().map(|atom| keyword(parts, *atom)).filter(|keyword| !is_type(keyword)).map(type_of);
        if let Some(Some(only)) = about.next()
            && about.all(|other| other == Some(only))
        {
            let says_more = |set: TypeSet| {
                !only.contains(set) || set == TypeSet::INTEGER && only == TypeSet::NUMBER && !is_any_number
            };
            atoms.retain(|atom| match keyword(parts, *atom) {
                Keyword::Type(set) => says_more(*set) || is_nullable(&parts[atom.part].schema),
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
            return match alone(&entry.keyword, &keywords[0]) {
                Alone::Crossed(text) => {
                    let keywords = vec!["minContains".to_owned(), "maxContains".to_owned()];
                    Verdict::Reason { text, keywords, at: first.location }
                }
                Alone::Text(text) => Verdict::Reason { text, keywords, at },
                Alone::None => {
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
        let n_more = groups.len().saturating_sub(KEYWORDS_MAX);
        groups.truncate(KEYWORDS_MAX);
        let mut words: Vec<String> =
            groups.iter().zip(&keywords).map(|(group, name)| self.words(parts, group, name)).collect();
        let names_any = groups.iter().any(|group| matches!(entry(group).keyword, Keyword::Properties(_)));
        if !is_about_one && !names_any {
            for (group, words) in groups.iter().zip(&mut words) {
                if let Keyword::AdditionalProperties(_) = entry(group).keyword {
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
        let keyword = &schema.entries()[group[0].entry].keyword;
        let json = self.model.json(schema.document());
        let names = |of: &dyn Fn(usize) -> String| {
            let names: Vec<String> = group.iter().filter_map(|atom| atom.sub).map(of).collect();
            listed(&names)
        };
        let verdict =
            |id: SchemaId| if matches!(self.model.schema(id).body(), Body::Bool(false)) { " false" } else { "" };
        match keyword {
            Keyword::Type(set) => {
                let all = TypeSet::NAMES.iter().filter(|(_, one)| {
                    set.contains(*one) && !(*one == TypeSet::INTEGER && set.contains(TypeSet::NUMBER))
                });
                let mut all: Vec<&str> = all.map(|(name, _)| *name).collect();
                if is_nullable(schema) && !all.contains(&"null") {
                    all.push("null");
                }
                format!("{name} {}", all.join(" or "))
            }
            Keyword::Enum(values) => {
                let mut text = String::from("[");
                for (index, value) in values.iter().enumerate() {
                    if text.len() > VALUE_CHARS_MAX {
                        text.push_str(", ...");
                        break;
                    }
                    text.push_str(if index == 0 { "" } else { ", " });
                    text.push_str(&cut(json.to_json(*value)));
                }
                format!("{name} {text}]")
            }
            Keyword::Const(value) => format!("{name} {}", cut(json.to_json(*value))),
            Keyword::MultipleOf(number)
            | Keyword::Minimum(number)
            | Keyword::Maximum(number)
            | Keyword::ExclusiveMinimum(number)
            | Keyword::ExclusiveMaximum(number) => format!("{name} {}", cut(number.to_string())),
            Keyword::MinLength(n)
            | Keyword::MaxLength(n)
            | Keyword::MinItems(n)
            | Keyword::MaxItems(n)
            | Keyword::MinProperties(n)
            | Keyword::MaxProperties(n) => format!("{name} {n}"),
            Keyword::Pattern(pattern) => format!("{name} {}", shown(pattern)),
            Keyword::Format(format, _) => format!("{name} {}", cut(format.to_string())),
            Keyword::Required(of) => format!("{name} {}", names(&|sub| shown(&of[sub]))),
            Keyword::Properties(of) | Keyword::PatternProperties(of) => {
                format!("{name} {}", names(&|sub| format!("{}{}", shown(&of[sub].0), verdict(of[sub].1))))
            }
            Keyword::PrefixItems(of) => {
                format!("{name} {}", names(&|sub| format!("/{sub}{}", verdict(of[sub]))))
            }
            Keyword::Items(id) => match self.n_different(*id) {
                Some(1) => format!("{name} of 1 value"),
                Some(n) => format!("{name} of {n} values"),
                None => format!("{name}{}", verdict(*id)),
            },
            Keyword::AdditionalProperties(id)
            | Keyword::PropertyNames(id)
            | Keyword::UnevaluatedProperties(id)
            | Keyword::UnevaluatedItems(id) => format!("{name}{}", verdict(*id)),
            Keyword::Contains { min: 1, max: None, .. } => name.to_owned(),
            Keyword::Contains { min, max: None, .. } => format!("minContains {min}"),
            Keyword::Contains { min, max: Some(max), .. } => format!("{name} of {min} to {max} items"),
            Keyword::AnyOf(_) => format!("each branch of {name}"),
            _ => name.to_owned(),
        }
    }

    /// Returns the number of values that satisfy a schema, if that is visible.
    fn n_different(&self, id: SchemaId) -> Option<usize> {
        if self.is_dynamic {
            return None;
        }
        if let [Entry { keyword: Keyword::Type(set), .. }] = self.model.schema(id).entries()
            && TypeSet::NULL.union(TypeSet::BOOLEAN).contains(*set)
        {
            return Some(usize::from(set.contains(TypeSet::NULL)) + 2 * usize::from(set.contains(TypeSet::BOOLEAN)));
        }
        n_different(self.model, id, self.options, self.store, self.limits, self.budget)
    }
}

/// The description of a keyword that is unsatisfiable by itself.
enum Alone {
    Crossed(String),
    Text(String),
    None,
}

fn alone(keyword: &Keyword, name: &str) -> Alone {
    Alone::Text(match keyword {
        Keyword::Contains { min, max: Some(max), .. } if min > max => {
            return Alone::Crossed(format!("minContains {min} with maxContains {max}"));
        }
        Keyword::Enum(values) if values.is_empty() => format!("{name} lists no value"),
        Keyword::AnyOf(_) => format!("no branch of {name} has a value"),
        Keyword::OneOf(_) => format!("no value satisfies exactly one branch of {name}"),
        Keyword::Not(_) => format!("every value satisfies the schema under {name}"),
        Keyword::If { .. } => format!("no value satisfies {name} with then and else"),
        _ => return Alone::None,
    })
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
        Keyword::Type(_)
            | Keyword::Required(_)
            | Keyword::MinItems(_)
            | Keyword::Properties(_)
            | Keyword::PatternProperties(_)
            | Keyword::AdditionalProperties(_)
            | Keyword::PrefixItems(_)
            | Keyword::Items(_)
    )
}

fn is_type(keyword: &Keyword) -> bool {
    matches!(keyword, Keyword::Type(_))
}

fn is_nullable(schema: &Schema) -> bool {
    schema.entries().iter().any(|entry| matches!(entry.keyword, Keyword::Nullable(true)))
}

/// Returns a description of the names to which `additionalProperties` of a schema does not apply.
fn declared_beside(schema: &Schema) -> String {
    let names = schema.entries().iter().find_map(|entry| match &entry.keyword {
        Keyword::Properties(named) if !named.is_empty() => Some(named),
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

/// Returns a few names, and the number of further ones.
fn listed(names: &[String]) -> String {
    match names.split_at_checked(KEYWORDS_MAX) {
        Some((few, more)) if !more.is_empty() => format!("{} (and {} more)", few.join(", "), more.len()),
        _ => names.join(", "),
    }
}

/// Returns a text, truncated for messages.
fn cut(text: String) -> String {
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
