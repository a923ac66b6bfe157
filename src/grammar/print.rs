//! Prints a grammar as EBNF.
//!
//! Parsing the printed text gives an equal grammar (with the same root rule), so parentheses are printed exactly where precedence requires
//! them: each operand position has a least binding strength, and an expression that binds more loosely gets parentheses. Nesting can be
//! arbitrarily deep, so the printer has a stack of pending output instead of recursing.
//!
//! A grammar that was built rather than parsed can contain what EBNF can't express (a literal that is not UTF-8, a rule named `a b`), and
//! can share expressions so often that the text would be too large; `to_ebnf` then returns `None`. A sequence or choice of fewer than two
//! operands prints as an expression with the same meaning.

use super::print_schema::print_schema;
use super::spelling::{between_slashes, push_char, push_literal, substring_text};
use super::{Capture, ControlRef, ExcludedTokens, Expr, ExprId, Grammar, Rule, RuleId};
use crate::regular::{CharSet, Node};
use core::fmt::{self, Write as _};

/// Most expressions that a printed grammar may have, each counted as often as it is written.
const PRINTED_EXPRS_MAX: u64 = 1 << 26;

/// Greatest width of a rule whose alternatives are printed on one line.
const WIDTH_MAX: usize = 100;

/// The binding strength of an expression, or the least strength that an operand position accepts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Choice,
    Join,
    Sequence,
    Complement,
    Repeat,
    Atom,
}

/// Pending output.
enum Pending {
    Expr(ExprId, Binding),
    Text(&'static str),
    Count(u32, Option<u32>),
}

impl Grammar {
    /// Returns the grammar as EBNF text, or `None` if EBNF can't express it. The root rule is not marked: a parser is told its name.
    ///
    /// ```
    /// use maskwright::{Limits, frontend::ebnf};
    /// let source = "root ::= ((\"a\") | [^b]{0,1}) 'c'";
    /// let text = ebnf::parse(source, "root", &Limits::default()).unwrap().grammar.to_ebnf().unwrap();
    /// assert_eq!(text, "root ::= (\"a\" | [^b]?) \"c\"\n");
    /// ```
    pub fn to_ebnf(&self) -> Option<String> {
        let mut printer = Printer { grammar: self, text: String::new(), is_exact: true };
        let sizes = printer.sizes();
        let total = self.rules.iter().fold(0u64, |total, rule| total.saturating_add(sizes[rule.body.index()]));
        if total > PRINTED_EXPRS_MAX {
            return None;
        }
        (0..self.rules.len()).for_each(|index| printer.rule(RuleId::new(index)));
        printer.is_exact.then_some(printer.text)
    }
}

/// Writes the EBNF of [`Grammar::to_ebnf`]; what EBNF can't express is written as `<?...?>`.
impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { grammar: self, text: String::new(), is_exact: true };
        let sizes = printer.sizes();
        let mut n_left = PRINTED_EXPRS_MAX;
        for (index, rule) in self.rules.iter().enumerate() {
            match n_left.checked_sub(sizes[rule.body.index()]) {
                Some(n) => {
                    n_left = n;
                    printer.rule(RuleId::new(index));
                }
                None => printer.text = format!("{} ::= <?too large to print?>\n", rule.name),
            }
            f.write_str(&core::mem::take(&mut printer.text))?;
        }
        Ok(())
    }
}

struct Printer<'g> {
    grammar: &'g Grammar,
    text: String,
    /// Whether the text so far has exactly the meaning of the grammar.
    is_exact: bool,
}

impl Printer<'_> {
    /// Returns by expression the number of expressions printed for it, shared ones counted each time.
    fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = Vec::with_capacity(self.grammar.exprs.len());
        for expr in &self.grammar.exprs {
            let mut size = 1u64;
            expr.for_each_operand(|id| size = size.saturating_add(sizes[id.index()]));
            sizes.push(size);
        }
        sizes
    }

    fn rule(&mut self, id: RuleId) {
        let grammar = self.grammar;
        let Rule { name, body, .. } = grammar.rule(id);
        let mut body = *body;
        self.is_exact &= is_rule_name(name);
        let start = self.text.len();
        self.text += name;
        let mut between = "[";
        if let Expr::AtMostTokens { body: bounded, max } = *grammar.expr(body) {
            self.text += &format!("{between}max_tokens={max}");
            (between, body) = (", ", bounded);
        }
        // A rule of EBNF has one name at most, for all that it matches.
        let mut captures = grammar.captures().iter().filter(|capture| capture.rule == id);
        match captures.next() {
            Some(Capture { name, n_bytes_last: None, .. }) if !name.is_empty() => {
                self.text += &format!("{between}capture=");
                self.literal(name);
                between = ", ";
            }
            capture => self.is_exact &= capture.is_none(),
        }
        self.is_exact &= captures.next().is_none();
        if between != "[" {
            self.text.push(']');
        }
        self.text += " ::=";
        let alternatives: &[ExprId] = match self.grammar.expr(body) {
            Expr::Choice(operands) if operands.len() > 1 => operands,
            _ => &[body],
        };
        let mut ends = Vec::with_capacity(alternatives.len());
        for &alternative in alternatives {
            self.text.push(' ');
            self.expr(alternative, if alternatives.len() > 1 { Binding::Join } else { Binding::Choice });
            ends.push(self.text.len());
        }
        // Each `|` takes two more characters on the line.
        let is_wide = self.text[start..].chars().count() + 2 * ends.len() > WIDTH_MAX && ends.len() > 1;
        let bar = if is_wide { format!("\n{:width$}|", "", width = name.chars().count() + 3) } else { " |".to_owned() };
        let alternatives_text = self.text.split_off(ends[0]);
        let mut from = 0;
        for &end in &ends[1..] {
            self.text += &bar;
            self.text += &alternatives_text[from..end - ends[0]];
            from = end - ends[0];
        }
        self.text.push('\n');
    }

    fn expr(&mut self, id: ExprId, position: Binding) {
        let mut pending = vec![Pending::Expr(id, position)];
        while let Some(next) = pending.pop() {
            match next {
                Pending::Text(text) => self.text += text,
                Pending::Count(min, max) => self.count(min, max),
                Pending::Expr(id, position) => self.step(id, position, &mut pending),
            }
        }
    }

    /// Writes a leaf, or pushes the operands of an expression, last operand first.
    fn step(&mut self, id: ExprId, position: Binding, pending: &mut Vec<Pending>) {
        let expr = self.grammar.expr(id);
        let binding = match expr {
            // A single operand is printed as itself, at the same position.
            Expr::Sequence(operands) | Expr::Choice(operands) if operands.len() == 1 => {
                return pending.push(Pending::Expr(operands[0], position));
            }
            Expr::Choice(operands) if !operands.is_empty() => Binding::Choice,
            Expr::And(..) | Expr::Minus(..) => Binding::Join,
            Expr::Sequence(operands) if !operands.is_empty() => Binding::Sequence,
            Expr::Not(_) => Binding::Complement,
            Expr::Repeat { .. } => Binding::Repeat,
            _ => return self.leaf(expr),
        };
        if binding < position {
            self.text.push('(');
            pending.push(Pending::Text(")"));
        }
        match expr {
            Expr::Choice(operands) => push_all(pending, operands, " | ", Binding::Join),
            Expr::Sequence(operands) => push_all(pending, operands, " ", Binding::Complement),
            Expr::And(left, right) | Expr::Minus(left, right) => {
                pending.push(Pending::Expr(*right, Binding::Sequence));
                pending.push(Pending::Text(if matches!(expr, Expr::And(..)) { " & " } else { " - " }));
                pending.push(Pending::Expr(*left, Binding::Join));
            }
            Expr::Not(operand) => {
                self.text.push('~');
                pending.push(Pending::Expr(*operand, Binding::Complement));
            }
            Expr::Repeat { body, min, max } => {
                pending.push(Pending::Count(*min, *max));
                // A repeat of a repeat gets parentheses that it could do without: `a*?` looks like something else.
                pending.push(Pending::Expr(*body, Binding::Atom));
            }
            _ => unreachable!("leaves were written"),
        }
    }

    fn leaf(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(bytes) => match core::str::from_utf8(bytes) {
                Ok(text) => self.literal(text),
                Err(_) => {
                    self.is_exact = false;
                    write!(self.text, "<?bytes {}?>", bytes.escape_ascii()).expect("writing to a string succeeds");
                }
            },
            Expr::Marker(text) => {
                self.text += "Marker(";
                self.literal(text);
                self.text.push(')');
                self.is_exact &= !self.has_rule("Marker");
            }
            Expr::Schema(schema) => self.is_exact &= print_schema(self.grammar, schema, &mut self.text),
            Expr::LiteralNoCase(text) => {
                self.literal(text);
                self.text.push('i');
                self.is_exact &= !self.has_rule("i");
            }
            Expr::Class(set) => self.class(set),
            Expr::Regex(regex) => match regex.regular.root().map(|root| regex.regular.node(root)) {
                Some(Node::Substring(chunks)) => self.substring(chunks),
                _ => self.regex(&regex.pattern, &regex.flags),
            },
            Expr::Control(ControlRef::Id(id)) => self.text += &format!("<[{id}]>"),
            Expr::Control(ControlRef::Name(name)) if is_control_token(name) => self.text += name,
            Expr::Control(ControlRef::Name(name)) => {
                self.is_exact &= !name.is_empty();
                self.text += "Token(";
                self.literal(name);
                self.text.push(')');
            }
            // EBNF says it of rules only.
            Expr::AtMostTokens { max, .. } => {
                self.is_exact = false;
                self.text += &format!("<?at most {max} tokens?>");
            }
            Expr::TokenExcept(excluded) => self.token_except(excluded),
            Expr::Rule(rule) => self.text += &self.grammar.rule(*rule).name,
            Expr::Choice(_) => self.class(&CharSet::empty()),
            _ => self.text += "\"\"",
        }
    }

    fn token_except(&mut self, excluded: &ExcludedTokens) {
        let ids = excluded.written_ids();
        match excluded.names() {
            [] if ids.is_empty() => self.text += "<[*]>",
            [] => self.text += &format!("<[^{ids}]>"),
            names => {
                self.is_exact &= !self.has_rule("ExcludeToken") && names.iter().all(|name| !name.is_empty());
                self.text += "ExcludeToken(";
                for (index, name) in names.iter().enumerate() {
                    self.text += if index > 0 { ", " } else { "" };
                    self.literal(name);
                }
                if !ids.is_empty() {
                    self.text += &format!(", <[{ids}]>");
                }
                self.text.push(')');
            }
        }
    }

    fn has_rule(&self, name: &str) -> bool {
        self.grammar.rules.iter().any(|rule| &*rule.name == name)
    }

    fn literal(&mut self, text: &str) {
        push_literal(&mut self.text, text);
    }

    fn class(&mut self, set: &CharSet) {
        let complement = set.negate();
        if complement.is_empty() {
            return self.text.push('.');
        }
        // The shorter form; the empty set has no other.
        let is_negated = !set.is_empty() && complement.ranges().len() < set.ranges().len()
            || (set.contains(char::MAX) && complement.ranges().len() <= set.ranges().len());
        let ranges = if is_negated { complement.ranges() } else { set.ranges() };
        self.text += if is_negated { "[^" } else { "[" };
        if set.is_empty() {
            self.text += r"^\0-\u{10FFFF}";
        }
        for &(low, high) in ranges {
            const ESCAPED: [char; 4] = ['\\', ']', '-', '^'];
            self.char(low, &ESCAPED);
            if low < high {
                // Two neighbours are clearer without the dash.
                if u32::from(high) - u32::from(low) > 1 {
                    self.text.push('-');
                }
                self.char(high, &ESCAPED);
            }
        }
        self.text.push(']');
    }

    fn char(&mut self, c: char, escaped: &[char]) {
        push_char(&mut self.text, c, escaped);
    }

    fn substring(&mut self, chunks: &[Box<[u8]>]) {
        let (text, is_exact) = substring_text(chunks);
        self.text += &text;
        self.is_exact &= is_exact && !self.has_rule("Substring");
    }

    fn regex(&mut self, pattern: &str, flags: &str) {
        if pattern.contains(['\n', '\r']) {
            return self.regex_macro(pattern, flags);
        }
        self.is_exact &= flags.chars().all(|flag| matches!(flag, 'c' | 'i' | 'j' | 's' | 'u' | 'x'));
        self.is_exact &= flags.is_empty() || !self.has_rule(flags);
        self.text.push('/');
        let mut chars = between_slashes(pattern).chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    self.text.push('\\');
                    match chars.next() {
                        Some(escaped) => self.text.push(escaped),
                        None => self.is_exact = false,
                    }
                }
                '/' => self.text += "\\/",
                _ => self.text.push(c),
            }
        }
        self.text.push('/');
        self.text += flags;
    }

    /// Writes a pattern that holds the end of a line: between slashes there is none.
    fn regex_macro(&mut self, pattern: &str, flags: &str) {
        self.is_exact &= flags.chars().all(|flag| matches!(flag, 'i' | 'j' | 's' | 'u' | 'x'));
        self.is_exact &= !self.has_rule("Regex");
        self.text += "Regex(";
        self.literal(pattern);
        // With flags, a dot matches the end of a line only by the flag `s`; between slashes it always does.
        match flags {
            "" => {}
            flags if flags.contains('s') => self.text += &format!(", flags=\"{flags}\""),
            flags => self.text += &format!(", flags=\"s{flags}\""),
        }
        self.text.push(')');
    }

    fn count(&mut self, min: u32, max: Option<u32>) {
        self.text += &match (min, max) {
            (0, None) => "*".to_owned(),
            (1, None) => "+".to_owned(),
            (0, Some(1)) => "?".to_owned(),
            (min, None) => format!("{{{min},}}"),
            (min, Some(max)) if min == max => format!("{{{min}}}"),
            (min, Some(max)) => format!("{{{min},{max}}}"),
        };
    }
}

/// Returns whether `name` can name a rule in EBNF.
pub(crate) fn is_rule_name(name: &str) -> bool {
    let is_word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|&first| is_word(first) && !first.is_ascii_digit())
        && bytes.iter().enumerate().all(|(index, &byte)| match byte {
            b'.' => bytes.get(index + 1).is_some_and(|&next| is_word(next)),
            _ => is_word(byte) || byte == b'-',
        })
}

/// Returns whether `name`, written as it is, is the control token of that name in EBNF.
pub(crate) fn is_control_token(name: &str) -> bool {
    let Some(inside) = name.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else { return false };
    let is_barred = inside
        .strip_prefix('|')
        .and_then(|rest| rest.strip_suffix('|'))
        .is_some_and(|text| !text.contains(['<', '\n', '\r']) && !text.contains("|>"));
    // `<|` always begins a barred name, whatever follows on the line.
    let is_plain = !inside.is_empty()
        && !inside.starts_with(['[', '|'])
        && !inside.contains(|c: char| c.is_whitespace() || "<>\"'()".contains(c));
    is_barred || is_plain
}

fn push_all(pending: &mut Vec<Pending>, operands: &[ExprId], between: &'static str, position: Binding) {
    for (index, &operand) in operands.iter().enumerate().rev() {
        pending.push(Pending::Expr(operand, position));
        if index > 0 {
            pending.push(Pending::Text(between));
        }
    }
}
