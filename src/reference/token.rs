//! A token that is read as a whole.

use crate::grammar::{ControlRef, ExcludedTokens};
use crate::vocab::{TokenId, Vocab};

/// A token that is to be read as a whole, as far as it is known.
#[derive(Clone, Copy)]
pub(super) enum Token<'a> {
    /// No token.
    None,
    /// A token of a vocabulary.
    Known(KnownToken<'a>),
    /// The one that the grammar writes so.
    Named(&'a ControlRef),
    /// One of the set that the grammar writes so.
    Outside(&'a ExcludedTokens),
}

/// A token of a vocabulary.
#[derive(Clone, Copy)]
pub(super) struct KnownToken<'a> {
    pub id: TokenId,
    pub name: Option<&'a str>,
    /// Its text, if no token has that for a name.
    pub text: Option<&'a str>,
    /// Stop tokens are in no set.
    pub is_stop: bool,
}

impl<'a> KnownToken<'a> {
    pub fn of(vocab: &'a Vocab, id: TokenId, is_stop: bool) -> Self {
        let text = core::str::from_utf8(vocab.bytes(id)).ok();
        let text = text.filter(|text| !text.is_empty() && vocab.ids_named(text).is_empty());
        KnownToken { id, name: vocab.name(id), text, is_stop }
    }

    fn is_called(&self, wanted: &str) -> bool {
        self.name == Some(wanted) || self.text == Some(wanted)
    }
}

impl Token<'_> {
    /// Returns whether the grammar means the token by a reference.
    pub fn is(self, control: &ControlRef) -> bool {
        match (self, control) {
            (Token::Known(token), ControlRef::Name(wanted)) => token.is_called(wanted),
            (Token::Known(token), ControlRef::Id(wanted)) => *wanted == token.id,
            (Token::Named(named), _) => named == control,
            (Token::None | Token::Outside(_), _) => false,
        }
    }

    /// Returns whether the token spells a part of a marker.
    pub fn spells(self, part: &str) -> bool {
        match self {
            Token::Known(token) => token.name == Some(part),
            Token::Named(ControlRef::Name(name)) => &**name == part,
            Token::Named(ControlRef::Id(_)) | Token::None | Token::Outside(_) => false,
        }
    }

    /// Returns whether the token is one of those that are not excluded.
    pub fn is_outside(self, excluded: &ExcludedTokens) -> bool {
        match self {
            Token::Known(token) => {
                let is_named = excluded.names().iter().any(|name| token.is_called(name));
                !token.is_stop && !is_named && !excluded.excludes_id(token.id)
            }
            Token::Outside(named) => named == excluded,
            Token::None | Token::Named(_) => false,
        }
    }
}
