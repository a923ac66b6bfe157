//! Rule options, like `name[lazy, capture="x"]: ...`.

use super::json;
use super::scan::{Token, TokenKind, Tokens};
use crate::frontend::SyntaxError;
use crate::frontend::check::shorten;
use crate::util::Span;
use core::ops::Range;

/// Where a match of a rule ends.
#[derive(Debug)]
pub(super) enum Ending {
    /// Anywhere that it can.
    Greedy,
    /// Where it first can.
    Lazy,
    /// After the first marker, which belongs to it: the value of `suffix`.
    Suffix(Token),
    /// Before the first marker, which is not part of it: the value of `stop`.
    Stop(Token),
}

/// The options of a rule.
#[derive(Debug)]
pub(super) struct Attributes {
    pub ending: Ending,
    /// Most characters of a match.
    pub chars_max: Option<(u32, Span)>,
    /// Most tokens of a match.
    pub tokens_max: Option<(u32, Span)>,
    /// The name under which its text is captured; without one, its own.
    pub capture: Option<Option<String>>,
    /// The name under which its marker is captured.
    pub stop_capture: Option<(String, Span)>,
    /// Options without effect on the language.
    pub without_effect: Vec<Span>,
    /// Whether the body is one lexeme: an option says so.
    pub is_lexeme: bool,
}

const KNOWN: &str = "options are lazy, suffix, stop, stop_capture, capture, max_chars, max_tokens and temperature";

/// An option as it is written.
struct Written<'s> {
    source: &'s str,
    name: &'s str,
    value: Option<Token>,
    /// Where both are.
    span: Span,
}

impl Written<'_> {
    fn refuse(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.source, self.span, message)
    }

    fn malformed(&self) -> SyntaxError {
        self.refuse(format!("malformed option `{}` of a rule", self.name)).with_hint(
            "write lazy, suffix=\"x\", stop=\"x\", capture, capture=\"name\", stop_capture=\"name\", max_chars=80, \
             max_tokens=10 or temperature=0.7",
        )
    }
}

/// Reads the options of a rule, brackets included.
pub(super) fn read(source: &str, range: Range<usize>) -> Result<Attributes, SyntaxError> {
    let mut attributes = Attributes {
        ending: Ending::Greedy,
        chars_max: None,
        tokens_max: None,
        capture: None,
        stop_capture: None,
        without_effect: Vec::new(),
        is_lexeme: false,
    };
    let mut tokens = Tokens::new(source, range.start + 1..range.end - 1);
    // A few, as unknown ones are refused.
    let mut seen: Vec<&str> = Vec::new();
    let refuse = |message: String, range: Range<usize>| SyntaxError::new(source, range.into(), message);
    while let Some(key) = tokens.next().transpose()? {
        if key.kind != TokenKind::Name {
            return Err(refuse("expected an option of a rule".to_owned(), key.range).with_hint(KNOWN));
        }
        let name = &source[key.range.clone()];
        if seen.contains(&name) {
            return Err(refuse(format!("option `{}` of a rule is given twice", shorten(name)), key.range));
        }
        seen.push(name);
        let mut value = None;
        let mut next = tokens.next().transpose()?;
        if next.as_ref().is_some_and(|next| &source[next.range.clone()] == "=") {
            value = tokens.next().transpose()?;
            if value.is_none() {
                return Err(refuse("malformed options of a rule".to_owned(), range).with_hint(KNOWN));
            }
            next = tokens.next().transpose()?;
        }
        let span = Span::new(key.range.start, value.as_ref().map_or(key.range.end, |value| value.range.end));
        attributes.set(Written { source, name, value, span })?;
        match next {
            None => break,
            Some(comma) if &source[comma.range.clone()] == "," => {}
            Some(other) => return Err(refuse("expected a comma between options".to_owned(), other.range)),
        }
    }
    if let Some((_, span)) = attributes.stop_capture
        && !matches!(attributes.ending, Ending::Suffix(_) | Ending::Stop(_))
    {
        return Err(SyntaxError::new(source, span, "`stop_capture` needs `stop` or `suffix`"));
    }
    Ok(attributes)
}

impl Attributes {
    fn set(&mut self, option: Written<'_>) -> Result<(), SyntaxError> {
        let kind = option.value.as_ref().map(|value| value.kind);
        let written = option.value.as_ref().map_or("", |value| &option.source[value.range.clone()]);
        match (option.name, kind) {
            ("lazy", None) => self.end_at(Ending::Lazy, &option)?,
            ("suffix" | "stop", Some(TokenKind::String | TokenKind::Regex | TokenKind::Name)) => {
                let marker = option.value.clone().expect("it has a kind");
                let is_suffix = option.name == "suffix";
                self.end_at(if is_suffix { Ending::Suffix(marker) } else { Ending::Stop(marker) }, &option)?;
            }
            ("max_chars", Some(TokenKind::Number)) => {
                let n_chars = written.parse().map_err(|_| option.malformed())?;
                self.chars_max = Some((n_chars, option.span));
            }
            ("max_tokens", Some(TokenKind::Number)) => {
                let n_tokens = written.parse().map_err(|_| option.malformed())?;
                self.tokens_max = Some((n_tokens, option.span));
            }
            ("temperature", Some(TokenKind::Number)) if written.parse::<f64>().is_ok() => {
                self.without_effect.push(option.span);
            }
            ("capture", None) => self.capture = Some(None),
            ("capture" | "stop_capture", Some(TokenKind::String)) if !written.ends_with('i') => {
                let range = option.value.as_ref().expect("it has a kind").range.clone();
                let text = json::text(option.source, range.start + 1..range.end - 1)?;
                if option.name == "capture" {
                    self.capture = Some(Some(text));
                } else {
                    self.stop_capture = Some((text, option.span));
                }
            }
            (
                "lazy" | "suffix" | "stop" | "max_chars" | "max_tokens" | "temperature" | "capture" | "stop_capture",
                _,
            ) => return Err(option.malformed()),
            (name, _) => {
                return Err(option.refuse(format!("unknown option `{}` of a rule", shorten(name))).with_hint(KNOWN));
            }
        }
        Ok(())
    }

    /// Sets the end of a match. `lazy` says nothing more beside `suffix` or `stop`.
    fn end_at(&mut self, ending: Ending, option: &Written<'_>) -> Result<(), SyntaxError> {
        self.is_lexeme = true;
        match (&self.ending, &ending) {
            (Ending::Greedy | Ending::Lazy, _) => self.ending = ending,
            (_, Ending::Lazy) => {}
            _ => return Err(option.refuse("a rule has one `stop` or `suffix`")),
        }
        Ok(())
    }
}
