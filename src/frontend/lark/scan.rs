//! The tokens of a Lark text.
//!
//! Line ends are tokens, as they end definitions, but for those inside parentheses and brackets. A directive that takes a block (`%json {...}`, `%lark {...}`) is one
//! token up to the brace that closes it, whatever language the block is written in.

use crate::frontend::progress::BYTES_PER_CHECK;
use crate::frontend::{SyntaxError, extent};
use crate::util::Span;
use core::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// The name of a rule, a terminal, an option or a function.
    Name,
    /// A string with its flag.
    String,
    /// A regex with its flags.
    Regex,
    /// Digits, perhaps with a fraction.
    Number,
    /// `<...>`.
    Special,
    /// `@name`.
    Reference,
    /// `%word`.
    Directive,
    /// `%word {...}`.
    Block,
    /// One or more line ends.
    Newline,
    /// `(` or `[`.
    Open,
    /// `)` or `]`.
    Close,
    /// One of `: :: | & ~ * + ? , . .. -> = { }`.
    Mark,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub range: Range<usize>,
}

/// Directives that take a block.
const BLOCKS: [&str; 5] = ["%json", "%regex", "%lark", "%llguidance", "%grammar_options"];

/// The tokens of a part of the source, blanks and comments left out. Ends after an error.
#[derive(Clone)]
pub(super) struct Tokens<'s> {
    source: &'s str,
    at: usize,
    end: usize,
    /// How many parentheses and brackets are open.
    depth: usize,
    /// Whether this is the text of a `%lark` block, in which such blocks are no tokens, as only their braces count.
    is_in_block: bool,
}

impl<'s> Tokens<'s> {
    pub(super) fn new(source: &'s str, range: Range<usize>) -> Self {
        Tokens { source, at: range.start, end: range.end, depth: 0, is_in_block: false }
    }

    /// Returns the place of the next token, or of blanks before it.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes to another place at the same depth.
    pub(super) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Returns the next token without reading it.
    pub(super) fn peek(&self) -> Option<Token> {
        self.clone().next()?.ok()
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..self.end]
    }

    fn bytes(&self) -> &'s [u8] {
        &self.source.as_bytes()[..self.end]
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes().get(at).copied()
    }

    /// Returns the place of the first byte that is wanted, or the end.
    fn place_of(&self, from: usize, is_wanted: impl Fn(u8) -> bool) -> usize {
        extent::find(self.bytes(), from, is_wanted).unwrap_or(self.end)
    }

    /// Skips blanks and comments, and line ends inside of brackets.
    fn skip_blank(&mut self) {
        match self.depth {
            0 => self.skip_blanks_or(usize::MAX, |_| false),
            _ => self.skip_blanks_or(usize::MAX, |byte| matches!(byte, b'\n' | b'\r')),
        }
    }

    /// Skips blanks, comments and other bytes, as fast as the compiler can: there may be megabytes of them. A comment that begins at `stop` or later may be left.
    fn skip_blanks_or(&mut self, stop: usize, is_other: impl Fn(u8) -> bool) {
        while self.at < stop {
            let is_left = |byte: u8| !matches!(byte, b' ' | b'\t') && !is_other(byte);
            self.at = self.place_of(self.at, is_left);
            match self.byte(self.at) {
                Some(b'#') => self.skip_line(),
                Some(b'/') if self.byte(self.at + 1) == Some(b'/') => self.skip_line(),
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        self.at = self.place_of(self.at, |byte| matches!(byte, b'\n' | b'\r'));
    }

    /// Skips line ends, blanks and comments: not many of them, since work is reported by the token.
    fn newlines(&mut self) -> usize {
        self.skip_blanks_or(self.at + BYTES_PER_CHECK, |byte| matches!(byte, b'\n' | b'\r'));
        self.at
    }

    fn token(&mut self) -> Result<Token, SyntaxError> {
        let start = self.at;
        let (kind, end) = match self.byte(start).expect("a token has a first byte") {
            b'\n' | b'\r' => (TokenKind::Newline, self.newlines()),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => (TokenKind::Name, self.name_end(start)),
            byte if byte.is_ascii_digit() => (TokenKind::Number, self.number_end(start)),
            b'"' => (TokenKind::String, self.string_end(start)?),
            b'/' => (TokenKind::Regex, self.regex_end(start)?),
            b'<' => (TokenKind::Special, self.special_end(start)?),
            b'@' if self.name_end(start) > start + 1 => (TokenKind::Reference, self.name_end(start)),
            b'%' => self.directive(start)?,
            b'(' | b'[' => (TokenKind::Open, start + 1),
            b')' | b']' => (TokenKind::Close, start + 1),
            b'|' | b'&' | b'~' | b'*' | b'+' | b'?' | b'!' | b',' | b'=' | b'{' | b'}' => (TokenKind::Mark, start + 1),
            _ => match ["::", ":", "..", ".", "->"].iter().find(|mark| self.rest().starts_with(**mark)) {
                Some(mark) => (TokenKind::Mark, start + mark.len()),
                None => return Err(unexpected(self.source, start)),
            },
        };
        match kind {
            TokenKind::Open => self.depth += 1,
            TokenKind::Close => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.at = end;
        Ok(Token { kind, range: start..end })
    }

    /// A `-` belongs to a name, unless it begins `->`.
    fn name_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(byte) = self.byte(at) {
            let is_dash = byte == b'-' && self.byte(at + 1) != Some(b'>');
            if !(byte.is_ascii_alphanumeric() || byte == b'_' || is_dash) {
                break;
            }
            at += 1;
        }
        at
    }

    fn number_end(&self, start: usize) -> usize {
        let n_digits = |from: usize, is_digit: fn(&u8) -> bool| {
            self.source.as_bytes()[from.min(self.end)..self.end].iter().take_while(|byte| is_digit(byte)).count()
        };
        if self.rest().starts_with("0x") {
            return start + 2 + n_digits(start + 2, u8::is_ascii_hexdigit);
        }
        let end = start + n_digits(start, u8::is_ascii_digit);
        let n_fraction = n_digits(end + 1, u8::is_ascii_digit);
        if self.byte(end) == Some(b'.') && n_fraction > 0 { end + 1 + n_fraction } else { end }
    }

    /// Returns the end of what begins at `start` and ends at an unescaped `close` of the same line.
    fn quoted_end(&self, start: usize, close: u8, what: &str) -> Result<usize, SyntaxError> {
        if let Some(end) = extent::quoted(self.bytes(), start, close) {
            return Ok(end);
        }
        let hint = format!("a {what} ends on its line; inside it, `{0}` is written `\\{0}`", close as char);
        let message = format!("{what} is opened here and not closed");
        Err(SyntaxError::new(self.source, Span::new(start, start + 1), message).with_hint(hint))
    }

    fn string_end(&self, start: usize) -> Result<usize, SyntaxError> {
        let end = self.quoted_end(start, b'"', "string")?;
        if self.byte(end) != Some(b'i') {
            return Ok(end);
        }
        if self.name_end(end) > end + 1 {
            let message = "a name right after a string could be the flag `i` and a name";
            return Err(SyntaxError::new(self.source, Span::new(end, self.name_end(end)), message)
                .with_hint("put a blank before the name"));
        }
        Ok(end + 1)
    }

    fn regex_end(&self, start: usize) -> Result<usize, SyntaxError> {
        let end = self.quoted_end(start, b'/', "regex")?;
        Ok(if self.byte(end).is_some_and(|byte| byte.is_ascii_alphabetic()) { self.name_end(end) } else { end })
    }

    fn special_end(&self, start: usize) -> Result<usize, SyntaxError> {
        let inside = &self.rest()[1..];
        let length = inside.find(|c: char| c.is_whitespace() || "<>".contains(c)).unwrap_or(inside.len());
        if length > 0 && inside[length..].starts_with('>') {
            return Ok(start + length + 2);
        }
        Err(SyntaxError::new(self.source, Span::new(start, start + 1), "`<` begins no special token")
            .with_hint("a special token is written `<name>` or `<[123]>`, without blanks; the character is \"<\""))
    }

    fn directive(&mut self, start: usize) -> Result<(TokenKind, usize), SyntaxError> {
        let end = self.name_end(start);
        let name = &self.source[start..end];
        if !BLOCKS.contains(&name) || self.is_in_block && name == "%lark" {
            return Ok((TokenKind::Directive, end));
        }
        let open = end + self.source[end..self.end].len() - self.source[end..self.end].trim_start().len();
        if self.byte(open) != Some(b'{') {
            return Err(SyntaxError::new(self.source, Span::new(start, end), format!("`{name}` needs a block"))
                .with_hint(format!("write `{name} {{ ... }}`")));
        }
        let close = if name == "%lark" { self.lark_end(open)? } else { extent::json(self.bytes(), open).ok() };
        let Some(close) = close else {
            let message = format!("the block of `{name}` is opened here and not closed");
            return Err(SyntaxError::new(self.source, Span::new(open, open + 1), message));
        };
        Ok((TokenKind::Block, close))
    }

    /// Returns the end of the Lark block that begins at `open`.
    fn lark_end(&self, open: usize) -> Result<Option<usize>, SyntaxError> {
        let mut inside = Tokens::new(self.source, open + 1..self.end);
        inside.is_in_block = true;
        let mut depth = 1usize;
        for token in inside {
            let token = token?;
            match (token.kind, self.source.as_bytes()[token.range.start]) {
                (TokenKind::Mark, b'{') => depth += 1,
                (TokenKind::Mark, b'}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(Some(token.range.end));
            }
        }
        Ok(None)
    }
}

/// Returns the inside of the braces of a block.
pub(super) fn block_inside(source: &str, token: &Range<usize>) -> Range<usize> {
    let open = source[token.clone()].find('{').expect("a block has a brace");
    token.start + open + 1..token.end - 1
}

/// Returns the error for a character that begins no token.
fn unexpected(source: &str, at: usize) -> SyntaxError {
    let c = source[at..].chars().next().expect("a character begins here");
    let message = if c.is_control() || (c.is_whitespace() && c != ' ') {
        format!("unexpected character U+{:04X}", u32::from(c))
    } else {
        format!("unexpected `{c}`")
    };
    let error = SyntaxError::new(source, Span::new(at, at + c.len_utf8()), message);
    match c {
        '\'' | '\u{201C}' | '\u{201D}' | '\u{2018}' | '\u{2019}' => error.with_hint("strings are written with \""),
        ';' => error.with_hint("a definition ends with its line"),
        '\\' => error.with_hint("escapes belong into strings and regexes"),
        '>' | '^' | '$' => error.with_hint(format!("to mean the character, write \"{c}\"")),
        _ => error,
    }
}

impl Iterator for Tokens<'_> {
    type Item = Result<Token, SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_blank();
        if self.at >= self.end {
            return None;
        }
        let token = self.token();
        if token.is_err() {
            self.at = self.end;
        }
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        Tokens::new(source, 0..source.len()).map(|token| &source[token.unwrap().range]).collect()
    }

    #[test]
    fn tokens_end_where_they_should() {
        let source = "a-b: \"x\\\"\"i /\\/#/is // c\n\n # d\n | C~2..3 -> e\n(\n<|x|> <[1-3]>)\n%json {\"}\": [\"{\"]} %lark { x: \"}\" {1} %lark { } }";
        let expected = [
            "a-b",
            ":",
            "\"x\\\"\"i",
            "/\\/#/is",
            "\n\n # d\n ",
            "|",
            "C",
            "~",
            "2",
            "..",
            "3",
            "->",
            "e",
            "\n",
            "(",
            "<|x|>",
            "<[1-3]>",
            ")",
            "\n",
            "%json {\"}\": [\"{\"]}",
            "%lark { x: \"}\" {1} %lark { } }",
        ];
        assert_eq!(texts(source), expected);
        assert_eq!(
            texts("p::0x1f 0.5 1..2 a->b ..\"c\""),
            ["p", "::", "0x1f", "0.5", "1", "..", "2", "a", "->", "b", "..", "\"c\""]
        );
    }
}
