//! How a pattern is read, beside what it says itself.

use crate::grammar::between_slashes;

/// How a pattern is read. By default `.` leaves out `\n`, and classes like `\d` are those of Unicode.
///
/// ```
/// use maskwright::{Limits, frontend::regex::{self, RegexOptions}, regular::Dfa};
/// let limits = Limits::default();
/// let matches = |options: &RegexOptions, text: &str| {
///     Dfa::new(&regex::parse_with(r"\d.", options, &limits).unwrap(), &limits).unwrap().is_match(text.as_bytes())
/// };
/// let usual = RegexOptions::default();
/// assert!(matches(&usual, "٣a") && !matches(&usual, "3\n"));
/// let other = RegexOptions { dot_matches_newline: true, is_ascii: true, ..usual };
/// assert!(!matches(&other, "٣a") && matches(&other, "3\n"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct RegexOptions {
    /// Letters match in any case, by Unicode's simple case folding; the flag `i`.
    pub is_any_case: bool,
    /// `.` matches `\n` too; the flag `s`.
    pub dot_matches_newline: bool,
    /// White space and comments in the pattern don't count; the flag `x`.
    pub ignores_white_space: bool,
    /// `\d`, `\w`, `\s` and their complements `\D`, `\W`, `\S` are `[0-9]`, `[0-9A-Za-z_]`, `[\t-\r ]` and complements of these; the flag `a`.
    pub is_ascii: bool,
    /// The text is the contents of a JSON string, quotes left out, that decodes to a match
    /// ([`Regular::in_json_strings`](crate::regular::Regular::in_json_strings)); the flag `j`.
    pub is_json_string: bool,
}

impl RegexOptions {
    /// The options of `/.../` and `Regex(...)` in EBNF without flags, where `.`, `\d`, `\w` and `\s` mean the same as outside of a regex.
    pub const EBNF: RegexOptions = RegexOptions {
        is_any_case: false,
        dot_matches_newline: true,
        ignores_white_space: false,
        is_ascii: true,
        is_json_string: false,
    };

    /// Sets the option of a flag: `i`, `s`, `x`, `j`, `a`, or `u` for the opposite of `a`. Returns false for any other letter.
    #[must_use]
    pub fn set_flag(&mut self, flag: char) -> bool {
        match flag {
            'i' => self.is_any_case = true,
            's' => self.dot_matches_newline = true,
            'x' => self.ignores_white_space = true,
            'a' => self.is_ascii = true,
            'u' => self.is_ascii = false,
            'j' => self.is_json_string = true,
            _ => return false,
        }
        true
    }

    /// Returns a pattern and flags that mean in EBNF, between slashes, what `pattern` means with these options.
    pub fn in_ebnf(&self, pattern: &str) -> (String, String) {
        let mut flags = String::new();
        let has_class = || ["\\d", "\\D", "\\w", "\\W", "\\s", "\\S"].iter().any(|class| pattern.contains(class));
        for (flag, is_set) in [
            ('i', self.is_any_case),
            ('j', self.is_json_string),
            ('u', !self.is_ascii && has_class()),
            ('x', self.ignores_white_space),
        ] {
            if is_set {
                flags.push(flag);
            }
        }
        let prefix = if !self.dot_matches_newline && pattern.contains('.') { "(?-s)" } else { "" };
        (format!("{prefix}{}", between_slashes(pattern)), flags)
    }
}
