//! Vocabularies by name or from a file.

use crate::failure::Failure;
use crate::output::quoted;
use crate::source::{read_file, shown_path};
use crate::tokens::Asked;
use maskwright::grammar::{ControlRef, Expr, Grammar};
use maskwright::regular::Node;
use maskwright::{Encoding, TokenId, TokenKind, Vocab};
use std::path::Path;

/// Reads an embedded vocabulary or a file.
///
/// # Errors
/// If the file can't be read or is not of its form.
pub fn read(name: &str) -> Result<Vocab, Failure> {
    let failed = |error| Failure::Vocabulary { from: name.to_owned(), error };
    if let Some(encoding) = Encoding::ALL.into_iter().find(|encoding| encoding.name() == name) {
        return Vocab::tiktoken(encoding).map_err(failed);
    }
    let path = Path::new(name);
    let text = read_text(path)?;
    if !is_hf_json(path, &text) {
        return Vocab::from_tiktoken_text(&text, &[]).map_err(failed);
    }
    Vocab::from_hf_json(&text).map_err(failed)
}

/// Reads a vocabulary file.
///
/// # Errors
/// If the file can't be read or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    if !path.exists() {
        let names: Vec<&str> = Encoding::ALL.iter().map(|encoding| encoding.name()).collect();
        let message = format!("no such file, and the embedded vocabularies are {}", names.join(" and "));
        return Err(Failure::File { path: shown_path(path), message });
    }
    String::from_utf8(read_file(path)?)
        .map_err(|_| Failure::File { path: shown_path(path), message: "a vocabulary file is UTF-8".into() })
}

/// Tells whether a vocabulary file is a `tokenizer.json`; others are lists of ranks.
pub fn is_hf_json(path: &Path, text: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
        || text.trim_start().starts_with('{')
}

/// Finds the stop tokens of a command; `None` if it names none.
///
/// # Errors
/// If there is no such token.
pub fn stop_tokens(vocab: &Vocab, asked: &[String]) -> Result<Option<Vec<TokenId>>, Failure> {
    let find = |asked: &String| match crate::tokens::find_token(vocab, asked) {
        Asked::Token(id) => Ok(id),
        _ => Err(Failure::Usage(format!("the vocabulary has no token {} to stop with", quoted(asked.as_bytes())))),
    };
    (!asked.is_empty()).then(|| asked.iter().map(find).collect()).transpose()
}

/// Returns a small vocabulary for checking documents: each byte is a token, and so is each control token that a grammar names.
///
/// # Errors
/// If the grammar names a token id that no vocabulary has.
pub fn of_bytes(grammars: &[Grammar]) -> Result<Vocab, Failure> {
    of_bytes_and(grammars.iter().flat_map(control_refs).collect())
}

/// As [`of_bytes`], with a control token for each marker too, which may be spelled by one: grammars that read the same letters may differ in that.
///
/// # Errors
/// As there.
pub fn of_bytes_and_markers(grammars: &[Grammar]) -> Result<Vocab, Failure> {
    let name = |marker: &[u8]| std::str::from_utf8(marker).ok().map(|name| ControlRef::Name(name.into()));
    let names = grammars.iter().flat_map(markers).filter_map(name);
    of_bytes_and(grammars.iter().flat_map(control_refs).chain(names).collect())
}

fn of_bytes_and(mut controls: Vec<ControlRef>) -> Result<Vocab, Failure> {
    controls.sort_unstable();
    controls.dedup();
    let taken = |id: u32| controls.contains(&ControlRef::Id(id));
    let n_ids = controls.iter().filter_map(|control| match control {
        // An id beyond all vocabularies is left for the compiler to refuse.
        ControlRef::Id(id) if (*id as usize) < Vocab::N_TOKENS_MAX / 2 => Some(id + 1),
        _ => None,
    });
    let n_ids = n_ids.max().unwrap_or(0);
    let mut builder = Vocab::builder();
    for id in 0..n_ids {
        builder.push(b"");
        builder.set_kind(id, if taken(id) { TokenKind::Control } else { TokenKind::Padding });
    }
    for byte in 0..=255u8 {
        builder.push([byte]);
    }
    for control in &controls {
        if let ControlRef::Name(name) = control {
            let id = builder.push(b"");
            builder.set_kind(id, TokenKind::Control).set_name(id, name);
        }
    }
    builder.build().map_err(|error| Failure::Vocabulary { from: "of bytes".into(), error })
}

/// Returns the control tokens that a grammar names, each once.
pub fn control_refs(grammar: &Grammar) -> Vec<ControlRef> {
    let of_expr = |expr: &Expr| match expr {
        Expr::Control(control) => vec![control.clone()],
        Expr::TokenExcept(excluded) => excluded.names().iter().map(|name| ControlRef::Name(name.clone())).collect(),
        _ => vec![],
    };
    let mut controls: Vec<ControlRef> = grammar.exprs().iter().flat_map(of_expr).collect();
    controls.sort_unstable();
    controls.dedup();
    controls
}

/// Returns the literals of a grammar that control tokens may spell.
fn markers(grammar: &Grammar) -> Vec<&[u8]> {
    let mut markers: Vec<&[u8]> = Vec::new();
    for expr in grammar.exprs() {
        match expr {
            Expr::Marker(text) => markers.push(text.as_bytes()),
            Expr::Regex(regex) if regex.has_markers() => {
                markers.extend(regex.regular.nodes().iter().filter_map(|node| match node {
                    Node::Bytes(bytes) => Some(&**bytes),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    markers
}

/// Returns the control tokens of a vocabulary that are another way to write a part of a grammar's markers, each once.
pub fn marker_refs(grammar: &Grammar, vocab: &Vocab) -> Vec<ControlRef> {
    let markers = markers(grammar);
    if markers.is_empty() {
        return Vec::new();
    }
    let is_part = |name: &&str| {
        !name.is_empty() && markers.iter().any(|marker| marker.windows(name.len()).any(|part| part == name.as_bytes()))
    };
    let controls = (0..vocab.n_tokens() as TokenId).filter(|&id| vocab.kind(id) == TokenKind::Control);
    let mut names: Vec<&str> = controls.filter_map(|id| vocab.name(id)).filter(is_part).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| ControlRef::Name(name.into())).collect()
}

/// Returns whether a grammar counts tokens (`max_tokens`), so that what it allows depends on how a text is cut into them.
pub fn counts_tokens(grammar: &Grammar) -> bool {
    grammar.exprs().iter().any(|expr| matches!(expr, Expr::AtMostTokens { .. }))
}

/// Returns whether a grammar has sets of tokens, like `!<|eot_id|>`, which read no text but whole tokens.
pub fn has_token_sets(grammar: &Grammar) -> bool {
    grammar.exprs().iter().any(|expr| matches!(expr, Expr::TokenExcept(_)))
}
