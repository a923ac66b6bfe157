//! The drafts of JSON Schema.

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
}
