//! Lowering: from the syntax tree to an expression, from right to left.
//!
//! A [`Continuation`] has the languages of the suffixes that may follow a position, by what precedes it: nothing, a word character or
//! another character. If the three are the same node, a part without assertions is concatenated with it as a whole; otherwise a
//! class is divided into word characters and others, and the last copy of a repeat is split off: `x{2,5}` is `x{1,4} x`.

use super::SyntaxError;
use super::arena::{Arena, Continuation};
use super::class;
use super::part::Part;
use super::solve::{System, TooLarge};
use crate::Limits;
use crate::regular::{CharSet, NodeId, Regular};
use crate::util::Span;

const START: usize = 0;
const WORD: usize = 1;
const OTHER: usize = 2;

/// Lowers a whole pattern.
pub(super) fn lower(pattern: &str, part: &Part, limits: &Limits) -> Result<Regular, SyntaxError> {
    let mut arena = Arena::new(limits);
    let anything = arena.anything();
    let word = class::word();
    let mut lowering = Lowering {
        pattern,
        limits,
        anything,
        arena,
        other: word.negate(),
        word,
        system: System::default(),
        n_loops: 0,
        n_calls: 0,
    };
    let continuation = lowering.continuation(part, [anything; 3])?;
    let before = lowering.split_repeat_of_any(continuation);
    let whole = lowering.arena.union([continuation[START], before]);
    if lowering.arena.is_spent() {
        return Err(too_large(pattern));
    }
    Ok(lowering.arena.finish(whole))
}

fn too_large(pattern: &str) -> SyntaxError {
    let message = "the pattern is too large with its repeats and conditions written out (n_exprs_max)";
    SyntaxError::new(pattern, Span::new(0, pattern.len()), message).unsupported()
}

struct Lowering<'a> {
    pattern: &'a str,
    limits: &'a Limits,
    arena: Arena,
    anything: NodeId,
    word: CharSet,
    other: CharSet,
    /// The equations of the loops that are open.
    system: System,
    /// Number of open loops with assertions.
    n_loops: usize,
    /// Number of parts lowered, unrolled copies included.
    n_calls: usize,
}

impl Lowering<'_> {
    /// Returns the continuation of the position before `part`, given that of the position after it.
    fn continuation(&mut self, part: &Part, after: Continuation) -> Result<Continuation, SyntaxError> {
        self.n_calls += 1;
        let n_calls_max = self.limits.n_exprs_max.saturating_add(self.pattern.len());
        if self.n_calls > n_calls_max || self.arena.size() > self.limits.n_exprs_max || self.arena.is_spent() {
            return Err(too_large(self.pattern));
        }
        if is_uniform(after) && part.is_plain() {
            let whole = self.plain(part);
            return Ok([self.arena.concat(&[whole, after[START]]); 3]);
        }
        Ok(match part {
            Part::Class(set) => [self.before(set, after); 3],
            Part::Concat(parts) => self.concat(parts, after)?,
            Part::Choice(parts) => {
                let mut rests = Vec::with_capacity(parts.len());
                let (plain, others): (Vec<&Part>, Vec<&Part>) =
                    parts.iter().partition(|part| is_uniform(after) && part.is_plain());
                if !plain.is_empty() {
                    let ids: Vec<NodeId> = plain.into_iter().map(|part| self.plain(part)).collect();
                    let union = self.arena.union(ids);
                    rests.push([self.arena.concat(&[union, after[START]]); 3]);
                }
                for part in others {
                    rests.push(self.continuation(part, after)?);
                }
                core::array::from_fn(|left| self.arena.union(rests.iter().map(|continuation| continuation[left])))
            }
            Part::Repeat { body, min, max, span } => self.repeat(body, *min, *max, *span, after)?,
            Part::Start => {
                let nothing = self.arena.nothing();
                [after[START], nothing, nothing]
            }
            Part::End => {
                after.map(|id| if self.arena.is_nullable(id) { self.arena.empty() } else { self.arena.nothing() })
            }
            Part::Boundary { is_negated } => {
                let (word, other) = (self.begins_with_word(), self.begins_with_other());
                core::array::from_fn(|left| {
                    let wants_word = (left == WORD) == *is_negated;
                    self.arena.and(if wants_word { word } else { other }, after[left])
                })
            }
            Part::Look { body, is_negated } => {
                // The body of a lookahead is followed by any text, so the loops around don't matter to it.
                let (n_loops, system) = (core::mem::take(&mut self.n_loops), core::mem::take(&mut self.system));
                let seen = self.continuation(body, [self.anything; 3])?;
                (self.n_loops, self.system) = (n_loops, system);
                core::array::from_fn(|left| {
                    let seen = if *is_negated { self.arena.not(seen[left]) } else { seen[left] };
                    self.arena.and(seen, after[left])
                })
            }
        })
    }

    fn concat(&mut self, parts: &[Part], mut after: Continuation) -> Result<Continuation, SyntaxError> {
        let mut end = parts.len();
        while end > 0 {
            let n_plain = parts[..end].iter().rev().take_while(|part| part.is_plain()).count();
            if is_uniform(after) && n_plain > 0 {
                let mut ids: Vec<NodeId> = parts[end - n_plain..end].iter().map(|part| self.plain(part)).collect();
                ids.push(after[START]);
                after = [self.arena.concat(&ids); 3];
                end -= n_plain;
            } else {
                end -= 1;
                after = self.continuation(&parts[end], after)?;
            }
        }
        Ok(after)
    }

    fn repeat(
        &mut self,
        body: &Part,
        min: u32,
        max: Option<u32>,
        span: Span,
        after: Continuation,
    ) -> Result<Continuation, SyntaxError> {
        if max == Some(0) {
            return Ok(after);
        }
        if body.is_plain() {
            return self.repeat_plain(body, min, max, after);
        }
        if body.is_zero_width() {
            // Further empty copies have the same assertions; without copies there are none.
            return if min == 0 { Ok(after) } else { self.continuation(body, after) };
        }
        let mut continuation = match max {
            None => self.repeat_forever(body, span, after)?,
            Some(max) => {
                let mut continuation = after;
                for _ in min..max {
                    let copy = self.continuation(body, continuation)?;
                    continuation = self.either(after, copy);
                }
                continuation
            }
        };
        for _ in 0..min {
            continuation = self.continuation(body, continuation)?;
        }
        Ok(continuation)
    }

    fn either(&mut self, a: Continuation, b: Continuation) -> Continuation {
        core::array::from_fn(|left| self.arena.union([a[left], b[left]]))
    }

    /// Repeats a part without assertions before a continuation that depends on what precedes it.
    fn repeat_plain(
        &mut self,
        body: &Part,
        min: u32,
        max: Option<u32>,
        after: Continuation,
    ) -> Result<Continuation, SyntaxError> {
        let whole = self.plain(body);
        // If the body matches the empty string, only non-empty copies are counted.
        let (copy, last, min) = if self.arena.is_nullable(whole) {
            let copy = self.nonempty(whole);
            (copy, self.nonempty_before(copy, after), 0)
        } else {
            (whole, self.continuation(body, after)?[START], min)
        };
        let copies = self.arena.repeat(copy, min.saturating_sub(1), max.map(|max| max - 1));
        let some = self.arena.concat(&[copies, last]);
        Ok(if min == 0 { self.either(after, [some; 3]) } else { [some; 3] })
    }

    /// Solves `R = after | cont(body, R)`.
    fn repeat_forever(&mut self, body: &Part, span: Span, after: Continuation) -> Result<Continuation, SyntaxError> {
        // An empty copy only adds conditions, so it adds no string.
        let ids = after.map(|id| self.arena.variable(self.arena.is_nullable(id)));
        self.n_loops += 1;
        let copy = self.continuation(body, ids)?;
        self.n_loops -= 1;
        let whole = self.either(after, copy);
        for (id, value) in ids.into_iter().zip(whole) {
            self.system.define(self.arena.as_variable(id).expect("it was made above"), value);
        }
        if self.n_loops > 0 {
            return Ok(ids);
        }
        let system = core::mem::take(&mut self.system);
        system.solve(ids, &mut self.arena, self.limits).map_err(|why| {
            let message = match why {
                TooLarge::Steps => return too_large(self.pattern),
                TooLarge::States(limit) => format!(
                    "a repeat with conditions inside is too large: it needs more than {limit} states (loop_states_max)"
                ),
                TooLarge::Deep => "a repeat with conditions inside is too large: they nest too deep".to_owned(),
            };
            SyntaxError::new(self.pattern, span, message).unsupported()
        })
    }

    /// Makes the node of a part without assertions.
    fn plain(&mut self, part: &Part) -> NodeId {
        match part {
            Part::Class(set) => self.arena.class(set),
            Part::Concat(parts) => {
                let ids: Vec<NodeId> = parts.iter().map(|part| self.plain(part)).collect();
                self.arena.concat(&ids)
            }
            Part::Choice(parts) => {
                let ids: Vec<NodeId> = parts.iter().map(|part| self.plain(part)).collect();
                self.arena.union(ids)
            }
            Part::Repeat { body, min, max, .. } => {
                let body = self.plain(body);
                self.arena.repeat(body, *min, *max)
            }
            Part::Start | Part::End | Part::Boundary { .. } | Part::Look { .. } => {
                unreachable!("{part:?} is a condition")
            }
        }
    }

    /// Prepends a character of a set to a continuation.
    fn before(&mut self, set: &CharSet, after: Continuation) -> NodeId {
        if after[WORD] == after[OTHER] {
            let class = self.arena.class(set);
            return self.arena.concat(&[class, after[WORD]]);
        }
        let word = self.arena.class(&set.intersect(&self.word));
        let other = self.arena.class(&set.intersect(&self.other));
        let word = self.arena.concat(&[word, after[WORD]]);
        let other = self.arena.concat(&[other, after[OTHER]]);
        self.arena.union([word, other])
    }

    /// Prepends a node that doesn't match the empty string to a continuation.
    fn nonempty_before(&mut self, node: NodeId, after: Continuation) -> NodeId {
        if after[WORD] == after[OTHER] {
            return self.arena.concat(&[node, after[WORD]]);
        }
        let ends = [(&self.word, after[WORD]), (&self.other, after[OTHER])].map(|(set, after)| {
            let last = self.arena.class(set);
            let ending = self.arena.concat(&[self.anything, last]);
            let ending = self.arena.and(node, ending);
            self.arena.concat(&[ending, after])
        });
        self.arena.union(ends)
    }

    /// Prepends any non-empty string to a continuation.
    fn split_repeat_of_any(&mut self, continuation: Continuation) -> NodeId {
        let last = self.before(&CharSet::all(), continuation);
        if is_uniform(continuation) {
            // Any text at all: one node less.
            return self.arena.concat(&[self.anything, continuation[START]]);
        }
        self.arena.concat(&[self.anything, last])
    }

    /// Removes the empty string.
    fn nonempty(&mut self, node: NodeId) -> NodeId {
        let any = self.arena.class(&CharSet::all());
        let some = self.arena.concat(&[any, self.anything]);
        self.arena.and(node, some)
    }

    fn begins_with_word(&mut self) -> NodeId {
        let word = self.arena.class(&self.word);
        self.arena.concat(&[word, self.anything])
    }

    /// Returns the language of the suffixes that don't begin with a word character.
    fn begins_with_other(&mut self) -> NodeId {
        let other = self.arena.class(&self.other);
        let goes_on = self.arena.concat(&[other, self.anything]);
        let empty = self.arena.empty();
        self.arena.union([empty, goes_on])
    }
}

fn is_uniform(continuation: Continuation) -> bool {
    continuation[START] == continuation[WORD] && continuation[WORD] == continuation[OTHER]
}
