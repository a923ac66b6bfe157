//! Options of reading and compiling a JSON Schema: everything that the standard leaves open.
//!
//! They are below grammars in the order of the modules, since a grammar can have schemas for operands; [`crate::json_schema`] shows them to users.

mod draft;
mod resolve;
mod root_form;
mod words;

pub use draft::Draft;
pub use resolve::{NoDocuments, Resolve, Source};
pub use root_form::{JsonTypes, RootForm};
pub(crate) use words::OptionValue;

use core::fmt;
use std::sync::{Arc, OnceLock};

/// Options of reading a schema: drafts and identifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The draft of schemas without `$schema`, and of those that name an unknown one.
    pub draft: Draft,
    /// Whether keywords of other drafts count (`const` in draft 4, `dependencies` in draft 2020-12); annotations
    /// otherwise.
    pub has_foreign_keywords: bool,
    /// Whether `nullable` counts also if a `$schema` names a draft, as in schemas taken from OpenAPI 3.0. No draft has this keyword: otherwise
    /// it is an annotation if a draft is named, and a foreign keyword if none is.
    pub has_nullable: bool,
    /// The URI of the schema, the base of relative references and `$id`s.
    pub base_uri: String,
    /// The JSON pointer of the schema within the document, like `/components/schemas/Pet`; references are those of the whole document. Empty: the
    /// document is the schema.
    pub pointer: String,
}

impl Default for ReadOptions {
    fn default() -> Self {
        let (base_uri, pointer) = Default::default();
        ReadOptions { draft: Draft::Draft2020, has_foreign_keywords: true, has_nullable: false, base_uri, pointer }
    }
}

/// The white space between the tokens of a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhiteSpace {
    /// None at all: `{"a":1,"b":[2]}`.
    Compact,
    /// Any run of spaces, tabs and line ends of at most `run_max` characters between two tokens; none before the first
    /// and after the last.
    Flexible {
        /// The longest run, in characters; at most [`Limits::repeat_max`](crate::Limits::repeat_max).
        run_max: u32,
    },
    /// A line for each member and item, indented by `spaces` per level, one space after `:`. What `json.dumps(value, indent=2)` and
    /// `serde_json::to_string_pretty` print.
    Indent {
        /// Spaces per level. Each is a state of an automaton wherever a line begins, so that very many exceed
        /// [`Limits::automaton_states_max`](crate::Limits::automaton_states_max).
        spaces: u32,
    },
    /// Exactly these separators, as in `json.dumps(value, separators=(", ", ": "))`; they must be `,` and `:` with
    /// white space around them, which compiling checks.
    Separators {
        /// Between members and between items, like `", "`.
        item: Box<str>,
        /// Between a key and its value, like `": "`.
        key: Box<str>,
    },
}

impl WhiteSpace {
    /// Returns whether a document is on one line.
    pub fn is_on_one_line(&self) -> bool {
        match self {
            WhiteSpace::Compact => true,
            WhiteSpace::Flexible { run_max } => *run_max == 0,
            WhiteSpace::Indent { .. } => false,
            WhiteSpace::Separators { item, key } => !item.contains(['\n', '\r']) && !key.contains(['\n', '\r']),
        }
    }
}

impl Default for WhiteSpace {
    fn default() -> Self {
        WhiteSpace::Flexible { run_max: 16 }
    }
}

/// The spelling of characters in strings that a schema constrains by more than their length: by `pattern`, `const`, `enum`, `format`, or
/// under `not`. All other strings may have every spelling; keys and items under `uniqueItems` always have the shortest, so that equal ones
/// have equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Spelling {
    /// Each character in one way: itself, or for quotes, backslashes and control characters the shortest escape that JSON has for it, in
    /// lower case. What `JSON.stringify` and `json.dumps(value, ensure_ascii=False)` print.
    #[default]
    Shortest,
    /// Each character in every way of JSON: `\/`, `\u00e9` and `\u00E9`, pairs of surrogates. Automata of constants and patterns have some
    /// six times as many states.
    Any,
}

/// The options of compiling a schema.
///
/// ```
/// use maskwright::json_schema::{SchemaOptions, WhiteSpace};
/// let options = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
/// assert!(options.has_formats && options.has_additional_properties);
/// ```
#[derive(Clone)]
pub struct SchemaOptions {
    /// White space between tokens.
    pub white_space: WhiteSpace,
    /// Whether an object without `additionalProperties` allows other keys than its `properties`, as the standard says.
    pub has_additional_properties: bool,
    /// Whether the keys of every object may come in any order. Otherwise those that a schema names come first, in the order in which it names
    /// them. Either way the required ones are there and none comes twice.
    ///
    /// The sets of keys that came are states, so that an object may have [`Limits::any_order_keys_max`](crate::Limits::any_order_keys_max) of those that
    /// the schema names; with more it is refused. `uniqueItems` can't be enforced where items may be arrays or objects.
    pub has_any_order: bool,
    /// Texts that no string has in it, key or value, as it is written between its quotes; none of them is empty. Then every string has the shortest spelling, whatever
    /// [`SchemaOptions::spelling`] says.
    pub excluded_texts: Vec<Box<str>>,
    /// Whether an array with `prefixItems` and without `items` allows further items, as the standard says.
    pub has_additional_items: bool,
    /// The spelling of characters in constrained strings.
    pub spelling: Spelling,
    /// The form of the document as a whole.
    pub root: RootForm,
    /// Whether `format` is asserted.
    pub has_formats: bool,
    /// Whether integers may be written with a fraction of zeros, like `1.0`.
    pub has_integer_fractions: bool,
    /// Whether a constraint that can't be enforced is dropped and reported, instead of an error.
    ///
    /// Dropping a constraint allows more documents, never fewer: under a negation, the negated schema counts as one that may fail, so that it
    /// constrains nothing. `additionalProperties` is dropped with a pattern beside it, `unevaluatedProperties` and `unevaluatedItems` with
    /// whatever might evaluate more. If several keywords may be the reason, all of them are reported. Where one of several sets of divisors must hold (`oneOf` of `multipleOf`) and
    /// one divisor can't be enforced, others are dropped with it, until the automata of all sets stay within [`dfa_states_max`](crate::Limits::dfa_states_max) together.
    ///
    /// Still refused: malformed or unsatisfiable schemas; what exceeds the [`Limits`](crate::Limits); references that refer to themselves at
    /// the same value; numbers outside of the range of doubles, like `{"const": 1e309}`; patterns that distinguish more than 64 classes of
    /// keys; more than 128 conditions on keys that are pending at once, and more than 64 combinations of those pending on one key.
    pub is_lenient: bool,
    /// Drafts and identifiers.
    pub read: ReadOptions,
    /// The resolver of other documents. The metaschemas of the drafts are built in.
    pub resolver: Arc<dyn Resolve + Send + Sync>,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        SchemaOptions {
            white_space: WhiteSpace::default(),
            has_additional_properties: true,
            has_any_order: false,
            excluded_texts: Vec::new(),
            has_additional_items: true,
            spelling: Spelling::default(),
            root: RootForm::default(),
            has_formats: true,
            has_integer_fractions: false,
            is_lenient: false,
            read: ReadOptions::default(),
            resolver: Arc::clone(no_documents()),
        }
    }
}

/// Returns the resolver of default options, a single one, so that default options are equal.
fn no_documents() -> &'static Arc<dyn Resolve + Send + Sync> {
    static NONE: OnceLock<Arc<dyn Resolve + Send + Sync>> = OnceLock::new();
    NONE.get_or_init(|| Arc::new(NoDocuments))
}

/// Options are equal if all fields are and the resolver is the same object.
impl PartialEq for SchemaOptions {
    fn eq(&self, other: &Self) -> bool {
        let fields = |options: &Self| {
            let Self { has_additional_properties, has_additional_items, has_any_order, .. } = *options;
            let Self { has_formats, has_integer_fractions, is_lenient, .. } = *options;
            let of_objects_and_arrays = [has_additional_properties, has_additional_items, has_any_order];
            (of_objects_and_arrays, [has_formats, has_integer_fractions, is_lenient])
        };
        fields(self) == fields(other)
            && self.white_space == other.white_space
            && self.excluded_texts == other.excluded_texts
            && self.spelling == other.spelling
            && self.root == other.root
            && self.read == other.read
            && Arc::ptr_eq(&self.resolver, &other.resolver)
    }
}

impl Eq for SchemaOptions {}

impl core::hash::Hash for SchemaOptions {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.white_space.hash(state);
        self.spelling.hash(state);
        (self.has_additional_properties, self.has_additional_items, self.has_any_order).hash(state);
        (self.has_formats, self.is_lenient).hash(state);
        (&self.read.base_uri, &self.read.pointer, &self.root, &self.excluded_texts).hash(state);
    }
}

impl fmt::Debug for SchemaOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaOptions")
            .field("white_space", &self.white_space)
            .field("has_additional_properties", &self.has_additional_properties)
            .field("has_any_order", &self.has_any_order)
            .field("excluded_texts", &self.excluded_texts)
            .field("has_additional_items", &self.has_additional_items)
            .field("spelling", &self.spelling)
            .field("root", &self.root)
            .field("has_formats", &self.has_formats)
            .field("has_integer_fractions", &self.has_integer_fractions)
            .field("is_lenient", &self.is_lenient)
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}
