//! "Did you mean ...?"

/// Returns the name nearest to `name` by edit distance, if one is near enough to be a slip; the first of equals.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const NAME_MAX: usize = 64;
    if name.len() > NAME_MAX {
        return None;
    }
    let distance_max = name.chars().count() / 3 + 1;
    let near = |other: &&str| other.len() <= NAME_MAX && other.len().abs_diff(name.len()) <= 3 * distance_max;
    let best = known.filter(near).map(|other| (distance(name, other), other)).min_by_key(|&(distance, _)| distance)?;
    (best.0 <= distance_max).then_some(best.1)
}

/// Returns the Levenshtein distance, in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["value", "object", "<|eot_id|>", "string"];
        assert_eq!(nearest("valeu", known.into_iter()), Some("value"));
        assert_eq!(nearest("<|eot|>", known.into_iter()), Some("<|eot_id|>"));
        assert_eq!(nearest("zzzzz", known.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
