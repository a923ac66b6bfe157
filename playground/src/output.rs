//! Output: to a pipe that may close at any time, with untrusted text escaped.

use serde_json::Value;
use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::time::Duration;

/// The output of a command. A closed pipe is no error: further output is dropped.
pub struct Output {
    sink: BufWriter<StdoutLock<'static>>,
    error: Option<io::Error>,
}

impl Output {
    /// Returns the standard output.
    pub fn stdout() -> Self {
        Output { sink: BufWriter::new(io::stdout().lock()), error: None }
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl fmt::Display) {
        if self.error.is_none() {
            self.error = writeln!(self.sink, "{text}").err();
        }
    }

    /// Writes a JSON value and a line end.
    pub fn json(&mut self, value: &Value) {
        self.line(format_args!("{value:#}"));
    }

    /// Writes what is buffered now, for those who wait for it; an error is told at the end.
    pub fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.sink.flush().err();
        }
    }

    /// Returns whether something could not be written: all that follows is dropped.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes buffered output.
    ///
    /// # Errors
    /// If something could not be written, for another reason than a closed pipe.
    pub fn finish(mut self) -> io::Result<()> {
        let outcome = match self.error.take() {
            Some(error) => Err(error),
            None => self.sink.flush(),
        };
        // Output that can't be written must not be tried again when the buffer is dropped.
        let (_, _) = self.sink.into_parts();
        match outcome {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome,
        }
    }
}

/// Writes a line to standard error, or nowhere if that is closed.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Shows bytes between single quotes: text as it is, the rest escaped.
pub fn quoted(bytes: &[u8]) -> String {
    let mut shown = String::from("'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => shown.push_str("\\n"),
                '\r' => shown.push_str("\\r"),
                '\t' => shown.push_str("\\t"),
                '\\' => shown.push_str("\\\\"),
                '\'' => shown.push_str("\\'"),
                c if is_unseen(c) => _ = write!(shown, "\\u{{{:X}}}", u32::from(c)),
                c => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            _ = write!(shown, "\\x{byte:02X}");
        }
    }
    shown.push('\'');
    shown
}

/// Returns whether a character would move the cursor, be invisible or change the direction of the text.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// Replaces characters that could not be seen.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// How the library names options of schemas in its messages, behind the option of the command.
const OPTION_OF_LIBRARY: &str = ", or `ReadOptions::";

/// Returns a message of the library as a command says it: with its own options alone.
pub fn of_command(message: &str) -> String {
    let mut parts = message.split(OPTION_OF_LIBRARY);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('`').map_or(part, |(_, rest)| rest))
}

/// Returns a message of the library as the page says it, which has no command line.
pub fn of_page(message: &str) -> String {
    let mut text = message.to_owned();
    while let Some(at) = text.find(OPTION_OF_LIBRARY) {
        let start = text[..at].rfind("(`--").unwrap_or(at);
        let end = text[at..].find(')').map_or(text.len(), |len| at + len);
        let open = if start < at { "(" } else { ", " };
        text.replace_range(start..end, &format!("{open}among the options of the schema"));
    }
    text
}

/// The escapes of texts on the command line.
pub const ESCAPES: &str = "\\n \\r \\t \\\\ \\xHH";

/// Reads the escapes `\n \r \t \\ \xHH` of a text that is read as it is meant to be.
///
/// # Errors
/// If there is another escape: which it is, and which there are.
pub fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut suffix = text.as_bytes();
    while let Some((&first, after)) = suffix.split_first() {
        let at = text.len() - suffix.len();
        let (byte, after) = if first == b'\\' {
            escaped(after).ok_or_else(|| {
                let shown: String = harmless(&text[at..].chars().take(2).collect::<String>());
                let place = quoted_short(text.as_bytes(), 40);
                format!("unknown escape {shown} at byte {at} of {place}: there are {ESCAPES}")
            })?
        } else {
            (first, after)
        };
        bytes.push(byte);
        suffix = after;
    }
    Ok(bytes)
}

/// As [`unescaped`], where a backslash before anything else is itself: so is the text of many a token.
pub fn unescaped_token(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut suffix = text.as_bytes();
    while let Some((&first, after)) = suffix.split_first() {
        let (byte, after) = Some(after).filter(|_| first == b'\\').and_then(escaped).unwrap_or((first, after));
        bytes.push(byte);
        suffix = after;
    }
    bytes
}

/// Reads an escape behind its backslash; returns its byte and what follows.
fn escaped(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [b'n', after @ ..] => Some((b'\n', after)),
        [b'r', after @ ..] => Some((b'\r', after)),
        [b't', after @ ..] => Some((b'\t', after)),
        [b'\\', after @ ..] => Some((b'\\', after)),
        [b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
            Some((digit(*high) << 4 | digit(*low), after))
        }
        _ => None,
    }
}

/// Shows at most `n_chars` characters of a quoted text.
pub fn quoted_short(bytes: &[u8], n_chars: usize) -> String {
    let shown = quoted(bytes);
    if shown.chars().count() <= n_chars {
        return shown;
    }
    let mut cut: String = shown.chars().take(n_chars.saturating_sub(4)).collect();
    cut.push_str("'...");
    cut
}

/// Returns at most `n_chars` characters of a text, the last of them dots if there are more.
pub fn shortened(text: &str, n_chars: usize) -> String {
    if text.chars().count() <= n_chars {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(n_chars.saturating_sub(3)).collect();
    cut.push_str("...");
    cut
}

/// Shows a number with thousands separators.
pub fn grouped(n: impl TryInto<u64>) -> String {
    let digits = n.try_into().unwrap_or(u64::MAX).to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Shows a number with a unit: `1 byte`, `2,000 bytes`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n as u64), if n == 1 { "" } else { "s" })
}

/// Shows a time with three digits or so.
pub fn shown_time(time: Duration) -> String {
    let ns = time.as_nanos() as f64;
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e4 => format!("{:.2} us", ns / 1e3),
        ..1e5 => format!("{:.1} us", ns / 1e3),
        ..1e6 => format!("{:.0} us", ns / 1e3),
        ..1e7 => format!("{:.2} ms", ns / 1e6),
        ..1e9 => format!("{:.0} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_is_made_harmless() {
        assert_eq!(quoted("a'\\\n\u{1B}[31m é\u{202E}".as_bytes()), "'a\\'\\\\\\n\\u{1B}[31m é\\u{202E}'");
        assert_eq!(quoted(b"\xFF\xE4\xB8"), "'\\xFF\\xE4\\xB8'");
        assert_eq!(quoted_short(b"abcdefghij", 9), "'abcd'...");
    }

    #[test]
    fn options_are_those_of_who_is_asked() {
        let message = "give that pointer (`--schema-pointer /a`, or `ReadOptions::pointer`), as it is";
        assert_eq!(of_command(message), "give that pointer (`--schema-pointer /a`), as it is");
        assert_eq!(of_page(message), "give that pointer (among the options of the schema), as it is");
        assert_eq!((of_command("plain"), of_page("plain")), ("plain".to_owned(), "plain".to_owned()));
    }

    #[test]
    fn escapes_are_read_or_refused() {
        assert_eq!(unescaped(r"a\n\\\x41é"), Ok("a\n\\Aé".into()));
        for (text, shown) in
            [(r"a\qb", r"\q at byte 1"), (r"\x6", r"\x at byte 0"), ("a\\", r"\ at byte 1"), (r"\é", r"\é")]
        {
            let error = unescaped(text).unwrap_err();
            assert!(error.contains(shown) && error.contains(ESCAPES), "{error}");
        }
        assert_eq!(unescaped_token(r"\q\t\"), b"\\q\t\\");
    }

    #[test]
    fn numbers_and_times_are_short() {
        assert_eq!(
            (grouped(999u64), grouped(1_000u64), grouped(1_234_567u64)),
            ("999".into(), "1,000".into(), "1,234,567".into())
        );
        assert_eq!((counted(1, "byte"), counted(0, "byte")), ("1 byte".into(), "0 bytes".into()));
        let shown = [850, 1_500, 2_345_000, 1_500_000_000].map(|ns| shown_time(Duration::from_nanos(ns)));
        assert_eq!(shown, ["850 ns", "1.50 us", "2.35 ms", "1.50 s"]);
    }
}
