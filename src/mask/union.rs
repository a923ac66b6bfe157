//! The union of several masks, found again by what it is the union of.
//!
//! Where a text can be read in several ways, each way has its mask: of a row each, written one over the other, they cost as many copies of a row as there are ways. But they meet
//! again in the same company: `{"(" and letters, ")", the end}` behind every letter of a nested word. So their union is cached in the same table as all masks
//! ([`store`](super::store)), under the list of their ids in ascending order.

use super::decision::DecisionId;
use super::entry::{MaskEntry, sparse_max};
use super::query::{Answers, MaskQuery};
use super::switches::ShortCut;
use smallvec::SmallVec;

/// Most masks of a union that is cached; what is more ambiguous is hardly met again.
const MASKS_MAX: usize = 16;

impl MaskQuery<'_> {
    /// Makes `row` the union of some masks. That of masks that are not cached would never be found again.
    pub(super) fn write_union(&self, answers: &Answers<'_>, are_cached: bool, row: &mut [u32]) {
        match &answers[..] {
            [] => row.fill(0),
            [answer] => answer.mask.write(row),
            _ if are_cached
                && answers.len() <= MASKS_MAX
                && is_costly(answers, row.len())
                && ShortCut::Unions.is_on() =>
            {
                self.write_cached_union(answers, row);
            }
            _ => write_all(answers, row),
        }
    }

    fn write_cached_union(&self, answers: &Answers<'_>, row: &mut [u32]) {
        let ids: SmallVec<[u64; MASKS_MAX]> = answers.iter().map(|answer| answer.id.0).collect();
        if let Some(union) = self.table.find_list(DecisionId::UNION_ROOT, &ids) {
            self.count_hit();
            return union.mask.write(row);
        }
        write_all(answers, row);
        self.store.insert_list(DecisionId::UNION_ROOT, &ids, self.node_of_row(row));
    }
}

/// Tells whether masks of rows of `n_words` cost as much to write as two rows or more; their union costs one.
fn is_costly(answers: &Answers<'_>, n_words: usize) -> bool {
    let of_row = sparse_max(n_words);
    let cost = |mask: &MaskEntry| match mask {
        MaskEntry::Sparse(ids) => ids.len(),
        MaskEntry::Dense(_) => of_row,
        MaskEntry::Patched { set, clear, .. } => of_row + set.len() + clear.len(),
    };
    answers.iter().map(|answer| cost(&answer.mask)).sum::<usize>() >= 2 * of_row
}

/// Writes masks one over the other, those with a row first, so that it needs no clearing.
fn write_all(answers: &Answers<'_>, row: &mut [u32]) {
    let mut is_first = true;
    for has_row in [true, false] {
        for answer in answers.iter().filter(|answer| answer.mask.row().is_some() == has_row) {
            match core::mem::take(&mut is_first) {
                true => answer.mask.write(row),
                false => answer.mask.add_to(row),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{GrammarCompiler, TokenMask, Vocab};
    use std::sync::Arc;

    #[test]
    fn a_union_is_found_again() {
        let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        tokens.extend((b'a'..=b'z').flat_map(|first| (b'a'..=b'z').map(move |second| vec![first, second])));
        let compiler = GrammarCompiler::new(Arc::new(Vocab::from_tokens(tokens).unwrap()));
        // Three ways to go on behind the `(`, two of which allow hundreds of tokens; none of them is part of another.
        let grammar = "root ::= left | right | \"(\" \"!\"\nleft ::= \"(\" [a-m]* left? \")\"\nright ::= \"(\" [f-z]* right? \"]\"";
        let compiled = compiler.compile_ebnf(grammar).unwrap();
        let hits_of_one_mask = || {
            let before = compiler.stats().masks.hits;
            let mut matcher = compiled.matcher();
            matcher.accept_bytes(b"(").unwrap();
            let mut mask = TokenMask::new(compiled.vocab().n_tokens());
            matcher.fill_mask(mask.as_words_mut()).unwrap();
            let ids = 0..compiled.vocab().n_tokens() as u32;
            assert!(ids.clone().all(|id| mask.contains(id) == matcher.is_token_allowed(id)));
            drop(matcher);
            compiler.stats().masks.hits - before
        };
        let hits = [(); 4].map(|()| hits_of_one_mask());
        assert_eq!(hits, [0, 4, 4, 4], "nothing; the three heads, and their union");
    }
}
