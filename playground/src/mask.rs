//! `playground mask`: the tokens that may follow a text, and why others may not.

use crate::check::nanos;
use crate::cli::MaskArgs;
use crate::controls::{self, Piece, pieces};
use crate::document::DocumentPosition;
use crate::expected::{Expected, shown_control};
use crate::failure::{Failure, Verdict};
use crate::output::{Output, counted, grouped, quoted, quoted_short, shown_time};
use crate::source::{GrammarSource, check_stdin_once, read_file};
use crate::vocabulary;
use maskwright::grammar::ControlRef;
use maskwright::{CompiledGrammar, MatchError, Matcher, TokenId, TokenKind, TokenMask, Vocab};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs the command.
///
/// # Errors
/// If the grammar, the prefix or the vocabulary can't be read, if the prefix doesn't match, or if no token can follow it.
pub fn run(args: &MaskArgs, output: &mut Output) -> Result<Verdict, Failure> {
    check_stdin_once(args.file.iter().chain(&args.prefix_file).map(std::path::PathBuf::as_path))?;
    let source = GrammarSource::read(&args.grammar, args.file.as_deref())?;
    let prefix = match &args.prefix_file {
        Some(path) => read_file(path)?,
        None => args.prefix.clone().unwrap_or_default().into_bytes(),
    };
    let vocab = Arc::new(vocabulary::read(&args.vocab)?);
    let (grammar, compile_time) = source.compile(Arc::clone(&vocab))?;
    let read = pieces(&prefix, &grammar, args.control_tokens);
    let mut matcher = at_prefix(&grammar, &prefix, &read)?;
    let start = Instant::now();
    let mask = matcher.mask().or_else(|error| stuck_is_empty(error, &vocab))?;
    let first_time = start.elapsed();
    let start = Instant::now();
    let again = matcher.mask().or_else(|error| stuck_is_empty(error, &vocab))?;
    let again_time = start.elapsed();
    debug_assert_eq!(mask, again, "a mask is the same each time");
    let forced = matcher.jump_forward_text();
    let reasons: Vec<Reason> = args.why.iter().map(|asked| Reason::new(&matcher, &prefix, &read, asked)).collect();
    let times = Times { compile_time, first_time, again_time };
    if args.json {
        output.json(&to_json(args, &source, &matcher, &mask, &forced, &reasons, &times));
    } else {
        print(args, &source, &prefix, &matcher, &mask, &forced, &times, output);
        reasons.iter().for_each(|reason| reason.print(output));
    }
    Ok(Verdict::of(mask.count() > 0 && reasons.iter().all(|reason| reason.is_allowed)))
}

struct Times {
    compile_time: Duration,
    first_time: Duration,
    again_time: Duration,
}

/// Returns the mask; if no token can follow, that is the empty mask and no error.
fn stuck_is_empty(error: MatchError, vocab: &Vocab) -> Result<TokenMask, Failure> {
    if error.is_stuck() { Ok(TokenMask::new(vocab.n_tokens())) } else { Err(Failure::Prefix(error.to_string())) }
}

fn at_prefix(grammar: &CompiledGrammar, prefix: &[u8], read: &[Piece]) -> Result<Matcher, Failure> {
    let mut matcher = grammar.matcher();
    let Some(offset) = controls::accept(&mut matcher, prefix, read) else { return Ok(matcher) };
    let position = DocumentPosition::new(prefix, offset);
    let mut matcher = grammar.matcher();
    let read = controls::cut(read, offset);
    controls::accept(&mut matcher, prefix, &read);
    let (line, column) = (position.line, position.column);
    let mut message = format!("the prefix does not match at line {line}, column {column} (byte {offset})\n{position}");
    for line in Expected::new(&matcher, &prefix[..offset], &read).lines() {
        message.push_str(&format!("\n expected: {line}"));
    }
    Err(Failure::Prefix(message))
}

fn share(mask: &TokenMask) -> f64 {
    100.0 * mask.count() as f64 / mask.n_tokens().max(1) as f64
}

#[expect(clippy::too_many_arguments, reason = "the parts of one report")]
fn print(
    args: &MaskArgs,
    source: &GrammarSource,
    prefix: &[u8],
    matcher: &Matcher,
    mask: &TokenMask,
    forced: &str,
    times: &Times,
    output: &mut Output,
) {
    let grammar = matcher.grammar();
    let (n_rules, n_states) = (counted(grammar.grammar().rules().len(), "rule"), counted(grammar.n_states(), "state"));
    let compile_time = shown_time(times.compile_time);
    output.line(format_args!("grammar   {}: {n_rules}, {n_states}, compiled in {compile_time}", source.name));
    output.line(format_args!("prefix    {}: {}", counted(prefix.len(), "byte"), quoted_tail(prefix)));
    output.line(format_args!(
        "allowed   {} of {} tokens of {} ({:.3} %)",
        grouped(mask.count() as u64),
        grouped(mask.n_tokens() as u64),
        args.vocab,
        share(mask)
    ));
    output.line(format_args!(
        "mask      {} the first time, {} again",
        shown_time(times.first_time),
        shown_time(times.again_time)
    ));
    output
        .line(format_args!("complete  {}", if matcher.is_accepting() { "yes, a stop token may follow" } else { "no" }));
    if !forced.is_empty() {
        output.line(format_args!("forced    {}", quoted_short(forced.as_bytes(), 80)));
    }
    if mask.count() == 0 && !matcher.is_accepting() {
        output.line("stuck     no token of the vocabulary can go on, and the text is not complete");
    }
    if args.show > 0 && mask.count() > 0 {
        let n_shown = args.show.min(mask.count());
        output.line(format_args!("\n{:>8}  token", "id"));
        for token in mask.iter().take(n_shown) {
            output.line(format_args!("{token:>8}  {}", shown_token(grammar.vocab(), token)));
        }
        if n_shown < mask.count() {
            output.line(format_args!("{:>8}  and {} more", "", grouped((mask.count() - n_shown) as u64)));
        }
    }
}

fn quoted_tail(prefix: &[u8]) -> String {
    const SHOWN: usize = 60;
    match prefix.len() {
        ..=SHOWN => quoted(prefix),
        len => format!("...{}", quoted(&prefix[len - SHOWN..])),
    }
}

fn shown_token(vocab: &Vocab, token: TokenId) -> String {
    match (vocab.kind(token), vocab.name(token)) {
        (TokenKind::Text, _) | (_, None) => quoted_short(vocab.bytes(token), 80),
        (_, Some(name)) => {
            format!("{} ({})", shown_control(&ControlRef::Name(name.into())), kind_name(vocab.kind(token)))
        }
    }
}

fn kind_name(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::Text => "text",
        TokenKind::Control => "control token",
        TokenKind::AddedText => "added text",
        TokenKind::Padding => "padding",
    }
}

fn to_json(
    args: &MaskArgs,
    source: &GrammarSource,
    matcher: &Matcher,
    mask: &TokenMask,
    forced: &str,
    reasons: &[Reason],
    times: &Times,
) -> Value {
    let vocab = matcher.grammar().vocab();
    let token = |id: TokenId| json!({ "id": id, "text": String::from_utf8_lossy(vocab.bytes(id)), "bytes": vocab.bytes(id), "name": vocab.name(id) });
    json!({
        "grammar": source.name,
        "vocab": args.vocab,
        "warnings": matcher.grammar().warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "n_tokens": mask.n_tokens(),
        "n_allowed": mask.count(),
        "share": share(mask) / 100.0,
        "is_accepting": matcher.is_accepting(),
        "is_stuck": mask.count() == 0 && !matcher.is_accepting(),
        "forced_text": forced,
        "tokens": mask.iter().take(args.show).map(token).collect::<Vec<_>>(),
        "why": reasons.iter().map(Reason::to_json).collect::<Vec<_>>(),
        "compile_ns": nanos(times.compile_time),
        "mask_ns": nanos(times.first_time),
        "mask_again_ns": nanos(times.again_time),
    })
}

/// The reason why a token is allowed or not.
struct Reason {
    asked: String,
    id: Option<TokenId>,
    shown: String,
    is_allowed: bool,
    reason: String,
    /// The number of bytes of the token that are accepted, if its text is refused.
    n_read: Option<usize>,
    expected: Option<Expected>,
}

impl Reason {
    fn new(matcher: &Matcher, prefix: &[u8], read: &[Piece], asked: &str) -> Self {
        let vocab = Arc::clone(matcher.grammar().vocab());
        let mut reason = Reason {
            asked: asked.to_owned(),
            id: None,
            shown: quoted_short(asked.as_bytes(), 80),
            is_allowed: false,
            reason: String::new(),
            n_read: None,
            expected: None,
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
            Asked::Text(bytes) => bytes,
        };
        let is_stop = reason.id.is_some_and(|id| matcher.stop_tokens().contains(&id));
        let kind = reason.id.map(|id| vocab.kind(id));
        if reason.is_allowed {
            reason.reason = match kind {
                _ if is_stop && matcher.is_accepting() => "the text is complete, and this is a stop token".into(),
                Some(TokenKind::Control) => "the grammar names this control token here".into(),
                _ => "the text with it can still be completed".into(),
            };
            return reason;
        }
        if kind == Some(TokenKind::Padding) && !is_stop {
            reason.reason = "it is padding, which is never allowed".into();
            return reason;
        }
        if is_stop || bytes.is_empty() {
            reason.reason = if is_stop {
                "it is a stop token, and the text is not complete".into()
            } else if kind == Some(TokenKind::Control) {
                "it is a control token, which the grammar doesn't name here; its spelling doesn't count as text".into()
            } else {
                "it has no bytes, so it is not text".into()
            };
            reason.expected = Some(Expected::new(matcher, prefix, read));
            return reason;
        }
        let n_read = match matcher.fork().accept_bytes(&bytes) {
            Ok(()) => bytes.len(),
            Err(error) => error.byte_offset().unwrap_or(0),
        };
        if n_read == bytes.len() {
            reason.reason = "its bytes may follow, but it is not one token of the vocabulary".into();
            let mut matcher = matcher.fork();
            reason.is_allowed = reason.id.is_none() && matcher.accept_bytes(&bytes).is_ok();
            return reason;
        }
        let mut text = prefix.to_vec();
        text.extend_from_slice(&bytes[..n_read]);
        let mut read = read.to_vec();
        read.push(Piece::Bytes(prefix.len()..text.len()));
        let mut matcher = matcher.fork();
        let _ = matcher.accept_bytes(&bytes[..n_read]);
        let after = if n_read > 0 { format!(" after {}", quoted(&bytes[..n_read])) } else { String::new() };
        reason.reason = format!("at its byte {n_read}, {} can't follow{after}", shown_at(&bytes, n_read));
        reason.n_read = Some(n_read);
        reason.expected = Some(Expected::new(&matcher, &text, &read));
        reason
    }

    fn print(&self, output: &mut Output) {
        let verdict = if self.is_allowed { "allowed" } else { "not allowed" };
        let id = self.id.map_or(String::new(), |id| format!("token {id} "));
        output.line(format_args!("\n{id}{}: {verdict}: {}", self.shown, self.reason));
        let mut label = "expected: ";
        for line in self.expected.iter().flat_map(Expected::lines) {
            output.line(format_args!(" {label}{line}"));
            label = "      or: ";
        }
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "asked": self.asked,
            "id": self.id,
            "is_allowed": self.is_allowed,
            "reason": self.reason,
            "n_bytes_read": self.n_read,
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

/// What the user asks about.
#[derive(PartialEq, Eq, Debug)]
enum Asked {
    /// A token.
    Token(TokenId),
    /// An id that no token has.
    Unknown(u64),
    /// A text that is no token.
    Text(Vec<u8>),
}

/// Finds a token by id, name or text; a text in double quotes is a text.
fn find_token(vocab: &Vocab, asked: &str) -> Asked {
    if let Ok(id) = asked.parse::<u64>() {
        return match TokenId::try_from(id) {
            Ok(token) if (token as usize) < vocab.n_tokens() => Asked::Token(token),
            _ => Asked::Unknown(id),
        };
    }
    if let Some(&id) = vocab.ids_named(asked).first() {
        return Asked::Token(id);
    }
    let inner = asked.strip_prefix('"').and_then(|suffix| suffix.strip_suffix('"')).filter(|inner| !inner.is_empty());
    for text in [Some(asked), inner].into_iter().flatten() {
        let bytes = unescaped(text);
        let node = vocab.trie().find(&bytes);
        if let Some(&id) = node.and_then(|node| vocab.trie().tokens(node).first()) {
            return Asked::Token(id);
        }
    }
    Asked::Text(unescaped(inner.unwrap_or(asked)))
}

/// Reads the escapes `\n \r \t \\ \xHH`; a backslash before anything else is itself.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut suffix = text.as_bytes();
    while let Some((&first, after)) = suffix.split_first() {
        let (byte, after) = match (first, after) {
            (b'\\', [b'n', after @ ..]) => (b'\n', after),
            (b'\\', [b'r', after @ ..]) => (b'\r', after),
            (b'\\', [b't', after @ ..]) => (b'\t', after),
            (b'\\', [b'\\', after @ ..]) => (b'\\', after),
            (b'\\', [b'x', high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
                (digit(*high) << 4 | digit(*low), after)
            }
            _ => (first, after),
        };
        bytes.push(byte);
        suffix = after;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_by_id_name_and_text() {
        let mut builder = Vocab::builder();
        builder.extend(["a", "12", "\n", "\"x\"", "<s>"]).set_kind(4, TokenKind::Control).set_name(4, "<s>");
        let vocab = builder.build().unwrap();
        let asked = ["0", "a", "\"12\"", "\\n", "\"x\"", "<s>", "\"a\""].map(|asked| find_token(&vocab, asked));
        assert_eq!(asked, [0, 0, 1, 2, 3, 4, 0].map(Asked::Token));
        assert_eq!(find_token(&vocab, "12"), Asked::Unknown(12));
        assert_eq!(find_token(&vocab, "\\x41b"), Asked::Text(b"Ab".to_vec()));
        assert_eq!(find_token(&vocab, ""), Asked::Text(vec![]));
    }
}
