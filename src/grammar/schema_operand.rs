//! JSON Schemas as operands of a grammar.

use crate::schema_options::SchemaOptions;
use crate::util::Span;
use core::hash::{BuildHasher, Hash, Hasher};
use hashbrown::DefaultHashBuilder;
use std::sync::{Arc, OnceLock};

/// A JSON Schema as an operand of a grammar: it matches the JSON documents that the schema accepts, like `%json {"type": "integer"}`.
///
/// The text is not parsed here. Two operands are equal if their texts are, but for needless escapes of ASCII letters, digits and `_` (`\u0061`), and
/// their options.
#[derive(Clone, Debug)]
pub struct SchemaOperand {
    text: Arc<str>,
    options: Arc<SchemaOptions>,
    /// Of the text, the same in all of the process: operands that share a long text are told apart by their options.
    fingerprint: u64,
}

impl PartialEq for SchemaOperand {
    fn eq(&self, other: &SchemaOperand) -> bool {
        let is_same_text =
            Arc::ptr_eq(&self.text, &other.text) || self.fingerprint == other.fingerprint && self.text == other.text;
        is_same_text && self.options == other.options
    }
}

impl Eq for SchemaOperand {}

impl Hash for SchemaOperand {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
        self.options.hash(state);
    }
}

impl SchemaOperand {
    /// Returns the operand of a schema's text. Operands may share their options.
    pub fn new(text: &str, options: impl Into<Arc<SchemaOptions>>) -> Self {
        let text: Arc<str> = match text.contains('\\') {
            true => without_needless_escapes(text).into(),
            false => text.into(),
        };
        static HASHER: OnceLock<DefaultHashBuilder> = OnceLock::new();
        let fingerprint = HASHER.get_or_init(DefaultHashBuilder::default).hash_one(&*text);
        SchemaOperand { text, options: options.into(), fingerprint }
    }

    /// Returns the operand of the same text with other options.
    pub fn with_options(&self, options: SchemaOptions) -> Self {
        SchemaOperand { options: Arc::new(options), ..self.clone() }
    }

    /// Returns the text of the schema.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns where in a source a span of the schema's text is, if the operand stands there as it is, at `place`.
    pub(crate) fn span_in(&self, source: &str, place: Span, span: Span) -> Option<Span> {
        let written = source.get(place.start as usize..place.end as usize)?;
        let start = place.start + written.find(&*self.text)? as u32;
        Some(Span { start: start + span.start, end: start + span.end })
    }

    /// Returns the options.
    pub fn options(&self) -> &SchemaOptions {
        &self.options
    }
}

/// Returns a JSON text with ASCII letters, digits and `_` as themselves, where they are written as `\uXXXX`.
fn without_needless_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain += &rest[..at];
        rest = &rest[at..];
        let code = rest.get(2..6).filter(|_| rest.as_bytes().get(1) == Some(&b'u'));
        let code = code.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = code
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let n_bytes = match byte {
            Some(byte) => {
                plain.push(char::from(byte));
                6
            }
            // A backslash and what it escapes, which may be a backslash.
            None => {
                let n_bytes = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                plain += &rest[..n_bytes];
                n_bytes
            }
        };
        rest = &rest[n_bytes..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_needless_escapes_go() {
        for (text, plain) in [
            (r#"{"\u0061\u005a\u0030": 1}"#, r#"{"aZ0": 1}"#),
            (r#""\\u0061""#, r#""\\u0061""#),
            (r#""\\\u0061""#, r#""\\a""#),
            (r#""\u0022 \u00e9 \u006""#, r#""\u0022 \u00e9 \u006""#),
            (r#""\é\"#, r#""\é\"#),
        ] {
            assert_eq!(without_needless_escapes(text), plain);
        }
    }
}
