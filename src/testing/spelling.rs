//! How values are written: as Python does, and in whatever way a matcher takes.
//!
//! Masks fix an order of keys and, for integers, a spelling. To show that nothing else keeps a valid value out,
//! [`respell`] looks for a spelling that a matcher takes: a search whose choices are the next key of each object and
//! the spelling of each number. The matcher refuses a key out of order at once, so that the search hardly ever
//! branches; a bound on its steps keeps the exceptions short.

use crate::json_schema::{Decimal, Json, Value, ValueId};
use crate::matcher::Matcher;
use core::fmt::Write as _;
use std::rc::Rc;

/// Returns a value as Python's `json.dumps(value, ensure_ascii=False)` writes it after `json.loads`.
pub fn python(json: &Json) -> String {
    enum Task<'a> {
        Value(ValueId),
        Key(&'a str),
        Raw(&'static str),
    }
    let mut out = String::new();
    let mut open = vec![Task::Value(json.root())];
    while let Some(task) = open.pop() {
        let id = match task {
            Task::Raw(text) => {
                out += text;
                continue;
            }
            Task::Key(key) => {
                out += &quoted(key);
                out += ": ";
                continue;
            }
            Task::Value(id) => id,
        };
        match json.value(id) {
            Value::Array(items) => {
                out.push('[');
                open.push(Task::Raw("]"));
                for (i, &item) in items.iter().enumerate().rev() {
                    open.push(Task::Value(item));
                    open.extend((i > 0).then_some(Task::Raw(", ")));
                }
            }
            Value::Object(members) => {
                out.push('{');
                open.push(Task::Raw("}"));
                for (i, member) in members.iter().enumerate().rev() {
                    open.extend([Task::Value(member.value), Task::Key(json.key(member))]);
                    open.extend((i > 0).then_some(Task::Raw(", ")));
                }
            }
            Value::Number(_) => out += &python_number(written(json, id)),
            _ => out += &scalar(json, id),
        }
    }
    out
}

/// Returns a number as Python writes it: integers as they are, all else as the shortest text of the nearest binary float.
fn python_number(text: &str) -> String {
    if !text.contains(['.', 'e', 'E']) {
        return if text == "-0" { "0".to_owned() } else { text.to_owned() };
    }
    let float: f64 = text.parse().expect("a JSON number is one of Rust's");
    if float.is_infinite() {
        return if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').expect("the format has an exponent");
    match exponent.parse::<i32>().expect("the exponent is a number") {
        -4..=15 => format!("{float:?}"),
        exponent => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

/// Returns a number as it stands in the source.
fn written(json: &Json, id: ValueId) -> &str {
    let span = json.span(id);
    &json.source()[span.start as usize..span.end as usize]
}

/// Returns a string in quotes, with the escapes that it needs.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}

/// Returns a value that holds no others, numbers as they stand in the source.
fn scalar(json: &Json, id: ValueId) -> String {
    match json.value(id) {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::String(text) => quoted(text),
        _ => written(json, id).to_owned(),
    }
}

/// Returns an integer without fraction and exponent, unless it is out of all proportion.
fn plain_integer(number: &Decimal) -> Option<String> {
    const ZEROS_MAX: i64 = 5_000;
    if !number.is_integer() || number.exponent() > ZEROS_MAX {
        return None;
    }
    let mut text = String::from(if number.is_negative() { "-" } else { "" });
    number.digits().iter().for_each(|digit| write!(text, "{digit}").expect("writing to a string succeeds"));
    text.extend((0..number.exponent()).map(|_| '0'));
    Some(if number.is_zero() { "0".to_owned() } else { text })
}

/// Returns a number without exponent, with the digits that it needs.
fn plain_fraction(number: &Decimal) -> Option<String> {
    const PLACES_MAX: i64 = 5_000;
    let n_places = usize::try_from(-number.exponent()).ok().filter(|&n| 0 < n && n <= PLACES_MAX as usize)?;
    let digits: String = number.digits().iter().map(|digit| char::from(b'0' + digit)).collect();
    let digits = format!("{digits:0>width$}", width = n_places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - n_places);
    Some(format!("{}{whole}.{fraction}", if number.is_negative() { "-" } else { "" }))
}

/// What is still to be written, the next thing first; shared by all branches of the search.
type Agenda<'a> = Option<Rc<Step<'a>>>;

struct Step<'a> {
    task: Task<'a>,
    then: Agenda<'a>,
}

enum Task<'a> {
    Value(ValueId),
    /// The rest of an array.
    Items(&'a [ValueId], bool),
    /// The members of an object that are still to come, by index.
    Members(ValueId, Vec<usize>, bool),
}

fn step<'a>(task: Task<'a>, then: &Agenda<'a>) -> Agenda<'a> {
    Some(Rc::new(Step { task, then: then.clone() }))
}

/// Writes a piece and returns what comes then, if the matcher takes the piece.
fn take<'a>(matcher: &mut Matcher, text: &mut String, piece: &str, then: Agenda<'a>) -> Option<Agenda<'a>> {
    matcher.accept_bytes(piece.as_bytes()).ok()?;
    text.push_str(piece);
    Some(then)
}

/// Returns a spelling of the value that the matcher takes, keys in any order, if a search of so many steps finds one.
pub fn respell(matcher: &Matcher, json: &Json, n_steps_max: usize) -> Option<String> {
    let mut open: Vec<(Matcher, String, Agenda)> =
        vec![(matcher.fork(), String::new(), step(Task::Value(json.root()), &None))];
    for _ in 0..n_steps_max {
        let (mut matcher, mut text, agenda) = open.pop()?;
        let Some(next) = agenda else {
            if matcher.is_accepting() {
                return Some(text);
            }
            continue;
        };
        let after = match &next.task {
            Task::Value(id) => match json.value(*id) {
                Value::Array(items) => take(&mut matcher, &mut text, "[", step(Task::Items(items, true), &next.then)),
                Value::Object(members) => take(
                    &mut matcher,
                    &mut text,
                    "{",
                    step(Task::Members(*id, (0..members.len()).collect(), true), &next.then),
                ),
                Value::Number(number) => {
                    let mut ways = vec![written(json, *id).to_owned()];
                    ways.extend(plain_integer(number).into_iter().chain(plain_fraction(number)));
                    ways.dedup();
                    for way in ways.iter().rev() {
                        let mut branch = matcher.fork();
                        if branch.accept_bytes(way.as_bytes()).is_ok() {
                            open.push((branch, format!("{text}{way}"), next.then.clone()));
                        }
                    }
                    continue;
                }
                _ => take(&mut matcher, &mut text, &scalar(json, *id), next.then.clone()),
            },
            Task::Items([], _) => take(&mut matcher, &mut text, "]", next.then.clone()),
            Task::Items([item, rest @ ..], is_first) => {
                let then = step(Task::Value(*item), &step(Task::Items(rest, false), &next.then));
                if *is_first { Some(then) } else { take(&mut matcher, &mut text, ",", then) }
            }
            Task::Members(_, rest, _) if rest.is_empty() => take(&mut matcher, &mut text, "}", next.then.clone()),
            Task::Members(id, rest, is_first) => {
                let Value::Object(members) = json.value(*id) else { unreachable!("members are those of an object") };
                for at in (0..rest.len()).rev() {
                    let member = &members[rest[at]];
                    let key = format!("{}{}:", if *is_first { "" } else { "," }, quoted(json.key(member)));
                    let mut branch = matcher.fork();
                    if branch.accept_bytes(key.as_bytes()).is_ok() {
                        let mut others = rest.clone();
                        others.remove(at);
                        let then = step(Task::Members(*id, others, false), &next.then);
                        open.push((branch, format!("{text}{key}"), step(Task::Value(member.value), &then)));
                    }
                }
                continue;
            }
        };
        open.extend(after.map(|after| (matcher, text, after)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GrammarCompiler, Limits, Vocab};

    #[test]
    fn numbers_as_python_writes_them() {
        let cases = [
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("1.0", "1.0"),
            ("1E2", "100.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.256e-06", "1.256e-06"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("123456789012345678901", "123456789012345678901"),
            ("1e400", "Infinity"),
        ];
        for (text, expected) in cases {
            let json = Json::parse(&format!("{{\"a\":[1,{text}]}}"), &Limits::default()).unwrap();
            assert_eq!(python(&json), format!("{{\"a\": [1, {expected}]}}"));
        }
    }

    #[test]
    fn a_spelling_that_the_grammar_takes() {
        let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap();
        let text = r#"root ::= "{\"b\":" [0-9]+ ",\"a\":[" [0-9.]* ("," [0-9.]+)* "]}""#;
        let matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(text).unwrap().matcher();
        let spelled = |text: &str| respell(&matcher, &Json::parse(text, &Limits::default()).unwrap(), 1_000);
        assert_eq!(spelled(r#"{"a": [25e-1, 0.5e-1], "b": 1e1}"#).as_deref(), Some(r#"{"b":10,"a":[2.5,0.05]}"#));
        assert_eq!(spelled(r#"{"a": [], "b": 1.5}"#), None);
        assert_eq!(spelled(r#"{"a": []}"#), None);
    }
}
