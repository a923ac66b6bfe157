//! Parameters of rules: `r::set_bit(3)` and `%if bit_clear(3)`.
//!
//! A rule `r::_` stands for one rule for each 64-bit number. References compute the number of the next rule from that of this one, conditions choose alternatives. Both are
//! read and evaluated in one go, for a given number: conditions by a stack of open calls.

use crate::frontend::SyntaxError;
use crate::util::Span;

/// A range of bits `[low:high]`, without `high`.
#[derive(Clone, Copy)]
struct Bits {
    low: u32,
    high: u32,
}

impl Bits {
    const ALL: Bits = Bits { low: 0, high: 64 };

    fn ones(self) -> u64 {
        if self.high - self.low == 64 { u64::MAX } else { (1 << (self.high - self.low)) - 1 }
    }

    fn of(self, number: u64) -> u64 {
        number.checked_shr(self.low).unwrap_or(0) & self.ones()
    }
}

/// A call of `and`, `or` or `not` whose operands are being read.
struct Call<'s> {
    name: &'s str,
    operands: Vec<bool>,
}

/// Reads an expression or a condition at a place of the source.
pub(super) struct Evaluator<'s> {
    source: &'s str,
    pub at: usize,
    end: usize,
    /// The number of the rule around, if it has one.
    number: Option<u64>,
}

impl<'s> Evaluator<'s> {
    pub(super) fn new(source: &'s str, at: usize, end: usize, number: Option<u64>) -> Self {
        Evaluator { source, at, end, number }
    }

    /// Evaluates what follows `::` in a reference.
    pub(super) fn number(&mut self) -> Result<u64, SyntaxError> {
        self.skip_blank();
        let start = self.at;
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return self.literal();
        }
        let name = self.word();
        if name == "_" {
            return self.parameter(start);
        }
        self.expect('(')?;
        let value = match name {
            "set_bit" | "clear_bit" => {
                let bit = 1u64 << self.bit()?;
                let number = self.parameter(start)?;
                if name == "set_bit" { number | bit } else { number & !bit }
            }
            "bit_and" => self.literal()? & self.parameter(start)?,
            "bit_or" => self.literal()? | self.parameter(start)?,
            "incr" | "decr" => {
                let bits = self.bits()?;
                let number = self.parameter(start)?;
                let (now, step) = (bits.of(number), 1u64.checked_shl(bits.low).unwrap_or(0));
                match name {
                    "incr" if now < bits.ones() => number + step,
                    "decr" if now > 0 => number - step,
                    _ => number,
                }
            }
            _ => return Err(self.unknown(start, "function", "set_bit, clear_bit, bit_and, bit_or, incr and decr")),
        };
        self.expect(')')?;
        Ok(value)
    }

    /// Evaluates what follows `%if`.
    pub(super) fn condition(&mut self) -> Result<bool, SyntaxError> {
        let mut calls: Vec<Call<'s>> = Vec::new();
        loop {
            self.skip_blank();
            let start = self.at;
            let name = self.word();
            if let "and" | "or" | "not" = name {
                self.expect('(')?;
                if calls.len() >= DEPTH_MAX {
                    return Err(SyntaxError::new(self.source, Span::new(start, self.at), "conditions nest too deep"));
                }
                calls.push(Call { name, operands: Vec::new() });
                continue;
            }
            let mut value = self.predicate(name, start)?;
            // Closes the calls that end here, and goes on with the next operand of the first that doesn't.
            loop {
                let Some(call) = calls.last_mut() else { return Ok(value) };
                call.operands.push(value);
                let n_wanted = if call.name == "not" { 1 } else { 2 };
                if call.operands.len() < n_wanted {
                    self.expect(',')?;
                    break;
                }
                self.expect(')')?;
                let call = calls.pop().expect("there is one");
                value = match call.name {
                    "and" => call.operands[0] && call.operands[1],
                    "or" => call.operands[0] || call.operands[1],
                    _ => !call.operands[0],
                };
            }
        }
    }

    fn predicate(&mut self, name: &str, start: usize) -> Result<bool, SyntaxError> {
        if name == "true" {
            if self.rest().starts_with('(') {
                self.at += 1;
                self.expect(')')?;
            }
            return Ok(true);
        }
        self.expect('(')?;
        let value = match name {
            "bit_clear" | "bit_set" => {
                let bit = self.bit()?;
                (self.parameter(start)? >> bit & 1 == 1) == (name == "bit_set")
            }
            "is_ones" | "is_zeros" => {
                let bits = self.bits()?;
                bits.of(self.parameter(start)?) == if name == "is_ones" { bits.ones() } else { 0 }
            }
            _ => {
                let (is_count, comparison) = match name.strip_prefix("bit_count_") {
                    Some(comparison) => (true, comparison),
                    None => (false, name),
                };
                if !matches!(comparison, "eq" | "ne" | "lt" | "le" | "gt" | "ge") {
                    let known = "true, bit_clear, bit_set, is_ones, is_zeros, eq, ne, lt, le, gt, ge, bit_count_eq to \
                                 bit_count_ge, and, or and not";
                    return Err(self.unknown(start, "condition", known));
                }
                let bits = self.bits()?;
                self.expect(',')?;
                let right = self.literal()?;
                let left = bits.of(self.parameter(start)?);
                let left = if is_count { u64::from(left.count_ones()) } else { left };
                match comparison {
                    "eq" => left == right,
                    "ne" => left != right,
                    "lt" => left < right,
                    "le" => left <= right,
                    "gt" => left > right,
                    _ => left >= right,
                }
            }
        };
        self.expect(')')?;
        Ok(value)
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..self.end]
    }

    fn skip_blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
    }

    fn word(&mut self) -> &'s str {
        self.skip_blank();
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn expect(&mut self, c: char) -> Result<(), SyntaxError> {
        self.skip_blank();
        if !self.rest().starts_with(c) {
            let width = self.rest().chars().next().map_or(0, char::len_utf8);
            return Err(SyntaxError::new(self.source, Span::new(self.at, self.at + width), format!("expected `{c}`")));
        }
        self.at += c.len_utf8();
        Ok(())
    }

    fn unknown(&self, start: usize, what: &str, known: &str) -> SyntaxError {
        let name = crate::frontend::check::shorten(&self.source[start..self.at]);
        SyntaxError::new(self.source, Span::new(start, self.at), format!("unknown {what} `{name}` of a parameter"))
            .with_hint(format!("known are {known}"))
    }

    fn parameter(&self, start: usize) -> Result<u64, SyntaxError> {
        self.number.ok_or_else(|| {
            let message = "this needs the parameter of the rule around, which has none";
            SyntaxError::new(self.source, Span::new(start, self.at), message).with_hint("define the rule as `name::_`")
        })
    }

    /// Reads a number of 64 bits.
    fn literal(&mut self) -> Result<u64, SyntaxError> {
        self.skip_blank();
        let start = self.at;
        let word = self.word();
        let value = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        value.ok_or_else(|| {
            let message = "a parameter is a number below 2^64, decimal or like 0x1f";
            SyntaxError::new(self.source, Span::new(start, self.at), message)
        })
    }

    fn bit(&mut self) -> Result<u32, SyntaxError> {
        let start = self.at;
        match self.literal()? {
            bit @ 0..64 => Ok(bit as u32),
            _ => Err(SyntaxError::new(self.source, Span::new(start, self.at), "bits are numbered from 0 to 63")),
        }
    }

    /// Reads `[low:high]` or `_`.
    fn bits(&mut self) -> Result<Bits, SyntaxError> {
        self.skip_blank();
        let start = self.at;
        if self.rest().starts_with('_') {
            self.at += 1;
            return Ok(Bits::ALL);
        }
        self.expect('[')?;
        let low = self.literal()?;
        self.expect(':')?;
        let high = self.literal()?;
        self.expect(']')?;
        if low >= high || high > 64 {
            let message = "a range of bits is `[low:high]` with 0 <= low < high <= 64";
            return Err(SyntaxError::new(self.source, Span::new(start, self.at), message));
        }
        Ok(Bits { low: low as u32, high: high as u32 })
    }
}

/// Most open calls of a condition.
const DEPTH_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, number: u64) -> Result<u64, String> {
        let mut evaluator = Evaluator::new(text, 0, text.len(), Some(number));
        let value = evaluator.number().map_err(|error| error.to_string())?;
        assert_eq!(evaluator.at, text.len(), "{text}");
        Ok(value)
    }

    fn condition(text: &str, number: u64) -> Result<bool, String> {
        let mut evaluator = Evaluator::new(text, 0, text.len(), Some(number));
        let value = evaluator.condition().map_err(|error| error.to_string())?;
        assert_eq!(evaluator.at, text.len(), "{text}");
        Ok(value)
    }

    #[test]
    fn numbers_follow_their_definitions() {
        for (text, before, after) in [
            ("_", 7, 7),
            ("0x1F", 7, 31),
            ("12", 7, 12),
            ("set_bit(63)", 1, (1 << 63) + 1),
            ("clear_bit( 0 )", 3, 2),
            ("bit_and(0x6)", 5, 4),
            ("bit_or(6)", 5, 7),
            ("incr([0:2])", 2, 3),
            ("incr([0:2])", 3, 3),
            ("incr([2:4])", 11, 15),
            ("incr(_)", u64::MAX, u64::MAX),
            ("incr([63:64])", 0, 1 << 63),
            ("decr([1:3])", 5, 3),
            ("decr([1:3])", 1, 1),
            ("decr(_)", 0, 0),
        ] {
            assert_eq!(number(text, before), Ok(after), "{text} of {before}");
        }
        for bad in
            ["set_bit(64)", "incr([2:2])", "incr([0:65])", "foo(1)", "18446744073709551616", "set_bit 1", "0x", ""]
        {
            assert!(number(bad, 0).is_err(), "{bad}");
        }
        assert!(Evaluator::new("_", 0, 1, None).number().is_err());
        assert_eq!(Evaluator::new("5", 0, 1, None).number().unwrap(), 5);
    }

    #[test]
    fn conditions_follow_their_definitions() {
        for (text, number, holds) in [
            ("true", 0, true),
            ("true()", 0, true),
            ("bit_set(1)", 2, true),
            ("bit_clear(1)", 2, false),
            ("is_ones([0:3])", 15, true),
            ("is_ones(_)", 15, false),
            ("is_ones(_)", u64::MAX, true),
            ("is_zeros([4:64])", 15, true),
            ("eq([1:3], 2)", 13, true),
            ("ne(_, 13)", 13, false),
            ("lt(_, 0xe)", 13, true),
            ("le(_,12)", 13, false),
            ("gt(_,12)", 13, true),
            ("ge([0:1],1)", 13, true),
            ("bit_count_eq(_,3)", 13, true),
            ("bit_count_lt([0:2],1)", 13, false),
            ("and(bit_set(0), or(bit_set(1), not(bit_clear(2))))", 13, true),
            ("not( and(true,true()) )", 13, false),
        ] {
            assert_eq!(condition(text, number), Ok(holds), "{text} of {number}");
        }
        for bad in ["", "foo(1)", "and(true)", "not(true,true)", "eq(_)", "bit_count_foo(_,1)", "lt([0:3],)", "or("] {
            assert!(condition(bad, 0).is_err(), "{bad}");
        }
        assert!(condition(&"not(".repeat(100_000), 0).is_err());
    }
}
