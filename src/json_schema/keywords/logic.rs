//! Keywords that combine schemas for the same value.

use super::reader::{KeywordReader, Keywords, Misfit, keyword};
use super::{Expansion, Site, Wording};
use crate::json_schema::error::Expanded;
use crate::json_schema::error::SchemaError;
use crate::json_schema::model::{Keyword, LogicKeyword, SchemaId};
use crate::json_schema::partial::{Alternative, Choice, Frames, Goal, Partial};
use crate::json_schema::value::ValueId;

pub(super) fn read(reader: &mut KeywordReader<'_, '_>, name: &str, at: ValueId) -> Result<Option<Keywords>, Misfit> {
    Ok(keyword(Keyword::Logic(match name {
        "allOf" => LogicKeyword::AllOf(reader.schemas(name, at)?),
        "anyOf" => LogicKeyword::AnyOf(reader.schemas(name, at)?),
        "oneOf" => LogicKeyword::OneOf(reader.schemas(name, at)?),
        "not" => LogicKeyword::Not(reader.schema(at)?),
        "if" => {
            let then = reader.part("then").map(|at| reader.schema(at)).transpose()?;
            let otherwise = reader.part("else").map(|at| reader.schema(at)).transpose()?;
            LogicKeyword::If { test: reader.schema(at)?, then, otherwise }
        }
        _ => unreachable!("`{name}` combines no schemas"),
    })))
}

pub(super) fn assert(
    cx: &mut dyn Expansion<'_>,
    partial: &mut Partial,
    site: &Site,
    keyword: &LogicKeyword,
    frames: Frames,
) -> Expanded<()> {
    match keyword {
        LogicKeyword::AllOf(ids) => {
            partial.add_goals(ids.iter().map(|&id| Goal::Member(site.member(id), frames.clone())));
        }
        LogicKeyword::AnyOf(ids) => {
            let choice = cx.any_of(partial, ids, site.scope, &frames)?;
            partial.choices.push_back(choice);
        }
        LogicKeyword::OneOf(ids) => {
            partial.choices.push_back(Choice::One(ids.iter().map(|&id| site.member(id)).collect(), frames));
        }
        // What is evaluated under `not` does not count.
        LogicKeyword::Not(id) => partial.goals.push(site.failed(*id)),
        LogicKeyword::If { test, then, otherwise } => {
            if then.is_none() && otherwise.is_none() && frames.is_empty() {
                return Ok(());
            }
            let branch = |id: &Option<SchemaId>| id.map(|id| Goal::Member(site.member(id), frames.clone()));
            let holds = core::iter::once(Goal::Member(site.member(*test), frames.clone())).chain(branch(then));
            let fails = core::iter::once(site.failed(*test)).chain(branch(otherwise));
            partial.add_choice(vec![holds.collect(), fails.collect()]);
        }
    }
    Ok(())
}

pub(super) fn negate(cx: &mut dyn Expansion<'_>, site: &Site, keyword: &LogicKeyword) -> Expanded<Vec<Alternative>> {
    let (yes, not) = (|id: SchemaId| site.satisfied(id), |id: SchemaId| site.failed(id));
    Ok(match keyword {
        LogicKeyword::AllOf(ids) => ids.iter().map(|&id| vec![not(id)]).collect(),
        LogicKeyword::AnyOf(ids) => vec![ids.iter().map(|&id| not(id)).collect()],
        // No branch holds, or two do.
        LogicKeyword::OneOf(ids) => {
            let mut alternatives = vec![ids.iter().map(|&id| not(id)).collect::<Alternative>()];
            let alive: Vec<SchemaId> = ids.iter().copied().filter(|&id| !cx.surely_fails(site.kind, id)).collect();
            let limit = cx.limits().schema_alternatives_max;
            for (index, &a) in alive.iter().enumerate() {
                for &b in &alive[index + 1..] {
                    if a == b || !cx.are_disjoint(site.member(a), site.member(b), site.kind)? {
                        alternatives.push(vec![yes(a), yes(b)]);
                    }
                    // Each would be tried.
                    if alternatives.len() > limit {
                        return Err(SchemaError::too_much("schema_alternatives_max", alternatives.len(), limit).into());
                    }
                }
            }
            alternatives
        }
        LogicKeyword::Not(id) => vec![vec![yes(*id)]],
        LogicKeyword::If { test, then, otherwise } => {
            let holds = then.map(|then| vec![yes(*test), not(then)]);
            holds.into_iter().chain(otherwise.map(|otherwise| vec![not(*test), not(otherwise)])).collect()
        }
    })
}

pub(super) fn describe(keyword: &LogicKeyword, wording: &Wording<'_>) -> String {
    match keyword {
        LogicKeyword::AnyOf(_) => format!("each branch of {}", wording.name),
        LogicKeyword::AllOf(_) | LogicKeyword::OneOf(_) | LogicKeyword::Not(_) | LogicKeyword::If { .. } => {
            wording.name.to_owned()
        }
    }
}

pub(super) fn describe_alone(keyword: &LogicKeyword, name: &str) -> Option<String> {
    match keyword {
        LogicKeyword::AllOf(_) => None,
        LogicKeyword::AnyOf(_) => Some(format!("no branch of {name} has a value")),
        LogicKeyword::OneOf(_) => Some(format!("no value satisfies exactly one branch of {name}")),
        LogicKeyword::Not(_) => Some(format!("every value satisfies the schema under {name}")),
        LogicKeyword::If { .. } => Some(format!("no value satisfies {name} with then and else")),
    }
}
