//! Which schemas may refer to themselves without reading anything.

use crate::json_schema::model::{Applies, SchemaId, SchemaModel};

/// Returns by schema whether keywords that apply to the same value may refer back to it, or to a schema of which that is true.
pub(super) fn circular_schemas(model: &SchemaModel) -> Box<[bool]> {
    let n = model.n_schemas();
    // Source and target.
    let mut steps: Vec<(SchemaId, SchemaId)> = Vec::new();
    for (id, schema) in model.schemas() {
        for entry in schema.entries() {
            entry.keyword.for_each_schema(|&target, applies| match applies {
                Applies::InPlace | Applies::InPlaceNegated => steps.push((id, target)),
                Applies::ToChild => {}
            });
            if entry.keyword.is_dynamic() {
                steps.extend(model.dynamic.values().map(|&target| (id, target)));
            }
        }
    }
    if steps.is_empty() {
        return vec![false; n].into();
    }
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut n_targets = vec![0u32; n];
    for (source, target) in steps {
        n_targets[source.index()] += 1;
        sources[target.index()].push(source.index() as u32);
    }
    // Schemas without targets are removed first, then those that refer to removed ones only.
    let mut circular = vec![true; n];
    let mut pending: Vec<usize> = (0..n).filter(|&index| n_targets[index] == 0).collect();
    while let Some(index) = pending.pop() {
        circular[index] = false;
        for &source in &sources[index] {
            n_targets[source as usize] -= 1;
            if n_targets[source as usize] == 0 {
                pending.push(source as usize);
            }
        }
    }
    circular.into()
}
