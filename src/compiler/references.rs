//! What a grammar refers to: the control tokens of the vocabulary, and schemas, which are compiled before the grammar.

use super::error::{CompileError, OperandError};
use crate::automaton::{Entry, UnitState};
use crate::compiled::CompiledSchema;
use crate::grammar::analysis::{reachable_exprs, reachable_rules};
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, RuleId, SchemaOperand, merged};
use crate::pass::{BuildError, External, References, TokenRanges};
use crate::util::{bit_row, closest_name};
use crate::vocab::{TokenKind, Vocab};
use core::cell::OnceCell;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// The control tokens of a vocabulary by name and id, and the schemas of a grammar.
pub(super) struct GrammarReferences<'a> {
    vocab: &'a Vocab,
    schemas: &'a HashMap<SchemaOperand, External>,
    /// By rule: what is known of it, if it was compiled before. May be empty.
    rules: &'a [Option<External>],
    /// The bytes that names of tokens begin with.
    first_bytes: OnceCell<[bool; 256]>,
}

impl<'a> GrammarReferences<'a> {
    pub fn new(vocab: &'a Vocab, schemas: &'a HashMap<SchemaOperand, External>, rules: &'a [Option<External>]) -> Self {
        GrammarReferences { vocab, schemas, rules, first_bytes: OnceCell::new() }
    }

    fn first_bytes(&self) -> &[bool; 256] {
        self.first_bytes.get_or_init(|| {
            let mut first_bytes = [false; 256];
            let firsts = self.vocab.names().filter_map(|(name, _)| name.bytes().next());
            firsts.for_each(|byte| first_bytes[usize::from(byte)] = true);
            first_bytes
        })
    }
}

impl References for GrammarReferences<'_> {
    fn resolve(&self, name: &ControlRef) -> Result<SmallVec<[u32; 2]>, BuildError> {
        let vocab = self.vocab;
        match name {
            ControlRef::Id(id) if (*id as usize) < vocab.n_tokens() && vocab.kind(*id) != TokenKind::Padding => {
                Ok(SmallVec::from_slice(&[*id]))
            }
            ControlRef::Id(id) => Err(BuildError::unknown_token_id(*id, vocab.n_tokens())),
            ControlRef::Name(name) => match vocab.ids_called(name) {
                [] => {
                    let names = vocab.names().map(|(name, _)| name);
                    Err(BuildError::unknown_control(name, closest_name(name, names)))
                }
                ids => Ok(SmallVec::from_slice(ids)),
            },
        }
    }

    fn excluded(&self, tokens: &ExcludedTokens) -> Result<Option<TokenRanges>, BuildError> {
        let n_tokens = self.vocab.n_tokens();
        let mut ids = tokens.ids().to_vec();
        if let Some(&(low, high)) = ids.last()
            && high as usize >= n_tokens
        {
            return Err(BuildError::unknown_token_id(low.max(n_tokens as u32), n_tokens));
        }
        for name in tokens.names() {
            ids.extend(self.resolve(&ControlRef::Name(name.clone()))?.into_iter().map(|id| (id, id)));
        }
        let ids = merged(ids);
        let mut row = self.vocab.any_token_row().to_vec();
        ids.iter().for_each(|&(low, high)| bit_row::clear_range(&mut row, low, high));
        self.vocab.stop_tokens().iter().for_each(|&token| bit_row::clear(&mut row, token));
        Ok(row.iter().any(|&word| word != 0).then(|| ids.into()))
    }

    fn for_each_spelling(&self, text: &str, visit: &mut dyn FnMut(usize, u32)) {
        if text.bytes().next().is_some_and(|first| self.first_bytes()[usize::from(first)]) {
            self.vocab.for_each_name_beginning(text, |name, ids| ids.iter().for_each(|&id| visit(name.len(), id)));
        }
    }

    fn external(&self, schema: &SchemaOperand) -> External {
        self.schemas[schema]
    }

    fn external_rule(&self, rule: RuleId) -> Option<External> {
        *self.rules.get(rule.index())?
    }
}

/// The schemas among the operands of a grammar, by number.
pub(super) struct Schemas {
    pub externals: HashMap<SchemaOperand, External>,
}

impl Schemas {
    /// Compiles the schemas that are reachable from the root of a grammar: `compile` has each once, in order, and returns as much of them, or the index
    /// of the first that it could not compile.
    ///
    /// # Errors
    /// As `compile`, with the place of the schema in the grammar.
    pub fn of(
        grammar: &Grammar,
        compile: impl FnOnce(&[&SchemaOperand]) -> Result<Vec<External>, (usize, CompileError)>,
    ) -> Result<Schemas, CompileError> {
        if !grammar.exprs().iter().any(|expr| matches!(expr, Expr::Schema(_))) {
            return Ok(Schemas { externals: HashMap::new() });
        }
        let (mut seen, mut operands, mut places) = (HashSet::new(), Vec::new(), Vec::new());
        for (index, is_reachable) in reachable_exprs(grammar).into_iter().enumerate() {
            let id = ExprId::new(index);
            if let Expr::Schema(operand) = grammar.expr(id)
                && is_reachable
                && seen.insert(operand)
            {
                operands.push(operand);
                places.push(id);
            }
        }
        let externals = compile(&operands).map_err(|(index, error)| placed(error, grammar, places[index]))?;
        Ok(Schemas { externals: operands.into_iter().cloned().zip(externals).collect() })
    }
}

/// Compiled schemas, to be called by a grammar.
#[derive(Default)]
pub(super) struct CompiledSchemas {
    /// By number: where the automaton begins. Schemas with the same automaton have one number.
    pub entries: Vec<Entry>,
    pub compiled: Vec<(SchemaOperand, Arc<CompiledSchema>)>,
    numbers: HashMap<UnitState, u32>,
}

impl CompiledSchemas {
    /// Adds a schema.
    pub fn add(&mut self, operand: &SchemaOperand, schema: Arc<CompiledSchema>) -> External {
        let has_empty_text = schema.has_empty_text();
        let number = schema.has_other_texts().then(|| {
            *self.numbers.entry(schema.entry().unit_state()).or_insert_with(|| {
                self.entries.push(schema.entry().clone());
                self.entries.len() as u32 - 1
            })
        });
        self.compiled.push((operand.clone(), schema));
        External { number, has_empty_text }
    }
}

impl Schemas {
    /// Returns where the texts of a schema begin that are not empty, if there are any, and whether the empty one is a text of it.
    pub fn entry<'c>(&self, compiled: &'c CompiledSchemas, operand: &SchemaOperand) -> (Option<&'c Entry>, bool) {
        let External { number, has_empty_text } = self.externals[operand];
        (number.map(|number| &compiled.entries[number as usize]), has_empty_text)
    }
}

/// Returns the error of an operand with the rule that it stands in.
fn placed(error: CompileError, grammar: &Grammar, at: ExprId) -> CompileError {
    let CompileError::Schema(error) = error else { return error };
    let is_used = reachable_rules(grammar);
    let holds = |rule: &RuleId| is_used[rule.index()] && reaches(grammar, grammar.rule(*rule).body, at);
    let rule = (0..grammar.rules().len()).map(RuleId::new).find(holds).unwrap_or(grammar.root());
    let Expr::Schema(operand) = grammar.expr(at) else { unreachable!("the place of an operand") };
    let (rule, span) = (&grammar.rule(rule).name, grammar.span(at));
    CompileError::Operand(OperandError::new(operand, error, rule, span, grammar.source()))
}

/// Tells whether an expression is `wanted` or holds it, without rules that it refers to.
fn reaches(grammar: &Grammar, from: ExprId, wanted: ExprId) -> bool {
    let mut seen = hashbrown::HashSet::new();
    let mut pending = vec![from];
    while let Some(id) = pending.pop() {
        if id == wanted {
            return true;
        }
        if seen.insert(id) {
            grammar.expr(id).for_each_operand(|operand| pending.push(operand));
        }
    }
    false
}
