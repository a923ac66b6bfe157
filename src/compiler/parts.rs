//! Parts of a grammar that are compiled by themselves, and kept for other grammars that have the same.

use super::error::CompileError;
use super::references::GrammarReferences;
use crate::automaton::{Entry, UnitState};
use crate::grammar::{Expr, ExprId, Grammar, Part, Parts, RuleId, SchemaOperand};
use crate::pass::External;
use crate::util::{BoundedTable, components};
use crate::vocab::Vocab;
use core::hash::{BuildHasher, Hash, Hasher};
use hashbrown::{DefaultHashBuilder, HashMap};
use std::sync::{Mutex, PoisonError};

/// A part that is compiled.
#[derive(Clone, Debug)]
pub(super) struct CompiledPart {
    /// Where the texts that are not empty begin, if there are any.
    pub entry: Option<Entry>,
    pub has_empty_text: bool,
    /// The rules of the part that match nothing.
    pub empty_rules: Vec<RuleId>,
}

/// What a part is compiled from: rules, and the parts at its border, in the order of its rules.
struct Key {
    grammar: Grammar,
    border: Vec<Option<PartId>>,
}

/// What tells parts at a border apart: a unit and a state of it, if there are texts that are not empty, and whether the empty one is among them.
type PartId = (Option<UnitState>, bool);

impl CompiledPart {
    fn id(&self) -> PartId {
        (self.entry.as_ref().map(Entry::unit_state), self.has_empty_text)
    }
}

/// Parts by what they are compiled from.
pub(super) struct PartCache {
    hasher: DefaultHashBuilder,
    parts: Mutex<BoundedTable<(Key, CompiledPart)>>,
}

impl PartCache {
    /// Returns a cache of at most about `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        PartCache { hasher: DefaultHashBuilder::default(), parts: Mutex::new(BoundedTable::new(bytes_max)) }
    }

    pub fn clear(&self) {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the memory of all parts, in bytes.
    pub fn n_bytes(&self) -> usize {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).weight()
    }

    /// Returns the number by which a part is found; others may have the same.
    fn hash(&self, grammar: &Grammar, border: &[Option<PartId>]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        grammar.hash_content(&mut hasher);
        border.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the part of this content, if it is cached.
    fn find(&self, hash: u64, grammar: &Grammar, border: &[Option<PartId>]) -> Option<CompiledPart> {
        let is_it = |(key, _): &(Key, CompiledPart)| key.border == border && key.grammar.has_content_of(grammar);
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).find(hash, is_it, |(_, part)| part.clone())
    }

    fn insert(&self, hash: u64, grammar: Grammar, border: Vec<Option<PartId>>, part: CompiledPart) {
        let unit_bytes = part.entry.as_ref().map_or(0, |entry| entry.unit.memory_bytes());
        let n_bytes = size_of_val(grammar.exprs()) + size_of::<(Key, CompiledPart)>() + 64 * border.len() + unit_bytes;
        let entry = (Key { grammar: grammar.without_source(), border }, part);
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, n_bytes, entry);
    }
}

/// The parts of a grammar that were compiled so far.
#[derive(Default)]
pub(super) struct CompiledParts {
    parts: HashMap<RuleId, CompiledPart>,
    /// The rules that match nothing.
    pub empty_rules: Vec<RuleId>,
}

/// A part that is not cached.
pub(super) struct Miss<'p> {
    pub part: &'p Part,
    pub references: PartReferences,
}

/// What a part refers to, with numbers of its own.
pub(super) struct PartReferences {
    pub entries: Vec<Entry>,
    schemas: HashMap<SchemaOperand, External>,
    /// By rule of the part.
    rules: Vec<Option<External>>,
}

impl CompiledParts {
    /// Returns the rest of a grammar, once each of its separate rules was compiled: `compile` has those that are not cached and independent of each other,
    /// at once, and those that need them after that. Rules that lead to themselves are no parts. `schema` returns where the texts of a schema begin that are
    /// not empty, and whether the empty one is a text of it.
    ///
    /// # Errors
    /// As `compile`.
    pub fn compile_all<'s>(
        &mut self,
        grammar: &Grammar,
        schema: impl Fn(&SchemaOperand) -> (Option<&'s Entry>, bool) + Copy,
        cache: &PartCache,
        compile: impl Fn(&[Miss<'_>]) -> Result<Vec<CompiledPart>, CompileError>,
    ) -> Result<Part, CompileError> {
        let order = separate_rules(grammar);
        // By separate rule: how many of them lead from it to one that needs none, at most.
        let mut levels: HashMap<RuleId, usize> = order.iter().map(|&rule| (rule, 0)).collect();
        let mut by_level: Vec<Vec<Part>> = Vec::new();
        let mut parts = Parts::new(grammar);
        for rule in order {
            let part = parts.part(rule, |rule| levels.contains_key(&rule));
            let level = part.rules[1..].iter().filter_map(|rule| Some(levels.get(rule)? + 1)).max().unwrap_or(0);
            levels.insert(rule, level);
            by_level.resize_with(by_level.len().max(level + 1), Vec::new);
            by_level[level].push(part);
        }
        for level in by_level {
            let (mut misses, mut keys) = (Vec::<Miss<'_>>::new(), Vec::new());
            // Misses by hash, and parts that are equal to one.
            let (mut by_hash, mut equal): (HashMap<u64, usize>, Vec<(&Part, usize)>) = Default::default();
            for part in &level {
                let border: Vec<_> =
                    part.rules[1..].iter().map(|rule| self.parts.get(rule).map(CompiledPart::id)).collect();
                let hash = cache.hash(&part.grammar, &border);
                if let Some(found) = cache.find(hash, &part.grammar, &border) {
                    self.add(part, found);
                    continue;
                }
                let known = by_hash.get(&hash).copied().filter(|&index| {
                    let (_, known): &(u64, Vec<_>) = &keys[index];
                    *known == border && misses[index].part.grammar.has_content_of(&part.grammar)
                });
                match known {
                    Some(index) => equal.push((part, index)),
                    None => {
                        by_hash.insert(hash, misses.len());
                        misses.push(Miss { part, references: self.references(part, schema) });
                        keys.push((hash, border));
                    }
                }
            }
            let compiled = compile(&misses)?;
            equal.into_iter().for_each(|(part, index)| self.add(part, compiled[index].clone()));
            for ((miss, (hash, border)), compiled) in misses.into_iter().zip(keys).zip(compiled) {
                self.add(miss.part, compiled.clone());
                cache.insert(hash, miss.part.grammar.clone(), border, compiled);
            }
        }
        Ok(parts.part(grammar.root(), |rule| levels.contains_key(&rule)))
    }

    fn add(&mut self, part: &Part, compiled: CompiledPart) {
        self.empty_rules.extend(compiled.empty_rules.iter().map(|rule| part.rules[rule.index()]));
        self.parts.insert(part.rules[0], compiled);
    }

    /// Returns what a part refers to.
    pub fn references<'s>(
        &self,
        part: &Part,
        schema: impl Fn(&SchemaOperand) -> (Option<&'s Entry>, bool),
    ) -> PartReferences {
        let mut numbers: HashMap<UnitState, u32> = HashMap::new();
        let mut entries = Vec::new();
        let mut external = |entry: Option<&Entry>, has_empty_text: bool| {
            let number = entry.map(|entry| {
                *numbers.entry(entry.unit_state()).or_insert_with(|| {
                    entries.push(entry.clone());
                    entries.len() as u32 - 1
                })
            });
            External { number, has_empty_text }
        };
        let mut of_schemas = HashMap::new();
        for expr in part.grammar.exprs() {
            if let Expr::Schema(operand) = expr {
                let (entry, has_empty_text) = schema(operand);
                of_schemas.entry(operand.clone()).or_insert_with(|| external(entry, has_empty_text));
            }
        }
        let rules = part.rules.iter().map(|rule| {
            let compiled = self.parts.get(rule)?;
            Some(external(compiled.entry.as_ref(), compiled.has_empty_text))
        });
        let rules = rules.collect();
        PartReferences { entries, schemas: of_schemas, rules }
    }
}

impl PartReferences {
    /// Returns the references of the part, beside the control tokens of a vocabulary.
    pub fn with_vocab<'a>(&'a self, vocab: &'a Vocab) -> GrammarReferences<'a> {
        GrammarReferences::new(vocab, &self.schemas, &self.rules)
    }
}

/// Returns the separate rules of a grammar that the root leads to and that don't lead to themselves, callees first.
fn separate_rules(grammar: &Grammar) -> Vec<RuleId> {
    let is_used = crate::grammar::analysis::reachable_rules(grammar);
    let mut callees: Vec<Vec<RuleId>> = Vec::with_capacity(grammar.rules().len());
    let (mut seen, mut pending): (Vec<usize>, Vec<ExprId>) = (vec![usize::MAX; grammar.exprs().len()], Vec::new());
    for (index, rule) in grammar.rules().iter().enumerate() {
        let mut found = Vec::new();
        pending.push(rule.body);
        while let Some(id) = pending.pop() {
            if core::mem::replace(&mut seen[id.index()], index) == index {
                continue;
            }
            match grammar.expr(id) {
                Expr::Rule(callee) => found.push(*callee),
                expr => expr.for_each_operand(|operand| pending.push(operand)),
            }
        }
        callees.push(found);
    }
    let is_separate =
        |rule: RuleId| rule != grammar.root() && is_used[rule.index()] && grammar.separate_rules().contains(&rule);
    let components = components(grammar.rules().len(), |rule: RuleId| &callees[rule.index()]);
    let alone = components.iter().filter_map(|members| match *members {
        [only] if !callees[only.index()].contains(&only) => Some(only),
        _ => None,
    });
    alone.filter(|&rule| is_separate(rule)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::GrammarBuilder;

    #[test]
    fn rules_that_lead_to_themselves_are_no_parts() {
        let mut builder = GrammarBuilder::new();
        let [root, own, circle, back, plain] =
            ["root", "own", "circle", "back", "plain"].map(|name| builder.rule(name));
        let text = builder.literal("x");
        for (rule, callees) in
            [(root, vec![own, circle, plain]), (own, vec![own]), (circle, vec![back]), (back, vec![circle])]
        {
            let callees: Vec<_> = callees.into_iter().map(|callee| builder.rule_ref(callee)).collect();
            let all = builder.sequence(callees);
            let body = builder.choice([text, all]);
            builder.define(rule, body);
        }
        builder.define(plain, text);
        [root, own, circle, back, plain].into_iter().for_each(|rule| builder.set_separate(rule));
        assert_eq!(separate_rules(&builder.finish(root).unwrap()), [plain]);
    }
}
