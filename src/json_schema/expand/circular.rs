//! Which schemas may refer to themselves without reading anything.

use crate::json_schema::model::{Applies, SchemaModel};

/// Returns by schema whether keywords that apply to the same value may refer back to it, or to a schema of which that is true.
pub(super) fn circular_schemas(model: &SchemaModel) -> Box<[bool]> {
    // Behind the schemas: all that a dynamic reference may lead to.
    let dynamic = model.n_schemas();
    let n = dynamic + 1;
    // Source and target.
    let mut steps: Vec<(usize, usize)> = model.dynamic.values().map(|target| (dynamic, target.index())).collect();
    for (id, schema) in model.schemas() {
        for entry in schema.entries() {
            entry.keyword.for_each_schema(|&target, applies| match applies {
                Applies::InPlace | Applies::InPlaceNegated => steps.push((id.index(), target.index())),
                Applies::ToChild => {}
            });
            if entry.keyword.is_dynamic() {
                steps.push((id.index(), dynamic));
            }
        }
    }
    if steps.is_empty() {
        return vec![false; dynamic].into();
    }
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut n_targets = vec![0u32; n];
    for (source, target) in steps {
        n_targets[source] += 1;
        sources[target].push(source as u32);
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
    circular.truncate(dynamic);
    circular.into()
}
