//! Data-driven tests: a grammar, a vocabulary, and verdicts. The format is described in `tests/data/README.md`.
//!
//! [`load`] reads the files, [`run`] checks a case on anything that implements [`Subject`]: the oracle, or the engine in any
//! configuration.

use super::show_bytes;
use crate::matcher::Matcher;
use crate::reference::OracleMatcher;
use crate::vocab::{TokenId, TokenKind, Vocab};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// An implementation under test: a matcher, the oracle, ... A fresh one is at the empty text.
pub trait Subject {
    /// Resets to the empty text, with the stop tokens of the vocabulary.
    fn reset(&mut self);
    /// Accepts a token; returns whether it is allowed.
    fn accept_token(&mut self, id: TokenId) -> bool;
    /// Accepts bytes as one step; returns whether they are viable.
    fn accept_bytes(&mut self, bytes: &[u8]) -> bool;
    /// Undoes `k` steps; returns whether there were that many.
    fn rollback(&mut self, k: usize) -> bool;
    /// Returns the mask row.
    fn mask(&mut self) -> Vec<u32>;
    /// Returns the forced text.
    fn forced_text(&mut self) -> Vec<u8>;
    /// Returns whether the text so far is a sentence.
    fn is_accepting(&mut self) -> bool;
    /// Returns whether the output has ended.
    fn is_terminated(&mut self) -> bool;
    /// Replaces the stop tokens.
    fn set_stop_tokens(&mut self, ids: &[TokenId]);
}

impl Subject for OracleMatcher {
    fn reset(&mut self) {
        self.rollback(self.n_steps());
        let stop_tokens = self.vocab().stop_tokens().to_vec();
        OracleMatcher::set_stop_tokens(self, &stop_tokens);
    }
    fn accept_token(&mut self, id: TokenId) -> bool {
        OracleMatcher::accept_token(self, id)
    }
    fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        OracleMatcher::accept_bytes(self, bytes)
    }
    fn rollback(&mut self, k: usize) -> bool {
        OracleMatcher::rollback(self, k)
    }
    fn mask(&mut self) -> Vec<u32> {
        OracleMatcher::mask(self)
    }
    fn forced_text(&mut self) -> Vec<u8> {
        OracleMatcher::forced_text(self, 1 << 16)
    }
    fn is_accepting(&mut self) -> bool {
        OracleMatcher::is_accepting(self)
    }
    fn is_terminated(&mut self) -> bool {
        OracleMatcher::is_terminated(self)
    }
    fn set_stop_tokens(&mut self, ids: &[TokenId]) {
        OracleMatcher::set_stop_tokens(self, ids);
    }
}

impl Subject for Matcher {
    fn reset(&mut self) {
        Matcher::reset(self);
        let stop_tokens = self.grammar().vocab().stop_tokens().to_vec();
        Subject::set_stop_tokens(self, &stop_tokens);
    }
    fn accept_token(&mut self, id: TokenId) -> bool {
        let is_allowed = self.is_token_allowed(id);
        let is_accepted = Matcher::accept_token(self, id).is_ok();
        assert_eq!(is_allowed, is_accepted, "token {id}: asking and accepting agree");
        is_accepted
    }
    fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        Matcher::accept_bytes(self, bytes).is_ok()
    }
    fn rollback(&mut self, k: usize) -> bool {
        Matcher::rollback(self, k).is_ok()
    }
    fn mask(&mut self) -> Vec<u32> {
        let mut row = vec![u32::MAX; self.grammar().vocab().n_mask_words()];
        let filled = self.fill_mask(&mut row);
        let is_empty = row.iter().all(|&word| word == 0);
        let may_end = Matcher::is_accepting(self) || Matcher::is_terminated(self);
        match filled {
            Ok(fill) => {
                assert_eq!(fill.none_set, is_empty, "an empty mask says so");
                assert!(may_end || !is_empty, "an empty mask is an error where the text is not complete");
            }
            Err(error) => assert!(error.is_stuck() && is_empty && !may_end, "no other mask is an error: {error}"),
        }
        row
    }
    fn forced_text(&mut self) -> Vec<u8> {
        self.jump_forward()
    }
    fn is_accepting(&mut self) -> bool {
        Matcher::is_accepting(self)
    }
    fn is_terminated(&mut self) -> bool {
        Matcher::is_terminated(self)
    }
    fn set_stop_tokens(&mut self, ids: &[TokenId]) {
        Matcher::set_stop_tokens(self, ids).expect("stop tokens are in the vocabulary");
    }
}

/// A test case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name, unique among all files.
    pub name: String,
    /// The reason for the case, in a sentence.
    pub why: String,
    /// EBNF text.
    pub grammar: String,
    /// The root rule.
    pub root: String,
    /// The vocabulary.
    pub vocab: Arc<Vocab>,
    /// Part of the message with which the grammar must be refused, if it must.
    pub error: Option<String>,
    texts: Vec<(Verdict, Vec<Piece>)>,
    steps: Vec<Step>,
}

/// The verdict on a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Rejected,
    Viable,
    NotViable,
}

#[derive(Clone, Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Control(TokenId),
}

/// One object of `steps`: the actions, then the checks, each in the order of these variants.
type Step = Vec<Action>;

#[derive(Clone, Debug)]
enum Action {
    After(Vec<Piece>),
    StopTokens(Vec<TokenId>),
    Rollback(usize),
    Accept(Vec<TokenId>),
    AcceptBytes(Vec<u8>),
    Refuse(Vec<TokenId>),
    RefuseBytes(Vec<u8>),
    Mask(Vec<TokenId>),
    Allowed(Vec<TokenId>),
    NotAllowed(Vec<TokenId>),
    Forced(Vec<u8>),
    Accepting(bool),
    Terminated(bool),
}

/// Reads all `.json` files of a directory, in the order of their names.
///
/// # Errors
/// A message with the file, the case, and what is wrong with it.
pub fn load(directory: &Path) -> Result<Vec<Case>, String> {
    let entries = std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        for case in parse(&text).map_err(|message| format!("{}: {message}", file.display()))? {
            if cases.iter().any(|other| other.name == case.name) {
                return Err(format!("{}: a second case `{}`", file.display(), case.name));
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

/// Reads the cases of one file.
///
/// # Errors
/// A message with the case, and what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let shared_vocab = match value.get("vocab") {
        Some(tokens) => Some(Arc::new(read_vocab(tokens)?)),
        None => None,
    };
    let cases = value.get("cases").and_then(Value::as_array).ok_or("no list `cases`")?;
    let mut parsed = Vec::new();
    for case in cases {
        let name = case.get("name").and_then(Value::as_str).ok_or("a case without a name")?;
        parsed.push(parse_case(case, name, shared_vocab.clone()).map_err(|message| format!("{name}: {message}"))?);
    }
    Ok(parsed)
}

/// Returns the default vocabulary of cases: the 256 bytes (the id is the byte), some longer tokens from 256 on, then control
/// tokens `<|x|>` and `<|y|>` (ids 300 and 301), added text `<think>` (302), the stop token `<|end|>` (303), and padding up to 319.
pub fn default_vocab() -> Vocab {
    const LONGER: [&str; 44] = [
        "aa", "ab", "ba", "bb", "aaa", "aab", "abc", "aaaa", "foo", "bar", "bat", "foob", "foobat", "foobar", "()",
        "((", "))", "[[", "]]", "[]", "),", "a,", ",a", ", ", "12", "1+", "+1", "a=", "=1", "</x>", "</", ">y", "\"a",
        "\",", "\":", "xx", "xxx", "\n\n", "  ", "é", "一", "丁", "一丁", "😀",
    ];
    let mut builder = Vocab::builder();
    (0..=255u8).for_each(|byte| _ = builder.push([byte]));
    builder.extend(LONGER);
    builder.extend(["<|x|>", "<|y|>", "<think>", "<|end|>"]);
    builder.set_kind(300, TokenKind::Control).set_kind(301, TokenKind::Control).set_kind(302, TokenKind::AddedText);
    builder.stop_tokens([303]).logits_width(320);
    builder.build().expect("a small vocabulary")
}

fn parse_case(case: &Value, name: &str, vocab: Option<Arc<Vocab>>) -> Result<Case, String> {
    const KEYS: [&str; 11] = [
        "name",
        "why",
        "grammar",
        "root",
        "vocab",
        "error",
        "accepts",
        "rejects",
        "prefixes_ok",
        "prefixes_bad",
        "steps",
    ];
    let object = case.as_object().ok_or("not an object")?;
    if let Some(key) = object.keys().find(|key| !KEYS.contains(&&***key)) {
        return Err(format!("unknown key `{key}`"));
    }
    let text = |key: &str| case.get(key).and_then(Value::as_str).map(str::to_string);
    let grammar = match case.get("grammar") {
        Some(Value::Array(lines)) => lines
            .iter()
            .map(|line| line.as_str().ok_or("a line of the grammar is no string"))
            .collect::<Result<Vec<_>, _>>()?
            .join("\n"),
        Some(Value::String(text)) => text.clone(),
        _ => return Err("no grammar".into()),
    };
    let vocab = match case.get("vocab") {
        Some(tokens) => Arc::new(read_vocab(tokens)?),
        None => vocab.unwrap_or_else(|| Arc::new(default_vocab())),
    };
    let mut texts = Vec::new();
    let verdicts = [
        ("accepts", Verdict::Accepted),
        ("rejects", Verdict::Rejected),
        ("prefixes_ok", Verdict::Viable),
        ("prefixes_bad", Verdict::NotViable),
    ];
    for (key, verdict) in verdicts {
        for text in list(case, key)? {
            texts.push((verdict, read_pieces(text, &vocab)?));
        }
    }
    let steps = list(case, "steps")?.iter().map(|step| read_step(step, &vocab)).collect::<Result<Vec<_>, _>>()?;
    let error = text("error");
    if texts.is_empty() && steps.is_empty() && error.is_none() {
        return Err("no verdict".into());
    }
    Ok(Case {
        name: name.to_string(),
        why: text("why").ok_or("no sentence of why")?,
        grammar,
        root: text("root").unwrap_or_else(|| "root".to_string()),
        vocab,
        error,
        texts,
        steps,
    })
}

fn list<'a>(case: &'a Value, key: &str) -> Result<&'a [Value], String> {
    match case.get(key) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("`{key}` is no list")),
    }
}

/// Reads bytes: characters stand for their UTF-8, `\xHH` for one byte, `\\` for a backslash.
fn read_bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut suffix = text;
    while let Some(at) = suffix.find('\\') {
        bytes.extend_from_slice(&suffix.as_bytes()[..at]);
        suffix = &suffix[at + 1..];
        if let Some(after) = suffix.strip_prefix('\\') {
            bytes.push(b'\\');
            suffix = after;
        } else {
            let hex =
                suffix.strip_prefix('x').and_then(|hex| hex.get(..2)).and_then(|hex| u8::from_str_radix(hex, 16).ok());
            bytes.push(hex.ok_or_else(|| format!("bad escape in {text:?}"))?);
            suffix = &suffix[3..];
        }
    }
    bytes.extend_from_slice(suffix.as_bytes());
    Ok(bytes)
}

fn read_vocab(tokens: &Value) -> Result<Vocab, String> {
    let mut builder = Vocab::builder();
    let mut stops = Vec::new();
    for token in tokens.as_array().ok_or("`vocab` is no list")? {
        let kinds = [("control", TokenKind::Control), ("added", TokenKind::AddedText), ("stop", TokenKind::Control)];
        if let Some(text) = token.as_str() {
            builder.push(read_bytes(text)?);
        } else if token.get("padding").is_some() {
            let id = builder.push("");
            builder.set_kind(id, TokenKind::Padding);
        } else if let Some((key, kind)) = kinds.iter().find(|(key, _)| token.get(key).is_some()) {
            let name = token[key].as_str().ok_or("a token without a name")?;
            let text = token.get("text").and_then(Value::as_str).unwrap_or(name);
            let id = builder.push(read_bytes(text)?);
            builder.set_kind(id, *kind);
            builder.set_name(id, name);
            stops.extend((*key == "stop").then_some(id));
        } else {
            return Err(format!("unknown token {token}"));
        }
    }
    builder.stop_tokens(stops).build().map_err(|error| error.to_string())
}

/// Reads a text: a string, or a list of strings and `{"control": name or id}`.
fn read_pieces(text: &Value, vocab: &Vocab) -> Result<Vec<Piece>, String> {
    match text {
        Value::String(text) => Ok(vec![Piece::Bytes(read_bytes(text)?)]),
        Value::Array(pieces) => pieces
            .iter()
            .map(|piece| match (piece, piece.get("control")) {
                (Value::String(text), _) => Ok(Piece::Bytes(read_bytes(text)?)),
                (_, Some(control)) => Ok(Piece::Control(read_tokens(control, vocab)?[0])),
                _ => Err(format!("unknown piece {piece}")),
            })
            .collect(),
        _ => Err(format!("unknown text {text}")),
    }
}

/// Reads tokens: an id, a string (all tokens of that name, or else of those bytes), or a list of both.
fn read_tokens(tokens: &Value, vocab: &Vocab) -> Result<Vec<TokenId>, String> {
    match tokens {
        Value::Number(id) => {
            let id = id.as_u64().and_then(|id| TokenId::try_from(id).ok());
            Ok(vec![id.ok_or("a token id that is none")?])
        }
        Value::String(text) => {
            let named = vocab.ids_named(text);
            let bytes = read_bytes(text)?;
            let ids: Vec<TokenId> = if named.is_empty() {
                (0..vocab.n_tokens() as TokenId).filter(|&id| !bytes.is_empty() && vocab.bytes(id) == bytes).collect()
            } else {
                named.to_vec()
            };
            if ids.is_empty() { Err(format!("no token {text:?}")) } else { Ok(ids) }
        }
        Value::Array(tokens) => {
            let ids: Result<Vec<_>, _> = tokens.iter().map(|token| read_tokens(token, vocab)).collect();
            Ok(ids?.concat())
        }
        _ => Err(format!("unknown token {tokens}")),
    }
}

/// Reads a sequence of tokens, in which each string stands for one: the first of its name or bytes.
fn read_sequence(tokens: &Value, vocab: &Vocab) -> Result<Vec<TokenId>, String> {
    match tokens {
        Value::Array(tokens) => tokens.iter().map(|token| Ok(read_tokens(token, vocab)?[0])).collect(),
        token => Ok(vec![read_tokens(token, vocab)?[0]]),
    }
}

fn read_step(step: &Value, vocab: &Vocab) -> Result<Step, String> {
    let object = step.as_object().ok_or("a step that is no object")?;
    let mut actions = Vec::new();
    for (key, value) in object {
        let bytes = || read_bytes(value.as_str().ok_or_else(|| format!("`{key}` is no string"))?);
        let truth = || value.as_bool().ok_or_else(|| format!("`{key}` is neither true nor false"));
        let (rank, action) = match key.as_str() {
            "after" => (0, Action::After(read_pieces(value, vocab)?)),
            "stop_tokens" => (1, Action::StopTokens(read_tokens(value, vocab)?)),
            "rollback" => (2, Action::Rollback(value.as_u64().ok_or("`rollback` is no number")? as usize)),
            "accept" => (3, Action::Accept(read_sequence(value, vocab)?)),
            "accept_bytes" => (4, Action::AcceptBytes(bytes()?)),
            "refuse" => (5, Action::Refuse(read_tokens(value, vocab)?)),
            "refuse_bytes" => (6, Action::RefuseBytes(bytes()?)),
            "mask" => (7, Action::Mask(read_tokens(value, vocab)?)),
            "allowed" => (8, Action::Allowed(read_tokens(value, vocab)?)),
            "not_allowed" => (9, Action::NotAllowed(read_tokens(value, vocab)?)),
            "forced" => (10, Action::Forced(bytes()?)),
            "accepting" => (11, Action::Accepting(truth()?)),
            "terminated" => (12, Action::Terminated(truth()?)),
            _ => return Err(format!("unknown step `{key}`")),
        };
        actions.push((rank, action));
    }
    actions.sort_by_key(|&(rank, _)| rank);
    Ok(actions.into_iter().map(|(_, action)| action).collect())
}

/// Checks all verdicts of a case; returns how many there were.
///
/// # Errors
/// What was wrong first.
pub fn run(case: &Case, subject: &mut dyn Subject) -> Result<usize, String> {
    let mut n_checks = 0;
    for (verdict, pieces) in &case.texts {
        subject.reset();
        let n_read = pieces.iter().take_while(|piece| push_piece(subject, piece)).count();
        let is_viable = n_read == pieces.len();
        let is_accepted = is_viable && subject.is_accepting();
        let holds = match verdict {
            Verdict::Accepted => is_accepted,
            Verdict::Rejected => !is_accepted,
            Verdict::Viable => is_viable,
            Verdict::NotViable => !is_viable,
        };
        if !holds {
            return Err(format!("{}: {} is not {verdict:?} (viable: {is_viable})", case.name, show(pieces)));
        }
        n_checks += 1;
    }
    subject.reset();
    for (i, action) in case.steps.iter().enumerate().flat_map(|(i, step)| step.iter().map(move |action| (i, action))) {
        perform(action, subject, &case.vocab).map_err(|message| format!("{}: step {i}: {message}", case.name))?;
        n_checks += 1;
    }
    Ok(n_checks)
}

fn push_piece(subject: &mut dyn Subject, piece: &Piece) -> bool {
    match piece {
        Piece::Bytes(bytes) => bytes.is_empty() || subject.accept_bytes(bytes),
        Piece::Control(id) => subject.accept_token(*id),
    }
}

fn perform(action: &Action, subject: &mut dyn Subject, vocab: &Vocab) -> Result<(), String> {
    let say = |id: &TokenId| vocab.name(*id).map_or_else(|| show_bytes(vocab.bytes(*id)), str::to_string);
    let is_set = |row: &[u32], id: TokenId| row[id as usize / 32] >> (id % 32) & 1 == 1;
    let ensure = |holds: bool, message: String| if holds { Ok(()) } else { Err(message) };
    match action {
        Action::After(pieces) => {
            subject.reset();
            let holds = pieces.iter().all(|piece| push_piece(subject, piece));
            ensure(holds, format!("{} is refused", show(pieces)))
        }
        Action::StopTokens(ids) => {
            subject.set_stop_tokens(ids);
            Ok(())
        }
        Action::Rollback(k) => ensure(subject.rollback(*k), format!("no {k} steps to take back")),
        Action::Accept(ids) => ids
            .iter()
            .try_for_each(|id| ensure(subject.accept_token(*id), format!("token {id} {} is refused", say(id)))),
        Action::AcceptBytes(bytes) => ensure(subject.accept_bytes(bytes), format!("{} is refused", show_bytes(bytes))),
        Action::Refuse(ids) => ids.iter().try_for_each(|id| {
            let before = subject.mask();
            ensure(!subject.accept_token(*id), format!("token {id} {} is accepted", say(id)))?;
            ensure(subject.mask() == before, format!("refusing token {id} {} changed the mask", say(id)))
        }),
        Action::RefuseBytes(bytes) => {
            ensure(!subject.accept_bytes(bytes), format!("{} is accepted", show_bytes(bytes)))
        }
        Action::Mask(ids) => {
            let row = subject.mask();
            (0..vocab.n_tokens() as TokenId).try_for_each(|id| {
                let wanted = ids.contains(&id);
                let state = if wanted { "not allowed" } else { "allowed" };
                ensure(is_set(&row, id) == wanted, format!("token {id} {} is {state}", say(&id)))
            })
        }
        Action::Allowed(ids) => {
            let row = subject.mask();
            ids.iter().try_for_each(|id| ensure(is_set(&row, *id), format!("token {id} {} is not allowed", say(id))))
        }
        Action::NotAllowed(ids) => {
            let row = subject.mask();
            ids.iter().try_for_each(|id| ensure(!is_set(&row, *id), format!("token {id} {} is allowed", say(id))))
        }
        Action::Forced(bytes) => {
            let forced = subject.forced_text();
            ensure(forced == *bytes, format!("forced is {}, not {}", show_bytes(&forced), show_bytes(bytes)))
        }
        Action::Accepting(wanted) => ensure(subject.is_accepting() == *wanted, format!("accepting is not {wanted}")),
        Action::Terminated(wanted) => ensure(subject.is_terminated() == *wanted, format!("terminated is not {wanted}")),
    }
}

fn show(pieces: &[Piece]) -> String {
    let texts: Vec<String> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Bytes(bytes) => show_bytes(bytes),
            Piece::Control(id) => format!("<[{id}]>"),
        })
        .collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_vocabulary_is_as_documented() {
        let vocab = default_vocab();
        assert_eq!((vocab.ids_named("<|x|>"), vocab.ids_named("<|y|>")), (&[300][..], &[301][..]));
        assert_eq!((vocab.ids_named("<think>"), vocab.stop_tokens()), (&[302][..], &[303][..]));
        assert_eq!((vocab.n_tokens(), vocab.bytes(255)), (320, &[255][..]));
    }

    #[test]
    fn mistakes_in_cases_are_told() {
        for (case, message) in [
            (r#"{"name":"n","why":"w","grammar":"g"}"#, "no verdict"),
            (r#"{"name":"n","grammar":"g","accepts":["a"]}"#, "why"),
            (r#"{"name":"n","why":"w","grammar":"g","acepts":["a"]}"#, "unknown key"),
            (r#"{"name":"n","why":"w","grammar":"g","accepts":["\\x4"]}"#, "bad escape"),
            (r#"{"name":"n","why":"w","grammar":"g","steps":[{"msk":[]}]}"#, "unknown step"),
            (r#"{"name":"n","why":"w","grammar":"g","steps":[{"mask":["<|z|>"]}]}"#, "no token"),
        ] {
            let error = parse(&format!(r#"{{"cases":[{case}]}}"#)).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn bytes_are_read_as_documented() {
        assert_eq!(read_bytes(r"a\x00\xffé\\x").unwrap(), b"a\x00\xff\xc3\xa9\\x");
    }
}
