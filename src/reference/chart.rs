//! Recognizer and chart: items, sets, and the three moves of Earley's algorithm.

use super::error::RecognizerError;
use super::parts::{DONE, Part, PartId, Parts};
use super::utf8;
use crate::grammar::{ControlRef, ExprId, Grammar, RuleId};
use crate::limits::Limits;
use crate::regular::CharSet;
use crate::util::ByteSet;
use hashbrown::HashSet;
use std::sync::Arc;

/// One symbol of a word: a byte or a control token.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// A byte.
    Byte(u8),
    /// A control token, as the grammar names it.
    Control(ControlRef),
}

/// Recognizes the texts of a grammar. Cheap to clone.
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
    parts: Arc<Parts>,
}

impl Recognizer {
    /// Reads a grammar. Rules that the root doesn't reach are not looked at.
    ///
    /// # Errors
    /// If no text matches the grammar; if an operand of `&`, `-` or `~` isn't regular, or needs more states than
    /// [`Limits::dfa_states_max`].
    pub fn new(grammar: &Grammar, limits: &Limits) -> Result<Self, RecognizerError> {
        Ok(Recognizer { parts: Arc::new(Parts::new(grammar, limits)?) })
    }

    /// Returns a chart for the empty text.
    pub fn start(&self) -> Chart {
        let mut chart = Chart {
            parts: self.parts.clone(),
            items: vec![],
            sets: vec![],
            seen: HashSet::new(),
            completed: HashSet::new(),
        };
        let parts = self.parts.clone();
        chart.build_set(&parts, [Item { part: Parts::ROOT, state: 0, origin: 0 }]);
        chart
    }

    /// Tells whether `text` is a whole text of the grammar.
    pub fn accepts(&self, text: &[u8]) -> bool {
        let mut chart = self.start();
        chart.push_bytes(text) == text.len() && chart.is_accepting()
    }

    /// Tells whether `text` can be completed to a whole text of the grammar.
    pub fn is_viable(&self, text: &[u8]) -> bool {
        self.start().push_bytes(text) == text.len()
    }
}

impl core::fmt::Debug for Recognizer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Recognizer").finish_non_exhaustive()
    }
}

/// A part that was begun at set `origin` and has come as far as `state`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Item {
    pub(super) part: PartId,
    pub(super) state: u32,
    pub(super) origin: u32,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    items_end: usize,
    is_accepting: bool,
}

/// What the recognizer knows about a text so far. Grows by symbols and shrinks by [`truncate`](Self::truncate).
#[derive(Clone)]
pub struct Chart {
    pub(super) parts: Arc<Parts>,
    items: Vec<Item>,
    sets: Vec<Set>,
    /// Items of the set being built.
    seen: HashSet<Item>,
    /// Parts that end at the set being built, with the sets where they began.
    completed: HashSet<(PartId, u32)>,
}

/// What can be read next by one terminal of the grammar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Terminal {
    /// The rest of a literal.
    Literal(Box<[u8]>),
    /// A character of a set, of which some bytes (fewer than four) may be read already.
    Character {
        /// The set.
        set: CharSet,
        /// The bytes read of this character.
        begun: Box<[u8]>,
    },
    /// A byte that an intersection, difference or complement can go on with.
    Byte(ByteSet),
    /// A control token.
    Control(ControlRef),
}

impl Terminal {
    /// Returns the bytes that may come next.
    pub fn bytes(&self) -> ByteSet {
        match self {
            Terminal::Literal(rest) => rest.first().copied().into_iter().collect(),
            Terminal::Character { set, begun } => {
                let packed = begun.iter().try_fold(0, |state, &byte| match utf8::step(set, state, byte) {
                    Some(utf8::Step::Partial(state)) => Some(state),
                    _ => None,
                });
                (0..=255).filter(|&byte| packed.is_some_and(|state| utf8::step(set, state, byte).is_some())).collect()
            }
            Terminal::Byte(set) => *set,
            Terminal::Control(_) => ByteSet::EMPTY,
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
    /// The innermost rules that are being read there, in the order of their ids.
    pub rules: Vec<RuleId>,
}

/// A rule that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenRule {
    /// The rule.
    pub rule: RuleId,
    /// How many symbols came before it.
    pub start: usize,
}

impl Chart {
    /// Reads one byte. Returns whether the text is still viable; if not, nothing changes.
    pub fn push_byte(&mut self, byte: u8) -> bool {
        self.push_any(&[byte], |_| false)
    }

    /// Reads bytes up to the first that is refused; returns how many were read.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|&&byte| self.push_byte(byte)).count()
    }

    /// Reads a control token with this name and id. Returns whether the text is still viable; if not, nothing changes.
    pub fn push_control(&mut self, name: Option<&str>, id: u32) -> bool {
        self.push_any(&[], |control| is_called(control, name, id))
    }

    /// Reads one symbol. Returns whether the text is still viable; if not, nothing changes.
    pub fn push(&mut self, symbol: &Symbol) -> bool {
        match symbol {
            Symbol::Byte(byte) => self.push_byte(*byte),
            Symbol::Control(control) => self.push_any(&[], |other| other == control),
        }
    }

    /// Reads a token that is text and also a control token: as either, and as both where the grammar allows both. Its length
    /// is that of the text. Returns whether a reading is viable; if not, nothing changes.
    pub fn push_text_or_control(&mut self, bytes: &[u8], name: Option<&str>, id: u32) -> bool {
        self.push_any(bytes, |control| is_called(control, name, id))
    }

    /// Reads `bytes`, or instead of them a control token that `is_token` holds for; both readings end in the same set. The
    /// sets between may be empty.
    fn push_any(&mut self, bytes: &[u8], is_token: impl Fn(&ControlRef) -> bool) -> bool {
        let parts = self.parts.clone();
        let before = self.sets.len();
        let by_control: Vec<Item> = self
            .last_items()
            .iter()
            .filter_map(|&item| match parts.get(item.part) {
                Part::Control(control) if item.state == 0 && is_token(control) => Some(Item { state: DONE, ..item }),
                _ => None,
            })
            .collect();
        for (i, &byte) in bytes.iter().enumerate() {
            let mut next: Vec<Item> = self.last_items().iter().filter_map(|&item| scan(&parts, item, byte)).collect();
            if i + 1 == bytes.len() {
                next.extend_from_slice(&by_control);
            } else if next.is_empty() && by_control.is_empty() {
                self.truncate(before - 1);
                return false;
            }
            self.build_set(&parts, next);
        }
        if bytes.is_empty() {
            self.build_set(&parts, by_control);
        }
        let is_viable = !self.last_items().is_empty();
        if !is_viable {
            self.truncate(before - 1);
        }
        is_viable
    }

    /// Forgets all symbols after the first `len`.
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

    /// Returns the number of items after the last symbol: how ambiguous the text is, and how much work each next symbol.
    pub fn n_items(&self) -> usize {
        self.last_items().len()
    }

    /// Tells whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tells whether the text so far is a whole text of the grammar.
    pub fn is_accepting(&self) -> bool {
        self.sets.last().is_some_and(|set| set.is_accepting)
    }

    /// Returns the bytes that may come next.
    pub fn next_bytes(&self) -> ByteSet {
        (0..=255)
            .filter(|&byte| self.last_items().iter().any(|&item| scan(&self.parts, item, byte).is_some()))
            .collect()
    }

    /// Tells whether some control token may come next.
    pub fn expects_control(&self) -> bool {
        let is_control = |item: &Item| item.state == 0 && matches!(self.parts.get(item.part), Part::Control(_));
        self.last_items().iter().any(is_control)
    }

    /// Returns what may come next, and where the grammar says so.
    pub fn expected(&self) -> Vec<Expectation> {
        let mut expected: Vec<Expectation> = Vec::new();
        for &item in self.last_items() {
            let Some(terminal) = self.terminal(item) else { continue };
            let Some(expr) = self.parts.expr(item.part) else { continue };
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

    /// Returns the rules that are being read, innermost first, along one way from what may come next up to the root.
    pub fn open_rules(&self) -> Vec<OpenRule> {
        let Some(&first) = self.last_items().iter().find(|&&item| self.terminal(item).is_some()) else {
            return self.last_items().first().map_or(vec![], |_| match self.parts.get(Parts::ROOT) {
                Part::Rule(rule, _) => vec![OpenRule { rule: *rule, start: 0 }],
                _ => vec![],
            });
        };
        // Breadth first, so that the way is a shortest one.
        let mut found = vec![(first, usize::MAX)];
        let mut seen: HashSet<_> = HashSet::from([(first.part, first.origin)]);
        let mut read = 0;
        while read < found.len() && found[read].0.part != Parts::ROOT {
            let item = found[read].0;
            for &user in self.waiting(item.part, item.origin) {
                if seen.insert((user.part, user.origin)) {
                    found.push((user, read));
                }
            }
            read += 1;
        }
        let mut open = Vec::new();
        let mut at = read;
        while let Some(&(item, from)) = found.get(at) {
            if let Part::Rule(rule, _) = self.parts.get(item.part) {
                open.push(OpenRule { rule: *rule, start: item.origin as usize });
            }
            at = from;
        }
        open.reverse();
        open
    }

    fn innermost_rules(&self, item: Item) -> Vec<RuleId> {
        let mut rules = Vec::new();
        let mut pending = vec![item];
        let mut seen: HashSet<_> = HashSet::from([(item.part, item.origin)]);
        while let Some(item) = pending.pop() {
            if let Part::Rule(rule, _) = self.parts.get(item.part) {
                rules.push(*rule);
                continue;
            }
            for &user in self.waiting(item.part, item.origin) {
                if seen.insert((user.part, user.origin)) {
                    pending.push(user);
                }
            }
        }
        rules
    }

    fn terminal(&self, item: Item) -> Option<Terminal> {
        match self.parts.get(item.part) {
            Part::Bytes(bytes) => {
                let rest = &bytes[item.state as usize..];
                (!rest.is_empty()).then(|| Terminal::Literal(rest.into()))
            }
            Part::Class(set) if item.state != DONE => {
                let (begun, len) = utf8::begun_bytes(item.state);
                Some(Terminal::Character { set: set.clone(), begun: begun[..len].into() })
            }
            Part::Control(control) if item.state == 0 => Some(Terminal::Control(control.clone())),
            Part::Machine(machine) => {
                let bytes: ByteSet = (0..=255).filter(|&byte| machine.next(item.state, byte).is_some()).collect();
                (!bytes.is_empty()).then_some(Terminal::Byte(bytes))
            }
            _ => None,
        }
    }

    /// Returns the items of the last set.
    pub(super) fn last_items(&self) -> &[Item] {
        self.items_of(self.sets.len() - 1)
    }

    fn items_of(&self, set: usize) -> &[Item] {
        let start = if set == 0 { 0 } else { self.sets[set - 1].items_end };
        // The set being built has no entry yet.
        let end = self.sets.get(set).map_or(self.items.len(), |set| set.items_end);
        &self.items[start..end]
    }

    /// Returns the items of a set that wait for a part.
    pub(super) fn waiting(&self, part: PartId, set: u32) -> impl Iterator<Item = &Item> {
        self.items_of(set as usize).iter().filter(move |&&item| is_waiting_for(&self.parts, item, part))
    }

    /// Adds a set: the given items and all that follow from them without reading anything.
    fn build_set(&mut self, parts: &Parts, items: impl IntoIterator<Item = Item>) {
        let here = self.sets.len() as u32;
        let start = self.items.len();
        self.seen.clear();
        self.completed.clear();
        items.into_iter().for_each(|item| self.add(item));
        let mut at = start;
        while at < self.items.len() {
            let item = self.items[at];
            at += 1;
            if is_complete(parts, item) && self.completed.insert((item.part, item.origin)) {
                let first = if item.origin == 0 { 0 } else { self.sets[item.origin as usize - 1].items_end };
                let end = self.sets.get(item.origin as usize).map_or(self.items.len(), |set| set.items_end);
                for user in first..end {
                    let user = self.items[user];
                    if is_waiting_for(parts, user, item.part)
                        && let Some(next) = advance(parts, user, item.origin == here)
                    {
                        self.add(next);
                    }
                }
            }
            let mut begin = |operand: PartId| {
                self.add(Item { part: operand, state: 0, origin: here });
                // What ended here before this item came has to be told to it.
                if self.completed.contains(&(operand, here))
                    && let Some(next) = advance(parts, item, true)
                {
                    self.add(next);
                }
            };
            match parts.get(item.part) {
                Part::Rule(_, body) if item.state == 0 => begin(*body),
                Part::Sequence(operands) if (item.state as usize) < operands.len() => {
                    begin(operands[item.state as usize])
                }
                Part::Choice(operands) if item.state == 0 => operands.iter().for_each(|&operand| begin(operand)),
                Part::Repeat { body, max, .. } if max.is_none_or(|max| item.state < max) => begin(*body),
                _ => {}
            }
        }
        let is_accepting = self.completed.contains(&(Parts::ROOT, 0));
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

fn is_called(control: &ControlRef, name: Option<&str>, id: u32) -> bool {
    match control {
        ControlRef::Name(wanted) => name == Some(&**wanted),
        ControlRef::Id(wanted) => *wanted == id,
    }
}

/// Moves an item over a byte.
fn scan(parts: &Parts, item: Item, byte: u8) -> Option<Item> {
    let state = match parts.get(item.part) {
        Part::Bytes(bytes) => (bytes.get(item.state as usize) == Some(&byte)).then_some(item.state + 1),
        Part::Class(set) if item.state != DONE => utf8::step(set, item.state, byte).map(|step| match step {
            utf8::Step::Partial(state) => state,
            utf8::Step::Whole => DONE,
        }),
        Part::Machine(machine) => machine.next(item.state, byte),
        _ => None,
    };
    state.map(|state| Item { state, ..item })
}

/// Tells whether the part of an item may end here.
fn is_complete(parts: &Parts, item: Item) -> bool {
    match parts.get(item.part) {
        Part::Bytes(bytes) => item.state as usize == bytes.len(),
        Part::Sequence(operands) => item.state as usize == operands.len(),
        Part::Class(_) | Part::Control(_) | Part::Rule(..) | Part::Choice(_) => item.state == DONE,
        Part::Machine(machine) => machine.is_accepting(item.state),
        Part::Repeat { min, .. } => item.state >= *min,
    }
}

/// Tells whether an item goes on when `part` is read.
fn is_waiting_for(parts: &Parts, item: Item, part: PartId) -> bool {
    match parts.get(item.part) {
        Part::Bytes(_) | Part::Class(_) | Part::Control(_) | Part::Machine(_) => false,
        Part::Rule(_, body) => item.state == 0 && *body == part,
        Part::Sequence(operands) => operands.get(item.state as usize) == Some(&part),
        Part::Choice(operands) => item.state == 0 && operands.binary_search(&part).is_ok(),
        Part::Repeat { body, max, .. } => *body == part && max.is_none_or(|max| item.state < max),
    }
}

/// Moves an item over an operand that it waits for. An empty copy changes nothing in a repeat: if the body has the empty text
/// then fewer copies are as good (the least number counts as 0 there).
pub(super) fn advance(parts: &Parts, item: Item, over_nothing: bool) -> Option<Item> {
    let state = match parts.get(item.part) {
        Part::Sequence(_) => item.state + 1,
        Part::Repeat { .. } if over_nothing => return None,
        Part::Repeat { min, max: None, .. } => item.state.saturating_add(1).min(*min),
        Part::Repeat { .. } => item.state + 1,
        _ => DONE,
    };
    Some(Item { state, ..item })
}
