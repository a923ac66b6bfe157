//! Parts of a grammar that are compiled by themselves, and kept for other grammars that have the same.

use super::error::CompileError;
use super::references::GrammarReferences;
use crate::automaton::Entry;
use crate::grammar::{Expr, ExprId, Grammar, Part, Parts, RuleId, SchemaOperand};
use crate::pass::{External, NetRuleId, components};
use crate::util::BoundedTable;
use crate::vocab::Vocab;
use core::hash::{BuildHasher, Hash};
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
type PartId = (Option<(u32, u32)>, bool);

impl CompiledPart {
    fn id(&self) -> PartId {
        (self.entry.as_ref().map(|entry| (entry.unit.uid, entry.state)), self.has_empty_text)
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

    /// Returns a part of this content from the cache, or by `compile`.
    fn get_or_compile(
        &self,
        grammar: &Grammar,
        border: Vec<Option<PartId>>,
        compile: impl FnOnce() -> Result<CompiledPart, CompileError>,
    ) -> Result<CompiledPart, CompileError> {
        let mut hasher = self.hasher.build_hasher();
        grammar.hash_content(&mut hasher);
        border.hash(&mut hasher);
        let hash = core::hash::Hasher::finish(&hasher);
        let parts = || self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(key, _): &(Key, CompiledPart)| key.border == border && key.grammar.has_content_of(grammar);
        if let Some(part) = parts().find(hash, is_it, |(_, part)| part.clone()) {
            return Ok(part);
        }
        let part = compile()?;
        let unit_bytes = part.entry.as_ref().map_or(0, |entry| entry.unit.memory_bytes());
        let n_bytes = size_of_val(grammar.exprs()) + size_of::<(Key, CompiledPart)>() + 64 * border.len() + unit_bytes;
        parts().insert(hash, n_bytes, (Key { grammar: grammar.clone().without_source(), border }, part.clone()));
        Ok(part)
    }
}

/// The parts of a grammar that were compiled so far.
#[derive(Default)]
pub(super) struct CompiledParts {
    parts: HashMap<RuleId, CompiledPart>,
    /// The rules that match nothing.
    pub empty_rules: Vec<RuleId>,
}

/// What a part refers to, with numbers of its own.
pub(super) struct PartReferences {
    pub entries: Vec<Entry>,
    schemas: HashMap<SchemaOperand, External>,
    /// By rule of the part.
    rules: Vec<Option<External>>,
}

impl CompiledParts {
    /// Returns the rest of a grammar, once each of its separate rules, callees first, was compiled by `compile`. Rules that lead to themselves are no
    /// parts. `schema` returns where the texts of a schema begin that are not empty, and whether the empty one is a text of it.
    ///
    /// # Errors
    /// As `compile`.
    pub fn compile_all<'s>(
        &mut self,
        grammar: &Grammar,
        schema: impl Fn(&SchemaOperand) -> (Option<&'s Entry>, bool) + Copy,
        cache: &PartCache,
        mut compile: impl FnMut(&Part, &PartReferences) -> Result<CompiledPart, CompileError>,
    ) -> Result<Part, CompileError> {
        let order = separate_rules(grammar);
        let mut parts = Parts::new(grammar);
        for &rule in &order {
            let part = parts.part(rule, |rule| self.parts.contains_key(&rule));
            let border = part.rules.iter().map(|rule| self.parts.get(rule).map(CompiledPart::id)).collect();
            let compiled =
                cache.get_or_compile(&part.grammar, border, || compile(&part, &self.references(&part, schema)))?;
            self.empty_rules.extend(compiled.empty_rules.iter().map(|rule| part.rules[rule.index()]));
            self.parts.insert(rule, compiled);
        }
        Ok(parts.part(grammar.root(), |rule| self.parts.contains_key(&rule)))
    }

    /// Returns what a part refers to.
    pub fn references<'s>(
        &self,
        part: &Part,
        schema: impl Fn(&SchemaOperand) -> (Option<&'s Entry>, bool),
    ) -> PartReferences {
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        let mut entries = Vec::new();
        let mut external = |entry: Option<&Entry>, has_empty_text: bool| {
            let number = entry.map(|entry| {
                *numbers.entry((entry.unit.uid, entry.state)).or_insert_with(|| {
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
    let mut callees: Vec<Vec<NetRuleId>> = Vec::with_capacity(grammar.rules().len());
    let (mut seen, mut pending): (Vec<usize>, Vec<ExprId>) = (vec![usize::MAX; grammar.exprs().len()], Vec::new());
    for (index, rule) in grammar.rules().iter().enumerate() {
        let mut found = Vec::new();
        pending.push(rule.body);
        while let Some(id) = pending.pop() {
            if core::mem::replace(&mut seen[id.index()], index) == index {
                continue;
            }
            match grammar.expr(id) {
                Expr::Rule(callee) => found.push(NetRuleId::new(callee.index())),
                expr => expr.for_each_operand(|operand| pending.push(operand)),
            }
        }
        callees.push(found);
    }
    let is_separate =
        |rule: RuleId| rule != grammar.root() && is_used[rule.index()] && grammar.separate_rules().contains(&rule);
    let components = components(grammar.rules().len(), |rule| &callees[rule.index()]);
    let alone = components.iter().filter_map(|members| match *members {
        [only] if !callees[only.index()].contains(&only) => Some(RuleId::new(only.index())),
        _ => None,
    });
    alone.filter(|&rule| is_separate(rule)).collect()
}
