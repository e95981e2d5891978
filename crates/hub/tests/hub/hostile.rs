//! Requests that no client of ours would send: malformed, oversized, in pieces, two in one. None of them is answered with
//! something else than a refusal, and the hub goes on.
use crate::people::Somebody;
use crate::place::{Api, PATIENCE, Place};
use gleaner_hub::access::{Access, access};
use reqwest::{Method, StatusCode, header};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a path names, or something that looks like it.
fn path(row: &Access) -> String {
    let parts = row.path.split('/').map(|part| match part {
        "{root}" | "{hash}" => "ab".repeat(32),
        "{submission}" => "f".repeat(32),
        "{address}" => format!("0x{}", "0".repeat(40)),
        part if part.starts_with('{') => "7".to_owned(),
        part => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Routes that take something.
fn taking() -> Vec<Access> {
    let changes = |row: &Access| !matches!(row.method.as_str(), "GET" | "HEAD");
    // Signing the operator's own session out, or ending a test's things, is not what this is about.
    access().into_iter().filter(changes).collect()
}

/// Bodies that are no JSON, or none of ours.
fn nonsense() -> Vec<Vec<u8>> {
    let deep = |open: &str, count: usize| open.repeat(count).into_bytes();
    vec![
        Vec::new(),
        b"{".to_vec(),
        b"[]".to_vec(),
        b"{}".to_vec(),
        b"null".to_vec(),
        b"\"text\"".to_vec(),
        b"1e999".to_vec(),
        b"-0".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        b"{\"name\":\"\xff\"}".to_vec(),
        b"{\"name\":\"\\ud800\"}".to_vec(),
        b"{\"name\":1,\"name\":2}".to_vec(),
        b"{\"\\u0000\":\"\\u0000\"}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        deep("[", 50_000),
        deep("{\"a\":", 10_000),
        deep("a = [", 10_000),
    ]
}

#[tokio::test]
async fn nonsense_is_refused_by_every_route_with_a_reason() {
    let place = Place::new().await;
    let operator = Somebody::with_token(&place.api, &place.api.token);
    let mut wrongs = Vec::new();
    for row in taking() {
        for body in nonsense() {
            for kind in ["application/json", "application/toml", "text/plain", "application/octet-stream", "nonsense"] {
                let request = operator.ask(row.method.parse().unwrap(), &path(&row));
                let response = request.header(header::CONTENT_TYPE, kind).body(body.clone()).send().await.unwrap();
                let status = response.status();
                let said = response.headers().get(header::CONTENT_TYPE).cloned();
                let is_problem = said.as_ref().is_some_and(|said| said == "application/problem+json")
                    || response.headers().contains_key("x-gleaner-code");
                if status.is_server_error() || status.is_client_error() && !is_problem {
                    let start = String::from_utf8_lossy(&body[..body.len().min(20)]).into_owned();
                    wrongs.push(format!("{} {} with {kind} `{start}`: {status} {said:?}", row.method, row.path));
                }
            }
        }
    }
    wrongs.sort();
    assert!(wrongs.is_empty(), "{} wrong answers:\n{}", wrongs.len(), wrongs.join("\n"));
    assert!(place.api.health().await.accepting);
}

#[tokio::test]
async fn parts_of_paths_that_make_no_sense_are_refused() {
    let place = Place::new().await;
    let operator = Somebody::with_token(&place.api, &place.api.token);
    let parts =
        ["-1", "18446744073709551616", "%00", "%FF%FE", "..%2f..%2fetc%2fpasswd", "a%0d%0ab", "%F0%9F%98%80", " "];
    let long = "9".repeat(5000);
    for row in access().iter().filter(|row| row.path.contains('{')) {
        for part in parts.iter().chain([&long.as_str()]) {
            let path: Vec<String> = row
                .path
                .split('/')
                .map(|name| if name.starts_with('{') { (*part).to_owned() } else { name.to_owned() })
                .collect();
            let response = operator.ask(row.method.parse().unwrap(), &path.join("/")).send().await.unwrap();
            let status = response.status();
            assert!(!status.is_server_error(), "{} {}: {status}", row.method, path.join("/"));
        }
    }
}

#[tokio::test]
async fn bodies_that_are_too_large_are_refused_however_they_are_announced() {
    let place = Place::new().await;
    let operator = Somebody::with_token(&place.api, &place.api.token);
    // The hub may hang up before all of it was sent, which is a refusal too.
    for (method, path, mib) in [
        (Method::POST, "/api/v1/session", 1),
        (Method::POST, "/api/v1/accounts", 1),
        (Method::POST, "/api/v1/webhooks", 3),
        (Method::POST, "/api/v1/jobs", 17),
        (Method::POST, "/api/v1/quote", 17),
        (Method::POST, "/api/v1/line", 2),
        (Method::POST, "/api/v1/faucet", 3),
        (Method::POST, "/api/v1/chunks/missing", 17),
    ] {
        let body = vec![b' '; mib << 20];
        for chunked in [false, true] {
            let request = operator.ask(method.clone(), path).header(header::CONTENT_TYPE, "application/json");
            let pieces =
                futures_util::stream::iter(body.clone().chunks(65_536).map(<[u8]>::to_vec).collect::<Vec<_>>());
            let pieces = futures_util::StreamExt::map(pieces, Ok::<_, std::io::Error>);
            let body = if chunked { reqwest::Body::wrap_stream(pieces) } else { body.clone().into() };
            match request.body(body).send().await {
                Ok(response) => {
                    let status = response.status();
                    assert!(matches!(status.as_u16(), 400 | 413), "{path} with {mib} MiB: {status}");
                }
                Err(error) => assert!(error.is_request() || error.is_body(), "{path}: {error:?}"),
            }
        }
    }
    assert!(place.api.health().await.accepting);
}

/// Sends bytes as they are, and hears everything until the hub hangs up.
async fn raw(api: &Api, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(api.url.trim_start_matches("http://")).await.unwrap();
    let mut heard = Vec::new();
    let talk = async {
        let (mut read, mut write) = stream.split();
        // A hub that has heard enough hangs up on the rest.
        let (_, _) = tokio::join!(write.write_all(bytes), read.read_to_end(&mut heard));
    };
    tokio::time::timeout(PATIENCE, talk).await.expect("the hub ends it");
    String::from_utf8_lossy(&heard).into_owned()
}

fn statuses(heard: &str) -> Vec<u16> {
    let lines = heard.split("HTTP/1.1 ").skip(1);
    lines.map(|line| line[..3].parse().unwrap()).collect()
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_ends_the_connection() {
    let place = Place::new().await;
    let many: String = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect();
    let long = "a".repeat(1_000_000);
    let wrong = [
        ("nonsense", "\0\x01\x02\x03\r\n\r\n".to_owned()),
        ("TLS", "\x16\x03\x01\x02\0\x01\0\x01\u{fc}\x03\x03\r\n\r\n".to_owned()),
        ("no version", "GET /api/v1/health\r\n\r\n".to_owned()),
        ("HTTP/2 by prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("a long line", format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n")),
        ("a long header", format!("GET / HTTP/1.1\r\nhost: x\r\nx: {long}\r\n\r\n")),
        ("many headers", format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n")),
        ("a space in a name", "GET / HTTP/1.1\r\nhost : x\r\n\r\n".to_owned()),
        ("a header that is folded", "GET / HTTP/1.1\r\nhost: x\r\nx: a\r\n b\r\n\r\n".to_owned()),
        ("a negative length", "POST /api/v1/line HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n".to_owned()),
        ("no length", "POST /api/v1/line HTTP/1.1\r\nhost: x\r\ncontent-length: ten\r\n\r\n".to_owned()),
        (
            "two lengths",
            "POST /api/v1/line HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd".to_owned(),
        ),
        (
            "an encoding that is none",
            "POST /api/v1/line HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n".to_owned(),
        ),
        (
            "a chunk of no size",
            "POST /api/v1/line HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
                .to_owned(),
        ),
        (
            "a chunk of too much",
            "POST /api/v1/line HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n"
                .to_owned(),
        ),
    ];
    for (what, bytes) in wrong {
        let heard = raw(&place.api, bytes.as_bytes()).await;
        let statuses = statuses(&heard);
        assert!(statuses.iter().all(|status| (400..500).contains(status)), "{what}: {heard}");
        assert!(statuses.len() <= 1, "{what}: {heard}");
    }
    assert!(place.api.health().await.accepting);
}

#[tokio::test]
async fn a_request_within_another_is_not_answered() {
    let place = Place::new().await;
    let hidden = format!("GET /api/v1/ledger HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", place.api.token);
    let head = "POST /api/v1/line HTTP/1.1\r\nhost: x\r\n";
    let length = hidden.len();
    for (what, bytes) in [
        // Whoever counts sees one request, whoever takes chunks sees two.
        (
            "a length before chunks",
            format!("{head}content-length: {}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}", length + 5),
        ),
        (
            "chunks before a length",
            format!("{head}transfer-encoding: chunked\r\ncontent-length: {}\r\n\r\n0\r\n\r\n{hidden}", length + 5),
        ),
        (
            "an encoding in disguise",
            format!(
                "{head}content-length: {}\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}",
                length + 5
            ),
        ),
        (
            "an old version with chunks",
            format!("{}transfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}", head.replace("1.1", "1.0")),
        ),
        ("a length that hides it", format!("{head}connection: close\r\ncontent-length: {length}\r\n\r\n{hidden}")),
    ] {
        let heard = raw(&place.api, bytes.as_bytes()).await;
        assert!(statuses(&heard).len() <= 1, "{what}: {heard}");
        assert!(!heard.contains("\"items\"") && !heard.contains("balance"), "{what}: {heard}");
    }
}

#[tokio::test]
async fn requests_that_are_sent_ahead_are_answered_in_order_each_by_its_own_right() {
    let place = Place::new().await;
    let owner = Somebody::sign_up(&place.api, "owner", &["requester"]).await;
    let token = owner.make_token(&serde_json::json!({ "read": true })).await["text"].as_str().unwrap().to_owned();
    let request = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n{more}\r\n");
    let bearer = format!("authorization: Bearer {token}\r\n");
    let all = [
        request("/api/v1/health", ""),
        request("/api/v1/jobs", &bearer),
        request("/api/v1/jobs", ""),
        request("/api/v1/ledger", &bearer),
        request("/api/v1/nothing", "connection: close\r\n"),
    ];
    let heard = raw(&place.api, all.concat().as_bytes()).await;
    assert_eq!(statuses(&heard), [200, 200, 401, 403, 404], "{heard}");
}

#[tokio::test]
async fn other_spellings_of_a_path_are_no_way_around_the_guard() {
    let place = Place::new().await;
    place.api.submit_array(1, 1).await;
    for path in [
        "/api/v1/jobs/",
        "//api/v1/jobs",
        "/api//v1/jobs",
        "/API/V1/JOBS",
        "/api/v1/./jobs",
        "/api/v1/health/../jobs",
        "/api/v1/%6aobs",
        "/api/v1/jobs%2f0",
        "/api/v1/jobs;x=1",
        "/api/v1/jobs%00",
        "http://127.0.0.1/api/v1/jobs",
        "/api/v1/jobs/0/../0",
        "/api/v1/ledger/",
        "/api/v1/ledger%20",
    ] {
        for method in ["GET", "HEAD"] {
            let bytes = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            let heard = raw(&place.api, bytes.as_bytes()).await;
            let page = heard.contains("text/html");
            assert!(page || matches!(statuses(&heard)[..], [400 | 401 | 404 | 405]), "{method} {path}: {heard}");
            assert!(!heard.contains("\"items\"") && !heard.contains("accounts\":"), "{method} {path}: {heard}");
        }
    }
}

#[tokio::test]
async fn methods_are_not_changed_by_headers_and_other_pages_are_told_nothing() {
    let place = Place::new().await;
    let operator = Somebody::with_token(&place.api, &place.api.token);
    let job = place.api.submit_array(1, 1).await.job;
    let disguised = operator.ask(Method::GET, &format!("/api/v1/jobs/{job}"));
    let response = disguised.header("x-http-method-override", "POST").send().await.unwrap();
    assert_eq!(response.json::<Value>().await.unwrap()["state"], "running");
    for method in [Method::OPTIONS, Method::GET, Method::POST] {
        let request = operator.ask(method, "/api/v1/jobs").header("origin", "https://evil.example");
        let request = request.header("access-control-request-method", "POST");
        let response = request.send().await.unwrap();
        let open = response.headers().keys().find(|name| name.as_str().starts_with("access-control-"));
        assert_eq!(open, None, "CORS is off");
    }
    for method in ["TRACE", "CONNECT", "PATCH", "PROPFIND", "get"] {
        let bytes = format!("{method} /api/v1/jobs HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let heard = raw(&place.api, bytes.as_bytes()).await;
        assert!(matches!(statuses(&heard)[..], [400..=499]), "{method}: {heard}");
    }
}

#[tokio::test]
async fn a_client_that_stops_in_the_middle_takes_nobodys_place() {
    let place = Place::new().await;
    // Some begin to say something, and do not go on.
    let mut begun = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(place.api.url.trim_start_matches("http://")).await.unwrap();
        stream.write_all(b"POST /api/v1/faucet HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{").await.unwrap();
        begun.push(stream);
    }
    Somebody::sign_up(&place.api, "owner", &["requester"]).await;
    assert!(place.api.health().await.accepting);
    drop(begun);
    let gone = async {
        while place.api.health().await.accepting {
            let text = place.api.get("/metrics").send().await.unwrap().text().await.unwrap();
            let open = text.lines().find_map(|line| line.strip_prefix("gleaner_connections ")).map(str::to_owned);
            if open.is_none_or(|open| open.parse::<u32>().unwrap() < 10) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("their connections end");
    assert_eq!(place.api.get("/api/v1/jobs").send().await.unwrap().status(), StatusCode::OK);
}
