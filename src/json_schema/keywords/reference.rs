//! References to other schemas for the same value.

use super::reader::{KeywordReader, Keywords, Misfit, keyword};
use super::{Expansion, Site};
use crate::json_schema::model::{Keyword, ReferenceKeyword, SchemaId};
use crate::json_schema::partial::{Alternative, Frames, Goal, Partial};
use crate::json_schema::value::ValueId;

/// Reads a reference by any of its names.
pub(super) fn read(reader: &mut KeywordReader<'_, '_>, name: &str, at: ValueId) -> Result<Option<Keywords>, Misfit> {
    let (target, anchor) = reader.target(name, at)?;
    Ok(keyword(Keyword::Reference(match anchor {
        Some(anchor) => ReferenceKeyword::DynamicRef { target, anchor },
        None => ReferenceKeyword::Ref(target),
    })))
}

pub(super) fn assert(
    cx: &mut dyn Expansion<'_>,
    partial: &mut Partial,
    site: &Site,
    keyword: &ReferenceKeyword,
    frames: Frames,
) {
    partial.goals.push(Goal::Member(site.member(target(cx, site, keyword)), frames));
}

pub(super) fn negate(cx: &mut dyn Expansion<'_>, site: &Site, keyword: &ReferenceKeyword) -> Vec<Alternative> {
    vec![vec![site.failed(target(cx, site, keyword))]]
}

/// Returns the schema that a reference leads to from its scope.
fn target(cx: &dyn Expansion<'_>, site: &Site, keyword: &ReferenceKeyword) -> SchemaId {
    match keyword {
        ReferenceKeyword::Ref(id) => *id,
        ReferenceKeyword::DynamicRef { target, anchor } => cx.dynamic_target(site.scope, anchor).unwrap_or(*target),
    }
}
