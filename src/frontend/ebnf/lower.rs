//! From the parser's tokens to the grammar.
//!
//! The generated parser checks the structure of a rule body and hands over a flat run of tokens per group, operators
//! between operands. Lowering reads such a run from left to right and keeps one [`Level`] per open group on a stack of its own,
//! so a sequence of a million parts costs a loop and a deep group costs an entry.

use super::scan::RuleText;
use super::{hint, lexeme};
use crate::frontend::{SyntaxError, regex};
use crate::grammar::{ControlRef, Expr, ExprId, GrammarBuilder, Regex, RuleId};
use crate::limits::Limits;
use crate::regular::{CharSet, Regular};
use crate::util::Span;
use core::ops::Range;
use hashbrown::HashMap;
use pest::Parser as _;
use pest::iterators::{Pair, Pairs};
use std::sync::Arc;

/// The parser that pest makes of `ebnf.pest`.
mod generated {
    #[derive(pest_derive::Parser)]
    #[grammar = "frontend/ebnf/ebnf.pest"]
    pub(super) struct RuleParser;
}
use generated::{Rule as Syntax, RuleParser};

/// Lowers rule bodies into a builder that knows all names already.
pub(super) struct Lowering<'s> {
    source: &'s str,
    limits: &'s Limits,
    rules: &'s [RuleText],
    pub builder: GrammarBuilder,
    /// Regexes read before: files repeat them.
    regexes: HashMap<&'s str, Regex>,
    /// Where the body being lowered begins; the parser counts from there.
    offset: usize,
}

/// An expression and where it is written.
#[derive(Clone, Copy)]
struct Part {
    expr: ExprId,
    span: Span,
}

/// What has been read of a group, or of a whole body.
struct Level<'i> {
    rest: Pairs<'i, Syntax>,
    span: Span,
    /// Alternatives that have ended.
    alternatives: Vec<Part>,
    /// Operands joined so far in this alternative, and the operator after them.
    joined: Option<(Part, Join)>,
    /// Parts of the sequence that have ended.
    sequence: Vec<Part>,
    /// Where the `~` are that wait for the current part.
    complements: Vec<Span>,
    /// The part that a suffix would apply to.
    current: Option<Part>,
}

#[derive(Clone, Copy)]
enum Join {
    And,
    Minus,
}

impl<'s> Lowering<'s> {
    pub(super) fn new(source: &'s str, rules: &'s [RuleText], limits: &'s Limits) -> Self {
        Lowering { source, limits, rules, builder: GrammarBuilder::new(), regexes: HashMap::new(), offset: 0 }
    }

    /// Lowers the body of a rule.
    pub(super) fn body(&mut self, range: Range<usize>) -> Result<ExprId, SyntaxError> {
        self.offset = range.start;
        let pairs = RuleParser::parse(Syntax::body, &self.source[range.clone()])
            .map_err(|error| self.explain(&error, range.clone()))?;
        let mut levels = vec![Level::new(pairs, Span::from(range))];
        loop {
            let level = levels.last_mut().expect("the body's level stays until the end");
            if let Some(pair) = level.rest.next() {
                if pair.as_rule() == Syntax::group {
                    self.end_part(level)?;
                    let span = self.span(&pair);
                    levels.push(Level::new(pair.into_inner(), span));
                } else {
                    self.token(level, pair)?;
                }
                continue;
            }
            let part = self.end_level(level)?;
            levels.pop();
            match levels.last_mut() {
                Some(outer) => outer.current = Some(part),
                None => return Ok(part.expr),
            }
        }
    }

    fn explain(&self, error: &pest::error::Error<Syntax>, body: Range<usize>) -> SyntaxError {
        let stop = match error.location {
            pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => body.start + at,
        };
        match &error.variant {
            pest::error::ErrorVariant::ParsingError { .. } => hint::explain_stop(self.source, body, stop),
            // The parser watches the stack; only a limit on nesting that was raised a lot gets here.
            pest::error::ErrorVariant::CustomError { message } => {
                let message = format!("groups nest too deeply for the stack of this thread: {message}");
                SyntaxError::new(self.source, Span::new(stop, stop), message)
            }
        }
    }

    fn token(&mut self, level: &mut Level<'_>, pair: Pair<'_, Syntax>) -> Result<(), SyntaxError> {
        let span = self.span(&pair);
        let range = span.start as usize..span.end as usize;
        let expr = match pair.as_rule() {
            Syntax::bar => return self.end_alternative(level, span),
            Syntax::and => return self.end_operand(level, Join::And),
            Syntax::minus => return self.end_operand(level, Join::Minus),
            Syntax::not => {
                self.end_part(level)?;
                level.complements.push(span);
                return Ok(());
            }
            Syntax::star => return self.repeat(level, span, (0, None)),
            Syntax::plus => return self.repeat(level, span, (1, None)),
            Syntax::optional => return self.repeat(level, span, (0, Some(1))),
            Syntax::count => {
                let bounds = lexeme::count(self.source, range, self.limits)?;
                return self.repeat(level, span, bounds);
            }
            Syntax::EOI => return Ok(()),
            Syntax::literal => self.literal(range)?,
            Syntax::class => Expr::Class(lexeme::class(self.source, range)?),
            Syntax::any => Expr::Class(CharSet::all()),
            Syntax::regex => Expr::Regex(self.regex(range)?),
            Syntax::control => self.control(range)?,
            Syntax::token => self.token_macro(pair.into_inner())?,
            Syntax::reference => Expr::Rule(self.rule(range)?),
            other => unreachable!("{other:?} is silent or inside another token"),
        };
        self.end_part(level)?;
        level.current = Some(self.push(expr, span)?);
        Ok(())
    }

    /// Ends the current part, which no suffix can follow any more.
    fn end_part(&mut self, level: &mut Level<'_>) -> Result<(), SyntaxError> {
        let Some(mut part) = level.current.take() else { return Ok(()) };
        while let Some(mark) = level.complements.pop() {
            part = self.push(Expr::Not(part.expr), mark.join(part.span))?;
        }
        level.sequence.push(part);
        Ok(())
    }

    /// Ends the current sequence and joins it with the operands before it.
    fn end_sequence(&mut self, level: &mut Level<'_>) -> Result<Option<Part>, SyntaxError> {
        self.end_part(level)?;
        let part = match *level.sequence {
            [] => return Ok(None),
            [part] => part,
            [first, .., last] => {
                let parts = level.sequence.iter().map(|part| part.expr).collect();
                self.push(Expr::Sequence(parts), first.span.join(last.span))?
            }
        };
        level.sequence.clear();
        Ok(Some(match level.joined.take() {
            None => part,
            Some((left, join)) => {
                let expr = match join {
                    Join::And => Expr::And(left.expr, part.expr),
                    Join::Minus => Expr::Minus(left.expr, part.expr),
                };
                self.push(expr, left.span.join(part.span))?
            }
        }))
    }

    fn end_operand(&mut self, level: &mut Level<'_>, join: Join) -> Result<(), SyntaxError> {
        let left = self.end_sequence(level)?.expect("the parser wants operands on both sides");
        level.joined = Some((left, join));
        Ok(())
    }

    fn end_alternative(&mut self, level: &mut Level<'_>, mark: Span) -> Result<(), SyntaxError> {
        let alternative = match self.end_sequence(level)? {
            Some(part) => part,
            None => self.push(Expr::Empty, mark)?,
        };
        level.alternatives.push(alternative);
        Ok(())
    }

    fn end_level(&mut self, level: &mut Level<'_>) -> Result<Part, SyntaxError> {
        self.end_alternative(level, level.span)?;
        match *level.alternatives {
            [only] => Ok(only),
            _ => {
                let parts = level.alternatives.iter().map(|part| part.expr).collect();
                self.push(Expr::Choice(parts), level.span)
            }
        }
    }

    fn repeat(&mut self, level: &mut Level<'_>, mark: Span, (min, max): (u32, Option<u32>)) -> Result<(), SyntaxError> {
        let body = level.current.take().expect("the parser wants something to repeat");
        level.current = Some(self.push(Expr::Repeat { body: body.expr, min, max }, body.span.join(mark))?);
        Ok(())
    }

    fn literal(&self, range: Range<usize>) -> Result<Expr, SyntaxError> {
        let is_no_case = self.source[range.clone()].ends_with('i');
        if is_no_case {
            self.check_flag_is_no_rule(range.end - 1..range.end, "literal")?;
        }
        let quote_end = range.end - usize::from(is_no_case);
        let text = lexeme::text(self.source, range.start + 1..quote_end - 1)?;
        Ok(match (text.is_empty(), is_no_case) {
            (true, _) => Expr::Empty,
            (false, true) => Expr::LiteralNoCase(text.into()),
            (false, false) => Expr::Literal(text.into_bytes().into()),
        })
    }

    fn regex(&mut self, range: Range<usize>) -> Result<Regex, SyntaxError> {
        let written = &self.source[range.clone()];
        if let Some(regex) = self.regexes.get(written) {
            return Ok(regex.clone());
        }
        let close = written.rfind('/').expect("flags hold no slash");
        let (inside, flags) = (&written[1..close], &written[close + 1..]);
        let flags_range = range.start + close + 1..range.end;
        if let Some(at) = flags.find(|flag| !matches!(flag, 'i' | 's' | 'x')) {
            let start = flags_range.start + at;
            let message = format!("unknown regex flag `{}`", &flags[at..=at]);
            return Err(SyntaxError::new(self.source, Span::new(start, start + 1), message)
                .with_hint("flags are `i`, `s` and `x`; a rule after a regex needs a blank before it"));
        }
        if !flags.is_empty() {
            self.check_flag_is_no_rule(flags_range, "regex")?;
        }
        let pattern = lexeme::pattern(inside);
        let regular: Regular = regex::parse(&pattern, flags, self.limits).map_err(|error| {
            let place = |offset: u32| range.start + 1 + lexeme::offset_in_written(inside, offset as usize);
            let span = Span::new(place(error.span().start), place(error.span().end));
            let moved = SyntaxError::new(self.source, span, error.message());
            error.hint().map_or(moved.clone(), |hint| moved.with_hint(hint))
        })?;
        let regex = Regex { pattern: pattern.into(), flags: flags.into(), regular: Arc::new(regular) };
        self.regexes.insert(written, regex.clone());
        Ok(regex)
    }

    /// A rule called `i` makes `"abc"i` ambiguous to a reader; neither reading is taken in silence.
    fn check_flag_is_no_rule(&self, flags: Range<usize>, after: &str) -> Result<(), SyntaxError> {
        let written = &self.source[flags.clone()];
        if self.builder.rule_named(written).is_none() {
            return Ok(());
        }
        let message = format!("`{written}` right after a {after} is a flag, but there is a rule of that name");
        Err(SyntaxError::new(self.source, flags.into(), message).with_hint("to mean the rule, put a blank before it"))
    }

    fn control(&self, range: Range<usize>) -> Result<Expr, SyntaxError> {
        let written = &self.source[range.clone()];
        let id = written.strip_prefix("<[").and_then(|rest| rest.strip_suffix("]>"));
        Ok(Expr::Control(match id {
            Some(digits) => ControlRef::Id(self.token_id(digits, range)?),
            None => ControlRef::Name(written.into()),
        }))
    }

    /// Lowers `Token(16)`, `Token("<name>")` or a list of both.
    fn token_macro(&mut self, refs: Pairs<'_, Syntax>) -> Result<Expr, SyntaxError> {
        let mut parts = Vec::new();
        for pair in refs {
            let span = self.span(&pair);
            let range = span.start as usize..span.end as usize;
            let written = pair.as_str();
            let control = if written.starts_with(['"', '\'']) {
                let name = lexeme::text(self.source, range.start + 1..range.end - 1)?;
                if name.is_empty() {
                    return Err(SyntaxError::new(self.source, span, "a token has a name that is not empty"));
                }
                ControlRef::Name(name.into())
            } else {
                ControlRef::Id(self.token_id(written, range)?)
            };
            parts.push((control, span));
        }
        if parts.len() == 1 {
            return Ok(Expr::Control(parts.remove(0).0));
        }
        let parts: Result<Box<[ExprId]>, SyntaxError> =
            parts.into_iter().map(|(control, span)| Ok(self.push(Expr::Control(control), span)?.expr)).collect();
        Ok(Expr::Choice(parts?))
    }

    fn token_id(&self, digits: &str, range: Range<usize>) -> Result<u32, SyntaxError> {
        digits.parse().map_err(|_| SyntaxError::new(self.source, range.into(), "the id of a token is below 4294967296"))
    }

    fn rule(&self, range: Range<usize>) -> Result<RuleId, SyntaxError> {
        self.builder.rule_named(&self.source[range.clone()]).ok_or_else(|| {
            let names = self.rules.iter().map(|rule| &self.source[rule.name.clone()]);
            hint::undefined_rule(self.source, range, names)
        })
    }

    fn push(&mut self, expr: Expr, span: Span) -> Result<Part, SyntaxError> {
        if self.builder.n_exprs() >= self.limits.n_exprs_max {
            let message = format!("more expressions than the limit n_exprs_max = {}", self.limits.n_exprs_max);
            return Err(SyntaxError::new(self.source, span, message));
        }
        Ok(Part { expr: self.builder.push_at(expr, Some(span)), span })
    }

    fn span(&self, pair: &Pair<'_, Syntax>) -> Span {
        let span = pair.as_span();
        Span::new(self.offset + span.start(), self.offset + span.end())
    }
}

impl<'i> Level<'i> {
    fn new(rest: Pairs<'i, Syntax>, span: Span) -> Self {
        let (alternatives, sequence, complements) = (Vec::new(), Vec::new(), Vec::new());
        Level { rest, span, alternatives, joined: None, sequence, complements, current: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::{Token, Tokens};
    use super::*;
    use proptest::prelude::*;

    /// Pieces that make tokens run into each other.
    const PIECES: [&str; 36] = [
        "\"", "'", "\\", "[", "]", "^", "-", "/", "<", "|", ">", "<|", "|>", "(", ")", "{", "2", ",", "}", "i", "x",
        "a", "_", ".", "*", "~", "&", " ", "#", "\n", "é", "Token(", "\"a\"", "/b/", "[c]", "<d>",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..Default::default() })]

        /// The scan and the generated parser must not disagree on where a string ends: one of them would read text as grammar.
        #[test]
        fn scan_and_parser_agree_on_tokens(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..9)) {
            let source = pieces.concat();
            let scanned: Result<Vec<Token>, SyntaxError> = Tokens::new(&source, 0..source.len()).collect();
            let (Ok(tokens), Ok(pairs)) = (scanned, RuleParser::parse(Syntax::body, &source)) else { return Ok(()) };
            let leaves = pairs.flatten().filter(|pair| {
                !matches!(pair.as_rule(), Syntax::group | Syntax::token | Syntax::EOI)
            });
            for leaf in leaves {
                let span = leaf.as_span();
                let first = tokens.iter().position(|token| token.range.start == span.start());
                let last = tokens.iter().position(|token| token.range.end == span.end());
                // A flag is a token of its own to the scan.
                let is_one = matches!((first, last), (Some(first), Some(last)) if last <= first + 1);
                prop_assert!(is_one, "{:?} of {:?}", leaf.as_str(), source);
            }
        }
    }
}
