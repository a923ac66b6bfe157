//! From a model to the automata of its documents, with the report, or with the contradiction that makes it unsatisfiable.

use super::contradiction;
use super::error::LowerError;
use super::lower::{LoweredSchema, SchemaStore, lower_model};
use super::model::SchemaModel;
use super::report::SchemaReport;
use crate::Limits;
use crate::pass::{CompileBudget, FinishedNetwork, NormalGrammar};
use crate::schema_options::RootForm;
use crate::schema_options::SchemaOptions;
use std::sync::Arc;

/// Steps of the budget for each schema, beside those of what it says: structural tags have one for each parameter.
const STEPS_PER_SCHEMA: usize = 256;

/// Returns the automata of a schema, and how its keywords are enforced.
///
/// # Errors
/// If no value is valid (where the form of the root is not JSON, the automata then have no texts), a keyword can't be enforced exactly, an option makes no sense, a limit is met, or `budget` is exhausted.
pub(crate) fn lower(
    model: SchemaModel,
    options: &SchemaOptions,
    store: &Arc<SchemaStore>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<(NormalGrammar, SchemaReport), LowerError> {
    let (whole, budget) = (budget, &budget.for_schema(limits));
    let lowered = lower_within(model, options, store, limits, budget);
    whole.count_schema(budget);
    lowered
}

fn lower_within(
    mut model: SchemaModel,
    options: &SchemaOptions,
    store: &Arc<SchemaStore>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<(NormalGrammar, SchemaReport), LowerError> {
    budget.spend(STEPS_PER_SCHEMA)?;
    // Dropped keywords are reported at each location where they were written, which merging equal sub-schemas forgets.
    let written = options.is_lenient.then(|| model.clone());
    let merged = model.merge_equal(budget)?;
    budget.check()?;
    let lowered = lower_model(&model, options, store, limits, budget);
    let LoweredSchema { network, has_empty_text, relaxed } = lowered.map_err(|error| match error {
        LowerError::Schema(error) => model.illustrated(error).into(),
        error => error,
    })?;
    let network = match network {
        Some(network) => network,
        // That no value has a form other than JSON may be right: strings among the parameters of a tool, say.
        None if has_empty_text || options.root != RootForm::Json => FinishedNetwork::of_nothing(),
        None => return Err(contradiction::explain(&model, options, store, limits, budget).into()),
    };
    let report = SchemaReport::new(written.unwrap_or(model), options, merged, relaxed);
    Ok((NormalGrammar { network, has_empty_text }, report))
}
