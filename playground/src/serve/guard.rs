//! Which requests are let in.
//!
//! A web page elsewhere can make a browser send requests to this machine, and a name that it controls can be made to mean this machine's address (DNS rebinding). So the
//! `Host` must be an address or `localhost`, never another name; a request that says where it comes from must come from the page itself; and what does work must be JSON, which
//! a browser sends to another origin only after asking for leave, which is never given.

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use hyper::{Method, StatusCode};
use std::net::{IpAddr, SocketAddr};

/// Returns why a request is refused.
///
/// # Errors
/// The status and the reason.
pub fn check(method: &Method, headers: &HeaderMap, bound: SocketAddr) -> Result<(), (StatusCode, &'static str)> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else {
        return Err((StatusCode::BAD_REQUEST, "there must be one Host"));
    };
    if !is_host(host, bound) {
        return Err((
            StatusCode::MISDIRECTED_REQUEST,
            "the Host is not this server's: open the address that it printed",
        ));
    }
    let origin = headers.get(ORIGIN).map(|origin| origin.as_bytes());
    let is_own =
        |origin: &[u8]| origin.strip_prefix(b"http://").is_some_and(|own| own.eq_ignore_ascii_case(host.as_bytes()));
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    if origin.is_some_and(|origin| !is_own(origin)) {
        return Err((StatusCode::FORBIDDEN, "requests from other origins are refused"));
    }
    // A link to the page may stand anywhere.
    if method == Method::POST && site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return Err((StatusCode::FORBIDDEN, "requests from other sites are refused"));
    }
    let is_json = || {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
    };
    if method == Method::POST && !is_json() {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the content type must be application/json"));
    }
    Ok(())
}

/// Returns whether a `Host` can only mean this server: `localhost` or an address with its port; on the loopback a loopback address.
fn is_host(host: &str, bound: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, port.parse())
        }
        _ => (host, Ok(80)),
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let address = bare.parse::<IpAddr>();
    let is_known = match address {
        Ok(address) => !bound.ip().is_loopback() || address.is_loopback(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    };
    is_known && port == Ok(bound.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_of_this_machine() {
        let at = |address: &str| address.parse::<SocketAddr>().unwrap();
        let own = ["127.0.0.1:7878", "localhost:7878", "LOCALHOST:7878", "[::1]:7878"];
        assert!(own.iter().all(|host| is_host(host, at("127.0.0.1:7878"))));
        let foreign = [
            "evil.example:7878",
            "127.0.0.1.evil.example:7878",
            "localhost.evil.example:7878",
            "127.0.0.1:80",
            "127.0.0.1",
            "",
            ":7878",
            "10.0.0.1:7878",
            "127.0.0.1:78780",
            "localhost:",
            "user@127.0.0.1:7878",
            "127.0.0.1:7878:7878",
        ];
        for host in foreign {
            assert!(!is_host(host, at("127.0.0.1:7878")), "{host}");
        }
        assert!(is_host("10.0.0.1:7878", at("0.0.0.0:7878")) && is_host("localhost", at("0.0.0.0:80")));
        assert!(!is_host("evil.example:7878", at("0.0.0.0:7878")));
    }
}
