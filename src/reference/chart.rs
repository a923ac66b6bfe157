//! Recognizer and chart: items, sets, and the three operations of Earley's algorithm: predict, scan, complete.

use super::error::RecognizerError;
use super::productions::{BoundedState, DONE, Production, ProductionId, Productions};
use super::token::{KnownToken, Token};
use super::utf8;
use crate::grammar::{ControlRef, ExcludedTokens, ExprId, Grammar, RuleId};
use crate::limits::Limits;
use crate::regular::CharSet;
use crate::util::ByteSet;
use crate::vocab::{TokenId, TokenKind, Vocab};
use hashbrown::HashSet;
use std::sync::Arc;

/// Most items that are looked at for the outermost rules.
const OUTERMOST_ITEMS_MAX: usize = 1 << 16;

/// One symbol of a sentence: a byte, or a token that is read as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// A byte.
    Byte(u8),
    /// A control token, as the grammar names it.
    Control(ControlRef),
    /// Some token but these, as the grammar has it.
    TokenExcept(ExcludedTokens),
}

/// A recognizer of the sentences of a grammar. Cheap to clone.
///
/// ```
/// use maskwright::{Limits, grammar::GrammarBuilder, reference::Recognizer, regular::CharSet};
/// let mut builder = GrammarBuilder::new(); // root ::= [ab]+ "b"
/// let class = builder.class(CharSet::range('a', 'b'));
/// let (many, end) = (builder.repeat(class, 1, None), builder.literal("b"));
/// let (root, body) = (builder.rule("root"), builder.sequence([many, end]));
/// builder.define(root, body);
/// let recognizer = Recognizer::new(&builder.finish(root).unwrap(), &Limits::default()).unwrap();
/// assert!(recognizer.accepts(b"aab"));
/// assert!(!recognizer.accepts(b"aa") && recognizer.is_viable(b"aa") && !recognizer.is_viable(b"ac"));
/// ```
#[derive(Clone)]
pub struct Recognizer {
    productions: Arc<Productions>,
}

impl Recognizer {
    /// Prepares a grammar. Rules that are not reachable from the root are ignored.
    ///
    /// # Errors
    /// If no string matches the grammar; if an operand of `&`, `-` or `~` isn't regular, or needs more states than
    /// [`Limits::dfa_states_max`].
    pub fn new(grammar: &Grammar, limits: &Limits) -> Result<Self, RecognizerError> {
        Ok(Recognizer { productions: Arc::new(Productions::new(grammar, limits)?) })
    }

    /// Returns a chart for the empty text.
    pub fn start(&self) -> Chart {
        let mut chart = Chart {
            productions: self.productions.clone(),
            items: vec![],
            sets: vec![],
            seen: HashSet::new(),
            completed: HashSet::new(),
        };
        let productions = self.productions.clone();
        chart.build_set(&productions, [Item { production: Productions::ROOT, state: 0, origin: 0 }]);
        chart
    }

    /// Returns whether `text` is a sentence of the grammar.
    pub fn accepts(&self, text: &[u8]) -> bool {
        let mut chart = self.start();
        chart.push_bytes(text) == text.len() && chart.is_accepting()
    }

    /// Returns whether `text` is a prefix of a sentence of the grammar.
    pub fn is_viable(&self, text: &[u8]) -> bool {
        self.start().push_bytes(text) == text.len()
    }
}

impl core::fmt::Debug for Recognizer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Recognizer").finish_non_exhaustive()
    }
}

/// A production that was begun at set `origin` and has been read as far as `state`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Item {
    pub(super) production: ProductionId,
    pub(super) state: u32,
    pub(super) origin: u32,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    items_end: usize,
    is_accepting: bool,
}

/// The state of the recognizer after a text. Grows by symbols and shrinks by [`truncate`](Self::truncate).
#[derive(Clone)]
pub struct Chart {
    pub(super) productions: Arc<Productions>,
    items: Vec<Item>,
    sets: Vec<Set>,
    /// The items of the set being built.
    seen: HashSet<Item>,
    /// The productions completed at the set being built, with their origins.
    completed: HashSet<(ProductionId, u32)>,
}

/// What one terminal of the grammar can read next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Terminal {
    /// The remaining bytes of a literal.
    Literal(Box<[u8]>),
    /// A character of a set, of which some bytes (fewer than four) may have been read.
    Character {
        /// The set.
        set: CharSet,
        /// The bytes of this character read so far.
        prefix: Box<[u8]>,
    },
    /// A byte by which an intersection, difference or complement can continue.
    Byte(ByteSet),
    /// A control token.
    Control(ControlRef),
    /// Any one token but these.
    TokenExcept(ExcludedTokens),
}

impl Terminal {
    /// Returns the bytes that may come next.
    pub fn bytes(&self) -> ByteSet {
        match self {
            Terminal::Literal(suffix) => suffix.first().copied().into_iter().collect(),
            Terminal::Character { set, prefix } => {
                let packed = prefix.iter().try_fold(0, |state, &byte| match utf8::step(set, state, byte) {
                    Some(utf8::Step::Partial(state)) => Some(state),
                    _ => None,
                });
                (0..=255).filter(|&byte| packed.is_some_and(|state| utf8::step(set, state, byte).is_some())).collect()
            }
            Terminal::Byte(set) => *set,
            Terminal::Control(_) | Terminal::TokenExcept(_) => ByteSet::EMPTY,
        }
    }
}

/// A terminal that may come next, and where the grammar says so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expectation {
    /// What may come.
    pub terminal: Terminal,
    /// The expression that is the terminal, or holds it.
    pub expr: ExprId,
    /// The innermost rules in progress there, in the order of their ids.
    pub rules: Vec<RuleId>,
}

/// A rule in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenRule {
    /// The rule.
    pub rule: RuleId,
    /// The number of symbols before it.
    pub start: usize,
}

impl Chart {
    /// Reads one byte. Returns whether the text is still viable; if not, nothing changes.
    pub fn push_byte(&mut self, byte: u8) -> bool {
        self.push_any(&[byte], Token::None)
    }

    /// Reads bytes up to the first that is refused; returns how many were read.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|&&byte| self.push_byte(byte)).count()
    }

    /// Reads a control token with this name and id. Returns whether the text is still viable; if not, nothing changes.
    pub fn push_control(&mut self, name: Option<&str>, id: u32) -> bool {
        self.push_any(&[], Token::Known(KnownToken { id, name, text: None, is_stop: false }))
    }

    /// Reads one symbol. Returns whether the text is still viable; if not, nothing changes.
    pub fn push(&mut self, symbol: &Symbol) -> bool {
        match symbol {
            Symbol::Byte(byte) => self.push_byte(*byte),
            Symbol::Control(control) => self.push_any(&[], Token::Named(control)),
            Symbol::TokenExcept(excluded) => self.push_any(&[], Token::Outside(excluded)),
        }
    }

    /// Reads a token of a vocabulary as a whole: where the grammar names it, and if it is no stop token, where it is one of a set. Returns whether the text is still viable; if not,
    /// nothing changes.
    pub(crate) fn push_whole(&mut self, vocab: &Vocab, id: TokenId, is_stop: bool) -> bool {
        let is_known = vocab.kind(id) != TokenKind::Padding;
        is_known && self.push_any(&[], Token::Known(KnownToken::of(vocab, id, is_stop)))
    }

    /// Reads a token of a vocabulary as its text or as a whole, and as both where the grammar allows both. Its length is that of the text. Returns whether either reading is viable; if
    /// not, nothing changes.
    pub(super) fn push_text_or_whole(&mut self, vocab: &Vocab, id: TokenId) -> bool {
        self.push_any(vocab.bytes(id), Token::Known(KnownToken::of(vocab, id, false)))
    }

    /// Reads `bytes`, or instead of them a token as a whole; both readings end in the same set. The
    /// sets in between may be empty.
    fn push_any(&mut self, bytes: &[u8], token: Token<'_>) -> bool {
        let productions = self.productions.clone();
        let before = self.sets.len();
        let by_control: Vec<Item> =
            self.last_items().iter().flat_map(|&item| after_control(&productions, item, token)).collect();
        for (i, &byte) in bytes.iter().enumerate() {
            let mut next: Vec<Item> =
                self.last_items().iter().filter_map(|&item| scan(&productions, item, byte)).collect();
            if i + 1 == bytes.len() {
                next.extend_from_slice(&by_control);
            } else if next.is_empty() && by_control.is_empty() {
                self.truncate(before - 1);
                return false;
            }
            self.build_set(&productions, next);
        }
        if bytes.is_empty() {
            self.build_set(&productions, by_control);
        }
        let is_viable = !self.last_items().is_empty();
        if !is_viable {
            self.truncate(before - 1);
        }
        is_viable
    }

    /// Notes that a token has ended here: where tokens are counted, the next one may count.
    pub fn end_token(&mut self) {
        let productions = self.productions.clone();
        let last = self.sets.len() - 1;
        let first = if last == 0 { 0 } else { self.sets[last - 1].items_end };
        for item in &mut self.items[first..] {
            if let Production::AtMostTokens { max, .. } = productions.get(item.production) {
                let state = BoundedState::unpack(item.state, *max);
                item.state = BoundedState { is_counted: false, ..state }.pack(*max);
            }
        }
    }

    /// Drops all symbols after the first `len`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn truncate(&mut self, len: usize) {
        assert!(len < self.sets.len(), "truncate to {len} of {} symbols", self.len());
        self.sets.truncate(len + 1);
        self.items.truncate(self.sets[len].items_end);
    }

    /// Returns the number of symbols read.
    pub fn len(&self) -> usize {
        self.sets.len() - 1
    }

    /// Returns the number of items of the last set: a measure of the ambiguity of the text, and of the work for the next symbol.
    pub fn n_items(&self) -> usize {
        self.last_items().len()
    }

    /// Returns whether no symbol was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the text so far is a sentence of the grammar.
    pub fn is_accepting(&self) -> bool {
        self.sets.last().is_some_and(|set| set.is_accepting)
    }

    /// Returns the bytes that may come next.
    pub fn next_bytes(&self) -> ByteSet {
        (0..=255)
            .filter(|&byte| self.last_items().iter().any(|&item| scan(&self.productions, item, byte).is_some()))
            .collect()
    }

    /// Returns whether a token may come next that is read as a whole: one that the grammar names, or one of a set.
    pub fn expects_control(&self) -> bool {
        let is_control = |item: &Item| {
            item.state == 0
                && matches!(self.productions.get(item.production), Production::Control(_) | Production::TokenExcept(_))
        };
        self.last_items().iter().any(is_control)
    }

    /// Returns whether a literal may go on that control tokens may spell.
    pub fn expects_marker(&self) -> bool {
        let is_marker = |item: &Item| match self.productions.get(item.production) {
            Production::Marker(text) => (item.state as usize) < text.len(),
            _ => false,
        };
        self.last_items().iter().any(is_marker)
    }

    /// Returns what may come next, and where the grammar says so.
    pub fn expected(&self) -> Vec<Expectation> {
        let mut expected: Vec<Expectation> = Vec::new();
        for &item in self.last_items() {
            let Some(terminal) = self.terminal(item) else { continue };
            let Some(expr) = self.productions.expr(item.production) else { continue };
            let mut rules: Vec<RuleId> = self.innermost_rules(item);
            match expected.iter_mut().find(|other| other.expr == expr && other.terminal == terminal) {
                Some(other) => other.rules.append(&mut rules),
                None => expected.push(Expectation { terminal, expr, rules }),
            }
        }
        for expectation in &mut expected {
            expectation.rules.sort_unstable();
            expectation.rules.dedup();
        }
        expected
    }

    /// Returns the rules in progress, innermost first, along one shortest path from a terminal that may come next up to the root.
    pub fn open_rules(&self) -> Vec<OpenRule> {
        let Some(&first) = self.last_items().iter().find(|&&item| self.terminal(item).is_some()) else {
            return self.last_items().first().map_or(vec![], |_| match self.productions.get(Productions::ROOT) {
                Production::Rule(rule, _) => vec![OpenRule { rule: *rule, start: 0 }],
                _ => vec![],
            });
        };
        // Breadth first, so that the path is a shortest one.
        let mut found = vec![(first, usize::MAX)];
        let mut seen: HashSet<_> = HashSet::from([(first.production, first.origin)]);
        let mut read = 0;
        while read < found.len() && found[read].0.production != Productions::ROOT {
            let item = found[read].0;
            for &user in self.waiting(item.production, item.origin) {
                if seen.insert((user.production, user.origin)) {
                    found.push((user, read));
                }
            }
            read += 1;
        }
        let mut open = Vec::new();
        let mut at = read;
        while let Some(&(item, from)) = found.get(at) {
            if let Production::Rule(rule, _) = self.productions.get(item.production) {
                open.push(OpenRule { rule: *rule, start: item.origin as usize });
            }
            at = from;
        }
        open.reverse();
        open
    }

    /// Returns the outermost of some `inner` rules in progress around all terminals that may come next, with their starts: those that are in progress for a rule that is
    /// none of them. `None` if a terminal is in no such rule, or there is too much to look at.
    pub fn outermost(&self, inner: impl Fn(RuleId) -> bool) -> Option<Vec<OpenRule>> {
        let mut found: Vec<OpenRule> = Vec::new();
        // Items, each with the last inner rule on the way up to it.
        let terminals = self.last_items().iter().filter(|&&item| self.terminal(item).is_some());
        let mut pending: Vec<(Item, Option<OpenRule>)> = terminals.map(|&item| (item, None)).collect();
        let mut seen: HashSet<(ProductionId, u32, Option<OpenRule>)> = HashSet::new();
        while let Some((item, mut last)) = pending.pop() {
            if let Production::Rule(rule, _) = self.productions.get(item.production) {
                if !inner(*rule) {
                    let last = last?;
                    if !found.contains(&last) {
                        found.push(last);
                    }
                    continue;
                }
                last = Some(OpenRule { rule: *rule, start: item.origin as usize });
            }
            for &user in self.waiting(item.production, item.origin) {
                if seen.insert((user.production, user.origin, last)) {
                    pending.push((user, last));
                }
            }
            if seen.len() > OUTERMOST_ITEMS_MAX {
                return None;
            }
        }
        Some(found)
    }

    fn innermost_rules(&self, item: Item) -> Vec<RuleId> {
        let mut rules = Vec::new();
        let mut pending = vec![item];
        let mut seen: HashSet<_> = HashSet::from([(item.production, item.origin)]);
        while let Some(item) = pending.pop() {
            if let Production::Rule(rule, _) = self.productions.get(item.production) {
                rules.push(*rule);
                continue;
            }
            for &user in self.waiting(item.production, item.origin) {
                if seen.insert((user.production, user.origin)) {
                    pending.push(user);
                }
            }
        }
        rules
    }

    fn terminal(&self, item: Item) -> Option<Terminal> {
        match self.productions.get(item.production) {
            Production::Bytes(bytes) => {
                let suffix = &bytes[item.state as usize..];
                (!suffix.is_empty()).then(|| Terminal::Literal(suffix.into()))
            }
            Production::Class(set) if item.state != DONE => {
                let (prefix, len) = utf8::prefix_bytes(item.state);
                Some(Terminal::Character { set: set.clone(), prefix: prefix[..len].into() })
            }
            Production::Marker(text) => {
                let suffix = &text.as_bytes()[item.state as usize..];
                (!suffix.is_empty()).then(|| Terminal::Literal(suffix.into()))
            }
            Production::Control(control) if item.state == 0 => Some(Terminal::Control(control.clone())),
            Production::TokenExcept(excluded) if item.state == 0 => Some(Terminal::TokenExcept(excluded.clone())),
            Production::AtMostTokens { dfa, max } => {
                let state = BoundedState::unpack(item.state, *max);
                let bytes: ByteSet = (0..=255).filter(|&byte| state.after(byte, dfa, *max).is_some()).collect();
                (!bytes.is_empty()).then_some(Terminal::Byte(bytes))
            }
            Production::Dfa(dfa) => {
                let bytes: ByteSet = (0..=255).filter(|&byte| dfa.next(item.state, byte).is_some()).collect();
                (!bytes.is_empty()).then_some(Terminal::Byte(bytes))
            }
            _ => None,
        }
    }

    /// Returns the items of the last set.
    pub(super) fn last_items(&self) -> &[Item] {
        self.items_of(self.sets.len() - 1)
    }

    /// Returns whether an item of this chart is complete.
    pub(super) fn is_complete(&self, item: Item) -> bool {
        is_complete(&self.productions, item)
    }

    /// Returns the items of a set.
    pub(super) fn items_of(&self, set: usize) -> &[Item] {
        let start = if set == 0 { 0 } else { self.sets[set - 1].items_end };
        // The set being built has no entry yet.
        let end = self.sets.get(set).map_or(self.items.len(), |set| set.items_end);
        &self.items[start..end]
    }

    /// Returns the items of a set that wait for `production`.
    pub(super) fn waiting(&self, production: ProductionId, set: u32) -> impl Iterator<Item = &Item> {
        self.items_of(set as usize).iter().filter(move |&&item| is_waiting_for(&self.productions, item, production))
    }

    /// Adds a set: the closure of the given items under prediction and completion.
    fn build_set(&mut self, productions: &Productions, items: impl IntoIterator<Item = Item>) {
        let here = self.sets.len() as u32;
        let start = self.items.len();
        self.seen.clear();
        self.completed.clear();
        items.into_iter().for_each(|item| self.add(item));
        let mut at = start;
        while at < self.items.len() {
            let item = self.items[at];
            at += 1;
            if is_complete(productions, item) && self.completed.insert((item.production, item.origin)) {
                let first = if item.origin == 0 { 0 } else { self.sets[item.origin as usize - 1].items_end };
                let end = self.sets.get(item.origin as usize).map_or(self.items.len(), |set| set.items_end);
                for user in first..end {
                    let user = self.items[user];
                    if is_waiting_for(productions, user, item.production)
                        && let Some(next) = advance(productions, user, item.origin == here)
                    {
                        self.add(next);
                    }
                }
            }
            let mut begin = |operand: ProductionId| {
                self.add(Item { production: operand, state: 0, origin: here });
                // The operand may have been completed here (as the empty string) before this item was added.
                if self.completed.contains(&(operand, here))
                    && let Some(next) = advance(productions, item, true)
                {
                    self.add(next);
                }
            };
            match productions.get(item.production) {
                Production::Rule(_, body) if item.state == 0 => begin(*body),
                Production::Sequence(operands) if (item.state as usize) < operands.len() => {
                    begin(operands[item.state as usize])
                }
                Production::Choice(operands) if item.state == 0 => operands.iter().for_each(|&operand| begin(operand)),
                Production::Repeat { body, max, .. } if max.is_none_or(|max| item.state < max) => begin(*body),
                _ => {}
            }
        }
        let is_accepting = self.completed.contains(&(Productions::ROOT, 0));
        self.sets.push(Set { items_end: self.items.len(), is_accepting });
    }

    fn add(&mut self, item: Item) {
        if self.seen.insert(item) {
            self.items.push(item);
        }
    }
}

impl core::fmt::Debug for Chart {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Chart")
            .field("len", &self.len())
            .field("is_accepting", &self.is_accepting())
            .finish_non_exhaustive()
    }
}

/// Returns an item advanced by a control token, once for each way to read it.
fn after_control(productions: &Productions, item: Item, token: Token<'_>) -> Vec<Item> {
    match productions.get(item.production) {
        Production::Control(control) if item.state == 0 && token.is(control) => vec![Item { state: DONE, ..item }],
        Production::TokenExcept(excluded) if item.state == 0 && token.is_outside(excluded) => {
            vec![Item { state: DONE, ..item }]
        }
        Production::Marker(text) => {
            let suffix = text.get(item.state as usize..).unwrap_or("");
            let ends = (1..=suffix.len()).filter(|&end| suffix.is_char_boundary(end));
            let is_spelled = |&end: &usize| token.spells(&suffix[..end]);
            ends.filter(is_spelled).map(|end| Item { state: item.state + end as u32, ..item }).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns an item advanced by a byte, if it reads that byte.
fn scan(productions: &Productions, item: Item, byte: u8) -> Option<Item> {
    let state = match productions.get(item.production) {
        Production::Bytes(bytes) => (bytes.get(item.state as usize) == Some(&byte)).then_some(item.state + 1),
        Production::Marker(text) => (text.as_bytes().get(item.state as usize) == Some(&byte)).then_some(item.state + 1),
        Production::Class(set) if item.state != DONE => utf8::step(set, item.state, byte).map(|step| match step {
            utf8::Step::Partial(state) => state,
            utf8::Step::Whole => DONE,
        }),
        Production::Dfa(dfa) => dfa.next(item.state, byte),
        Production::AtMostTokens { dfa, max } => {
            BoundedState::unpack(item.state, *max).after(byte, dfa, *max).map(|state| state.pack(*max))
        }
        _ => None,
    };
    state.map(|state| Item { state, ..item })
}

/// Returns whether an item is complete.
fn is_complete(productions: &Productions, item: Item) -> bool {
    match productions.get(item.production) {
        Production::Bytes(bytes) => item.state as usize == bytes.len(),
        Production::Marker(text) => item.state as usize == text.len(),
        Production::Sequence(operands) => item.state as usize == operands.len(),
        Production::Class(_) | Production::Control(_) | Production::TokenExcept(_) => item.state == DONE,
        Production::Rule(..) | Production::Choice(_) => item.state == DONE,
        Production::Dfa(dfa) => dfa.is_accepting(item.state),
        Production::AtMostTokens { dfa, max } => dfa.is_accepting(BoundedState::unpack(item.state, *max).at),
        Production::Repeat { min, .. } => item.state >= *min,
    }
}

/// Returns whether an item advances when `production` is complete.
fn is_waiting_for(productions: &Productions, item: Item, production: ProductionId) -> bool {
    match productions.get(item.production) {
        Production::Bytes(_) | Production::Marker(_) | Production::Class(_) => false,
        Production::Control(_) | Production::TokenExcept(_) | Production::Dfa(_) => false,
        Production::AtMostTokens { .. } => false,
        Production::Rule(_, body) => item.state == 0 && *body == production,
        Production::Sequence(operands) => operands.get(item.state as usize) == Some(&production),
        Production::Choice(operands) => item.state == 0 && operands.binary_search(&production).is_ok(),
        Production::Repeat { body, max, .. } => *body == production && max.is_none_or(|max| item.state < max),
    }
}

/// Returns an item advanced by an operand that it waits for. An empty copy does not advance a repeat: a body that matches the empty
/// string makes any smaller number of copies possible (`min` is 0 then).
pub(super) fn advance(productions: &Productions, item: Item, is_empty: bool) -> Option<Item> {
    let state = match productions.get(item.production) {
        Production::Sequence(_) => item.state + 1,
        Production::Repeat { .. } if is_empty => return None,
        Production::Repeat { min, max: None, .. } => item.state.saturating_add(1).min(*min),
        Production::Repeat { .. } => item.state + 1,
        _ => DONE,
    };
    Some(Item { state, ..item })
}
