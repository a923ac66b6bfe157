//! Spellings of JSON values: that of Python, and any that a matcher accepts.
//!
//! Masks fix an order of keys and, for integers, a spelling. To show that nothing else excludes a valid value, a
//! [`Speller`] searches for a spelling that a matcher accepts. Its choices are the next key of each object and the spelling of each number.
//! Optional keys can be skipped, and an uninformed search would notice a wrong choice only when a skipped key is refused at the end: it
//! would not terminate for a reversed object of 30 keys. So it tries keys in the order in which the schema declares them, which is nearly
//! always right, and expands the branch with the fewest *lost* keys (those that could have come before the last member and can't come
//! after it), and among those the one with the fewest keys out of that order. After a number of steps it searches depth first instead, for
//! as many steps: a key may be lost to some alternatives of a schema only.

use crate::Limits;
use crate::json_schema::{Decimal, Json, Member, Value, ValueId};
use crate::matcher::Matcher;
use core::fmt::Write as _;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Returns a value as Python's `json.dumps(value, ensure_ascii=False)` writes it after `json.loads`.
pub fn python(json: &Json) -> String {
    enum Task<'a> {
        Value(ValueId),
        Key(&'a str),
        Raw(&'static str),
    }
    let mut out = String::new();
    let mut frontier = vec![Task::Value(json.root())];
    while let Some(task) = frontier.pop() {
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
                frontier.push(Task::Raw("]"));
                for (i, &item) in items.iter().enumerate().rev() {
                    frontier.push(Task::Value(item));
                    frontier.extend((i > 0).then_some(Task::Raw(", ")));
                }
            }
            Value::Object(members) => {
                out.push('{');
                frontier.push(Task::Raw("}"));
                for (i, member) in members.iter().enumerate().rev() {
                    frontier.extend([Task::Value(member.value), Task::Key(json.key(member))]);
                    frontier.extend((i > 0).then_some(Task::Raw(", ")));
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

/// Returns an integer without fraction and exponent, unless it has very many digits.
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

/// Returns a number without exponent and without superfluous zeros.
fn plain_fraction(number: &Decimal) -> Option<String> {
    const PLACES_MAX: i64 = 5_000;
    let n_places = usize::try_from(-number.exponent()).ok().filter(|&n| 0 < n && n <= PLACES_MAX as usize)?;
    let digits: String = number.digits().iter().map(|digit| char::from(b'0' + digit)).collect();
    let digits = format!("{digits:0>width$}", width = n_places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - n_places);
    Some(format!("{}{whole}.{fraction}", if number.is_negative() { "-" } else { "" }))
}

/// The pending tasks of a branch, the next one first: a linked list whose tails branches share.
type Agenda<'a> = Option<Rc<Step<'a>>>;

struct Step<'a> {
    task: Task<'a>,
    then: Agenda<'a>,
}

enum Task<'a> {
    Value(ValueId),
    /// The remaining items of an array.
    Items(&'a [ValueId], bool),
    /// The pending members of an object, by index, and those of them that could have come before the last one written.
    Members(ValueId, Vec<usize>, Option<Vec<usize>>),
}

/// The prefix of a spelling and its pending tasks.
struct Branch<'a> {
    matcher: Matcher,
    text: String,
    agenda: Agenda<'a>,
    cost: Cost,
}

/// The number of keys lost, and of those out of order.
type Cost = (usize, usize);

/// The frontier of the search: branches by cost, the last of each cost first.
struct Frontier<'a> {
    /// Whether costs count; otherwise the search is depth first.
    counts_cost: bool,
    by_cost: BTreeMap<Cost, Vec<Branch<'a>>>,
}

impl<'a> Frontier<'a> {
    fn push(&mut self, branch: Branch<'a>) {
        let cost = if self.counts_cost { branch.cost } else { (0, 0) };
        self.by_cost.entry(cost).or_default().push(branch);
    }

    /// Removes the last of the cheapest branches.
    fn pop(&mut self) -> Option<Branch<'a>> {
        let mut least = self.by_cost.first_entry()?;
        let branch = least.get_mut().pop();
        if least.get().is_empty() {
            least.remove();
        }
        branch
    }
}

fn step<'a>(task: Task<'a>, then: &Agenda<'a>) -> Agenda<'a> {
    Some(Rc::new(Step { task, then: then.clone() }))
}

/// The numbers that may be written in another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    /// None.
    AsWritten,
    /// All: without exponent, integers without fraction.
    Respelled,
}

/// A search for spellings of values, in the orders in which a schema declares its properties.
#[derive(Clone, Debug, Default)]
pub struct Speller {
    /// By `properties` object: its names and their positions.
    declared: Vec<HashMap<String, usize>>,
    /// The names of all `properties`, then of all `required`, and their first positions.
    any: HashMap<String, usize>,
    numbers: Option<Numbers>,
    n_steps_max: usize,
}

impl Speller {
    /// Returns a speller for a schema; a search takes at most `n_steps_max` steps.
    pub fn new(schema: &str, numbers: Numbers, n_steps_max: usize) -> Speller {
        let mut this = Speller { numbers: Some(numbers), n_steps_max, ..Speller::default() };
        let Ok(json) = Json::parse(schema, &Limits::default()) else { return this };
        let (mut frontier, mut required) = (vec![json.root()], Vec::new());
        while let Some(id) = frontier.pop() {
            match json.value(id) {
                Value::Array(items) => frontier.extend(items.iter().rev()),
                Value::Object(members) => {
                    frontier.extend(members.iter().rev().map(|member| member.value));
                    match json.key_of(id) {
                        Some("properties") => {
                            let names = members.iter().map(|member| json.key(member).to_owned());
                            let names: HashMap<String, usize> = names.zip(0..).collect();
                            for member in members {
                                let place = this.any.len();
                                this.any.entry(json.key(member).to_owned()).or_insert(place);
                            }
                            this.declared.push(names);
                        }
                        _ => required.extend(json.member(id, "required")),
                    }
                }
                _ => {}
            }
        }
        for id in required {
            let Value::Array(names) = json.value(id) else { continue };
            for &name in names {
                let Value::String(name) = json.value(name) else { continue };
                let place = this.any.len();
                this.any.entry(name.to_owned()).or_insert(place);
            }
        }
        this
    }

    /// Returns the members of an object, in the likely order.
    fn order(&self, json: &Json, members: &[Member]) -> Vec<usize> {
        let n_known = |names: &HashMap<String, usize>| {
            members.iter().filter(|member| names.contains_key(json.key(member))).count()
        };
        let best = self.declared.iter().rev().max_by_key(|names| n_known(names));
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|&at| {
            let key = json.key(&members[at]);
            let declared = best.and_then(|names| names.get(key)).copied().unwrap_or(usize::MAX);
            (declared, self.any.get(key).copied().unwrap_or(usize::MAX))
        });
        order
    }

    /// Returns a spelling of the value that the matcher accepts, with keys in any order, if the search finds one.
    pub fn respell(&self, matcher: &Matcher, json: &Json) -> Option<String> {
        self.search(matcher, json, true).or_else(|| self.search(matcher, json, false))
    }

    /// Searches for a spelling, the cheapest branch first or depth first.
    fn search(&self, matcher: &Matcher, json: &Json, counts_cost: bool) -> Option<String> {
        let mut frontier = Frontier { counts_cost, by_cost: BTreeMap::new() };
        let agenda = step(Task::Value(json.root()), &None);
        frontier.push(Branch { matcher: matcher.fork(), text: String::new(), agenda, cost: (0, 0) });
        for _ in 0..self.n_steps_max {
            let branch = frontier.pop()?;
            match branch.agenda.clone() {
                None if branch.matcher.is_accepting() => return Some(branch.text),
                None => {}
                Some(next) => self.take_step(branch, json, &next, &mut frontier),
            }
        }
        None
    }

    fn take_step<'a>(&self, from: Branch<'a>, json: &'a Json, next: &Step<'a>, frontier: &mut Frontier<'a>) {
        let branch = |piece: &str, then: Agenda<'a>| {
            let mut matcher = from.matcher.fork();
            let is_taken = matcher.accept_bytes(piece.as_bytes()).is_ok();
            is_taken.then(|| Branch { matcher, text: format!("{}{piece}", from.text), agenda: then, cost: from.cost })
        };
        let (piece, then) = match &next.task {
            Task::Value(id) => match json.value(*id) {
                Value::Array(items) => ("[".to_owned(), step(Task::Items(items, true), &next.then)),
                Value::Object(members) => {
                    ("{".to_owned(), step(Task::Members(*id, self.order(json, members), None), &next.then))
                }
                Value::Number(number) if self.numbers == Some(Numbers::Respelled) => {
                    let mut ways = vec![written(json, *id).to_owned()];
                    ways.extend(plain_integer(number).into_iter().chain(plain_fraction(number)));
                    ways.dedup();
                    let branches = ways.iter().rev().filter_map(|way| branch(way, next.then.clone()));
                    branches.for_each(|branch| frontier.push(branch));
                    return;
                }
                _ => (scalar(json, *id), next.then.clone()),
            },
            Task::Items([], _) => ("]".to_owned(), next.then.clone()),
            Task::Items([item, pending @ ..], is_first) => {
                let then = step(Task::Value(*item), &step(Task::Items(pending, false), &next.then));
                (if *is_first { "" } else { "," }.to_owned(), then)
            }
            Task::Members(_, pending, _) if pending.is_empty() => ("}".to_owned(), next.then.clone()),
            Task::Members(id, pending, before) => {
                let Value::Object(members) = json.value(*id) else { unreachable!("members are those of an object") };
                let comma = if before.is_some() { "," } else { "" };
                let mut next_ones: Vec<(usize, Branch)> = Vec::with_capacity(pending.len());
                for &at in pending {
                    let key = format!("{comma}{}:", quoted(json.key(&members[at])));
                    next_ones.extend(branch(&key, None).map(|branch| (at, branch)));
                }
                let possible: Vec<usize> = next_ones.iter().map(|&(at, _)| at).collect();
                let lost = before.iter().flatten().filter(|&at| pending.contains(at) && !possible.contains(at));
                let (n_lost, n_moved) = (from.cost.0 + lost.count(), from.cost.1);
                for (place, (at, branch)) in next_ones.into_iter().enumerate().rev() {
                    let others = pending.iter().copied().filter(|&other| other != at).collect();
                    let then = step(Task::Members(*id, others, Some(possible.clone())), &next.then);
                    let agenda = step(Task::Value(members[at].value), &then);
                    let cost = (n_lost, n_moved + usize::from(place > 0));
                    frontier.push(Branch { agenda, cost, ..branch });
                }
                return;
            }
        };
        if let Some(branch) = branch(&piece, then) {
            frontier.push(branch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GrammarCompiler, Vocab};

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
    fn a_spelling_that_the_grammar_accepts() {
        let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap();
        let text = r#"root ::= "{\"b\":" [0-9]+ ",\"a\":[" [0-9.]* ("," [0-9.]+)* "]}""#;
        let matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(text).unwrap().matcher();
        let respell = |numbers, text: &str| {
            let speller = Speller::new(r#"{"properties": {"b": {}}, "required": ["a"]}"#, numbers, 1_000);
            speller.respell(&matcher, &Json::parse(text, &Limits::default()).unwrap())
        };
        let spelled = |text: &str| respell(Numbers::Respelled, text);
        assert_eq!(respell(Numbers::AsWritten, r#"{"a": [2.5], "b": 1e1}"#), None);
        assert_eq!(respell(Numbers::AsWritten, r#"{"a": [2.5], "b": 10}"#).as_deref(), Some(r#"{"b":10,"a":[2.5]}"#));
        assert_eq!(spelled(r#"{"a": [25e-1, 0.5e-1], "b": 1e1}"#).as_deref(), Some(r#"{"b":10,"a":[2.5,0.05]}"#));
        assert_eq!(spelled(r#"{"a": [], "b": 1.5}"#), None);
        assert_eq!(spelled(r#"{"a": []}"#), None);
    }
}
