//! HTTP: connections, limits on requests, headers of responses.
//!
//! hyper does the protocol, since it is what most of the Rust world keeps well, and since it drops the future of a request whose connection is closed, which cancels its work.

use super::api::{self, Answer};
use super::assets::ASSETS;
use super::grammars::Grammars;
use super::guard;
use super::workers::{Unfinished, Workers};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Longest body of a request, in bytes: a grammar and a document, with every character escaped.
pub const BODY_BYTES_MAX: usize = 2 << 20;
/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Most open connections.
const CONNECTIONS_MAX: usize = 128;
/// How long the head of a request, its body, and what is left of it after the answer may take.
const READ_TIME_MAX: Duration = Duration::from_secs(10);
/// How much of a request is read, in bytes, once it has been answered: twice the longest that is accepted.
const LEFT_BYTES_MAX: u64 = 2 * (BODY_BYTES_MAX + HEAD_BYTES_MAX) as u64;

/// Headers of every response. Nothing but the page's own files is loaded, run or shown, and no page may embed it.
const HEADERS: [(HeaderName, &str); 8] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

type Reply = Response<Full<Bytes>>;

/// Answers requests for ever.
pub async fn serve(listener: TcpListener, bound: SocketAddr, workers: Workers, grammars: Arc<Grammars>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // No file descriptors, most likely: some are free again soon.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (workers, grammars) = (workers.clone(), Arc::clone(&grammars));
        let service = hyper::service::service_fn(move |request| {
            let (workers, grammars) = (workers.clone(), Arc::clone(&grammars));
            async move { Ok::<Reply, Infallible>(reply(request, bound, &workers, grammars).await) }
        });
        tokio::spawn(async move {
            let _permit = permit;
            let Ok((stream, rest)) = duplicate(stream) else { return };
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(READ_TIME_MAX).max_buf_size(HEAD_BYTES_MAX);
            // What goes wrong with a connection is its client's affair.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            linger(rest).await;
        });
    }
}

/// Two handles of one connection, which is closed when both are dropped.
fn duplicate(stream: TcpStream) -> io::Result<(TcpStream, TcpStream)> {
    let stream = stream.into_std()?;
    let second = stream.try_clone()?;
    Ok((TcpStream::from_std(stream)?, TcpStream::from_std(second)?))
}

/// Closes a connection once its client has sent what it had to send.
///
/// A socket that is closed with unread bytes resets the connection, and the client may lose the answer that was on its way (RFC 9112, section 9.6): who sends a text that is too long would never learn it.
async fn linger(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let _ =
        tokio::time::timeout(READ_TIME_MAX, tokio::io::copy(&mut stream.take(LEFT_BYTES_MAX), &mut tokio::io::sink()))
            .await;
}

async fn reply(request: Request<Incoming>, bound: SocketAddr, workers: &Workers, grammars: Arc<Grammars>) -> Reply {
    if let Err((status, reason)) = guard::check(request.method(), request.headers(), bound) {
        return refusal(status, "refused", reason);
    }
    let path = request.uri().path().to_owned();
    if let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) {
        return match *request.method() {
            Method::GET | Method::HEAD => response(StatusCode::OK, asset.kind, asset.content.into()),
            _ => wrong_method("GET, HEAD"),
        };
    }
    if path == "/api/info" {
        return match *request.method() {
            Method::GET | Method::HEAD => json_response(StatusCode::OK, &api::info(&grammars)),
            _ => wrong_method("GET, HEAD"),
        };
    }
    let Some(question) = api::Question::at(&path) else {
        return refusal(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path");
    };
    if request.method() != Method::POST {
        return wrong_method("POST");
    }
    let body = match body(request.into_body()).await {
        Ok(body) => body,
        Err((status, reason)) => return refusal(status, "body", reason),
    };
    match workers.run(move |task| api::answer(question, &body, &grammars, task)).await {
        Ok(Answer { status, value }) => json_response(status, &value),
        Err(Unfinished::Busy) => refusal(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many requests wait already"),
        Err(Unfinished::Panicked) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "panic", "the server has a bug"),
    }
}

async fn body(incoming: Incoming) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LONG: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "the body is too long");
    if incoming.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(TOO_LONG);
    }
    match tokio::time::timeout(READ_TIME_MAX, Limited::new(incoming, BODY_BYTES_MAX).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(TOO_LONG),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body can't be read")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body takes too long")),
    }
}

fn response(status: StatusCode, kind: &'static str, content: Bytes) -> Reply {
    let mut response = Response::new(Full::new(content));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn json_response(status: StatusCode, value: &Value) -> Reply {
    response(status, "application/json", value.to_string().into())
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Reply {
    let mut reply = json_response(status, &json!({ "version": 1, "error": { "code": code, "message": message } }));
    // What was not read of the request stays unread.
    reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}

fn wrong_method(allowed: &'static str) -> Reply {
    let mut reply = refusal(StatusCode::METHOD_NOT_ALLOWED, "method", "this path takes other methods");
    reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    reply
}
