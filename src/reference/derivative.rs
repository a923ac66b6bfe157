//! Brzozowski derivatives of regular expressions with intersection and complement.
//!
//! The derivative of a language by a byte is the set of the strings that may follow that byte. It has a syntactic rule for every operator,
//! complement included, which makes the method easy to trust:
//!
//! ```text
//! d(x y)     = d(x) y  |  d(y) if x matches the empty string
//! d(x{m,n})  = d(x) x{m-1,n-1}
//! d(x & y)   = d(x) & d(y)           d(!x) = !d(x)
//! ```
//!
//! Terms are interned and unions and intersections are kept as sorted sets, so there are finitely many derivatives.
//! Here `!` complements among all byte strings; the crate's `~` is `any text & !x`.

use crate::regular::CharSet;
use crate::util::{ByteSet, index_type};
use hashbrown::HashMap;
use regex_syntax::utf8::Utf8Sequences;
use smallvec::SmallVec;

index_type!(pub(super) TermId);

/// A regular language, as an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Term {
    /// No string.
    Never,
    /// The empty string.
    Empty,
    /// One byte of a set.
    Byte(ByteSet),
    /// A concatenation.
    Cat(TermId, TermId),
    /// A union; sorted, at least two operands.
    Alt(Box<[TermId]>),
    /// An intersection; sorted, at least two operands.
    Both(Box<[TermId]>),
    /// The complement among all byte strings.
    Neg(TermId),
    /// Copies of a term.
    Repeat(TermId, u32, Option<u32>),
}

/// The error that terms outgrew their bound.
#[derive(Debug)]
pub(super) struct TooManyTerms;

/// All terms, interned.
pub(super) struct Terms {
    terms: Vec<Term>,
    matches_empty: Vec<bool>,
    ids: HashMap<Term, TermId>,
    size: usize,
    size_max: usize,
}

impl Terms {
    pub(super) const NEVER: TermId = TermId(0);
    pub(super) const EMPTY: TermId = TermId(1);
    /// Every byte string.
    const EVERYTHING: TermId = TermId(2);

    pub(super) fn new(size_max: usize) -> Self {
        let mut terms = Terms { terms: vec![], matches_empty: vec![], ids: HashMap::new(), size: 0, size_max };
        assert_eq!(terms.intern(Term::Never, false), Self::NEVER);
        assert_eq!(terms.intern(Term::Empty, true), Self::EMPTY);
        assert_eq!(terms.intern(Term::Neg(Self::NEVER), true), Self::EVERYTHING);
        terms
    }

    pub(super) fn get(&self, id: TermId) -> &Term {
        &self.terms[id.index()]
    }

    pub(super) fn matches_empty(&self, id: TermId) -> bool {
        self.matches_empty[id.index()]
    }

    /// Returns an error once the terms outgrow their bound. Callers check now and then, not at each step.
    pub(super) fn check(&self) -> Result<(), TooManyTerms> {
        if self.size > self.size_max { Err(TooManyTerms) } else { Ok(()) }
    }

    fn intern(&mut self, term: Term, matches_empty: bool) -> TermId {
        if let Some(&id) = self.ids.get(&term) {
            return id;
        }
        let id = TermId::new(self.terms.len());
        self.size += match &term {
            Term::Alt(operands) | Term::Both(operands) => operands.len(),
            _ => 1,
        };
        self.ids.insert(term.clone(), id);
        self.terms.push(term);
        self.matches_empty.push(matches_empty);
        id
    }

    pub(super) fn byte(&mut self, set: ByteSet) -> TermId {
        if set.is_empty() { Self::NEVER } else { self.intern(Term::Byte(set), false) }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> TermId {
        bytes.iter().rev().fold(Self::EMPTY, |suffix, &byte| {
            let first = self.byte(ByteSet::from_bytes(&[byte]));
            self.cat(first, suffix)
        })
    }

    /// Every contiguous run of some chunks: for each place where one may begin, the next chunk and what follows it, or nothing.
    pub(super) fn runs(&mut self, chunks: &[Box<[u8]>]) -> TermId {
        let mut run = Self::EMPTY;
        let mut starts = vec![run];
        for chunk in chunks.iter().rev() {
            let chunk = self.bytes(chunk);
            let longer = self.cat(chunk, run);
            run = self.alt(vec![longer, Self::EMPTY]);
            starts.push(run);
        }
        self.alt(starts)
    }

    pub(super) fn chars(&mut self, set: &CharSet) -> TermId {
        let mut sequences = Vec::new();
        for sequence in set.ranges().iter().flat_map(|&(low, high)| Utf8Sequences::new(low, high)) {
            let term = sequence.as_slice().iter().rev().fold(Self::EMPTY, |suffix, range| {
                let first = self.byte(ByteSet::range(range.start, range.end));
                self.cat(first, suffix)
            });
            sequences.push(term);
        }
        self.alt(sequences)
    }

    pub(super) fn cat(&mut self, a: TermId, b: TermId) -> TermId {
        match (a, b) {
            (Self::NEVER, _) | (_, Self::NEVER) => Self::NEVER,
            (Self::EMPTY, other) | (other, Self::EMPTY) => other,
            _ => self.intern(Term::Cat(a, b), self.matches_empty(a) && self.matches_empty(b)),
        }
    }

    pub(super) fn alt(&mut self, operands: Vec<TermId>) -> TermId {
        let mut flat = Vec::with_capacity(operands.len());
        for operand in operands {
            match self.get(operand) {
                Term::Alt(inner) => flat.extend_from_slice(inner),
                Term::Never => {}
                _ => flat.push(operand),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        if flat.contains(&Self::EVERYTHING) {
            return Self::EVERYTHING;
        }
        match *flat {
            [] => Self::NEVER,
            [only] => only,
            _ => {
                let empty = flat.iter().any(|&operand| self.matches_empty(operand));
                self.intern(Term::Alt(flat.into()), empty)
            }
        }
    }

    pub(super) fn both(&mut self, operands: Vec<TermId>) -> TermId {
        let mut flat = Vec::with_capacity(operands.len());
        for operand in operands {
            match self.get(operand) {
                Term::Both(inner) => flat.extend_from_slice(inner),
                _ if operand == Self::EVERYTHING => {}
                _ => flat.push(operand),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        if flat.contains(&Self::NEVER) {
            return Self::NEVER;
        }
        match *flat {
            [] => Self::EVERYTHING,
            [only] => only,
            _ => {
                let empty = flat.iter().all(|&operand| self.matches_empty(operand));
                self.intern(Term::Both(flat.into()), empty)
            }
        }
    }

    /// Returns the complement of `a` among all byte strings.
    pub(super) fn neg(&mut self, a: TermId) -> TermId {
        match *self.get(a) {
            Term::Neg(inner) => inner,
            _ => self.intern(Term::Neg(a), !self.matches_empty(a)),
        }
    }

    /// Returns the complement of `a` among all strings of valid UTF-8.
    pub(super) fn text_except(&mut self, a: TermId) -> TermId {
        let any = self.chars(&CharSet::all());
        let text = self.repeat(any, 0, None);
        let complement = self.neg(a);
        self.both(vec![text, complement])
    }

    pub(super) fn repeat(&mut self, body: TermId, min: u32, max: Option<u32>) -> TermId {
        match (body, min, max) {
            (_, _, Some(0)) | (Self::EMPTY, ..) | (Self::NEVER, 0, _) => Self::EMPTY,
            (Self::NEVER, ..) => Self::NEVER,
            (_, 1, Some(1)) => body,
            _ => self.intern(Term::Repeat(body, min, max), min == 0 || self.matches_empty(body)),
        }
    }

    /// Returns the derivative of `root` by `byte`; `cached` has derivatives by the same byte, and gets those that are found.
    pub(super) fn derive(
        &mut self,
        root: TermId,
        byte: u8,
        cached: &mut HashMap<TermId, TermId>,
    ) -> Result<TermId, TooManyTerms> {
        let mut pending = vec![root];
        while let Some(&term) = pending.last() {
            if cached.contains_key(&term) {
                pending.pop();
                continue;
            }
            let needed: SmallVec<[TermId; 4]> = match self.get(term) {
                Term::Never | Term::Empty | Term::Byte(_) => SmallVec::new(),
                Term::Cat(a, b) if self.matches_empty(*a) => SmallVec::from_slice(&[*a, *b]),
                Term::Cat(a, _) | Term::Neg(a) | Term::Repeat(a, ..) => SmallVec::from_slice(&[*a]),
                Term::Alt(operands) | Term::Both(operands) => SmallVec::from_slice(operands),
            };
            let n_pending = pending.len();
            pending.extend(needed.into_iter().filter(|id| !cached.contains_key(id)));
            if pending.len() > n_pending {
                continue;
            }
            let derivative = match self.get(term).clone() {
                Term::Never | Term::Empty => Self::NEVER,
                Term::Byte(set) => {
                    if set.contains(byte) {
                        Self::EMPTY
                    } else {
                        Self::NEVER
                    }
                }
                Term::Cat(a, b) => {
                    let first = self.cat(cached[&a], b);
                    let second = if self.matches_empty(a) { cached[&b] } else { Self::NEVER };
                    self.alt(vec![first, second])
                }
                Term::Alt(operands) => {
                    let operands = operands.iter().map(|operand| cached[operand]).collect();
                    self.alt(operands)
                }
                Term::Both(operands) => {
                    let operands = operands.iter().map(|operand| cached[operand]).collect();
                    self.both(operands)
                }
                Term::Neg(a) => self.neg(cached[&a]),
                Term::Repeat(body, min, max) => {
                    let suffix = self.repeat(body, min.saturating_sub(1), max.map(|max| max - 1));
                    self.cat(cached[&body], suffix)
                }
            };
            cached.insert(term, derivative);
            pending.pop();
            self.check()?;
        }
        Ok(cached[&root])
    }

    /// Returns the class of each byte, such that bytes of one class give equal derivatives of `root` and of all its derivatives; and one
    /// byte of each class.
    pub(super) fn byte_classes(&self, root: TermId) -> ([u8; 256], Vec<u8>) {
        // Bytes are equivalent if the same sets contain them: refine by one set after the other.
        let mut class_of = [0u8; 256];
        let mut n_classes = 1usize;
        let mut seen: hashbrown::HashSet<_> = hashbrown::HashSet::from([root]);
        let mut pending = vec![root];
        while let Some(term) = pending.pop() {
            match self.get(term) {
                Term::Never | Term::Empty => {}
                Term::Byte(set) if n_classes < 256 => {
                    let mut split: HashMap<(u8, bool), u8> = HashMap::new();
                    for byte in 0..=255u8 {
                        let n = split.len();
                        class_of[usize::from(byte)] =
                            *split.entry((class_of[usize::from(byte)], set.contains(byte))).or_insert(n as u8);
                    }
                    n_classes = split.len();
                }
                Term::Byte(_) => {}
                Term::Cat(a, b) => pending.extend([*a, *b].into_iter().filter(|&id| seen.insert(id))),
                Term::Alt(operands) | Term::Both(operands) => {
                    pending.extend(operands.iter().copied().filter(|&id| seen.insert(id)));
                }
                Term::Neg(a) | Term::Repeat(a, ..) => pending.extend(Some(*a).filter(|&id| seen.insert(id))),
            }
        }
        let mut members = vec![0; n_classes];
        (0..=255u8).for_each(|byte| members[usize::from(class_of[usize::from(byte)])] = byte);
        (class_of, members)
    }
}
