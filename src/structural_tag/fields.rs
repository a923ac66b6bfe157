//! Fields that a structural tag doesn't have: engines ignore them, so that a misspelt name asks for nothing. Each is a warning.

use crate::util::closest_name;
use core::fmt;

/// The fields of the envelope.
pub(super) const ENVELOPE: &[&str] = &["format"];

/// The fields of the older form.
pub(super) const OLDER_FORM: &[&str] = &["structures", "triggers", "at_least_one", "stop_after_first", "excludes"];

/// The fields of an item of `structures`.
pub(super) const STRUCTURE: &[&str] = &["begin", "schema", "end"];

/// The types of formats, with their fields.
const FORMATS: [(&str, &[&str]); 21] = [
    ("const_string", &["value"]),
    ("json_schema", &["json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"]),
    ("qwen_xml_parameter", &["json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"]),
    ("grammar", &["grammar"]),
    ("regex", &["pattern"]),
    ("any_text", &["excludes", "max_chars", "max_tokens"]),
    ("sequence", &["elements"]),
    ("or", &["elements"]),
    ("optional", &["content"]),
    ("star", &["content"]),
    ("plus", &["content"]),
    ("repeat", &["content", "min", "max"]),
    ("tag", &["begin", "content", "end"]),
    ("triggered_tags", &["triggers", "tags", "at_least_one", "stop_after_first", "excludes"]),
    ("tags_with_separator", &["tags", "separator", "at_least_one", "stop_after_first"]),
    ("dispatch", &["rules", "loop", "excludes"]),
    ("token", &["token"]),
    ("exclude_token", &["exclude_tokens"]),
    ("any_tokens", &["exclude_tokens", "max_tokens"]),
    ("token_triggered_tags", &["trigger_tokens", "tags", "at_least_one", "stop_after_first", "exclude_tokens"]),
    ("token_dispatch", &["rules", "loop", "exclude_tokens"]),
];

/// Returns the types of formats.
pub(super) fn formats() -> impl Iterator<Item = &'static str> {
    FORMATS.into_iter().map(|(name, _)| name)
}

/// Returns the fields of a format.
pub(super) fn of_format(name: &str) -> &'static [&'static str] {
    FORMATS.into_iter().find(|&(known, _)| known == name).map_or(&[], |(_, fields)| fields)
}

/// Tells whether an object has a field beside those of a list: each may have a `type`.
pub(super) fn is_unknown(known: &[&str], field: &str) -> bool {
    field != "type" && !known.contains(&field)
}

/// Returns what to say of an unknown field of an object.
pub(super) fn complaint(object: fmt::Arguments<'_>, known: &[&str], field: &str) -> String {
    let shown: String = field.chars().take(NAME_CHARS_MAX).collect();
    let cut = if shown.len() < field.len() { "..." } else { "" };
    let hint = match closest_name(field, known.iter().copied().chain(["type"])) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    format!("{object} has no field `{shown}{cut}`, which is ignored{hint}")
}

/// Most characters of a name that a message shows.
const NAME_CHARS_MAX: usize = 80;
