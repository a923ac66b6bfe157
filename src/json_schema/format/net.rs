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

/// Returns the pattern of `hostname`, to stand at the end of a text.
///
/// The whole length is counted in steps of eight that begin anew with each label, of which there may be 31: a count of single characters beside
/// the length of the label would take 16,000 states.
pub(super) fn hostname() -> String {
    let label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
    let not_encoded = "(?!(?:.*\\.)?[^.]{2}--)";
    let length = "(?=(?:[^.]{8}|[^.]{0,7}\\.){0,30}[^.]{0,7}$)";
    format!("(?:{not_encoded}{length}{label}(?:\\.{label})*)")
}

/// Returns a pattern of all host names and some longer texts.
pub(super) fn outer_hostname() -> String {
    let label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
    format!("(?:{label}(?:\\.{label})*\\.?)")
}

/// Returns the pattern of `email`, to stand at the end of a text.
pub(super) fn email() -> String {
    let atom = "[a-zA-Z0-9!#$%&'*+\\-/=?^_`{|}~]+";
    let plain = "[ !#-\\[\\]-~]";
    let words = format!("(?=[^@]{{1,64}}@){atom}(?:\\.{atom})*");
    let quoted = format!("\"(?:{plain}{{0,62}}|(?:{plain}|\\\\[ -~]){{0,31}})\"");
    let literal = format!("\\[(?:{}|IPv6:{})\\]", ipv4(), ipv6());
    format!("(?:{words}|{quoted})@(?:{}|{literal})", hostname())
}

/// Characters of names and delimiters within parts, for use in a class.
const PLAIN: &str = "a-zA-Z0-9\\-._~!$&'()*+,;=";

/// Returns the pattern of a part of characters of a class, or of those written as `%` and their number.
fn chars(class: &str) -> String {
    format!("(?:[{PLAIN}{class}]|%{HEX}{{2}})")
}

fn authority() -> String {
    let (user, name) = (chars(":"), chars(""));
    let future = format!("[vV]{HEX}+\\.[{PLAIN}:]+");
    format!("(?:{user}*@)?(?:\\[(?:{}|{future})\\]|{name}*)(?::[0-9]*)?", ipv6())
}

fn absolute() -> String {
    let c = chars(":@");
    let path = format!("//{}(?:/{c}*)*|/(?:{c}+(?:/{c}*)*)?|{c}+(?:/{c}*)*|", authority());
    format!("[a-zA-Z][a-zA-Z0-9+\\-.]*:(?:{path})")
}

fn query_and_fragment() -> String {
    let c = chars(":@/?");
    format!("(?:\\?{c}*)?(?:#{c}*)?")
}

/// Returns the pattern of `uri`.
pub(super) fn uri() -> String {
    format!("{}{}", absolute(), query_and_fragment())
}

/// Returns the pattern of `uri-template`.
pub(super) fn uri_template() -> String {
    let escaped = "%[0-9a-fA-F]{2}";
    let literal = r#"[^\x00-\x20\x7f-\x9f"%<>\\^`{|}]"#;
    let character = format!("(?:[A-Za-z0-9_]|{escaped})");
    let variable = format!(r"{character}(?:\.?{character})*(?::[1-9][0-9]{{0,3}}|\*)?");
    format!(r"(?:{literal}|{escaped}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*")
}

/// Returns the pattern of `uri-reference`.
pub(super) fn uri_reference() -> String {
    let (c, first) = (chars(":@"), chars("@"));
    let relative = format!("//{}(?:/{c}*)*|/(?:{c}+(?:/{c}*)*)?|{first}+(?:/{c}*)*|", authority());
    format!("(?:{}|{relative}){}", absolute(), query_and_fragment())
}
