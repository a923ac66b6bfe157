//! `playground mask`: the tokens that may follow a text, and why others may not.

use crate::affordable::Unexplained;
use crate::check::{n_rules, nanos, size_of};
use crate::cli::EXIT_CODES;
use crate::controls::{self, Piece, pieces};
use crate::exclusions::Exclusions;
use crate::expected::{ENDED, EXCLUDED, Expected, MARKER};
use crate::failure::{Failure, Verdict};
use crate::options::{FileArgs, PrefixArgs, VocabArgs};
use crate::output::{Output, counted, grouped, harmless, quoted, quoted_short, shown_time};
use crate::refusal::Refusal;
use crate::source::{Loaded, check_stdin_once};
use crate::tokens::{Asked, find_token, is_id, shown_kind, shown_token, token_json};
use maskwright::{MatchError, Matcher, TokenId, TokenKind, TokenMask, Vocab};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options of `mask`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground mask [OPTIONS] GRAMMAR_FILE\n       playground mask [OPTIONS] --regex PATTERN"
)]
pub struct Args {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub prefix: PrefixArgs,
    #[command(flatten)]
    pub vocab: VocabArgs,
    /// How many of the allowed tokens to show, or of each group
    #[arg(short = 'n', long = "show", value_name = "N", default_value_t = 20)]
    pub show: usize,
    /// Group the allowed tokens by their first byte, or by the rule that reads it
    #[arg(long, value_name = "BY")]
    pub group: Option<Grouping>,
    /// Explain why a token is allowed or not: an id, a name, or its text (can be repeated)
    ///
    /// Text is read with the escapes \n \r \t \\ \xHH; put it in double quotes if it is a number.
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    pub why: Vec<String>,
    /// Explain why the text may not end here
    #[arg(long)]
    pub why_not_stop: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// How allowed tokens are grouped.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// By the first byte.
    Byte,
    /// By the rule that reads the first byte; a token counts for each of several.
    Rule,
}

/// Runs the command.
///
/// # Errors
/// If the grammar, the prefix or the vocabulary can't be read, if the prefix doesn't match, or if no token can follow it.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    check_stdin_once(args.file.file.iter().chain(&args.prefix.prefix_file).map(std::path::PathBuf::as_path))?;
    let prefix = args.prefix.read()?;
    let loaded = Loaded::new(&args.file, &args.vocab)?;
    let grammar = &loaded.grammar;
    let vocab = grammar.vocab();
    let read = pieces(&prefix, grammar, args.prefix.control_tokens);
    let mut matcher = at_prefix(&loaded, &prefix, &read)?;
    let start = Instant::now();
    let mask = matcher.mask().or_else(|error| stuck_is_empty(error, vocab))?;
    let first_time = start.elapsed();
    let start = Instant::now();
    let again = matcher.mask().or_else(|error| stuck_is_empty(error, vocab))?;
    let again_time = start.elapsed();
    debug_assert_eq!(mask, again, "a mask is the same each time");
    let forced = matcher.jump_forward_text();
    let expected = Expected::new(&matcher, b"");
    let groups = args.group.map(|by| groups(by, &mask, vocab, &expected)).unwrap_or_default();
    let reasons: Vec<Reason> =
        args.why.iter().map(|asked| Reason::new(&loaded, &matcher, asked, Some(&expected))).collect();
    let exclusions = match args.why_not_stop && !expected.is_accepting {
        true => Exclusions::of(&loaded.source, grammar).that_forbid_end(&matcher),
        false => Vec::new(),
    };
    let report = Report { args, loaded: &loaded, prefix: &prefix, mask, forced, expected, groups, reasons, exclusions };
    let times = [loaded.compile_time, first_time, again_time];
    if args.json {
        output.json(&report.to_json(&times));
    } else {
        report.print(&times, output);
    }
    let may_go_on = report.mask.count() > 0 || report.expected.is_accepting;
    let may_stop = !args.why_not_stop || report.expected.is_accepting;
    Ok(Verdict::of(may_go_on && may_stop && report.reasons.iter().all(|reason| reason.is_allowed)))
}

/// Returns the mask; if no token can follow, that is the empty mask and no error.
fn stuck_is_empty(error: MatchError, vocab: &Vocab) -> Result<TokenMask, Failure> {
    if error.is_stuck() { Ok(TokenMask::new(vocab.n_tokens())) } else { Err(Failure::Step(error.to_string())) }
}

/// Returns a matcher that has read a text.
///
/// # Errors
/// If the text is refused: where, and what was expected there; or if a step is over a limit.
pub fn at_prefix(loaded: &Loaded, prefix: &[u8], read: &[Piece]) -> Result<Matcher, Failure> {
    match controls::accept_for_explanation(&loaded.matcher(), prefix, read)? {
        (matcher, None) => Ok(matcher),
        (_, Some(offset)) => Err(Failure::Prefix(Box::new(Refusal::new(loaded.matcher(), prefix, read, Some(offset))))),
    }
}

/// Allowed tokens that have something in common.
struct Group {
    label: String,
    tokens: Vec<TokenId>,
}

fn groups(by: Grouping, mask: &TokenMask, vocab: &Vocab, expected: &Expected) -> Vec<Group> {
    let mut groups: BTreeMap<String, Vec<TokenId>> = BTreeMap::new();
    // What no rule of an author reads belongs to the one that the schema or the format is part of; a schema by itself has none.
    let around = || expected.open_rules.first().cloned().unwrap_or_else(|| "(no rule)".into());
    for id in mask.iter() {
        let labels: Vec<String> = match (vocab.bytes(id).first(), by) {
            (None, _) => vec!["control tokens".into()],
            _ if vocab.kind(id) == TokenKind::Control || vocab.stop_tokens().contains(&id) => {
                vec!["control tokens".into()]
            }
            (Some(byte), Grouping::Byte) => vec![quoted(&[*byte])],
            (Some(_), Grouping::Rule) if expected.schema.is_some() => vec![around()],
            (Some(_), Grouping::Rule) if expected.unexplained.is_some() => vec!["(not explained)".into()],
            (Some(_), Grouping::Rule) => {
                let rules = expected.readers_of(vocab, Some(id), vocab.bytes(id));
                if rules.is_empty() { vec![around()] } else { rules }
            }
        };
        labels.into_iter().for_each(|label| groups.entry(label).or_default().push(id));
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(label, tokens)| Group { label, tokens }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.tokens.len()));
    groups
}

/// What the command shows.
struct Report<'a> {
    args: &'a Args,
    loaded: &'a Loaded,
    prefix: &'a [u8],
    mask: TokenMask,
    forced: String,
    expected: Expected,
    groups: Vec<Group>,
    reasons: Vec<Reason>,
    /// The exclusions but for which the text might end, if that was asked.
    exclusions: Vec<String>,
}

impl Report<'_> {
    fn share(&self) -> f64 {
        100.0 * self.mask.count() as f64 / self.mask.n_tokens().max(1) as f64
    }

    fn is_stuck(&self) -> bool {
        self.mask.count() == 0 && !self.expected.is_accepting
    }

    fn has_stop_tokens(&self) -> bool {
        !self.loaded.matcher().stop_tokens().is_empty()
    }

    fn print(&self, [compile_time, first_time, again_time]: &[Duration; 3], output: &mut Output) {
        let (grammar, mask) = (&self.loaded.grammar, &self.mask);
        let vocab = grammar.vocab();
        output.line(format_args!(
            "grammar   {}: {}, compiled in {}",
            self.loaded.source.name,
            size_of(grammar),
            shown_time(*compile_time)
        ));
        output.line(format_args!("prefix    {}: {}", counted(self.prefix.len(), "byte"), quoted_tail(self.prefix)));
        output.line(format_args!(
            "allowed   {} of {} tokens of {} ({:.3} %)",
            grouped(mask.count() as u64),
            grouped(mask.n_tokens() as u64),
            self.args.vocab.vocab,
            self.share()
        ));
        output.line(format_args!(
            "mask      {} the first time, {} again",
            shown_time(*first_time),
            shown_time(*again_time)
        ));
        let complete = match (self.expected.is_accepting, self.has_stop_tokens()) {
            (false, _) => "no",
            (true, true) => "yes, a stop token may follow",
            (true, false) => "yes; the vocabulary has no stop token, so that the output has to end by itself",
        };
        output.line(format_args!("complete  {complete}"));
        if !self.forced.is_empty() {
            output.line(format_args!("forced    {}", quoted_short(self.forced.as_bytes(), 80)));
        }
        if self.is_stuck() {
            output.line("stuck     no token of the vocabulary can go on, and the text is not complete");
        }
        if let Some(place) = &self.expected.schema {
            place.lines().iter().for_each(|line| output.line(format_args!("schema    {}", harmless(line))));
        }
        if let Some(note) = self.expected.note() {
            output.line(format_args!("note      {note}"));
        }
        if self.args.group.is_some() {
            for group in &self.groups {
                let shown: Vec<String> =
                    group.tokens.iter().take(self.args.show).map(|&id| shown_token(vocab, id)).collect();
                let more = if group.tokens.len() > shown.len() { " ..." } else { "" };
                let (label, n) = (&group.label, grouped(group.tokens.len() as u64));
                output.line(format_args!("{n:>8}  {label}: {}{more}", shown.join(" ")));
            }
        } else if self.args.show > 0 && mask.count() > 0 {
            let n_shown = self.args.show.min(mask.count());
            output.line(format_args!("\n{:>8}  token", "id"));
            for id in mask.iter().take(n_shown) {
                let kind = match vocab.kind(id) {
                    TokenKind::Text => String::new(),
                    kind => format!(" ({})", shown_kind(kind)),
                };
                output.line(format_args!("{id:>8}  {}{kind}", shown_token(vocab, id)));
            }
            if n_shown < mask.count() {
                output.line(format_args!("{:>8}  and {} more", "", grouped((mask.count() - n_shown) as u64)));
            }
        }
        self.reasons.iter().for_each(|reason| reason.print(output));
        if self.args.why_not_stop {
            match self.expected.is_accepting {
                true => output.line("\nthe text may end here: it is complete"),
                false => {
                    output.line("\nthe text may not end here: it is not complete");
                    self.expected.labelled_lines().iter().for_each(|line| output.line(line));
                    self.exclusions.iter().for_each(|line| output.line(format_args!(" {line}")));
                }
            }
        }
    }

    fn to_json(&self, [compile_time, first_time, again_time]: &[Duration; 3]) -> Value {
        let grammar = &self.loaded.grammar;
        let vocab = grammar.vocab();
        let groups = self.groups.iter().map(|group| {
            let tokens: Vec<&TokenId> = group.tokens.iter().take(self.args.show).collect();
            json!({ "label": group.label, "n_tokens": group.tokens.len(), "tokens": tokens })
        });
        json!({
            "version": 1,
            "grammar": self.loaded.source.name,
            "form": self.loaded.source.form.name(),
            "n_rules": n_rules(grammar),
            "vocab": self.args.vocab.vocab,
            "warnings": self.loaded.source.warnings_json(grammar.warnings()),
            "n_tokens": self.mask.n_tokens(),
            "n_allowed": self.mask.count(),
            "share": self.share() / 100.0,
            "is_accepting": self.expected.is_accepting,
            "is_stuck": self.is_stuck(),
            "forced_text": self.forced,
            "tokens": self.mask.iter().take(self.args.show).map(|id| token_json(vocab, id)).collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
            "why": self.reasons.iter().map(Reason::to_json).collect::<Vec<_>>(),
            "next": self.expected.to_json(),
            "exclusions": self.exclusions,
            "compile_ns": nanos(*compile_time),
            "mask_ns": nanos(*first_time),
            "mask_again_ns": nanos(*again_time),
        })
    }
}

fn quoted_tail(prefix: &[u8]) -> String {
    const SHOWN: usize = 60;
    match prefix.len() {
        ..=SHOWN => quoted(prefix),
        len => format!("...{}", quoted(&prefix[len - SHOWN..])),
    }
}

/// The reason why a token is allowed or not.
pub struct Reason {
    asked: String,
    id: Option<TokenId>,
    shown: String,
    pub is_allowed: bool,
    reason: String,
    /// How the question was read, where that is not plain.
    note: Option<String>,
    /// The rules that read the first byte of an allowed token.
    read_by: Vec<String>,
    /// A text that completes the text with the token, and whether none is shorter.
    completion: Option<(String, bool)>,
    /// Why no rules and no completion are told of an allowed token.
    unexplained: Option<Unexplained>,
    /// The number of bytes of the token that are accepted, if its text is refused.
    n_read: Option<usize>,
    expected: Option<Expected>,
    exclusions: Vec<String>,
}

impl Reason {
    /// Finds out why a token may or may not follow what a matcher has read. `here` is what may follow, if that is known already.
    pub fn new(loaded: &Loaded, matcher: &Matcher, asked: &str, here: Option<&Expected>) -> Self {
        let vocab = Arc::clone(matcher.grammar().vocab());
        let mut reason = Reason {
            asked: asked.to_owned(),
            id: None,
            shown: quoted_short(asked.as_bytes(), 80),
            is_allowed: false,
            reason: String::new(),
            note: is_id(asked).then(|| format!("{asked} was read as an id; the text is written '\"{asked}\"'")),
            read_by: Vec::new(),
            completion: None,
            unexplained: None,
            n_read: None,
            expected: None,
            exclusions: Vec::new(),
        };
        let bytes = match find_token(&vocab, asked) {
            Asked::Token(id) => {
                reason.id = Some(id);
                reason.shown = shown_token(&vocab, id);
                reason.is_allowed = matcher.fork().is_token_allowed(id);
                vocab.bytes(id).to_vec()
            }
            Asked::Unknown(id) => {
                reason.reason =
                    format!("the vocabulary has no token {id}: its ids end at {}", vocab.n_tokens().saturating_sub(1));
                return reason;
            }
            Asked::Text(bytes) => {
                reason.shown = quoted_short(&bytes, 80);
                bytes
            }
        };
        let is_stop = reason.id.is_some_and(|id| matcher.stop_tokens().contains(&id));
        let kind = reason.id.map(|id| vocab.kind(id));
        let here = here.cloned().unwrap_or_else(|| Expected::new(matcher, b""));
        let named = reason.id.and_then(|id| here.is_named(&vocab, id));
        if reason.is_allowed {
            let is_text = kind != Some(TokenKind::Control) && matcher.fork().accept_bytes(&bytes).is_ok();
            reason.reason = match kind {
                _ if is_stop && here.has_ended => "the output has ended, and this is a stop token".into(),
                _ if is_stop && matcher.is_accepting() => "the text is complete, and this is a stop token".into(),
                Some(TokenKind::Control) if here.spells_marker(&vocab, reason.id) => MARKER.into(),
                Some(TokenKind::Control) => "the grammar names this control token here, or a set that has it".into(),
                _ if !is_text => "the grammar names this token here, or a set that has it".into(),
                _ => "the text with it can still be completed".into(),
            };
            let mut ahead = matcher.fork();
            if let Some(id) = reason.id.filter(|_| !is_stop || !matcher.is_accepting())
                && ahead.accept_token(id).is_ok()
            {
                reason.add_allowed(&here, &ahead, if is_text { &bytes } else { b"" });
            }
            return reason;
        }
        if here.has_ended {
            reason.reason = ENDED.into();
            return reason;
        }
        if kind == Some(TokenKind::Padding) && !is_stop {
            reason.reason = "it is padding, which is never allowed".into();
            return reason;
        }
        if is_stop || kind == Some(TokenKind::Control) || bytes.is_empty() {
            reason.reason = if is_stop {
                "it is a stop token, and the text is not complete".into()
            } else if named == Some(false) {
                EXCLUDED.into()
            } else if kind == Some(TokenKind::Control) {
                "it is a control token, which the grammar doesn't name here; its spelling doesn't count as text".into()
            } else {
                "it has no bytes, so it is not text".into()
            };
            if is_stop {
                let exclusions = Exclusions::of(&loaded.source, matcher.grammar());
                reason.exclusions = exclusions.that_forbid_end(matcher);
            }
            reason.expected = Some(here);
            return reason;
        }
        let n_read = match matcher.fork().accept_bytes(&bytes) {
            Ok(()) => bytes.len(),
            Err(error) if error.is_over_budget() => {
                reason.reason = format!("it can't be told: {error}");
                return reason;
            }
            Err(error) => error.byte_offset().unwrap_or(0),
        };
        if n_read == bytes.len() {
            reason.reason = "its bytes may follow, but it is not one token of the vocabulary".into();
            let mut ahead = matcher.fork();
            reason.is_allowed = reason.id.is_none() && ahead.accept_bytes(&bytes).is_ok();
            reason.add_allowed(&here, &ahead, &bytes);
            return reason;
        }
        let mut ahead = matcher.fork();
        let _ = ahead.accept_bytes(&bytes[..n_read]);
        let after = if n_read > 0 { format!(" after {}", quoted(&bytes[..n_read])) } else { String::new() };
        reason.reason = format!("at its byte {n_read}, {} can't follow{after}", shown_at(&bytes, n_read));
        reason.n_read = Some(n_read);
        if named == Some(false) {
            reason.reason = format!("{EXCLUDED}, and as text, {}", reason.reason);
        }
        reason.expected = Some(Expected::behind(&ahead, &bytes[n_read..], here.unexplained));
        reason.exclusions =
            Exclusions::of(&loaded.source, matcher.grammar()).that_forbid_bytes(matcher, &bytes, n_read);
        reason
    }

    /// As [`Self::new`], of a token that is known to be an id.
    pub fn of_id(loaded: &Loaded, matcher: &Matcher, id: TokenId) -> Self {
        Reason { note: None, ..Reason::new(loaded, matcher, &id.to_string(), None) }
    }

    /// Adds what is of interest about an allowed token: which rules read it, and how the text could end. `text` are the bytes that it is read by, none if it is read as a whole.
    fn add_allowed(&mut self, here: &Expected, after: &Matcher, text: &[u8]) {
        self.read_by = here.readers_of(after.grammar().vocab(), self.id, text);
        let behind = Expected::behind(after, b"", here.unexplained);
        (self.completion, self.unexplained) = (behind.completion, behind.unexplained);
    }

    /// Prints it for people.
    pub fn print(&self, output: &mut Output) {
        output.line("");
        self.lines().iter().for_each(|line| output.line(line));
    }

    /// Returns it as lines for people.
    pub fn lines(&self) -> Vec<String> {
        let verdict = if self.is_allowed { "allowed" } else { "not allowed" };
        let id = self.id.map_or(String::new(), |id| format!("token {id} "));
        let mut lines = vec![format!("{id}{}: {verdict}: {}", self.shown, self.reason)];
        lines.extend(self.note.iter().map(|note| format!(" note: {note}")));
        lines.extend(self.unexplained.map(|unexplained| format!(" note: {unexplained}")));
        if !self.read_by.is_empty() {
            lines.push(format!(" read by: {}", self.read_by.join(", ")));
        }
        if let Some((completion, is_shortest)) = &self.completion {
            let label = if *is_shortest { "shortest completion" } else { "a completion" };
            let shown = if completion.is_empty() { "(none needed)" } else { completion };
            lines.push(format!(" {label} behind it: {shown}"));
        }
        lines.extend(self.expected.iter().flat_map(Expected::labelled_lines));
        lines.extend(self.exclusions.iter().map(|line| format!(" {line}")));
        lines
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "asked": self.asked,
            "note": self.note,
            "id": self.id,
            "is_allowed": self.is_allowed,
            "reason": self.reason,
            "read_by": self.read_by,
            "completion_behind": self.completion.as_ref().map(|(text, _)| text),
            "n_bytes_read": self.n_read,
            "exclusions": self.exclusions,
            "unexplained": self.unexplained.map(Unexplained::to_json),
        });
        if let (Value::Object(value), Some(Value::Object(expected))) =
            (&mut value, self.expected.as_ref().map(Expected::to_json))
        {
            value.extend(expected);
        }
        value
    }
}

fn shown_at(bytes: &[u8], index: usize) -> String {
    bytes.get(index).map_or(String::new(), |byte| match byte {
        0x20..0x7F => quoted(&[*byte]),
        _ => format!("\\x{byte:02X}"),
    })
}
