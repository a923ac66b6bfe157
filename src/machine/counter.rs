//! Counting the copies of a repeated body: `X{min,max}`.
//!
//! As a finite automaton `[a-z]{1,1000000}` needs a million states. A counter needs one number: how many copies are complete. With
//! an ambiguous body (`("a"|"aa"){5,1000}`) several counts are possible after the same text; they are nearly always consecutive,
//! so a register holds an interval of counts, and what is not an interval is held as several registers. Every operation is a few
//! instructions; nothing depends on the size of the bounds.

use super::{Machine, Register};

/// Counts copies of a body between two bounds. The body never matches the empty text, so `min` is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Counter {
    min: u32,
    max: Option<u32>,
}

/// The counts `low..=high`, as held in a register: `low` in the lower half, `high - low` in the upper (so that a single count
/// is that number).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    low: u32,
    high: u32,
}

impl Counts {
    #[inline]
    fn unpack(register: Register) -> Self {
        let low = register as u32;
        Counts { low, high: low + (register >> 32) as u32 }
    }

    #[inline]
    fn pack(self) -> Register {
        Register::from(self.low) | Register::from(self.high - self.low) << 32
    }
}

impl Counter {
    /// Returns a counter of `min` to `max` copies (no upper bound: `None`).
    ///
    /// # Panics
    /// If `min` is 0, `max` is less than `min`, or a bound is `u32::MAX`.
    pub fn new(min: u32, max: Option<u32>) -> Self {
        assert!(min >= 1 && max.is_none_or(|max| min <= max), "bounds of a counter are {min} and {max:?}");
        assert!(min < u32::MAX && max != Some(u32::MAX), "counts fit in 32 bits");
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
}

impl Machine for Counter {
    #[inline]
    fn advance(&self, register: Register) -> Option<Register> {
        let Counts { low, high } = Counts::unpack(register);
        // Counts beyond the last that matters are the same count.
        let last = self.max.unwrap_or(self.min);
        match self.max {
            Some(max) if low >= max => None,
            _ => Some(Counts { low: (low + 1).min(last), high: (high + 1).min(last) }.pack()),
        }
    }

    #[inline]
    fn may_end(&self, register: Register) -> bool {
        Counts::unpack(register).high >= self.min
    }

    #[inline]
    fn may_continue(&self, register: Register) -> bool {
        self.max.is_none_or(|max| Counts::unpack(register).low < max)
    }

    fn signature(&self, register: Register, horizon: u32) -> Register {
        let Counts { low, high } = Counts::unpack(register);
        let is_far = |count: u32, bound: u32| u64::from(count) + u64::from(horizon) < u64::from(bound);
        // The least count alone says whether one more copy may begin, and the greatest whether the counter may end.
        let low = if self.max.is_none_or(|max| is_far(low, max)) { 0 } else { low };
        let high = match high {
            high if high >= self.min => self.min.max(low),
            high if is_far(high, self.min) => low,
            high => high,
        };
        Counts { low, high }.pack()
    }

    #[inline]
    fn join(&self, a: Register, b: Register) -> Option<Register> {
        let (a, b) = (Counts::unpack(a), Counts::unpack(b));
        let touch = a.low <= b.high.saturating_add(1) && b.low <= a.high.saturating_add(1);
        touch.then(|| Counts { low: a.low.min(b.low), high: a.high.max(b.high) }.pack())
    }
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
        let ends: Vec<_> = (0..4).map(|n| after(&counter, n).is_some_and(|r| counter.may_end(r))).collect();
        assert_eq!(ends, [false, false, true, true]);
        assert!(!counter.may_continue(after(&counter, 3).unwrap()));
        assert_eq!(after(&counter, 4), None);
    }

    #[test]
    fn an_open_counter_stops_counting_at_its_minimum() {
        let counter = Counter::new(3, None);
        assert_eq!(after(&counter, 3), after(&counter, 1000));
        assert_ne!(after(&counter, 2), after(&counter, 3));
    }

    #[test]
    fn intervals_join_only_when_they_touch() {
        let counter = Counter::new(1, Some(100));
        let at = |n| after(&counter, n).unwrap();
        let joined = counter.join(at(4), at(5)).unwrap();
        assert_eq!(counter.join(joined, at(3)).map(Counts::unpack), Some(Counts { low: 3, high: 5 }));
        assert_eq!(counter.join(joined, at(7)), None);
        // Joining is the union of what each could do.
        assert_eq!(Counts::unpack(counter.advance(joined).unwrap()), Counts { low: 5, high: 6 });
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
                        assert_eq!(counter.may_end(a), counter.may_end(b), "{counter:?} {low}..={high} step {step}");
                        assert_eq!(counter.may_continue(a), counter.may_continue(b), "{counter:?} {low}..={high}");
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
