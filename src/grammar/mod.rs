//! The grammar as its author wrote it: rules over expressions, in an index arena.
//!
//! Expressions refer to earlier expressions only, so the arena has no cycles and every analysis is one forward loop; only rules
//! are recursive. There are no boxed trees, whose destructors could overflow the stack.

pub(crate) mod analysis;
mod builder;
mod compose;
mod excluded_tokens;
mod exclusions;
mod free_text;
pub(crate) mod overlap;
mod part;
mod print;
mod print_schema;
mod regular_of;
mod schema_operand;
mod spelling;

pub use analysis::{Warning, WarningKind};
pub use builder::{GrammarBuilder, GrammarError};
pub use excluded_tokens::ExcludedTokens;
pub(crate) use excluded_tokens::merged;
pub use exclusions::EXCLUSION_OPERATORS_MAX;
pub(crate) use part::{Part, Parts};
pub(crate) use print::is_control_token;
pub use regular_of::{NotRegular, NotRegularReason};
pub use schema_operand::SchemaOperand;
pub(crate) use spelling::between_slashes;

use crate::regular::{CharSet, Regular};
use crate::util::{Span, index_type};
use hashbrown::HashSet;
use std::sync::Arc;

index_type!(
    /// The index of a rule of a [`Grammar`].
    pub RuleId
);
index_type!(
    /// The index of an expression of a [`Grammar`].
    pub ExprId
);

/// A reference to a token: a control token, or another one that is to be read as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControlRef {
    /// By its name in the vocabulary, like `<|eot_id|>`; if no token has that name, by its text.
    Name(Box<str>),
    /// By its id in the vocabulary, like `<[128009]>`.
    Id(u32),
}

/// A regular expression inside a grammar: its source and its language.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Regex {
    /// The pattern without its delimiters, and with `/` not escaped.
    pub pattern: Box<str>,
    /// Flags as written after the closing delimiter: some of `i`, `j`, `s`, `u`, `x`, and `c` where control tokens may spell literals.
    pub flags: Box<str>,
    /// The language.
    pub regular: Arc<Regular>,
}

impl Regex {
    /// Returns this regular expression with literals that control tokens of the vocabulary may spell, whole or in part. A literal goes on through groups and
    /// alternatives: in `<(en|fr)>` a token `<en>` spells one ([`Regular::with_whole_literals`]).
    #[must_use]
    pub fn with_markers(mut self) -> Regex {
        if !self.has_markers() {
            self.flags = format!("{}c", self.flags).into();
        }
        self.regular = Arc::new(self.regular.with_whole_literals());
        self
    }

    /// Returns whether control tokens of the vocabulary may spell the literals of the pattern, whole or in part: its nodes [`Node::Bytes`].
    ///
    /// [`Node::Bytes`]: crate::regular::Node::Bytes
    pub fn has_markers(&self) -> bool {
        self.flags.contains('c')
    }
}

/// An expression. Its operands always have smaller ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expr {
    /// The empty string, like `""`.
    Empty,
    /// A literal, like `"abc"`.
    Literal(Box<[u8]>),
    /// A literal that control tokens of the vocabulary may spell as well, whole or in part, like `Marker("<tool_call>")`: wherever the name of a
    /// control token stands in it, that token is another way to write that part. To the operators `&`, `-` and `~` it is its bytes.
    Marker(Box<str>),
    /// A literal in any case (simple case folding, character by character), like `"abc"i`.
    LiteralNoCase(Box<str>),
    /// One character of a set, like `[a-z]` or `.`; an empty set matches nothing.
    Class(CharSet),
    /// A regular expression, like `/[a-z]+/i`.
    Regex(Regex),
    /// A control token (or a token of added text, named as such), like `<|eot_id|>`.
    Control(ControlRef),
    /// Any one token but some, like `<[^1,3-7]>`, `!<|eot_id|>` or `<[*]>`: a control token, or a token of text, read as a whole whatever its text is. Padding and the stop tokens
    /// in force are never among them.
    TokenExcept(ExcludedTokens),
    /// A JSON document that a schema accepts, like `%json {"type": "integer"}`.
    Schema(SchemaOperand),
    /// A reference to a rule, like `value`.
    Rule(RuleId),
    /// A sequence, like `a b`.
    Sequence(Box<[ExprId]>),
    /// A choice, like `a | b`.
    Choice(Box<[ExprId]>),
    /// A repetition, `min` to `max` copies (no upper bound: `None`), like `a*` or `a{2,5}`.
    Repeat {
        /// What is repeated.
        body: ExprId,
        /// The least number of copies.
        min: u32,
        /// The greatest number of copies, if any; never less than `min`.
        max: Option<u32>,
    },
    /// A text that is written with at most so many tokens; the body must be regular. Like the body of `name[max_tokens=20] ::= a`.
    ///
    /// Each token counts that begins or goes on with the text. When so many were read, only bytes may follow that lead the shortest way to an end of the text, and these don't count: none
    /// where it can end, the rest of a character, or the marker that it must end with. So a text that was begun can be completed.
    AtMostTokens {
        /// The language of the text.
        body: ExprId,
        /// The most tokens.
        max: u32,
    },
    /// An intersection, like `a & b`; the operands must be regular.
    And(ExprId, ExprId),
    /// A difference, like `a - b`; the operands must be regular.
    Minus(ExprId, ExprId),
    /// A complement among all strings of valid UTF-8, like `~a`; the operand must be regular.
    Not(ExprId),
}

impl Expr {
    /// Calls `visit` with each direct operand, in order.
    pub fn for_each_operand(&self, mut visit: impl FnMut(ExprId)) {
        match self {
            Expr::Empty | Expr::Literal(_) | Expr::Marker(_) | Expr::LiteralNoCase(_) | Expr::Class(_) => {}
            Expr::Regex(_) | Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_) | Expr::Rule(_) => {}
            Expr::Sequence(operands) | Expr::Choice(operands) => operands.iter().copied().for_each(visit),
            Expr::Repeat { body, .. } | Expr::AtMostTokens { body, .. } => visit(*body),
            Expr::And(a, b) | Expr::Minus(a, b) => {
                visit(*a);
                visit(*b);
            }
            Expr::Not(a) => visit(*a),
        }
    }
}

/// A rule: a name and an expression.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name, unique in its grammar.
    pub name: Box<str>,
    /// The body.
    pub body: ExprId,
    /// The span of the definition, if the grammar came from a text.
    pub span: Option<Span>,
}

/// A name for a part of the text: what a rule matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Capture {
    /// The name.
    pub name: Box<str>,
    /// The rule that matches the part.
    pub rule: RuleId,
    /// How many bytes at the end of what the rule matches are the part; all of them if nothing is said.
    pub n_bytes_last: Option<u32>,
}

/// A grammar as its author wrote it. Immutable; made by [`GrammarBuilder`] or a front end.
///
/// Two grammars are equal if they have the same root, the same rules in the same order, and the same captures; the numbers of their expressions and
/// spans are irrelevant.
#[derive(Clone, Debug)]
pub struct Grammar {
    rules: Vec<Rule>,
    exprs: Vec<Expr>,
    spans: Vec<Option<Span>>,
    root: RuleId,
    source: Option<Arc<str>>,
    /// Rules that are compiled by themselves.
    separate: HashSet<RuleId>,
    captures: Vec<Capture>,
}

impl Grammar {
    /// Returns the rule that the whole output must match.
    pub fn root(&self) -> RuleId {
        self.root
    }

    /// Returns all rules, in order of definition.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns a rule.
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id.index()]
    }

    /// Gives a rule another body.
    pub(crate) fn set_body(&mut self, rule: RuleId, body: ExprId) {
        assert!(body.index() < self.exprs.len(), "unknown expression");
        self.rules[rule.index()].body = body;
    }

    /// Returns all expressions, operands before their users.
    pub fn exprs(&self) -> &[Expr] {
        &self.exprs
    }

    /// Returns an expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// Returns the span of an expression, if the grammar came from a text.
    pub fn span(&self, id: ExprId) -> Option<Span> {
        self.spans[id.index()]
    }

    /// Returns the names for parts of the text, in the order in which they were given.
    pub fn captures(&self) -> &[Capture] {
        &self.captures
    }

    fn sorted_captures(&self) -> Vec<&Capture> {
        let mut captures: Vec<&Capture> = self.captures.iter().collect();
        captures.sort_unstable();
        captures
    }

    /// Returns the text that the grammar was read from, if any.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }
}

impl PartialEq for Grammar {
    fn eq(&self, other: &Grammar) -> bool {
        let names_equal =
            self.rules.len() == other.rules.len() && self.rules.iter().zip(&other.rules).all(|(a, b)| a.name == b.name);
        if !names_equal || self.root != other.root || self.sorted_captures() != other.sorted_captures() {
            return false;
        }
        let mut pending: Vec<(ExprId, ExprId)> =
            self.rules.iter().zip(&other.rules).map(|(a, b)| (a.body, b.body)).collect();
        let mut seen = HashSet::new();
        while let Some((a, b)) = pending.pop() {
            if !seen.insert((a, b)) {
                continue;
            }
            let (x, y) = (self.expr(a), other.expr(b));
            let same_head = match (x, y) {
                (Expr::Sequence(x), Expr::Sequence(y)) | (Expr::Choice(x), Expr::Choice(y)) => x.len() == y.len(),
                (Expr::Repeat { min, max, .. }, Expr::Repeat { min: n, max: m, .. }) => (min, max) == (n, m),
                (Expr::AtMostTokens { max, .. }, Expr::AtMostTokens { max: n, .. }) => max == n,
                (Expr::And(..), Expr::And(..)) | (Expr::Minus(..), Expr::Minus(..)) => true,
                (Expr::Not(_), Expr::Not(_)) => true,
                _ => x == y,
            };
            if !same_head {
                return false;
            }
            let (mut xs, mut ys) = (Vec::new(), Vec::new());
            x.for_each_operand(|id| xs.push(id));
            y.for_each_operand(|id| ys.push(id));
            pending.extend(xs.into_iter().zip(ys));
        }
        true
    }
}

impl Eq for Grammar {}
