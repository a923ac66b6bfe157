//! Formats of tool calls as data, for the models that write reasoning, then text, then calls.
//!
//! ```text
//! <think> reasoning </think>   text   open call between call close
//! ```

use super::document;
use super::request::{Need, Plan, Thinking, Tool};

/// The format of a model's tool calls.
#[derive(Debug)]
pub(super) struct Layout {
    /// The markers around reasoning.
    pub reasoning: Option<Markers>,
    pub text: Text,
    /// What begins calls, and thus is in no text.
    pub triggers: &'static [&'static str],
    /// How many line ends may stand before calls that have no text before them.
    pub n_line_ends_max: u32,
    /// Before the first call, one of these; nothing where there is none.
    pub open: &'static [&'static str],
    pub call: &'static [Part],
    /// Between two calls, one of these.
    pub between: &'static [&'static str],
    /// Behind the last call.
    pub close: &'static str,
    /// Whether the template refuses several calls in one output.
    pub is_single: bool,
}

/// A text that begins something and one that ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markers {
    pub begin: &'static str,
    pub end: &'static str,
}

/// Where text is.
#[derive(Debug)]
pub(super) enum Text {
    /// Before calls, or alone.
    BeforeCalls,
    /// Likewise, with or without markers around it.
    BeforeCallsMaybeBetween(Markers),
    /// Alone: an output with calls has none.
    Alone,
    /// Alone, between markers.
    AloneBetween(Markers),
}

/// A part of a call.
#[derive(Debug)]
pub(super) enum Part {
    Text(&'static str),
    /// The name of the tool.
    Name,
    /// What a regular expression matches.
    Pattern(&'static str),
    /// The arguments, as JSON.
    Json,
    /// The arguments, as parameters in a style of schemas.
    Parameters(&'static str),
    /// Likewise, in a style that has no form for parameters that a schema doesn't declare.
    Declared(&'static str),
}

/// White space around arguments, as a regular expression.
pub(super) const SPACE: &str = "[ \\t\\n\\r]{0,16}";

/// The markers around reasoning that most models have.
pub(super) const THINK: Markers = Markers { begin: "<think>", end: "</think>" };

impl Layout {
    /// Returns the format of an output, as JSON text.
    pub fn output(&self, plan: &Plan<'_>) -> String {
        let mut elements: Vec<String> =
            self.reasoning.and_then(|markers| reasoning(markers, plan.thinking)).into_iter().collect();
        match plan.need {
            Need::Never => elements.push(self.text()),
            Need::Maybe if matches!(self.text, Text::BeforeCalls | Text::BeforeCallsMaybeBetween(_)) => {
                elements.push(self.text());
                elements.push(document::optional(&self.calls(plan)));
            }
            Need::Maybe => elements.push(document::one_of(vec![self.text(), self.calls(plan)])),
            Need::Always => {
                if self.n_line_ends_max > 0 {
                    elements.push(document::regex(&format!("\\n{{0,{}}}", self.n_line_ends_max)));
                }
                elements.push(self.calls(plan));
            }
        }
        document::sequence(elements)
    }

    /// Returns the format of text in which neither a call nor reasoning begins.
    fn text(&self) -> String {
        let of_reasoning = self.reasoning.iter().flat_map(|markers| [markers.begin, markers.end]);
        let excludes: Vec<&str> = self.triggers.iter().copied().chain(of_reasoning).collect();
        let text = document::any_text(&excludes);
        match self.text {
            Text::BeforeCalls | Text::Alone => text,
            Text::AloneBetween(Markers { begin, end }) => document::tag(begin, &text, &[end]),
            Text::BeforeCallsMaybeBetween(Markers { begin, end }) => {
                let marked = document::tag(begin, &text, &[end]);
                document::one_of(vec![text, marked])
            }
        }
    }

    /// Returns the format of at least one call and what stands around them.
    fn calls(&self, plan: &Plan<'_>) -> String {
        let tags: Vec<String> = plan.tools.iter().map(|tool| call(self.call, tool)).collect();
        let n_calls_max = if self.is_single { Some(1) } else { plan.n_calls_max };
        let calls = calls(&tags, self.between, n_calls_max);
        let mut elements = vec![calls];
        if !self.open.is_empty() {
            elements.insert(0, document::one_of(self.open.iter().map(|text| document::const_string(text)).collect()));
        }
        if !self.close.is_empty() {
            elements.push(document::const_string(self.close));
        }
        document::sequence(elements)
    }
}

/// Returns the tag of a call of a tool. Texts that stand side by side are one marker.
pub(super) fn call(parts: &[Part], tool: &Tool) -> String {
    let mut elements = Vec::new();
    let mut begin = None;
    let mut text = String::new();
    for part in parts {
        let element = match part {
            Part::Text(part) => {
                text.push_str(part);
                continue;
            }
            Part::Name => {
                text.push_str(&tool.name);
                continue;
            }
            Part::Pattern(pattern) => document::regex(pattern),
            Part::Json => document::json_schema("json", tool.schema()),
            Part::Parameters(style) => document::json_schema(style, tool.schema()),
            Part::Declared(style) => document::json_schema(style, tool.declared_schema()),
        };
        let before = core::mem::take(&mut text);
        match begin {
            None => begin = Some(before),
            Some(_) if before.is_empty() => {}
            Some(_) => elements.push(document::const_string(&before)),
        }
        elements.push(element);
    }
    let begin = begin.expect("a call has arguments");
    document::tag(&begin, &document::sequence(elements), &[&text])
}

/// Returns the format of reasoning, if there is some.
pub(super) fn reasoning(markers: Markers, thinking: Thinking) -> Option<String> {
    let begin = match thinking {
        Thinking::Off => return None,
        Thinking::FromMarker => markers.begin,
        Thinking::FromInside => "",
    };
    Some(document::tag(begin, &document::any_text(&[]), &[markers.end]))
}

/// Returns the format of one to `n_calls_max` calls with one of some separators between two of them.
pub(super) fn calls(tags: &[String], between: &[&str], n_calls_max: Option<u32>) -> String {
    let one = || document::one_of(tags.to_vec());
    match (n_calls_max, between) {
        (Some(1), _) => one(),
        (None, [between]) => document::tags_with_separator(tags, between),
        (Some(max), [""]) => document::repeat(&one(), 1, max),
        (max, _) => {
            let separators = between.iter().map(|text| document::const_string(text)).collect();
            let next = document::sequence(vec![document::one_of(separators), one()]);
            let more = match max {
                Some(max) => document::repeat(&next, 0, max - 1),
                None => document::star(&next),
            };
            document::sequence(vec![one(), more])
        }
    }
}
