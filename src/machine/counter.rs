//! Counters: the number of copies of a repeated body, `X{min,max}`.
//!
//! As a finite automaton `[a-z]{1,1000000}` needs a million states. A counter needs one number: how many copies are complete. With
//! an ambiguous body (`("a"|"aa"){5,1000}`) several counts are possible after the same text; a register holds an interval of them,
//! and counts that are no interval take several registers. Every operation takes a few instructions, whatever the bounds.
//!
//! Of a count only the number of copies that may follow matters: after `c` copies of `X{min,max}`, from `min - c` to `max - c`. So two
//! counts up to `max - min + 1` apart join to an interval without a change of language (without an upper bound any two do), and of the
//! counts from `min` on the least one implies the others. Registers are normalized accordingly, so that ambiguous texts have few of them.

use super::Register;

/// A counter of the copies of a body, between two bounds. The body never matches the empty text, so `min` is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Counter {
    min: u32,
    max: Option<u32>,
}

/// An interval of counts. A register has `low` in its upper half and `high - low` in its lower half, so that registers sort by their
/// counts. Some counts of the interval may be impossible, where that makes no difference to what may follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    low: u32,
    high: u32,
}

impl Counts {
    #[inline]
    fn unpack(register: Register) -> Self {
        let low = (register >> 32) as u32;
        Counts { low, high: low + register as u32 }
    }

    #[inline]
    fn pack(self) -> Register {
        Register::from(self.low) << 32 | Register::from(self.high - self.low)
    }
}

impl Counter {
    /// The largest bound.
    pub const BOUND_MAX: u32 = u32::MAX - 1;

    /// Returns a counter of `min` to `max` copies (no upper bound: `None`).
    ///
    /// # Panics
    /// If `min` is 0, `max` is less than `min`, or a bound is over [`Counter::BOUND_MAX`].
    pub fn new(min: u32, max: Option<u32>) -> Self {
        assert!(min >= 1 && max.is_none_or(|max| min <= max), "bounds of a counter are {min} and {max:?}");
        assert!(max.unwrap_or(min) <= Self::BOUND_MAX, "counts fit in 32 bits");
        Counter { min, max }
    }

    /// Returns the least number of copies.
    pub fn min(&self) -> u32 {
        self.min
    }

    /// Returns the greatest number of copies, if any.
    pub fn max(&self) -> Option<u32> {
        self.max
    }

    /// Returns how many more copies must follow at least.
    #[cfg(feature = "testing")]
    pub fn n_missing(&self, register: Register) -> u32 {
        self.min.saturating_sub(Counts::unpack(register).high)
    }

    /// Returns the counter of the copies of `X` in `(X{inner}){self}`, if their possible numbers are an interval.
    pub fn of_copies(&self, inner: &Counter) -> Option<Counter> {
        let (min, max) = merged_bounds((self.min, self.max), (inner.min, inner.max))?;
        Some(Counter { min, max })
    }

    /// Returns the normal form of an interval: `low` decides how many more copies may follow, and `high`, up to `min`, how many must.
    #[inline]
    fn normalize(&self, Counts { low, high }: Counts) -> Counts {
        match self.max {
            None => Counts { low: high.min(self.min), high: high.min(self.min) },
            Some(_) => Counts { low, high: high.min(self.min.max(low)) },
        }
    }

    /// Returns the register after one more copy, or `None` if `max` copies are complete.
    #[inline]
    pub fn advance(&self, register: Register) -> Option<Register> {
        let Counts { low, high } = Counts::unpack(register);
        match self.max {
            Some(max) if low >= max => None,
            _ => Some(self.normalize(Counts { low: low + 1, high: high + 1 }).pack()),
        }
    }

    /// Returns whether the repetition may end.
    #[inline]
    pub fn can_end(&self, register: Register) -> bool {
        Counts::unpack(register).high >= self.min
    }

    /// Returns whether one more copy may begin.
    #[inline]
    pub fn can_continue(&self, register: Register) -> bool {
        self.max.is_none_or(|max| Counts::unpack(register).low < max)
    }

    /// Returns a register that no `horizon` further copies can tell from `register`: the same questions get the same answers.
    /// A copy has at least one byte, so the length of the longest token is a horizon that masks can use.
    pub fn signature(&self, register: Register, horizon: u32) -> Register {
        let Counts { low, high } = Counts::unpack(register);
        let is_out_of_reach = |count: u32, bound: u32| u64::from(count) + u64::from(horizon) < u64::from(bound);
        // The least count alone says whether one more copy may begin, and the greatest whether the counter may end.
        let low = if self.max.is_none_or(|max| is_out_of_reach(low, max)) { 0 } else { low };
        let high = match high {
            high if high >= self.min => self.min.max(low),
            high if is_out_of_reach(high, self.min) => low,
            high => high,
        };
        Counts { low, high }.pack()
    }

    /// Returns one register that allows what `a` or `b` allows, if there is one; it is `a` if `a` allows all that `b` does. To join
    /// many registers, join neighbours in ascending order.
    #[inline]
    pub fn join(&self, a: Register, b: Register) -> Option<Register> {
        let (a, b) = (Counts::unpack(a), Counts::unpack(b));
        let reach = self.max.map_or(u32::MAX, |max| max - self.min).saturating_add(1);
        let touch = a.low.saturating_sub(b.high) <= reach && b.low.saturating_sub(a.high) <= reach;
        touch.then(|| self.normalize(Counts { low: a.low.min(b.low), high: a.high.max(b.high) }).pack())
    }
}

/// Returns the bounds of the number of copies of `X` in `(X{inner}){outer}`, if every number between them is possible and they fit a counter.
pub fn merged_bounds(outer: (u32, Option<u32>), inner: (u32, Option<u32>)) -> Option<(u32, Option<u32>)> {
    let product = |a: u32, b: u32| a.checked_mul(b).filter(|&product| product <= Counter::BOUND_MAX);
    let min = product(outer.0, inner.0)?;
    let max = match (outer.1, inner.1) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (Some(outer), Some(inner)) => Some(product(outer, inner)?),
        _ => None,
    };
    // There may be a gap between the most that n copies have and the least that n + 1 have; it is widest for the least n.
    let (n, least) = (u64::from(outer.0), u64::from(inner.0));
    let is_gapless = match inner.1 {
        None if n > 0 => true,
        most => (n + 1) * least <= n * u64::from(most.unwrap_or(0)) + 1,
    };
    (is_gapless || outer.1 == Some(outer.0)).then_some((min, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(counter: &Counter, n: u32) -> Option<Register> {
        (0..n).try_fold(0, |register, _| counter.advance(register))
    }

    #[test]
    fn counts_between_bounds() {
        let counter = Counter::new(2, Some(3));
        let ends: Vec<_> = (0..4).map(|n| after(&counter, n).is_some_and(|r| counter.can_end(r))).collect();
        assert_eq!(ends, [false, false, true, true]);
        assert!(!counter.can_continue(after(&counter, 3).unwrap()));
        assert_eq!(after(&counter, 4), None);
    }

    #[test]
    fn an_open_counter_stops_counting_at_its_minimum() {
        let counter = Counter::new(3, None);
        assert_eq!(after(&counter, 3), after(&counter, 1000));
        assert_ne!(after(&counter, 2), after(&counter, 3));
    }

    #[test]
    fn implied_counts_are_dropped() {
        // Of the counts from the minimum on, the least one allows what all others do.
        let counter = Counter::new(2, Some(100));
        let at = |n| after(&counter, n).unwrap();
        assert_eq!(counter.join(at(2), at(7)), Some(at(2)));
        let both = counter.join(at(1), at(7)).unwrap();
        assert_eq!(Counts::unpack(both), Counts { low: 1, high: 2 });
        assert_eq!(counter.join(both, at(50)), Some(both));
        // Without a greatest count, the greatest one does.
        let counter = Counter::new(100, None);
        let at = |n| after(&counter, n).unwrap();
        assert_eq!(counter.join(at(7), at(50)), Some(at(50)));
    }

    #[test]
    fn counts_join_when_no_number_of_copies_lies_between() {
        let n_more = |counter: &Counter, register: Register| -> Vec<u32> {
            let ends = |n| (0..n).try_fold(register, |r, _| counter.advance(r)).is_some_and(|r| counter.can_end(r));
            (0..20).filter(|&n| ends(n)).collect()
        };
        for (min, max) in [(1, None), (9, None), (1, Some(12)), (9, Some(9)), (7, Some(9)), (9, Some(12))] {
            let counter = Counter::new(min, max);
            let last = max.unwrap_or(min);
            for (a, b) in (0..=last).flat_map(|a| (a..=last).map(move |b| (a, b))) {
                let (x, y) = (after(&counter, a).unwrap(), after(&counter, b).unwrap());
                let mut either = [n_more(&counter, x), n_more(&counter, y)].concat();
                either.sort_unstable();
                either.dedup();
                match counter.join(x, y) {
                    Some(joined) => assert_eq!(n_more(&counter, joined), either, "{counter:?} {a} {b}"),
                    None => assert!(either.windows(2).any(|n| n[1] > n[0] + 1), "{counter:?} {a} {b}"),
                }
                assert_eq!(counter.join(x, y), counter.join(y, x));
            }
        }
    }

    #[test]
    fn copies_of_copies_are_copies_unless_there_are_gaps() {
        const N_MAX: u32 = 30;
        let finite = (0..=5).flat_map(|min| (min..=5).map(move |max| (min, Some(max))));
        let all: Vec<(u32, Option<u32>)> = finite.chain((0..=5).map(|min| (min, None))).collect();
        for (outer, inner) in all.iter().flat_map(|&outer| all.iter().map(move |&inner| (outer, inner))) {
            let is_number = |n: u32| {
                let fits = |times: u32| times * inner.0 <= n && inner.1.is_none_or(|most| n <= times * most);
                (outer.0..=outer.1.unwrap_or(N_MAX)).any(|times| if times == 0 { n == 0 } else { fits(times) })
            };
            let numbers: Vec<u32> = (0..=N_MAX).filter(|&n| is_number(n)).collect();
            match merged_bounds(outer, inner) {
                Some((min, max)) => {
                    let expected = (0..=N_MAX).filter(|&n| n >= min && max.is_none_or(|max| n <= max));
                    assert_eq!(numbers, expected.collect::<Vec<_>>(), "{outer:?} {inner:?}");
                }
                None => assert!(numbers.windows(2).any(|n| n[1] > n[0] + 1), "{outer:?} {inner:?}"),
            }
        }
        assert_eq!(merged_bounds((1, Some(100_000)), (1, Some(100_000))), None, "more than 32 bits");
    }

    #[test]
    fn signatures_agree_on_every_question_within_the_horizon() {
        let horizon = 4;
        for (min, max) in [(1, None), (20, None), (1, Some(30)), (9, Some(9)), (20, Some(30)), (3, Some(5))] {
            let counter = Counter::new(min, max);
            for low in 0..=max.unwrap_or(min) {
                for high in low..=max.unwrap_or(min) {
                    let mut a = Counts { low, high }.pack();
                    let mut b = counter.signature(a, horizon);
                    for step in 0..=horizon {
                        assert_eq!(counter.can_end(a), counter.can_end(b), "{counter:?} {low}..={high} step {step}");
                        assert_eq!(counter.can_continue(a), counter.can_continue(b), "{counter:?} {low}..={high}");
                        match (counter.advance(a), counter.advance(b)) {
                            (Some(x), Some(y)) => (a, b) = (x, y),
                            (x, y) => {
                                assert_eq!(x.is_some(), y.is_some());
                                break;
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_ambiguous_body_has_few_signatures() {
        // ("a"|"aa"){5,100000}: the interval of counts is another one after each byte, and no token sees more than its length of it.
        let (counter, horizon) = (Counter::new(5, Some(100_000)), 8);
        let mut signatures: Vec<Register> = (0..100_000)
            .map(|n: u32| counter.signature(Counts { low: n.div_ceil(2), high: n }.pack(), horizon))
            .collect();
        signatures.sort_unstable();
        signatures.dedup();
        assert!(signatures.len() <= 16, "{}", signatures.len());
    }
}
