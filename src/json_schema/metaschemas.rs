//! The metaschemas of the drafts, by their URIs: a reference to one needs no resolver.
//!
//! The files are the published texts of the specification.

use crate::schema_options::Source;

/// Pairs each URI below `https://json-schema.org/draft/` with the text of the file of that name.
macro_rules! files {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("metaschemas/", $name, ".json")))),*] };
}

/// Of the drafts whose identifiers are URIs of whole folders.
const FOLDERS: &[(&str, &str)] = files![
    "2019-09/schema",
    "2019-09/meta/applicator",
    "2019-09/meta/content",
    "2019-09/meta/core",
    "2019-09/meta/format",
    "2019-09/meta/meta-data",
    "2019-09/meta/validation",
    "2020-12/schema",
    "2020-12/meta/applicator",
    "2020-12/meta/content",
    "2020-12/meta/core",
    "2020-12/meta/format-annotation",
    "2020-12/meta/format-assertion",
    "2020-12/meta/meta-data",
    "2020-12/meta/unevaluated",
    "2020-12/meta/validation",
];

/// Of the drafts of one file each, `http://json-schema.org/draft-07/schema` and its elders.
const FILES: &[(&str, &str)] = files!["draft-04", "draft-06", "draft-07"];

/// Returns the metaschema of an absolute URI without fragment. Schemas mix `http` and `https`, so both will do.
pub(super) fn builtin(uri: &str) -> Option<Source> {
    let name =
        uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?.strip_prefix("json-schema.org/")?;
    let (files, name) = match name.strip_prefix("draft/") {
        Some(name) => (FOLDERS, name),
        None => (FILES, name.strip_suffix("/schema")?),
    };
    files.iter().find(|(other, _)| *other == name).map(|&(_, text)| Source::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::json_schema::{Json, NoDocuments, ReadOptions, SchemaModel, Value};

    #[test]
    fn each_metaschema_carries_its_own_name() {
        let of_folders = FOLDERS.iter().map(|(name, _)| format!("https://json-schema.org/draft/{name}"));
        let of_files = FILES.iter().map(|(name, _)| format!("http://json-schema.org/{name}/schema"));
        for uri in of_folders.chain(of_files) {
            let json = super::super::resolve::read(&builtin(&uri).unwrap(), &Limits::default()).unwrap();
            let id = ["$id", "id"].iter().find_map(|key| json.member(json.root(), key)).unwrap();
            let Value::String(id) = json.value(id) else { panic!("an identifier is a string") };
            assert_eq!(id.trim_end_matches('#'), uri);
        }
        for uri in
            ["https://json-schema.org/draft/2020-12", "http://json-schema.org/draft-03/schema", "draft-07/schema"]
        {
            assert!(builtin(uri).is_none(), "{uri}");
        }
    }

    #[test]
    fn references_to_metaschemas_need_no_resolver() {
        let read = |uri: &str, resolver: &dyn crate::json_schema::Resolve| {
            let limits = Limits::default();
            let json = Json::parse(&format!(r#"{{"$ref": "{uri}"}}"#), &limits).unwrap();
            SchemaModel::read(json, &ReadOptions::default(), resolver, &limits).unwrap().n_schemas()
        };
        assert!(read("https://json-schema.org/draft/2020-12/schema", &NoDocuments) > 100);
        assert!(read("http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger", &NoDocuments) > 1);
        // The caller's resolver is asked first.
        let own = |uri: &str| uri.ends_with("draft-07/schema").then(|| Source::from("true"));
        assert_eq!(read("http://json-schema.org/draft-07/schema#", &own), 2);
    }
}
