//! A slow, recursive validator of JSON Schema that follows draft 2020-12 keyword by keyword.
//!
//! It parses values with the library's parser and shares nothing else with it. It supports the patterns of [`PATTERNS`] and references to
//! `#/$defs/NAME`; formats are annotations.

use crate::json_schema::{Decimal, Json, Value, ValueId};
use std::collections::BTreeSet;

/// A pattern, and the function that matches a string against it.
pub type Pattern = (&'static str, fn(&str) -> bool);

/// The supported patterns.
pub const PATTERNS: &[Pattern] = &[
    ("^a", |text| text.starts_with('a')),
    ("b$", |text| text.ends_with('b')),
    ("b", |text| text.contains('b')),
    ("^[ab]*$", |text| text.chars().all(|c| matches!(c, 'a' | 'b'))),
    ("^(ab)+$", |text| !text.is_empty() && text.replace("ab", "").is_empty()),
    ("^.$", |text| text.chars().count() == 1 && !text.contains(['\n', '\r', '\u{2028}', '\u{2029}'])),
    ("^(?!a)", |text| !text.starts_with('a')),
    ("\\d", |text| text.contains(|c: char| c.is_ascii_digit())),
    ("^x-", |text| text.starts_with("x-")),
];

/// The items and keys that a schema has evaluated, which `unevaluatedItems` and `unevaluatedProperties` skip.
#[derive(Clone, Default)]
struct Evaluated {
    items: BTreeSet<usize>,
    keys: BTreeSet<String>,
}

impl Evaluated {
    fn add(&mut self, other: Evaluated) {
        self.items.extend(other.items);
        self.keys.extend(other.keys);
    }
}

/// The error for a schema with a cycle of references at one value, or with an unsupported keyword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undecided;

/// Returns whether a value is valid.
///
/// # Errors
/// If the schema is not supported.
pub fn is_valid(schema: &Json, json: &Json) -> Result<bool, Undecided> {
    let validator = Validator { schema, json };
    Ok(validator.check(schema.root(), json.root(), 0)?.is_some())
}

struct Validator<'a> {
    schema: &'a Json,
    json: &'a Json,
}

/// The items and keys evaluated, if the value is valid.
type Verdict = Result<Option<Evaluated>, Undecided>;

impl Validator<'_> {
    fn get(&self, schema: ValueId, keyword: &str) -> Option<ValueId> {
        self.schema.member(schema, keyword)
    }

    fn list(&self, schema: ValueId, keyword: &str) -> &[ValueId] {
        match self.get(schema, keyword).map(|at| self.schema.value(at)) {
            Some(Value::Array(items)) => items,
            _ => &[],
        }
    }

    /// Returns the members of a keyword's object.
    fn map(&self, schema: ValueId, keyword: &str) -> Vec<(&str, ValueId)> {
        match self.get(schema, keyword).map(|at| self.schema.value(at)) {
            Some(Value::Object(members)) => {
                members.iter().map(|member| (self.schema.key(member), member.value)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn text(&self, at: ValueId) -> &str {
        if let Value::String(text) = self.schema.value(at) { text } else { "" }
    }

    fn number(&self, schema: ValueId, keyword: &str) -> Option<&Decimal> {
        match self.schema.value(self.get(schema, keyword)?) {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn count(&self, schema: ValueId, keyword: &str) -> Option<usize> {
        self.number(schema, keyword)?.to_u64().map(|count| count as usize)
    }

    fn is(&self, schema: ValueId, value: ValueId, depth: usize) -> Result<bool, Undecided> {
        Ok(self.check(schema, value, depth)?.is_some())
    }

    fn check(&self, schema: ValueId, value: ValueId, depth: usize) -> Verdict {
        if depth > 60 {
            return Err(Undecided);
        }
        match self.schema.value(schema) {
            Value::Bool(true) => return Ok(Some(Evaluated::default())),
            Value::Bool(false) => return Ok(None),
            _ => {}
        }
        let mut evaluated = Evaluated::default();
        if !self.has_type(schema, value) || !self.has_value(schema, value) {
            return Ok(None);
        }
        let holds = match self.json.value(value) {
            Value::Number(number) => self.number_is_valid(schema, number),
            Value::String(text) => self.string_is_valid(schema, text)?,
            Value::Array(items) => self.array_is_valid(schema, items, depth, &mut evaluated)?,
            Value::Object(_) => self.object_is_valid(schema, value, depth, &mut evaluated)?,
            Value::Null | Value::Bool(_) => true,
        };
        if !holds || !self.applicators_are_valid(schema, value, depth, &mut evaluated)? {
            return Ok(None);
        }
        // What no other keyword has evaluated.
        match self.json.value(value) {
            Value::Array(items) => {
                if let Some(unevaluated) = self.get(schema, "unevaluatedItems") {
                    for (index, &item) in items.iter().enumerate() {
                        if evaluated.items.insert(index) && !self.is(unevaluated, item, depth + 1)? {
                            return Ok(None);
                        }
                    }
                }
            }
            Value::Object(members) => {
                if let Some(unevaluated) = self.get(schema, "unevaluatedProperties") {
                    for member in members {
                        let is_new = evaluated.keys.insert(self.json.key(member).to_owned());
                        if is_new && !self.is(unevaluated, member.value, depth + 1)? {
                            return Ok(None);
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(Some(evaluated))
    }

    fn has_type(&self, schema: ValueId, value: ValueId) -> bool {
        let Some(at) = self.get(schema, "type") else { return true };
        let value = self.json.value(value);
        let is = |name: &str| match value {
            Value::Null => name == "null",
            Value::Bool(_) => name == "boolean",
            Value::Number(number) => name == "number" || name == "integer" && number.is_integer(),
            Value::String(_) => name == "string",
            Value::Array(_) => name == "array",
            Value::Object(_) => name == "object",
        };
        match self.schema.value(at) {
            Value::Array(names) => names.iter().any(|&name| is(self.text(name))),
            _ => is(self.text(at)),
        }
    }

    fn has_value(&self, schema: ValueId, value: ValueId) -> bool {
        let is = |other: ValueId| self.json.equal(value, self.schema, other);
        self.get(schema, "const").is_none_or(is)
            && (self.get(schema, "enum").is_none() || self.list(schema, "enum").iter().any(|&other| is(other)))
    }

    fn number_is_valid(&self, schema: ValueId, number: &Decimal) -> bool {
        self.number(schema, "minimum").is_none_or(|bound| number >= bound)
            && self.number(schema, "maximum").is_none_or(|bound| number <= bound)
            && self.number(schema, "exclusiveMinimum").is_none_or(|bound| number > bound)
            && self.number(schema, "exclusiveMaximum").is_none_or(|bound| number < bound)
            && self.number(schema, "multipleOf").is_none_or(|divisor| is_multiple(number, divisor))
    }

    fn matches(&self, pattern: &str, text: &str) -> Result<bool, Undecided> {
        let found = PATTERNS.iter().find(|(other, _)| *other == pattern);
        found.map(|(_, matches)| matches(text)).ok_or(Undecided)
    }

    fn string_is_valid(&self, schema: ValueId, text: &str) -> Result<bool, Undecided> {
        let n_chars = text.chars().count();
        let pattern = self.get(schema, "pattern").map(|at| self.matches(self.text(at), text)).transpose()?;
        Ok(self.count(schema, "minLength").is_none_or(|min| n_chars >= min)
            && self.count(schema, "maxLength").is_none_or(|max| n_chars <= max)
            && pattern != Some(false))
    }

    fn array_is_valid(
        &self,
        schema: ValueId,
        items: &[ValueId],
        depth: usize,
        evaluated: &mut Evaluated,
    ) -> Result<bool, Undecided> {
        let prefix = self.list(schema, "prefixItems");
        for (index, &item) in items.iter().enumerate() {
            let rule = prefix.get(index).copied().or_else(|| self.get(schema, "items"));
            if let Some(rule) = rule {
                evaluated.items.insert(index);
                if !self.is(rule, item, depth + 1)? {
                    return Ok(false);
                }
            }
        }
        if let Some(wanted) = self.get(schema, "contains") {
            let mut n_found = 0;
            for (index, &item) in items.iter().enumerate() {
                if self.is(wanted, item, depth + 1)? {
                    evaluated.items.insert(index);
                    n_found += 1;
                }
            }
            if n_found < self.count(schema, "minContains").unwrap_or(1)
                || self.count(schema, "maxContains").is_some_and(|max| n_found > max)
            {
                return Ok(false);
            }
        }
        let is_unique =
            matches!(self.get(schema, "uniqueItems").map(|at| self.schema.value(at)), Some(Value::Bool(true)));
        let is_repeated =
            |index: usize| items[..index].iter().any(|&other| self.json.equal(items[index], self.json, other));
        Ok(self.count(schema, "minItems").is_none_or(|min| items.len() >= min)
            && self.count(schema, "maxItems").is_none_or(|max| items.len() <= max)
            && !(is_unique && (0..items.len()).any(is_repeated)))
    }

    fn object_is_valid(
        &self,
        schema: ValueId,
        object: ValueId,
        depth: usize,
        evaluated: &mut Evaluated,
    ) -> Result<bool, Undecided> {
        let Value::Object(members) = self.json.value(object) else { return Ok(true) };
        let has = |name: &str| self.json.member(object, name).is_some();
        let (named, patterns) = (self.map(schema, "properties"), self.map(schema, "patternProperties"));
        for member in members {
            let key = self.json.key(member);
            let mut rules: Vec<ValueId> = named.iter().filter(|(name, _)| *name == key).map(|(_, at)| *at).collect();
            for (pattern, at) in &patterns {
                if self.matches(pattern, key)? {
                    rules.push(*at);
                }
            }
            if rules.is_empty() {
                rules.extend(self.get(schema, "additionalProperties"));
            }
            if !rules.is_empty() {
                evaluated.keys.insert(key.to_owned());
            }
            for rule in rules {
                if !self.is(rule, member.value, depth + 1)? {
                    return Ok(false);
                }
            }
            if let Some(names) = self.get(schema, "propertyNames") {
                let quoted = serde_json::to_string(key).expect("a string can be written");
                let name = Json::parse(&quoted, &crate::Limits::default()).expect("a string is JSON");
                let validator = Validator { schema: self.schema, json: &name };
                if !validator.is(names, name.root(), depth + 1)? {
                    return Ok(false);
                }
            }
        }
        for (name, asked) in self.map(schema, "dependentRequired") {
            let Value::Array(asked) = self.schema.value(asked) else { continue };
            if has(name) && !asked.iter().all(|&at| has(self.text(at))) {
                return Ok(false);
            }
        }
        for (name, asked) in self.map(schema, "dependentSchemas") {
            if has(name) {
                match self.check(asked, object, depth + 1)? {
                    Some(also) => evaluated.add(also),
                    None => return Ok(false),
                }
            }
        }
        Ok(self.list(schema, "required").iter().all(|&at| has(self.text(at)))
            && self.count(schema, "minProperties").is_none_or(|min| members.len() >= min)
            && self.count(schema, "maxProperties").is_none_or(|max| members.len() <= max))
    }

    /// Checks the keywords that apply other schemas to the same value.
    fn applicators_are_valid(
        &self,
        schema: ValueId,
        value: ValueId,
        depth: usize,
        evaluated: &mut Evaluated,
    ) -> Result<bool, Undecided> {
        if let Some(at) = self.get(schema, "$ref") {
            let name = self.text(at).strip_prefix("#/$defs/").ok_or(Undecided)?;
            let definitions = self.get(self.schema.root(), "$defs").ok_or(Undecided)?;
            let target = self.schema.member(definitions, name).ok_or(Undecided)?;
            match self.check(target, value, depth + 1)? {
                Some(also) => evaluated.add(also),
                None => return Ok(false),
            }
        }
        let all = self.list(schema, "allOf");
        let holding = |keyword: &str| -> Result<Vec<Evaluated>, Undecided> {
            let branches = self.list(schema, keyword).iter();
            let verdicts: Result<Vec<_>, Undecided> =
                branches.map(|&branch| self.check(branch, value, depth + 1)).collect();
            Ok(verdicts?.into_iter().flatten().collect())
        };
        let (of_all, of_any, of_one) = (holding("allOf")?, holding("anyOf")?, holding("oneOf")?);
        if of_all.len() < all.len()
            || self.get(schema, "anyOf").is_some() && of_any.is_empty()
            || self.get(schema, "oneOf").is_some() && of_one.len() != 1
        {
            return Ok(false);
        }
        of_all.into_iter().chain(of_any).chain(of_one).for_each(|also| evaluated.add(also));
        if let Some(not) = self.get(schema, "not")
            && self.is(not, value, depth + 1)?
        {
            return Ok(false);
        }
        if let Some(test) = self.get(schema, "if") {
            let tested = self.check(test, value, depth + 1)?;
            let next = if tested.is_some() { "then" } else { "else" };
            evaluated.add(tested.unwrap_or_default());
            if let Some(next) = self.get(schema, next) {
                match self.check(next, value, depth + 1)? {
                    Some(also) => evaluated.add(also),
                    None => return Ok(false),
                }
            }
        }
        Ok(true)
    }
}

/// Returns whether a number is a multiple of another: long division, digit by digit.
fn is_multiple(number: &Decimal, divisor: &Decimal) -> bool {
    if number.is_zero() {
        return true;
    }
    let unit = number.exponent().min(divisor.exponent());
    let zeros = |exponent: i64| core::iter::repeat_n(0, (exponent - unit) as usize);
    let Some(whole) =
        divisor.digits().iter().copied().chain(zeros(divisor.exponent())).try_fold(0u128, |whole, digit| {
            whole.checked_mul(10)?.checked_add(u128::from(digit)).filter(|&whole| whole < 1 << 120)
        })
    else {
        // The number has a digit far below those of the divisor.
        return false;
    };
    let digits = number.digits().iter().copied().chain(zeros(number.exponent()));
    digits.fold(0, |remainder, digit| (remainder * 10 + u128::from(digit)) % whole) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn what_the_standard_says() {
        let json = |text: &str| Json::parse(text, &Limits::default()).unwrap();
        for (schema, valid, invalid) in [
            (r#"{"multipleOf": 0.1}"#, &["0.3", "1e2", "0", "null"][..], &["0.25", "1e-9"][..]),
            (r#"{"type": "integer", "minimum": 2}"#, &["2", "3.0"], &["1", "2.5", "null"]),
            (r#"{"contains": {"const": 1}, "maxContains": 1}"#, &["[1, 2]", "{}"], &["[]", "[1, 1.0]"]),
            (r#"{"minContains": 0, "contains": false}"#, &["[]", "[1]"], &[]),
            (r#"{"prefixItems": [{"type": "null"}], "items": false}"#, &["[]", "[null]"], &["[1]", "[null, 1]"]),
            (
                r#"{"anyOf": [{"properties": {"a": true}}, {"required": ["b"]}], "unevaluatedProperties": false}"#,
                &["{}", r#"{"a": 1}"#],
                &[r#"{"b": 1}"#, r#"{"a": 1, "b": 1}"#],
            ),
            (
                r##"{"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"enum": [1, "x"]}}}"##,
                &[r#"{"a": 1}"#, r#"{"b": 2}"#],
                &[r#"{"a": 2}"#],
            ),
            (r#"{"if": {"minLength": 2}, "then": {"pattern": "^a"}, "else": false}"#, &[r#""ab""#, "1"], &[r#""a""#]),
            (r#"{"propertyNames": {"pattern": "^a"}, "dependentRequired": {"a": ["ab"]}}"#, &["{}"], &[r#"{"a": 1}"#]),
            (
                r#"{"patternProperties": {"^a": {"type": "null"}}, "additionalProperties": false}"#,
                &[r#"{"a": null}"#],
                &[r#"{"a": 1}"#, r#"{"b": 1}"#],
            ),
            (r#"{"uniqueItems": true}"#, &[r#"[1, "1"]"#], &["[1, 1.0]"]),
            (r#"{"oneOf": [{"type": "integer"}, {"minimum": 2}]}"#, &["1", "2.5"], &["3", "1.5"]),
        ] {
            let parsed = json(schema);
            valid.iter().for_each(|text| assert_eq!(is_valid(&parsed, &json(text)), Ok(true), "{schema} {text}"));
            invalid.iter().for_each(|text| assert_eq!(is_valid(&parsed, &json(text)), Ok(false), "{schema} {text}"));
        }
        assert_eq!(
            is_valid(&json(r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}"##), &json("1")),
            Err(Undecided)
        );
    }
}
