//! Arguments of tool calls as elements: each member of an object and each item of an array is one, at whatever depth.
//!
//! | style | a member | an item |
//! |---|---|---|
//! | `cohere_xml` | `<cofl:value name="k" type="raw">v</cofl:value>` | `<cofl:value type="raw">v</cofl:value>` |
//! | `minimax_m3_xml` | `]<]minimax[>[<k>v]<]minimax[>[</k>` | `]<]minimax[>[<item>v]<]minimax[>[</item>` |
//!
//! A string is written as its characters, in which the marker that ends it doesn't occur (of `minimax_m3_xml`: `]<]minimax[>[`); numbers, `true`, `false` and `null` are JSON. White space may stand around
//! elements and, in `cohere_xml`, around JSON, but not before the first and behind the last argument. In `cohere_xml` the type is `raw`, `json`, `dict` or `list`, and keys have `&lt;` for `<`.
//!
//! Which elements an object or array has is read from its schema. So keywords that say more of it than `properties`, `required`, `additionalProperties`, `items`, `minItems`, `maxItems`, `anyOf` and `oneOf` (of
//! different types) do are refused; all keywords may say something of strings, numbers and the like. Two members of one key are told apart only among those that are declared. `minimax_m3_xml` has no form for members
//! that are not: a key would have to be the same at both ends of the element.

use super::error::TagError;
use super::members::{ANY_ORDER_MAX, Member, Members};
use super::places::{
    Followed, Place, Places, excluded_in, followed, is_annotation, key_without, required, space, text_without,
};
use super::steps::{STEPS_PER_PART, Steps};
use crate::grammar::{Expr, ExprId, GrammarBuilder, RuleId, SchemaOperand};
use crate::json_schema::{Json, Value, ValueId};
use crate::limits::Limits;
use crate::regular::CharSet;
use crate::schema_options::{JsonTypes, RootForm, SchemaOptions};
use crate::util::index_type;
use hashbrown::HashMap;

/// How elements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NestedStyle {
    Cohere,
    MiniMaxM3,
}

index_type!(
    /// The index of a description of values.
    NodeId
);

/// What values there are.
#[derive(Debug)]
enum Node {
    /// Any.
    Any,
    /// Those of any of some other ones.
    OneOf(Vec<NodeId>),
    /// Those of some types.
    Typed(Typed),
}

/// Values of some types; none of a type that is left out.
#[derive(Debug, Default)]
struct Typed {
    /// Strings: any, or those of a schema.
    strings: Option<Option<Place>>,
    /// Numbers, booleans and null.
    scalars: Option<(Place, JsonTypes)>,
    object: Option<Object>,
    array: Option<Array>,
}

#[derive(Debug)]
struct Object {
    declared: Vec<(String, NodeId, bool)>,
    /// The values of other members, if there may be any.
    others: Option<NodeId>,
}

#[derive(Debug)]
struct Array {
    items: NodeId,
    min: u32,
    max: Option<u32>,
}

/// Arguments as elements.
#[derive(Debug)]
pub(super) struct Nested {
    style: NestedStyle,
    options: SchemaOptions,
    nodes: Vec<Node>,
    root: NodeId,
}

/// Most schemas within a schema.
const DEPTH_MAX: usize = 64;

/// Keywords that say nothing of objects and arrays, or that are read here.
const READ: [&str; 28] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "enum",
    "const",
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$ref",
    "strict",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "contentEncoding",
    "contentMediaType",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "readOnly",
    "writeOnly",
];

impl NestedStyle {
    const ALL: [NestedStyle; 2] = [NestedStyle::Cohere, NestedStyle::MiniMaxM3];

    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(NestedStyle::name)
    }

    pub fn find(name: &str) -> Option<NestedStyle> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            NestedStyle::Cohere => "cohere_xml",
            NestedStyle::MiniMaxM3 => "minimax_m3_xml",
        }
    }

    /// Returns what stands before the key of a member.
    fn before_key(self) -> &'static str {
        match self {
            NestedStyle::Cohere => "<cofl:value name=\"",
            NestedStyle::MiniMaxM3 => "]<]minimax[>[<",
        }
    }

    /// Returns a key as it is written.
    fn key(self, key: &str) -> String {
        match self {
            NestedStyle::Cohere => {
                key.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
            }
            NestedStyle::MiniMaxM3 => key.to_owned(),
        }
    }

    /// Returns a text that no string has in it.
    fn string_end(self) -> &'static str {
        match self {
            NestedStyle::Cohere => "</cofl:value>",
            NestedStyle::MiniMaxM3 => "]<]minimax[>[",
        }
    }
}

/// What is between the markers of an element.
#[derive(Clone, Copy)]
enum Kind {
    Raw,
    Json,
    Dict,
    List,
}

impl Nested {
    /// Reads the schema of some arguments.
    pub fn read(
        json: &Json,
        schema: ValueId,
        style: NestedStyle,
        options: SchemaOptions,
        limits: &Limits,
        steps: Steps<'_>,
    ) -> Result<Nested, TagError> {
        let places = Places::new(json, schema, options.clone());
        let mut reader = Reader {
            json,
            schema,
            style,
            options: &options,
            limits,
            steps,
            places,
            nodes: Vec::new(),
            known: HashMap::new(),
            known_types: HashMap::new(),
            followed: Followed::new(),
        };
        let root = reader.node(schema, 0)?;
        let is_object = match &reader.nodes[root.index()] {
            Node::Any => true,
            Node::Typed(typed) => typed.object.is_some(),
            Node::OneOf(_) => false,
        };
        if !is_object {
            return Err(TagError::unsupported(json, schema, "arguments are the properties of an object"));
        }
        let nodes = reader.nodes;
        Ok(Nested { style, options, nodes, root })
    }

    /// Adds the grammar of the arguments; rules have names that begin with `prefix`.
    pub fn lower(&self, builder: &mut GrammarBuilder, prefix: &str, steps: Steps<'_>) -> Result<ExprId, TagError> {
        let rules = (0..self.nodes.len()).map(|index| builder.rule(&format!("{prefix}{index}"))).collect();
        let objects = (0..self.nodes.len()).map(|_| None).collect();
        let mut lowering = Lowering { nested: self, builder, prefix, steps, rules, objects };
        // Descriptions refer to each other, so all of them have rules.
        (0..self.nodes.len()).try_for_each(|index| lowering.define(NodeId::new(index)))?;
        let arguments = lowering.members(self.root)?;
        let rule = builder.rule(&format!("{prefix}all"));
        builder.define(rule, arguments);
        builder.set_separate(rule);
        Ok(builder.rule_ref(rule))
    }
}

struct Reader<'a> {
    json: &'a Json,
    /// The whole schema.
    schema: ValueId,
    style: NestedStyle,
    options: &'a SchemaOptions,
    limits: &'a Limits,
    steps: Steps<'a>,
    places: Places<'a>,
    nodes: Vec<Node>,
    known: HashMap<ValueId, NodeId>,
    /// Types of schemas; of one that is being looked at, all.
    known_types: HashMap<ValueId, Types>,
    followed: Followed,
}

impl Reader<'_> {
    /// Reads the description of the values that a schema accepts.
    fn node(&mut self, schema: ValueId, depth: usize) -> Result<NodeId, TagError> {
        if depth > DEPTH_MAX {
            let message = format!("schemas of arguments nest deeper than {DEPTH_MAX}");
            return Err(TagError::unsupported(self.json, schema, message));
        }
        let at = followed(self.json, self.schema, schema, &mut self.followed)?;
        if let Some(&known) = self.known.get(&at) {
            return Ok(known);
        }
        self.steps.spend(STEPS_PER_PART)?;
        let id = NodeId::new(self.nodes.len());
        // Of the whole there are objects only.
        if depth > 0 {
            self.known.insert(at, id);
        }
        // It may refer to itself.
        self.nodes.push(Node::Any);
        let node = match self.json.value(at) {
            Value::Bool(true) => Node::Any,
            Value::Object(members) if members.iter().all(|member| is_annotation(self.json.key(member))) => Node::Any,
            Value::Object(_) => self.described(at, depth)?,
            _ => {
                let message = "a schema of an argument is an object or `true`";
                return Err(TagError::unsupported(self.json, at, message));
            }
        };
        if self.style == NestedStyle::MiniMaxM3 && matches!(node, Node::Any) {
            let message = format!(
                "`{}` has no form for any value: the schema has to say of which types it is",
                self.style.name()
            );
            return Err(TagError::unsupported(self.json, at, message));
        }
        self.nodes[id.index()] = node;
        Ok(id)
    }

    fn described(&mut self, at: ValueId, depth: usize) -> Result<Node, TagError> {
        let types = self.types(at, depth)?;
        let types = if depth == 0 { types.both(Types::named("object")) } else { types };
        let mut typed = Typed::default();
        if types.has(JsonTypes::STRING) {
            typed.strings = Some((!self.is_free(at)).then(|| self.places.place(at)));
        }
        if let Some(scalars) = types.and(JsonTypes::NULL.or(JsonTypes::BOOLEAN).or(JsonTypes::NUMBER)) {
            typed.scalars = Some((self.places.place(at), scalars));
        }
        if !types.has(JsonTypes::OBJECT) && !types.has(JsonTypes::ARRAY) {
            return Ok(Node::Typed(typed));
        }
        let Value::Object(members) = self.json.value(at) else { unreachable!("only objects are described") };
        let words: Vec<(&str, ValueId)> = members.iter().map(|member| (self.json.key(member), member.value)).collect();
        if let Some(&(word, choice)) = words.iter().find(|(word, _)| matches!(*word, "anyOf" | "oneOf")) {
            let is_alone =
                |other: &str| other == word || is_annotation(other) || matches!(other, "$defs" | "definitions");
            if let Some(&(other, value)) = words.iter().find(|(other, _)| !is_alone(other)) {
                let message = format!("`{other}` beside `{word}` of objects or arrays is not supported");
                return Err(TagError::unsupported(self.json, value, message));
            }
            return self.choice(choice, word == "oneOf", depth);
        }
        let is_read = |word: &str| is_annotation(word) || READ.contains(&word);
        if let Some(&(word, value)) = words.iter().find(|(word, _)| !is_read(word)) {
            let message = format!("`{word}` of objects or arrays that are no JSON is not supported");
            return Err(TagError::unsupported(self.json, value, message));
        }
        if types.has(JsonTypes::OBJECT) {
            typed.object = Some(self.object(at, depth)?);
        }
        if types.has(JsonTypes::ARRAY) {
            typed.array = Some(self.array(at, depth)?);
        }
        Ok(Node::Typed(typed))
    }

    fn choice(&mut self, choice: ValueId, is_exclusive: bool, depth: usize) -> Result<Node, TagError> {
        let branches = self.list(choice)?;
        let mut met = Types::none();
        for &branch in branches.iter().filter(|_| is_exclusive) {
            let types = self.types(branch, depth + 1)?;
            if met.overlaps(types) {
                let message = "the branches of `oneOf` have values of the same type, which is not supported";
                return Err(TagError::unsupported(self.json, branch, message));
            }
            met = met.or(types);
        }
        let branches = branches.into_iter().map(|branch| self.node(branch, depth + 1));
        Ok(Node::OneOf(branches.collect::<Result<_, _>>()?))
    }

    fn object(&mut self, at: ValueId, depth: usize) -> Result<Object, TagError> {
        let json = self.json;
        let mut required = required(json, at)?;
        let mut declared = Vec::new();
        // Of members that nothing is said of there is no form.
        let mut is_open = self.style != NestedStyle::MiniMaxM3;
        if let Some(properties) = json.member(at, "properties") {
            let Value::Object(members) = json.value(properties) else {
                return Err(TagError::document(json, properties, "`properties` is an object"));
            };
            for member in members {
                let key = json.key(member).to_owned();
                if !self.is_key(&key) {
                    let message = format!("`{}` has no form for the key {key:?}", self.style.name());
                    return Err(TagError::unsupported(json, member.value, message));
                }
                if json.member(properties, &key) != Some(member.value) {
                    return Err(TagError::document(json, member.value, format!("the key {key:?} comes twice")));
                }
                let is_required = required.remove(&*key);
                if let Some(text) = excluded_in(&self.style.key(&key), self.options) {
                    // It can't come.
                    if is_required {
                        let message = format!("the required property {key:?} has the excluded text {text:?} in it");
                        return Err(TagError::document(json, member.value, message));
                    }
                    continue;
                }
                declared.push((key, self.node(member.value, depth + 1)?, is_required));
            }
            is_open = self.options.has_additional_properties;
        }
        if let Some(name) = required.into_iter().min() {
            let message = format!("the required property {name:?} is not declared among the `properties`");
            return Err(TagError::unsupported(json, at, message));
        }
        let limit = self.limits.any_order_keys_max.min(ANY_ORDER_MAX);
        if self.options.has_any_order && declared.len() > limit {
            let what = "properties in any order (any_order_keys_max)";
            return Err(TagError::limit(json, at, what, declared.len(), limit));
        }
        let additional = json.member(at, "additionalProperties");
        if let Some(additional) = additional {
            is_open = !matches!(json.value(additional), Value::Bool(false));
        }
        if is_open && self.style == NestedStyle::MiniMaxM3 {
            let message = format!("`{}` has no form for members that are not declared", self.style.name());
            return Err(TagError::unsupported(json, additional.unwrap_or(at), message));
        }
        let others = match (is_open, additional) {
            (false, _) => None,
            (true, Some(schema)) => Some(self.node(schema, depth + 1)?),
            (true, None) => Some(self.any()),
        };
        Ok(Object { declared, others })
    }

    fn array(&mut self, at: ValueId, depth: usize) -> Result<Array, TagError> {
        let items = match self.json.member(at, "items") {
            Some(items) => self.node(items, depth + 1)?,
            None if self.style == NestedStyle::MiniMaxM3 => {
                let message =
                    format!("`{}` has no form for any value: an array has to have `items`", self.style.name());
                return Err(TagError::unsupported(self.json, at, message));
            }
            None => self.any(),
        };
        let min = self.count(at, "minItems")?.unwrap_or(0);
        let max = self.count(at, "maxItems")?;
        if max.is_some_and(|max| max < min) {
            return Err(TagError::document(self.json, at, format!("`maxItems` is less than `minItems` {min}")));
        }
        Ok(Array { items, min, max })
    }

    fn count(&self, at: ValueId, word: &str) -> Result<Option<u32>, TagError> {
        let Some(field) = self.json.member(at, word) else { return Ok(None) };
        let count = match self.json.value(field) {
            Value::Number(number) => number.to_u64().filter(|&count| count <= u64::from(self.limits.bound_max())),
            _ => None,
        };
        let limit = self.limits.bound_max();
        let count = count.ok_or_else(|| {
            TagError::document(
                self.json,
                field,
                format!("`{word}` is a number of at most repeat_max = {limit}, and not negative"),
            )
        });
        count.map(|count| Some(count as u32))
    }

    fn any(&mut self) -> NodeId {
        self.nodes.push(Node::Any);
        NodeId::new(self.nodes.len() - 1)
    }

    fn list(&self, at: ValueId) -> Result<Vec<ValueId>, TagError> {
        match self.json.value(at) {
            Value::Array(items) if !items.is_empty() => Ok(items.to_vec()),
            _ => Err(TagError::document(self.json, at, "a choice of schemas is a list that is not empty")),
        }
    }

    /// Tells whether a key can be written.
    fn is_key(&self, key: &str) -> bool {
        match self.style {
            NestedStyle::Cohere => !key.contains('\0'),
            NestedStyle::MiniMaxM3 => {
                !key.is_empty() && !key.contains(['<', '>', '/', '[', ']']) && !key.contains(char::is_whitespace)
            }
        }
    }

    /// Tells whether a schema says nothing of strings but that there are some.
    fn is_free(&self, at: ValueId) -> bool {
        let Value::Object(members) = self.json.value(at) else { return true };
        members.iter().all(|member| {
            let word = self.json.key(member);
            is_annotation(word)
                || matches!(word, "type" | "properties" | "required" | "additionalProperties" | "items")
                || matches!(word, "minItems" | "maxItems" | "minimum" | "maximum" | "$defs" | "definitions")
        })
    }

    /// Returns types that have all values of a schema.
    fn types(&mut self, schema: ValueId, depth: usize) -> Result<Types, TagError> {
        let json = self.json;
        let at = followed(json, self.schema, schema, &mut self.followed)?;
        if depth > DEPTH_MAX || !matches!(json.value(at), Value::Object(_)) {
            return Ok(Types::ALL);
        }
        if let Some(&known) = self.known_types.get(&at) {
            return Ok(known);
        }
        self.steps.spend(STEPS_PER_PART)?;
        self.known_types.insert(at, Types::ALL);
        let types = self.types_of_keywords(at, depth)?;
        self.known_types.insert(at, types);
        Ok(types)
    }

    fn types_of_keywords(&mut self, at: ValueId, depth: usize) -> Result<Types, TagError> {
        let json = self.json;
        let mut types = Types::ALL;
        if let Some(word) = json.member(at, "type") {
            types = types.both(match json.value(word) {
                Value::String(name) => Types::named(name),
                Value::Array(names) => names.iter().fold(Types::none(), |types, &name| match json.value(name) {
                    Value::String(name) => types.or(Types::named(name)),
                    _ => types,
                }),
                _ => Types::ALL,
            });
        }
        if let Some(value) = json.member(at, "const") {
            types = types.both(Types::of(json, value));
        }
        if let Some(values) = json.member(at, "enum")
            && let Value::Array(values) = json.value(values)
        {
            types = types.both(values.iter().fold(Types::none(), |types, &value| types.or(Types::of(json, value))));
        }
        for word in ["anyOf", "oneOf"] {
            let Some(branches) = json.member(at, word) else { continue };
            let branches = self.list(branches)?;
            let any = branches.into_iter().try_fold(Types::none(), |types, branch| {
                self.types(branch, depth + 1).map(|of_branch| types.or(of_branch))
            });
            types = types.both(any?);
        }
        if let Some(all) = json.member(at, "allOf") {
            for branch in self.list(all)? {
                types = types.both(self.types(branch, depth + 1)?);
            }
        }
        let listed = ["const", "enum"].iter().find_map(|word| json.member(at, word));
        match listed {
            Some(listed) if types.has(JsonTypes::OBJECT) || types.has(JsonTypes::ARRAY) => {
                let message = format!("`{}` has no form for constants that are objects or arrays", self.style.name());
                Err(TagError::unsupported(json, listed, message))
            }
            _ => Ok(types),
        }
    }
}

/// A set of types, perhaps empty.
#[derive(Clone, Copy)]
struct Types([bool; 6]);

const TYPES: [(JsonTypes, &str); 6] = [
    (JsonTypes::NULL, "null"),
    (JsonTypes::BOOLEAN, "boolean"),
    (JsonTypes::NUMBER, "number"),
    (JsonTypes::STRING, "string"),
    (JsonTypes::ARRAY, "array"),
    (JsonTypes::OBJECT, "object"),
];

impl Types {
    const ALL: Types = Types([true; 6]);

    fn none() -> Types {
        Types([false; 6])
    }

    fn named(name: &str) -> Types {
        let name = if name == "integer" { "number" } else { name };
        Types(TYPES.map(|(_, known)| known == name))
    }

    fn of(json: &Json, value: ValueId) -> Types {
        Types::named(match json.value(value) {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
    }

    fn has(self, types: JsonTypes) -> bool {
        TYPES.iter().zip(self.0).any(|((known, _), is_in)| is_in && *known == types)
    }

    fn or(self, other: Types) -> Types {
        Types(core::array::from_fn(|index| self.0[index] || other.0[index]))
    }

    fn both(self, other: Types) -> Types {
        Types(core::array::from_fn(|index| self.0[index] && other.0[index]))
    }

    fn overlaps(self, other: Types) -> bool {
        self.both(other).0.contains(&true)
    }

    /// Returns the types of both sets, if there are any.
    fn and(self, types: JsonTypes) -> Option<JsonTypes> {
        let both = TYPES.iter().zip(self.0).filter(|((known, _), is_in)| *is_in && types.contains(*known));
        both.map(|((known, _), _)| *known).reduce(JsonTypes::or)
    }
}

struct Lowering<'a, 'b> {
    nested: &'a Nested,
    builder: &'b mut GrammarBuilder,
    prefix: &'a str,
    steps: Steps<'a>,
    /// By node: its values, from what says of which type they are up to the marker behind them; of `minimax_m3_xml` without the markers.
    rules: Vec<RuleId>,
    /// By node: the members of its objects.
    objects: Vec<Option<ExprId>>,
}

impl Lowering<'_, '_> {
    fn define(&mut self, id: NodeId) -> Result<(), TagError> {
        self.steps.spend(STEPS_PER_PART)?;
        let nested = self.nested;
        let body = match &nested.nodes[id.index()] {
            Node::Any => self.any(id)?,
            Node::OneOf(branches) => {
                let branches = branches.iter().map(|branch| self.rules[branch.index()]).collect::<Vec<_>>();
                let branches = branches.into_iter().map(|rule| self.builder.rule_ref(rule)).collect();
                self.builder.one_of(branches)
            }
            Node::Typed(typed) => {
                let mut alternatives = Vec::new();
                if let Some(schema) = &typed.strings {
                    let end = nested.style.string_end();
                    let text = match schema {
                        None => text_without(self.builder, end, &nested.options),
                        Some(place) => place.form(self.builder, RootForm::Text { until: end.into() }),
                    };
                    alternatives.push(self.told(Kind::Raw, text));
                }
                if let Some((place, types)) = &typed.scalars {
                    let json = place.form(self.builder, RootForm::JsonOf(*types));
                    alternatives.push(self.told(Kind::Json, json));
                }
                if typed.object.is_some() {
                    let members = self.members(id)?;
                    let members = self.within(members);
                    alternatives.push(self.told(Kind::Dict, members));
                }
                if let Some(array) = &typed.array {
                    let items = self.items(array);
                    let items = self.within(items);
                    alternatives.push(self.told(Kind::List, items));
                }
                self.builder.one_of(alternatives)
            }
        };
        self.builder.define(self.rules[id.index()], body);
        Ok(())
    }

    /// Returns any value; members and items are any values as well.
    fn any(&mut self, id: NodeId) -> Result<ExprId, TagError> {
        let end = self.nested.style.string_end();
        let text = text_without(self.builder, end, &self.nested.options);
        let root = RootForm::JsonOf(JsonTypes::NULL.or(JsonTypes::BOOLEAN).or(JsonTypes::NUMBER));
        let options = SchemaOptions { root, ..self.nested.options.clone() };
        let json = self.builder.schema(SchemaOperand::new("true", options));
        let members = self.members(id)?;
        let members = self.within(members);
        let items = self.items(&Array { items: id, min: 0, max: None });
        let items = self.within(items);
        let kinds = [(Kind::Raw, text), (Kind::Json, json), (Kind::Dict, members), (Kind::List, items)];
        let alternatives = kinds.map(|(kind, content)| self.told(kind, content));
        Ok(self.builder.one_of(alternatives.into()))
    }

    /// Returns the members of the objects of a node, from the first to the last.
    fn members(&mut self, id: NodeId) -> Result<ExprId, TagError> {
        if let Some(known) = self.objects[id.index()] {
            return Ok(known);
        }
        let nested = self.nested;
        let any = Object { declared: Vec::new(), others: Some(id) };
        let object = match &nested.nodes[id.index()] {
            Node::Typed(Typed { object: Some(object), .. }) => object,
            _ => &any,
        };
        let declared = object.declared.iter().map(|&(ref key, value, is_required)| {
            let member = self.member(key, value);
            self.steps.spend(STEPS_PER_PART).map(|()| Member { member, is_required })
        });
        let declared = declared.collect::<Result<_, _>>()?;
        let other = object.others.map(|value| self.other(object, value));
        let open = self.builder.marker(nested.style.before_key());
        let next = {
            let space = space(self.builder, &self.nested.options);
            self.builder.sequence([space, open])
        };
        let members = Members { declared, other, next };
        let prefix = format!("{}{}-", self.prefix, id.index());
        let keys = members.lower(self.builder, nested.options.has_any_order, &prefix, self.steps)?;
        let all = match keys {
            None => self.builder.empty(),
            Some((keys, may_be_none)) => {
                let all = self.builder.sequence([open, keys]);
                if may_be_none { self.builder.repeat(all, 0, Some(1)) } else { all }
            }
        };
        self.objects[id.index()] = Some(all);
        Ok(all)
    }

    /// Returns a member from its key on.
    fn member(&mut self, key: &str, value: NodeId) -> ExprId {
        let value = self.builder.rule_ref(self.rules[value.index()]);
        match self.nested.style {
            NestedStyle::Cohere => {
                let key = self.builder.marker(&format!("{}\" type=\"", self.nested.style.key(key)));
                self.builder.sequence([key, value])
            }
            NestedStyle::MiniMaxM3 => {
                let open = self.builder.marker(&format!("{key}>"));
                let close = self.builder.marker(&format!("]<]minimax[>[</{key}>"));
                self.builder.sequence([open, value, close])
            }
        }
    }

    /// Returns a member that is not declared, from its key on.
    fn other(&mut self, object: &Object, value: NodeId) -> ExprId {
        let character = self.builder.class(CharSet::from_iter(['\0', '"', '&', '<', '>']).negate());
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;"].map(|entity| self.builder.literal(entity));
        let character = self.builder.one_of(entities.into_iter().chain([character]).collect());
        let mut key = self.builder.repeat(character, 1, None);
        if !object.declared.is_empty() {
            let declared =
                object.declared.iter().map(|(key, ..)| self.builder.literal(self.nested.style.key(key))).collect();
            let declared = self.builder.one_of(declared);
            key = self.builder.push(Expr::Minus(key, declared));
        }
        let key = key_without(self.builder, key, &self.nested.options);
        let close = self.builder.marker("\" type=\"");
        let value = self.builder.rule_ref(self.rules[value.index()]);
        self.builder.sequence([key, close, value])
    }

    /// Returns the items of an array, from the first to the last.
    fn items(&mut self, array: &Array) -> ExprId {
        let value = self.builder.rule_ref(self.rules[array.items.index()]);
        let item = match self.nested.style {
            NestedStyle::Cohere => {
                let open = self.builder.marker("<cofl:value type=\"");
                self.builder.sequence([open, value])
            }
            NestedStyle::MiniMaxM3 => {
                let (open, close) =
                    (self.builder.marker("]<]minimax[>[<item>"), self.builder.marker("]<]minimax[>[</item>"));
                self.builder.sequence([open, value, close])
            }
        };
        if array.max == Some(0) {
            return self.builder.empty();
        }
        let space = space(self.builder, &self.nested.options);
        let next = self.builder.sequence([space, item]);
        let more = self.builder.repeat(next, array.min.saturating_sub(1), array.max.map(|max| max - 1));
        let all = self.builder.sequence([item, more]);
        if array.min == 0 { self.builder.repeat(all, 0, Some(1)) } else { all }
    }

    /// Returns elements with white space around them.
    fn within(&mut self, elements: ExprId) -> ExprId {
        let (before, behind) = (space(self.builder, &self.nested.options), space(self.builder, &self.nested.options));
        self.builder.sequence([before, elements, behind])
    }

    /// Returns a value with what says of which type it is, and the marker behind it.
    fn told(&mut self, kind: Kind, value: ExprId) -> ExprId {
        if self.nested.style == NestedStyle::MiniMaxM3 {
            return value;
        }
        let name = match kind {
            Kind::Raw => "raw",
            Kind::Json => "json",
            Kind::Dict => "dict",
            Kind::List => "list",
        };
        let open = self.builder.marker(&format!("{name}\">"));
        let close = self.builder.marker("</cofl:value>");
        match kind {
            Kind::Json => {
                let value = self.within(value);
                self.builder.sequence([open, value, close])
            }
            _ => self.builder.sequence([open, value, close]),
        }
    }
}
