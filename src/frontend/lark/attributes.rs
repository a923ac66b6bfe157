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

/// Reads the options of a rule, brackets included.
pub(super) fn read(source: &str, range: Range<usize>) -> Result<Attributes, SyntaxError> {
    let mut attributes = Attributes {
        ending: Ending::Greedy,
        chars_max: None,
        capture: None,
        stop_capture: None,
        without_effect: Vec::new(),
        is_lexeme: false,
    };
    let mut tokens = Tokens::new(source, range.start + 1..range.end - 1);
    let missing = || SyntaxError::new(source, range.clone().into(), "malformed options of a rule").with_hint(KNOWN);
    // A few, as unknown ones are refused.
    let mut seen: Vec<&str> = Vec::new();
    while let Some(key) = tokens.next().transpose()? {
        let refuse = |message: String, span: Span| SyntaxError::new(source, span, message);
        if key.kind != TokenKind::Name {
            return Err(refuse("expected an option of a rule".to_owned(), key.range.into()).with_hint(KNOWN));
        }
        let name = &source[key.range.clone()];
        if seen.contains(&name) {
            return Err(refuse(format!("option `{}` of a rule is given twice", shorten(name)), key.range.into()));
        }
        seen.push(name);
        let mut value = None;
        let mut next = tokens.next().transpose()?;
        if next.as_ref().is_some_and(|next| &source[next.range.clone()] == "=") {
            value = Some(tokens.next().ok_or_else(missing)??);
            next = tokens.next().transpose()?;
        }
        let span = Span::new(key.range.start, value.as_ref().map_or(key.range.end, |value| value.range.end));
        let kind = value.as_ref().map(|value| value.kind);
        let written = value.as_ref().map_or("", |value| &source[value.range.clone()]);
        let mut end_at = |ending: Ending| {
            attributes.is_lexeme = true;
            match core::mem::replace(&mut attributes.ending, ending) {
                Ending::Greedy => Ok(()),
                // `lazy` says nothing more beside `suffix` and `stop`.
                before @ (Ending::Suffix(_) | Ending::Stop(_)) if name == "lazy" => {
                    attributes.ending = before;
                    Ok(())
                }
                Ending::Lazy if name != "lazy" => Ok(()),
                _ => Err(refuse("a rule has one `stop` or `suffix`".to_owned(), span)),
            }
        };
        match (name, kind) {
            ("lazy", None) => end_at(Ending::Lazy)?,
            ("suffix" | "stop", Some(TokenKind::String | TokenKind::Regex | TokenKind::Name)) => {
                let marker = value.expect("it has a kind");
                end_at(if name == "suffix" { Ending::Suffix(marker) } else { Ending::Stop(marker) })?;
            }
            ("max_chars", Some(TokenKind::Number)) => {
                let n_chars =
                    written.parse().map_err(|_| refuse(format!("malformed number `{}`", shorten(written)), span));
                attributes.chars_max = Some((n_chars?, span));
            }
            ("max_tokens", Some(TokenKind::Number)) if written.bytes().all(|byte| byte.is_ascii_digit()) => {
                attributes.without_effect.push(span);
            }
            ("temperature", Some(TokenKind::Number)) if written.parse::<f64>().is_ok() => {
                attributes.without_effect.push(span);
            }
            ("capture", None) => attributes.capture = Some(None),
            ("capture" | "stop_capture", Some(TokenKind::String)) if !written.ends_with('i') => {
                let inside = value.expect("it has a kind").range;
                let text = json::text(source, inside.start + 1..inside.end - 1)?;
                if name == "capture" {
                    attributes.capture = Some(Some(text));
                } else {
                    attributes.stop_capture = Some((text, span));
                }
            }
            (
                "lazy" | "suffix" | "stop" | "max_chars" | "max_tokens" | "temperature" | "capture" | "stop_capture",
                _,
            ) => {
                return Err(refuse(format!("malformed option `{name}` of a rule"), span).with_hint(
                    "write lazy, suffix=\"x\", stop=\"x\", capture, capture=\"name\", stop_capture=\"name\", max_chars=80, \
                     max_tokens=10 or temperature=0.7",
                ));
            }
            _ => return Err(refuse(format!("unknown option `{}` of a rule", shorten(name)), span).with_hint(KNOWN)),
        }
        match next {
            None => break,
            Some(comma) if &source[comma.range.clone()] == "," => {}
            Some(other) => return Err(refuse("expected a comma between options".to_owned(), other.range.into())),
        }
    }
    if let Some((_, span)) = attributes.stop_capture
        && !matches!(attributes.ending, Ending::Suffix(_) | Ending::Stop(_))
    {
        return Err(SyntaxError::new(source, span, "`stop_capture` needs `stop` or `suffix`"));
    }
    Ok(attributes)
}
