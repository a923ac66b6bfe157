//! Host names and mail addresses with characters beyond ASCII.
//!
//! Which characters a label may hold is derived from properties of Unicode (RFC 5892); general categories and foldings are those of
//! `regex-syntax`. A label neither begins with a mark nor begins or ends with what needs a neighbour there. The further rules of context
//! (what MIDDLE DOT, ZERO WIDTH JOINER and some others stand between, which digits mix) multiply the automaton: with all of them it has more
//! than 8 million transitions before it is minimal. What needs a decoder (A-labels), decompositions, joining types or the classes of the
//! bidirectional algorithm can't be checked. No valid name is refused.

use super::net;
use crate::Limits;
use crate::frontend::ecma;
use crate::regular::{CharSet, Node};

/// What is let through although it is no such name.
pub(super) const NOT_ENFORCED: &str = "what A-labels (`xn--`) encode, compatibility normalization, rules of context, right-to-left labels, and \
    lengths beyond ASCII are not checked";

/// Returns the pattern of `idn-hostname`, to stand at the end of a text.
pub(super) fn hostname() -> String {
    format!("(?:{})", labels(".\\u{3002}\\u{ff0e}\\u{ff61}"))
}

/// Returns the pattern of `idn-email`, to stand at the end of a text.
pub(super) fn email() -> String {
    net::mailbox("\\u{80}-\\u{10ffff}", &labels("."))
}

/// Returns the pattern of labels with separators of a class between them.
fn labels(separators: &str) -> String {
    let set = |class: &str| {
        let regular = ecma::parse(&format!("^{class}$"), &Limits::default()).expect("the class is well-formed");
        match regular.root().map(|root| regular.node(root)) {
            Some(Node::Class(set)) => set.clone(),
            other => unreachable!("{other:?} is no class"),
        }
    };
    let class = |set: &CharSet| {
        let range = |&(low, high): &(char, char)| format!("\\u{{{:x}}}-\\u{{{:x}}}", u32::from(low), u32::from(high));
        format!("[{}]", set.ranges().iter().map(range).collect::<String>())
    };
    // Letters, marks and digits that casefolding leaves as they are; RFC 5892 has the exceptions either way.
    let mut others = set("[\\p{Ll}\\p{Lo}\\p{Lm}\\p{M}\\p{Nd}]");
    for never in [
        "[\\u{0}-\\u{7f}\\u{640}\\u{7fa}\\u{302e}\\u{302f}\\u{3031}-\\u{3035}\\u{303b}]",
        "[\\u{1100}-\\u{11ff}\\u{a960}-\\u{a97f}\\u{d7b0}-\\u{d7ff}\\u{ff00}-\\u{ffef}\\u{1d400}-\\u{1d7ff}\\u{2f800}-\\u{2fa1f}]",
        "[\\p{Default_Ignorable_Code_Point}\\p{Changes_When_Casefolded}]",
    ] {
        others = others.intersect(&set(never).negate());
    }
    // Exceptions, and what the rules of context below are about.
    let exceptions =
        "[\\u{df}\\u{3c2}\\u{6fd}\\u{6fe}\\u{f0b}\\u{3007}\\u{b7}\\u{375}\\u{5f3}\\u{5f4}\\u{30fb}\\u{200c}\\u{200d}]";
    others = others.union(&set(exceptions));
    // Marks and what stands after another character begin no label, what stands before one ends none.
    let first = class(&others.intersect(&set("[\\p{M}\\u{b7}\\u{5f3}\\u{5f4}\\u{200c}\\u{200d}]").negate()));
    let last = others.intersect(&set("[\\u{b7}\\u{375}]").negate()).union(&set("[a-z0-9]"));
    let inner = class(&others.union(&set("[a-z0-9]")).union(&CharSet::range('-', '-')));
    let (other, last_other) = (class(&others), class(&others.intersect(&last)));
    let last = class(&last);
    let unicode =
        format!("(?:{first}|[a-z0-9][a-z0-9\\-]*{other}){inner}*{last}|{first}|[a-z0-9][a-z0-9\\-]*{last_other}");
    let label = format!("(?:[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{{0,61}}[a-zA-Z0-9])?|{unicode})");
    // Two hyphens are third and fourth in A-labels only.
    let hyphens = format!("(?:[^]*[{separators}])?(?:[^xX{separators}][^{separators}]|[xX][^nN{separators}])--");
    format!("(?!{hyphens}){label}(?:[{separators}]{label})*")
}
