//! The terminals of `%import common.NAME`.

/// Names with patterns, in ascending order. In a pattern `.` is not used, and classes are written out.
const TERMINALS: [(&str, &str); 25] = [
    ("CNAME", "[A-Za-z_][0-9A-Za-z_]*"),
    ("CPP_COMMENT", r"//[^\n]*"),
    ("CR", r"\r"),
    ("C_COMMENT", r"/\*([^*]|\*+[^*/])*\*+/"),
    ("DECIMAL", r"[0-9]+\.[0-9]*|\.[0-9]+"),
    ("DIGIT", "[0-9]"),
    ("ESCAPED_STRING", r#""([^"\\]|\\[^\n])*""#),
    ("FLOAT", r"[0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"),
    ("HEXDIGIT", "[0-9A-Fa-f]"),
    ("INT", "[0-9]+"),
    ("LCASE_LETTER", "[a-z]"),
    ("LETTER", "[A-Za-z]"),
    ("LF", r"\n"),
    ("NEWLINE", r"(\r?\n)+"),
    ("NUMBER", r"[0-9]+([eE][+-]?[0-9]+)?|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"),
    ("SH_COMMENT", r"\#[^\n]*"),
    ("SIGNED_FLOAT", r"[+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"),
    ("SIGNED_INT", "[+-]?[0-9]+"),
    ("SIGNED_NUMBER", r"[+-]?([0-9]+([eE][+-]?[0-9]+)?|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"),
    ("SQL_COMMENT", r"--[^\n]*"),
    ("UCASE_LETTER", "[A-Z]"),
    ("WORD", "[A-Za-z]+"),
    ("WS", r"[ \t\f\r\n]+"),
    ("WS_INLINE", r"[ \t]+"),
    ("_EXP", r"[eE][+-]?[0-9]+"),
];

/// Returns the pattern of a terminal.
pub(super) fn pattern(name: &str) -> Option<&'static str> {
    TERMINALS.binary_search_by_key(&name, |&(name, _)| name).ok().map(|index| TERMINALS[index].1)
}

/// Returns the names of all terminals.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    TERMINALS.iter().map(|&(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        assert!(TERMINALS.is_sorted_by_key(|&(name, _)| name));
        assert!(names().all(|name| pattern(name).is_some()) && pattern("PYTHON").is_none());
    }
}
