//! The vocabularies of the drafts, and the dialects that leave some out.

pub use crate::schema_options::Draft;

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
    fn vocabularies_by_their_uris() {
        let of = |uri: &str| Vocabularies::from_uri(&format!("https://json-schema.org/draft/{uri}"));
        assert!(of("2019-09/vocab/applicator").unwrap().contains(Vocabularies::UNEVALUATED));
        assert!(!of("2020-12/vocab/applicator").unwrap().contains(Vocabularies::UNEVALUATED));
        assert_eq!(of("2020-12/vocab/core"), Some(Vocabularies::NONE));
        assert_eq!(of("2020-12/vocab/other"), None);
        assert!(Vocabularies::ALL.contains(Vocabularies::NONE.union(Vocabularies::FORMAT)));
    }
}
