//! Starts the server on a free port of the loopback interface and asks it.

use maskwright_example_server::{Server, ServerLimits};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

async fn start() -> SocketAddr {
    let server = Server::new(ServerLimits::default()).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, server.router()).await });
    address
}

/// Posts a body and returns status and answer.
fn post(address: SocketAddr, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

fn content(answer: &Value) -> &str {
    assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
    answer["choices"][0]["message"]["content"].as_str().unwrap()
}

fn with_schema(schema: &str) -> String {
    format!(
        r#"{{"messages": [], "response_format": {{"type": "json_schema", "json_schema": {{"name": "a", "schema": {schema}}}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_obey_their_constraints() {
    let address = start().await;
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"type": "integer", "minimum": 1,
        "maximum": 14}}, "required": ["city", "days"], "additionalProperties": false}"#;
    let (status, answer) = post(address, &with_schema(schema));
    assert_eq!(status, 200, "{answer}");
    let value: Value = serde_json::from_str(content(&answer)).unwrap();
    assert!(value["city"].is_string() && (1..=14).contains(&value["days"].as_i64().unwrap()), "{value}");

    let (_, answer) = post(address, r#"{"guided_regex": "[a-z]{3}-[0-9]{2}", "seed": 7}"#);
    let text = content(&answer);
    assert!(text.len() == 6 && text.as_bytes()[3] == b'-', "{text}");
    let (_, answer) = post(address, r#"{"guided_choice": ["yes", "no"]}"#);
    assert!(["yes", "no"].contains(&content(&answer)));
    let (_, answer) = post(address, r#"{"guided_grammar": "root ::= \"a\" | \"(\" root \")\""}"#);
    assert!(content(&answer).trim_matches(['(', ')']) == "a");

    // The answer is cut at its limit, which the request is told.
    let (status, answer) = post(address, r#"{"response_format": {"type": "json_object"}, "max_tokens": 1}"#);
    assert_eq!((status, &answer["choices"][0]["finish_reason"]), (200, &json!("length")));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_where() {
    let address = start().await;
    let cases = [
        (r#"{"seed": 1,}"#.to_owned(), "invalid_json", "line 1 column 12"),
        (r#"{"response_format": {"type": "yaml"}}"#.to_owned(), "invalid_format", "json_schema"),
        (r#"{"response_format": {"type": "json_schema"}}"#.to_owned(), "invalid_format", "missing"),
        (r#"{"guided_regex": "a", "guided_choice": ["a"]}"#.to_owned(), "conflict", "one of"),
        (r#"{"stream": true}"#.to_owned(), "unsupported", "stream"),
        (r#"{"guided_regex": "a("}"#.to_owned(), "invalid_grammar", "column"),
        (r#"{"guided_grammar": "root ::= a"}"#.to_owned(), "invalid_grammar", "column 10"),
        (with_schema(r#"{"properties": {"a": {"type": "strin"}}}"#), "invalid_schema", "/properties/a"),
        (with_schema(r#"{"type": "integer", "minimum": 3, "maximum": 2}"#), "invalid_schema", "minimum"),
    ];
    for (body, code, place) in cases {
        let (status, answer) = post(address, &body);
        let (found, message) = (&answer["error"]["code"], answer["error"]["message"].as_str().unwrap());
        assert_eq!((status, found), (400, &json!(code)), "{body}: {answer}");
        assert!(message.contains(place), "{body}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_end_soon() {
    let address = start().await;
    let nested = format!("{}{}", r#"{"not": "#.repeat(20_000), "{}".to_owned() + &"}".repeat(20_000));
    let exponential = r#"{"type": "string", "pattern": "^(a|b)*a(a|b){400}$"}"#;
    let factors = r#"{"allOf": [{"oneOf": [1]}, {"type": "array", "minItems": 1000000000, "uniqueItems": true}]}"#;
    for schema in [&*nested, exponential, factors] {
        let start = Instant::now();
        let (status, answer) = post(address, &with_schema(schema));
        let shown = &schema[..schema.len().min(80)];
        // It compiles within the limits, or the request is to blame: never the server.
        assert!([200, 400].contains(&status), "{shown}: {status} {answer}");
        assert!(start.elapsed() < Duration::from_secs(20), "{shown}: {:?}", start.elapsed());
    }
    let (status, answer) = post(address, &format!("\"{}\"", "a".repeat(1 << 18)));
    assert_eq!((status, &answer["error"]["code"]), (413, &json!("invalid_body")));
    // The server is as it was.
    let (status, _) = post(address, r#"{"guided_choice": ["yes"]}"#);
    assert_eq!(status, 200);
}
