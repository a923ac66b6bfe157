//! The form of a document as a whole: JSON, or a text that is the value itself, as in the parameters of tool calls that are no JSON.

/// The form of a document as a whole. Whatever it is, values within the document are JSON.
///
/// ```
/// use maskwright::json_schema::{RootForm, SchemaOptions};
/// use maskwright::{CompileOptions, GrammarCompiler, Vocab};
/// let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?.into());
/// let options = SchemaOptions { root: RootForm::Text { until: "</a>".into() }, ..SchemaOptions::default() };
/// let schema = r#"{"enum": ["say \"hi\"", 1]}"#;
/// let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default())?;
/// assert_eq!(grammar.matcher().jump_forward_text(), r#"say "hi""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RootForm {
    /// A JSON document.
    #[default]
    Json,
    /// A JSON document of one of some types.
    JsonOf(JsonTypes),
    /// The characters of a string, without quotes and escapes. Other values have no such form.
    Text {
        /// A text that doesn't occur in the string, such as the one that ends it.
        until: Box<str>,
    },
}

impl RootForm {
    /// Returns whether documents have these types.
    pub(crate) fn has(&self, types: JsonTypes) -> bool {
        match self {
            RootForm::Json => true,
            RootForm::JsonOf(allowed) => allowed.contains(types),
            RootForm::Text { .. } => JsonTypes::STRING.contains(types),
        }
    }
}

/// A set of types of JSON values; integers are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JsonTypes(u8);

impl JsonTypes {
    /// `null`.
    pub const NULL: JsonTypes = JsonTypes(1);
    /// `true` and `false`.
    pub const BOOLEAN: JsonTypes = JsonTypes(2);
    /// Numbers.
    pub const NUMBER: JsonTypes = JsonTypes(4);
    /// Strings.
    pub const STRING: JsonTypes = JsonTypes(8);
    /// Arrays.
    pub const ARRAY: JsonTypes = JsonTypes(16);
    /// Objects.
    pub const OBJECT: JsonTypes = JsonTypes(32);
    /// All types but strings.
    pub const ALL_BUT_STRING: JsonTypes = JsonTypes(55);

    /// Returns the types of both sets.
    pub const fn or(self, other: JsonTypes) -> JsonTypes {
        JsonTypes(self.0 | other.0)
    }

    /// Returns whether all types of another set are in this one.
    pub const fn contains(self, other: JsonTypes) -> bool {
        self.0 & other.0 == other.0
    }
}
