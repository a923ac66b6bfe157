//! An evaluator that checks the demo's outputs of the arithmetic grammar. It shares nothing with the grammar or the engine.
//!
//! An operator-precedence parser with a stack of values and a stack of pending operators and parentheses, so that nesting is bounded by
//! memory alone. Names and calls have no value: an expression that has any is only parsed.

/// The result of an expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// The value; NaN if there are names.
    pub value: f64,
    /// The number of names.
    pub n_names: usize,
}

/// A pending operator or parenthesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    Binary(u8),
    Minus,
    Plus,
    Open,
    Call,
}

impl Waiting {
    fn strength(self) -> u8 {
        match self {
            Waiting::Open | Waiting::Call => 0,
            Waiting::Binary(b'+' | b'-') => 1,
            Waiting::Binary(b'*' | b'/') => 2,
            Waiting::Minus | Waiting::Plus => 3,
            Waiting::Binary(_) => 4,
        }
    }
}

/// The kind of the last token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    /// An operator, an opening parenthesis or nothing: an operand must follow.
    Operator,
    /// The parenthesis of a call, which may close at once.
    CallOpened,
    /// A name, which may be called.
    Name,
    /// Another operand.
    Operand,
}

/// Evaluates an expression of numbers, names, calls, `+ - * / ^`, signs and parentheses.
///
/// # Errors
/// The byte offset of the first error.
pub fn evaluate(text: &str) -> Result<Outcome, String> {
    let bytes = text.as_bytes();
    let (mut values, mut waiting): (Vec<f64>, Vec<Waiting>) = Default::default();
    let (mut last, mut n_names, mut at) = (Last::Operator, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        let position = at;
        let trouble = |what: &str| format!("{what} at byte {position}");
        let needs_operand = matches!(last, Last::Operator | Last::CallOpened);
        at += 1;
        last = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'0'..=b'9' | b'.' if needs_operand => {
                at = position + number_len(&bytes[position..]);
                values.push(text[position..at].parse().map_err(|_| trouble("not a number"))?);
                Last::Operand
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'_' if needs_operand => {
                at += bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
                values.push(f64::NAN);
                n_names += 1;
                Last::Name
            }
            b'(' if needs_operand => {
                waiting.push(Waiting::Open);
                Last::Operator
            }
            b'(' if last == Last::Name => {
                values.pop();
                waiting.push(Waiting::Call);
                Last::CallOpened
            }
            b'-' | b'+' if needs_operand => {
                waiting.push(if byte == b'-' { Waiting::Minus } else { Waiting::Plus });
                Last::Operator
            }
            b')' if last != Last::Operator => {
                apply(&mut values, &mut waiting, 1);
                match waiting.pop() {
                    Some(Waiting::Open) => {}
                    Some(Waiting::Call) => {
                        if last != Last::CallOpened {
                            values.pop();
                        }
                        values.push(f64::NAN);
                    }
                    _ => return Err(trouble("a parenthesis that was not opened")),
                }
                Last::Operand
            }
            b',' if !needs_operand => {
                apply(&mut values, &mut waiting, 1);
                if waiting.last() != Some(&Waiting::Call) {
                    return Err(trouble("a comma outside of a call"));
                }
                values.pop();
                Last::Operator
            }
            b'+' | b'-' | b'*' | b'/' | b'^' if !needs_operand => {
                let operator = Waiting::Binary(byte);
                // A power is right-associative.
                apply(&mut values, &mut waiting, operator.strength() + u8::from(byte == b'^'));
                waiting.push(operator);
                Last::Operator
            }
            _ if needs_operand => return Err(trouble("an operand is missing")),
            _ => return Err(trouble("an operator is missing")),
        };
    }
    if matches!(last, Last::Operator | Last::CallOpened) {
        return Err("the last operand is missing".into());
    }
    apply(&mut values, &mut waiting, 1);
    match (&values[..], &waiting[..]) {
        ([value], []) => Ok(Outcome { value: *value, n_names }),
        _ => Err("a parenthesis is not closed".into()),
    }
}

/// Returns the length of the number that the bytes begin with; what is no number after all is refused where it is read.
fn number_len(bytes: &[u8]) -> usize {
    let digits = |at: usize| at + bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut len = digits(0);
    if bytes.get(len) == Some(&b'.') {
        len = digits(len + 1);
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        len = digits(len + 1 + usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-'))));
    }
    len.min(bytes.len())
}

/// Applies the pending operators that bind at least as tightly.
fn apply(values: &mut Vec<f64>, waiting: &mut Vec<Waiting>, strength: u8) {
    while let Some(operator) = waiting.pop_if(|operator| operator.strength() >= strength) {
        let right = values.pop().unwrap_or(f64::NAN);
        let value = match operator {
            Waiting::Minus => -right,
            Waiting::Plus | Waiting::Open | Waiting::Call => right,
            Waiting::Binary(sign) => {
                let left = values.pop().unwrap_or(f64::NAN);
                match sign {
                    b'+' => left + right,
                    b'-' => left - right,
                    b'*' => left * right,
                    b'/' => left / right,
                    _ => left.powf(right),
                }
            }
        };
        values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn values_are_right() {
        for (text, value) in [
            ("1", 1.0),
            ("2+3*4", 14.0),
            ("(2+3)*4", 20.0),
            ("8-3-2", 3.0),
            ("8/4/2", 1.0),
            ("-2*-3", 6.0),
            ("--1.5", 1.5),
            (" ( 1. )\n", 1.0),
            ("1 - -(2 - 3)", 0.0),
            ("-1 + +.5e1", 4.0),
            ("2^3^2", 512.0),
            ("-2^2", -4.0),
            ("2^-1*4", 2.0),
        ] {
            assert_eq!(evaluate(text).map(|outcome| outcome.value), Ok(value), "{text}");
        }
    }

    #[test]
    fn names_and_calls_are_parsed() {
        for (text, n_names) in [("x", 1), ("f()", 1), ("f (1, g(x), -(2))^2 + _y1", 4), ("a(b)*c", 3)] {
            assert_eq!(evaluate(text).map(|outcome| outcome.n_names), Ok(n_names), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["", " ", "1+", "()", "(1", "1)", "1 2", ".", "1..2", "1.2.3", "1e", "1e+", "1*/2", "-", "é", "1é"]
        {
            assert!(evaluate(text).is_err(), "{text}");
        }
        for text in ["f(", "f(1", "f(,)", "f(1,)", "1(2)", "(1,2)", "f)", "f()()", "x y", "1,2", "f((1,2))", "2^", "1x"]
        {
            assert!(evaluate(text).is_err(), "{text}");
        }
        let deep = "(".repeat(100_000) + "1" + &")".repeat(100_000);
        assert_eq!(evaluate(&deep).map(|outcome| outcome.value), Ok(1.0));
    }
}
