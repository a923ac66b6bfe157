//! The syntax tree of a pattern, and its parser.
//!
//! The parser recurses into groups; a scan before bounds their nesting.

use super::SyntaxError;
use super::class;
use super::cursor::Parser;
use crate::Limits;
use crate::regular::CharSet;
use crate::util::Span;

/// A node of the syntax tree. Captures are dropped: which strings match doesn't depend on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// One character of a set, like `[a-z]`, `.`, `\d` or `a`.
    Class(CharSet),
    /// A concatenation, like `ab`; that of the empty pattern has no operands.
    Concat(Vec<Part>),
    /// A choice, like `a|b`.
    Choice(Vec<Part>),
    /// Copies, like `a{2,5}`.
    Repeat { body: Box<Part>, min: u32, max: Option<u32>, span: Span },
    /// The start of the text, `^`.
    Start,
    /// The end of the text, `$`.
    End,
    /// A word boundary, `\b`, or its negation, `\B`.
    Boundary { is_negated: bool },
    /// A lookahead, `(?=a)` or `(?!a)`.
    Look { body: Box<Part>, is_negated: bool },
}

impl Part {
    /// Returns whether the part has no assertions, so that its matches don't depend on the context.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Part::Class(_) => true,
            Part::Concat(parts) | Part::Choice(parts) => parts.iter().all(Part::is_plain),
            Part::Repeat { body, .. } => body.is_plain(),
            Part::Start | Part::End | Part::Boundary { .. } | Part::Look { .. } => false,
        }
    }

    /// Returns whether the part visibly matches the empty string only.
    pub(super) fn is_zero_width(&self) -> bool {
        match self {
            Part::Class(_) => false,
            Part::Concat(parts) | Part::Choice(parts) => parts.iter().all(Part::is_zero_width),
            Part::Repeat { body, max, .. } => *max == Some(0) || body.is_zero_width(),
            Part::Start | Part::End | Part::Boundary { .. } | Part::Look { .. } => true,
        }
    }
}

/// Deepest nesting that is parsed whatever the limits, since parsing and lowering recurse.
const NESTING_MAX: usize = 250;

/// Reads a pattern.
pub(super) fn parse(pattern: &str, limits: &Limits) -> Result<Part, SyntaxError> {
    let (n_groups, names) = scan(pattern, limits)?;
    let mut parser = Parser { pattern, limits, at: 0, n_groups, names };
    let part = parser.choice()?;
    if parser.at < pattern.len() {
        return Err(parser.refuse(parser.at, parser.at + 1, "`)` without a group that it closes"));
    }
    Ok(part)
}

/// Checks the nesting of groups; returns how many capture and whether any has a name.
fn scan(pattern: &str, limits: &Limits) -> Result<(usize, bool), SyntaxError> {
    let nesting_max = limits.nesting_max.min(NESTING_MAX);
    let (mut depth, mut n_groups, mut names, mut in_class) = (0_usize, 0, false, false);
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'(' if !in_class => {
                depth += 1;
                let continuation = &bytes[at + 1..];
                let is_named = continuation.starts_with(b"?<") && !matches!(continuation.get(2), Some(b'=' | b'!'));
                n_groups += usize::from(is_named || !continuation.starts_with(b"?"));
                names |= is_named;
                if depth > nesting_max {
                    let message = format!("nested more than {nesting_max} deep (nesting_max)");
                    return Err(SyntaxError::new(pattern, Span::new(at, at + 1), message).unsupported());
                }
            }
            b')' if !in_class => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok((n_groups, names))
}

impl Parser<'_> {
    /// Reads alternatives up to a `)` or the end.
    fn choice(&mut self) -> Result<Part, SyntaxError> {
        let mut choices = vec![self.sequence()?];
        while self.eat("|") {
            choices.push(self.sequence()?);
        }
        Ok(if choices.len() == 1 { choices.remove(0) } else { Part::Choice(choices) })
    }

    fn sequence(&mut self) -> Result<Part, SyntaxError> {
        let mut parts = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let start = self.at;
            let (part, is_repeatable) = self.term()?;
            parts.push(self.repeats(part, start, is_repeatable)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Part::Concat(parts) })
    }

    /// Reads a term, and says whether a quantifier may follow.
    fn term(&mut self) -> Result<(Part, bool), SyntaxError> {
        let start = self.at;
        let Some(c) = self.next() else { unreachable!("there is a character") };
        Ok(match c {
            '^' => (Part::Start, false),
            '$' => (Part::End, false),
            '(' => {
                let part = self.group(start)?;
                return Ok((part, true));
            }
            '.' => (Part::Class(class::line_terminators().negate()), true),
            '[' => (Part::Class(class::class(self, start)?), true),
            '*' | '+' | '?' => return Err(self.refuse(start, self.at, format!("nothing to repeat before `{c}`"))),
            '{' if self.counts_at(start).is_some() => {
                return Err(self.refuse(start, self.at, "nothing to repeat before `{`"));
            }
            '\\' => match self.peek() {
                Some(kind @ ('b' | 'B')) => {
                    self.at += 1;
                    (Part::Boundary { is_negated: kind == 'B' }, false)
                }
                Some('1'..='9') => return Err(self.back_reference(start)),
                Some('k') => return Err(self.named_back_reference(start)),
                _ => (Part::Class(class::escape(self, start, false)?.into_set()), true),
            },
            c => (Part::Class(CharSet::range(c, c)), true),
        })
    }

    fn back_reference(&mut self, start: usize) -> SyntaxError {
        self.at += self.continuation().bytes().take_while(u8::is_ascii_digit).count();
        let text = &self.pattern[start..self.at];
        let number: Option<usize> = text[1..].parse().ok();
        if number.is_none_or(|number| number > self.n_groups) {
            let message = format!("`{text}` refers to a group that is not there");
            return self.refuse(start, self.at, message);
        }
        self.refuse(start, self.at, format!("back-references (`{text}`) are not regular")).unsupported()
    }

    fn named_back_reference(&mut self, start: usize) -> SyntaxError {
        self.at += 1;
        if self.names
            && self.continuation().starts_with('<')
            && let Some(length) = self.continuation().find('>')
        {
            self.at += length + 1;
            let text = &self.pattern[start..self.at];
            return self.refuse(start, self.at, format!("back-references (`{text}`) are not regular")).unsupported();
        }
        self.refuse(start, self.at, "`\\k` without the name of a group")
    }

    /// Reads a group after its `(`.
    fn group(&mut self, start: usize) -> Result<Part, SyntaxError> {
        let mut look = None;
        if self.eat("?") {
            if self.eat("=") || self.eat("!") {
                look = Some(self.pattern.as_bytes()[self.at - 1] == b'!');
            } else if self.eat("<=") || self.eat("<!") {
                let text = &self.pattern[start..self.at];
                return Err(self
                    .refuse(start, self.at, format!("lookbehind (`{text}`) is not supported"))
                    .unsupported());
            } else if self.eat("<") {
                self.name(start)?;
            } else if !self.eat(":") {
                let end = self.at + self.peek().map_or(0, char::len_utf8);
                let text = &self.pattern[start..end];
                let error = self.refuse(start, end, format!("unknown kind of group `{text}`"));
                let hint = match self.peek() {
                    Some('P') => "names are written `(?<name>...)`",
                    Some('i') => "patterns have no inline flags; for any case write classes, like `[aA]`",
                    Some('s') => "patterns have no inline flags; for any character, line ends too, write `[^]`",
                    Some('m') => {
                        "patterns have no inline flags; for the ends of lines write `(?:^|\\n)` and `(?=\\n|$)`"
                    }
                    Some('x' | 'u' | '-') => "patterns have no inline flags",
                    Some('>') => "patterns have no atomic groups",
                    Some('#') => "patterns have no comments",
                    _ => "groups begin with `(`, `(?:`, `(?<name>`, `(?=` or `(?!`",
                };
                // Flags in a group came with ECMAScript 2025.
                let has_flags = matches!(self.peek(), Some('i' | 'm' | 's' | '-'));
                return Err(if has_flags { error.with_hint(hint).unsupported() } else { error.with_hint(hint) });
            }
        }
        let body = self.choice()?;
        if !self.eat(")") {
            return Err(self.refuse(start, start + 1, "group without its `)`"));
        }
        Ok(match look {
            Some(is_negated) => Part::Look { body: Box::new(body), is_negated },
            None => body,
        })
    }

    /// Reads the name of a group and its `>`.
    fn name(&mut self, start: usize) -> Result<(), SyntaxError> {
        let length = self.continuation().find('>').unwrap_or(0);
        let name = &self.continuation()[..length];
        let is_start = |c: char| c.is_alphabetic() || matches!(c, '$' | '_');
        let is_name = name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_alphanumeric());
        if !is_name {
            return Err(self.refuse(start, self.at + length, "group name is missing or malformed"));
        }
        self.at += length + 1;
        Ok(())
    }

    /// Reads a quantifier, if there is one.
    fn repeats(&mut self, part: Part, start: usize, is_repeatable: bool) -> Result<Part, SyntaxError> {
        let quantifier = self.at;
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts_at(self.at) {
                None => return Ok(part),
                Some((min, max, end)) => {
                    self.at = end - 1;
                    (min, max)
                }
            },
            _ => return Ok(part),
        };
        self.at += 1;
        self.eat("?");
        let text = &self.pattern[quantifier..self.at];
        if !is_repeatable {
            let message = format!("nothing to repeat before `{text}`");
            return Err(self.refuse(quantifier, self.at, message));
        }
        let limit = u64::from(self.limits.bound_max());
        let given = max.unwrap_or(min);
        if given > limit || min > limit {
            let message = format!("repeat count in `{text}` is more than {limit} (repeat_max)");
            return Err(self.refuse(quantifier, self.at, message).unsupported());
        }
        if max.is_some_and(|max| max < min) {
            let message = format!("`{text}` ends with a smaller count than it begins with");
            return Err(self.refuse(quantifier, self.at, message));
        }
        let (min, max) = (min as u32, max.map(|max| max as u32));
        Ok(Part::Repeat { body: Box::new(part), min, max, span: Span::new(start, self.at) })
    }

    /// Returns the counts of `{n}`, `{n,}` or `{n,m}` at an offset and their end; other braces stand for themselves.
    fn counts_at(&self, start: usize) -> Option<(u64, Option<u64>, usize)> {
        let inner = self.pattern[start..].strip_prefix('{')?;
        let inner = &inner[..inner.find('}')?];
        let number = |text: &str| {
            (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| text.parse().unwrap_or(u64::MAX))
        };
        let end = start + inner.len() + 2;
        Some(match inner.split_once(',') {
            None => (number(inner)?, Some(number(inner)?), end),
            Some((min, "")) => (number(min)?, None, end),
            Some((min, max)) => (number(min)?, Some(number(max)?), end),
        })
    }
}
