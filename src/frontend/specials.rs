//! Special tokens: `<|name|>`, `<name>`, `<[5]>`, `<[1-3,7]>`, `<[^1-3,7]>` and `<[*]>`.

use crate::frontend::SyntaxError;
use crate::frontend::check::shorten;
use crate::grammar::{ControlRef, ExcludedTokens, merged};
use crate::util::Span;
use core::ops::Range;

/// Which tokens a special token stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Special {
    Name(Box<str>),
    /// Ranges of ids, both ends included, ascending, with gaps between them.
    Ids(Vec<(u32, u32)>),
    /// All tokens but those of some ranges of ids.
    AllBut(ExcludedTokens),
}

/// Reads a special token, angle brackets included.
pub(super) fn read(source: &str, range: Range<usize>) -> Result<Special, SyntaxError> {
    let text = &source[range.clone()];
    let Some(inside) = text.strip_prefix("<[").and_then(|rest| rest.strip_suffix("]>")) else {
        return Ok(Special::Name(text.into()));
    };
    if inside == "*" {
        return Ok(Special::AllBut(ExcludedTokens::default()));
    }
    if let Some(excluded) = inside.strip_prefix('^') {
        let ranges = ranges_of(source, range, excluded)?;
        return Ok(Special::AllBut(ExcludedTokens::of_ranges(ranges.into_iter().map(|(low, high)| low..=high), [])));
    }
    Ok(Special::Ids(ranges_of(source, range, inside)?))
}

/// Reads ids and ranges of ids; `range` is where the token stands.
fn ranges_of(source: &str, range: Range<usize>, inside: &str) -> Result<Vec<(u32, u32)>, SyntaxError> {
    let refuse = |message: String| SyntaxError::new(source, Span::from(range.clone()), message);
    let malformed = |part: &str| {
        refuse(format!("malformed token ids `{}`", shorten(part)))
            .with_hint("ids are written `<[5]>`, `<[1-3,7]>` or `<[^1-3,7]>`, and any token `<[*]>`")
    };
    let mut ranges = Vec::new();
    // One comma may be last.
    for part in inside.strip_suffix(',').unwrap_or(inside).split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let id = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number {
                return Err(malformed(part));
            }
            digits.parse::<u32>().map_err(|_| refuse("the id of a token is below 4294967296".to_owned()))
        };
        let (low, high) = (id(low)?, id(high)?);
        if low > high {
            return Err(refuse(format!("the range of ids `{part}` ends before it begins")));
        }
        ranges.push((low, high));
    }
    // Each id counts once.
    Ok(merged(ranges))
}

/// Returns the references of some ranges of ids.
pub(super) fn references(ranges: &[(u32, u32)]) -> impl Iterator<Item = ControlRef> + '_ {
    ranges.iter().flat_map(|&(low, high)| (low..=high).map(ControlRef::Id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_sets() {
        let ids = |text: &str| read(text, 0..text.len());
        assert_eq!(ids("<[5]>").unwrap(), Special::Ids(vec![(5, 5)]));
        assert_eq!(ids("<[7,1-3,3-4,9,]>").unwrap(), Special::Ids(vec![(1, 4), (7, 7), (9, 9)]));
        assert_eq!(ids("<|x|>").unwrap(), Special::Name("<|x|>".into()));
        assert_eq!(ids("<[*]>").unwrap(), Special::AllBut(ExcludedTokens::default()));
        assert_eq!(ids("<[^7,1-3]>").unwrap(), Special::AllBut(ExcludedTokens::of_ranges([1..=3, 7..=7], [])));
        for bad in [
            "<[]>",
            "<[,]>",
            "<[1,,2]>",
            "<[3-1]>",
            "<[a]>",
            "<[1-]>",
            "<[-1]>",
            "<[+1]>",
            "<[4294967296]>",
            "<[^]>",
            "<[^*]>",
            "<[1,^2]>",
            "<[**]>",
        ] {
            assert!(ids(bad).is_err(), "{bad}");
        }
    }
}
