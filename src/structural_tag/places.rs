//! Schemas within the schema of some parameters: each a place of the document, compiled by itself or as a part of the whole.

use super::error::TagError;
use crate::grammar::{Expr, ExprId, GrammarBuilder, SchemaOperand};
use crate::json_schema::{Json, Value, ValueId};
use crate::regular::CharSet;
use crate::schema_options::{RootForm, SchemaOptions, WhiteSpace};
use crate::util::Span;
use hashbrown::{HashMap, HashSet};

/// Where the schema of a value is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The schema itself, or a place in one that holds it.
    pub operand: SchemaOperand,
    span: Span,
}

impl Place {
    /// Adds the values of the schema in a form.
    pub fn form(&self, builder: &mut GrammarBuilder, root: RootForm) -> ExprId {
        let options = SchemaOptions { root, ..self.operand.options().clone() };
        builder.push_at(Expr::Schema(self.operand.with_options(options)), Some(self.span))
    }
}

/// The places of a schema.
pub(super) struct Places<'j> {
    json: &'j Json,
    schema: ValueId,
    whole: SchemaOperand,
    /// Whether the schema says how its references and keywords are read.
    has_dialect: bool,
}

impl<'j> Places<'j> {
    /// Returns the places of a schema.
    pub fn new(json: &'j Json, schema: ValueId, options: SchemaOptions) -> Self {
        let span = json.span(schema);
        let whole = SchemaOperand::new(&json.source()[span.start as usize..span.end as usize], options);
        let has_dialect = ["$schema", "$id", "id"].iter().any(|word| json.member(schema, word).is_some());
        Places { json, schema, whole, has_dialect }
    }

    /// Returns the place of a schema within.
    pub fn place(&self, id: ValueId) -> Place {
        let span = self.json.span(id);
        let text = &self.json.source()[span.start as usize..span.end as usize];
        // A schema that refers to nothing is compiled by itself, and once for all tools that have it.
        match self.has_dialect || text.contains('$') || text.contains("\\u") {
            true => {
                let mut options = self.whole.options().clone();
                let n_outside = self.json.pointer(self.schema).len();
                self.json.pointer(id)[n_outside..].clone_into(&mut options.read.pointer);
                Place { operand: self.whole.with_options(options), span }
            }
            false => Place { operand: SchemaOperand::new(text, self.whole.options().clone()), span },
        }
    }
}

/// Tells whether a keyword says nothing about a value.
pub(super) fn is_annotation(word: &str) -> bool {
    matches!(word, "title" | "description" | "default" | "examples" | "$comment" | "deprecated")
}

/// Returns the longest run of white space between parameters and around their values: that of the schema's JSON where runs are bounded, or else 16 characters.
pub(super) fn space_max(options: &SchemaOptions) -> u32 {
    match options.white_space {
        WhiteSpace::Flexible { run_max } if run_max > 0 => run_max,
        _ => 16,
    }
}

/// Adds white space.
pub(super) fn space(builder: &mut GrammarBuilder, options: &SchemaOptions) -> ExprId {
    let character = builder.class(CharSet::from_iter([' ', '\t', '\n', '\r']));
    builder.repeat(character, 0, Some(space_max(options)))
}

/// Adds any text in which neither a marker nor an excluded text occurs.
pub(super) fn text_without(builder: &mut GrammarBuilder, marker: &str, options: &SchemaOptions) -> ExprId {
    let texts = core::iter::once(marker).chain(options.excluded_texts.iter().map(|text| &**text));
    builder.text_without(&texts.collect::<Vec<_>>())
}

/// Returns the keys of an expression in which no excluded text occurs.
pub(super) fn key_without(builder: &mut GrammarBuilder, key: ExprId, options: &SchemaOptions) -> ExprId {
    if options.excluded_texts.is_empty() {
        return key;
    }
    let texts: Vec<&str> = options.excluded_texts.iter().map(|text| &**text).collect();
    let text = builder.text_without(&texts);
    builder.push(Expr::And(key, text))
}

/// Returns an excluded text that occurs in a key as it is written.
pub(super) fn excluded_in<'o>(key: &str, options: &'o SchemaOptions) -> Option<&'o str> {
    options.excluded_texts.iter().map(|text| &**text).find(|text| key.contains(text))
}

/// References that were followed: by place, where they lead to.
pub(super) type Followed = HashMap<ValueId, ValueId>;

/// Follows references from a place of a schema to others. What stands beside a reference must say nothing of values, since it would be lost.
pub(super) fn followed(
    json: &Json,
    schema: ValueId,
    place: ValueId,
    known: &mut Followed,
) -> Result<ValueId, TagError> {
    let mut at = place;
    let mut met = Vec::new();
    for _ in 0..=json.n_values() {
        let end = known.get(&at).copied().or_else(|| json.member(at, "$ref").is_none().then_some(at));
        if let Some(end) = end {
            // Many places may refer to the first of a long row of references.
            known.extend(met.into_iter().map(|place| (place, end)));
            return Ok(end);
        }
        met.push(at);
        let reference = json.member(at, "$ref").expect("it has one");
        if let Value::Object(members) = json.value(at) {
            let is_free = |word: &str| {
                is_annotation(word)
                    || matches!(word, "$ref" | "$defs" | "definitions" | "$schema" | "$id" | "strict")
                    // Parameters are objects, whatever is said.
                    || word == "type" && at == schema
            };
            if let Some(member) = members.iter().find(|member| !is_free(json.key(member))) {
                let message = format!("`{}` beside `$ref` of parameters is not supported", json.key(member));
                return Err(TagError::unsupported(json, member.value, message));
            }
        }
        let target = match json.value(reference) {
            Value::String(text) => text.strip_prefix('#').and_then(|pointer| json.at_pointer_from(schema, pointer)),
            _ => None,
        };
        at = target.ok_or_else(|| {
            TagError::unsupported(
                json,
                reference,
                "a reference of parameters is to a place of the same schema, like `#/$defs/a`",
            )
        })?;
    }
    Err(TagError::document(json, place, "the references of the schema form a circle"))
}

/// Returns the names of the keyword `required`.
pub(super) fn required(json: &Json, at: ValueId) -> Result<HashSet<&str>, TagError> {
    let Some(required) = json.member(at, "required") else { return Ok(HashSet::new()) };
    let names = match json.value(required) {
        Value::Array(names) => names.iter().map(|&name| match json.value(name) {
            Value::String(name) => Some(name),
            _ => None,
        }),
        _ => return Err(TagError::document(json, required, "`required` is a list of names")),
    };
    names
        .collect::<Option<HashSet<_>>>()
        .ok_or_else(|| TagError::document(json, required, "`required` is a list of names"))
}

/// Tells whether a type is among those that the keyword `type` names.
pub(super) fn has_type(json: &Json, types: ValueId, name: &str) -> bool {
    match json.value(types) {
        Value::String(only) => only == name,
        Value::Array(all) => all.iter().any(|&one| json.value(one) == Value::String(name)),
        _ => false,
    }
}
