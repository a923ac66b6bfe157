//! What a grammar expects after a text, in terms of what its author wrote: rules, or the properties and keywords of a JSON Schema.
//!
//! The engine's automata have lost the rules that a person wrote, so the reference recognizer parses the text so far again. It takes memory for each byte, and much time for
//! ambiguous grammars; where it would take too much, only the bytes that may follow are shown, which the engine knows.

use crate::affordable::{Budget, Unexplained, try_recognizer};
use crate::output::{harmless, quoted};
use maskwright::diagnose::{ExpectedItem, RuleLocation, SchemaPlace};
use maskwright::grammar::{ControlRef, Grammar};
use maskwright::json_schema::{Json, Value as JsonValue};
use maskwright::reference::{Symbol, Terminal};
use maskwright::util::{ByteSet, Span};
use maskwright::{Limits, Matcher, TokenId, TokenKind, Vocab};
use serde_json::{Value, json};
use std::convert::Infallible;

/// The longest text that the reference recognizer is asked about, in bytes.
const RECOGNIZED_BYTES_MAX: usize = 1 << 16;
/// Most items shown.
const SHOWN_MAX: usize = 8;

/// One thing that may come.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is, as EBNF writes it.
    pub what: String,
    /// The rules that it belongs to, or the formats of a structural tag.
    pub rules: Vec<String>,
    /// What reads it.
    pub terminal: Terminal,
}

/// What an author calls the rules of a grammar: their names, or in a structural tag the formats, since the rules of its grammar are made.
struct Places {
    document: Option<Json>,
}

impl Places {
    fn of(grammar: &Grammar) -> Self {
        // EBNF and Lark are no JSON.
        let source = grammar.source().filter(|source| source.trim_start().starts_with('{'));
        Places { document: source.and_then(|source| Json::parse(source, &Limits::default()).ok()) }
    }

    fn of_rule(&self, rule: &RuleLocation) -> String {
        let name = shown_rule(rule.name(), rule.span());
        let Some(format) = rule.span().and_then(|span| self.format(span)) else { return name };
        match written_name(&name) {
            Some(written) => format!("{written} of the {format}"),
            None => format,
        }
    }

    /// Returns the rules of an item; in a structural tag the innermost formats, of which a rule may have several.
    fn of_item(&self, item: &ExpectedItem) -> Vec<String> {
        let is_made = item.rules().iter().all(|rule| written_name(rule.name()).is_none());
        let formats = item.spans().iter().filter(|_| is_made).filter_map(|&span| self.format(span));
        let mut places: Vec<String> = formats.collect();
        if places.is_empty() {
            places = item.rules().iter().map(|rule| self.of_rule(rule)).collect();
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns the type and the pointer of what has a span of the document, like `tag at #/format/tags/0`.
    fn format(&self, span: Span) -> Option<String> {
        let json = self.document.as_ref()?;
        let at = json.value_at(span)?;
        let name = match json.member(at, "type").map(|name| json.value(name)) {
            Some(JsonValue::String(name)) => name,
            // It may be left out in lists of tags.
            _ => "tag",
        };
        Some(harmless(&format!("{name} at #{}", json.pointer(at))))
    }
}

/// Shows the name of a rule. What stands between the lexemes of a grammar in Lark is a rule that no author wrote, which has no place in the source.
pub fn shown_rule(name: &str, span: Option<Span>) -> String {
    match name.strip_suffix("ignored.between") {
        Some(scope) if span.is_none_or(|span| span.start == span.end) => format!("{}%ignore", harmless(scope)),
        _ => harmless(name),
    }
}

/// Makes one item of those that are a byte each, in no rule that an author wrote: the states of a value of a schema read them one by one.
fn merged(items: Vec<Item>) -> Vec<Item> {
    let is_byte = |terminal: &Terminal| match terminal {
        Terminal::Literal(suffix) => suffix.len() == 1,
        Terminal::Byte(_) => true,
        _ => false,
    };
    let (bytes, mut others): (Vec<Item>, Vec<Item>) =
        items.into_iter().partition(|item| item.rules.is_empty() && is_byte(&item.terminal));
    if bytes.len() < 2 {
        others.extend(bytes);
        return others;
    }
    let all = bytes.iter().fold(ByteSet::EMPTY, |all, item| all | item.terminal.bytes());
    others.push(Item { what: shown_bytes(&all), rules: Vec::new(), terminal: Terminal::Byte(all) });
    others
}

/// Returns the name that the author of a grammar in a structural tag gave to a rule of it.
fn written_name(name: &str) -> Option<&str> {
    let (number, name) = name.strip_prefix("grammar-")?.split_once('-')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}

/// What may follow a text.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// What may come, and in which rules, if the recognizer was asked.
    pub items: Vec<Item>,
    /// The bytes that may come.
    pub bytes: ByteSet,
    /// The text may end here.
    pub is_accepting: bool,
    /// A text that completes it, with the names of control tokens, and whether none is shorter.
    pub completion: Option<(String, bool)>,
    /// Rules in progress, innermost first, if the recognizer was asked.
    pub open_rules: Vec<String>,
    /// What a JSON Schema says here, if the grammar is one, or the text stops within a document of one among its operands.
    pub schema: Option<SchemaPlace>,
    /// Why the recognizer was not asked.
    pub unexplained: Option<Unexplained>,
    /// The output has ended: only stop tokens may follow.
    pub has_ended: bool,
}

/// What is said where the output has ended.
pub const ENDED: &str = "the output has ended, and only stop tokens may follow";
/// What is said of a token that no set of tokens here has.
pub const EXCLUDED: &str = "the set of tokens that the grammar reads here excludes it";
/// What is said of a control token that is another way to write a literal of the grammar.
pub const MARKER: &str = "this control token spells a marker of the grammar, or a part of it";
/// What is said where it can't go on and can't end.
pub const STUCK: &str = "stuck: no token can follow, and the text is not complete";

impl Expected {
    /// Finds what may follow what a matcher has accepted; `rest` is what stands there instead. It takes no longer than somebody waits for a command.
    pub fn new(matcher: &Matcher, rest: &[u8]) -> Self {
        Expected::behind(matcher, rest, None)
    }

    /// As [`Self::new`], of a text whose beginning was `unexplained`: then the text is as well.
    pub fn behind(matcher: &Matcher, rest: &[u8], unexplained: Option<Unexplained>) -> Self {
        if unexplained.is_some() {
            return Expected::within(matcher, rest, unexplained);
        }
        let n_bytes = matcher.accepted().map_or(0, |pieces| {
            let len = |piece: &maskwright::AcceptedPiece| match piece {
                maskwright::AcceptedPiece::Bytes(bytes) => bytes.len(),
                maskwright::AcceptedPiece::Token(_) => 1,
            };
            pieces.iter().map(len).sum()
        });
        let unexplained = match n_bytes > RECOGNIZED_BYTES_MAX {
            true => Some(Unexplained::LongText { bytes_max: RECOGNIZED_BYTES_MAX }),
            false => {
                let Ok(unexplained) = try_recognizer(matcher, &Budget::COMMAND, || Ok::<(), Infallible>(()));
                unexplained
            }
        };
        Expected::within(matcher, rest, unexplained)
    }

    /// Finds what may follow, without the reference recognizer if there is a reason not to ask it.
    pub fn within(matcher: &Matcher, rest: &[u8], unexplained: Option<Unexplained>) -> Self {
        let mut expected = Expected {
            is_accepting: matcher.is_accepting(),
            bytes: next_bytes(matcher),
            unexplained,
            ..Expected::default()
        };
        if matcher.is_terminated() {
            return Expected { is_accepting: true, has_ended: true, ..Expected::default() };
        }
        let is_schema = matcher.grammar().schema_report().is_some();
        // What a schema says is found without the recognizer.
        if let Some(explanation) = (is_schema || unexplained.is_none()).then(|| matcher.explain().ok()).flatten() {
            let places = Places::of(matcher.grammar().grammar());
            for item in explanation.expected().items().iter().filter(|_| !is_schema) {
                let (what, rules) = (harmless(&item.to_string()), places.of_item(item));
                expected.items.push(Item { what, rules, terminal: item.terminal().clone() });
            }
            expected.items = merged(core::mem::take(&mut expected.items));
            expected.open_rules = explanation.rules().iter().map(|open| places.of_rule(open.rule())).collect();
            // The rules of one format follow one another.
            expected.open_rules.dedup();
            expected.schema = explanation.schema().cloned();
        }
        // With the text that is refused a whole key is known.
        if (is_schema || expected.schema.is_some())
            && let Ok(Some(refusal)) = matcher.explain_bytes(rest)
            && refusal.offset() == 0
        {
            expected.schema = refusal.schema().cloned();
        }
        // Amid a schema there is one item, of all bytes: the schema has words for it.
        if let Some(place) = &expected.schema {
            expected.items.iter_mut().for_each(|item| item.what = harmless(&place.expected()));
        }
        if unexplained.is_none() {
            let completion = matcher.completion().ok().flatten();
            expected.completion = completion.map(|found| (shown_symbols(found.symbols()), found.is_shortest()));
        }
        expected
    }

    /// Returns the rules that read a token: its first byte, if it is read as text, or all of it as one that the grammar names or has in a set. Of a JSON Schema, which has no
    /// rules, the place and its keywords.
    pub fn readers_of(&self, vocab: &Vocab, id: Option<TokenId>, bytes: &[u8]) -> Vec<String> {
        if let Some(place) = &self.schema {
            return place.lines().first().map(|line| harmless(line)).into_iter().collect();
        }
        let is_meant = |terminal: &Terminal| {
            bytes.first().is_some_and(|&byte| terminal.bytes().contains(byte))
                || id.is_some_and(|id| names_token(terminal, vocab, id) == Some(true))
        };
        let is_marker = self.spells_marker(vocab, id);
        let name = id.filter(|_| is_marker).and_then(|id| vocab.name(id)).unwrap_or_default().as_bytes();
        let is_begun =
            |terminal: &Terminal| is_marker && matches!(terminal, Terminal::Literal(rest) if rest.starts_with(name));
        let items = self.items.iter().filter(|item| is_meant(&item.terminal) || is_begun(&item.terminal));
        let mut rules: Vec<String> = items.flat_map(|item| item.rules.iter().cloned()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// Returns whether something that may come names a token, or is a set of tokens with it; `Some(false)` if a set excludes it, and `None` if nothing here is about it.
    pub fn is_named(&self, vocab: &Vocab, id: TokenId) -> Option<bool> {
        self.items.iter().filter_map(|item| names_token(&item.terminal, vocab, id)).max()
    }

    /// Returns whether an allowed control token is another way to write what comes next: no item names it, and a literal goes on with its name.
    pub fn spells_marker(&self, vocab: &Vocab, id: Option<TokenId>) -> bool {
        let Some((id, name)) = id.and_then(|id| Some((id, vocab.name(id)?))) else { return false };
        let is_control = vocab.kind(id) == TokenKind::Control;
        let goes_on =
            |item: &Item| matches!(&item.terminal, Terminal::Literal(rest) if rest.starts_with(name.as_bytes()));
        is_control && self.is_named(vocab, id).is_none() && self.items.iter().any(goes_on)
    }

    /// Returns it as lines with labels, for people.
    pub fn labelled_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut label = "expected: ";
        for line in self.lines() {
            lines.push(format!(" {label}{line}"));
            label = "      or: ";
        }
        if let Some(place) = &self.schema {
            lines.extend(place.lines().iter().map(|line| format!(" schema: {}", harmless(line))));
        }
        lines.extend(self.note().map(|note| format!(" note: {note}")));
        if let Some((completion, is_shortest)) = self.completion.as_ref().filter(|_| !self.is_accepting) {
            let label = if *is_shortest { "shortest completion" } else { "a completion" };
            lines.push(format!(" {label}: {completion}"));
        }
        if self.open_rules.len() > 1 {
            let shown = self.open_rules.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(" < ");
            let n_rules = self.open_rules.len();
            let more = if n_rules > 6 { format!(" < ... ({n_rules} rules)") } else { String::new() };
            lines.push(format!(" reading: {shown}{more}"));
        }
        lines
    }

    /// Returns why items are not listed. What a schema expects is listed all the same.
    pub fn note(&self) -> Option<String> {
        self.unexplained.filter(|_| self.schema.is_none()).map(|unexplained| unexplained.to_string())
    }

    /// Returns it as lines for people.
    pub fn lines(&self) -> Vec<String> {
        if self.has_ended {
            return vec![format!("nothing: {ENDED}")];
        }
        let mut lines = Vec::new();
        for Item { what, rules, .. } in self.items.iter().take(SHOWN_MAX) {
            let from = match rules.len() {
                0 => String::new(),
                1..=3 => format!("   in {}", rules.join(", ")),
                n => format!("   in {} and {} more rules", rules[..2].join(", "), n - 2),
            };
            lines.push(format!("{what}{from}"));
        }
        if self.items.len() > SHOWN_MAX {
            lines.push(format!("... and {} more", self.items.len() - SHOWN_MAX));
        }
        if let Some(place) = &self.schema {
            return vec![harmless(&place.expected())];
        }
        if self.items.is_empty() && !self.bytes.is_empty() {
            lines.push(format!("a byte of {}", shown_bytes(&self.bytes)));
        }
        if self.is_accepting {
            lines.push("the end of the text".to_owned());
        }
        lines
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let items: Vec<Value> =
            self.items.iter().map(|item| json!({ "what": item.what, "rules": item.rules })).collect();
        json!({
            "expected": items,
            "expected_bytes": shown_bytes(&self.bytes),
            "may_end": self.is_accepting,
            "completion": self.completion.as_ref().map(|(text, _)| text),
            "completion_is_shortest": self.completion.as_ref().map(|(_, is_shortest)| is_shortest),
            "open_rules": self.open_rules,
            "schema": self.schema.as_ref().map(SchemaPlace::to_json),
            "unexplained": self.unexplained.map(Unexplained::to_json),
        })
    }
}

/// Returns whether a terminal reads a token as a whole: one that it names, or one of its set; `Some(false)` if its set excludes the token.
fn names_token(terminal: &Terminal, vocab: &Vocab, id: TokenId) -> Option<bool> {
    let has_name = |name: &str| match vocab.ids_named(name) {
        [] => vocab.bytes(id) == name.as_bytes(),
        ids => ids.contains(&id),
    };
    match terminal {
        Terminal::Control(ControlRef::Id(named)) => (*named == id).then_some(true),
        Terminal::Control(ControlRef::Name(name)) => has_name(name).then_some(true),
        Terminal::TokenExcept(excluded) => {
            Some(!excluded.excludes_id(id) && !excluded.names().iter().any(|name| has_name(name)))
        }
        _ => None,
    }
}

/// Returns the bytes that may come next.
pub fn next_bytes(matcher: &Matcher) -> ByteSet {
    let mut probe = matcher.fork();
    let mut bytes = ByteSet::EMPTY;
    for byte in 0..=255u8 {
        if probe.accept_bytes(&[byte]).is_ok() {
            bytes.insert(byte);
            let _ = probe.rollback(1);
        }
    }
    bytes
}

/// Shows a control token as grammars write it.
pub fn shown_control(control: &ControlRef) -> String {
    match control {
        ControlRef::Name(name) => harmless(name),
        ControlRef::Id(id) => format!("<[{id}]>"),
    }
}

/// Shows bytes and control tokens.
pub fn shown_symbols(symbols: &[Symbol]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut bytes = Vec::new();
    for symbol in symbols {
        match symbol {
            Symbol::Byte(byte) => bytes.push(*byte),
            Symbol::TokenExcept(_) => {
                if !bytes.is_empty() {
                    parts.push(quoted(&std::mem::take(&mut bytes)));
                }
                parts.push("(any other token)".to_owned());
            }
            Symbol::Control(control) => {
                if !bytes.is_empty() {
                    parts.push(quoted(&std::mem::take(&mut bytes)));
                }
                parts.push(shown_control(control));
            }
        }
    }
    if !bytes.is_empty() {
        parts.push(quoted(&bytes));
    }
    parts.join(" ")
}

/// Shows a set of bytes as a class.
pub fn shown_bytes(bytes: &ByteSet) -> String {
    let shown = |byte: u8| match byte {
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\\' | b']' | b'[' | b'-' | b'^' => format!("\\{}", char::from(byte)),
        0x20..0x7F => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    };
    let mut text = String::from("[");
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in bytes.iter() {
        match ranges.last_mut() {
            Some((_, high)) if *high + 1 == byte => *high = byte,
            _ => ranges.push((byte, byte)),
        }
    }
    for (low, high) in ranges {
        text.push_str(&shown(low));
        if high - low > 1 {
            text.push('-');
        }
        if high > low {
            text.push_str(&shown(high));
        }
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_sets_are_shown_as_classes() {
        let set: ByteSet = b"\n-059a\xFF\xFE\xFD".iter().copied().chain(b'1'..=b'4').collect();
        assert_eq!(shown_bytes(&set), "[\\n\\-0-59a\\xFD-\\xFF]");
        assert_eq!(shown_bytes(&(0..=255).collect()), "[\\x00-\\xFF]");
        assert_eq!(shown_bytes(&ByteSet::EMPTY), "[]");
    }
}
