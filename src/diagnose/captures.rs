//! Captures: the parts of the accepted text that a grammar names.

use super::matcher::ExplainError;
use crate::matcher::{AcceptedPiece, Matcher};
use crate::vocab::TokenId;
use core::ops::Range;

/// Most steps of finding the parse of a text, of some nanoseconds each.
pub(super) const PARSE_WORK_MAX: u64 = 1 << 26;

/// A part of the accepted text that the grammar names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// The name.
    pub name: String,
    /// Where the part is: bytes of the accepted text. Control tokens have none.
    pub range: Range<usize>,
    /// The bytes of the part.
    pub text: Vec<u8>,
    /// The control tokens in the part, each with the number of bytes of the part before it.
    pub control_tokens: Vec<(usize, TokenId)>,
}

/// The accepted text: by symbol that the reference recognizer has read.
#[derive(Default)]
struct Symbols {
    text: Vec<u8>,
    /// By symbol: the bytes before it, and the control token that it is.
    symbols: Vec<(usize, Option<TokenId>)>,
}

impl Matcher {
    /// Returns the parts of the accepted text that the grammar names, by `capture` in Lark and EBNF, in the order of their ends, and of those with the same end the inner ones first.
    ///
    /// Where a text can be read in several ways, it is read from the left: the first alternative that can match, and of each operand the longest match that lets the rest match
    /// ([`Chart::parse`](crate::reference::Chart::parse)). A text that is no sentence yet is read as if its shortest completion followed, and has the captures that end within it. Names of rules within the operands of `&`, `-` and `~`,
    /// within `lazy` rules and the like are not found, and those rules themselves are.
    ///
    /// The text is read again by the [reference recognizer](crate::reference): this is for the end of an output, not for each step.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?;
    /// let grammar = r#"root ::= (pair ";")*  pair ::= key "=" value  key[capture] ::= [a-z]+  value[capture="v"] ::= [0-9]+"#;
    /// let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(grammar)?.matcher();
    /// matcher.accept_bytes(b"a=1;bc=23")?;
    /// let found: Vec<_> = matcher.captures()?.into_iter().map(|part| (part.name, part.range)).collect();
    /// let wanted = [("key", 0..1), ("v", 2..3), ("key", 4..6), ("v", 7..9)].map(|(name, range)| (name.to_owned(), range));
    /// assert_eq!(found, wanted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the history was forgotten, the grammar is too large for the reference recognizer, or finding the parse takes more than 67,108,864 steps.
    pub fn captures(&self) -> Result<Vec<Captured>, ExplainError> {
        let grammar = self.grammar();
        let written = grammar.expanded_grammar();
        if written.captures().is_empty() {
            return Ok(Vec::new());
        }
        let oracle = self.oracle()?;
        let mut chart = oracle.chart().clone();
        let n_symbols = chart.len();
        let read = self.symbols(n_symbols)?;
        if !chart.is_accepting() {
            for symbol in chart.shortest_completion() {
                chart.push(&symbol);
            }
        }
        let matches = chart.parse(PARSE_WORK_MAX).ok_or(ExplainError::TooAmbiguous { limit: PARSE_WORK_MAX })?;
        let mut found: Vec<(usize, Captured)> = Vec::new();
        // Inner rules come behind those around them.
        for part in matches.iter().rev().filter(|part| part.end <= n_symbols) {
            for capture in written.captures().iter().rev().filter(|capture| capture.rule == part.rule) {
                let end = read.offset(part.end);
                let start = match capture.n_bytes_last {
                    Some(n_bytes) => end.saturating_sub(n_bytes as usize).max(read.offset(part.start)),
                    None => read.offset(part.start),
                };
                let within = &read.symbols[part.start..part.end];
                let control_tokens =
                    within.iter().filter_map(|&(offset, token)| Some((offset.checked_sub(start)?, token?)));
                let captured = Captured {
                    name: capture.name.as_ref().to_owned(),
                    range: start..end,
                    text: read.text[start..end].to_vec(),
                    control_tokens: control_tokens.collect(),
                };
                found.push((part.end, captured));
            }
        }
        // Stable: inner parts stay before outer ones that end with them.
        found.sort_by_key(|&(end, _)| end);
        Ok(found.into_iter().map(|(_, captured)| captured).collect())
    }

    /// Returns the first symbols that were accepted.
    fn symbols(&self, n_symbols: usize) -> Result<Symbols, ExplainError> {
        let vocab = self.grammar().vocab();
        let mut read = Symbols::default();
        for piece in self.accepted().map_err(ExplainError::Matcher)? {
            let bytes = match &piece {
                AcceptedPiece::Token(token) => vocab.bytes(*token),
                AcceptedPiece::Bytes(bytes) => bytes,
            };
            let offset = read.text.len();
            match piece {
                AcceptedPiece::Token(token) if bytes.is_empty() => read.symbols.push((offset, Some(token))),
                _ => read.symbols.extend((offset..offset + bytes.len()).map(|offset| (offset, None))),
            }
            read.text.extend_from_slice(bytes);
        }
        // A stop token that the grammar doesn't name is no symbol.
        read.symbols.truncate(n_symbols);
        Ok(read)
    }
}

impl Symbols {
    /// Returns the number of bytes before a symbol.
    fn offset(&self, symbol: usize) -> usize {
        self.symbols.get(symbol).map_or(self.text.len(), |&(offset, _)| offset)
    }
}
