//! Which dialect a grammar text is written in.
//!
//! Engines that take either in one field look for `::=`, which defines rules in EBNF and has no meaning in Lark; a text without it is Lark. Here strings, regexes
//! and comments are left out first, so that a Lark string with `::=` in it does no harm.

/// A dialect of grammar texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// EBNF: [`ebnf`](super::ebnf).
    Ebnf,
    /// Lark: [`lark`](super::lark).
    Lark,
}

impl Dialect {
    /// Returns the dialect of a text: EBNF if `::=` stands somewhere outside of strings, regexes and comments, else Lark. Linear.
    ///
    /// ```
    /// use maskwright::frontend::Dialect;
    /// assert_eq!(Dialect::of("root ::= \"a: b\""), Dialect::Ebnf);
    /// assert_eq!(Dialect::of("start: \"a ::= b\" // c ::= d"), Dialect::Lark);
    /// ```
    pub fn of(text: &str) -> Dialect {
        let is_ebnf = text.split(['\n', '\r']).any(|line| {
            let bytes = line.as_bytes();
            let mut at = 0;
            while at < bytes.len() {
                match bytes[at] {
                    b'#' => return false,
                    b'/' if bytes.get(at + 1) == Some(&b'/') => return false,
                    quote @ (b'"' | b'\'' | b'/') => at = quoted_end(bytes, at, quote),
                    b':' if bytes[at..].starts_with(b"::=") => return true,
                    _ => at += 1,
                }
            }
            false
        });
        if is_ebnf { Dialect::Ebnf } else { Dialect::Lark }
    }
}

/// Returns where what is quoted ends: at its quote, or at the end of the line.
fn quoted_end(line: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < line.len() && line[at] != quote {
        at += if line[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_are_told_apart() {
        let ebnf = [
            "root ::= \"a\"",
            "# start: x\nroot::=a\na ::= 'b'",
            "root ::= [^\"]* \"'\"",
            "// one\na ::= /b/",
            "root[lazy] ::= \"x\"",
            "root\n ::= x",
        ];
        let lark = [
            "start: \"a\"",
            "start: \"a ::= b\"",
            "start: /::=/ A\nA: '::='",
            "start: p::0x0\np::_ : \"a\" %if true",
            "# a ::= b\nstart: \"\\\" ::= \"",
            "start: \"unclosed ::= ",
            "%llguidance {}\nstart: \"x\" // y ::= z",
            "",
        ];
        assert!(ebnf.iter().all(|text| Dialect::of(text) == Dialect::Ebnf));
        assert!(lark.iter().all(|text| Dialect::of(text) == Dialect::Lark));
    }
}
