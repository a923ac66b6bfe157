//! Lowering: from conjunctions to a network of automata, with one rule for the values of each conjunction.
//!
//! A rule is drafted for every reachable conjunction, satisfiable or not; then all dead states and unproductive rules are removed at once
//! ([`trim`]): an optional property whose value can't exist, a branch without values, a key after which required ones don't fit any more.
//! Nothing else in this module deals with satisfiability, and recursion needs no special care.

mod array;
mod draft;
mod leaf;
mod length;
mod object;
mod plain;
mod relax;
mod spelling;
mod text;
mod trim;
mod white_space;
mod workspace;

use super::conjunction::{ConjunctionId, Member, Members, ScopeId};
use super::error::{Expanded as Lowered, LowerError, SchemaError};
use super::expand::Expander;
use super::language::{LanguageStore, Languages};
use super::model::{SchemaId, SchemaModel};
use super::report::Relaxed;
use super::shape::{NumberShape, Shape, StringShape, ValueKind};
use crate::Limits;
use crate::machine::Counter;
use crate::pass::{CompileBudget, FinishedNetwork, Label, NetRuleId, RuleAutomaton};
use crate::regular::Dfa;
use crate::schema_options::{JsonTypes, RootForm, SchemaOptions};
use crate::util::Pool;
use draft::Draft;
use leaf::{AnyValueKey, AnyValueStore, LeafKey, LeafStore};
use workspace::Workspace;

use hashbrown::HashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps that a drafted state or edge counts as.
const STEPS_PER_EDGE: usize = 8;

/// What schemas share: automata of strings, numbers and other rules that call nothing, and the memory to lower in.
#[derive(Debug, Default)]
pub(crate) struct SchemaStore {
    languages: Arc<LanguageStore>,
    leaves: LeafStore,
    any_values: AnyValueStore,
    workspaces: Pool<Workspace>,
}

impl SchemaStore {
    /// Returns the languages of a new schema.
    pub(super) fn languages<'a>(&self, budget: &'a CompileBudget) -> Languages<'a> {
        Languages::new(Arc::clone(&self.languages), budget)
    }
}

/// A schema as automata, and the keywords that they don't enforce.
pub(super) struct LoweredSchema {
    /// `None` if no value is valid.
    pub network: Option<FinishedNetwork>,
    /// Whether the empty text is a document too.
    pub has_empty_text: bool,
    pub relaxed: Vec<Relaxed>,
}

/// Returns the automata of a schema.
///
/// # Errors
/// If an option makes no sense, a keyword can't be enforced exactly, a limit is met, or `budget` is exhausted.
pub(super) fn lower_model(
    model: &SchemaModel,
    options: &SchemaOptions,
    store: &Arc<SchemaStore>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Lowered<LoweredSchema> {
    white_space::check(&options.white_space)?;
    let mut lowerer = Lowerer::new(model, options, store, limits, budget);
    let root = lowerer.expander.root();
    let root = match options.root {
        RootForm::Json => lowerer.value(root, 0, false)?,
        _ => lowerer.root_of_form(root),
    };
    lowerer.draft_pending()?;
    lowerer.finish(root)
}

/// Returns whether a value satisfies all of some schemas.
///
/// # Errors
/// As [`lower`], except that being unsatisfiable is no error.
pub(super) fn has_values(
    model: &SchemaModel,
    ids: &[SchemaId],
    options: &SchemaOptions,
    store: &Arc<SchemaStore>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Lowered<bool> {
    let mut lowerer = Lowerer::new(model, options, store, limits, budget);
    let members: Members = ids.iter().map(|&id| Member::schema(id, ScopeId(0))).collect();
    let root = lowerer.expander.intern(members);
    let root = lowerer.value(root, 0, false)?;
    lowerer.draft_pending()?;
    Ok(lowerer.finish(root)?.network.is_some())
}

/// Returns the number of values that satisfy a schema, if they are visibly finitely many scalars.
pub(super) fn n_different(
    model: &SchemaModel,
    id: SchemaId,
    options: &SchemaOptions,
    store: &Arc<SchemaStore>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Option<usize> {
    let mut expander = Expander::new(model, options, limits, budget, store.languages(budget));
    expander.n_values(Member::schema(id, ScopeId(0)))
}

struct Lowerer<'a> {
    expander: Expander<'a>,
    store: &'a Arc<SchemaStore>,
    limits: &'a Limits,
    budget: &'a CompileBudget,
    workspace: Box<Workspace>,
    drafts: Vec<DraftRule>,
    values: HashMap<ValueContext, NetRuleId>,
    pending: VecDeque<(ValueContext, NetRuleId)>,
    numbers: HashMap<(Vec<NumberShape>, bool), Option<NetRuleId>>,
    strings: HashMap<(Vec<StringShape>, bool), Option<NetRuleId>>,
    keys: HashMap<Arc<Dfa>, NetRuleId>,
    /// The rules of members, by the rule of their values and whether they are indented.
    members: HashMap<(NetRuleId, bool), NetRuleId>,
    white_space: Option<NetRuleId>,
    /// The rule of all JSON values, unless that is what is drafted here.
    any_value: AnyValue,
    /// Whether the empty text is a document: a string that is written as its characters.
    has_empty_text: bool,
    n_states: usize,
}

/// The state of the rule of all JSON values.
#[derive(Clone, Copy)]
enum AnyValue {
    Wanted,
    Cached(NetRuleId),
    /// It is drafted like other rules.
    Drafted,
}

/// The context for which a rule of values is drafted.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ValueContext {
    conjunction: ConjunctionId,
    /// The nesting depth; 0 where it makes no difference.
    depth: u32,
    /// Whether values have one spelling each, so that equal ones have equal bytes.
    is_element: bool,
    /// Whether this is the document as a whole, in a form that the options ask for.
    is_root: bool,
}

/// A rule under construction.
struct DraftRule {
    name: &'static str,
    draft: Draft,
    counter: Option<Counter>,
    /// The key under which the automaton is cached for other schemas.
    key: Option<LeafKey>,
    /// A cached automaton: then the draft is a stand-in, of the empty string or of the rules that it calls.
    cached: Option<Cached>,
}

/// An automaton cached by an earlier schema.
enum Cached {
    /// The automaton of a rule that calls nothing.
    Leaf(Arc<RuleAutomaton>),
    /// The automaton of a rule that calls these, in their order, and is productive if all of them are.
    Caller(Arc<RuleAutomaton>, SmallVec<[NetRuleId; 2]>),
    /// The rule that is the root of a network.
    Network(Arc<FinishedNetwork>),
}

/// Returns the types of the values of a kind.
fn types_of(kind: ValueKind) -> JsonTypes {
    match kind {
        ValueKind::Null => JsonTypes::NULL,
        ValueKind::False | ValueKind::True => JsonTypes::BOOLEAN,
        ValueKind::Number => JsonTypes::NUMBER,
        ValueKind::String => JsonTypes::STRING,
        ValueKind::Array => JsonTypes::ARRAY,
        ValueKind::Object => JsonTypes::OBJECT,
    }
}

impl<'a> Lowerer<'a> {
    fn new(
        model: &'a SchemaModel,
        options: &'a SchemaOptions,
        store: &'a Arc<SchemaStore>,
        limits: &'a Limits,
        budget: &'a CompileBudget,
    ) -> Self {
        let mut workspace = store.workspaces.take();
        Lowerer {
            expander: Expander::new(model, options, limits, budget, store.languages(budget)),
            store,
            limits,
            budget,
            drafts: workspace.rules(),
            workspace,
            // Capacity for most schemas.
            values: HashMap::with_capacity(14),
            pending: VecDeque::new(),
            numbers: HashMap::new(),
            strings: HashMap::new(),
            keys: HashMap::new(),
            members: HashMap::with_capacity(14),
            white_space: None,
            any_value: AnyValue::Wanted,
            has_empty_text: false,
            n_states: 0,
        }
    }

    /// Returns the drafted rules that the root needs as a network; none if the root is not productive.
    fn finish(self, root: NetRuleId) -> Lowered<LoweredSchema> {
        let Lowerer { expander, store, budget, mut workspace, drafts, has_empty_text, .. } = self;
        let network = trim::trim(&drafts, root, store, &mut workspace.trim, budget)?;
        workspace.take_back(drafts);
        store.workspaces.put(workspace);
        Ok(LoweredSchema { network, has_empty_text, relaxed: expander.relaxed })
    }

    fn draft_pending(&mut self) -> Lowered<()> {
        while let Some((context, rule)) = self.pending.pop_front() {
            self.draft_value(context, rule)?;
        }
        Ok(())
    }

    /// Returns the rule of the values of a conjunction, to be drafted later if it is new.
    fn value(&mut self, conjunction: ConjunctionId, depth: u32, is_element: bool) -> Lowered<NetRuleId> {
        if !self.expander.conjunctions.members(conjunction).is_empty() || self.has_indent() || is_element {
            return Ok(self.drafted_value(conjunction, depth, is_element));
        }
        match self.any_value {
            AnyValue::Drafted => Ok(self.drafted_value(conjunction, depth, is_element)),
            AnyValue::Cached(rule) => Ok(rule),
            AnyValue::Wanted => {
                let network = self.any_value()?;
                let automata = || network.rules.iter().map(|rule| &rule.automaton);
                let n_states = automata().map(|automaton| automaton.n_states()).sum();
                self.spend_states(n_states, automata().map(|automaton| automaton.all_edges().len()).sum())?;
                let draft = self.workspace.draft_of_nothing();
                let rule = self.rule("value", draft, None);
                self.drafts[rule.index()].cached = Some(Cached::Network(network));
                self.any_value = AnyValue::Cached(rule);
                Ok(rule)
            }
        }
    }

    /// Returns the rules of all JSON values, which schemas with the same spelling options share.
    fn any_value(&self) -> Lowered<Arc<FinishedNetwork>> {
        let Expander { model, options, .. } = self.expander;
        let key = AnyValueKey::of(options);
        if let Some(network) = self.store.any_values.find(&key) {
            return Ok(network);
        }
        let mut lowerer = Lowerer::new(model, options, self.store, self.limits, self.budget);
        lowerer.any_value = AnyValue::Drafted;
        let root = lowerer.expander.intern(Vec::new());
        let root = lowerer.value(root, 0, false)?;
        lowerer.draft_pending()?;
        let network = lowerer.finish(root)?.network.expect("there are values");
        let network = Arc::new(network);
        self.store.any_values.keep(key, &network);
        Ok(network)
    }

    fn drafted_value(&mut self, conjunction: ConjunctionId, depth: u32, is_element: bool) -> NetRuleId {
        let depth = if self.has_indent() { depth.min(white_space::INDENT_DEEP_MAX) } else { 0 };
        let context = ValueContext { conjunction, depth, is_element, is_root: false };
        if let Some(&rule) = self.values.get(&context) {
            return rule;
        }
        let rule = self.rule("value", Draft::default(), None);
        self.values.insert(context, rule);
        self.pending.push_back((context, rule));
        rule
    }

    /// Returns the rule of the document as a whole, in the form that the options ask for.
    fn root_of_form(&mut self, conjunction: ConjunctionId) -> NetRuleId {
        let rule = self.rule("value", Draft::default(), None);
        let context = ValueContext { conjunction, depth: 0, is_element: false, is_root: true };
        self.pending.push_back((context, rule));
        rule
    }

    fn rule(&mut self, name: &'static str, draft: Draft, counter: Option<Counter>) -> NetRuleId {
        self.drafts.push(DraftRule { name, draft, counter, key: None, cached: None });
        NetRuleId::new(self.drafts.len() - 1)
    }

    /// Returns a rule that calls nothing, cached or drafted now; `None` if `draft` returns none. A draft that has calls after all is not
    /// cached, nor one that differs from its key because lenient mode dropped something.
    fn leaf(
        &mut self,
        name: &'static str,
        key: LeafKey,
        counter: Option<Counter>,
        draft: impl FnOnce(&mut Self) -> Lowered<Option<Draft>>,
    ) -> Lowered<Option<NetRuleId>> {
        if let Some(automaton) = self.store.leaves.find(&key) {
            return self.cached(name, automaton, counter).map(Some);
        }
        let n_relaxed = self.expander.n_relaxed;
        let Some(draft) = draft(self)? else { return Ok(None) };
        self.spend(&draft)?;
        let key = (draft.calls().is_empty() && self.expander.n_relaxed == n_relaxed).then_some(key);
        self.drafts.push(DraftRule { name, draft, counter, key, cached: None });
        Ok(Some(NetRuleId::new(self.drafts.len() - 1)))
    }

    /// Returns a rule with a cached automaton.
    fn cached(
        &mut self,
        name: &'static str,
        automaton: Arc<RuleAutomaton>,
        counter: Option<Counter>,
    ) -> Lowered<NetRuleId> {
        self.spend_states(automaton.n_states(), automaton.all_edges().len())?;
        let draft = self.workspace.draft_of_nothing();
        self.drafts.push(DraftRule { name, draft, counter, key: None, cached: Some(Cached::Leaf(automaton)) });
        Ok(NetRuleId::new(self.drafts.len() - 1))
    }

    /// Counts the states of a finished draft as work.
    fn spend(&mut self, draft: &Draft) -> Lowered<()> {
        self.spend_states(draft.n_states(), draft.n_edges())
    }

    fn spend_states(&mut self, n_states: usize, n_edges: usize) -> Lowered<()> {
        self.n_states += n_states;
        self.budget.spend(STEPS_PER_EDGE * (n_states + n_edges))?;
        self.check_states(self.n_states)
    }

    /// Refuses so many states.
    fn check_states(&self, n_states: usize) -> Lowered<()> {
        let limit = self.limits.automaton_states_max;
        if n_states > limit {
            return Err(SchemaError::too_much("automaton_states_max", n_states, limit).into());
        }
        Ok(())
    }

    fn draft_value(&mut self, context: ValueContext, rule: NetRuleId) -> Lowered<()> {
        let drafted = self.draft_kinds(context, rule);
        drafted.map_err(|error| self.expander.placed_at(context.conjunction, error))
    }

    fn draft_kinds(&mut self, context: ValueContext, rule: NetRuleId) -> Lowered<()> {
        let ValueContext { conjunction, depth, is_element, is_root } = context;
        let (mut draft, end) = self.workspace.draft_with_end();
        for kind in ValueKind::ALL {
            if is_root && !self.expander.options.root.has(types_of(kind)) {
                continue;
            }
            let shapes = self.expander.shapes(conjunction, kind)?;
            if shapes.is_empty() {
                continue;
            }
            match kind {
                ValueKind::Null => draft.text(&[0], b"null", end),
                ValueKind::False => draft.text(&[0], b"false", end),
                ValueKind::True => draft.text(&[0], b"true", end),
                ValueKind::Number => {
                    let numbers = shapes.iter().filter_map(|shape| match shape {
                        Shape::Number(number) => Some(number.clone()),
                        _ => None,
                    });
                    if let Some(rule) = self.number(numbers.collect(), is_element)? {
                        draft.edge(0, Label::Call(rule), end);
                    }
                }
                ValueKind::String => {
                    let strings = shapes.iter().filter_map(|shape| match shape {
                        Shape::String(string) => Some(string.clone()),
                        _ => None,
                    });
                    if let (true, RootForm::Text { until }) = (is_root, &self.expander.options.root) {
                        self.has_empty_text = self.plain_string(&mut draft, &strings.collect::<Vec<_>>(), until)?;
                    } else if let Some(rule) = self.string(strings.collect(), is_element)? {
                        draft.edge(0, Label::Call(rule), end);
                    }
                }
                ValueKind::Array => {
                    // Arrays of distinct items have a register, so each shape of them is a separate rule.
                    for shape in shapes.iter() {
                        let Shape::Array(array) = shape else { continue };
                        let is_unique = array.has_distinct_items();
                        let rule = match self.expander.options.is_lenient {
                            true if is_unique || !array.counts.is_empty() => self.lenient_array(array, depth)?,
                            false if is_unique => self.unique_array(array, depth)?,
                            _ => {
                                self.array(&mut draft, array, depth, end)?;
                                continue;
                            }
                        };
                        if let Some(rule) = rule {
                            draft.edge(0, Label::Call(rule), end);
                        }
                    }
                }
                ValueKind::Object => {
                    // So do objects with undeclared keys, but all shapes share one rule: their keys have the same constraint.
                    let mut open: Option<(Draft, u32)> = None;
                    for shape in shapes.iter() {
                        let Shape::Object(object) = shape else { continue };
                        let Some(plan) = self.fitting_plan(object)? else { continue };
                        if !plan.is_open() {
                            self.object(&mut draft, &plan, depth, end)?;
                            continue;
                        }
                        let (open, end) = open.get_or_insert_with(|| self.workspace.draft_with_end());
                        self.object(open, &plan, depth, *end)?;
                    }
                    if let Some((open, _)) = open {
                        self.spend(&open)?;
                        let rule = self.rule("object", open, None);
                        draft.edge(0, Label::Call(rule), end);
                    }
                }
            }
        }
        self.spend(&draft)?;
        self.drafts[rule.index()].draft = draft;
        Ok(())
    }
}
