//! EBNF, as GBNF and XGrammar files write it, with regular expressions and operators on them.
//!
//! # Syntax
//!
//! A file is a list of rules; a rule is `name ::= expression` and ends where the next one begins, so line ends mean nothing.
//! `#` begins a comment. Names are `[A-Za-z_][A-Za-z0-9_-]*`; a dot inside a name (before a letter, digit or `_`) belongs to it.
//!
//! | written | meaning |
//! |---|---|
//! | `"abc"` `'abc'` `""` | exactly this text |
//! | `"abc"i` | this text in any case (Unicode simple case folding) |
//! | `[a-z_]` `[^"\\]` | one character of the set, or not of it; `-` first, last or after a range is itself |
//! | `.` | any one character, line ends included |
//! | `/[a-z]+/i` | a regex that matches as a whole, with flags `i`, `s`, `x`, and `c` (its literals are markers); `\/` is a slash |
//! | `<\|eot_id\|>` `<think>` `Token("<think>")` | the control token of this name, brackets included |
//! | `<[128009]>` `Token(128009)` | the control token of this id; `Token(1, 2)` is a choice |
//! | `Marker("<think>")` | this text, of which control tokens may spell the parts that are their names |
//! | `%json {"type": "integer"}` | a JSON document that the schema accepts; with options `%json(compact) {...}` |
//! | `@name` | a grammar that was given beside the source |
//! | `name` | another rule |
//! | `(a)` | a group |
//! | `a* a+ a? a{2} a{2,} a{2,5} a{,5}` | repetition |
//! | `~a` | every text of valid UTF-8 that `a` doesn't match |
//! | `a b` | a sequence |
//! | `a & b` | an intersection |
//! | `a - b` | a difference; with blanks, since `a-b` is a name |
//! | `a \| b` | a choice; an alternative without elements is `""` |
//!
//! From tight to loose: repetition, `~`, sequence, `&` and `-` (one level, from the left), `|`. The operands of `&`, `-` and
//! `~` must be regular: no recursion, no control tokens. Text until a tag is `(.* - (.* "<tool>" .*)) "<tool>"`.
//!
//! The options of `%json` are `compact`, `flexible = 16` (the longest run of white space), `indent = 2`, `item_separator = ", "`,
//! `key_separator = ": "`, `no_additional_properties`, `any_spelling`, `no_formats`, `integer_fractions`, `lenient`, `draft = "7"`,
//! `no_foreign_keywords`, `nullable`: those of [`SchemaOptions`](crate::json_schema::SchemaOptions).
//!
//! Escapes in strings and classes: `\n \t \r \0 \a \b \f \v \e`, `\xHH \uHHHH \UHHHHHHHH \u{H...}` (all of them code points: `\xE9` is é, two
//! bytes of UTF-8), and a backslash before an ASCII punctuation mark is that mark. In classes also `\d \w \s \D \W \S`, over
//! ASCII. Strings, classes and regexes end on their line.
//!
//! # Method
//!
//! A scan finds the ends of tokens, bounds the nesting and splits the file into rules; lowering parses rule by rule and builds the
//! grammar, with an explicit stack; then whole-grammar checks run. Each step is linear.

mod hint;
mod lexeme;
mod lower;
mod operand;
mod operand_end;
mod scan;

use super::SyntaxError;
use crate::grammar::analysis::{self, Obstacle};
use crate::grammar::{Expr, Grammar, RuleId, Warning};
use crate::limits::Limits;
use crate::util::Span;
use lower::Lowering;
use scan::{BYTES_PER_CHECK, RuleText, shorten};

/// Names of rules recorded between two reports of work; that takes about as long as [`BYTES_PER_CHECK`] bytes.
const RULES_PER_CHECK: usize = 1 << 10;

/// A parsed grammar with its warnings.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The grammar.
    pub grammar: Grammar,
    /// Probable mistakes that are no errors.
    pub warnings: Vec<Warning>,
}

/// Parses a grammar with the root rule `root`.
///
/// ```
/// use maskwright::{Limits, frontend::ebnf};
/// let source = r#"root ::= "[" (item ("," item)*)? "]"  item ::= [0-9]+ | root  spare ::= """#;
/// let parsed = ebnf::parse(source, "root", &Limits::default()).unwrap();
/// assert_eq!(parsed.grammar.rules().len(), 3);
/// assert_eq!(parsed.warnings[0].to_string(), "rule `spare` is never used");
/// ```
///
/// # Errors
/// If the source is not a grammar: malformed syntax, undefined or duplicate names, operands of `&`, `-` or `~` that are not regular, a
/// reachable rule that is not productive, or more than `limits` allow.
pub fn parse(source: &str, root: &str, limits: &Limits) -> Result<Parsed, SyntaxError> {
    parse_with(source, root, &[], limits)
}

/// As [`parse`], with grammars to which `@name` refers. Their rules are copied behind those of the source: rule `a` of grammar `name` is called
/// `name-a`, or that and a number where there is such a rule.
///
/// ```
/// use maskwright::{Limits, frontend::ebnf};
/// let limits = Limits::default();
/// let number = ebnf::parse("root ::= digit+  digit ::= [0-9]", "root", &limits)?.grammar;
/// let sum = ebnf::parse_with(r#"root ::= @number ("+" @number)*"#, "root", &[("number", &number)], &limits)?.grammar;
/// assert_eq!(&*sum.rules()[1].name, "number-root");
/// # Ok::<(), maskwright::frontend::SyntaxError>(())
/// ```
///
/// # Errors
/// As [`parse`], and if `@` refers to no grammar.
pub fn parse_with(
    source: &str,
    root: &str,
    grammars: &[(&str, &Grammar)],
    limits: &Limits,
) -> Result<Parsed, SyntaxError> {
    parse_within(source, root, grammars, limits, &mut |_| Ok(()))
}

/// As [`parse`], but reports the bytes read to `spend` now and then, whose error ends it.
pub(crate) fn parse_within<E: From<SyntaxError>>(
    source: &str,
    root: &str,
    grammars: &[(&str, &Grammar)],
    limits: &Limits,
    spend: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<Parsed, E> {
    check_length(source, limits)?;
    let rules = scan::rules(source, limits, spend)?;
    let mut lowering = Lowering::new(source, &rules, grammars, limits);
    // All names first: rules keep the order of their definitions, and references are resolved at once.
    for (index, rule) in rules.iter().enumerate() {
        let name = &source[rule.name.clone()];
        if index % RULES_PER_CHECK == 0 {
            spend(BYTES_PER_CHECK)?;
        }
        if let Some(first) = lowering.builder.rule_named(name) {
            return Err(defined_twice(source, rule, &rules[first.index()]).into());
        }
        lowering.builder.rule(name);
    }
    let root = lowering.builder.rule_named(root).ok_or_else(|| missing_root(source, root, &rules))?;
    for (index, rule) in rules.iter().enumerate() {
        let body = lowering.body(rule.body.clone(), spend)?;
        lowering.builder.define_at(RuleId::new(index), body, Some(rule.name.clone().into()));
    }
    let mut builder = lowering.builder;
    builder.set_source(source);
    let grammar = builder.finish(root).expect("every rule has its body");
    spend(BYTES_PER_CHECK)?;
    check_regular_operands(&grammar, source)?;
    spend(BYTES_PER_CHECK)?;
    check_rules_finish(&grammar, source)?;
    spend(BYTES_PER_CHECK)?;
    let warnings = analysis::warnings(&grammar);
    Ok(Parsed { grammar, warnings })
}

fn check_length(source: &str, limits: &Limits) -> Result<(), SyntaxError> {
    // Spans count to 4 GiB whatever the limit.
    let limit = limits.source_bytes_max.min(u32::MAX as usize);
    if source.len() <= limit {
        return Ok(());
    }
    let message = format!("the source has {} bytes, above the limit source_bytes_max = {limit}", source.len());
    Err(SyntaxError::new("", Span::default(), message).over_limit(source.len(), limit))
}

fn defined_twice(source: &str, second: &RuleText, first: &RuleText) -> SyntaxError {
    let (line, column) = Span::from(first.name.clone()).line_column(source);
    let message = format!("rule `{}` is defined twice", shorten(&source[second.name.clone()]));
    SyntaxError::new(source, second.name.clone().into(), message)
        .with_hint(format!("first defined at line {line}, column {column}; alternatives are joined by `|`"))
}

fn missing_root(source: &str, root: &str, rules: &[RuleText]) -> SyntaxError {
    let error =
        SyntaxError::new(source, Span::default(), format!("there is no rule `{}` to begin with", shorten(root)));
    match hint::closest_name(root, rules.iter().map(|rule| &source[rule.name.clone()])) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None if rules.is_empty() => error.with_hint("the source has no rules"),
        None => error.with_hint(format!("the first rule is `{}`", shorten(&source[rules[0].name.clone()]))),
    }
}

/// Refuses operands of `&`, `-` and `~` that use recursion or control tokens.
fn check_regular_operands(grammar: &Grammar, source: &str) -> Result<(), SyntaxError> {
    let operator = |expr: &Expr| match expr {
        Expr::And(..) => Some('&'),
        Expr::Minus(..) => Some('-'),
        Expr::Not(_) => Some('~'),
        _ => None,
    };
    if !grammar.exprs().iter().any(|expr| operator(expr).is_some()) {
        return Ok(());
    }
    let regular = analysis::Regularity::new(grammar);
    for expr in grammar.exprs() {
        let Some(operator) = operator(expr) else { continue };
        let mut irregular = None;
        expr.for_each_operand(|id| irregular = irregular.or((!regular.is_regular(id)).then_some(id)));
        let Some(operand) = irregular else { continue };
        let reason = match regular.obstacle(operand) {
            Obstacle::Cycle(rules) => format!("rule `{}` is recursive", shorten(&grammar.rule(rules[0]).name)),
            Obstacle::Expr(id) => match grammar.span(id) {
                Some(span) => {
                    format!("`{}` is a control token", shorten(&source[span.start as usize..span.end as usize]))
                }
                None => "it names a control token".to_owned(),
            },
        };
        let span = grammar.span(operand).unwrap_or_default();
        let message = format!("an operand of `{operator}` must be regular, but {reason}");
        return Err(SyntaxError::new(source, span, message));
    }
    Ok(())
}

/// Refuses reachable rules that are not productive.
fn check_rules_finish(grammar: &Grammar, source: &str) -> Result<(), SyntaxError> {
    let productivity = analysis::Productivity::new(grammar);
    let reachable = analysis::reachable_rules(grammar);
    let stuck = |rule: RuleId| reachable[rule.index()] && !productivity.is_productive(grammar.rule(rule).body);
    let Some(rule) = (0..grammar.rules().len()).map(RuleId::new).find(|&rule| stuck(rule)) else { return Ok(()) };
    Err(match productivity.obstacle(rule) {
        Obstacle::Cycle(rules) => {
            let span = grammar.rule(rules[0]).span.unwrap_or_default();
            let name = shorten(&grammar.rule(rules[0]).name);
            let message = format!("rule `{name}` can never finish: {}", analysis::describe_cycle(grammar, &rules));
            SyntaxError::new(source, span, message).with_hint(format!("give it an alternative without `{name}`"))
        }
        Obstacle::Expr(id) => {
            let name = shorten(&grammar.rule(rule).name);
            let span = grammar.span(id).or(grammar.rule(rule).span).unwrap_or_default();
            SyntaxError::new(source, span, format!("rule `{name}` can never finish: nothing matches this"))
        }
    })
}
