//! Lowering: from definitions to the rules of a grammar.
//!
//! A definition is a rule of the grammar, a rule with a parameter is one for each number that it is used with (`name.5`). A list of jobs says which rules
//! need their body; lowering a body may add jobs.

use super::attributes::{self, Attributes, Ending};
use super::capture::{Capture, Lexeme, without_effect};
use super::items::Body;
use super::json;
use super::scan::{Token, TokenKind};
use super::scope::Scope;
use crate::frontend::check::shorten;
use crate::frontend::regex::{self, RegexOptions};
use crate::frontend::{ReadError, Spend, SyntaxError};
use crate::grammar::overlap::{Beginning, beginnings};
use crate::grammar::{Expr, ExprId, Grammar, GrammarBuilder, Regex, RuleId, Warning, WarningKind};
use crate::limits::Limits;
use crate::regular::{CharSet, Regular};
use crate::util::{Span, closest_name};
use core::ops::Range;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) struct Lowering<'s> {
    pub source: &'s str,
    pub limits: &'s Limits,
    pub builder: GrammarBuilder,
    pub warnings: Vec<Warning>,
    pub captures: Vec<Capture>,
    /// The lexemes of rules.
    pub lexemes: Vec<Lexeme>,
    /// The rules of terminals.
    pub terminals: Vec<RuleId>,
    /// Rules with a bound on their characters.
    pub bounded: Vec<Bounded>,
    /// Whether some rule has a parameter.
    pub has_parameters: bool,
    pub scopes: Vec<Scope>,
    /// The rule that is being lowered.
    current: RuleId,
    /// Grammars given beside the source, by name.
    grammars: &'s [(&'s str, &'s Grammar)],
    /// The root rules of those that were referred to.
    roots: HashMap<&'s str, RuleId>,
    rules: HashMap<Instance, RuleId>,
    /// Definitions whose options were recorded, by scope and index.
    recorded: HashSet<(usize, usize)>,
    jobs: VecDeque<(RuleId, Job)>,
    /// Regexes parsed before, as written.
    regexes: HashMap<&'s str, Regex>,
    pub n_regex_nodes: usize,
    /// Bytes read for rules with parameters.
    pub n_bytes_of_instances: usize,
}

/// A rule whose matches have at most some number of characters, with its body without that bound.
#[derive(Clone, Copy)]
pub(super) struct Bounded {
    pub rule: RuleId,
    pub body: ExprId,
    pub span: Span,
    /// The name of the option.
    pub option: &'static str,
}

/// A definition with a value of its parameter, if it has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Instance {
    pub scope: usize,
    pub definition: usize,
    pub number: Option<u64>,
}

/// What the body of a rule is made of.
enum Job {
    Definition(Instance),
    /// What may stand between the lexemes of a scope.
    Ignored(usize),
}

/// Where a body stands.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub scope: usize,
    /// The value of the parameter of the rule.
    pub number: Option<u64>,
    /// Whether the whole body is one lexeme: a terminal, or a rule that ends where it first can.
    pub is_lexeme: bool,
}

impl<'s> Lowering<'s> {
    pub(super) fn new(source: &'s str, grammars: &'s [(&'s str, &'s Grammar)], limits: &'s Limits) -> Self {
        Lowering {
            source,
            limits,
            builder: GrammarBuilder::new(),
            warnings: Vec::new(),
            captures: Vec::new(),
            lexemes: Vec::new(),
            terminals: Vec::new(),
            current: RuleId::new(0),
            bounded: Vec::new(),
            has_parameters: false,
            scopes: Vec::new(),
            grammars,
            roots: HashMap::new(),
            rules: HashMap::new(),
            recorded: HashSet::new(),
            jobs: VecDeque::new(),
            regexes: HashMap::new(),
            n_regex_nodes: 0,
            n_bytes_of_instances: 0,
        }
    }

    /// Lowers the whole source; returns the root rule.
    pub(super) fn run(&mut self, spend: Spend<'_>) -> Result<RuleId, ReadError> {
        let start = if self.source.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        let element = self.open_scope(start..self.source.len(), 0, spend)?;
        while let Some((rule, job)) = self.jobs.pop_front() {
            let (body, span) = match job {
                Job::Definition(instance) => self.definition(rule, instance, spend)?,
                Job::Ignored(scope) => (self.ignored_body(scope, spend)?, None),
            };
            self.builder.define_at(rule, body, span);
        }
        match *self.builder.expr(element) {
            Expr::Rule(start) => Ok(start),
            _ => {
                let root = self.builder.fresh_rule("start.after_ignored");
                self.builder.define(root, element);
                Ok(root)
            }
        }
    }

    /// Opens the scope of a part of the source; returns what its text matches.
    pub(super) fn open_scope(
        &mut self,
        range: Range<usize>,
        depth: usize,
        spend: Spend<'_>,
    ) -> Result<ExprId, ReadError> {
        let index = self.scopes.len();
        let prefix = if index == 0 { String::new() } else { format!("lark{index}.") };
        let scope = Scope::read(self.source, range, (prefix, depth), self.limits, spend)?;
        for (option, span) in &scope.items.without_effect {
            self.warnings.push(without_effect("start", option, *span));
        }
        let start = scope.definition("start").expect("it has one");
        let names: Vec<usize> = (0..scope.items.definitions.len())
            .filter(|&definition| !scope.items.definitions[definition].has_parameter)
            .collect();
        if scope.items.definitions[start].has_parameter {
            let span = Span::from(scope.items.definitions[start].name.clone());
            return Err(SyntaxError::new(self.source, span, "rule `start` can't have a parameter").into());
        }
        let skips_first = scope.items.options.allow_initial_skip;
        self.scopes.push(scope);
        /// Bytes of a text that take as long to read as a rule to name.
        const BYTES_PER_RULE: usize = 1 << 6;
        for definition in names {
            spend(BYTES_PER_RULE)?;
            self.rule_of(Instance { scope: index, definition, number: None })?;
        }
        let start = self.rule_of(Instance { scope: index, definition: start, number: None })?;
        let element = self.push(Expr::Rule(start), Span::default())?;
        match self.ignored(index)?.filter(|_| skips_first) {
            None => Ok(element),
            Some(ignored) => Ok(self.push(Expr::Sequence([ignored, element].into()), Span::default())?),
        }
    }

    /// Returns the rule of an instance, with a job to lower it if it is new.
    pub(super) fn rule_of(&mut self, instance: Instance) -> Result<RuleId, SyntaxError> {
        if let Some(&rule) = self.rules.get(&instance) {
            return Ok(rule);
        }
        let scope = &self.scopes[instance.scope];
        let definition = &scope.items.definitions[instance.definition];
        let (name, place) = (&definition.text, Span::from(definition.name.clone()));
        let name = match instance.number {
            None => format!("{}{name}", scope.prefix),
            Some(number) => format!("{}{name}.{number}", scope.prefix),
        };
        self.has_parameters |= instance.number.is_some();
        let rule = self.new_rule(&name, place)?;
        self.rules.insert(instance, rule);
        self.jobs.push_back((rule, Job::Definition(instance)));
        Ok(rule)
    }

    fn new_rule(&mut self, name: &str, place: Span) -> Result<RuleId, SyntaxError> {
        // Each rule has a job, and each job was a rule once: their number is that of the rules.
        let n_rules = self.rules.len() + self.scopes.len();
        if n_rules >= self.limits.n_rules_max {
            let message = format!("more rules than the limit n_rules_max = {}", self.limits.n_rules_max);
            let mut error =
                SyntaxError::new(self.source, place, message).over_limit(n_rules + 1, self.limits.n_rules_max);
            if self.has_parameters {
                error = error.with_hint("a rule with a parameter is a rule for each number that it is used with");
            }
            return Err(error);
        }
        // A grammar given beside the source may have taken the name.
        Ok(self.builder.fresh_rule(name))
    }

    /// Returns a reference to what may stand between the lexemes of a scope, if something may.
    pub(super) fn ignored(&mut self, scope: usize) -> Result<Option<ExprId>, SyntaxError> {
        if self.scopes[scope].items.ignored.is_empty() {
            return Ok(None);
        }
        let rule = match self.scopes[scope].ignored {
            Some(rule) => rule,
            None => {
                let name = format!("{}ignored.between", self.scopes[scope].prefix);
                let rule = self.new_rule(&name, Span::default())?;
                self.scopes[scope].ignored = Some(rule);
                self.jobs.push_back((rule, Job::Ignored(scope)));
                rule
            }
        };
        let expr = self.push(Expr::Rule(rule), Span::default())?;
        self.lexemes.push(Lexeme { expr, span: Span::default(), rule: self.current, is_ignored: true });
        Ok(Some(expr))
    }

    fn ignored_body(&mut self, scope: usize, spend: Spend<'_>) -> Result<ExprId, ReadError> {
        let context = Context { scope, number: None, is_lexeme: true };
        let ranges = self.scopes[scope].items.ignored.clone();
        let mut alternatives = Vec::with_capacity(ranges.len());
        for range in ranges {
            alternatives.push(self.body(context, range, spend)?);
        }
        let any = self.push(Expr::Choice(alternatives.into()), Span::default())?;
        let max = self.scopes[scope].items.options.ignore_once.then_some(1);
        Ok(self.push(Expr::Repeat { body: any, min: 0, max }, Span::default())?)
    }

    /// Lowers the body of a definition.
    fn definition(
        &mut self,
        rule: RuleId,
        instance: Instance,
        spend: Spend<'_>,
    ) -> Result<(ExprId, Option<Span>), ReadError> {
        let definition = &self.scopes[instance.scope].items.definitions[instance.definition];
        let name = Span::from(definition.name.clone());
        let (is_terminal, options) = (definition.is_terminal, definition.options.clone());
        self.current = rule;
        if is_terminal {
            self.terminals.push(rule);
        }
        let mut context = Context { scope: instance.scope, number: instance.number, is_lexeme: is_terminal };
        let range = match &definition.body {
            Body::Text(range) => range.clone(),
            Body::Common(pattern) => {
                let regex = self.pattern(pattern, &RegexOptions::default(), name, |_| name, spend)?;
                return Ok((self.push(Expr::Regex(regex), name)?, Some(name)));
            }
        };
        let text = definition.text.clone();
        let Some(options) = options else { return Ok((self.body(context, range, spend)?, Some(name))) };
        let attributes = attributes::read(self.source, options)?;
        self.capture(rule, &text, &attributes)?;
        // Of rules with different numbers, the first says it.
        if self.recorded.insert((instance.scope, instance.definition)) {
            self.record(&text, &attributes, is_terminal, self.scopes[instance.scope].items.options.stop_keeps_marker);
        }
        context.is_lexeme |= attributes.is_lexeme;
        let mut body = self.body(context, range, spend)?;
        body = self.with_ending(body, &attributes.ending, context, spend)?;
        if let Some((n_chars, span)) = attributes.chars_max {
            let any = self.push(Expr::Class(CharSet::all()), span)?;
            let short = self.push(Expr::Repeat { body: any, min: 0, max: Some(n_chars) }, span)?;
            self.bounded.push(Bounded { rule, body, span, option: "max_chars" });
            body = self.push(Expr::And(body, short), span)?;
        }
        if let Some((n_tokens, span)) = attributes.tokens_max.filter(|_| !is_terminal) {
            body = match self.builder.repeated_tokens(body, n_tokens) {
                Some(tokens) => self.push(tokens, span)?,
                None => {
                    let unbounded = self.bounded.last().filter(|bounded| bounded.rule == rule).map(|last| last.body);
                    let unbounded = unbounded.unwrap_or(body);
                    self.bounded.push(Bounded { rule, body: unbounded, span, option: "max_tokens" });
                    self.push(Expr::AtMostTokens { body, max: n_tokens }, span)?
                }
            };
        }
        if attributes.is_lexeme {
            body = self.lexeme(body, instance.scope, name)?;
        }
        Ok((body, Some(name)))
    }

    /// Names what a rule matches, and its marker where that is one text.
    fn capture(&mut self, rule: RuleId, name: &str, attributes: &Attributes) -> Result<(), SyntaxError> {
        if let Some(given) = &attributes.capture {
            self.builder.capture(rule, given.as_deref().unwrap_or(name));
        }
        if let (Some((name, _)), Ending::Suffix(marker)) = (&attributes.stop_capture, &attributes.ending)
            && let Some(text) = self.stop_text(marker)?
        {
            self.builder.capture_last(rule, name, text.len() as u32);
        }
        Ok(())
    }

    /// Records the captures of a rule, and warns of options without effect, or with another for others.
    fn record(&mut self, rule: &str, attributes: &Attributes, is_terminal: bool, stop_keeps_marker: bool) {
        let capture = |name: String, is_marker| Capture { name, rule: rule.to_owned(), is_marker };
        if let Some(name) = &attributes.capture {
            self.captures.push(capture(name.clone().unwrap_or_else(|| rule.to_owned()), false));
        }
        if let Some((name, span)) = &attributes.stop_capture {
            self.captures.push(capture(name.clone(), true));
            let is_text = |marker| matches!(self.stop_text(marker), Ok(Some(_)));
            if !matches!(&attributes.ending, Ending::Suffix(marker) if is_text(marker)) {
                let detail = "`stop_capture` captures nothing: it names the marker of `suffix` where that is a string";
                self.warnings.push(Warning::of_source(WarningKind::WithoutEffect, rule, *span, detail.to_owned()));
            }
        }
        let of_terminal = attributes.tokens_max.filter(|_| is_terminal).map(|(_, span)| span);
        for span in attributes.without_effect.iter().copied().chain(of_terminal) {
            let option = &self.source[span.start as usize..span.end as usize];
            self.warnings.push(without_effect(rule, option, span));
        }
        if let Ending::Stop(marker) = &attributes.ending
            && !stop_keeps_marker
            && &self.source[marker.range.clone()] != "\"\""
        {
            let detail = "`stop` hides its marker: it is no part of the text; XGrammar keeps it there, like `suffix`";
            let span = marker.range.clone().into();
            self.warnings.push(Warning::of_source(WarningKind::ReadDifferently, rule, span, detail.to_owned()));
        }
    }

    /// Returns the matches of a lexeme that end as its options say.
    fn with_ending(
        &mut self,
        body: ExprId,
        ending: &Ending,
        context: Context,
        spend: Spend<'_>,
    ) -> Result<ExprId, ReadError> {
        match ending {
            Ending::Greedy => Ok(body),
            Ending::Lazy => Ok(self.lazy(body)?),
            Ending::Suffix(marker) => self.through_marker(body, marker, context, spend),
            Ending::Stop(marker) if self.scopes[context.scope].items.options.stop_keeps_marker => {
                self.through_marker(body, marker, context, spend)
            }
            Ending::Stop(marker) => match self.stop_text(marker)? {
                Some(text) => Ok(self.stopped(body, &text)?),
                None => {
                    let marker = self.marker(marker, context, spend)?;
                    Ok(self.without(body, marker, Vec::new())?)
                }
            },
        }
    }

    /// Returns the matches of the body and the marker behind it that end where they first can.
    fn through_marker(
        &mut self,
        body: ExprId,
        marker: &Token,
        context: Context,
        spend: Spend<'_>,
    ) -> Result<ExprId, ReadError> {
        let marker = self.marker(marker, context, spend)?;
        let both = self.push(Expr::Sequence([body, marker].into()), Span::default())?;
        Ok(self.lazy(both)?)
    }

    fn marker(&mut self, marker: &Token, context: Context, spend: Spend<'_>) -> Result<ExprId, ReadError> {
        self.body(Context { is_lexeme: true, ..context }, marker.range.clone(), spend)
    }

    /// Returns the text of the marker of `stop`, if it has only one.
    fn stop_text(&self, marker: &Token) -> Result<Option<String>, SyntaxError> {
        let written = &self.source[marker.range.clone()];
        if marker.kind != TokenKind::String || written.ends_with('i') {
            return Ok(None);
        }
        json::text(self.source, marker.range.start + 1..marker.range.end - 1).map(Some)
    }

    /// Returns the matches that begin with no shorter one: `body - body .+`.
    fn lazy(&mut self, body: ExprId) -> Result<ExprId, SyntaxError> {
        let any = self.push(Expr::Class(CharSet::all()), Span::default())?;
        let more = self.push(Expr::Repeat { body: any, min: 1, max: None }, Span::default())?;
        let longer = self.push(Expr::Sequence([body, more].into()), Span::default())?;
        self.push(Expr::Minus(body, longer), Span::default())
    }

    /// Returns the matches `t` of `body` for which no proper prefix of `t marker` is a match and a marker.
    ///
    /// Such a prefix either lies in `t`, so that `t` is in `body marker .*`; or it ends inside the marker. Then the marker's end of `t marker` that it lacks is a
    /// beginning of the marker, too: with `aa`, the text `xa` is followed by `aa`, but `xaa` ends sooner. So for each k where the last k characters of the marker are its first
    /// k, `t` is not in `body m`, where m is the marker without its last k.
    fn stopped(&mut self, body: ExprId, marker: &str) -> Result<ExprId, SyntaxError> {
        if marker.is_empty() {
            return Ok(body);
        }
        let whole = self.push(Expr::Literal(marker.as_bytes().into()), Span::default())?;
        let ends = Beginning::new(marker).places_in(marker);
        self.check_n_exprs(ends.len(), Span::default())?;
        let mut earlier = Vec::new();
        if !ends.is_empty() {
            let first = beginnings(marker, &ends, &mut |expr| self.push(expr, Span::default()))?;
            earlier.push(self.push(Expr::Sequence([body, first].into()), Span::default())?);
        }
        self.without(body, whole, earlier)
    }

    /// Returns the matches of `body` that neither hold a marker behind a match, nor are among the `others`.
    fn without(&mut self, body: ExprId, marker: ExprId, mut others: Vec<ExprId>) -> Result<ExprId, SyntaxError> {
        let any = self.push(Expr::Class(CharSet::all()), Span::default())?;
        let rest = self.push(Expr::Repeat { body: any, min: 0, max: None }, Span::default())?;
        others.push(self.push(Expr::Sequence([body, marker, rest].into()), Span::default())?);
        let refused = self.push(Expr::Choice(others.into()), Span::default())?;
        self.push(Expr::Minus(body, refused), Span::default())
    }

    /// Returns the root rule of a grammar given beside the source, copied here at the first reference.
    pub(super) fn grammar(&mut self, reference: &Token) -> Result<RuleId, SyntaxError> {
        let name = &self.source[reference.range.start + 1..reference.range.end];
        if let Some(&root) = self.roots.get(name) {
            return Ok(root);
        }
        let span = Span::from(reference.range.clone());
        let Some(&(_, grammar)) = self.grammars.iter().find(|(known, _)| *known == name) else {
            let error = SyntaxError::new(self.source, span, format!("there is no grammar `{}`", shorten(name)));
            return Err(match closest_name(name, self.grammars.iter().map(|&(known, _)| known)) {
                Some(near) => error.with_hint(format!("did you mean `@{near}`?")),
                None => error.with_hint("grammars that `@` refers to are given beside the source, by name"),
            });
        };
        self.check_n_exprs(grammar.exprs().len(), span)?;
        let root = self.builder.add_grammar(grammar, &format!("{name}-"));
        self.roots.insert(name, root);
        Ok(root)
    }

    /// Returns a lexeme with what may follow it.
    pub(super) fn lexeme(&mut self, expr: ExprId, scope: usize, span: Span) -> Result<ExprId, SyntaxError> {
        self.lexemes.push(Lexeme { expr, span, rule: self.current, is_ignored: false });
        match self.ignored(scope)? {
            None => Ok(expr),
            Some(ignored) => self.push(Expr::Sequence([expr, ignored].into()), span),
        }
    }

    /// Returns the regex of a token.
    pub(super) fn regex(&mut self, range: Range<usize>, spend: Spend<'_>) -> Result<Regex, ReadError> {
        let written = &self.source[range.clone()];
        if let Some(regex) = self.regexes.get(written) {
            return Ok(regex.clone());
        }
        let close = written.rfind('/').expect("flags hold no slash");
        let mut options = RegexOptions::default();
        let mut lines = "";
        for (at, flag) in written[close + 1..].char_indices() {
            match flag {
                'i' | 's' | 'x' => assert!(options.set_flag(flag), "a flag of regexes"),
                'm' => lines = "(?m)",
                // Classes are those of Unicode anyway.
                'u' => {}
                _ => {
                    let start = range.start + close + 1 + at;
                    let span = Span::new(start, start + flag.len_utf8());
                    return Err(SyntaxError::new(self.source, span, format!("unknown regex flag `{flag}`"))
                        .with_hint("flags are `i`, `m`, `s`, `u` and `x`; a name after a regex needs a blank before it")
                        .into());
                }
            }
        }
        let pattern = format!("{lines}{}", &written[1..close]);
        let first = range.start + 1;
        let place = |span: Span| {
            let place = |offset: u32| first + (offset as usize).saturating_sub(lines.len());
            Span::new(place(span.start), place(span.end))
        };
        let regex = self.pattern(&pattern, &options, range.into(), place, spend)?;
        self.regexes.insert(written, regex.clone());
        Ok(regex)
    }

    /// Parses a pattern. `place` maps a span of it to one of the source.
    fn pattern(
        &mut self,
        pattern: &str,
        options: &RegexOptions,
        span: Span,
        place: impl Fn(Span) -> Span,
        spend: Spend<'_>,
    ) -> Result<Regex, ReadError> {
        /// Bytes of other text that take as long to parse as a short regex.
        const REGEX_BYTES: usize = 1 << 10;
        spend(REGEX_BYTES)?;
        let regular = regex::parse_within(pattern, options, self.limits, spend);
        let regular: Regular =
            regular.map_err(|error| error.map_syntax(|error| error.moved(self.source, place(error.span()))))?;
        self.n_regex_nodes += regular.nodes().len();
        self.check_n_exprs(0, span)?;
        let (pattern, flags) = options.in_ebnf(pattern);
        Ok(Regex { pattern: pattern.into(), flags: flags.into(), regular: Arc::new(regular) })
    }

    pub(super) fn push(&mut self, expr: Expr, span: Span) -> Result<ExprId, SyntaxError> {
        self.check_n_exprs(0, span)?;
        Ok(self.builder.push_at(expr, (span != Span::default()).then_some(span)))
    }

    /// Checks the number of expressions, pending ones included.
    pub(super) fn check_n_exprs(&self, n_waiting: usize, span: Span) -> Result<(), SyntaxError> {
        let limit = self.limits.n_exprs_max;
        if self.builder.n_exprs() + self.n_regex_nodes + n_waiting < limit {
            return Ok(());
        }
        let message = format!("more expressions than the limit n_exprs_max = {limit}");
        Err(SyntaxError::new(self.source, span, message).over_limit(limit.saturating_add(1), limit))
    }
}
