//! Random small grammars that are very ambiguous.

use super::Rng;

/// Classes of all sizes, in EBNF.
const CLASSES: [&str; 14] = [
    "[a-z]",
    "[a-z ]",
    "[^<]",
    "[^\"\\\\]",
    "[ab]",
    "[0-9]",
    "[ \\n]",
    "[A-Za-z0-9_]",
    "[^,]",
    "[^ \\n()]",
    "[\\u0080-\\U0010FFFF]",
    ".",
    "[aeiou ]",
    "[^\\n]",
];

/// Literals that open, close and separate.
const LITERALS: [&str; 12] = [
    "\"(\"", "\")\"", "\"<b>\"", "\"</b>\"", "\",\"", "\";\"", "\"a\"", "\"ab\"", "\" \"", "\"if \"", "\"+\"",
    "\"\\n\"",
];

/// Names of rules.
const RULES: [&str; 3] = ["root", "item", "rest"];

/// Returns a random grammar in EBNF with two or three rules: left, right and middle recursion, optional operands, counters of ambiguous
/// bodies, classes of all sizes, adjacent loops. Most of them have sentences.
pub fn random_ambiguous(rng: &mut Rng) -> String {
    let n_rules = rng.between(2, 3);
    let mut text = String::new();
    for rule in &RULES[..n_rules] {
        text.push_str(rule);
        text.push_str(" ::= ");
        let n_alternatives = rng.between(1, 2);
        for alternative in 0..n_alternatives {
            if alternative > 0 {
                text.push_str(" | ");
            }
            sequence(rng, n_rules, 1, &mut text);
        }
        // An alternative that ends the recursion.
        if rng.chance(80) {
            text.push_str(" | ");
            text.push_str(leaf(rng));
        }
        text.push('\n');
    }
    text
}

fn leaf(rng: &mut Rng) -> &'static str {
    if rng.chance(60) { CLASSES[rng.below(CLASSES.len())] } else { LITERALS[rng.below(LITERALS.len())] }
}

fn sequence(rng: &mut Rng, n_rules: usize, depth: usize, text: &mut String) {
    for index in 0..rng.between(1, 3) {
        if index > 0 {
            text.push(' ');
        }
        operand(rng, n_rules, depth, text);
    }
}

fn operand(rng: &mut Rng, n_rules: usize, depth: usize, text: &mut String) {
    match rng.below(10) {
        0..=3 => text.push_str(RULES[rng.below(n_rules)]),
        4..=6 => text.push_str(leaf(rng)),
        _ if depth == 0 => text.push_str(leaf(rng)),
        7 => {
            text.push('(');
            sequence(rng, n_rules, depth - 1, text);
            text.push_str(" | ");
            sequence(rng, n_rules, depth - 1, text);
            text.push(')');
        }
        _ => {
            text.push('(');
            sequence(rng, n_rules, depth - 1, text);
            text.push(')');
        }
    }
    let (low, high) = (rng.below(4), rng.between(1, 60));
    match rng.below(16) {
        0 | 1 => text.push('*'),
        2 | 3 => text.push('+'),
        4 => text.push('?'),
        5 => text.push_str(&format!("{{{low},{}}}", low + high)),
        6 => text.push_str(&format!("{{{low},}}")),
        _ => {}
    }
}
