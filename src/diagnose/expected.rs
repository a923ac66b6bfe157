//! What may come next, and the rules that it comes from.

use super::schema::SchemaPlace;
use super::show;
use crate::grammar::{Grammar, RuleId};
use crate::reference::{Chart, Terminal};
use crate::util::{ByteSet, Span};
use core::fmt;
use serde_json::{Value, json};

/// The name of a rule and the span of its definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleLocation {
    name: Box<str>,
    span: Option<Span>,
}

impl RuleLocation {
    fn new(grammar: &Grammar, rule: RuleId) -> Self {
        let rule = grammar.rule(rule);
        RuleLocation { name: rule.name.clone(), span: rule.span }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the span of the rule's definition.
    pub fn span(&self) -> Option<Span> {
        self.span
    }
}

/// One thing that may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedItem {
    terminal: Terminal,
    rules: Vec<RuleLocation>,
    spans: Vec<Span>,
}

impl ExpectedItem {
    /// Returns what may come.
    pub fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// Returns the innermost rules that it belongs to.
    pub fn rules(&self) -> &[RuleLocation] {
        &self.rules
    }

    /// Returns the spans of the expressions in the grammar.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }
}

impl fmt::Display for ExpectedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show::terminal(&self.terminal))
    }
}

/// All that may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    items: Vec<ExpectedItem>,
    is_end: bool,
    /// In the words of a JSON Schema.
    words: Option<Box<str>>,
}

/// Returns what may come after the text of `chart`, which was made from `grammar`.
pub fn expected(grammar: &Grammar, chart: &Chart) -> Expected {
    let mut items: Vec<ExpectedItem> = Vec::new();
    for expectation in chart.expected() {
        let at = items.iter().position(|item| item.terminal == expectation.terminal).unwrap_or_else(|| {
            items.push(ExpectedItem { terminal: expectation.terminal.clone(), rules: vec![], spans: vec![] });
            items.len() - 1
        });
        items[at].rules.extend(expectation.rules.iter().map(|&rule| RuleLocation::new(grammar, rule)));
        items[at].spans.extend(grammar.span(expectation.expr));
    }
    for item in &mut items {
        item.rules.sort_unstable();
        item.rules.dedup();
        item.spans.sort_unstable();
        item.spans.dedup();
    }
    Expected { items, is_end: chart.is_accepting(), words: None }
}

impl Expected {
    /// Returns what a place of a JSON Schema expects: bytes that belong to no rule.
    pub(super) fn of_schema(place: &SchemaPlace, is_end: bool) -> Expected {
        let item = ExpectedItem { terminal: Terminal::Byte(*place.bytes()), rules: vec![], spans: vec![] };
        let items = if place.bytes().is_empty() { vec![] } else { vec![item] };
        Expected { items, is_end, words: Some(place.expected().into()) }
    }

    /// Returns it as part of the innermost rule in progress.
    pub(super) fn in_rule(mut self, rule: Option<&RuleInProgress>) -> Expected {
        let rule = rule.map(|rule| rule.rule.clone());
        self.items.iter_mut().for_each(|item| item.rules.extend(rule.clone()));
        self
    }

    /// Returns what is expected of these bytes, of which nothing else is known.
    pub(super) fn of_bytes(bytes: ByteSet, is_end: bool) -> Expected {
        let item = ExpectedItem { terminal: Terminal::Byte(bytes), rules: vec![], spans: vec![] };
        Expected { items: if bytes.is_empty() { vec![] } else { vec![item] }, is_end, words: None }
    }

    /// Drops the rules that no author wrote: those of the automata of JSON Schemas.
    pub(super) fn keep_rules(&mut self, is_written: impl Fn(&str) -> bool) {
        self.items.iter_mut().for_each(|item| item.rules.retain(|rule| is_written(&rule.name)));
    }

    /// Returns the items, each once.
    pub fn items(&self) -> &[ExpectedItem] {
        &self.items
    }

    /// Returns whether the text may end here.
    pub fn is_end(&self) -> bool {
        self.is_end
    }

    /// Returns the bytes that may come next.
    pub fn bytes(&self) -> ByteSet {
        self.items.iter().fold(ByteSet::EMPTY, |set, item| set | item.terminal.bytes())
    }

    /// Returns this as JSON: `{"end": bool, "items": [{"what", "rules": [names], "spans": [[start, end]]}]}`.
    pub fn to_json(&self) -> Value {
        let items: Vec<Value> = self
            .items
            .iter()
            .map(|item| {
                let rules: Vec<&str> = item.rules.iter().map(RuleLocation::name).collect();
                let spans: Vec<Value> = item.spans.iter().map(|span| json!([span.start, span.end])).collect();
                json!({ "what": item.to_string(), "rules": rules, "spans": spans })
            })
            .collect();
        json!({ "end": self.is_end, "items": items })
    }
}

impl fmt::Display for Expected {
    /// Writes something like ``"," or "]" in rule `list`, or the end``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(words) = &self.words {
            return f.write_str(words);
        }
        const N_SHOWN_MAX: usize = 8;
        let shown = &self.items[..self.items.len().min(N_SHOWN_MAX)];
        let n_hidden = self.items.len() - shown.len();
        for (i, item) in shown.iter().enumerate() {
            let is_last = i + 1 == shown.len() && n_hidden == 0;
            let separator = if i == 0 {
                ""
            } else if is_last {
                " or "
            } else {
                ", "
            };
            write!(f, "{separator}{item}")?;
            // Neighbouring items of the same rule name it once.
            if shown.get(i + 1).is_none_or(|next| next.rules != item.rules)
                && let Some(rule) = item.rules.first()
            {
                write!(f, " in rule `{}`", rule.name)?;
            }
        }
        if n_hidden > 0 {
            write!(f, " or {n_hidden} other things")?;
        }
        match (self.items.is_empty(), self.is_end) {
            (true, _) => f.write_str("the end of the text"),
            (false, true) => f.write_str(", or the end of the text"),
            (false, false) => Ok(()),
        }
    }
}

/// A rule in progress, and where it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInProgress {
    rule: RuleLocation,
    start: usize,
}

impl RuleInProgress {
    /// Returns the rule.
    pub fn rule(&self) -> &RuleLocation {
        &self.rule
    }

    /// Returns the number of bytes and control tokens before it.
    pub fn start(&self) -> usize {
        self.start
    }
}

impl fmt::Display for RuleInProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` from offset {}", self.rule.name, self.start)
    }
}

/// Returns the rules in progress after the text of `chart`, innermost first, along one parse of it.
pub fn rules_in_progress(grammar: &Grammar, chart: &Chart) -> Vec<RuleInProgress> {
    let open = chart.open_rules();
    open.iter().map(|open| RuleInProgress { rule: RuleLocation::new(grammar, open.rule), start: open.start }).collect()
}
