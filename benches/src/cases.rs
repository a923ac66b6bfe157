//! Grammars and documents.
//!
//! A case is one language with a few documents of real shape. The language is written once in this repository's EBNF and once
//! for each peer, in the form that the peer documents as its best one for the job:
//!
//! | case       | llguidance                                       | xgrammar                                   |
//! |------------|--------------------------------------------------|--------------------------------------------|
//! | json       | JSON Schema `{}`                                 | built-in JSON grammar                      |
//! | nested     | Lark, one terminal per leaf, as its lexer wants  | EBNF, strings as its own converter spells  |
//! | expression | Lark, white space by `%ignore`                   | EBNF                                       |
//! | tagged     | Lark, lazy terminal up to the tag, `%json {}`    | EBNF with `TagDispatch`                    |
//! | tags, parentheses, forms, fields, counted, operators | Lark, a terminal per class or pattern | EBNF |
//!
//! Those of the last row can be read in many ways, as they are written here: what lies between two tags, say, as one text or as several.
//!
//! Known differences of language, which is why masks of peers are compared but need not be equal: llguidance matches terminals
//! greedily, skips white space between terminals but not before the first, refuses U+007F, `\/` and, unless a flag is set, escapes of
//! other than control characters (`\u00e9`) in its JSON strings: no document has one, so that its default can be timed. The
//! built-in JSON grammar of xgrammar has an object or an array at its top. A string rule with look-ahead, as xgrammar's own
//! converter writes it, makes its masks a thousand times cheaper than the plain rule (3 us against 10 ms on `nested`). Its expression
//! masks take tens of milliseconds in either form, so a full run of the ratios spends most of its time there.

/// A document of a case.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    /// Short name, unique in its case.
    pub name: &'static str,
    /// The text, without a newline at its end.
    pub text: &'static str,
}

/// A grammar in the form that a peer takes.
#[derive(Clone, Copy, Debug)]
pub enum PeerGrammar {
    /// EBNF in the peer's dialect, root rule `root`.
    Ebnf(&'static str),
    /// llguidance's dialect of Lark.
    Lark(&'static str),
    /// A JSON Schema.
    JsonSchema(&'static str),
    /// What the peer has built in for JSON.
    BuiltinJson,
}

/// One language and the documents written in it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name used in bench ids.
    pub name: &'static str,
    /// The grammar in this repository's EBNF, root rule `root`.
    pub ebnf: &'static str,
    /// The same language for llguidance.
    pub llguidance: PeerGrammar,
    /// The same language for xgrammar.
    pub xgrammar: PeerGrammar,
    /// Texts of the language.
    pub documents: &'static [Document],
}

macro_rules! document {
    ($case:literal, $name:literal, $extension:literal) => {
        Document { name: $name, text: include_str!(concat!("../data/", $case, "/", $name, $extension)) }
    };
}

/// All cases, in the order of the reports.
pub const CASES: &[Case] = &[
    Case {
        name: "json",
        ebnf: include_str!("../data/json/grammar.ebnf"),
        llguidance: PeerGrammar::JsonSchema("{}"),
        xgrammar: PeerGrammar::BuiltinJson,
        documents: &[
            document!("json", "pretty", ".json"),
            document!("json", "payload", ".json"),
            document!("json", "strings", ".json"),
            document!("json", "numbers", ".json"),
            document!("json", "shapes", ".json"),
        ],
    },
    Case {
        name: "nested",
        ebnf: include_str!("../data/nested/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/nested/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/nested/grammar.xgrammar.ebnf")),
        documents: &[document!("nested", "desk", ".json"), document!("nested", "tea", ".json")],
    },
    Case {
        name: "expression",
        ebnf: include_str!("../data/expression/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/expression/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/expression/grammar.ebnf")),
        documents: &[document!("expression", "orbit", ".expr"), document!("expression", "prices", ".expr")],
    },
    Case {
        name: "tagged",
        ebnf: include_str!("../data/tagged/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/tagged/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/tagged/grammar.xgrammar.ebnf")),
        documents: &[document!("tagged", "weather", ".txt"), document!("tagged", "code", ".txt")],
    },
    Case {
        name: "tags",
        ebnf: include_str!("../data/tags/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/tags/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/tags/grammar.ebnf")),
        documents: &[document!("tags", "letter", ".txt")],
    },
    Case {
        name: "parentheses",
        ebnf: include_str!("../data/parentheses/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/parentheses/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/parentheses/grammar.ebnf")),
        documents: &[document!("parentheses", "asides", ".txt")],
    },
    Case {
        name: "forms",
        ebnf: include_str!("../data/forms/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/forms/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/forms/grammar.ebnf")),
        documents: &[document!("forms", "square", ".lisp")],
    },
    Case {
        name: "fields",
        ebnf: include_str!("../data/fields/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/fields/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/fields/grammar.xgrammar.ebnf")),
        documents: &[document!("fields", "person", ".csv")],
    },
    Case {
        name: "counted",
        ebnf: include_str!("../data/counted/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/counted/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/counted/grammar.ebnf")),
        documents: &[document!("counted", "title", ".txt")],
    },
    Case {
        name: "operators",
        ebnf: include_str!("../data/operators/grammar.ebnf"),
        llguidance: PeerGrammar::Lark(include_str!("../data/operators/grammar.lark")),
        xgrammar: PeerGrammar::Ebnf(include_str!("../data/operators/grammar.ebnf")),
        documents: &[document!("operators", "flags", ".expr")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_documents_are_json() {
        for case in CASES.iter().filter(|case| ["json", "nested"].contains(&case.name)) {
            for document in case.documents {
                serde_json::from_str::<serde_json::Value>(document.text)
                    .unwrap_or_else(|error| panic!("{}/{}: {error}", case.name, document.name));
            }
        }
    }

    #[test]
    fn documents_end_without_white_space() {
        for document in CASES.iter().flat_map(|case| case.documents) {
            assert_eq!(document.text, document.text.trim_end(), "{}", document.name);
        }
    }
}
