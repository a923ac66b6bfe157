//! Names and addresses of the net.

const HEX: &str = "[0-9a-fA-F]";

/// Returns the pattern of `ipv4`, without anchors like those below.
pub(super) fn ipv4() -> String {
    let octet = "(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])";
    format!("(?:{octet}(?:\\.{octet}){{3}})")
}

/// Returns the pattern of `ipv6`, in the nine forms of RFC 3986.
pub(super) fn ipv6() -> String {
    let group = format!("{HEX}{{1,4}}");
    let end = format!("(?:{group}:{group}|{})", ipv4());
    let mut forms = vec![format!("(?:{group}:){{6}}{end}"), format!("::(?:{group}:){{5}}{end}")];
    for before in 0..5 {
        forms.push(format!("(?:(?:{group}:){{0,{before}}}{group})?::(?:{group}:){{{}}}{end}", 4 - before));
    }
    forms.push(format!("(?:(?:{group}:){{0,5}}{group})?::{group}"));
    forms.push(format!("(?:(?:{group}:){{0,6}}{group})?::"));
    format!("(?:{})", forms.join("|"))
}

const LABEL: &str = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";

/// Returns the pattern of `hostname` from draft 7 on, to stand at the end of a text: two hyphens are third and fourth in A-labels only.
pub(super) fn hostname() -> String {
    format!("(?!(?:.*\\.)?(?:[^xX.][^.]|[xX][^nN.])--){}", hostname_of_rfc_1123())
}

/// Returns the pattern of `hostname` in drafts 4 and 6, to stand at the end of a text.
///
/// The whole length is counted in steps of eight that begin anew with each label, of which there may be 31: a count of single characters beside
/// the length of the label would take 16,000 states.
pub(super) fn hostname_of_rfc_1123() -> String {
    let length = "(?=(?:[^.]{8}|[^.]{0,7}\\.){0,30}[^.]{0,7}$)";
    format!("(?:{length}{LABEL}(?:\\.{LABEL})*)")
}

/// Returns a pattern of all host names and some longer texts.
pub(super) fn outer_hostname() -> String {
    format!("(?:{LABEL}(?:\\.{LABEL})*\\.?)")
}

/// Returns the pattern of `email`, to stand at the end of a text.
pub(super) fn email() -> String {
    mailbox("", &hostname_of_rfc_1123())
}

/// Returns the pattern of a mailbox, whose local part may hold other characters too, of a class.
pub(super) fn mailbox(others: &str, domain: &str) -> String {
    let atom = format!("[a-zA-Z0-9!#$%&'*+\\-/=?^_`{{|}}~{others}]+");
    let plain = format!("[ !#-\\[\\]-~{others}]");
    let words = format!("(?=[^@]{{1,64}}@){atom}(?:\\.{atom})*");
    let quoted = format!("\"(?:{plain}{{0,62}}|(?:{plain}|\\\\[ -~]){{0,31}})\"");
    let literal = format!("\\[(?:{}|IPv6:{})\\]", ipv4(), ipv6());
    format!("(?:{words}|{quoted})@(?:{domain}|{literal})")
}

/// Returns a pattern of all mail addresses and of most other texts with `@`.
pub(super) fn outer_email() -> String {
    "[^@]*@[^]*".to_owned()
}

/// Which characters beyond ASCII identifiers may hold.
#[derive(Clone, Copy)]
struct Beyond {
    /// Anywhere but in schemes, ports and addresses.
    anywhere: &'static str,
    /// In queries.
    in_query: &'static str,
}

/// Those of URIs.
const NONE: Beyond = Beyond { anywhere: "", in_query: "" };

/// Those of IRIs: `ucschar` and `iprivate` of RFC 3987.
const IRI: Beyond = Beyond {
    anywhere: "\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{3fffd}\
               \\u{40000}-\\u{4fffd}\\u{50000}-\\u{5fffd}\\u{60000}-\\u{6fffd}\\u{70000}-\\u{7fffd}\\u{80000}-\\u{8fffd}\\u{90000}-\\u{9fffd}\
               \\u{a0000}-\\u{afffd}\\u{b0000}-\\u{bfffd}\\u{c0000}-\\u{cfffd}\\u{d0000}-\\u{dfffd}\\u{e1000}-\\u{efffd}",
    in_query: "\\u{e000}-\\u{f8ff}\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}",
};

impl Beyond {
    /// Returns the pattern of a character of names and delimiters within parts, one of a class, or one written as `%` and its number.
    fn chars(self, class: &str) -> String {
        format!("(?:[a-zA-Z0-9\\-._~!$&'()*+,;={}{class}]|%{HEX}{{2}})", self.anywhere)
    }

    fn authority(self) -> String {
        let (user, name) = (self.chars(":"), self.chars(""));
        let future = format!("[vV]{HEX}+\\.[a-zA-Z0-9\\-._~!$&'()*+,;=:]+");
        format!("(?:{user}*@)?(?:\\[(?:{}|{future})\\]|{name}*)(?::[0-9]*)?", ipv6())
    }

    fn absolute(self) -> String {
        let c = self.chars(":@");
        let path = format!("//{}(?:/{c}*)*|/(?:{c}+(?:/{c}*)*)?|{c}+(?:/{c}*)*|", self.authority());
        format!("[a-zA-Z][a-zA-Z0-9+\\-.]*:(?:{path})")
    }

    fn query_and_fragment(self) -> String {
        let (query, fragment) = (self.chars(&format!(":@/?{}", self.in_query)), self.chars(":@/?"));
        format!("(?:\\?{query}*)?(?:#{fragment}*)?")
    }

    fn reference(self) -> String {
        let (c, first) = (self.chars(":@"), self.chars("@"));
        let relative = format!("//{}(?:/{c}*)*|/(?:{c}+(?:/{c}*)*)?|{first}+(?:/{c}*)*|", self.authority());
        format!("(?:{}|{relative}){}", self.absolute(), self.query_and_fragment())
    }
}

/// Returns the pattern of `uri`.
pub(super) fn uri() -> String {
    format!("{}{}", NONE.absolute(), NONE.query_and_fragment())
}

/// Returns the pattern of `uri-reference`.
pub(super) fn uri_reference() -> String {
    NONE.reference()
}

/// Returns the pattern of `iri`.
pub(super) fn iri() -> String {
    format!("{}{}", IRI.absolute(), IRI.query_and_fragment())
}

/// Returns the pattern of `iri-reference`.
pub(super) fn iri_reference() -> String {
    IRI.reference()
}

/// Returns the pattern of `uri-template`.
pub(super) fn uri_template() -> String {
    let escaped = "%[0-9a-fA-F]{2}";
    let Beyond { anywhere, in_query } = IRI;
    let literal = format!(r"[!#-$&-;=?-\[\]_a-z~{anywhere}{in_query}]");
    let character = format!("(?:[A-Za-z0-9_]|{escaped})");
    let variable = format!(r"{character}(?:\.?{character})*(?::[1-9][0-9]{{0,3}}|\*)?");
    format!(r"(?:{literal}|{escaped}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*")
}
