//! Nothing is timed before it is right.
//!
//! [`documents`] walks every document of a case with an engine: each token is allowed by the mask and accepted, the stop token is allowed
//! at the end, and masks after a rollback equal those before it. It returns the masks, so that [`differences`] can
//! compare engines bit by bit. For the engine of this repository a failed check ends the run; a peer with a
//! documented difference is reported and its timings stand for what it does.

use crate::engine::allows;
use crate::{Case, Engine, Session, Vocabulary};

/// The masks of one document, one row per token and one after the last.
pub type Masks = Vec<Box<[u32]>>;

/// Walks every document of a case and returns its masks.
///
/// # Errors
/// Where an engine refuses the grammar, a token of a document, or the end of one.
pub fn documents<E: Engine>(engine: &E, vocabulary: &Vocabulary, case: &Case) -> Result<Vec<Masks>, String> {
    let compiled = engine.compile(case)?;
    let mut all = Vec::new();
    for document in case.documents {
        let tokens = vocabulary.encode(document.text);
        let mut session = engine.start(&compiled);
        let mut masks = Masks::new();
        for (i, &token) in tokens.iter().enumerate() {
            let row = filled(&mut session, vocabulary);
            let place = || {
                let near = vocabulary.show(&tokens[i.saturating_sub(8)..i]);
                format!("{}/{}: token {i} {:?} after {near:?}", case.name, document.name, vocabulary.show(&[token]))
            };
            if !allows(&row, token) {
                return Err(format!("{} is masked", place()));
            }
            if !session.accept(token) {
                return Err(format!("{} is allowed but not accepted", place()));
            }
            masks.push(row);
        }
        let row = filled(&mut session, vocabulary);
        if !allows(&row, vocabulary.stop) {
            return Err(format!("{}/{}: the end is not allowed", case.name, document.name));
        }
        masks.push(row);
        rolled_back(engine, &compiled, vocabulary, &tokens, &masks)
            .map_err(|error| format!("{}/{}: {error}", case.name, document.name))?;
        all.push(masks);
    }
    Ok(all)
}

/// Walks the document again in strides of eight forward and three back, and compares the masks seen with the first ones. Stays
/// one token away from the end, where an engine may have stopped for good.
fn rolled_back<E: Engine>(
    engine: &E,
    compiled: &E::Compiled,
    vocabulary: &Vocabulary,
    tokens: &[u32],
    masks: &Masks,
) -> Result<(), String> {
    let mut session = engine.start(compiled);
    let mut at = 0;
    while at + 8 < tokens.len() {
        if let Some(i) = (at..at + 8).find(|&i| !session.accept(tokens[i])) {
            return Err(format!("token {i} is not accepted the second time"));
        }
        session.rollback(3);
        at += 5;
        if filled(&mut session, vocabulary) != masks[at] {
            return Err(format!("the mask before token {at} is another one after a rollback"));
        }
    }
    Ok(())
}

fn filled(session: &mut impl Session, vocabulary: &Vocabulary) -> Box<[u32]> {
    let mut row = vec![0; vocabulary.n_mask_words()].into_boxed_slice();
    session.fill(&mut row);
    row
}

/// How the masks of two engines differ over a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Masks compared.
    pub n_masks: usize,
    /// Masks that are not equal.
    pub n_masks_unequal: usize,
    /// Bits that only the first engine sets.
    pub only_first: u64,
    /// Bits that only the second engine sets.
    pub only_second: u64,
}

/// Compares the masks of two engines bit by bit.
pub fn differences(first: &[Masks], second: &[Masks]) -> Differences {
    let mut sum = Differences::default();
    for (a, b) in first.iter().flatten().zip(second.iter().flatten()) {
        sum.n_masks += 1;
        sum.n_masks_unequal += usize::from(a != b);
        for (x, y) in a.iter().zip(b) {
            sum.only_first += u64::from((x & !y).count_ones());
            sum.only_second += u64::from((y & !x).count_ones());
        }
    }
    sum
}

/// Returns the place of the first mask that two engines disagree on and a few tokens that only one of them allows.
pub fn first_difference(vocabulary: &Vocabulary, case: &Case, first: &[Masks], second: &[Masks]) -> Option<String> {
    for (document, (a, b)) in case.documents.iter().zip(first.iter().zip(second)) {
        if let Some(i) = (0..a.len()).find(|&i| a[i] != b[i]) {
            let tokens = vocabulary.encode(document.text);
            let differing = |x: &[u32], y: &[u32]| {
                (0..vocabulary.n_tokens() as u32)
                    .filter(|&id| allows(x, id) && !allows(y, id))
                    .take(4)
                    .map(|id| format!("{:?}", vocabulary.show(&[id])))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            return Some(format!(
                "{}/{} after {:?}: only the first allows {}; only the second allows {}",
                case.name,
                document.name,
                vocabulary.show(&tokens[i.saturating_sub(6)..i]),
                differing(&a[i], &b[i]),
                differing(&b[i], &a[i])
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_count_bits_of_each_side() {
        let a = vec![vec![vec![0b1101u32].into_boxed_slice(), vec![7].into_boxed_slice()]];
        let b = vec![vec![vec![0b0110u32].into_boxed_slice(), vec![7].into_boxed_slice()]];
        assert_eq!(differences(&a, &b), Differences { n_masks: 2, n_masks_unequal: 1, only_first: 2, only_second: 1 });
    }

    #[cfg(feature = "llguidance")]
    #[test]
    fn llguidance_takes_every_document() {
        takes_every_document::<crate::llguidance::Llguidance>();
    }

    #[cfg(feature = "xgrammar")]
    #[test]
    fn xgrammar_takes_every_document() {
        takes_every_document::<crate::xgrammar::Xgrammar>();
    }

    #[cfg(feature = "ours")]
    #[test]
    fn ours_takes_every_document() {
        takes_every_document::<crate::ours::Ours>();
    }

    #[allow(dead_code)]
    fn takes_every_document<E: Engine>() {
        let vocabulary = Vocabulary::cl100k();
        let engine = E::load(&vocabulary);
        let refused: Vec<String> =
            crate::CASES.iter().filter_map(|case| documents(&engine, &vocabulary, case).err()).collect();
        assert!(refused.is_empty(), "{refused:#?}");
    }
}
