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
//! | `[a-z_]` `[^"\\]` | one character of the set, or not of it; `-` first, last or after a range is itself; `[^]` is any character |
//! | `.` | any one character, line ends included |
//! | `/[a-z]+/i` | a regex that matches as a whole, with flags `i`, `j`, `s`, `u`, `x`, and `c` (its literals are markers); `\/` is a slash |
//! | `Regex("[a-z]+", flags="i", json_string=true)` | the same; `json_string=true` is the flag `j` |
//! | `Substring("one ", "two ", "three")` | any contiguous run of the chunks, or nothing |
//! | `TagDispatch(("<a>", r), loop_after_dispatch=true, excludes=("<e>",))` | free text; after the first tag its rule, then free text again, if not `loop_after_dispatch=false` |
//! | `<\|eot_id\|>` `<think>` `Token("<think>")` | the control token of this name, brackets included |
//! | `<[128009]>` `Token(128009)` | the control token of this id; `<[1-3,7]>` and `Token(1, 2)` are choices |
//! | `!<think>` `<[^1-3,7]>` `<[*]>` `ExcludeToken(7, "<think>")` | any one token but these, read as a whole whatever its text is; never padding or a stop token |
//! | `TokenTagDispatch((7, r), ("<think>", s), loop_after_dispatch=true, excludes=(8,))` | any tokens but these; after the first of them its rule, then any tokens again, if not `loop_after_dispatch=false` |
//! | `Marker("<think>")` | this text, of which control tokens may spell the parts that are their names |
//! | `%regex "[a-z]+"` `%regex /[a-z]+/i` | what the regular expression matches, as between slashes |
//! | `%json {"type": "integer"}` | a JSON document that the schema accepts; with options `%json(compact) {...}` |
//! | `@name` | a grammar that was given beside the source |
//! | `name` | another rule |
//! | `(a)` | a group |
//! | `a* a+ a? a{2} a{2,} a{2,5} a{,5}` | repetition; `a{2,-1}` is `a{2,}` |
//! | `~a` | every text of valid UTF-8 that `a` doesn't match |
//! | `a b` | a sequence |
//! | `a & b` | an intersection |
//! | `a - b` | a difference; with blanks, since `a-b` is a name |
//! | `a \| b` | a choice; an alternative without elements is `""` |
//!
//! Every token can be named, one of text too: by its id, or by its text where no token has that for a name.
//!
//! From tight to loose: repetition, `~`, sequence, `&` and `-` (one level, from the left), `|`. The operands of `&`, `-` and
//! `~` must be regular: no recursion, no control tokens. Text until a tag is `(.* - (.* "<tool>" .*)) "<tool>"`.
//!
//! The options of `%json` are `compact`, `flexible = 16` (the longest run of white space), `indent = 2`, `item_separator = ", "`,
//! `key_separator = ": "`, `no_additional_properties`, `any_order`, `excluded_text = "</a>"`, `root_type = "null"` (any number of times), `text_until = "</a>"` (a string's characters, without quotes), `pointer = "/$defs/a"` (the schema is there in the document), `any_spelling`, `no_formats`, `integer_fractions`, `lenient`, `draft = "7"`,
//! `no_foreign_keywords`, `nullable`: those of [`SchemaOptions`](crate::json_schema::SchemaOptions).
//!
//! Escapes in strings and classes: `\n \t \r \0 \a \b \f \v \e`, `\xH... \uHHHH \UHHHHHHHH \u{H...}` (all of them code points: `\xE9` is é, two
//! bytes of UTF-8), and a backslash before an ASCII punctuation mark is that mark. `\x` has as many digits as follow, as for XGrammar; more than two are a
//! warning, since GBNF reads just two. Strings, classes and regexes end on their line.
//!
//! `.`, `\d`, `\w`, `\s` and `\D`, `\W`, `\S` mean the same everywhere, in classes, between slashes and in `Regex(...)`: `.` is any character, line
//! ends included, `\d` is `[0-9]`, `\w` is `[0-9A-Za-z_]` and `\s` is `[\t-\r ]`. In a regex the flag `u` makes the last three those of Unicode, and
//! `(?-s)` takes `\n` from `.`, as in `/(?-s).*/`; the flag `s` says what holds anyway. With the flag `j` the text is the contents of a JSON string that decodes to a match.
//!
//! Between the name of a rule and `::=` there may be options, right after the name: with `name[lazy] ::= ...` a match ends where it first can
//! (no match begins with a shorter one), `name[max_chars=80] ::= ...` has matches of at most 80 characters, and `name[max_tokens=20] ::= ...` has matches that
//! are written with at most 20 tokens, counted as [`Expr::AtMostTokens`] says. Their bodies must be regular (for `max_tokens` a repeated token or set of tokens will do as well), or else
//! `lazy` is an error and the others have no effect. `capture` and `capture="x"` name what the rule matches ([`Matcher::captures`](crate::Matcher::captures)). `temperature=0.7` has no effect on the language, and
//! neither has a look-ahead `(= ...)` at the end of a rule, as printed by XGrammar. What has no effect is a warning.
//!
//! # Method
//!
//! A scan finds the ends of tokens, bounds the nesting and splits the file into rules; lowering parses rule by rule and builds the
//! grammar, with an explicit stack; then whole-grammar checks run. Each step is linear.

mod dispatch;
mod hint;
mod lexeme;
mod lower;
mod macros;
mod operand;
mod operand_end;
mod options;
mod scan;
mod token_macros;

use super::{ReadError, Spend, SyntaxError, check};
use crate::frontend::progress::BYTES_PER_CHECK;
use crate::grammar::analysis;
use crate::grammar::{Expr, Grammar, RuleId, Warning, WarningKind};
use crate::limits::Limits;
use crate::util::Span;
use lower::{Changed, ChangingOption, Lowering};
use scan::{RuleText, shorten};

/// Names of rules recorded between two reports of work; that takes about as long as [`BYTES_PER_CHECK`] bytes.
const RULES_PER_CHECK: usize = 1 << 10;

/// Most warnings about what is probably not what was meant.
const SUSPICIOUS_MAX: usize = 16;
/// The root rule of most grammars. Where another is chosen, this one is no mistake.
const USUAL_ROOT: &str = "root";

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
    parse_within(source, root, grammars, limits, &mut |_| Ok(())).map_err(ReadError::uninterrupted)
}

/// As [`parse`], but reports the bytes read to `spend` now and then, whose error ends it.
pub(crate) fn parse_within(
    source: &str,
    root: &str,
    grammars: &[(&str, &Grammar)],
    limits: &Limits,
    spend: Spend<'_>,
) -> Result<Parsed, ReadError> {
    check::source_length(source, limits)?;
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
    let mut warnings = Vec::new();
    let root = lowering.builder.rule_named(root).ok_or_else(|| missing_root(source, root, &rules))?;
    for (index, rule) in rules.iter().enumerate() {
        let mut body = lowering.body(rule.body.clone(), spend)?;
        if is_blank(&source[rule.body.clone()]) {
            let reason = "the rule has no body, and so matches the empty text alone; if that is meant, write `\"\"`";
            lowering.suspicious.push((rule.name.clone().into(), reason));
        }
        if let Some(options) = rule.options.clone() {
            let (changed, without_effect) = lowering.with_options(RuleId::new(index), body, options)?;
            body = changed;
            let name = &source[rule.name.clone()];
            warnings.extend(without_effect.into_iter().map(|span| option_without_effect(source, name, span)));
        }
        lowering.builder.define_at(RuleId::new(index), body, Some(rule.name.clone().into()));
    }
    warn_of_places(&lowering, source, &rules, &mut warnings);
    let Lowering { mut builder, changed, .. } = lowering;
    builder.set_source(source);
    let mut grammar = builder.finish(root).expect("every rule has its body");
    spend(BYTES_PER_CHECK)?;
    check_options(&mut grammar, source, &changed, &mut warnings)?;
    check_regular_operands(&grammar, source)?;
    spend(BYTES_PER_CHECK)?;
    check::rules_finish(&grammar, source)?;
    spend(BYTES_PER_CHECK)?;
    warnings.extend(analysis::warnings_but_of(&grammar, USUAL_ROOT));
    Ok(Parsed { grammar, warnings })
}

/// Returns whether the body of a rule is nothing but white space and comments.
fn is_blank(body: &str) -> bool {
    body.lines().all(|line| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#') || line.starts_with("//")
    })
}

fn option_without_effect(source: &str, rule: &str, span: Span) -> Warning {
    let option = shorten(&source[span.start as usize..span.end as usize]);
    let detail = format!("rule option `{option}` of `{}` has no effect on the language", shorten(rule));
    Warning::of_source(WarningKind::WithoutEffect, rule, span, detail)
}

/// Warns of what the text says without effect, and of what another engine reads differently.
fn warn_of_places(lowering: &Lowering, source: &str, rules: &[RuleText], warnings: &mut Vec<Warning>) {
    // Places in rules are told apart by the bodies, which are in order.
    let rule_at = |span: Span| {
        let index = rules.partition_point(|rule| rule.name.start <= span.start as usize);
        &source[rules[index.max(1) - 1].name.clone()]
    };
    if let Some(span) = lowering.look_ahead {
        let detail = "look-aheads `(= ...)` constrain nothing: what they say must hold by the grammar".to_owned();
        warnings.push(Warning::of_source(WarningKind::WithoutEffect, rule_at(span), span, detail));
    }
    lowering.suspicious.iter().take(SUSPICIOUS_MAX).for_each(|&(span, reason)| {
        warnings.push(Warning::of_source(WarningKind::Suspicious, rule_at(span), span, reason.to_owned()));
    });
    // One is enough to look for the others.
    if let Some(&span) = lowering.long_escapes.first() {
        let written = shorten(&source[span.start as usize..span.end as usize]);
        let detail = format!(
            "`{written}` is one character, as for XGrammar; GBNF reads two digits and text after them: write `\\u{{...}}` for either"
        );
        warnings.push(Warning::of_source(WarningKind::ReadDifferently, rule_at(span), span, detail));
    }
}

/// Checks the rules whose options change what they match. A bound on the characters or tokens of a rule that is not regular is dropped with a warning.
fn check_options(
    grammar: &mut Grammar,
    source: &str,
    changed: &[Changed],
    warnings: &mut Vec<Warning>,
) -> Result<(), SyntaxError> {
    if changed.is_empty() {
        return Ok(());
    }
    let regular = analysis::Regularity::new(grammar);
    let irregular: Vec<&Changed> = changed.iter().filter(|changed| !regular.is_regular(changed.body)).collect();
    if let Some(lazy) = irregular.iter().find(|changed| changed.option == ChangingOption::Lazy) {
        let reason = check::irregularity(grammar, source, &regular, lazy.body);
        let message = format!("the body of a rule with `lazy` must be regular, but {reason}");
        return Err(SyntaxError::new(source, lazy.span, message).with_hint(
            "write recursion at an end as a repetition: `a ::= x a | y` is `x* y`; other rules have no first end that a finite automaton finds",
        ));
    }
    // A bound that goes is no reason why another one does.
    irregular.iter().for_each(|changed| grammar.set_body(changed.rule, changed.body));
    let regular = analysis::Regularity::new(grammar);
    for changed in irregular {
        let reason = check::irregularity(grammar, source, &regular, changed.body);
        let option = if changed.option == ChangingOption::MaxTokens { "max_tokens" } else { "max_chars" };
        let name = &grammar.rule(changed.rule).name;
        let detail = format!("`{option}` of `{}` has no effect: its body must be regular, but {reason}", shorten(name));
        warnings.push(Warning::of_source(WarningKind::WithoutEffect, name, changed.span, detail));
    }
    Ok(())
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
    // What a look-ahead or an option without effect says is in no rule.
    let mut used = vec![false; grammar.exprs().len()];
    grammar.rules().iter().for_each(|rule| used[rule.body.index()] = true);
    for (index, expr) in grammar.exprs().iter().enumerate().rev().filter(|&(_, expr)| !matches!(expr, Expr::Rule(_))) {
        if used[index] {
            expr.for_each_operand(|operand| used[operand.index()] = true);
        }
    }
    let regular = analysis::Regularity::new(grammar);
    for (_, expr) in grammar.exprs().iter().enumerate().filter(|&(index, _)| used[index]) {
        let Some(operator) = operator(expr) else { continue };
        let mut irregular = None;
        expr.for_each_operand(|id| irregular = irregular.or((!regular.is_regular(id)).then_some(id)));
        let Some(operand) = irregular else { continue };
        let reason = check::irregularity(grammar, source, &regular, operand);
        let span = grammar.span(operand).unwrap_or_default();
        let message = format!("an operand of `{operator}` must be regular, but {reason}");
        return Err(SyntaxError::new(source, span, message));
    }
    Ok(())
}
