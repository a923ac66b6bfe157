//! Keywords about values of every kind: types and listed values.

use super::reader::{KeywordReader, Keywords, Misfit, keyword};
use super::wording::VALUE_CHARS_MAX;
use super::{Expansion, Site, Wording, cut, fact};
use crate::json_schema::conjunction::Member;
use crate::json_schema::error::{Expanded, SchemaError, shown};
use crate::json_schema::model::{Keyword, TypeSet, ValueKeyword};
use crate::json_schema::number::NumberSet;
use crate::json_schema::partial::{Alternative, Fact, Frames, Goal, Partial};
use crate::json_schema::shape::{ValueKind, is_of_kind};
use crate::json_schema::value::{Value, ValueId};
use crate::util::closest_name;
use hashbrown::HashSet;

pub(super) fn read(reader: &mut KeywordReader<'_, '_>, name: &str, at: ValueId) -> Result<Option<Keywords>, Misfit> {
    Ok(keyword(Keyword::Value(match name {
        "type" => ValueKeyword::Type(types(reader, at)?),
        "nullable" => ValueKeyword::Nullable(reader.boolean(name, at)?),
        "enum" => ValueKeyword::Enum(reader.list(name, at)?.into()),
        "const" => ValueKeyword::Const(at),
        _ => unreachable!("`{name}` lists no types or values"),
    })))
}

fn types(reader: &KeywordReader<'_, '_>, at: ValueId) -> Result<TypeSet, Misfit> {
    let items = match reader.value(at) {
        Value::Array(items) if !items.is_empty() => items,
        _ => core::slice::from_ref(&at),
    };
    let mut set = TypeSet::NONE;
    for &item in items {
        let Value::String(name) = reader.value(item) else {
            return Err(reader.misfit("type", item, "the name of a type or a list of such names"));
        };
        let Some(types) = TypeSet::from_name(name) else {
            let guess = closest_name(name, TypeSet::NAMES.iter().map(|(other, _)| *other));
            let guess = guess.map(|guess| format!(" (did you mean {guess:?}?)")).unwrap_or_default();
            let reason = format!("must be the name of a type, not {}{guess}", shown(name));
            return Err(Misfit { value: item, error: SchemaError::keyword_value("type", reason) });
        };
        set = set.union(types);
    }
    Ok(set)
}

pub(super) fn assert(cx: &mut dyn Expansion<'_>, partial: &mut Partial, site: &Site, keyword: &ValueKeyword) -> bool {
    match keyword {
        // A kind that no type names was ruled out before: what is left is that integers are numbers.
        ValueKeyword::Type(set) => {
            if site.kind == ValueKind::Number && !set.contains(TypeSet::NUMBER) {
                partial.goals.push(Goal::Fact(Fact::Number(NumberSet::integers())));
            }
            true
        }
        // It was taken into account with the type beside it.
        ValueKeyword::Nullable(_) => true,
        ValueKeyword::Enum(values) => assert_one_of(cx, partial, site, values),
        ValueKeyword::Const(value) => assert_one_of(cx, partial, site, core::slice::from_ref(value)),
    }
}

/// Adds that a value is one of a list; returns whether that can hold.
fn assert_one_of(cx: &dyn Expansion<'_>, partial: &mut Partial, site: &Site, values: &[ValueId]) -> bool {
    let document = cx.model().schema(site.schema).document();
    let json = cx.model().json(document);
    let same_kind = values.iter().copied().filter(|&value| is_of_kind(json.value(value), site.kind));
    let fact = match site.kind {
        ValueKind::Null | ValueKind::True | ValueKind::False => return same_kind.count() > 0,
        ValueKind::Number => {
            let mut seen = HashSet::new();
            let numbers = same_kind.filter_map(|value| match json.value(value) {
                Value::Number(number) => seen.insert(number).then(|| number.clone()),
                _ => None,
            });
            Fact::NumberIn(numbers.collect())
        }
        ValueKind::String => {
            let mut seen = HashSet::new();
            let texts = same_kind.filter_map(|value| match json.value(value) {
                Value::String(text) => seen.insert(text).then(|| text.into()),
                _ => None,
            });
            Fact::StringIn(texts.collect())
        }
        ValueKind::Array | ValueKind::Object => {
            let alternative = |value| vec![Goal::Member(Member::value(document, value), Frames::new())];
            partial.add_choice(same_kind.map(alternative).collect());
            return true;
        }
    };
    partial.goals.push(Goal::Fact(fact));
    true
}

pub(super) fn negate(cx: &mut dyn Expansion<'_>, site: &Site, keyword: &ValueKeyword) -> Expanded<Vec<Alternative>> {
    let document = cx.model().schema(site.schema).document();
    let differs = |value: ValueId| Goal::Member(Member::value(document, value).negated(), Frames::new());
    Ok(match keyword {
        // A kind that no type names was found to fail before.
        ValueKeyword::Type(set) if site.kind == ValueKind::Number && !set.contains(TypeSet::NUMBER) => {
            vec![fact(Fact::Number(NumberSet::non_integers()))]
        }
        ValueKeyword::Type(_) | ValueKeyword::Nullable(_) => vec![],
        // It differs from each: simple facts if there are such, else one negation after the other.
        ValueKeyword::Enum(values) => {
            let json = cx.model().json(document);
            let same_kind = values.iter().copied().filter(|&value| is_of_kind(json.value(value), site.kind));
            let same_kind: Vec<ValueId> = same_kind.collect();
            match site.kind {
                ValueKind::Object => vec![cx.other_objects(document, &same_kind)?],
                _ => vec![same_kind.into_iter().map(differs).collect()],
            }
        }
        ValueKeyword::Const(value) => vec![vec![differs(*value)]],
    })
}

pub(super) fn describe(keyword: &ValueKeyword, wording: &Wording<'_>) -> String {
    let name = wording.name;
    match keyword {
        ValueKeyword::Type(set) => {
            let all = TypeSet::NAMES
                .iter()
                .filter(|(_, one)| set.contains(*one) && !(*one == TypeSet::INTEGER && set.contains(TypeSet::NUMBER)));
            let mut all: Vec<&str> = all.map(|(name, _)| *name).collect();
            if wording.is_nullable && !all.contains(&"null") {
                all.push("null");
            }
            format!("{name} {}", all.join(" or "))
        }
        ValueKeyword::Enum(values) => {
            let mut text = String::from("[");
            for (index, value) in values.iter().enumerate() {
                if text.len() > VALUE_CHARS_MAX {
                    text.push_str(", ...");
                    break;
                }
                text.push_str(if index == 0 { "" } else { ", " });
                text.push_str(&cut(wording.json.to_json(*value)));
            }
            format!("{name} {text}]")
        }
        ValueKeyword::Const(value) => format!("{name} {}", cut(wording.json.to_json(*value))),
        ValueKeyword::Nullable(_) => name.to_owned(),
    }
}

pub(super) fn describe_alone(keyword: &ValueKeyword, name: &str) -> Option<String> {
    match keyword {
        ValueKeyword::Enum(values) => values.is_empty().then(|| format!("{name} lists no value")),
        ValueKeyword::Type(_) | ValueKeyword::Nullable(_) | ValueKeyword::Const(_) => None,
    }
}
