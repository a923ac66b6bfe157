//! The limits on untrusted grammars and on the steps of matchers.
//!
//! Grammars come from strangers, so each stage that could grow without bound has a limit; beyond it the stage returns a typed error with
//! the name of the limit, the given value and the limit. Nearly all concern compiling. The cost of one step of a matcher depends on the
//! text as well if the grammar is ambiguous: it is limited in work and bytes, never in time.
//!
//! Beyond the limits whose names begin with `object`, `unevaluated`, `schema_variants`, `key` and `unique`, a keyword of JSON Schema can't be
//! enforced: strict mode refuses the schema, and lenient mode drops the keyword. Constants in the code choose between two exact ways, or are
//! the capacity of a type (64 open conditions of an object, divisors of 37 digits and 16 negated ones), or end the search for unused values under
//! `uniqueItems` (`exec/viable.rs`), the one place that is not exact; they are not configurable. `docs/limits.md` has a table of the fields.

/// The limits on compiling a grammar and on running it. `Limits::default()` suits a server that compiles grammars sent by its users.
///
/// ```
/// let limits = maskwright::Limits { source_bytes_max: 1 << 16, ..Default::default() };
/// assert!(limits.source_bytes_max < maskwright::Limits::default().source_bytes_max);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest grammar source, in bytes.
    pub source_bytes_max: usize,
    /// Longest regular expression, in bytes (its syntax tree takes some 200 bytes for each character).
    pub pattern_bytes_max: usize,
    /// Deepest nesting of groups and classes in a source text, and of formats in a structural tag; in an ECMAScript pattern 250 at most and in a
    /// tag 100, since their parsers recurse.
    pub nesting_max: usize,
    /// Most rules in one grammar.
    pub n_rules_max: usize,
    /// Most expressions in one grammar, the nodes of its regular expressions included. An ECMAScript pattern may have as many parts with its copies
    /// and conditions written out; a structural tag may have 64 times as many pairs of a trigger and a tag, and four times as many of an
    /// excluded text and a value of a schema.
    pub n_exprs_max: usize,
    /// Largest finite bound of a repetition such as `{n,m}`. Counts have 32 bits: `u32::MAX` is the same as one less.
    pub repeat_max: u32,
    /// Most states of one deterministic automaton over bytes, intermediate ones of intersections and complements included. Building it may visit
    /// 128 states of the automaton before for each, and a combination of automata may have 256 states of these for each.
    pub dfa_states_max: usize,
    /// Most states of a repeat with conditions inside, such as `((?!ab).)*` in an ECMAScript pattern, before it becomes a regular expression without;
    /// most equations of repeats nested in one another, of which each has three.
    pub loop_states_max: usize,
    /// Most states of the automata of one grammar, all units together.
    pub automaton_states_max: usize,
    /// Most moves of the automata of one grammar, all units together. Where a letter leads to several places or pushes return states, each of
    /// these counts as two. Building them may take 32 steps for each, of some nanoseconds.
    pub automaton_moves_max: usize,
    /// Deepest nesting of arrays and objects in a JSON document (its parser does not recurse).
    pub json_nesting_max: usize,
    /// Most values in one JSON document.
    pub json_values_max: usize,
    /// Most digits of one number in a JSON document, before its exponent.
    pub number_digits_max: usize,
    /// Most sub-schemas of one JSON Schema that are in use, over all its documents.
    pub n_schemas_max: usize,
    /// Most alternatives at one location of a JSON Schema, after choices such as `anyOf` and `oneOf` are combined; sixteen times as many in
    /// the whole schema.
    pub schema_alternatives_max: usize,
    /// Most facts (properties, required names, items, listed values and the like) in all alternatives of a JSON Schema together; each takes
    /// some hundred bytes.
    pub schema_facts_max: usize,
    /// Most steps of lowering one JSON Schema to automata, of about ten nanoseconds each.
    pub schema_steps_max: u64,
    /// Most members of an object that a JSON Schema makes count: the greatest `minProperties` or `maxProperties` that can be enforced, and most
    /// members told apart beside others.
    pub object_members_max: u64,
    /// Most branches of one `anyOf` whose subsets are alternatives for `unevaluatedProperties` and `unevaluatedItems`: n branches have 2^n. Beyond
    /// 16 it has no effect.
    pub unevaluated_branches_max: usize,
    /// Most variants of one property or item, which differ by the conditions that it satisfies: `contains`, or alternatives that wait for a key.
    pub schema_variants_max: usize,
    /// Most classes of keys that the patterns of one object tell apart.
    pub key_classes_max: usize,
    /// Most values of distinct items whose sets are states, where the positions of an array have different domains: n values have 2^n. Beyond
    /// 32 it has no effect.
    pub unique_values_max: usize,
    /// Most keys that a schema names for one object, where keys come in any order: the sets of keys that came are states, and n keys have 2^n. Beyond 20 it
    /// has no effect.
    pub any_order_keys_max: usize,
    /// Most documents of one JSON Schema.
    pub n_documents_max: usize,
    /// Longest URI of a JSON Schema or of a reference in it, in bytes.
    pub uri_bytes_max: usize,
    /// Most work of one call of a matcher (filling a mask, accepting a token, forced text). A unit of work is about a step of one automaton state
    /// by one byte, a visit to a node of the vocabulary's trie, or a comparison of two values: some 5 to 40 ns. A call that accepts bytes may take as much for each 256 of them. Cached results cost nothing, so whether a call stays within
    /// the limit can depend on earlier calls; the contents of its mask never do.
    pub step_work_max: u64,
    /// Most memory of one matcher without its grammar, and of the computation of one mask, in bytes.
    pub matcher_bytes_max: usize,
}

/// The largest bound that a counter has.
pub(crate) const BOUND_MAX: u32 = u32::MAX - 1;

impl Limits {
    /// Returns the largest bound of a repetition that sources may have.
    pub(crate) fn bound_max(&self) -> u32 {
        self.repeat_max.min(BOUND_MAX)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            source_bytes_max: 16 << 20,
            pattern_bytes_max: 1 << 16,
            nesting_max: 200,
            n_rules_max: 1 << 15,
            n_exprs_max: 1 << 18,
            repeat_max: BOUND_MAX,
            dfa_states_max: 1 << 16,
            loop_states_max: 256,
            automaton_states_max: 1 << 19,
            automaton_moves_max: 1 << 22,
            json_nesting_max: 100_000,
            json_values_max: 1 << 18,
            number_digits_max: 4096,
            n_schemas_max: 1 << 20,
            schema_alternatives_max: 1 << 14,
            schema_facts_max: 1 << 18,
            schema_steps_max: 1 << 25,
            object_members_max: 4096,
            unevaluated_branches_max: 8,
            schema_variants_max: 64,
            key_classes_max: 64,
            unique_values_max: 12,
            any_order_keys_max: 12,
            n_documents_max: 1 << 10,
            uri_bytes_max: 1 << 12,
            step_work_max: 4_000_000,
            matcher_bytes_max: 64 << 20,
        }
    }
}
