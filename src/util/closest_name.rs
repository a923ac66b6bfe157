//! "Did you mean ...?"

/// Returns the candidate with the least edit distance to `name`, if it is small enough for a typing mistake; the first of equals.
pub(crate) fn closest_name<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const NAME_MAX: usize = 64;
    if name.len() > NAME_MAX {
        return None;
    }
    let distance_max = name.chars().count() / 3 + 1;
    let near = |other: &&str| other.len() <= NAME_MAX && other.len().abs_diff(name.len()) <= 3 * distance_max;
    let best = candidates
        .filter(near)
        .map(|other| (edit_distance(name, other), other))
        .min_by_key(|&(distance, _)| distance)?;
    (best.0 <= distance_max).then_some(best.1)
}

/// Returns the number of bytes to insert, delete, replace or swap with their neighbour, letter case aside.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase().into_bytes(), b.to_ascii_lowercase().into_bytes());
    let (mut before, mut previous): (Vec<usize>, Vec<usize>) = (vec![0; b.len() + 1], (0..=b.len()).collect());
    for i in 1..=a.len() {
        let mut current = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            current[j] = replaced.min(previous[j] + 1).min(current[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                current[j] = current[j].min(before[j - 2] + 1);
            }
        }
        before = previous;
        previous = current;
    }
    previous[b.len()]
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
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}
