//! Strings and numbers: from languages of decoded strings to the texts of a JSON document.
//!
//! A string that a schema constrains by more than its length has one spelling for each character by default ([`Spelling`]): the character
//! itself, or for quotes, backslashes and control characters the shortest escape that JSON has, in lower case. A string without such a
//! constraint may have every escape, except half of a surrogate pair, which most parsers refuse.

use super::draft::Draft;
use super::leaf::LeafKey;
use super::length::{Counted, Written};
use super::spelling::spell_in_all_ways;
use super::{Lowered, Lowerer};
use crate::json_schema::error::SchemaError;
use crate::json_schema::language::{StringKey, alike, too_large, watched};
use crate::json_schema::number::{NumberSet, RegisterTexts};
use crate::json_schema::shape::{NumberShape, StringShape};
use crate::machine::Counter;
use crate::pass::{Label, NetRuleId};
use crate::regular::{CharSet, Dfa, Node, Product, Regular, Union, product_within};
use crate::schema_options::Spelling;
use crate::util::json_string::{is_escaped, short_escape, spelled_byte};
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// Bounds up to this length become states of the automaton of a pattern, instead of a register.
const COUNTED_MIN: u64 = 4;
/// Steps of the budget for the automaton of a set of numbers, at least, and for each of its edges.
const STEPS_PER_NUMBER: usize = 1024;
const STEPS_PER_NUMBER_EDGE: usize = 32;

/// Which divisors numbers obey.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Divisors {
    /// All; one that can't be enforced is an error: for questions that need no answer.
    All,
    /// In lenient mode only those that can be enforced; the others are dropped from the schema.
    Enforceable,
}

/// Texts of numbers: an automaton, and automata beside registers.
pub(super) type NumberAutomata = (Arc<Dfa>, Vec<RegisterTexts>);

impl Lowerer<'_> {
    /// Returns the rule of the numbers that have any of some shapes; nothing if there are none.
    pub(super) fn number(&mut self, shapes: Vec<NumberShape>, is_element: bool) -> Lowered<Option<NetRuleId>> {
        let key = (shapes, is_element);
        if let Some(&rule) = self.numbers.get(&key) {
            return Ok(rule);
        }
        let has_integer_fractions = self.expander.options.has_integer_fractions;
        let leaf = LeafKey::Numbers { shapes: key.0.clone(), is_element, has_integer_fractions };
        let rule = self.leaf("number", leaf, None, |lowerer| lowerer.draft_number(&key.0, is_element))?;
        self.numbers.insert(key, rule);
        Ok(rule)
    }

    fn draft_number(&mut self, shapes: &[NumberShape], is_element: bool) -> Lowered<Option<Draft>> {
        let (dfa, mut registers) = self.number_texts(shapes, is_element, Divisors::Enforceable)?;
        let mut draft = self.workspace.draft();
        match (dfa.is_empty(), registers.len()) {
            (true, 0) => return Ok(None),
            (false, 0) => plain(&mut draft, &dfa),
            (true, 1) => draft = beside_register(registers.remove(0)),
            // A register belongs to one rule.
            (is_empty, _) => {
                let end = draft.state();
                draft.accept(end);
                let mut drafts: Vec<Draft> = registers.into_iter().map(beside_register).collect();
                if !is_empty {
                    let mut others = Draft::new();
                    plain(&mut others, &dfa);
                    drafts.push(others);
                }
                for one in drafts {
                    self.spend(&one)?;
                    let rule = self.rule("multiples", one, None);
                    draft.edge(0, Label::Call(rule), end);
                }
            }
        }
        Ok(Some(draft))
    }

    /// Returns the texts of the numbers that have any of some shapes: an automaton, and automata beside registers. As an item that is compared,
    /// a number of the automaton has one text.
    pub(super) fn number_texts(
        &mut self,
        shapes: &[NumberShape],
        is_element: bool,
        divisors: Divisors,
    ) -> Lowered<NumberAutomata> {
        let (mut union, mut registers) = (Union::default(), Vec::new());
        let mut met: HashSet<NumberSet> = HashSet::new();
        // Numbers that no double comes near are not written, which matters where no others are left.
        let (mut is_some, mut unwritten) = (false, None);
        self.budget.spend(shapes.iter().map(NumberShape::steps_of_listing).sum())?;
        let n_sets = shapes.iter().flat_map(NumberShape::sets).count();
        for set in shapes.iter().flat_map(NumberShape::sets) {
            if set.n_divisors() > 1 && !met.insert(set.with_one_divisor()) {
                continue;
            }
            let (dfa, beside) = match self.texts_of_set(&set, n_sets, is_element, divisors)? {
                Ok(texts) => texts,
                Err(error) => {
                    unwritten = Some(error);
                    continue;
                }
            };
            is_some |= !dfa.is_empty() || !beside.is_empty();
            self.budget.spend(STEPS_PER_NUMBER.max(STEPS_PER_NUMBER_EDGE * dfa.n_edges()))?;
            registers.extend(beside);
            union.add(dfa);
        }
        if let Some(error) = unwritten.filter(|_| !is_some) {
            return Err(error.into());
        }
        let all = watched(self.budget, too_large, |work| {
            let all = union.finish(self.limits, work)?;
            match is_element {
                true => product_within(&all, plain_numbers(), Product::Intersect, self.limits, work).map(Arc::new),
                false => Ok(all),
            }
        })?;
        Ok((all, registers))
    }

    /// Returns the rule of the strings that have any of some shapes, with their quotes; nothing if there are none.
    pub(super) fn string(&mut self, shapes: Vec<StringShape>, is_element: bool) -> Lowered<Option<NetRuleId>> {
        let key = (shapes, is_element);
        if let Some(&rule) = self.strings.get(&key) {
            return Ok(rule);
        }
        let rule = self.make_string(&key.0, is_element)?;
        self.strings.insert(key, rule);
        Ok(rule)
    }

    fn make_string(&mut self, shapes: &[StringShape], is_element: bool) -> Lowered<Option<NetRuleId>> {
        if !is_element && shapes.iter().any(StringShape::is_any) {
            return self.leaf("string", LeafKey::AnyString, None, |_| Ok(Some(any_string())));
        }
        let keys: Option<Vec<StringKey>> = shapes.iter().map(|shape| self.expander.languages.key_of(shape)).collect();
        match keys {
            Some(shapes_of) => {
                let key = LeafKey::Strings { shapes: shapes_of, is_element, spelling: self.spelling_of(is_element) };
                self.leaf("string", key, None, |lowerer| lowerer.draft_string(shapes, is_element))
            }
            None => {
                let Some(draft) = self.draft_string(shapes, is_element)? else { return Ok(None) };
                self.spend(&draft)?;
                Ok(Some(self.rule("string", draft, None)))
            }
        }
    }

    /// Returns the spelling of strings; those that are compared have one spelling each, since their bytes are compared.
    fn spelling_of(&self, is_element: bool) -> Spelling {
        if is_element { Spelling::Shortest } else { self.spelling() }
    }

    /// Returns the spelling of strings that are not compared.
    pub(super) fn spelling(&self) -> Spelling {
        // What is excluded is said of this spelling.
        let is_excluding = !self.expander.options.excluded_texts.is_empty();
        if is_excluding { Spelling::Shortest } else { self.expander.options.spelling }
    }

    fn draft_string(&mut self, shapes: &[StringShape], is_element: bool) -> Lowered<Option<Draft>> {
        let (mut draft, end) = self.workspace.draft_with_end();
        let open = draft.state();
        draft.byte(&[0], b'"', open);
        let (mut written, mut free) = (Union::default(), Union::default());
        let mut is_empty = true;
        for group in alike(&shapes.iter().collect::<Vec<_>>()) {
            let counted = if is_element { Counted::Within } else { self.counted(&mut draft, open, end, &group)? };
            if counted == Counted::Beside {
                is_empty = false;
                continue;
            }
            if counted == Counted::Within || group.len() == 1 {
                let is_free = !is_element && group.iter().any(|shape| shape.is_free());
                let language = self.expander.languages.of_shapes(&group, true, self.limits)?;
                if is_free { &mut free } else { &mut written }.add(language);
                continue;
            }
            // Shapes that have no common register may each have one.
            for shape in group {
                match self.counted(&mut draft, open, end, &[shape])? {
                    Counted::Beside => is_empty = false,
                    _ => written.add(self.expander.languages.of_shape(shape, true, self.limits)?),
                }
            }
        }
        let finish = |union: Union| watched(self.budget, too_large, |work| union.finish(self.limits, work));
        let parts = [(finish(written)?, self.spelling_of(is_element)), (finish(free)?, Spelling::Any)];
        // The opening quote leads to the start of the only automaton itself: an equivalent state would have masks of its own. Several automata have a start in common, to which none of them returns.
        let is_alone = is_empty && parts.iter().filter(|(dfa, _)| !dfa.is_empty()).count() == 1;
        for (dfa, spelling) in parts.iter().filter(|(dfa, _)| !dfa.is_empty()) {
            let base = embed_spelled(&mut draft, dfa, end, *spelling);
            match is_alone {
                true => draft.edges_mut().filter(|edge| edge.target == open).for_each(|edge| edge.target = base),
                false => draft.copy_edges(base, open),
            }
            is_empty = false;
        }
        Ok((!is_empty).then_some(draft))
    }

    /// Returns a bound on a count, as counters have it: what is beyond them is beyond all texts.
    ///
    /// # Errors
    /// If it is above [`Limits::repeat_max`](crate::Limits::repeat_max).
    pub(super) fn bound(&self, n: u64) -> Lowered<u32> {
        let (bound, limit) = (u32::try_from(n).unwrap_or(u32::MAX).min(Counter::BOUND_MAX), self.limits.bound_max());
        match bound <= limit {
            true => Ok(bound),
            false => Err(SchemaError::too_much("repeat_max", bound as usize, limit as usize).into()),
        }
    }

    /// Adds the body and closing quote of the strings of some shapes with equal bounds on their length, with a counter of characters, if
    /// that is possible.
    fn counted(&mut self, draft: &mut Draft, open: u32, end: u32, shapes: &[&StringShape]) -> Lowered<Counted> {
        let shape = shapes[0];
        let is_short = shape.max.unwrap_or(shape.min) <= COUNTED_MIN;
        if shape.values.is_some() || is_short || (shape.min == 0 && shape.max.is_none()) {
            return Ok(Counted::Within);
        }
        let is_free = shapes.iter().any(|shape| shape.is_free());
        let mut body = Draft::new();
        let mut min = shape.min;
        if !is_free {
            let all = match shapes {
                [shape] => self.expander.languages.of_shape(shape, false, self.limits)?,
                _ => match self.expander.languages.joined(shapes, self.limits)? {
                    Some(all) => all,
                    None => return Ok(Counted::WithinLarge),
                },
            };
            let Some(is_some) = spell_one_character(&mut body, &all, self.spelling()) else {
                return self.with_length_register(draft, (open, end), shape, &all, Written::Quoted);
            };
            min = min.max(u64::from(is_some));
        }
        let max = shape.max.map(|max| self.bound(max)).transpose()?;
        if min == 0 {
            draft.byte(&[open], b'"', end);
        }
        if max.is_some_and(|max| max == 0) {
            return Ok(Counted::Beside);
        }
        let counter = Counter::new(self.bound(min)?.max(1), max);
        let rule = if is_free {
            let rule = self.leaf("characters", LeafKey::Character, Some(counter), |_| Ok(Some(any_character())))?;
            rule.expect("a draft was made")
        } else {
            self.spend(&body)?;
            self.rule("characters", body, Some(counter))
        };
        let after = draft.state();
        draft.edge(open, Label::Call(rule), after);
        draft.byte(&[after], b'"', end);
        Ok(Counted::Beside)
    }
}

/// Copies an automaton into an empty draft.
fn plain(draft: &mut Draft, dfa: &Dfa) {
    (1..dfa.n_states()).for_each(|_| _ = draft.state());
    for state in 0..dfa.n_states() as u32 {
        for (low, high, target) in dfa.edges(state) {
            draft.edge(state, Label::Bytes(low, high), target);
        }
        if dfa.is_accepting(state) {
            draft.accept(state);
        }
    }
}

/// Returns the automaton that goes with a register.
fn beside_register(texts: RegisterTexts) -> Draft {
    let mut draft = Draft::new();
    (1..texts.edges.len()).for_each(|_| _ = draft.state());
    for (state, register_rule) in (0..).zip(texts.register_rules) {
        let Some(register_rule) = register_rule else { continue };
        if register_rule.can_ever_end() {
            draft.accept(state);
        }
        draft.register_rules.push((state, register_rule));
    }
    for (state, edges) in (0..).zip(&texts.edges) {
        edges.iter().for_each(|&(byte, target)| draft.byte(&[state], byte, target));
    }
    draft
}

/// Adds the spellings of the strings of an automaton, and a closing quote that leads to `end`; returns where they begin.
pub(super) fn embed_spelled(draft: &mut Draft, dfa: &Dfa, end: u32, spelling: Spelling) -> u32 {
    draft.reserve(dfa.n_states(), 2 * dfa.n_states());
    let base = draft.states(dfa.n_states());
    spell(draft, dfa, |state| base + state, spelling);
    for state in (0..dfa.n_states() as u32).filter(|&state| dfa.is_accepting(state)) {
        draft.byte(&[base + state], b'"', end);
    }
    base
}

/// Adds the spelled edges of an automaton over decoded bytes; `place` maps its states to those of the draft.
pub(super) fn spell(draft: &mut Draft, dfa: &Dfa, place: impl Fn(u32) -> u32, spelling: Spelling) {
    if spelling == Spelling::Any {
        return spell_in_all_ways(draft, dfa, place);
    }
    let mut escapes = HashMap::new();
    for state in 0..dfa.n_states() as u32 {
        let edges = dfa.edges(state).map(|(low, high, target)| (low, high, place(target)));
        spell_row(draft, place(state), edges, &mut escapes);
    }
}

/// The states after a backslash, by what may follow.
type Escapes = HashMap<SmallVec<[(u8, u32); 8]>, u32>;

/// Adds the spelled edges of some edges over decoded bytes.
fn spell_row(draft: &mut Draft, from: u32, edges: impl Iterator<Item = (u8, u8, u32)>, escapes: &mut Escapes) {
    let mut escaped: SmallVec<[(u8, u32); 8]> = SmallVec::new();
    for (low, high, target) in edges {
        // Nearly all edges are those of one letter.
        if PLAIN.iter().any(|&(first, last)| first <= low && high <= last) {
            draft.edge(from, Label::Bytes(low, high), target);
            continue;
        }
        let controls = low..=high.min(0x1F);
        let others = [b'"', b'\\'].into_iter().filter(|&byte| low <= byte && byte <= high);
        escaped.extend(controls.chain(others).map(|byte| (byte, target)));
        for (first, last) in PLAIN {
            let (first, last) = (first.max(low), last.min(high));
            if first <= last {
                draft.edge(from, Label::Bytes(first, last), target);
            }
        }
    }
    if escaped.is_empty() {
        return;
    }
    let escape = *escapes.entry(escaped).or_insert_with_key(|escaped| {
        let escape = draft.state();
        add_escapes(draft, escape, escaped);
        escape
    });
    draft.byte(&[from], b'\\', escape);
}

/// The bytes that are not escaped.
pub(super) const PLAIN: [(u8, u8); 3] = [(0x20, b'"' - 1), (b'"' + 1, b'\\' - 1), (b'\\' + 1, 0xFF)];

/// Adds the escapes, after the backslash, of some bytes.
fn add_escapes(draft: &mut Draft, escape: u32, bytes: &[(u8, u32)]) {
    let mut zeros: Option<u32> = None;
    let mut nibbles: [Option<u32>; 2] = [None; 2];
    for &(byte, target) in bytes {
        if let Some(letter) = short_escape(byte) {
            draft.byte(&[escape], letter, target);
            continue;
        }
        let zeros = *zeros.get_or_insert_with(|| {
            let zeros = draft.state();
            draft.text(&[escape], b"u00", zeros);
            zeros
        });
        let nibble = *nibbles[usize::from(byte >> 4)].get_or_insert_with(|| {
            let nibble = draft.state();
            draft.byte(&[zeros], b'0' + (byte >> 4), nibble);
            nibble
        });
        let digit = byte & 15;
        if digit < 10 {
            draft.byte(&[nibble], b'0' + digit, target);
        } else {
            draft.byte(&[nibble], b'a' + digit - 10, target);
        }
    }
}

/// The spelling of a key; most are short.
pub(super) type SpelledKey = SmallVec<[u8; 24]>;

/// Returns the spelling of a key, with its closing quote and without the opening one.
pub(super) fn spelled_key(name: &str) -> SpelledKey {
    let mut spelled = SpelledKey::with_capacity(name.len() + 1);
    let mut rest = name.as_bytes();
    while let Some(n_plain) = rest.iter().position(|&byte| is_escaped(byte)) {
        spelled.extend_from_slice(&rest[..n_plain]);
        spelled.extend_from_slice(&spelled_byte(rest[n_plain]));
        rest = &rest[n_plain + 1..];
    }
    spelled.extend_from_slice(rest);
    spelled.push(b'"');
    spelled
}

/// Returns the automaton of any string in any spelling, with its quotes.
fn any_string() -> Draft {
    let mut draft = Draft::new();
    let end = draft.state();
    draft.accept(end);
    let text = draft.embed(&free_text());
    draft.byte(&[0], b'"', text);
    draft.byte(&[text], b'"', end);
    draft
}

/// Returns the automaton of any character in any spelling.
fn any_character() -> Draft {
    let mut draft = Draft::new();
    let done = draft.state();
    draft.accept(done);
    free_character(&mut draft, 0, done);
    draft
}

/// Returns the automaton of any text in any spelling, without quotes.
fn free_text() -> Draft {
    let mut draft = Draft::new();
    draft.accept(0);
    free_character(&mut draft, 0, 0);
    draft
}

/// Adds any spelling of any character between two states, which may be one.
fn free_character(draft: &mut Draft, from: u32, to: u32) {
    static CHARACTER: OnceLock<Dfa> = OnceLock::new();
    let dfa = CHARACTER.get_or_init(|| {
        let mut any = Regular::new();
        let root = any.push(Node::Class(CharSet::all()));
        any.set_root(root);
        Dfa::new(&any, &crate::Limits::default()).expect("the automaton is small")
    });
    let base = draft.states(dfa.n_states());
    let place = |state: u32| match (state, dfa.is_accepting(state)) {
        (0, _) => from,
        (_, true) => to,
        _ => base + state,
    };
    spell_in_all_ways(draft, dfa, place);
}

/// If an automaton accepts exactly the strings over one set of characters, perhaps without the empty string, drafts the spellings of one such
/// character and returns whether the empty string is missing.
fn spell_one_character(body: &mut Draft, dfa: &Dfa, spelling: Spelling) -> Option<bool> {
    let start = dfa.start()?;
    // `X*` loops at its start; `X+` begins in a state of its own with the same edges.
    let (home, is_some) = match dfa.is_accepting(start) {
        true => (start, false),
        false => {
            let home = (0..dfa.n_states() as u32).find(|&state| dfa.is_accepting(state))?;
            let same = dfa.edges(start).eq(dfa.edges(home));
            same.then_some((home, true))?
        }
    };
    let n_accepting = (0..dfa.n_states() as u32).filter(|&state| dfa.is_accepting(state)).count();
    if n_accepting != 1 {
        return None;
    }
    // All other states are within a character: only continuation bytes leave them, and lead to a state of the character or home.
    for state in 0..dfa.n_states() as u32 {
        let is_home = state == home || state == start;
        for (low, high, target) in dfa.edges(state) {
            let fits = match is_home {
                true => (high < 0x80) == (target == home) && (target == home || low >= 0xC2),
                false => low >= 0x80 && high <= 0xBF && (target != start || target == home),
            };
            if !fits {
                return None;
            }
        }
    }
    let mut one = Draft::new();
    (1..dfa.n_states()).for_each(|_| _ = one.state());
    spell(&mut one, dfa, |state| state, spelling);
    // Returning to the start ends the character.
    let mut renumbered = Draft::new();
    let finished = renumbered.state();
    renumbered.accept(finished);
    let base = renumbered.embed(&one);
    renumbered.edges_mut().filter(|edge| edge.target == base + home).for_each(|edge| edge.target = finished);
    renumbered.copy_edges(base + home, 0);
    *body = renumbered;
    Some(is_some)
}

/// Returns the automaton of numbers in the unique form of items that are compared: no exponent, no redundant zeros, no negative zero.
fn plain_numbers() -> &'static Dfa {
    static PLAIN: OnceLock<Dfa> = OnceLock::new();
    PLAIN.get_or_init(|| {
        let limits = crate::Limits::default();
        let pattern = r"^(?!-0$)-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$";
        let regular = crate::frontend::ecma::parse(pattern, &limits).expect("the pattern is well-formed");
        Dfa::new(&regular, &limits).expect("the automaton is small")
    })
}

/// Returns whether some prefix of a text of the language has finitely many completions.
pub(super) fn has_finite_end(dfa: &Dfa) -> bool {
    // The end of the longest completion of such a prefix is a state without edges.
    (0..dfa.n_states() as u32).any(|state| dfa.edges(state).len() == 0)
}
