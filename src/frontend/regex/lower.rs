//! Lowering: from the syntax tree to an expression, without recursion.
//!
//! The tree is visited in postorder; each node pops the pieces of its operands from a stack and pushes its own.
//! On the way down each node gets two flags, whether its left end is certainly the start of the text, and its right end the end; anchors
//! that hold for that reason are dropped at once, so that `^(a|b)$` becomes the same as `a|b`.

use super::anchors::{Piece, Pieces, Side};
use super::{ReadError, RegexOptions, Spend, SyntaxError, ascii, errors};
use crate::Limits;
use crate::regular::{CharSet, Node, Regular};
use regex_syntax::ast::{self, AssertionKind, Ast, Flag, RepetitionKind, RepetitionRange};
use regex_syntax::hir::{self, HirKind, translate::TranslatorBuilder};

/// The flags that are set.
#[derive(Clone, Copy)]
struct Modes {
    /// `i`: letters in any case.
    any_case: bool,
    /// `s`: `.` matches `\n` too.
    dot_all: bool,
    /// `m`: `^` and `$` match at lines.
    multi_line: bool,
    /// `R`: lines end in `\r` too.
    crlf: bool,
    /// `u`: classes are of Unicode.
    unicode: bool,
    /// Classes are of ASCII, among all characters, while the pattern itself says nothing about `u`.
    ascii: bool,
}

impl Modes {
    fn set(&mut self, flags: &ast::Flags) {
        let Modes { any_case, dot_all, multi_line, crlf, unicode, ascii } = self;
        *ascii &= flags.flag_state(Flag::Unicode).is_none();
        for (flag, mode) in [
            (Flag::CaseInsensitive, any_case),
            (Flag::DotMatchesNewLine, dot_all),
            (Flag::MultiLine, multi_line),
            (Flag::CRLF, crlf),
            (Flag::Unicode, unicode),
        ] {
            *mode = flags.flag_state(flag).unwrap_or(*mode);
        }
    }
}

/// A node above the place that is visited.
struct Level {
    /// Its left end is the start of the text.
    at_start: bool,
    /// Its right end is the end of the text.
    at_end: bool,
    /// For a sequence: how many operands were visited, the first that can match something, and the last.
    sequence: Option<(usize, usize, usize)>,
    /// For a group: the flags outside.
    modes: Modes,
}

pub(super) struct Lowering<'a> {
    pattern: &'a str,
    limits: &'a Limits,
    modes: Modes,
    levels: Vec<Level>,
    /// How many groups and classes are open.
    n_open: usize,
    done: Vec<Piece>,
    pieces: Pieces,
    /// Work not reported to `spend` yet, in bytes that take as long to read.
    n_bytes: usize,
    spend: Spend<'a>,
}

/// Work between two reports to `spend`.
const BYTES_PER_CHECK: usize = 1 << 10;
/// How many bytes take as long to read as a range of a class.
const BYTES_PER_RANGE: usize = 8;

impl<'a> Lowering<'a> {
    pub(super) fn new(pattern: &'a str, options: &RegexOptions, limits: &'a Limits, spend: Spend<'a>) -> Self {
        let (levels, done) = (Vec::new(), Vec::new());
        let modes = Modes {
            any_case: options.is_any_case,
            dot_all: options.dot_matches_newline,
            multi_line: false,
            crlf: false,
            unicode: true,
            ascii: options.is_ascii,
        };
        Lowering { pattern, limits, modes, levels, n_open: 0, done, pieces: Pieces::default(), n_bytes: 0, spend }
    }

    /// Counts a node's work, and reports it and checks the number of nodes now and then.
    fn count(&mut self, node: &Ast) -> Result<(), ReadError> {
        self.n_bytes += 1;
        if self.n_bytes < BYTES_PER_CHECK {
            return Ok(());
        }
        let (n_nodes, limit) = (self.pieces.n_nodes(), self.limits.n_exprs_max);
        if n_nodes > limit {
            let message = format!("the pattern makes {n_nodes} expressions, more than {limit} (n_exprs_max)");
            return Err(self.refuse(node.span(), message).over_limit(n_nodes, limit).into());
        }
        (self.spend)(core::mem::take(&mut self.n_bytes))
    }

    fn refuse(&self, span: &ast::Span, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.pattern, errors::span(span), message)
    }

    fn open(&mut self, span: &ast::Span) -> Result<(), SyntaxError> {
        self.n_open += 1;
        if self.n_open > self.limits.nesting_max {
            let opening = crate::util::Span::new(span.start.offset, span.start.offset + 1);
            return Err(errors::too_deep(self.pattern, opening, self.limits));
        }
        Ok(())
    }

    /// Lowers a literal, a dot or a class.
    fn leaf(&mut self, leaf: &Ast) -> Result<Piece, SyntaxError> {
        if let Ast::Literal(literal) = leaf
            && self.modes.unicode
            && !self.modes.any_case
        {
            let mut utf8 = [0; 4];
            let bytes = literal.c.encode_utf8(&mut utf8).as_bytes();
            return Ok(self.pieces.plain(Node::Bytes(bytes.into())));
        }
        let mut translator = TranslatorBuilder::new()
            .case_insensitive(self.modes.any_case)
            .dot_matches_new_line(self.modes.dot_all)
            .crlf(self.modes.crlf)
            .unicode(self.modes.unicode)
            .build();
        let of_ascii = if self.modes.ascii { ascii::with_ascii_classes(leaf) } else { None };
        let translated = translator.translate(self.pattern, of_ascii.as_ref().unwrap_or(leaf));
        let translated = translated.map_err(|error| errors::from_translator(self.pattern, &error))?;
        let node = match translated.into_kind() {
            HirKind::Literal(literal) => match (leaf, core::str::from_utf8(&literal.0)) {
                // A class of one character is no literal: no control token spells it.
                (Ast::ClassBracketed(_), Ok(text)) => Node::Class(CharSet::from_ranges(text.chars().map(|c| (c, c)))),
                _ => Node::Bytes(literal.0),
            },
            HirKind::Class(hir::Class::Unicode(class)) => {
                self.n_bytes += BYTES_PER_RANGE * class.ranges().len();
                Node::Class(CharSet::from_ranges(class.ranges().iter().map(|range| (range.start(), range.end()))))
            }
            HirKind::Class(hir::Class::Bytes(class)) => {
                let ranges = class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end())));
                Node::Class(CharSet::from_ranges(ranges))
            }
            other => unreachable!("a literal or class became {other:?}"),
        };
        Ok(self.pieces.plain(node))
    }

    fn assertion(&mut self, assertion: &ast::Assertion, at_start: bool, at_end: bool) -> Result<Piece, SyntaxError> {
        let side = match assertion.kind {
            AssertionKind::StartLine | AssertionKind::EndLine if self.modes.multi_line => {
                return Err(self.refuse(&assertion.span, "anchors at lines (flag `m`) are not supported"));
            }
            AssertionKind::StartLine | AssertionKind::StartText => Side::Start,
            AssertionKind::EndLine | AssertionKind::EndText => Side::End,
            _ => {
                let text = &self.pattern[assertion.span.start.offset..assertion.span.end.offset];
                return Err(self.refuse(&assertion.span, format!("word boundaries (`{text}`) are not supported")));
            }
        };
        let holds = match side {
            Side::Start => at_start,
            Side::End => at_end,
        };
        Ok(if holds { self.pieces.plain(Node::Empty) } else { self.pieces.anchor(side) })
    }

    /// Returns the bounds of a repetition.
    fn bounds(&self, op: &ast::RepetitionOp) -> Result<(u32, Option<u32>), SyntaxError> {
        let bounds = match op.kind {
            RepetitionKind::ZeroOrOne => (0, Some(1)),
            RepetitionKind::ZeroOrMore => (0, None),
            RepetitionKind::OneOrMore => (1, None),
            RepetitionKind::Range(RepetitionRange::Exactly(n)) => (n, Some(n)),
            RepetitionKind::Range(RepetitionRange::AtLeast(n)) => (n, None),
            RepetitionKind::Range(RepetitionRange::Bounded(min, max)) => (min, Some(max)),
        };
        let given = bounds.1.unwrap_or(bounds.0);
        if given > self.limits.bound_max() {
            let message = format!("repeat count {given} is more than {} (repeat_max)", self.limits.bound_max());
            let error = self.refuse(&op.span, message);
            return Err(error.over_limit(given as usize, self.limits.bound_max() as usize));
        }
        Ok(bounds)
    }

    /// Takes the pieces of the last `n` operands.
    fn take(&mut self, n: usize) -> Vec<Piece> {
        self.done.split_off(self.done.len() - n)
    }
}

/// Returns whether this is `a++`, `a*+`, `a?+` or `a{2}+`.
fn is_possessive(repetition: &ast::Repetition) -> bool {
    let is_plus = repetition.greedy && matches!(repetition.op.kind, RepetitionKind::OneOrMore);
    is_plus && matches!(*repetition.ast, Ast::Repetition(_))
}

/// Returns whether a node never matches anything but the empty string, judged by its kind alone, an anchor of `side` included.
fn is_neutral(node: &Ast, side: Side) -> bool {
    match node {
        Ast::Empty(_) | Ast::Flags(_) => true,
        Ast::Assertion(assertion) => match assertion.kind {
            AssertionKind::StartLine | AssertionKind::StartText => side == Side::Start,
            AssertionKind::EndLine | AssertionKind::EndText => side == Side::End,
            _ => false,
        },
        _ => false,
    }
}

impl ast::Visitor for Lowering<'_> {
    type Output = Regular;
    type Err = ReadError;

    fn finish(mut self) -> Result<Regular, ReadError> {
        let whole = self.done.pop().expect("a piece for the whole pattern");
        Ok(self.pieces.finish(whole))
    }

    fn visit_pre(&mut self, node: &Ast) -> Result<(), ReadError> {
        self.count(node)?;
        let (mut at_start, mut at_end) = match self.levels.last_mut() {
            None => (true, true),
            Some(Level { at_start, at_end, sequence: None, .. }) => (*at_start, *at_end),
            Some(Level { at_start, at_end, sequence: Some((next, first, last)), .. }) => {
                *next += 1;
                (*at_start && *next - 1 <= *first, *at_end && *next > *last)
            }
        };
        let mut sequence = None;
        let modes = self.modes;
        match node {
            Ast::Concat(concat) => {
                let first = concat.asts.iter().position(|operand| !is_neutral(operand, Side::Start));
                let last = concat.asts.iter().rposition(|operand| !is_neutral(operand, Side::End));
                sequence = Some((0, first.unwrap_or(concat.asts.len()), last.unwrap_or(0)));
            }
            Ast::Repetition(repetition) if is_possessive(repetition) => {
                return Err(errors::possessive(self.pattern, &repetition.op.span).into());
            }
            Ast::Repetition(repetition) if self.bounds(&repetition.op)?.1.is_none_or(|max| max > 1) => {
                // With more than one copy, no copy is surely the first or the last.
                (at_start, at_end) = (false, false);
            }
            Ast::Group(group) => {
                self.open(&group.span)?;
                if let Some(flags) = group.flags() {
                    self.modes.set(flags);
                }
            }
            Ast::ClassBracketed(class) => self.open(&class.span)?,
            _ => {}
        }
        self.levels.push(Level { at_start, at_end, sequence, modes });
        Ok(())
    }

    fn visit_post(&mut self, node: &Ast) -> Result<(), ReadError> {
        let level = self.levels.pop().expect("a level per node");
        let piece = match node {
            Ast::Empty(_) => self.pieces.plain(Node::Empty),
            Ast::Flags(flags) => {
                self.modes.set(&flags.flags);
                self.pieces.plain(Node::Empty)
            }
            Ast::Assertion(assertion) => self.assertion(assertion, level.at_start, level.at_end)?,
            Ast::Literal(_) | Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) => self.leaf(node)?,
            Ast::ClassBracketed(_) => {
                self.n_open -= 1;
                self.leaf(node)?
            }
            Ast::Repetition(repetition) => {
                let (min, max) = self.bounds(&repetition.op)?;
                let body = self.done.pop().expect("a piece for the body");
                self.pieces.repeat(body, min, max)
            }
            Ast::Group(_) => {
                self.n_open -= 1;
                self.modes = level.modes;
                return Ok(());
            }
            Ast::Alternation(choice) => {
                let operands = self.take(choice.asts.len());
                self.pieces.union(operands)
            }
            Ast::Concat(concat) => {
                let operands = self.take(concat.asts.len());
                self.pieces.concat(operands)
            }
        };
        self.done.push(piece);
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), ReadError> {
        match item {
            ast::ClassSetItem::Bracketed(class) => Ok(self.open(&class.span)?),
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_post(&mut self, item: &ast::ClassSetItem) -> Result<(), ReadError> {
        if let ast::ClassSetItem::Bracketed(_) = item {
            self.n_open -= 1;
        }
        Ok(())
    }
}
