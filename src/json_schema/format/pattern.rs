//! Patterns of ECMA-262, as far as a regular language goes.
//!
//! Which texts are patterns is not a regular language: groups nest, names must be unique, references need their groups, ranges and
//! counts must ascend. What is here is a part of it, each text of which is a pattern under the flag `u`:
//!
//! - groups up to three deep, lookaround with no groups inside;
//! - a name only on a group without groups inside at the very start; no references;
//! - in classes, ranges within `a-z`, `A-Z` or `0-9`;
//! - counts up to four digits, of which `{n,m}` either differ in their number of digits or have one each;
//! - no `\0`, and of properties general categories and a few others.

/// How deep groups are nested at most.
const DEPTH: usize = 3;

/// Returns a pattern of all patterns and more: no pattern begins with a quantifier, closes a group that none opened, or leaves the last open;
/// with brackets or backslashes before, a parenthesis may be a plain character.
pub(super) fn outer_pattern() -> String {
    "(?![*+?]|[^\\\\[(]*\\)|[^\\\\[]*\\([^)]*$)[^]*".to_owned()
}

/// Returns the pattern of patterns, without anchors.
pub(super) fn pattern() -> String {
    let hex = "[0-9a-fA-F]";
    let escape = format!(
        "(?:[dDwWsSfnrtv^$\\\\.*+?()[\\]{{}}|/]|c[a-zA-Z]|x{hex}{{2}}|u{hex}{{4}}|u\\{{0*{hex}{{1,5}}\\}}|[pP]\\{{(?:L[ultmo]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|Alphabetic|ASCII|Any|Emoji)\\}})"
    );
    let ranges: Vec<String> = [('a', 'z'), ('A', 'Z'), ('0', '9')]
        .into_iter()
        .flat_map(|(low, high)| (low..=high).map(move |c| format!("{c}-[{c}-{high}]")))
        .collect();
    let item = format!("(?:[^\\\\\\]\\-]|\\\\{escape}|\\\\[b\\-]|{})", ranges.join("|"));
    let class = format!("\\[\\^?-?{item}*-?\\]");
    let atom = format!("(?:[^\\^$\\\\.*+?()[\\]{{}}|]|\\.|\\\\{escape}|{class})");
    let ascending: Vec<String> = (1..=9).map(|n| format!("{n},[{n}-9]")).collect();
    let counts = format!(
        "[0-9]{{1,4}},?|0,[0-9]{{1,4}}|[1-9],[1-9][0-9]{{1,3}}|[1-9][0-9],[1-9][0-9]{{2,3}}|{}",
        ascending.join("|")
    );
    let quantifier = format!("(?:(?:[*+?]|\\{{(?:{counts})\\}})\\??)?");
    let leaf = format!("{atom}{quantifier}|[\\^$|]|\\\\[bB]");
    let mut inner = format!("(?:{leaf})*");
    for _ in 0..DEPTH {
        inner = format!("(?:{leaf}|\\(\\?<?[=!](?:{leaf})*\\)|\\((?:\\?:)?{inner}\\){quantifier})*");
    }
    let named = format!("\\(\\?<[a-zA-Z_$][a-zA-Z0-9_$]*>(?:{leaf})*\\){quantifier}");
    format!("(?:{named})?{inner}")
}
