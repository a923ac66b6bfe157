//! Rule options, like `name[lazy, max_chars=80] ::= ...`.
//!
//! `lazy`, `max_chars` and `max_tokens` change what the rule matches, and `capture` names it. The others steer the sampler or the bookkeeping of an engine and leave the language as it is, which a
//! warning says.

use super::lexeme;
use crate::frontend::SyntaxError;
use crate::util::Span;
use core::ops::Range;

/// The options of a rule.
#[derive(Debug, Default)]
pub(super) struct RuleOptions {
    /// A match ends where it first can.
    pub lazy: Option<Span>,
    /// Most characters of a match.
    pub chars_max: Option<(u32, Span)>,
    /// Most tokens of a match.
    pub tokens_max: Option<(u32, Span)>,
    /// The name for what the rule matches; without a value, that of the rule.
    pub capture: Option<Option<String>>,
    /// Options without effect on the language.
    pub without_effect: Vec<Span>,
}

/// The known keys, for a message.
const KEYS: &str = "options are `lazy`, `max_chars`, `max_tokens`, `capture` and `temperature`";

/// Reads the options of a rule, brackets included.
pub(super) fn rule_options(source: &str, token: Range<usize>) -> Result<RuleOptions, SyntaxError> {
    let mut options = RuleOptions::default();
    // A few, as unknown ones are refused.
    let mut seen: Vec<&str> = Vec::new();
    let mut cursor = Cursor { source, at: token.start + 1, end: token.end - 1 };
    loop {
        let key = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = &source[key.clone()];
        let value = if cursor.eat('=') { Some(cursor.value()?) } else { None };
        let span = Span::new(key.start, cursor.at);
        let refuse = |message: String, span: Span| SyntaxError::new(source, span, message);
        if seen.contains(&name) {
            return Err(refuse(format!("rule option `{name}` is given twice"), span));
        }
        seen.push(name);
        let digits = value.clone().map(|value| &source[value]);
        match (name, digits) {
            ("lazy", None) => options.lazy = Some(span),
            ("max_chars", Some(digits)) => {
                let n_chars = digits
                    .parse()
                    .map_err(|_| refuse("`max_chars` must be a number below 4294967296".to_owned(), span))?;
                options.chars_max = Some((n_chars, span));
            }
            ("max_tokens", Some(digits)) => {
                let n_tokens = digits
                    .parse()
                    .map_err(|_| refuse("`max_tokens` must be a number below 4294967296".to_owned(), span))?;
                options.tokens_max = Some((n_tokens, span));
            }
            // XGrammar prints what it knows about captures of rules that end with a marker.
            ("capture_hidden_stop_bytes" | "capture_hidden_suffix_bytes", Some(digits))
            | ("capture_hidden_body_rule_id" | "capture_hidden_marker_rule_id", Some(digits))
                if digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                options.without_effect.push(span);
            }
            ("temperature", Some(digits)) if digits.parse::<f64>().is_ok_and(|t| t.is_finite() && t >= 0.0) => {
                options.without_effect.push(span);
            }
            ("capture", None) => options.capture = Some(None),
            ("capture" | "stop_capture", Some(text)) if text.len() > 2 && text.starts_with('"') => {
                let inside = value.expect("there is one");
                let text = lexeme::text(source, inside.start + 1..inside.end - 1, &mut Vec::new())?;
                match name {
                    "capture" => options.capture = Some(Some(text)),
                    _ => options.without_effect.push(span),
                }
            }
            ("lazy" | "max_chars" | "max_tokens" | "temperature" | "capture" | "stop_capture", _) => {
                return Err(refuse(format!("malformed rule option `{}`", &source[key.start..cursor.at]), span)
                    .with_hint(
                        "write `lazy`, `max_chars=80`, `max_tokens=10`, `capture=\"name\"` or `temperature=0.7`",
                    ));
            }
            ("", _) => {
                return Err(
                    refuse("expected a rule option".to_owned(), Span::new(key.start, key.start + 1)).with_hint(KEYS)
                );
            }
            _ => return Err(refuse(format!("unknown rule option `{name}`"), key.into()).with_hint(KEYS)),
        }
        if cursor.at == cursor.end {
            return Ok(options);
        }
        if !cursor.eat(',') {
            let place = Span::new(cursor.at, cursor.at + 1);
            return Err(refuse("expected a comma between rule options".to_owned(), place));
        }
    }
}

struct Cursor<'s> {
    source: &'s str,
    at: usize,
    end: usize,
}

impl Cursor<'_> {
    fn skip_blank(&mut self) {
        let blanks = self.source[self.at..self.end].bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
        self.at += blanks.count();
    }

    /// Reads characters of a kind, and skips blanks before and after them.
    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> Range<usize> {
        self.skip_blank();
        let start = self.at;
        let rest = &self.source[start..self.end];
        self.at += rest.find(|c| !is_wanted(c)).unwrap_or(rest.len());
        let range = start..self.at;
        self.skip_blank();
        range
    }

    fn eat(&mut self, c: char) -> bool {
        let is_next = self.source[self.at..self.end].starts_with(c);
        if is_next {
            self.at += c.len_utf8();
        }
        is_next
    }

    /// Reads a number or a string.
    fn value(&mut self) -> Result<Range<usize>, SyntaxError> {
        self.skip_blank();
        if !self.source[self.at..self.end].starts_with('"') {
            return Ok(self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')));
        }
        let start = self.at;
        let mut is_escaped = false;
        let inside = &self.source[start + 1..self.end];
        let length = inside.bytes().position(|byte| {
            let is_end = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            is_end
        });
        let Some(length) = length else {
            let span = Span::new(start, start + 1);
            return Err(SyntaxError::new(self.source, span, "string is opened here and not closed"));
        };
        self.at = start + length + 2;
        let range = start..self.at;
        self.skip_blank();
        Ok(range)
    }
}
