//! Special tokens: `<|name|>`, `<name>`, `<[5]>` and `<[1-3,7]>`.

use crate::frontend::SyntaxError;
use crate::frontend::check::shorten;
use crate::grammar::ControlRef;
use crate::util::Span;
use core::ops::Range;

/// Which tokens a special token stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Special {
    Name(Box<str>),
    /// Ranges of ids, both ends included.
    Ids(Vec<(u32, u32)>),
}

/// Reads a special token, angle brackets included.
pub(super) fn read(source: &str, range: Range<usize>) -> Result<Special, SyntaxError> {
    let text = &source[range.clone()];
    let Some(inside) = text.strip_prefix("<[").and_then(|rest| rest.strip_suffix("]>")) else {
        return Ok(Special::Name(text.into()));
    };
    let refuse = |message: String| SyntaxError::new(source, Span::from(range.clone()), message);
    if inside.starts_with(['^', '*']) {
        return Err(refuse(format!("sets of all tokens but some (`{}`) are not supported", shorten(text))));
    }
    let malformed = |part: &str| {
        refuse(format!("malformed token ids `{}`", shorten(part))).with_hint("ids are written `<[5]>` or `<[1-3,7]>`")
    };
    let mut ranges = Vec::new();
    // One comma may be last.
    for part in inside.strip_suffix(',').unwrap_or(inside).split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let id = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u32>().ok().filter(|_| is_number).ok_or_else(|| malformed(part))
        };
        let (low, high) = (id(low)?, id(high)?);
        if low > high {
            return Err(refuse(format!("the range of ids `{part}` ends before it begins")));
        }
        ranges.push((low, high));
    }
    // Each id counts once.
    ranges.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some((_, last)) if low <= last.saturating_add(1) => *last = high.max(*last),
            _ => merged.push((low, high)),
        }
    }
    Ok(Special::Ids(merged))
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
            "<[^1]>",
            "<[*]>",
        ] {
            assert!(ids(bad).is_err(), "{bad}");
        }
    }
}
