//! From the text of a schema to its automata.

use super::error::CompileError;
use crate::json_schema::{Json, SchemaError, SchemaModel, SchemaOptions, SchemaReport, SchemaStore, lower};
use crate::limits::Limits;
use crate::pass::{CompileBudget, NormalGrammar};
use std::sync::Arc;

/// Steps of a compile that parsing one byte of a source counts as. EBNF is scanned twice.
pub(super) const STEPS_PER_BYTE: usize = 2;

/// What a byte of a document counts as of which a part is an operand of a grammar.
pub(super) const STEPS_PER_BYTE_WITHIN: usize = 8;

/// Returns the automata of a schema's text, and how its keywords are enforced.
pub(super) fn lower_schema(
    schema: &str,
    schema_options: &SchemaOptions,
    languages: &Arc<SchemaStore>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<(NormalGrammar, SchemaReport), CompileError> {
    budget.check()?;
    // What stopped reading is the budget's to say.
    let stopped = |error: SchemaError| budget.check().err().map_or(CompileError::from(error), CompileError::from);
    let json = Json::parse_within(schema, limits, &|n_bytes| budget.spend(STEPS_PER_BYTE * n_bytes).is_ok())
        .map_err(stopped)?;
    let SchemaOptions { read, resolver, .. } = schema_options;
    let go_on = |n_steps| budget.spend(n_steps).is_ok();
    let model = SchemaModel::read_within(json, read, &**resolver, limits, &go_on).map_err(stopped)?;
    Ok(lower(model, schema_options, languages, limits, budget)?)
}
