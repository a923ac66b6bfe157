//! URI references: RFC 3986, section 5, as far as schemas need it.

/// A URI reference in its five parts, as they stand in the text.
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Parts<'a> {
        let (text, fragment) = split_fragment(text);
        let (text, query) = split_at_char(text, '?');
        let colon = text.find(':').filter(|&i| is_scheme(&text[..i]));
        let (scheme, text) = colon.map_or((None, text), |i| (Some(&text[..i]), &text[i + 1..]));
        let (authority, path) = match text.strip_prefix("//") {
            None => (None, text),
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (Some(authority), path)
            }
        };
        Parts { scheme, authority, path, query, fragment }
    }
}

fn is_scheme(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(plain)
}

fn split_at_char(text: &str, c: char) -> (&str, Option<&str>) {
    text.split_once(c).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Splits a URI at its `#`.
pub(super) fn split_fragment(uri: &str) -> (&str, Option<&str>) {
    split_at_char(uri, '#')
}

/// Resolves a reference against a base, which may itself be relative or empty.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let (b, r) = (Parts::of(base), Parts::of(reference));
    let (scheme, authority, path, query);
    if r.scheme.is_some() {
        (scheme, authority, path, query) = (r.scheme, r.authority, without_dots(r.path), r.query);
    } else if r.authority.is_some() {
        (scheme, authority, path, query) = (b.scheme, r.authority, without_dots(r.path), r.query);
    } else if r.path.is_empty() {
        (scheme, authority, path, query) = (b.scheme, b.authority, b.path.to_owned(), r.query.or(b.query));
    } else {
        let merged = if r.path.starts_with('/') {
            r.path.to_owned()
        } else if b.authority.is_some() && b.path.is_empty() {
            format!("/{}", r.path)
        } else {
            format!("{}{}", &b.path[..b.path.rfind('/').map_or(0, |i| i + 1)], r.path)
        };
        (scheme, authority, path, query) = (b.scheme, b.authority, without_dots(&merged), r.query);
    }
    let mut text = String::with_capacity(base.len() + reference.len());
    let mut part = |before: &str, part: Option<&str>, after: &str| {
        if let Some(part) = part {
            text.extend([before, part, after]);
        }
    };
    part("", scheme, ":");
    part("//", authority, "");
    part("", Some(&path), "");
    part("?", query, "");
    part("#", r.fragment, "");
    text
}

/// Takes `.` and `..` out of a path.
fn without_dots(path: &str) -> String {
    if !path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return path.to_owned();
    }
    let is_absolute = path.starts_with('/');
    let mut normalized: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_dots = matches!(segment, "." | "..");
        if segment == ".." {
            normalized.pop();
        }
        if !is_dots {
            normalized.push(segment);
        } else if segments.peek().is_none() {
            normalized.push("");
        }
    }
    format!("{}{}", if is_absolute { "/" } else { "" }, normalized.join("/"))
}

/// Decodes `%41`; `None` if the result is not UTF-8.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |i: usize| char::from(*bytes.get(i)?).to_digit(16);
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_as_the_standard_shows() {
        // RFC 3986, 5.4.
        for (reference, target) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g#s", "http://a/b/c/g#s"),
            ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), target, "{reference}");
        }
    }

    #[test]
    fn resolves_without_a_full_base() {
        for (base, reference, target) in [
            ("", "#/a", "#/a"),
            ("", "a.json#b", "a.json#b"),
            ("dir/a.json", "b.json", "dir/b.json"),
            ("urn:uuid:1", "#x", "urn:uuid:1#x"),
            ("http://h", "a", "http://h/a"),
            ("http://h/a#old", "#new", "http://h/a#new"),
            ("tag:x,2020:root", "other:y", "other:y"),
        ] {
            assert_eq!(resolve(base, reference), target, "{base} {reference}");
        }
    }

    #[test]
    fn decodes_percents() {
        assert_eq!(percent_decoded("a%25b%22%C3%A9").as_deref(), Some("a%b\"é"));
        assert_eq!(percent_decoded("%2").as_deref(), Some("%2"));
        assert_eq!(percent_decoded("%zz").as_deref(), Some("%zz"));
        assert_eq!(percent_decoded("%ff"), None);
    }
}
