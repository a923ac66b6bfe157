//! The drafts of JSON Schema, and their vocabularies.

use core::fmt;

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

/// The dialect of a resource: draft and vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub draft: Draft,
    pub vocabularies: Vocabularies,
    /// Whether a `$schema` named it; otherwise `id` is an identifier too, since many schemas of draft 4 have no `$schema`.
    pub is_named: bool,
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
