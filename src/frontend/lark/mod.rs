//! Lark, as llguidance and XGrammar read it, with one difference: matching is exact.
//!
//! llguidance splits the text into lexemes first, and takes the longest lexeme that fits, so that `start: /[ab]+/ "b"` matches nothing there; here, as for XGrammar,
//! a text matches if any split fits. Every text that llguidance accepts is accepted, but for `stop` below.
//!
//! # Syntax
//!
//! A text is a list of definitions, one a line; a line that begins with `|` continues the one before. `//` and `#` begin comments. Names that
//! begin with a capital (after `_`) are terminals, others are rules; the whole text matches the rule `start`.
//!
//! | written | meaning |
//! |---|---|
//! | `name: ...` `NAME: ...` | a rule; a terminal, which is made of terminals alone, without recursion |
//! | `"abc"` `"abc"i` | this text, or in any case; escapes are those of JSON and `\xHH` |
//! | `"a".."z"` | one character of a range |
//! | `/[a-z]+/i` | a regex that matches as a whole, with flags `i`, `m`, `s`, `u`, `x`; `.` leaves out `\n` without `s`, classes are those of Unicode |
//! | `x? x* x+ x~2 x~2..5 x{2} x{2,} x{,5} x{2,5}` | repetition |
//! | `(x)` `[x]` | a group; an optional group |
//! | `x y` `x \| y` | a sequence; a choice; nothing at all is the empty text |
//! | `A & B` `~A` | in terminals: an intersection, looser than a sequence; a complement, tighter than repetition |
//! | `%regex {"substring_chunks": ["a ", "b"]}` | any contiguous run of chunks, of the words of `substring_words`, of the characters of `substring_chars` |
//! | `<\|name\|>` `<name>` `<[5]>` `<[1-3,7]>` | in rules: one control token by name or id |
//! | `<[^1-3,7]>` `<[*]>` | in rules: any one token but these, read as a whole whatever its text is; never padding or a stop token |
//! | `%json {...}` | in rules: a JSON document that the schema accepts |
//! | `@name` | in rules: a grammar that was given beside the source |
//! | `%lark {...}` | in rules: another text, with names, ignored texts and options of its own |
//! | `%import common.INT` `... -> N` `%import common (A, B)` | terminals that are known |
//! | `%ignore X` | what may stand between lexemes |
//! | `%llguidance {...}` `%grammar_options {...}` | `allow_initial_skip`, `ignore_once` (or `"skip_repetition": "once"`), `stop_keeps_marker`; `no_forcing` has no effect |
//! | `?name:` `!name:` `x -> alias` | the shape of syntax trees, which has no effect |
//! | `name::_: ...` `name::set_bit(3)` `x %if bit_set(3)` | a rule with a parameter of 64 bits, and its conditions |
//!
//! *Markers.* Where a string in a rule holds the name of a control token, that token is another way to write that part, as for XGrammar; text in terminals and regexes is
//! spelled by text.
//!
//! *Lexemes.* Strings, ranges, regexes and terminals in rules are lexemes. After each lexeme, special token, block and `@name`, any number of texts of `%ignore` may stand
//! (one with `ignore_once`): also after the last, as for XGrammar, and before the first with `allow_initial_skip`.
//!
//! *Rule options* stand in brackets after the name. The body of a rule with one of the first three is one lexeme.
//!
//! | written | meaning |
//! |---|---|
//! | `lazy` | a match ends where it first can: no match begins with a shorter one |
//! | `suffix=X` | the body, then a string, regex or terminal X: the whole is lazy |
//! | `stop=X` | the body up to where X first follows; the marker itself is no part of the text, and may come from what follows the rule. XGrammar keeps the marker in the text, which a warning says; with `stop_keeps_marker` the text is that of `suffix`. Where X is no string, the body just holds no marker. `stop=""` is the body alone |
//! | `max_chars=n` | at most n characters; the body must be regular, or else it has no effect |
//! | `capture` `capture="x"` `stop_capture="x"` | names for parts of the text ([`Parsed::captures`], [`Matcher::captures`](crate::Matcher::captures)). The marker of `suffix` is a part if it is a string; that of `stop` is none |
//! | `max_tokens=n` | at most n tokens, as [`Expr::AtMostTokens`](crate::grammar::Expr::AtMostTokens) counts them; in rules. The body must be regular, or a repeated token or set of tokens, or else it has no effect |
//! | `temperature=x` | no effect on the language |
//!
//! Not supported, by an error: priorities, templates, `%declare`, `%override`, `%extend`, other imports, look-around.
//!
//! # Method
//!
//! A first pass finds definitions and directives; then each body is lowered with an explicit stack, as that of [`ebnf`](super::ebnf). A rule with a parameter is lowered for each
//! number that it is used with, at most [`Limits::n_rules_max`] in all. `%lark` blocks are parts of the same source with other names.

mod atom;
mod attributes;
mod body;
mod capture;
mod common;
mod items;
mod json;
mod lint;
mod lower;
mod param;
mod scan;
mod scope;

use super::check;
use super::{ReadError, Spend, SyntaxError};
use crate::grammar::analysis::{self, Obstacle};
use crate::grammar::{Grammar, Warning, WarningKind};
use crate::limits::Limits;
use check::shorten;
use lower::Lowering;

pub use capture::Capture;

/// A parsed text with its warnings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parsed {
    /// The grammar. Its root rule is `start`, perhaps after what is ignored.
    pub grammar: Grammar,
    /// Probable mistakes that are no errors.
    pub warnings: Vec<Warning>,
    /// The captures, in order of their rules.
    pub captures: Vec<Capture>,
}

/// Parses a Lark text with the root rule `start`.
///
/// ```
/// use maskwright::{Limits, frontend::lark};
/// let source = "start: item (\",\" item)*\nitem: \"id=\" INT\n%import common (INT, WS)\n%ignore WS";
/// let parsed = lark::parse(source, &Limits::default()).unwrap();
/// assert_eq!(&*parsed.grammar.rule(parsed.grammar.root()).name, "start");
/// let error = lark::parse("start: itme\nitem: \"x\"", &Limits::default()).unwrap_err();
/// assert_eq!(error.to_string(), "undefined name `itme` at line 1, column 8");
/// ```
///
/// # Errors
/// If the text is malformed, has undefined or duplicate names, recursive terminals, a reachable rule that can never finish, what is not
/// supported, or more than `limits` allow.
pub fn parse(source: &str, limits: &Limits) -> Result<Parsed, SyntaxError> {
    parse_with(source, &[], limits)
}

/// As [`parse`], with grammars to which `@name` refers. Their rules are copied behind those of the source: rule `a` of grammar `name` is called
/// `name-a`, or that and a number where there is such a rule.
///
/// ```
/// use maskwright::{Limits, frontend::lark};
/// let limits = Limits::default();
/// let status = lark::parse("start: \"ok\" | \"cancelled\"", &limits)?.grammar;
/// let parsed = lark::parse_with("start: \"status: \" @status", &[("status", &status)], &limits)?;
/// assert_eq!(&*parsed.grammar.rules()[1].name, "status-start");
/// # Ok::<(), maskwright::frontend::SyntaxError>(())
/// ```
///
/// # Errors
/// As [`parse`], and if `@` refers to no grammar.
pub fn parse_with(source: &str, grammars: &[(&str, &Grammar)], limits: &Limits) -> Result<Parsed, SyntaxError> {
    parse_within(source, grammars, limits, &mut |_| Ok(())).map_err(ReadError::uninterrupted)
}

/// As [`parse_with`], but reports the bytes read to `spend` now and then, whose error ends it.
pub(crate) fn parse_within(
    source: &str,
    grammars: &[(&str, &Grammar)],
    limits: &Limits,
    spend: Spend<'_>,
) -> Result<Parsed, ReadError> {
    check::source_length(source, limits)?;
    let mut lowering = Lowering::new(source, grammars, limits);
    let root = lowering.run(spend)?;
    let Lowering { mut builder, mut warnings, captures, lexemes, terminals, bounded, has_parameters, .. } = lowering;
    builder.set_source(source);
    let mut grammar = builder.finish(root).expect("every rule has its body");
    spend(super::progress::BYTES_PER_CHECK)?;
    check_terminals(&grammar, source, &terminals)?;
    check_bounds(&mut grammar, source, &bounded, &mut warnings);
    // With parameters, a rule without an alternative for some number is no mistake: it is a way that is closed.
    if !has_parameters {
        check::rules_finish(&grammar, source)?;
    }
    spend(super::progress::BYTES_PER_CHECK)?;
    warnings.extend(analysis::warnings(&grammar));
    warnings.extend(lint::longest_match(&grammar, source, &lexemes, limits, spend)?);
    Ok(Parsed { grammar, warnings, captures })
}

/// Refuses terminals that refer to themselves.
fn check_terminals(grammar: &Grammar, source: &str, terminals: &[crate::grammar::RuleId]) -> Result<(), SyntaxError> {
    let regular = analysis::Regularity::new(grammar);
    for &terminal in terminals {
        let body = grammar.rule(terminal).body;
        if regular.is_regular(body) {
            continue;
        }
        let Obstacle::Cycle(rules) = regular.obstacle(body) else { unreachable!("terminals have no control tokens") };
        let rule = grammar.rule(rules[0]);
        let message = format!("terminal `{}` refers to itself", shorten(&rule.name));
        return Err(SyntaxError::new(source, rule.span.unwrap_or_default(), message)
            .with_hint("only rules, whose names begin with a lower-case letter, can be recursive"));
    }
    Ok(())
}

/// Drops bounds on the characters and tokens of rules that are not regular, with a warning.
fn check_bounds(grammar: &mut Grammar, source: &str, bounded: &[lower::Bounded], warnings: &mut Vec<Warning>) {
    if bounded.is_empty() {
        return;
    }
    let regular = analysis::Regularity::new(grammar);
    let is_irregular = |bounded: &&lower::Bounded| !regular.is_regular(bounded.body);
    let irregular: Vec<&lower::Bounded> = bounded.iter().filter(is_irregular).collect();
    // A bound that goes is no reason why another one does.
    irregular.iter().for_each(|bounded| grammar.set_body(bounded.rule, bounded.body));
    let regular = analysis::Regularity::new(grammar);
    for &lower::Bounded { rule, body, span, option } in irregular {
        let reason = check::irregularity(grammar, source, &regular, body);
        let name = &grammar.rule(rule).name;
        let detail = format!("`{option}` of `{}` has no effect: its body must be regular, but {reason}", shorten(name));
        warnings.push(Warning::of_source(WarningKind::WithoutEffect, name, span, detail));
    }
}
