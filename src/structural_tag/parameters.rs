//! Parameters of tool calls that are no JSON: each a key and a value between markers, like `<parameter=city>Oslo</parameter>`.
//!
//! A value that is a string is written as its characters; all others are JSON. The parameters come in the order in which the schema declares them, or in any,
//! white space (16 characters, or `max_whitespace_cnt`) may stand between them and around a value (but not around one that `string="true"` calls a string), and none before the first and behind the last. A parameter that the schema doesn't
//! declare comes after those (or amid them, in any order), if the schema allows others; one may then come twice, of which parsers keep the last.
//!
//! | style | a parameter |
//! |---|---|
//! | `qwen_xml` | `<parameter=k>v</parameter>` |
//! | `minimax_xml` | `<parameter name="k">v</parameter>` |
//! | `glm_xml` | `<arg_key>k</arg_key><arg_value>v</arg_value>`, with or without white space in the middle |
//! | `deepseek_xml` | `<｜DSML｜parameter name="k" string="true">v</｜DSML｜parameter>`, `false` for what is no string |
//! | `deepseek_v4_1_xml` | the same with a blank before `parameter` |
//! | `kimi_k3_xml` | `<\|open\|>argument key="k" type="string"<\|sep\|>v<\|close\|>argument<\|sep\|>`, with the type of the value |

use super::error::TagError;
use super::members::{Member, Members};
use super::places::{
    Followed, Place, Places, excluded_in, followed, has_type, is_annotation, key_without, required, space, space_max,
    text_without,
};
use super::steps::{STEPS_PER_PART, Steps};
use crate::grammar::{Expr, ExprId, GrammarBuilder, RuleId, SchemaOperand};
use crate::json_schema::{Json, Value, ValueId};
use crate::regular::CharSet;
use crate::schema_options::{JsonTypes, RootForm, SchemaOptions};
use hashbrown::HashMap;

/// How parameters are written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Style {
    name: &'static str,
    before_key: &'static str,
    /// Between the key and what says of which type the value is.
    after_key: &'static str,
    types: Types,
    /// Whether white space may stand before what begins the value.
    has_space: bool,
    before_value: &'static str,
    after_value: &'static str,
}

/// What says of which type a value is.
#[derive(Debug, PartialEq, Eq)]
enum Types {
    /// Nothing.
    Untold,
    /// `true` for a string and `false` for others.
    IsString,
    /// The name of the type.
    Named,
}

const STYLES: [Style; 6] = [
    Style {
        name: "qwen_xml",
        before_key: "<parameter=",
        after_key: "",
        types: Types::Untold,
        has_space: false,
        before_value: ">",
        after_value: "</parameter>",
    },
    Style {
        name: "minimax_xml",
        before_key: "<parameter name=\"",
        after_key: "",
        types: Types::Untold,
        has_space: false,
        before_value: "\">",
        after_value: "</parameter>",
    },
    Style {
        name: "glm_xml",
        before_key: "<arg_key>",
        after_key: "</arg_key>",
        types: Types::Untold,
        has_space: true,
        before_value: "<arg_value>",
        after_value: "</arg_value>",
    },
    Style {
        name: "deepseek_xml",
        before_key: "<｜DSML｜parameter name=\"",
        after_key: "\" string=\"",
        types: Types::IsString,
        has_space: false,
        before_value: "\">",
        after_value: "</｜DSML｜parameter>",
    },
    Style {
        name: "deepseek_v4_1_xml",
        before_key: "<｜DSML｜ parameter name=\"",
        after_key: "\" string=\"",
        types: Types::IsString,
        has_space: false,
        before_value: "\">",
        after_value: "</｜DSML｜ parameter>",
    },
    Style {
        name: "kimi_k3_xml",
        before_key: "<|open|>argument key=\"",
        after_key: "\" type=\"",
        types: Types::Named,
        has_space: false,
        before_value: "\"<|sep|>",
        after_value: "<|close|>argument<|sep|>",
    },
];

const NAMED_TYPES: [(&str, JsonTypes); 5] = [
    ("number", JsonTypes::NUMBER),
    ("boolean", JsonTypes::BOOLEAN),
    ("object", JsonTypes::OBJECT),
    ("array", JsonTypes::ARRAY),
    ("null", JsonTypes::NULL),
];

impl Style {
    pub fn names() -> impl Iterator<Item = &'static str> {
        STYLES.iter().map(|style| style.name)
    }

    pub fn find(name: &str) -> Option<&'static Style> {
        STYLES.iter().find(|style| style.name == name)
    }

    /// Returns a key as it is written.
    fn key(&self, key: &str) -> String {
        match self.types {
            Types::Named => key.replace('&', "&amp;").replace('"', "&quot;"),
            Types::Untold | Types::IsString => key.to_owned(),
        }
    }

    /// Returns the character that no key of an undeclared parameter has.
    fn key_end(&self) -> char {
        [self.after_key, self.before_value].iter().find_map(|text| text.chars().next()).expect("a key has an end")
    }
}

/// The parameters that a schema describes.
#[derive(Debug)]
pub(super) struct Parameters {
    style: &'static Style,
    options: SchemaOptions,
    declared: Vec<Parameter>,
    /// Whether there may be others, and their schema, if they have one.
    others: Option<Option<Place>>,
}

#[derive(Debug)]
struct Parameter {
    key: String,
    schema: Place,
    types: KnownTypes,
    is_required: bool,
}

/// Rules for all parameters of a grammar, each compiled by itself: equal ones are one rule.
#[derive(Debug, Default)]
pub(super) struct SharedRules {
    /// Values with the marker behind them.
    values: HashMap<ValueKey, RuleId>,
    /// White space with a marker behind it, by its longest run and the marker.
    spaces: HashMap<(u32, &'static str), RuleId>,
}

/// What a rule of values depends on.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ValueKey {
    style: &'static str,
    /// None for any string.
    schema: Option<SchemaOperand>,
    types: KnownTypes,
    excluded_texts: Vec<Box<str>>,
    space_max: u32,
}

/// What the keyword `type` says of the values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum KnownTypes {
    /// Any string, and nothing else.
    AnyString,
    /// Strings only.
    Strings,
    /// No strings.
    NoStrings,
    Any,
}

/// Keywords of a schema of parameters that say nothing about its values, or that are read here.
const READ: [&str; 15] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "$defs",
    "definitions",
    "title",
    "description",
    "$schema",
    "$id",
    "$comment",
    "default",
    "examples",
    "strict",
    "$ref",
];
impl Parameters {
    /// Reads the schema of some parameters.
    pub fn read(
        json: &Json,
        schema: ValueId,
        style: &'static Style,
        options: SchemaOptions,
        steps: Steps<'_>,
    ) -> Result<Parameters, TagError> {
        let places = Places::new(json, schema, options.clone());
        let mut parameters = Parameters { style, options, declared: Vec::new(), others: Some(None) };
        let at = followed(json, schema, schema, &mut Followed::new())?;
        let members = match json.value(at) {
            Value::Bool(true) => return Ok(parameters),
            Value::Object(members) => members,
            _ => return Err(TagError::unsupported(json, at, "the schema of parameters is an object or `true`")),
        };
        for member in members {
            let word = json.key(member);
            if !READ.contains(&word) {
                let message = format!("`{word}` of parameters that are no JSON is not supported");
                return Err(TagError::unsupported(json, member.value, message));
            }
        }
        if let Some(types) = json.member(at, "type")
            && !has_type(json, types, "object")
        {
            return Err(TagError::unsupported(json, types, "parameters are the properties of an object"));
        }
        let mut required = required(json, at)?;
        if let Some(properties) = json.member(at, "properties") {
            let Value::Object(members) = json.value(properties) else {
                return Err(TagError::document(json, properties, "`properties` is an object"));
            };
            for member in members {
                steps.spend(STEPS_PER_PART)?;
                let key = json.key(member).to_owned();
                if json.member(properties, &key) != Some(member.value) {
                    return Err(TagError::document(json, member.value, format!("the key {key:?} comes twice")));
                }
                let is_required = required.remove(&*key);
                if let Some(text) = excluded_in(&style.key(&key), &parameters.options) {
                    // It can't come.
                    if is_required {
                        let message = format!("the required parameter {key:?} has the excluded text {text:?} in it");
                        return Err(TagError::document(json, member.value, message));
                    }
                    continue;
                }
                let types = known_types(json, member.value);
                parameters.declared.push(Parameter { key, schema: places.place(member.value), types, is_required });
            }
            if !parameters.options.has_additional_properties {
                parameters.others = None;
            }
        }
        if let Some(name) = required.into_iter().min() {
            let message = format!("the required parameter {name:?} is not declared among the `properties`");
            return Err(TagError::unsupported(json, at, message));
        }
        if let Some(others) = json.member(at, "additionalProperties") {
            parameters.others = match json.value(others) {
                Value::Bool(false) => None,
                Value::Bool(true) => Some(None),
                _ => Some(Some(places.place(others))),
            };
        }
        Ok(parameters)
    }

    /// Adds the grammar of the parameters; rules have names that begin with `prefix`.
    ///
    /// All rules of keys stand at ends of words ([`Members`]), so that together they are one automaton, as large as the keys are. The others are units of their own,
    /// the same for all tools.
    pub fn lower(
        &self,
        builder: &mut GrammarBuilder,
        shared: &mut SharedRules,
        prefix: &str,
        steps: Steps<'_>,
    ) -> Result<ExprId, TagError> {
        let next = self.next(builder, shared);
        let other = self.others.as_ref().map(|schema| self.other(builder, shared, schema.as_ref()));
        let declared = self.declared.iter().map(|parameter| {
            let key = builder.marker(&format!("{}{}", self.style.key(&parameter.key), self.style.after_key));
            let value = self.value(builder, shared, Some(&parameter.schema), parameter.types);
            let member = builder.sequence([key, value]);
            steps.spend(STEPS_PER_PART).map(|()| Member { member, is_required: parameter.is_required })
        });
        let members = Members { declared: declared.collect::<Result<_, _>>()?, other, next };
        let keys = members.lower(builder, self.options.has_any_order, prefix, steps)?;
        let Some((keys, may_be_none)) = keys else { return Ok(builder.empty()) };
        let open = builder.marker(self.style.before_key);
        let all = builder.sequence([open, keys]);
        let body = if may_be_none { builder.repeat(all, 0, Some(1)) } else { all };
        let rule = builder.rule(&format!("{prefix}all"));
        builder.define(rule, body);
        builder.set_separate(rule);
        Ok(builder.rule_ref(rule))
    }

    /// Returns the number of declared parameters.
    pub fn n_declared(&self) -> usize {
        self.declared.len()
    }

    /// Adds white space and what stands before the key of a parameter.
    fn next(&self, builder: &mut GrammarBuilder, shared: &mut SharedRules) -> ExprId {
        shared.space_and(builder, &self.options, self.style.before_key)
    }

    /// Adds a parameter that is not declared, from its key on.
    fn other(&self, builder: &mut GrammarBuilder, shared: &mut SharedRules, schema: Option<&Place>) -> ExprId {
        let style = self.style;
        let close = builder.marker(style.after_key);
        let characters = CharSet::from_iter([style.key_end(), '\n', '\r']).negate();
        let character = builder.class(characters);
        let mut key = builder.repeat(character, 1, None);
        if !self.declared.is_empty() {
            let declared: Vec<ExprId> =
                self.declared.iter().map(|parameter| builder.literal(style.key(&parameter.key))).collect();
            let declared = builder.one_of(declared);
            key = builder.push(Expr::Minus(key, declared));
        }
        let key = key_without(builder, key, &self.options);
        let value = self.value(builder, shared, schema, KnownTypes::Any);
        builder.sequence([key, close, value])
    }

    /// Adds a value with what says of which type it is, and the marker behind it.
    fn value(
        &self,
        builder: &mut GrammarBuilder,
        shared: &mut SharedRules,
        schema: Option<&Place>,
        types: KnownTypes,
    ) -> ExprId {
        let style = self.style;
        let types = if schema.is_none() && style.types == Types::Untold { KnownTypes::AnyString } else { types };
        // Of any string the schema says nothing else.
        let schema = schema.filter(|_| types != KnownTypes::AnyString);
        let operand = match schema {
            Some(place) => Some(place.operand.clone()),
            None if types == KnownTypes::AnyString => None,
            None => Some(SchemaOperand::new("true", self.options.clone())),
        };
        let excluded_texts = self.options.excluded_texts.clone();
        let space_max = space_max(&self.options);
        let key = ValueKey { style: style.name, schema: operand, types, excluded_texts, space_max };
        if let Some(&rule) = shared.values.get(&key) {
            return builder.rule_ref(rule);
        }
        let rule = builder.rule(&format!("value-{}", shared.values.len() + 1));
        let body = self.value_body(builder, shared, schema, types);
        builder.define(rule, body);
        builder.set_separate(rule);
        shared.values.insert(key, rule);
        builder.rule_ref(rule)
    }

    fn value_body(
        &self,
        builder: &mut GrammarBuilder,
        shared: &mut SharedRules,
        schema: Option<&Place>,
        types: KnownTypes,
    ) -> ExprId {
        let style = self.style;
        let mut alternatives = Vec::new();
        if types != KnownTypes::NoStrings {
            let text = match schema {
                None => {
                    let text = text_without(builder, style.after_value, &self.options);
                    let close = builder.marker(style.after_value);
                    builder.sequence([text, close])
                }
                Some(schema) => {
                    let text = schema.form(builder, RootForm::Text { until: style.after_value.into() });
                    match style.types {
                        // All that stands there is the string.
                        Types::IsString => {
                            let close = builder.marker(style.after_value);
                            builder.sequence([text, close])
                        }
                        Types::Untold | Types::Named => self.padded(builder, shared, text),
                    }
                }
            };
            let told = match style.types {
                Types::Untold => "",
                Types::IsString => "true",
                Types::Named => "string",
            };
            alternatives.push(self.told(builder, told, text));
        }
        if !matches!(types, KnownTypes::AnyString | KnownTypes::Strings) {
            let forms: &[(&str, JsonTypes)] = match style.types {
                Types::Untold => &[("", JsonTypes::ALL_BUT_STRING)],
                Types::IsString => &[("false", JsonTypes::ALL_BUT_STRING)],
                Types::Named => &NAMED_TYPES,
            };
            for &(told, types) in forms {
                let form = RootForm::JsonOf(types);
                let json = match schema {
                    Some(schema) => schema.form(builder, form),
                    None => {
                        let options = SchemaOptions { root: form, ..self.options.clone() };
                        builder.schema(SchemaOperand::new("true", options))
                    }
                };
                let json = self.padded(builder, shared, json);
                alternatives.push(self.told(builder, told, json));
            }
        }
        builder.one_of(alternatives)
    }

    /// Adds what says that a value is of a type, and the value with the marker behind it.
    fn told(&self, builder: &mut GrammarBuilder, told: &str, value: ExprId) -> ExprId {
        let open = builder.marker(&format!("{told}{}", self.style.before_value));
        let before = if self.style.has_space { space(builder, &self.options) } else { builder.empty() };
        builder.sequence([before, open, value])
    }

    /// Adds a value with white space around it, and the marker behind it.
    fn padded(&self, builder: &mut GrammarBuilder, shared: &mut SharedRules, value: ExprId) -> ExprId {
        let (before, close) =
            (space(builder, &self.options), shared.space_and(builder, &self.options, self.style.after_value));
        builder.sequence([before, value, close])
    }
}

impl SharedRules {
    /// Adds white space and a marker behind it.
    fn space_and(&mut self, builder: &mut GrammarBuilder, options: &SchemaOptions, marker: &'static str) -> ExprId {
        let n_rules = self.spaces.len();
        let rule = *self.spaces.entry((space_max(options), marker)).or_insert_with(|| {
            let rule = builder.rule(&format!("space-{}", n_rules + 1));
            let (space, marker) = (space(builder, options), builder.marker(marker));
            let body = builder.sequence([space, marker]);
            builder.define(rule, body);
            builder.set_separate(rule);
            rule
        });
        builder.rule_ref(rule)
    }
}

fn known_types(json: &Json, schema: ValueId) -> KnownTypes {
    let Some(types) = json.member(schema, "type") else { return KnownTypes::Any };
    let Value::Object(members) = json.value(schema) else { return KnownTypes::Any };
    let is_free = members.iter().all(|member| is_annotation(json.key(member)) || json.key(member) == "type");
    match json.value(types) {
        Value::String("string") if is_free => KnownTypes::AnyString,
        Value::String("string") => KnownTypes::Strings,
        _ if has_type(json, types, "string") => KnownTypes::Any,
        _ => KnownTypes::NoStrings,
    }
}
