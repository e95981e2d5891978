//! Who may use what: every route of the table, asked by everybody there is, with what is theirs and what is not. What they
//! are to be answered is written down in `access.txt`, apart from the table.
use crate::people::Somebody;
use crate::place::{Place, array, gift, pins};
use crate::worker::Worker;
use gleaner_accounts::token::{Asked, Scopes};
use gleaner_accounts::{Accounts, Settings, Visit};
use gleaner_hub::access::{Access, access};
use gleaner_hub::{Description, Extra, Need, Routes};
use gleaner_wire::{Asker, BlobRef, Millis};
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A line for each route, with what each caller is answered.
const EXPECTED: &str = include_str!("access.txt");

/// Who asks, in the order of the columns.
const CALLERS: [&str; 28] = [
    "nobody",
    "a wrong token",
    "an expired token",
    "a revoked token",
    "a suspended account's session",
    "a suspended account's token",
    "a worker",
    "the operator's token",
    "an operator's session",
    "an operator's API token with all scopes",
    "the requester's session",
    "the requester's cookie from another page",
    "the requester's token: read",
    "the requester's token: submit",
    "the requester's token: spend",
    "the requester's token: provide",
    "the provider's session",
    "the provider's cookie from another page",
    "the provider's token: read",
    "the provider's token: submit",
    "the provider's token: spend",
    "the provider's token: provide",
    "a stranger's session",
    "a stranger's cookie from another page",
    "a stranger's token: read",
    "a stranger's token: submit",
    "a stranger's token: spend",
    "a stranger's token: provide",
];

/// With which code the guard refuses, and with which status.
const REFUSALS: [(char, &str, StatusCode); 6] = [
    ('?', "unauthorized", StatusCode::UNAUTHORIZED),
    ('f', "forbidden", StatusCode::FORBIDDEN),
    ('r', "role", StatusCode::FORBIDDEN),
    ('s', "scope", StatusCode::FORBIDDEN),
    ('b', "session", StatusCode::FORBIDDEN),
    ('c', "csrf", StatusCode::FORBIDDEN),
];
/// The guard lets through; what the handler says of a senseless request is another matter.
const THROUGH: char = '+';
/// It answers as if there were no such thing.
const NOT_THERE: char = '0';

struct Actor {
    name: &'static str,
    who: Somebody,
    /// As a proxy says it, so that everybody has their own limits.
    address: String,
}

/// What paths name. The worker is the provider's, everything else is the requester's.
struct Things {
    job: String,
    root: String,
    worker: String,
    submission: String,
    webhook: String,
    token: String,
    session: String,
    passkey: String,
}

impl Things {
    /// The thing that is called `id` in a path.
    fn id(&self, path: &str) -> &str {
        let things = [
            ("/api/v1/webhooks/", &self.webhook),
            ("/api/v1/account/tokens/", &self.token),
            ("/api/v1/account/sessions/", &self.session),
            ("/api/v1/account/passkeys/", &self.passkey),
        ];
        let found = things.into_iter().find(|(start, _)| path.starts_with(start));
        found.unwrap_or_else(|| panic!("what is the id in {path}?")).1
    }
}

/// What each caller is to be answered, by method and path.
fn expected() -> BTreeMap<String, Vec<char>> {
    let lines = EXPECTED.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let route = format!("{} {}", words.next().unwrap(), words.next().unwrap());
        let cells: Vec<char> = words.flat_map(str::chars).collect();
        assert_eq!(cells.len(), CALLERS.len(), "a character for each caller: {line}");
        (route, cells)
    };
    let mut routes = BTreeMap::new();
    for (route, cells) in lines.map(read) {
        assert!(routes.insert(route.clone(), cells).is_none(), "{route} stands twice");
    }
    routes
}

fn route(row: &Access) -> String {
    format!("{} {}", row.method, row.path)
}

fn path(row: &Access, things: &Things) -> String {
    let id = if row.path.contains("{id}") { things.id(row.path) } else { "" };
    let path = row
        .path
        .replace("{job}", &things.job)
        .replace("{root}", &things.root)
        .replace("{worker}", &things.worker)
        .replace("{submission}", &things.submission)
        .replace("{action}", "pause")
        .replace("{group}", "0")
        .replace("{hash}", &"0".repeat(64))
        .replace("{address}", &format!("0x{}", "0".repeat(40)))
        .replace("{*path}", "file")
        .replace("{user}", "user")
        .replace("{id}", id)
        .replace("{account}", "999")
        .replace("{token}", "999")
        .replace("{purpose}", "purpose")
        .replace("{payment}", "payment")
        .replace("{dispute}", "1")
        .replace("{round}", "1");
    assert!(!path.contains('{'), "{path} has something in it that this test does not know");
    // Far enough that the list of its chunks is read.
    if registers(row) { format!("{path}?kind=pushed&root_bytes=1&bytes=1") } else { path }
}

/// Whether it says what a dataset is made of.
fn registers(row: &Access) -> bool {
    row.method == "PUT" && row.path == "/api/v1/datasets/{root}"
}

/// Paths of things that nobody has.
fn missing() -> Things {
    Things {
        job: "4242".to_owned(),
        root: "ab".repeat(32),
        worker: "4242".to_owned(),
        submission: "f".repeat(32),
        webhook: "4242".to_owned(),
        token: "4242".to_owned(),
        session: "f".repeat(16),
        passkey: "AAAA".to_owned(),
    }
}

/// A token for each scope.
async fn tokens(of: &Somebody) -> Vec<Somebody> {
    let mut tokens = Vec::new();
    for scopes in
        [json!({ "read": true }), json!({ "submit": true }), json!({ "spend": "1" }), json!({ "provide": true })]
    {
        tokens.push(of.token(&scopes).await);
    }
    tokens
}

/// Tokens and sessions that were good once.
async fn ended(place: &Place) -> Vec<Somebody> {
    let api = &place.api;
    let former = Somebody::sign_up(api, "former", &["requester", "provider"]).await;
    let suspended = Somebody::sign_up(api, "suspended", &["requester", "provider"]).await;
    let all = json!({ "read": true, "submit": true, "provide": true, "spend": "1" });
    let made = former.make_token(&all).await;
    let revoked = Somebody::with_token(api, made["text"].as_str().unwrap());
    let id = &made["token"]["id"];
    assert_eq!(former.delete(&format!("/api/v1/account/tokens/{id}")).await, StatusCode::NO_CONTENT);
    let suspended_token = suspended.token(&all).await;
    // What takes a day is done in the accounts themselves, as the command line does it.
    let accounts = Accounts::open(place.dir(), Settings::default()).unwrap();
    let account = |name| accounts.account_named(name).unwrap().unwrap().id;
    let yesterday = Millis(crate::people::now_ms() - 24 * 3600 * 1000);
    let before = Visit { now: Millis(yesterday.0 - 1000), address: None };
    let scopes = Scopes { read: true, submit: true, provide: true, spend_max: None };
    let asked = Asked { label: "old".to_owned(), scopes, ends_at: yesterday };
    let expired = accounts.make_token(before, account("former"), &asked).unwrap();
    let expired = Somebody::with_token(api, expired.text.expose());
    accounts.suspend(before, account("suspended")).unwrap();
    vec![expired, revoked, suspended, suspended_token]
}

async fn everybody(place: &Place) -> (Vec<Actor>, Things, Worker) {
    let api = &place.api;
    let requester = Somebody::sign_up(api, "requester", &["requester"]).await;
    let provider = Somebody::sign_up(api, "provider", &["provider"]).await;
    let stranger = Somebody::sign_up(api, "stranger", &["requester", "provider"]).await;
    let operator = Somebody::sign_up(api, "the-operator", &["operator", "requester", "provider"]).await;
    let (things, worker) = things(place, &requester, &provider).await;
    let all = json!({ "read": true, "submit": true, "provide": true, "spend": "1" });
    let mut everybody = vec![Somebody::nobody(api), Somebody::with_token(api, &"0".repeat(64))];
    everybody.extend(ended(place).await);
    everybody.push(Somebody::with_token(api, &worker.token));
    everybody.push(Somebody::with_token(api, &api.token));
    let operators_token = operator.token(&all).await;
    everybody.extend([operator, operators_token]);
    for account in [requester, provider, stranger] {
        let (forged, tokens) = (account.forged(), tokens(&account).await);
        everybody.extend([account, forged]);
        everybody.extend(tokens);
    }
    assert_eq!(everybody.len(), CALLERS.len());
    let named = everybody.into_iter().zip(CALLERS).enumerate();
    let actors = named.map(|(number, (who, name))| Actor { name, who, address: format!("198.51.100.{number}") });
    (actors.collect(), things, worker)
}

/// A passkey of an account that nobody has the key of.
fn add_passkey(place: &Place, account: &str) -> String {
    let accounts = rusqlite::Connection::open(place.dir().join("accounts.db")).unwrap();
    let query = "INSERT INTO passkey (id, account, algorithm, public, sign_count, label, made_ms) \
                 SELECT x'010203', id, -7, x'04', 0, 'a phone', 0 FROM account WHERE name = ?1";
    assert_eq!(accounts.execute(query, [account]).unwrap(), 1);
    "AQID".to_owned()
}

/// A job, a dataset and what belongs to an account of one, a worker of another.
async fn things(place: &Place, requester: &Somebody, provider: &Somebody) -> (Things, Worker) {
    let token = requester.make_token(&json!({ "read": true })).await["token"]["id"].to_string();
    // Another session than the one that asks.
    Somebody::sign_in(&place.api, "requester").await;
    let sessions = requester.json("/api/v1/account/sessions").await;
    let other = sessions["items"].as_array().unwrap().iter().find(|session| session["current"] == false).unwrap();
    let session = other["id"].as_str().unwrap().to_owned();
    let passkey = add_passkey(place, "requester");
    let (status, made) = requester.post("/api/v1/webhooks", &json!({ "url": "https://example.com/" })).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let webhook = made["id"].as_u64().unwrap().to_string();
    let api = requester.token(&json!({ "read": true, "submit": true, "spend": "10" })).await.as_api();
    let program = api.store(b"a program").await;
    let sent = api.send(&array(3, &program.to_string()), 7).await;
    assert_eq!(sent.status(), StatusCode::CREATED, "{}", sent.text().await.unwrap());
    let job = sent.json::<Value>().await.unwrap()["job"].to_string();
    let given = api.post("/api/v1/chunks").body(gift(&[b"a dataset"])).send().await.unwrap();
    assert!(given.status().is_success());
    let root = BlobRef::of(b"a dataset");
    let put = format!("/api/v1/datasets/{}?root_bytes={}&bytes=9&kind=pushed", root.id, root.bytes);
    let kept = api.put(&put).body(root.id.0.to_vec()).send().await.unwrap();
    assert_eq!(kept.status(), StatusCode::CREATED);
    let worker = Worker::join_with_token(&provider.token(&json!({ "provide": true })).await.as_api(), 1).await;
    let (root, submission) = (root.id.to_string(), format!("{:032x}", 7));
    let things = Things { job, root, worker: worker.id.to_string(), submission, webhook, token, session, passkey };
    (things, worker)
}

async fn ask(row: &Access, actor: &Actor, things: &Things) -> (StatusCode, Value) {
    let method: Method = row.method.parse().unwrap();
    let request = actor.who.ask(method, &path(row, things)).header("x-forwarded-for", &actor.address);
    let response = request.header(header::CONTENT_TYPE, "application/json").body("nonsense").send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// What the answer is, as `access.txt` writes it; nothing, if it cannot be right for anybody.
fn answered(row: &Access, actor: &Actor, wanted: char, status: StatusCode, body: &Value) -> Option<char> {
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    // Such an answer has no body that says more.
    if row.method == "HEAD" {
        let refusal = REFUSALS.iter().find(|(cell, ..)| *cell == wanted);
        return Some(match refusal {
            Some((cell, _, of)) if *of == status => *cell,
            Some(_) => THROUGH,
            None if REFUSALS.iter().any(|(.., of)| *of == status) => '?',
            None => wanted,
        });
    }
    let (code, detail) = (body["code"].as_str().unwrap_or_default(), body["detail"].as_str().unwrap_or_default());
    // Handlers say this themselves of who is not signed in, and of workers that do not have the task.
    if code == "unauthorized" && row.anyone || code == "forbidden" && row.worker && actor.name == "a worker" {
        return Some(THROUGH);
    }
    if let Some((cell, _, of)) = REFUSALS.iter().find(|(_, word, _)| *word == code) {
        return (*of == status).then_some(*cell);
    }
    let things =
        ["job ", "dataset ", "worker ", "submission ", "webhook ", "such token", "such session", "such passkey"];
    let is_of_path = |word: &&str| !word.starts_with("such ") || row.path.ends_with("{id}");
    let not_there = |word: &str| detail.strip_prefix("there is no ").is_some_and(|rest| rest.starts_with(word));
    let not_there =
        status == StatusCode::NOT_FOUND && things.iter().filter(|word| is_of_path(word)).any(|word| not_there(word));
    (code != "cross-site").then_some(if not_there { NOT_THERE } else { THROUGH })
}

/// Routes after which an actor is signed out, or has lost what others are asked with.
fn ends_something(row: &Access) -> bool {
    let ended = ["/api/v1/session", "/api/v1/machines/{worker}", "/api/v1/account/sessions"];
    row.method == "DELETE" && (ended.contains(&row.path) || row.path.ends_with("/{id}"))
        || row.path.ends_with("/cancel")
        || row.path.ends_with("/remove")
}

#[test]
fn every_route_has_its_line() {
    let table: BTreeSet<String> = access().iter().map(route).collect();
    let written: BTreeSet<String> = expected().into_keys().collect();
    assert!(table.len() > 100, "the table is there");
    let missing: Vec<_> = table.difference(&written).collect();
    let gone: Vec<_> = written.difference(&table).collect();
    assert!(missing.is_empty() && gone.is_empty(), "access.txt lacks {missing:?}, and has {gone:?} that are no routes");
}

#[tokio::test]
async fn every_route_answers_everybody_as_it_is_written() {
    let place = Place::behind_proxy().await;
    let (actors, things, _worker) = everybody(&place).await;
    let (rows, expected) = (access(), expected());
    let mut wrongs = Vec::new();
    // First everybody who must not get through, so that what follows finds everything as it was; last what ends something.
    let ending = |row: &&Access| (ends_something(row), row.path == "/api/v1/session");
    let mut ordered: Vec<&Access> = rows.iter().collect();
    ordered.sort_by_key(ending);
    for through in [false, true] {
        for row in &ordered {
            let cells = &expected[&route(row)];
            for (actor, wanted) in actors.iter().zip(cells).filter(|(_, wanted)| (**wanted == THROUGH) == through) {
                let (status, body) = ask(row, actor, &things).await;
                let found = answered(row, actor, *wanted, status, &body);
                // Whoever came before may have removed it.
                let gone = through && ends_something(row) && found == Some(NOT_THERE);
                if found != Some(*wanted) && !gone {
                    wrongs.push(format!("{} for {}: {status} {body} instead of `{wanted}`", route(row), actor.name));
                }
                if registers(row) {
                    assert_eq!(pins(place.dir(), &things.root), 1, "{} lets go of what is kept", actor.name);
                }
            }
        }
        if !through {
            unharmed(&place, &actors, &things).await;
        }
    }
    assert!(wrongs.is_empty(), "{} answers are wrong:\n{}", wrongs.len(), wrongs.join("\n"));
}

/// Nobody who was refused has changed anything.
async fn unharmed(place: &Place, actors: &[Actor], things: &Things) {
    let api = &place.api;
    let job = api.json(&format!("/api/v1/jobs/{}", things.job)).await;
    assert_eq!(job["state"], "running", "{job}");
    assert_eq!(api.json("/api/v1/datasets").await["items"].as_array().unwrap().len(), 1);
    assert_eq!(pins(place.dir(), &things.root), 1);
    assert_ne!(api.json(&format!("/api/v1/workers/{}", things.worker)).await["state"], "paused");
    let owner = actors.iter().find(|actor| actor.name == "the requester's session").unwrap();
    for (path, id) in [
        ("/api/v1/webhooks", &things.webhook),
        ("/api/v1/account/tokens", &things.token),
        ("/api/v1/account/sessions", &things.session),
        ("/api/v1/account/passkeys", &things.passkey),
    ] {
        let listed = owner.who.json(path).await;
        let is_there = |item: &Value| item["id"].to_string().trim_matches('"') == id;
        assert!(listed["items"].as_array().unwrap().iter().any(is_there), "{path} has lost {id}: {listed}");
    }
}

#[tokio::test]
async fn what_is_not_yours_answers_like_what_is_not_there() {
    let place = Place::behind_proxy().await;
    let (actors, things, _worker) = everybody(&place).await;
    let (nothing, expected) = (missing(), expected());
    let mut compared = 0;
    for row in access() {
        let cells = actors.iter().zip(&expected[&route(&row)]);
        for (actor, _) in cells.filter(|(_, cell)| **cell == NOT_THERE) {
            let (status, mut body) = ask(&row, actor, &things).await;
            // A submission that nobody has made may be anybody's: keys come before jobs.
            if row.path.contains("{submission}") {
                assert_eq!(status, StatusCode::NOT_FOUND);
                continue;
            }
            let (missing_status, missing_body) = ask(&row, actor, &nothing).await;
            let text = body["detail"].as_str().unwrap_or_default();
            let text = text.replace(&things.root, &nothing.root);
            let same = |from: &str, to: &str, text: String| text.replace(&format!(" {from} "), &format!(" {to} "));
            let webhook = |things: &Things| format!("webhook {}", things.webhook);
            let text = text.replace(&webhook(&things), &webhook(&nothing));
            let text = same(&things.job, &nothing.job, same(&things.worker, &nothing.worker, text));
            body["detail"] = Value::String(text);
            assert_eq!((status, &body), (missing_status, &missing_body), "{} {}", row.method, row.path);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[tokio::test]
async fn no_other_page_changes_anything_or_listens_whoever_is_signed_in() {
    let place = Place::behind_proxy().await;
    let (actors, things, _worker) = everybody(&place).await;
    let owner = actors.iter().find(|actor| actor.name == "the requester's session").unwrap();
    for row in access() {
        let (changes, listens) =
            (!matches!(row.method.as_str(), "GET" | "HEAD"), matches!(row.path, "/api/v1/live" | "/api/v1/events"));
        for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
            if !changes && !listens {
                continue;
            }
            let mut request = owner.who.ask(row.method.parse().unwrap(), &path(&row, &things)).header(name, value);
            if listens {
                request = request.header("connection", "upgrade").header("upgrade", "websocket");
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{} {}", row.method, row.path);
            let body: Value = response.json().await.unwrap();
            assert_eq!(body["code"], "cross-site", "{} {}", row.method, row.path);
        }
    }
    unharmed(&place, &actors, &things).await;
}

/// What a room beside the hub needs, and what everybody is answered there: GET, then POST.
const ROOM: [(&str, Need, &str, &str); 5] = [
    ("/api/v1/room/nothing", Need::Nothing, "++++++ + +++ ++++++ ++++++ ++++++", "++++++ + +++ ++++++ ++++++ ++++++"),
    ("/api/v1/room/read", Need::Read, "?????? f +++ +++sss +++sss +++sss", "?????? f +++ +c+sss +c+sss +c+sss"),
    ("/api/v1/room/submit", Need::Submit, "?????? f +++ ++s+ss ++s+ss ++s+ss", "?????? f +++ +cs+ss +cs+ss +cs+ss"),
    ("/api/v1/room/spend", Need::Spend, "?????? f +++ ++ss+s ++ss+s ++ss+s", "?????? f +++ +css+s +css+s +css+s"),
    ("/api/v1/room/order", Need::Order, "?????? f +++ ++ss+s rrssrs ++ss+s", "?????? f +++ +css+s rcssrs +css+s"),
];

/// A room that says who asks. One of its routes stands in no list.
fn room() -> Extra {
    async fn show(request: axum::extract::Request) -> String {
        let asker = request.extensions().get::<Asker>();
        json!({ "asker": asker.map(|asker| &asker.name), "limit": asker.map(|asker| asker.limit.is_some()) })
            .to_string()
    }
    Extra::new(|_| {
        let mut router = axum::Router::new();
        let mut needs = Vec::new();
        for (path, need, ..) in ROOM {
            router = router.route(path, axum::routing::get(show).post(show));
            needs.extend([("GET", path, need), ("POST", path, need)]);
        }
        router = router.route("/api/v1/room/unlisted", axum::routing::get(show));
        Ok(Routes { router, description: Description { needs, document: utoipa::openapi::OpenApi::default() } })
    })
}

#[tokio::test]
async fn a_room_beside_the_hub_is_behind_the_same_guard() {
    let place = Place::with_room(room()).await;
    let (actors, things, _worker) = everybody(&place).await;
    let mut names = BTreeMap::new();
    for (path, need, get, post) in ROOM {
        for (method, cells) in [("GET", get), ("POST", post)] {
            let anyone = need == Need::Nothing;
            let row = Access { method: method.to_owned(), path, anyone, worker: false, account: None };
            for (actor, wanted) in actors.iter().zip(cells.chars().filter(|cell| *cell != ' ')) {
                let (status, body) = ask(&row, actor, &things).await;
                let found = answered(&row, actor, wanted, status, &body);
                assert_eq!(found, Some(wanted), "{method} {path} for {}: {status} {body}", actor.name);
                if found == Some(THROUGH) {
                    names.insert(actor.name, (body["asker"].clone(), body["limit"].clone()));
                }
            }
        }
    }
    // The room hears in whose name it is asked, and whether that has a limit.
    assert_eq!(names["nobody"], (Value::Null, Value::Null));
    assert_eq!(names["a worker"], (Value::Null, Value::Null));
    assert_eq!(names["the requester's session"], (json!("requester"), json!(false)));
    assert_eq!(names["the requester's token: spend"], (json!("requester"), json!(true)));
    assert_eq!(names["an operator's session"], (json!("the-operator"), json!(false)));
    for actor in &actors {
        let unlisted = actor.who.ask(Method::GET, "/api/v1/room/unlisted").header("x-forwarded-for", &actor.address);
        let status = unlisted.send().await.unwrap().status();
        assert_eq!(status, StatusCode::NOT_FOUND, "{}: what is in no list is not served", actor.name);
    }
}
