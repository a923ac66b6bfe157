//! Resolution of the control tokens that a grammar names.

use crate::grammar::ControlRef;
use crate::pass::{BuildError, Controls};
use crate::util::closest_name;
use crate::vocab::{TokenKind, Vocab};
use smallvec::SmallVec;

/// The tokens of a vocabulary by name and id.
pub(super) struct VocabControls<'a>(pub &'a Vocab);

impl Controls for VocabControls<'_> {
    fn resolve(&self, name: &ControlRef) -> Result<SmallVec<[u32; 2]>, BuildError> {
        let vocab = self.0;
        match name {
            ControlRef::Id(id) if (*id as usize) < vocab.n_tokens() && vocab.kind(*id) != TokenKind::Padding => {
                Ok(SmallVec::from_slice(&[*id]))
            }
            ControlRef::Id(id) => Err(BuildError::unknown_token_id(*id, vocab.n_tokens())),
            ControlRef::Name(name) => match vocab.ids_named(name) {
                [] => {
                    let names = vocab.names().map(|(name, _)| name);
                    Err(BuildError::unknown_control(name, closest_name(name, names)))
                }
                ids => Ok(SmallVec::from_slice(ids)),
            },
        }
    }
}
