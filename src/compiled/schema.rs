//! A JSON Schema as automata: what grammars call that have it as an operand, and what explanations read.

use crate::automaton::Entry;
use crate::grammar::Grammar;
use crate::json_schema::SchemaReport;
use crate::pass::NormalGrammar;
use std::sync::OnceLock;

/// A schema whose automata were built.
pub(crate) struct CompiledSchema {
    entry: Entry,
    normal: NormalGrammar,
    /// The automata as a grammar, made on demand.
    grammar: OnceLock<Grammar>,
    report: SchemaReport,
}

impl CompiledSchema {
    /// Returns a schema of its automata and where they begin.
    pub fn new(entry: Entry, normal: NormalGrammar, report: SchemaReport) -> Self {
        CompiledSchema { entry, normal, grammar: OnceLock::new(), report }
    }

    /// Returns where the texts begin that are not empty.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Tells whether the empty text is valid.
    pub fn has_empty_text(&self) -> bool {
        self.normal.has_empty_text
    }

    /// Tells whether texts other than the empty one are valid.
    pub fn has_other_texts(&self) -> bool {
        self.normal.has_other_texts()
    }

    /// Returns the automata as a grammar.
    pub fn grammar(&self) -> &Grammar {
        self.grammar.get_or_init(|| self.normal.to_grammar())
    }

    /// Returns how each keyword is enforced.
    pub fn report(&self) -> &SchemaReport {
        &self.report
    }

    /// Returns about how much memory the schema takes, in bytes, without units.
    pub fn memory_bytes(&self) -> usize {
        self.normal.memory_bytes() + self.report.memory_bytes() + size_of::<CompiledSchema>()
    }
}
