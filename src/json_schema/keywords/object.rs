//! Keywords about objects: schemas of properties and keys, names that must be there, counts of members.

use super::reader::{KeywordReader, Keywords, Misfit, keyword};
use super::{Expansion, Site, Wording, below, fact};
use crate::json_schema::error::{Expanded, LowerError, SchemaError, shown};
use crate::json_schema::model::{Keyword, Named, ObjectKeyword, SchemaId};
use crate::json_schema::partial::{Alternative, Fact, Frames, Goal, Partial};
use crate::json_schema::shape::{KeyRule, Keys, LanguageId, Obligation, Shape};
use crate::json_schema::value::{Member as JsonMember, Value, ValueId};
use hashbrown::HashSet;
use std::rc::Rc;
use std::sync::Arc;

pub(super) fn read(reader: &mut KeywordReader<'_, '_>, name: &str, at: ValueId) -> Result<Option<Keywords>, Misfit> {
    Ok(keyword(Keyword::Object(match name {
        "properties" => ObjectKeyword::Properties(reader.map(name, at)?),
        "patternProperties" => ObjectKeyword::PatternProperties(reader.map(name, at)?),
        "additionalProperties" => ObjectKeyword::AdditionalProperties(reader.schema(at)?),
        "propertyNames" => ObjectKeyword::PropertyNames(reader.schema(at)?),
        "required" => ObjectKeyword::Required(reader.names(name, at)?),
        "minProperties" => ObjectKeyword::MinProperties(reader.count(name, at)?),
        "maxProperties" => ObjectKeyword::MaxProperties(reader.count(name, at)?),
        "dependencies" => return dependencies(reader, at).map(Some),
        "dependentRequired" => {
            let members = reader.members(name, at)?;
            ObjectKeyword::DependentRequired(reader.named(members, |reader, value| reader.names(name, value))?)
        }
        "dependentSchemas" => ObjectKeyword::DependentSchemas(reader.map(name, at)?),
        "unevaluatedProperties" => ObjectKeyword::UnevaluatedProperties(reader.schema(at)?),
        _ => unreachable!("`{name}` is not about objects"),
    })))
}

/// Splits `dependencies` into its two kinds.
fn dependencies(reader: &mut KeywordReader<'_, '_>, at: ValueId) -> Result<Keywords, Misfit> {
    let members = reader.members("dependencies", at)?;
    let is_list = |member: &JsonMember| matches!(reader.value(member.value), Value::Array(_));
    let (lists, schemas): (Vec<JsonMember>, Vec<JsonMember>) = members.iter().copied().partition(is_list);
    let mut keywords = Keywords::new();
    if !lists.is_empty() {
        let lists = reader.named(&lists, |reader, value| reader.names("dependencies", value))?;
        keywords.push(Keyword::Object(ObjectKeyword::DependentRequired(lists)));
    }
    if !schemas.is_empty() {
        let schemas = reader.named(&schemas, KeywordReader::schema)?;
        keywords.push(Keyword::Object(ObjectKeyword::DependentSchemas(schemas)));
    }
    Ok(keywords)
}

pub(super) fn assert(
    cx: &mut dyn Expansion<'_>,
    partial: &mut Partial,
    site: &Site,
    keyword: &ObjectKeyword,
    frames: &Frames,
) -> Expanded<()> {
    let fact = match keyword {
        ObjectKeyword::Properties(properties) => {
            partial.record(frames, |frame| frame.names.extend(properties.iter().map(|(name, _)| name.clone())));
            if let Shape::Object(object) = &mut partial.shape {
                object.properties.reserve(properties.len());
            }
            let facts = properties.iter().map(|(name, id)| Fact::Property(Arc::clone(name), site.member(*id)));
            partial.add_goals(facts.map(Goal::Fact));
            return Ok(());
        }
        ObjectKeyword::PatternProperties(patterns) => {
            let mut rules = Vec::with_capacity(patterns.len());
            for (place, (_, id)) in patterns.iter().enumerate() {
                let language = key_pattern(cx, site.schema, place)?;
                partial.record(frames, |frame| {
                    frame.languages.extend(language);
                    frame.is_open |= language.is_none();
                });
                let Some(language) = language else { continue };
                rules.push(KeyRule { keys: Keys::In(language), member: site.member(*id) });
            }
            partial.add_goals(rules.into_iter().map(|rule| Goal::Fact(Fact::Keys(rule))));
            return Ok(());
        }
        ObjectKeyword::AdditionalProperties(id) => {
            partial.record(frames, |frame| frame.has_all = true);
            Fact::Keys(KeyRule { keys: keys_beside(cx, site.schema)?, member: site.member(*id) })
        }
        ObjectKeyword::PropertyNames(id) => Fact::Names(site.member(*id)),
        ObjectKeyword::Required(names) => {
            partial.add_goals(names.iter().map(|name| Goal::Fact(Fact::Required(Arc::clone(name)))));
            return Ok(());
        }
        ObjectKeyword::MinProperties(min) => Fact::MinProperties(checked_min(cx, "minProperties", *min)?),
        ObjectKeyword::MaxProperties(max) => Fact::MaxProperties(*max),
        ObjectKeyword::DependentRequired(lists) => {
            for (name, needed) in lists {
                let present = core::iter::once(name).chain(needed.iter());
                let present = present.map(|name| Goal::Fact(Fact::Required(Arc::clone(name)))).collect();
                partial.add_choice(vec![absent(name), present]);
            }
            return Ok(());
        }
        ObjectKeyword::DependentSchemas(schemas) => {
            for (name, id) in schemas {
                let present = Goal::Fact(Fact::Required(Arc::clone(name)));
                let dependent = Goal::Member(site.member(*id), frames.clone());
                partial.add_choice(vec![absent(name), vec![present, dependent]]);
            }
            return Ok(());
        }
        // It is expanded when everything else is known.
        ObjectKeyword::UnevaluatedProperties(_) => return Ok(()),
    };
    partial.goals.push(Goal::Fact(fact));
    Ok(())
}

pub(super) fn negate(cx: &mut dyn Expansion<'_>, site: &Site, keyword: &ObjectKeyword) -> Expanded<Vec<Alternative>> {
    let denied = |id: SchemaId| site.member(id).negated();
    let some_key = |keys: Keys, id: SchemaId| fact(Fact::Obligation(Obligation::key(keys, Some(denied(id)))));
    let present = |name: &Arc<str>| Goal::Fact(Fact::Required(Arc::clone(name)));
    Ok(match keyword {
        ObjectKeyword::Properties(properties) => {
            let value = |name: &Arc<str>, id| Goal::Fact(Fact::Property(Arc::clone(name), denied(id)));
            properties.iter().map(|(name, id)| vec![present(name), value(name, *id)]).collect()
        }
        ObjectKeyword::PatternProperties(patterns) => {
            let mut alternatives = Vec::with_capacity(patterns.len());
            for (place, (_, id)) in patterns.iter().enumerate() {
                alternatives.push(match key_pattern(cx, site.schema, place)? {
                    Some(keys) => some_key(Keys::In(keys), *id),
                    None => vec![],
                });
            }
            alternatives
        }
        ObjectKeyword::AdditionalProperties(id) => vec![some_key(keys_beside(cx, site.schema)?, *id)],
        ObjectKeyword::PropertyNames(id) => {
            vec![fact(Fact::Obligation(Obligation::key(Keys::Satisfying(denied(*id)), None)))]
        }
        ObjectKeyword::Required(names) => names.iter().map(absent).collect(),
        ObjectKeyword::MinProperties(min) => below(*min).map(Fact::MaxProperties).map(fact).collect(),
        ObjectKeyword::MaxProperties(max) => {
            vec![fact(Fact::MinProperties(checked_min(cx, "maxProperties", max.saturating_add(1))?))]
        }
        ObjectKeyword::DependentRequired(lists) => {
            let pairs = lists.iter().flat_map(|(name, needed)| needed.iter().map(move |other| (name, other)));
            let missing = |name: &Arc<str>| Goal::Fact(Fact::Absent(Arc::clone(name)));
            pairs.map(|(name, other)| vec![present(name), missing(other)]).collect()
        }
        ObjectKeyword::DependentSchemas(schemas) => {
            schemas.iter().map(|(name, id)| vec![present(name), site.failed(*id)]).collect()
        }
        ObjectKeyword::UnevaluatedProperties(_) => {
            vec![vec![Goal::UnevaluatedViolation(site.schema, site.index, site.scope)]]
        }
    })
}

fn absent(name: &Arc<str>) -> Alternative {
    fact(Fact::Absent(Arc::clone(name)))
}

/// Returns the language of a pattern of `patternProperties`, by its index; `None` if lenient mode drops it.
fn key_pattern(cx: &mut dyn Expansion<'_>, schema: SchemaId, place: usize) -> Expanded<Option<LanguageId>> {
    let (model, limits) = (cx.model(), cx.limits());
    let found = model.schema(schema).entries().iter().find_map(|entry| match &entry.keyword {
        Keyword::Object(ObjectKeyword::PatternProperties(patterns)) => Some((entry.value, &patterns[place].0)),
        _ => None,
    });
    let (map, pattern) = found.expect("the schema has patterns");
    match cx.languages().pattern(pattern, "patternProperties", limits) {
        Ok(language) => Ok(Some(language)),
        Err(LowerError::Build(error)) => Err(error.into()),
        Err(LowerError::Schema(error)) => {
            let at = model.json(model.schema(schema).document()).member(map, pattern).expect("the pattern is a key");
            let error = model.error_at(schema, at, error);
            cx.relax(schema, map, Some(place as u32), error)?;
            Ok(None)
        }
    }
}

/// Returns the keys to which `additionalProperties` of a schema applies.
fn keys_beside(cx: &mut dyn Expansion<'_>, schema: SchemaId) -> Expanded<Keys> {
    let (mut names, mut languages) = (HashSet::new(), Vec::new());
    for entry in cx.model().schema(schema).entries() {
        match &entry.keyword {
            Keyword::Object(ObjectKeyword::Properties(properties)) => {
                names.extend(properties.iter().map(|(name, _)| name.clone()));
            }
            Keyword::Object(ObjectKeyword::PatternProperties(patterns)) => {
                for place in 0..patterns.len() {
                    let Some(language) = key_pattern(cx, schema, place)? else {
                        let reason = "a pattern beside it was dropped, whose keys it is not about";
                        return Err(SchemaError::unsupported("additionalProperties", reason).into());
                    };
                    languages.push(language);
                }
            }
            _ => {}
        }
    }
    Ok(Keys::Beside { names: Rc::new(names), languages: languages.into() })
}

/// Returns the keys that a schema forbids where objects have declared properties only: all others, if it declares some and says nothing
/// about others.
pub(in crate::json_schema) fn closed_keys(cx: &mut dyn Expansion<'_>, schema: SchemaId) -> Option<Keys> {
    let mut declares = false;
    for entry in cx.model().schema(schema).entries() {
        match &entry.keyword {
            Keyword::Object(ObjectKeyword::Properties(_) | ObjectKeyword::PatternProperties(_)) => declares = true,
            Keyword::Object(ObjectKeyword::AdditionalProperties(_) | ObjectKeyword::UnevaluatedProperties(_)) => {
                return None;
            }
            _ => {}
        }
    }
    if declares { keys_beside(cx, schema).ok() } else { None }
}

/// Returns the least number of members that a keyword requires.
///
/// # Errors
/// In lenient mode, if it is too large: later its keyword would be unknown. In strict mode other bounds may still make it unsatisfiable,
/// which is the better error.
fn checked_min(cx: &dyn Expansion<'_>, keyword: &str, min: u64) -> Expanded<u64> {
    let limit = cx.limits().object_members_max;
    match cx.options().is_lenient && min > limit {
        true => Err(SchemaError::too_many_members(keyword, min, limit).into()),
        false => Ok(min),
    }
}

pub(super) fn describe(keyword: &ObjectKeyword, wording: &Wording<'_>) -> String {
    let name = wording.name;
    match keyword {
        ObjectKeyword::Required(of) => wording.with_parts(|part| shown(&of[part])),
        ObjectKeyword::Properties(of) | ObjectKeyword::PatternProperties(of) => {
            wording.with_parts(|part| format!("{}{}", shown(&of[part].0), wording.verdict(of[part].1)))
        }
        ObjectKeyword::MinProperties(n) | ObjectKeyword::MaxProperties(n) => format!("{name} {n}"),
        ObjectKeyword::AdditionalProperties(id)
        | ObjectKeyword::PropertyNames(id)
        | ObjectKeyword::UnevaluatedProperties(id) => format!("{name}{}", wording.verdict(*id)),
        ObjectKeyword::DependentRequired(_) | ObjectKeyword::DependentSchemas(_) => name.to_owned(),
    }
}

pub(super) fn n_parts(keyword: &ObjectKeyword) -> Option<usize> {
    match keyword {
        ObjectKeyword::Properties(named) | ObjectKeyword::PatternProperties(named) => Some(named.len()),
        ObjectKeyword::Required(names) => Some(names.len()),
        _ => None,
    }
}

pub(super) fn without_parts(
    keyword: &ObjectKeyword,
    anything: SchemaId,
    remains: &dyn Fn(Option<usize>) -> bool,
) -> Option<ObjectKeyword> {
    let or_anything = |part: Option<usize>, id: SchemaId| if remains(part) { id } else { anything };
    let named = |named: &Named<SchemaId>| -> Named<SchemaId> {
        let each = named.iter().enumerate();
        each.map(|(index, (name, id))| (Arc::clone(name), or_anything(Some(index), *id))).collect()
    };
    Some(match keyword {
        ObjectKeyword::Properties(of) => ObjectKeyword::Properties(named(of)),
        ObjectKeyword::PatternProperties(of) => ObjectKeyword::PatternProperties(named(of)),
        ObjectKeyword::AdditionalProperties(id) => ObjectKeyword::AdditionalProperties(or_anything(None, *id)),
        ObjectKeyword::UnevaluatedProperties(id) => ObjectKeyword::UnevaluatedProperties(or_anything(None, *id)),
        ObjectKeyword::Required(names) => {
            let names = names.iter().enumerate().filter(|(index, _)| remains(Some(*index)));
            ObjectKeyword::Required(names.map(|(_, name)| Arc::clone(name)).collect())
        }
        ObjectKeyword::PropertyNames(_)
        | ObjectKeyword::MinProperties(_)
        | ObjectKeyword::MaxProperties(_)
        | ObjectKeyword::DependentRequired(_)
        | ObjectKeyword::DependentSchemas(_) => return remains(None).then(|| keyword.clone()),
    })
}
