//! Every bound that the crate enforces is a field here.
//!
//! Grammars come from strangers, so each stage that could grow without bound is given a limit and answers with a typed error
//! that names the bound, the value met and the limit. Nearly all are met while compiling. What one step of a matcher may cost depends on
//! the text as well, where it can be read in many ways: it has bounds of its own, counted in work and bytes, never in time.

/// Bounds on what compiling may use. `Limits::default()` suits a server that compiles grammars sent by its users.
///
/// ```
/// let limits = maskwright::Limits { source_bytes_max: 1 << 16, ..Default::default() };
/// assert!(limits.source_bytes_max < maskwright::Limits::default().source_bytes_max);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest grammar source, in bytes.
    pub source_bytes_max: usize,
    /// Longest regular expression, in bytes (its parser makes a tree of it, of some 200 bytes for each character).
    pub pattern_bytes_max: usize,
    /// Deepest nesting of groups and classes in a source text.
    pub nesting_max: usize,
    /// Most rules in one grammar.
    pub n_rules_max: usize,
    /// Most expression nodes in one grammar, those of its regular expressions included.
    pub n_exprs_max: usize,
    /// Largest finite bound of a repetition such as `{n,m}`.
    pub repeat_max: u32,
    /// Most states of one deterministic automaton over bytes made by an intersection or a complement.
    pub dfa_states_max: usize,
    /// Most states of the automata of one grammar, all units together.
    pub automaton_states_max: usize,
    /// Most moves of the automata of one grammar, all units together.
    pub automaton_moves_max: usize,
    /// Deepest nesting of arrays and objects in a JSON text (its reader does not recurse).
    pub json_nesting_max: usize,
    /// Most values in one JSON text.
    pub json_values_max: usize,
    /// Most digits of one number in a JSON text, before its exponent.
    pub number_digits_max: usize,
    /// Most sub-schemas of one JSON Schema that are in use, over all its documents.
    pub n_schemas_max: usize,
    /// Most alternatives that choices such as `anyOf` and `oneOf` may have together at one place of a JSON Schema; sixteen times as many in
    /// all.
    pub schema_alternatives_max: usize,
    /// Most facts (properties, required names, items, listed values and the like) that all alternatives of a JSON Schema say together: each
    /// takes some hundred bytes.
    pub schema_facts_max: usize,
    /// Most steps of lowering one JSON Schema to automata, of about ten nanoseconds each.
    pub schema_steps_max: u64,
    /// Most documents of one JSON Schema.
    pub n_documents_max: usize,
    /// Longest URI of a JSON Schema or of a reference in it, in bytes.
    pub uri_bytes_max: usize,
    /// Most work of one call of a matcher (filling a mask, accepting a token, forced text). A unit is about a step of one place in the grammar by
    /// one byte, or a visit to a node of the vocabulary's trie: 5 to 20 ns. What earlier calls found and is kept costs nothing, so whether a call is within the bound can
    /// depend on them; what its mask is never does.
    pub step_work_max: u64,
    /// Most memory of one matcher without the grammar, and of what finding one mask takes beside it, in bytes.
    pub matcher_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            source_bytes_max: 16 << 20,
            pattern_bytes_max: 1 << 16,
            nesting_max: 200,
            n_rules_max: 1 << 17,
            n_exprs_max: 1 << 20,
            repeat_max: u32::MAX - 1,
            dfa_states_max: 1 << 16,
            automaton_states_max: 1 << 19,
            automaton_moves_max: 1 << 22,
            json_nesting_max: 100_000,
            json_values_max: 1 << 22,
            number_digits_max: 4096,
            n_schemas_max: 1 << 20,
            schema_alternatives_max: 1 << 14,
            schema_facts_max: 1 << 18,
            schema_steps_max: 1 << 25,
            n_documents_max: 1 << 10,
            uri_bytes_max: 1 << 12,
            step_work_max: 4_000_000,
            matcher_bytes_max: 64 << 20,
        }
    }
}
