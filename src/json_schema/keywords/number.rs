//! Keywords about numbers: bounds and divisors. Each is a set of numbers, and so is its complement.

use super::reader::{KeywordReader, Keywords, Misfit, keyword};
use super::{Wording, cut, fact};
use crate::json_schema::decimal::Decimal;
use crate::json_schema::model::{Keyword, NumberKeyword};
use crate::json_schema::number::NumberSet;
use crate::json_schema::partial::{Alternative, Fact, Goal, Partial};
use crate::json_schema::value::{Value, ValueId};

pub(super) fn read(reader: &mut KeywordReader<'_, '_>, name: &str, at: ValueId) -> Result<Option<Keywords>, Misfit> {
    let read = match name {
        "multipleOf" => {
            let divisor = reader.number(name, at)?;
            if divisor.is_zero() || divisor.is_negative() {
                return Err(reader.misfit(name, at, "a number greater than 0"));
            }
            NumberKeyword::MultipleOf(divisor)
        }
        "minimum" => NumberKeyword::Minimum(reader.number(name, at)?),
        "maximum" => NumberKeyword::Maximum(reader.number(name, at)?),
        "exclusiveMinimum" => match exclusive(reader, name, at, "minimum")? {
            Some(bound) => NumberKeyword::ExclusiveMinimum(bound),
            None => return Ok(None),
        },
        "exclusiveMaximum" => match exclusive(reader, name, at, "maximum")? {
            Some(bound) => NumberKeyword::ExclusiveMaximum(bound),
            None => return Ok(None),
        },
        _ => unreachable!("`{name}` is not about numbers"),
    };
    Ok(keyword(Keyword::Number(read)))
}

/// Returns an exclusive bound, as a number or (draft 4) as a flag that the bound beside it is exclusive.
fn exclusive(reader: &KeywordReader<'_, '_>, name: &str, at: ValueId, bound: &str) -> Result<Option<Decimal>, Misfit> {
    match reader.value(at) {
        Value::Number(number) => Ok(Some(number.clone())),
        Value::Bool(true) => reader.sibling(bound).map(|bound_at| reader.number(bound, bound_at)).transpose(),
        Value::Bool(false) => Ok(None),
        _ => Err(reader.misfit(name, at, "a number, or in draft 4 a boolean")),
    }
}

pub(super) fn assert(partial: &mut Partial, keyword: &NumberKeyword) {
    partial.goals.push(Goal::Fact(Fact::Number(match keyword {
        NumberKeyword::MultipleOf(divisor) => NumberSet::multiples_of(divisor),
        NumberKeyword::Minimum(bound) => NumberSet::at_least(bound),
        NumberKeyword::Maximum(bound) => NumberSet::at_most(bound),
        NumberKeyword::ExclusiveMinimum(bound) => NumberSet::above(bound),
        NumberKeyword::ExclusiveMaximum(bound) => NumberSet::below(bound),
    })));
}

pub(super) fn negate(keyword: &NumberKeyword) -> Vec<Alternative> {
    vec![fact(Fact::Number(match keyword {
        NumberKeyword::MultipleOf(divisor) => NumberSet::non_multiples_of(divisor),
        NumberKeyword::Minimum(bound) => NumberSet::below(bound),
        NumberKeyword::Maximum(bound) => NumberSet::above(bound),
        NumberKeyword::ExclusiveMinimum(bound) => NumberSet::at_most(bound),
        NumberKeyword::ExclusiveMaximum(bound) => NumberSet::at_least(bound),
    }))]
}

pub(super) fn describe(keyword: &NumberKeyword, wording: &Wording<'_>) -> String {
    let number = match keyword {
        NumberKeyword::MultipleOf(number)
        | NumberKeyword::Minimum(number)
        | NumberKeyword::Maximum(number)
        | NumberKeyword::ExclusiveMinimum(number)
        | NumberKeyword::ExclusiveMaximum(number) => number,
    };
    format!("{} {}", wording.name, cut(number.to_string()))
}
