//! Which tokens of an output are forced.
//!
//! A token is forced if all that may stand there begins with it: its bytes are a beginning of the forced text, or the mask has no other token. So all of `abc` in
//! `root ::= "abc" [0-9]` is forced, however it is cut into tokens, though the mask before it allows `a`, `ab` and `abc`.

use crate::tokens::text_of;
use maskwright::{Matcher, TokenId};

/// The forced text ahead of an output that is followed token by token.
#[derive(Clone, Debug, Default)]
pub struct ForcedText {
    rest: Vec<u8>,
}

impl ForcedText {
    /// Returns whether the token that comes next is forced. `matcher` has not accepted it yet; `bytes` are its text, none if it is a control token; `n_allowed` is the number
    /// of tokens of the mask, if that is known.
    pub fn has_next(
        &mut self,
        matcher: &mut Matcher,
        id: Option<TokenId>,
        bytes: &[u8],
        n_allowed: Option<usize>,
    ) -> bool {
        if self.rest.is_empty() {
            self.rest = matcher.jump_forward();
        }
        if !bytes.is_empty() && self.rest.starts_with(bytes) {
            self.rest.drain(..bytes.len());
            return true;
        }
        self.rest.clear();
        n_allowed == Some(1) && !may_end_instead(matcher, id)
    }
}

/// Returns whether the text may end in place of going on with a token.
fn may_end_instead(matcher: &Matcher, id: Option<TokenId>) -> bool {
    matcher.is_accepting() && !id.is_some_and(|id| matcher.stop_tokens().contains(&id))
}

/// Returns the token that is forced because the mask has no other.
pub fn only_token(matcher: &mut Matcher) -> Option<TokenId> {
    if matcher.is_terminated() {
        return None;
    }
    let mask = matcher.mask().ok()?;
    let id = mask.iter().next().filter(|_| mask.count() == 1)?;
    (!may_end_instead(matcher, Some(id))).then_some(id)
}

/// Returns the number of tokens of an output that are forced; `matcher` is at its beginning.
pub fn count(mut matcher: Matcher, tokens: &[TokenId]) -> usize {
    let (mut forced, mut n_forced) = (ForcedText::default(), 0);
    for &id in tokens {
        let n_allowed = matcher.mask().ok().map(|mask| mask.count());
        let bytes = text_of(matcher.grammar().vocab(), id).to_vec();
        n_forced += usize::from(forced.has_next(&mut matcher, Some(id), &bytes, n_allowed));
        if matcher.accept_token(id).is_err() {
            break;
        }
    }
    n_forced
}
