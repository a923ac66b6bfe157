//! "Did you mean ...?"

/// Returns the candidate with the least edit distance to `name`, if it is small enough for a typing mistake; the first of equals.
pub(crate) fn closest_name<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const NAME_MAX: usize = 64;
    if name.len() > NAME_MAX {
        return None;
    }
    let distance_max = name.chars().count() / 3 + 1;
    let near = |other: &&str| other.len() <= NAME_MAX && other.len().abs_diff(name.len()) <= 3 * distance_max;
    let best =
        candidates.filter(near).map(|other| (distance(name, other), other)).min_by_key(|&(distance, _)| distance)?;
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
    fn finds_typing_mistakes_and_nothing_else() {
        let names = ["value", "object", "<|eot_id|>", "string"];
        assert_eq!(closest_name("valeu", names.into_iter()), Some("value"));
        assert_eq!(closest_name("<|eot|>", names.into_iter()), Some("<|eot_id|>"));
        assert_eq!(closest_name("zzzzz", names.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
