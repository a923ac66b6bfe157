//! The drafts of JSON Schema, and which keyword belongs to which.

use core::fmt;
use core::ops::RangeInclusive;

/// A draft of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Draft {
    /// Draft 4.
    Draft4,
    /// Draft 6.
    Draft6,
    /// Draft 7.
    Draft7,
    /// Draft 2019-09.
    Draft2019,
    /// Draft 2020-12.
    #[default]
    Draft2020,
}

impl Draft {
    /// Returns the draft that a `$schema` names; `None` for other dialects.
    pub fn from_uri(uri: &str) -> Option<Draft> {
        let uri = uri.strip_suffix('#').unwrap_or(uri);
        let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
        match rest.strip_prefix("json-schema.org/")? {
            "draft-04/schema" | "draft-04/hyper-schema" => Some(Draft::Draft4),
            "draft-06/schema" | "draft-06/hyper-schema" => Some(Draft::Draft6),
            "draft-07/schema" | "draft-07/hyper-schema" => Some(Draft::Draft7),
            "draft/2019-09/schema" | "draft/2019-09/hyper-schema" => Some(Draft::Draft2019),
            "draft/2020-12/schema" | "draft/2020-12/hyper-schema" | "schema" => Some(Draft::Draft2020),
            _ => None,
        }
    }

    /// Returns whether the keywords beside a `$ref` count.
    pub fn has_ref_siblings(self) -> bool {
        self >= Draft::Draft2019
    }
}

impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Draft::Draft4 => "draft 4",
            Draft::Draft6 => "draft 6",
            Draft::Draft7 => "draft 7",
            Draft::Draft2019 => "draft 2019-09",
            Draft::Draft2020 => "draft 2020-12",
        })
    }
}

/// The vocabularies that a dialect may leave out, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vocabularies(u8);

impl Vocabularies {
    pub(super) const NONE: Vocabularies = Vocabularies(0);
    pub(super) const APPLICATOR: Vocabularies = Vocabularies(1);
    pub(super) const VALIDATION: Vocabularies = Vocabularies(2);
    pub(super) const UNEVALUATED: Vocabularies = Vocabularies(4);
    pub(super) const FORMAT: Vocabularies = Vocabularies(8);
    pub(super) const ALL: Vocabularies = Vocabularies(15);

    /// Returns the vocabulary of a URI; `None` for those that are not the standard's.
    pub(super) fn from_uri(uri: &str) -> Option<Vocabularies> {
        let rest = uri.strip_prefix("https://json-schema.org/draft/")?;
        Some(match rest.split_once("/vocab/")? {
            ("2019-09", "applicator") => Vocabularies(1 | 4),
            (_, "applicator") => Vocabularies::APPLICATOR,
            (_, "validation") => Vocabularies::VALIDATION,
            (_, "unevaluated") => Vocabularies::UNEVALUATED,
            (_, "format" | "format-annotation" | "format-assertion") => Vocabularies::FORMAT,
            (_, "core" | "meta-data" | "content") => Vocabularies::NONE,
            _ => return None,
        })
    }

    pub(super) fn union(self, other: Vocabularies) -> Vocabularies {
        Vocabularies(self.0 | other.0)
    }

    pub(super) fn contains(self, other: Vocabularies) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Where a keyword's value holds sub-schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Nowhere.
    Nothing,
    /// It is one, like `not`.
    Schema,
    /// It is a list of them, like `allOf`.
    List,
    /// It is one or a list of them: `items`.
    SchemaOrList,
    /// Its members are (lists of names in `dependencies` aside), like `properties`.
    Map,
}

/// What is known about a keyword before its value is looked at.
pub(super) struct Word {
    pub drafts: RangeInclusive<Draft>,
    pub vocabulary: Vocabularies,
    pub holds: Holds,
}

/// Returns what is known about a keyword; `None` for annotations and unknown words.
pub(super) fn word(name: &str) -> Option<Word> {
    use Draft::{Draft4, Draft6, Draft7, Draft2019, Draft2020};
    use Holds::{List, Map, Nothing, Schema, SchemaOrList};
    const CORE: Vocabularies = Vocabularies::NONE;
    const APPLY: Vocabularies = Vocabularies::APPLICATOR;
    const CHECK: Vocabularies = Vocabularies::VALIDATION;
    const REST: Vocabularies = Vocabularies::UNEVALUATED;
    const FORMAT: Vocabularies = Vocabularies::FORMAT;
    let (first, last, vocabulary, holds) = match name {
        "$schema" | "$ref" => (Draft4, Draft2020, CORE, Nothing),
        "id" => (Draft4, Draft4, CORE, Nothing),
        "$id" => (Draft6, Draft2020, CORE, Nothing),
        "$anchor" | "$vocabulary" => (Draft2019, Draft2020, CORE, Nothing),
        "$recursiveRef" | "$recursiveAnchor" => (Draft2019, Draft2019, CORE, Nothing),
        "$dynamicRef" | "$dynamicAnchor" => (Draft2020, Draft2020, CORE, Nothing),
        "definitions" => (Draft4, Draft7, CORE, Map),
        "$defs" => (Draft2019, Draft2020, CORE, Map),
        "type" | "enum" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"
        | "minLength" | "maxLength" | "pattern" | "minItems" | "maxItems" | "uniqueItems" | "minProperties"
        | "maxProperties" | "required" => (Draft4, Draft2020, CHECK, Nothing),
        "const" => (Draft6, Draft2020, CHECK, Nothing),
        "minContains" | "maxContains" | "dependentRequired" => (Draft2019, Draft2020, CHECK, Nothing),
        // OpenAPI 3.0; foreign to all drafts.
        "nullable" => (Draft4, Draft4, CHECK, Nothing),
        "format" => (Draft4, Draft2020, FORMAT, Nothing),
        "properties" | "patternProperties" => (Draft4, Draft2020, APPLY, Map),
        "dependencies" => (Draft4, Draft7, APPLY, Map),
        "dependentSchemas" => (Draft2019, Draft2020, APPLY, Map),
        "additionalProperties" | "not" => (Draft4, Draft2020, APPLY, Schema),
        "propertyNames" | "contains" => (Draft6, Draft2020, APPLY, Schema),
        "if" | "then" | "else" => (Draft7, Draft2020, APPLY, Schema),
        "allOf" | "anyOf" | "oneOf" => (Draft4, Draft2020, APPLY, List),
        "prefixItems" => (Draft2020, Draft2020, APPLY, List),
        "items" => (Draft4, Draft2020, APPLY, SchemaOrList),
        "additionalItems" => (Draft4, Draft2019, APPLY, Schema),
        "unevaluatedProperties" | "unevaluatedItems" => (Draft2019, Draft2020, REST, Schema),
        _ => return None,
    };
    Some(Word { drafts: first..=last, vocabulary, holds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_by_their_uris() {
        for (uri, draft) in [
            ("http://json-schema.org/draft-04/schema#", Some(Draft::Draft4)),
            ("http://json-schema.org/draft-04/schema", Some(Draft::Draft4)),
            ("https://json-schema.org/draft-07/schema#", Some(Draft::Draft7)),
            ("https://json-schema.org/draft/2019-09/schema#", Some(Draft::Draft2019)),
            ("https://json-schema.org/draft/2020-12/schema", Some(Draft::Draft2020)),
            ("http://json-schema.org/draft-03/schema#", None),
            ("http://example.com/draft-04/schema", None),
            ("", None),
        ] {
            assert_eq!(Draft::from_uri(uri), draft, "{uri}");
        }
    }

    #[test]
    fn vocabularies_by_their_uris() {
        let of = |uri: &str| Vocabularies::from_uri(&format!("https://json-schema.org/draft/{uri}"));
        assert!(of("2019-09/vocab/applicator").unwrap().contains(Vocabularies::UNEVALUATED));
        assert!(!of("2020-12/vocab/applicator").unwrap().contains(Vocabularies::UNEVALUATED));
        assert_eq!(of("2020-12/vocab/core"), Some(Vocabularies::NONE));
        assert_eq!(of("2020-12/vocab/other"), None);
        assert!(Vocabularies::ALL.contains(Vocabularies::NONE.union(Vocabularies::FORMAT)));
    }
}
