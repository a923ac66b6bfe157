//! Failing cases as text. Independent of the crate's printer, so that a bug of the printer doesn't hide what failed.

use crate::grammar::{ControlRef, Expr, Grammar};
use crate::regular::CharSet;
use crate::vocab::{TokenId, Vocab};
use core::fmt::Write;

/// Returns bytes as text in quotes, with everything but printable ASCII escaped.
pub fn show_bytes(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte as char]),
            b' '..=b'~' => out.push(byte as char),
            _ => _ = write!(out, "\\x{byte:02x}"),
        }
    }
    out.push('"');
    out
}

/// Returns a grammar as EBNF text. Literals that are not UTF-8 are shown as `bytes(...)`, which no parser reads.
pub fn dump_grammar(grammar: &Grammar) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(grammar.exprs().len());
    for expr in grammar.exprs() {
        let join = |operands: &[crate::grammar::ExprId], by: &str| {
            let operands: Vec<&str> = operands.iter().map(|operand| &*texts[operand.index()]).collect();
            format!("({})", operands.join(by))
        };
        let text = match expr {
            Expr::Empty => "\"\"".into(),
            Expr::Literal(bytes) => match core::str::from_utf8(bytes) {
                Ok(text) => quote(text),
                Err(_) => format!("bytes({})", show_bytes(bytes)),
            },
            Expr::Marker(text) => format!("Marker({})", quote(text)),
            Expr::Schema(schema) => format!("%json {}", schema.text()),
            Expr::LiteralNoCase(text) => quote(text) + "i",
            Expr::Class(set) => class(set),
            Expr::Regex(regex) => format!("/{}/{}", regex.pattern.replace('/', "\\/"), regex.flags),
            Expr::Control(ControlRef::Name(name)) => format!("Token({})", quote(name)),
            Expr::Control(ControlRef::Id(id)) => format!("<[{id}]>"),
            Expr::TokenExcept(excluded) => {
                format!("ExcludeToken({:?}, <[{}]>)", excluded.names(), excluded.written_ids())
            }
            Expr::Rule(rule) => grammar.rule(*rule).name.to_string(),
            Expr::Sequence(operands) if operands.is_empty() => "\"\"".into(),
            Expr::Sequence(operands) => join(operands, " "),
            Expr::Choice(operands) if operands.is_empty() => "[]".into(),
            Expr::Choice(operands) => join(operands, " | "),
            Expr::Repeat { body, min, max } => {
                let max = max.map_or(String::new(), |max| max.to_string());
                format!("({}){{{min},{max}}}", texts[body.index()])
            }
            Expr::AtMostTokens { body, max } => format!("AtMostTokens({max}, {})", texts[body.index()]),
            Expr::And(a, b) => format!("({} & {})", texts[a.index()], texts[b.index()]),
            Expr::Minus(a, b) => format!("({} - {})", texts[a.index()], texts[b.index()]),
            Expr::Not(a) => format!("(~ {})", texts[a.index()]),
        };
        texts.push(text);
    }
    let mut out = String::new();
    for rule in grammar.rules() {
        let _ = writeln!(out, "{} ::= {}", rule.name, texts[rule.body.index()]);
    }
    out
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
        }
    }
    out.push('"');
    out
}

fn class(set: &CharSet) -> String {
    let mut out = String::from("[");
    for &(low, high) in set.ranges() {
        let _ = write!(out, "\\u{{{:x}}}-\\u{{{:x}}}", u32::from(low), u32::from(high));
    }
    out.push(']');
    out
}

/// Returns a vocabulary as text, one token per line: id, kind, bytes, name, and whether it is a stop token.
pub fn dump_vocab(vocab: &Vocab) -> String {
    let mut out = String::new();
    for id in 0..vocab.n_tokens() as TokenId {
        let stop = if vocab.stop_tokens().contains(&id) { " stop" } else { "" };
        let name = vocab.name(id).map_or(String::new(), |name| format!(" named {name:?}"));
        let _ = writeln!(out, "{id} {:?} {}{name}{stop}", vocab.kind(id), show_bytes(vocab.bytes(id)));
    }
    out
}
