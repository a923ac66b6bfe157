//! Keywords about arrays: schemas of items, counts of items that satisfy one, lengths.

use super::reader::{KeywordReader, Keywords, Misfit, keyword};
use super::{Expansion, Site, Wording, below, fact};
use crate::json_schema::draft::Draft;
use crate::json_schema::error::{Expanded, SchemaError};
use crate::json_schema::model::{ArrayKeyword, Keyword, SchemaId, SchemaModel};
use crate::json_schema::partial::{Alternative, Fact, Frames, Goal, Partial};
use crate::json_schema::shape::{ItemCount, ItemRule};
use crate::json_schema::value::{Value, ValueId};

pub(super) fn read(reader: &mut KeywordReader<'_, '_>, name: &str, at: ValueId) -> Result<Option<Keywords>, Misfit> {
    Ok(keyword(Keyword::Array(match name {
        "prefixItems" => ArrayKeyword::PrefixItems(reader.schemas(name, at)?),
        "items" => match reader.value(at) {
            Value::Array(_) if reader.part("prefixItems").is_some() => {
                return Err(reader.misfit(name, at, "a schema beside `prefixItems`"));
            }
            Value::Array(_) => ArrayKeyword::PrefixItems(reader.schemas(name, at)?),
            _ => ArrayKeyword::Items(reader.schema(at)?),
        },
        // Without a list under `items` there are no additional items.
        "additionalItems" => match reader.sibling("items").map(|items| reader.value(items)) {
            Some(Value::Array(_)) => ArrayKeyword::Items(reader.schema(at)?),
            _ => return Ok(None),
        },
        "contains" => {
            let count = |name: &str| reader.part(name).map(|at| reader.count(name, at)).transpose();
            let (min, max) = (count("minContains")?, count("maxContains")?);
            ArrayKeyword::Contains { schema: reader.schema(at)?, min: min.unwrap_or(1), max }
        }
        "minItems" => ArrayKeyword::MinItems(reader.count(name, at)?),
        "maxItems" => ArrayKeyword::MaxItems(reader.count(name, at)?),
        "uniqueItems" => match reader.boolean(name, at)? {
            true => ArrayKeyword::UniqueItems,
            false => return Ok(None),
        },
        "unevaluatedItems" => ArrayKeyword::UnevaluatedItems(reader.schema(at)?),
        _ => unreachable!("`{name}` is not about arrays"),
    })))
}

pub(super) fn assert(
    cx: &mut dyn Expansion<'_>,
    partial: &mut Partial,
    site: &Site,
    keyword: &ArrayKeyword,
    frames: &Frames,
) {
    let fact = match keyword {
        ArrayKeyword::PrefixItems(items) => {
            partial.record(frames, |frame| frame.n_items = frame.n_items.max(items.len() as u64));
            let rules = items.iter().enumerate().map(|(index, &id)| one_item(index, site, id, false));
            partial.add_goals(rules.map(|rule| Goal::Fact(Fact::Items(rule))));
            return;
        }
        ArrayKeyword::Items(id) => {
            partial.record(frames, |frame| frame.has_all = true);
            let from = cx.model().schema(site.schema).n_prefix_items() as u64;
            Fact::Items(ItemRule { from, to: None, member: site.member(*id) })
        }
        ArrayKeyword::Contains { schema, min, max } => {
            let member = site.member(*schema);
            // Only there it evaluates the items that it counts.
            if cx.model().schema(site.schema).draft() == Draft::Draft2020 {
                partial.record(frames, |frame| frame.contains.push(member));
            }
            if *min == 0 && max.is_none() {
                return;
            }
            Fact::Count(ItemCount { from: 0, to: None, member, min: *min, max: *max })
        }
        ArrayKeyword::MinItems(min) => Fact::MinItems(*min),
        ArrayKeyword::MaxItems(max) => Fact::MaxItems(*max),
        ArrayKeyword::UniqueItems => Fact::Unique,
        // It is expanded when everything else is known.
        ArrayKeyword::UnevaluatedItems(_) => return,
    };
    partial.goals.push(Goal::Fact(fact));
}

pub(super) fn negate(cx: &mut dyn Expansion<'_>, site: &Site, keyword: &ArrayKeyword) -> Expanded<Vec<Alternative>> {
    Ok(match keyword {
        ArrayKeyword::PrefixItems(items) => {
            let violation = |(index, &id): (usize, &SchemaId)| {
                let rule = one_item(index, site, id, true);
                vec![Goal::Fact(Fact::MinItems(index as u64 + 1)), Goal::Fact(Fact::Items(rule))]
            };
            items.iter().enumerate().map(violation).collect()
        }
        ArrayKeyword::Items(id) => {
            let from = cx.model().schema(site.schema).n_prefix_items() as u64;
            let member = site.member(*id).negated();
            vec![fact(Fact::Count(ItemCount { from, to: None, member, min: 1, max: None }))]
        }
        ArrayKeyword::Contains { schema, min, max } => {
            let member = site.member(*schema);
            let count = |min, max| fact(Fact::Count(ItemCount { from: 0, to: None, member, min, max }));
            let too_few = below(*min).map(|max| count(0, Some(max)));
            too_few.chain(max.map(|max| count(max.saturating_add(1), None))).collect()
        }
        ArrayKeyword::MinItems(min) => below(*min).map(Fact::MaxItems).map(fact).collect(),
        ArrayKeyword::MaxItems(max) => vec![fact(Fact::MinItems(max.saturating_add(1)))],
        ArrayKeyword::UniqueItems => {
            let reason = "under a negation it asks for two equal items";
            return Err(SchemaError::unsupported("uniqueItems", reason).into());
        }
        ArrayKeyword::UnevaluatedItems(_) => {
            vec![vec![Goal::UnevaluatedViolation(site.schema, site.index, site.scope)]]
        }
    })
}

/// Returns the rule that the item with an index satisfies a schema, or fails it.
fn one_item(index: usize, site: &Site, id: SchemaId, is_negated: bool) -> ItemRule {
    let member = site.member(id);
    let member = if is_negated { member.negated() } else { member };
    ItemRule { from: index as u64, to: Some(index as u64 + 1), member }
}

/// Returns from which index on a schema forbids items where arrays have declared items only: behind its prefix, if it has one and says nothing about others.
pub(in crate::json_schema) fn closed_items(model: &SchemaModel, schema: SchemaId) -> Option<u64> {
    let has = |is_it: fn(&ArrayKeyword) -> bool| {
        let mut entries = model.schema(schema).entries().iter();
        entries.any(|entry| matches!(&entry.keyword, Keyword::Array(keyword) if is_it(keyword)))
    };
    let is_closed = has(|keyword| matches!(keyword, ArrayKeyword::PrefixItems(_)))
        && !has(|keyword| matches!(keyword, ArrayKeyword::Items(_) | ArrayKeyword::UnevaluatedItems(_)));
    is_closed.then(|| model.schema(schema).n_prefix_items() as u64)
}

pub(super) fn describe(keyword: &ArrayKeyword, wording: &Wording<'_>) -> String {
    let name = wording.name;
    match keyword {
        ArrayKeyword::MinItems(n) | ArrayKeyword::MaxItems(n) => format!("{name} {n}"),
        ArrayKeyword::PrefixItems(of) => wording.with_parts(|part| format!("/{part}{}", wording.verdict(of[part]))),
        ArrayKeyword::Items(id) => match (wording.n_values)(*id) {
            Some(1) => format!("{name} of 1 value"),
            Some(n) => format!("{name} of {n} values"),
            None => format!("{name}{}", wording.verdict(*id)),
        },
        ArrayKeyword::UnevaluatedItems(id) => format!("{name}{}", wording.verdict(*id)),
        ArrayKeyword::Contains { min: 1, max: None, .. } => name.to_owned(),
        ArrayKeyword::Contains { min, max: None, .. } => format!("minContains {min}"),
        ArrayKeyword::Contains { min, max: Some(max), .. } => format!("{name} of {min} to {max} items"),
        ArrayKeyword::UniqueItems => name.to_owned(),
    }
}

pub(super) fn describe_alone(keyword: &ArrayKeyword) -> Option<String> {
    match keyword {
        ArrayKeyword::Contains { min, max: Some(max), .. } if min > max => {
            Some(format!("minContains {min} with maxContains {max}"))
        }
        ArrayKeyword::Contains { .. }
        | ArrayKeyword::PrefixItems(_)
        | ArrayKeyword::Items(_)
        | ArrayKeyword::MinItems(_)
        | ArrayKeyword::MaxItems(_)
        | ArrayKeyword::UniqueItems
        | ArrayKeyword::UnevaluatedItems(_) => None,
    }
}

pub(super) fn n_parts(keyword: &ArrayKeyword) -> Option<usize> {
    if let ArrayKeyword::PrefixItems(items) = keyword { Some(items.len()) } else { None }
}

pub(super) fn without_parts(
    keyword: &ArrayKeyword,
    anything: SchemaId,
    remains: &dyn Fn(Option<usize>) -> bool,
) -> Option<ArrayKeyword> {
    let or_anything = |part: Option<usize>, id: SchemaId| if remains(part) { id } else { anything };
    Some(match keyword {
        ArrayKeyword::PrefixItems(items) => ArrayKeyword::PrefixItems(
            items.iter().enumerate().map(|(index, &id)| or_anything(Some(index), id)).collect(),
        ),
        ArrayKeyword::Items(id) => ArrayKeyword::Items(or_anything(None, *id)),
        ArrayKeyword::UnevaluatedItems(id) => ArrayKeyword::UnevaluatedItems(or_anything(None, *id)),
        ArrayKeyword::Contains { .. }
        | ArrayKeyword::MinItems(_)
        | ArrayKeyword::MaxItems(_)
        | ArrayKeyword::UniqueItems => return remains(None).then(|| keyword.clone()),
    })
}
