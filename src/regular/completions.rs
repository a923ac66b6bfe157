//! How many matches begin with a prefix.

use super::dfa::Dfa;

impl Dfa {
    /// Returns the length in bytes of the shortest string that some, but at most `n_max` matches begin with; `None` if there is none: then infinitely many
    /// matches begin with each prefix of one, or more than `n_max`.
    ///
    /// Linear in the edges: matches are counted from states without edges backwards; states that this doesn't reach lead to a cycle.
    pub fn scarce_after(&self, n_max: u64) -> Option<usize> {
        let n_states = self.n_states();
        let mut n_edges_left: Vec<usize> = (0..n_states as u32).map(|state| self.edges(state).len()).collect();
        let mut pending: Vec<u32> = (0..n_states as u32).filter(|&state| n_edges_left[state as usize] == 0).collect();
        // Most languages of keys have no end, and need no table.
        if pending.is_empty() {
            return None;
        }
        let mut sources: Vec<Vec<u32>> = vec![Vec::new(); n_states];
        // States are numbered breadth first, so that the depth of each is known before it is asked for.
        let mut depths = vec![usize::MAX; n_states];
        depths[0] = 0;
        for state in 0..n_states as u32 {
            for (_, _, target) in self.edges(state) {
                sources[target as usize].push(state);
                depths[target as usize] = depths[target as usize].min(depths[state as usize] + 1);
            }
        }
        let mut shortest = None;
        let mut n_matches = vec![0u64; n_states];
        while let Some(state) = pending.pop() {
            let of_edge = |(low, high, target): (u8, u8, u32)| {
                n_matches[target as usize].saturating_mul(u64::from(high - low) + 1)
            };
            let own = u64::from(self.is_accepting(state));
            let all = self.edges(state).map(of_edge).fold(own, u64::saturating_add);
            n_matches[state as usize] = all;
            if all <= n_max {
                shortest = Some(shortest.unwrap_or(usize::MAX).min(depths[state as usize]));
            }
            for &source in &sources[state as usize] {
                n_edges_left[source as usize] -= 1;
                if n_edges_left[source as usize] == 0 {
                    pending.push(source);
                }
            }
        }
        shortest
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::ecma;
    use crate::limits::Limits;
    use crate::regular::Dfa;

    #[test]
    fn prefixes_are_as_long_as_it_takes() {
        for (pattern, n_max, expected) in [
            ("[a-z]*", 100, None),
            ("[a-z]{1,64}", 1 << 16, Some(61)),
            ("[0-9a-f]{24}", 1, Some(24)),
            ("[0-9a-f]{24}", 16, Some(23)),
            ("yes|no|x.*", 5, Some(1)),
            ("yes|no", 5, Some(0)),
            ("(a|b*c)[01]", 2, Some(1)),
            ("", 1, Some(0)),
        ] {
            let limits = Limits::default();
            let dfa = Dfa::new(&ecma::parse(&format!("^({pattern})$"), &limits).unwrap(), &limits).unwrap();
            assert_eq!(dfa.scarce_after(n_max), expected, "{pattern} {n_max}");
        }
    }
}
