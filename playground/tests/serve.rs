//! The server of the page, over the loopback: what it answers, what it refuses, and that no grammar keeps it from answering others.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Compiling it takes about as long as the limits allow, half a second or more: each of many rules needs an automaton of many thousand states.
fn hostile() -> Value {
    let names: Vec<String> = (0..200).map(|n| format!("r{n}")).collect();
    let rule =
        |n: usize| format!("r{n} ::= ([ab]* \"a\" [ab]{{13}} [c-e]{{{n}}}) & ([a-e]* - ([a-e]* \"ba\" [a-e]{{10}}))");
    let rules: Vec<String> = (0..200).map(rule).collect();
    question(&format!("root ::= {}\n{}", names.join(" | "), rules.join("\n")), "")
}

struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn new(args: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_playground"));
        let mut process = command
            .args(["serve", "--port", "0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|text| text.split('/').next()).unwrap().parse().unwrap();
        Server { process, address }
    }

    /// Sends a request, and returns the connection.
    fn send(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(head.replace('\n', "\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream
    }

    fn raw(&self, head: &str, body: &[u8]) -> Reply {
        Reply::read(self.send(head, body))
    }

    fn get(&self, path: &str) -> Reply {
        self.raw(&format!("GET {path} HTTP/1.1\nHost: {}\nConnection: close\n\n", self.address), b"")
    }

    fn start(&self, path: &str, body: &[u8]) -> TcpStream {
        let head = format!(
            "POST {path} HTTP/1.1\nHost: {}\nContent-Type: application/json\nContent-Length: {}\nConnection: close\n\n",
            self.address,
            body.len()
        );
        self.send(&head, body)
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        Reply::read(self.start(path, body.to_string().as_bytes()))
    }

    fn check(&self, body: &Value) -> Value {
        let reply = self.post("/api/check", body);
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn read(mut stream: TcpStream) -> Reply {
        let mut bytes = Vec::new();
        // A connection that is reset has said what it had to say.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

fn question(grammar: &str, document: &str) -> Value {
    json!({ "grammar": grammar, "vocab": "bytes", "document": document })
}

fn with(mut question: Value, more: Value) -> Value {
    question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    question
}

const LIST: &str = "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= [0-9]+ | \"true\" | root\n";

#[test]
fn the_page_is_served_with_strict_headers() {
    let server = Server::new(&[]);
    let page = server.get("/");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<title>Maskwright playground</title>"));
    assert!(!page.body.contains("http://") && !page.body.contains("https://"), "the page needs nothing from elsewhere");
    let files = page
        .body
        .split(['"', '\''])
        .filter(|text| text.ends_with(".js") || text.ends_with(".css") || text.ends_with(".svg"));
    let mut n_files = 0;
    for file in files {
        let reply = server.get(&format!("/{file}"));
        assert_eq!(reply.status, 200, "{file}");
        assert!(reply.head.contains("default-src 'none'") && reply.head.contains("nosniff"), "{file}: {}", reply.head);
        assert!(!reply.body.contains("innerHTML") && !reply.body.contains("https://"), "{file}");
        n_files += 1;
    }
    assert!(n_files >= 3);
    assert!(!page.head.contains("access-control"), "no other origin is let in");
    let info = server.get("/api/info").json();
    assert!(info["examples"].as_array().unwrap().len() >= 8);
    assert_eq!(info["vocabularies"], json!(["cl100k_base", "o200k_base", "bytes"]));
}

#[test]
fn a_check_says_everything_about_grammar_document_and_place() {
    let server = Server::new(&[]);
    let answer = server.check(&question(LIST, "[1,tree]"));
    assert_eq!(answer["grammar"]["is_ok"], true);
    assert_eq!(answer["grammar"]["dialect"], "ebnf");
    assert_eq!(answer["grammar"]["n_rules"], 2);
    let verdicts: Vec<&str> = answer["document"]["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| token["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["forced", "allowed", "allowed", "allowed", "forced", "refused", "after", "after"]);
    // After `[1` a digit, `,` or `]`; in `t` only `r`.
    let counts: Vec<&Value> =
        answer["document"]["tokens"].as_array().unwrap().iter().map(|token| &token["n_allowed"]).collect();
    assert_eq!(counts[..5], [&json!(1), &json!(13), &json!(12), &json!(12), &json!(1)]);
    assert_eq!((&answer["document"]["refused_at"], &answer["offset"]), (&json!(5), &json!(5)));
    assert_eq!(answer["forced"], "ue", "the place is that of the refusal");
    assert_eq!(answer["expected"]["open_rules"], json!(["item", "root"]));
    let answer = server.check(&with(question(LIST, "[1,tree]"), json!({ "cursor": 3 })));
    assert_eq!((&answer["offset"], &answer["allowed"]["n_allowed"]), (&json!(3), &json!(12)));
    assert_eq!(answer["expected"]["items"].as_array().unwrap().len(), 3);
    let answer = server.check(&question(LIST, "[[],7]"));
    assert_eq!(answer["document"]["is_complete"], true);
    assert_eq!(answer["allowed"]["tokens"][0]["kind"], "stop token");
}

#[test]
fn masks_are_those_of_the_library() {
    use maskwright::{Encoding, GrammarCompiler, Vocab, vocab::tiktoken};
    let server = Server::new(&[]);
    let document = "[12, true".replace(' ', "");
    let answer = server.check(&with(question(LIST, &document), json!({ "vocab": "cl100k_base" })));
    let vocab = Vocab::tiktoken(Encoding::Cl100kBase).unwrap();
    let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(LIST).unwrap().matcher();
    let tokens = answer["document"]["tokens"].as_array().unwrap();
    for (token, id) in tokens.iter().zip(tiktoken::encode(Encoding::Cl100kBase, &document)) {
        assert_eq!((&token["id"], &token["n_allowed"]), (&json!(id), &json!(matcher.mask().unwrap().count())));
        matcher.accept_token(id).unwrap();
    }
    assert_eq!(answer["allowed"]["n_allowed"], matcher.mask().unwrap().count());
    let mut ids = Vec::new();
    let skips = (0..).step_by(200);
    for skip in skips {
        let filter = json!({ "filter": { "skip": skip, "limit": 200 }, "vocab": "cl100k_base" });
        let page = server.post("/api/tokens", &with(question(LIST, &document), filter)).json()["allowed"].clone();
        let tokens = page["tokens"].as_array().unwrap();
        ids.extend(tokens.iter().map(|token| token["id"].as_u64().unwrap() as u32));
        if tokens.is_empty() {
            break;
        }
    }
    assert_eq!(ids, matcher.mask().unwrap().iter().collect::<Vec<_>>());
}

#[test]
fn every_dialect_is_found() {
    let server = Server::new(&[]);
    let tag = r#"{"type":"structural_tag","format":{"type":"const_string","value":"ok"}}"#;
    let cases = [
        ("root ::= \"a\"", "auto", "ebnf", true),
        ("start: \"a\"", "auto", "lark", true),
        ("a+", "regex", "regex", true),
        (r#"{"type": "integer"}"#, "auto", "json_schema", true),
        (tag, "auto", "structural_tag", true),
        (r#"{"type": "integer", "minimum": "x"}"#, "json_schema", "json_schema", false),
        ("root ::= [a", "ebnf", "ebnf", false),
        ("(", "regex", "regex", false),
        ("", "auto", "lark", false),
    ];
    for (grammar, dialect, found, is_ok) in cases {
        let answer = server.check(&with(question(grammar, ""), json!({ "dialect": dialect })));
        assert_eq!(
            (&answer["grammar"]["dialect"], &answer["grammar"]["is_ok"]),
            (&json!(found), &json!(is_ok)),
            "{grammar}: {answer}"
        );
    }
    // What is wrong in a tag has its place in the tag's text, and so has what is probably wrong.
    let broken = tag.replace("const_string", "const_strin");
    let error = server.check(&question(&broken, ""))["grammar"]["error"].clone();
    let place = broken.find("\"const_strin\"").unwrap();
    assert_eq!((&error["start"], &error["line"], &error["column"]), (&json!(place), &json!(1), &json!(place + 1)));
    let odd = tag.replace("\"value\"", "\"style\":1,\"value\"");
    let warnings = server.check(&question(&odd, ""))["grammar"]["warnings"].clone();
    assert_eq!(warnings[0]["start"], json!(odd.find("\"style\"").unwrap()), "{warnings}");
    let other_root = with(question("a ::= \"x\"", "x"), json!({ "root": "a" }));
    assert_eq!(server.check(&other_root)["document"]["is_complete"], true);
}

#[test]
fn schemas_have_options() {
    let server = Server::new(&[]);
    let schema =
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "d": {"type": "string", "format": "date"}}}"#;
    let is_complete = |options: Value, document: &str| {
        let answer = server.check(&with(question(schema, document), json!({ "schema": options })));
        assert_eq!(answer["grammar"]["is_ok"], true, "{answer}");
        answer["document"]["is_complete"] == true
    };
    // Each option changes what one document is; a grammar that was compiled with other options is not taken for it.
    for (options, document, by_default) in [
        (json!({ "white_space": "compact" }), "{\"a\": 1}", true),
        (json!({ "no_additional_properties": true }), "{\"b\":1}", true),
        (json!({ "no_formats": true }), "{\"d\":\"x\"}", false),
        (json!({ "any_order": true }), "{\"d\":\"2024-01-01\",\"a\":1}", false),
        (json!({ "integer_fractions": true }), "{\"a\":1.0}", false),
        (json!({ "pointer": "/properties/a" }), "7", false),
        (json!({ "spelling": "any" }), "{\"d\":\"2024-01-0\\u0031\"}", false),
    ] {
        assert_eq!(is_complete(json!({}), document), by_default, "{options}");
        assert_eq!(is_complete(options.clone(), document), !by_default, "{options}");
    }
    let old = json!({ "schema": { "draft": "4" } });
    let answer =
        server.check(&with(question(r##"{"$ref": "#/a", "minimum": 3, "a": {"type": "integer"}}"##, "1"), old));
    assert_eq!(answer["document"]["is_complete"], true, "in draft 4 nothing counts beside `$ref`");
    let lenient = json!({ "schema": { "lenient": true } });
    let pattern = question(r#"{"type": "string", "pattern": "(a)\\1"}"#, "");
    assert_eq!(server.check(&pattern)["grammar"]["is_ok"], false);
    assert_eq!(server.check(&with(pattern, lenient))["grammar"]["is_ok"], true);
    // For other dialects they mean nothing.
    let other = with(question("root ::= \"a\"", "a"), json!({ "schema": { "any_order": true } }));
    assert_eq!(server.check(&other)["document"]["is_complete"], true);
    for (options, says) in [
        (json!({ "white_space": "wide" }), "schema.white_space"),
        (json!({ "draft": "3" }), "schema.draft"),
        (json!({ "spelling": "odd" }), "schema.spelling"),
        (json!({ "frob": 1 }), "frob"),
    ] {
        let reply = server.post("/api/check", &with(question(schema, ""), json!({ "schema": options })));
        assert!(reply.status == 400 && reply.body.contains(says), "{}", reply.body);
    }
}

#[test]
fn errors_have_their_place() {
    let server = Server::new(&[]);
    let error = server.check(&question("root ::= \"é\" nubmer\nnumber ::= [0-9]", ""))["grammar"]["error"].clone();
    assert_eq!((&error["line"], &error["column"]), (&json!(1), &json!(14)));
    assert_eq!((&error["start"], &error["end"]), (&json!(14), &json!(20)), "in bytes");
    assert!(error["hint"].as_str().unwrap().contains("number"));
    let error =
        server.check(&question(r#"{"type": "string", "minLength": 5, "maxLength": 3}"#, ""))["grammar"]["error"]
            .clone();
    assert_eq!(error["code"], "unsatisfiable");
    let warned = server.check(&question("root ::= \"a\"\nb ::= \"b\"", "a"));
    assert_eq!(warned["grammar"]["warnings"][0]["line"], 2);
}

#[test]
fn tokens_are_explained() {
    let server = Server::new(&[]);
    let why = |document: &str, token: &str| {
        let asked = json!({ "token": token, "vocab": "cl100k_base" });
        server.post("/api/why", &with(question(LIST, document), asked)).json()["why"].clone()
    };
    let refused = why("[", " true");
    assert_eq!((&refused["is_allowed"], &refused["n_read"]), (&json!(false), &json!(0)));
    let refused = why("[", "trues");
    assert_eq!((&refused["is_token"], &refused["n_read"]), (&json!(false), &json!(4)));
    assert_eq!(refused["expected"]["open_rules"], json!(["root"]));
    let allowed = why("[", "true");
    assert_eq!((&allowed["is_allowed"], &allowed["readers"]["first"]), (&json!(true), &json!(["item"])));
    assert!(why("[", "<|endoftext|>")["reason"].as_str().unwrap().contains("not complete"));
    assert_eq!(why("[]", "<|endoftext|>")["is_allowed"], true);
    assert_eq!(why("[", "4000000000")["is_allowed"], false);
    assert_eq!(why("[", "")["is_allowed"], false);
    // An exclusion may forbid the end, or a byte.
    let excluded = |document: &str, token: &str| {
        let asked = json!({ "token": token, "vocab": "cl100k_base" });
        let grammar = "root ::= [a-z]+ - (\"if\" [a-z]*)";
        server.post("/api/why", &with(question(grammar, document), asked)).json()["why"]["exclusions"].clone()
    };
    let line = "exclusion: '[a-z]+ - (\"if\" [a-z]*)' at line 1: without it the text ";
    assert_eq!(excluded("i", "f"), json!([format!("{line}could go on")]));
    assert_eq!(excluded("i", "7"), json!([]));
    assert_eq!(excluded("ok", "<|endoftext|>"), json!([]));
    let forbids_end = {
        let asked = json!({ "token": "<|endoftext|>", "vocab": "cl100k_base" });
        server.post("/api/why", &with(question("root ::= [a-z]+ - \"if\"", "if"), asked)).json()["why"].clone()
    };
    assert!(forbids_end["exclusions"][0].as_str().unwrap().ends_with("would be complete"), "{forbids_end}");
    // Tokens that are read as a whole.
    let why = |token: &str| {
        let asked = json!({ "token": token, "vocab": "cl100k_base" });
        server.post("/api/why", &with(question("root ::= <[^1,100258]>*", ""), asked)).json()["why"].clone()
    };
    for token in ["b", " the", "<|fim_suffix|>"] {
        let allowed = why(token);
        assert_eq!((&allowed["is_allowed"], &allowed["unread"]), (&json!(true), &json!("''")), "{allowed}");
        assert!(allowed["reason"].as_str().unwrap().contains("a set that has it"), "{allowed}");
        assert_eq!(allowed["readers"]["first"], json!(["root"]), "{allowed}");
    }
    for token in ["1", "100258"] {
        let refused = why(token);
        assert_eq!(refused["is_allowed"], false);
        assert!(refused["reason"].as_str().unwrap().starts_with("the set of tokens"), "{refused}");
    }
}

#[test]
fn continuations_belong_to_the_grammar() {
    let server = Server::new(&[]);
    let schema = include_str!("../grammars/tool_call.schema.json");
    for (grammar, document) in [(LIST, "[1"), (schema, "{\"name\": \"book"), ("root ::= [^a]{3} \"é\"", "日")] {
        for (seed, vocab) in [(1, "bytes"), (2, "cl100k_base"), (3, "cl100k_base")] {
            let asked = with(question(grammar, document), json!({ "seed": seed, "vocab": vocab, "max_tokens": 20 }));
            let continuation = server.post("/api/continue", &asked).json()["continuation"].clone();
            if continuation["is_complete"] != true {
                // Bytes that are no characters can't be in a document.
                assert_eq!(vocab, "bytes", "{continuation}");
                continue;
            }
            let whole = format!("{document}{}", continuation["text"].as_str().unwrap());
            assert_eq!(server.check(&question(grammar, &whole))["document"]["is_complete"], true, "{whole}");
        }
    }
}

#[test]
fn control_tokens_are_read_by_name() {
    let server = Server::new(&[]);
    let asked =
        with(question("root ::= \"a\" <|fim_prefix|> \"b\"", "a<|fim_prefix|>b"), json!({ "vocab": "cl100k_base" }));
    let answer = server.check(&asked);
    assert_eq!(answer["document"]["is_complete"], true, "{answer}");
    assert_eq!(answer["document"]["tokens"][1]["is_control"], true);
    // Within the name is before the token.
    let answer = server.check(&with(asked, json!({ "cursor": 5 })));
    assert_eq!(answer["offset"], 1);
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let server = Server::new(&[]);
    for body in
        [json!({}), json!([]), json!({ "grammar": 1, "vocab": "bytes" }), with(question("a", ""), json!({ "x": 1 }))]
    {
        let reply = server.post("/api/check", &body);
        assert_eq!((reply.status, reply.code().as_str()), (400, "request"), "{body}");
    }
    for body in [&b"{"[..], b"", b"\xFF\xFE", b"[[[[[[[["] {
        assert_eq!(Reply::read(server.start("/api/check", body)).status, 400);
    }
    assert_eq!(server.post("/api/check", &with(question("a", ""), json!({ "vocab": "../../etc/passwd" }))).status, 400);
    assert_eq!(server.post("/api/check", &with(question("a", ""), json!({ "dialect": "yacc" }))).status, 400);
    // A cursor beyond the end is at the end.
    assert_eq!(server.check(&with(question(LIST, "["), json!({ "cursor": 1u64 << 40 })))["offset"], 1);
}

#[test]
fn long_requests_are_refused() {
    let server = Server::new(&[]);
    let reply = server.post("/api/check", &question(&"a".repeat(300 << 10), ""));
    assert_eq!((reply.status, reply.code().as_str()), (413, "grammar"));
    assert_eq!(server.post("/api/check", &question("a", &"a".repeat(70 << 10))).status, 413);
    assert_eq!(server.post("/api/check", &question(&"a".repeat(3 << 20), "")).status, 413);
    let host = server.address;
    let head = format!(
        "POST /api/check HTTP/1.1\nHost: {host}\nContent-Type: application/json\nContent-Length: 99999999999\n\n"
    );
    assert_eq!(server.raw(&head, b"{").status, 413);
    let long = format!("GET / HTTP/1.1\nHost: {host}\nX: {}\nConnection: close\n\n", "x".repeat(1 << 20));
    assert_eq!(server.raw(&long, b"").status, 431);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn other_hosts_origins_and_methods_are_refused() {
    let server = Server::new(&[]);
    let host = server.address;
    let port = host.port();
    for foreign in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1:1".into(),
        "127.0.0.1".into(),
        format!("192.168.0.1:{port}"),
    ] {
        let reply = server.raw(&format!("GET / HTTP/1.1\nHost: {foreign}\nConnection: close\n\n"), b"");
        assert_eq!(reply.status, 421, "{foreign}");
    }
    assert_eq!(server.raw("GET / HTTP/1.1\nConnection: close\n\n", b"").status, 400);
    assert_eq!(server.raw(&format!("GET / HTTP/1.1\nHost: localhost:{port}\nConnection: close\n\n"), b"").status, 200);
    let body = question("root ::= \"a\"", "a").to_string();
    let post = |more: &str| {
        let head = format!(
            "POST /api/check HTTP/1.1\nHost: {host}\nContent-Length: {}\nConnection: close\n{more}\n\n",
            body.len()
        );
        server.raw(&head, body.as_bytes()).status
    };
    assert_eq!(post("Content-Type: text/plain"), 415);
    assert_eq!(post("X: y"), 415);
    assert_eq!(post("Content-Type: application/json\nOrigin: http://evil.example"), 403);
    assert_eq!(post("Content-Type: application/json\nOrigin: null"), 403);
    assert_eq!(post("Content-Type: application/json\nSec-Fetch-Site: cross-site"), 403);
    assert_eq!(
        post(&format!(
            "Content-Type: application/json; charset=utf-8\nOrigin: http://{host}\nSec-Fetch-Site: same-origin"
        )),
        200
    );
    for (method, path) in
        [("POST", "/"), ("PUT", "/app.js"), ("GET", "/api/check"), ("OPTIONS", "/api/check"), ("DELETE", "/api/info")]
    {
        let head =
            format!("{method} {path} HTTP/1.1\nHost: {host}\nContent-Type: application/json\nConnection: close\n\n");
        let reply = server.raw(&head, b"");
        assert_eq!(reply.status, 405, "{method} {path}");
        assert!(reply.head.contains("allow: "));
    }
}

#[test]
fn paths_name_nothing_but_the_page() {
    let server = Server::new(&[]);
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/assets/index.html",
        "/index.html/..",
        "/api",
        "/api/",
        "/api/check/",
        "/app.js%00",
    ] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.code().as_str()), (404, "not_found"), "{path}");
    }
}

#[test]
fn a_hostile_grammar_is_stopped_and_others_are_answered_meanwhile() {
    let server = Server::new(&["--time-limit", "2"]);
    let start = Instant::now();
    let waiting = server.start("/api/check", hostile().to_string().as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.check(&question(LIST, "[]"))["document"]["is_complete"], true);
    assert!(start.elapsed() < Duration::from_millis(1900), "others do not wait for it");
    let answer = Reply::read(waiting).json();
    let code = answer["grammar"]["error"]["code"].as_str().unwrap().to_owned();
    assert!(["interrupted", "limit"].contains(&code.as_str()), "{answer}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn closing_the_connection_cancels_the_work() {
    // One worker with a long time limit: if its work went on, nobody else would be answered.
    let server = Server::new(&["--time-limit", "600", "--workers", "1"]);
    for _ in 0..3 {
        let waiting = server.start("/api/check", hostile().to_string().as_bytes());
        std::thread::sleep(Duration::from_millis(150));
        drop(waiting);
    }
    let start = Instant::now();
    assert_eq!(server.check(&question(LIST, "[]"))["document"]["is_complete"], true);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn more_requests_than_may_wait_are_turned_away() {
    let server = Server::new(&["--time-limit", "600", "--workers", "1"]);
    let mut busy: Vec<TcpStream> = Vec::new();
    // One may be done before the last one is asked for: then there is room, and more are needed.
    let is_turned_away = (0..10).any(|_| {
        busy.extend((0..34).map(|_| server.start("/api/check", hostile().to_string().as_bytes())));
        std::thread::sleep(Duration::from_millis(100));
        let reply = server.post("/api/check", &question(LIST, "[]"));
        reply.status == 503 && reply.code() == "busy"
    });
    assert!(is_turned_away);
    assert_eq!(server.get("/").status, 200, "the page is served all the same");
    drop(busy);
    let start = Instant::now();
    while server.post("/api/check", &question(LIST, "[]")).status != 200 {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn ambiguous_grammars_are_explained_within_bounds() {
    let server = Server::new(&[]);
    let start = Instant::now();
    let asked = question("root ::= root root root | \"a\" | \"aa\" | \"\"", &"a".repeat(3000));
    let answer = server.check(&asked);
    assert_eq!(answer["grammar"]["is_ok"], true);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
