//! Keywords about strings: lengths, and regular languages of decoded characters.

use super::reader::{KeywordReader, Keywords, Misfit, keyword};
use super::{Expansion, Wording, below, cut, fact};
use crate::json_schema::error::{Expanded, shown};
use crate::json_schema::model::{Keyword, StringKeyword};
use crate::json_schema::partial::{Alternative, Fact, Goal, Partial};
use crate::json_schema::shape::LanguageId;
use crate::json_schema::value::ValueId;

pub(super) fn read(reader: &mut KeywordReader<'_, '_>, name: &str, at: ValueId) -> Result<Option<Keywords>, Misfit> {
    Ok(keyword(Keyword::String(match name {
        "minLength" => StringKeyword::MinLength(reader.count(name, at)?),
        "maxLength" => StringKeyword::MaxLength(reader.count(name, at)?),
        "pattern" => StringKeyword::Pattern(reader.text(name, at)?),
        "format" => StringKeyword::Format(reader.text(name, at)?, reader.draft()),
        _ => unreachable!("`{name}` is not about strings"),
    })))
}

pub(super) fn assert(cx: &mut dyn Expansion<'_>, partial: &mut Partial, keyword: &StringKeyword) -> Expanded<()> {
    let fact = match keyword {
        StringKeyword::MinLength(min) => Fact::MinLength(*min),
        StringKeyword::MaxLength(max) => Fact::MaxLength(*max),
        StringKeyword::Pattern(pattern) => Fact::Language(language(cx, pattern)?, true),
        StringKeyword::Format(name, draft) => {
            let language = if cx.options().has_formats { cx.languages().format(name, *draft) } else { None };
            match language {
                Some(language) => Fact::Language(language, true),
                None => return Ok(()),
            }
        }
    };
    partial.goals.push(Goal::Fact(fact));
    Ok(())
}

pub(super) fn negate(cx: &mut dyn Expansion<'_>, keyword: &StringKeyword) -> Expanded<Vec<Alternative>> {
    Ok(match keyword {
        StringKeyword::MinLength(min) => below(*min).map(Fact::MaxLength).map(fact).collect(),
        StringKeyword::MaxLength(max) => vec![fact(Fact::MinLength(max.saturating_add(1)))],
        StringKeyword::Pattern(pattern) => vec![fact(Fact::Language(language(cx, pattern)?, false))],
        // A string that is certainly not of the format violates it.
        StringKeyword::Format(name, draft) => {
            let language = if cx.options().has_formats { cx.languages().outer_format(name, *draft) } else { None };
            language.map(|language| fact(Fact::Language(language, false))).into_iter().collect()
        }
    })
}

/// Returns the language of the strings in which a pattern matches.
fn language(cx: &mut dyn Expansion<'_>, pattern: &str) -> Expanded<LanguageId> {
    let limits = cx.limits();
    cx.languages().pattern(pattern, "pattern", limits)
}

pub(super) fn describe(keyword: &StringKeyword, wording: &Wording<'_>) -> String {
    let name = wording.name;
    match keyword {
        StringKeyword::MinLength(n) | StringKeyword::MaxLength(n) => format!("{name} {n}"),
        StringKeyword::Pattern(pattern) => format!("{name} {}", shown(pattern)),
        StringKeyword::Format(format, _) => format!("{name} {}", cut(format.to_string())),
    }
}
