//! `playground tokens`: how a vocabulary cuts a text, and what its tokens are. Also how tokens are named on the command line, and shown.

use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::options::VocabArgs;
use crate::output::{Output, counted, grouped, harmless, quoted_short, unescaped, unescaped_token};
use crate::tokenizer::Tokenizer;
use crate::vocabulary;
use maskwright::{TokenId, TokenKind, Vocab};
use serde_json::{Value, json};

/// Options of `tokens`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// A text to cut into tokens, with the escapes \n \r \t \\ \xHH, as its tokenizer does; the longest tokens that fit if there is none, or if it changes the text
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// Look up a token: an id, a name, or its text; a number in double quotes is a text (can be repeated)
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    pub find: Vec<String>,
    #[command(flatten)]
    pub vocab: VocabArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command. The answer is no if a token that was looked up does not exist.
///
/// # Errors
/// If the vocabulary can't be read, or can't spell the text.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let vocab = vocabulary::read(&args.vocab.vocab)?;
    let stops = vocabulary::stop_tokens(&vocab, &args.vocab.stop_token)?;
    let stops = stops.unwrap_or_else(|| vocab.stop_tokens().to_vec());
    let count = |kind: TokenKind| (0..vocab.n_tokens() as TokenId).filter(|&id| vocab.kind(id) == kind).count();
    let kinds = [TokenKind::Text, TokenKind::AddedText, TokenKind::Control, TokenKind::Padding];
    let found: Vec<(&String, Asked)> = args.find.iter().map(|asked| (asked, find_token(&vocab, asked))).collect();
    let text = args.text.as_deref().map(unescaped).transpose().map_err(Failure::Usage)?;
    let cut = match text {
        Some(text) => Some(Tokenizer::read(&args.vocab.vocab)?.cut_all(&vocab, &text)?),
        None => None,
    };
    let all_found = found.iter().all(|(_, asked)| matches!(asked, Asked::Token(_)));
    if args.json {
        let kinds: serde_json::Map<String, Value> =
            kinds.into_iter().map(|kind| (shown_kind(kind).to_owned(), count(kind).into())).collect();
        let found = found.iter().map(|(asked, found)| match found {
            Asked::Token(id) => json!({ "asked": asked, "token": token_json(&vocab, *id) }),
            _ => json!({ "asked": asked, "token": null }),
        });
        output.json(&json!({
            "version": 1,
            "vocab": args.vocab.vocab,
            "n_tokens": vocab.n_tokens(),
            "kinds": kinds,
            "stop_tokens": stops,
            "unspellable_bytes": vocab.unspellable_bytes().iter().collect::<Vec<_>>(),
            "is_cut_by_tokenizer": cut.as_ref().map(|cut| cut.is_tokenizers),
            "tokens": cut.map(|cut| cut.ids.iter().map(|&id| token_json(&vocab, id)).collect::<Vec<_>>()),
            "found": found.collect::<Vec<_>>(),
        }));
        return Ok(Verdict::of(all_found));
    }
    if cut.is_none() && found.is_empty() {
        output.line(format_args!("{}: {}", args.vocab.vocab, counted(vocab.n_tokens(), "token")));
        for kind in kinds {
            output.line(format_args!("{:>10}  {}", grouped(count(kind) as u64), shown_kind(kind)));
        }
        let names: Vec<String> = stops.iter().map(|&id| format!("{id} {}", shown_token(&vocab, id))).collect();
        output.line(format_args!("stop tokens: {}", if names.is_empty() { "none".into() } else { names.join(", ") }));
        if !vocab.unspellable_bytes().is_empty() {
            let bytes = crate::expected::shown_bytes(&vocab.unspellable_bytes());
            output.line(format_args!("no token of one byte: {bytes}"));
        }
    }
    if cut.as_ref().is_some_and(|cut| !cut.is_tokenizers) {
        output.line(crate::tokenizer::LONGEST);
    }
    for id in cut.iter().flat_map(|cut| &cut.ids) {
        output.line(format_args!("{id:>8}  {}", shown_token(&vocab, *id)));
    }
    for (asked, found) in &found {
        match found {
            Asked::Token(id) => {
                output.line(format_args!("{id:>8}  {}  {}", shown_token(&vocab, *id), shown_kind(vocab.kind(*id))));
            }
            Asked::Text(text) => output.line(format_args!("{:>8}  {} is no token", "", quoted_short(text, 60))),
            Asked::Unknown(_) => output.line(format_args!("{:>8}  {asked} is no token", "")),
        }
    }
    Ok(Verdict::of(all_found))
}

/// Shows a token: its name, or its text in quotes.
pub fn shown_token(vocab: &Vocab, id: TokenId) -> String {
    if id as usize >= vocab.n_tokens() {
        return "(no such token)".into();
    }
    match (vocab.kind(id), vocab.name(id)) {
        (TokenKind::Control | TokenKind::AddedText | TokenKind::Padding, Some(name)) => harmless(name),
        (TokenKind::Padding, None) => "(padding)".into(),
        _ => quoted_short(vocab.bytes(id), 60),
    }
}

/// Returns the text of a token; none of a control token, whatever its bytes.
pub fn text_of(vocab: &Vocab, id: TokenId) -> &[u8] {
    if vocab.kind(id) == TokenKind::Control { b"" } else { vocab.bytes(id) }
}

/// Returns the word for a kind of tokens.
pub fn shown_kind(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::Text => "text",
        TokenKind::Control => "control token",
        TokenKind::AddedText => "added text",
        TokenKind::Padding => "padding",
    }
}

/// Returns a token as JSON.
pub fn token_json(vocab: &Vocab, id: TokenId) -> Value {
    json!({
        "id": id,
        "text": String::from_utf8_lossy(vocab.bytes(id)),
        "bytes": vocab.bytes(id),
        "name": vocab.name(id),
        "kind": shown_kind(vocab.kind(id)),
    })
}

/// What the user asks about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// A token.
    Token(TokenId),
    /// An id that no token has.
    Unknown(u64),
    /// A text that is no token.
    Text(Vec<u8>),
}

/// Returns whether what the user wrote was read as an id.
pub fn is_id(asked: &str) -> bool {
    asked.parse::<u64>().is_ok()
}

/// Finds a token by id, name or text; a text in double quotes is a text.
pub fn find_token(vocab: &Vocab, asked: &str) -> Asked {
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
        let bytes = unescaped_token(text);
        let node = vocab.trie().find(&bytes);
        if let Some(&id) = node.and_then(|node| vocab.trie().tokens(node).first()) {
            return Asked::Token(id);
        }
    }
    Asked::Text(unescaped_token(inner.unwrap_or(asked)))
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
