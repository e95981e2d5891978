//! Who may use what: every route of the table, asked by everybody there is, with what is theirs and what is not.
use crate::people::Somebody;
use crate::place::{Api, Place, array, gift};
use crate::worker::Worker;
use gleaner_hub::access::{Access, Role, Scope, access};
use gleaner_wire::BlobRef;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

/// Codes with which the guard refuses.
const GUARDED: [&str; 7] = ["unauthorized", "forbidden", "scope", "role", "session", "csrf", "cross-site"];

/// How somebody stands to the things in the paths.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nobody,
    Operator,
    Worker,
    /// By a session, with these roles.
    Session(&'static [Role]),
    /// By a token with this scope.
    Token(Scope),
    /// A session without what proves that its own page asks.
    Forged,
}

struct Actor {
    name: &'static str,
    kind: Kind,
    owner: bool,
    who: Somebody,
}

/// What paths name; all of it is the owner's.
struct Things {
    job: String,
    root: String,
    worker: String,
    submission: String,
}

/// What is to be expected.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// The guard lets through; what the handler says of a senseless request is another matter.
    Through,
    Unauthorized,
    Forbidden(&'static str),
    NotThere,
}

const BOTH: &[Role] = &[Role::Requester, Role::Provider];

/// Written apart from the guard's own judgement, from the words of the table alone.
fn expected(row: &Access, kind: Kind, owner: bool) -> Expected {
    if kind == Kind::Operator {
        return Expected::Through;
    }
    if row.anyone {
        return Expected::Through;
    }
    let (roles, scope) = match kind {
        Kind::Nobody => return Expected::Unauthorized,
        Kind::Forged if row.method == "GET" || row.method == "HEAD" => (BOTH, None),
        Kind::Forged => return Expected::Forbidden("csrf"),
        Kind::Worker if row.worker => return Expected::Through,
        Kind::Worker => return Expected::Forbidden("forbidden"),
        Kind::Operator => unreachable!("handled above"),
        Kind::Session(roles) => (roles, None),
        Kind::Token(scope) => (BOTH, Some(scope)),
    };
    let Some(account) = row.account else { return Expected::Forbidden("forbidden") };
    match (account.scope, scope) {
        (None, Some(_)) => return Expected::Forbidden("session"),
        (Some(needed), Some(has)) if needed != has => return Expected::Forbidden("scope"),
        _ => {}
    }
    if account.role.is_some_and(|role| !roles.contains(&role)) {
        return Expected::Forbidden("role");
    }
    if account.owned.is_some() && !owner { Expected::NotThere } else { Expected::Through }
}

fn path(row: &Access, things: &Things) -> String {
    row.path
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
        .replace("{id}", "999")
        .replace("{account}", "999")
        .replace("{token}", "999")
        .replace("{purpose}", "purpose")
        .replace("{payment}", "payment")
        .replace("{dispute}", "1")
        .replace("{round}", "1")
}

/// Paths of things that nobody has.
fn missing() -> Things {
    Things { job: "4242".to_owned(), root: "ab".repeat(32), worker: "4242".to_owned(), submission: "f".repeat(32) }
}

async fn everybody(place: &Place) -> (Vec<Actor>, Things, Worker) {
    let api = &place.api;
    let owner = Somebody::sign_up(api, "owner", &["requester", "provider"]).await;
    let stranger = Somebody::sign_up(api, "stranger", &["requester", "provider"]).await;
    let requester = Somebody::sign_up(api, "only-requester", &["requester"]).await;
    let provider = Somebody::sign_up(api, "only-provider", &["provider"]).await;
    let operator = Somebody::sign_up(api, "the-operator", &["operator"]).await;
    let (things, worker) = things(&owner).await;
    let session =
        |name, who: &Somebody, owner, roles| Actor { name, kind: Kind::Session(roles), owner, who: who.clone() };
    let mut actors = vec![
        Actor { name: "nobody", kind: Kind::Nobody, owner: false, who: Somebody::nobody(api) },
        Actor {
            name: "a wrong token",
            kind: Kind::Nobody,
            owner: false,
            who: Somebody::with_token(api, &"0".repeat(64)),
        },
        Actor {
            name: "the operator's token",
            kind: Kind::Operator,
            owner: false,
            who: Somebody::with_token(api, &api.token),
        },
        Actor { name: "an operator's session", kind: Kind::Operator, owner: false, who: operator },
        Actor { name: "a worker", kind: Kind::Worker, owner: false, who: Somebody::with_token(api, &worker.token) },
        session("the owner's session", &owner, true, BOTH),
        session("a stranger's session", &stranger, false, BOTH),
        session("a requester's session", &requester, false, &[Role::Requester]),
        session("a provider's session", &provider, false, &[Role::Provider]),
        Actor { name: "the owner's cookie from another page", kind: Kind::Forged, owner: true, who: owner.forged() },
    ];
    let scopes = [
        (Scope::Read, json!({ "read": true })),
        (Scope::Submit, json!({ "submit": true })),
        (Scope::Spend, json!({ "spend": "1" })),
        (Scope::Provide, json!({ "provide": true })),
    ];
    for (scope, said) in scopes {
        let token = owner.token(&said).await;
        actors.push(Actor { name: "the owner's token", kind: Kind::Token(scope), owner: true, who: token });
        let token = stranger.token(&said).await;
        actors.push(Actor { name: "a stranger's token", kind: Kind::Token(scope), owner: false, who: token });
    }
    (actors, things, worker)
}

/// A job, a dataset and a worker of an account.
async fn things(owner: &Somebody) -> (Things, Worker) {
    let token = owner.token(&json!({ "read": true, "submit": true, "provide": true, "spend": "10" })).await;
    let api = token.as_api();
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
    let worker = Worker::join_with_token(&api, 1).await;
    let things =
        Things { job, root: root.id.to_string(), worker: worker.id.to_string(), submission: format!("{:032x}", 7) };
    (things, worker)
}

async fn ask(row: &Access, actor: &Actor, things: &Things) -> (StatusCode, Value) {
    let method: Method = row.method.parse().unwrap();
    let request = actor.who.ask(method, &path(row, things));
    let response = request.header(header::CONTENT_TYPE, "application/json").body("nonsense").send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// Says what is wrong with an answer, if something is.
fn wrong(row: &Access, expected: Expected, status: StatusCode, body: &Value) -> Option<String> {
    let code = body["code"].as_str().unwrap_or_default();
    let right = match expected {
        // The handler of a worker's routes may know more of what this worker does.
        Expected::Through => {
            !GUARDED.contains(&code) || row.worker && code == "forbidden" || code == "unauthorized" && row.anyone
        }
        Expected::Unauthorized => {
            status == StatusCode::UNAUTHORIZED && (code == "unauthorized" || row.method == "HEAD")
        }
        Expected::Forbidden(word) => status == StatusCode::FORBIDDEN && (code == word || row.method == "HEAD"),
        Expected::NotThere => status == StatusCode::NOT_FOUND && code == "not-found",
    };
    (!right).then(|| format!("{status} {body} instead of {expected:?}"))
}

/// Routes after which an actor is signed out, or has lost what others are asked with.
fn ends_something(row: &Access) -> bool {
    row.path.starts_with("/api/v1/session") && row.method == "DELETE"
        || row.path == "/api/v1/account/sessions" && row.method == "DELETE"
        || row.path == "/api/v1/machines/{worker}" && row.method == "DELETE"
        || row.path.ends_with("/cancel")
        || row.path.ends_with("/remove")
}

#[tokio::test]
async fn every_route_lets_through_exactly_whom_its_row_names() {
    let place = Place::new().await;
    let (actors, things, _worker) = everybody(&place).await;
    let rows = access();
    assert!(rows.len() > 80, "the table is there");
    let mut wrongs = Vec::new();
    // First everybody who must not get through, so that what follows finds everything as it was.
    let refused = |row: &Access, actor: &Actor| expected(row, actor.kind, actor.owner) != Expected::Through;
    for through in [false, true] {
        for row in rows.iter().filter(|row| !(through && ends_something(row))) {
            for actor in actors.iter().filter(|actor| refused(row, actor) != through) {
                let wanted = expected(row, actor.kind, actor.owner);
                let (status, body) = ask(row, actor, &things).await;
                if let Some(what) = wrong(row, wanted, status, &body) {
                    wrongs.push(format!("{} {} for {}: {what}", row.method, row.path, actor.name));
                }
            }
        }
        if !through {
            unharmed(&place.api, &things).await;
        }
    }
    assert!(wrongs.is_empty(), "{} answers are wrong:\n{}", wrongs.len(), wrongs.join("\n"));
}

/// Nobody who was refused has changed anything.
async fn unharmed(api: &Api, things: &Things) {
    let job = api.json(&format!("/api/v1/jobs/{}", things.job)).await;
    assert_eq!(job["state"], "running", "{job}");
    assert_eq!(api.json("/api/v1/datasets").await.as_array().unwrap().len(), 1);
    assert_ne!(api.json(&format!("/api/v1/workers/{}", things.worker)).await["state"], "paused");
}

#[tokio::test]
async fn what_is_not_yours_answers_like_what_is_not_there() {
    let place = Place::new().await;
    let (actors, things, _worker) = everybody(&place).await;
    let strangers: Vec<&Actor> =
        actors.iter().filter(|actor| !actor.owner && matches!(actor.kind, Kind::Session(_) | Kind::Token(_))).collect();
    let nothing = missing();
    let mut compared = 0;
    for row in access() {
        for actor in &strangers {
            if expected(&row, actor.kind, false) != Expected::NotThere {
                continue;
            }
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
            let text = same(&things.job, &nothing.job, same(&things.worker, &nothing.worker, text));
            body["detail"] = Value::String(text);
            assert_eq!((status, &body), (missing_status, &missing_body), "{} {}", row.method, row.path);
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[tokio::test]
async fn no_other_page_changes_anything_whoever_is_signed_in() {
    let place = Place::new().await;
    let (actors, things, _worker) = everybody(&place).await;
    let owner = actors.iter().find(|actor| actor.name == "the owner's session").unwrap();
    for row in access().iter().filter(|row| !matches!(row.method.as_str(), "GET" | "HEAD")) {
        for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
            let request = owner.who.ask(row.method.parse().unwrap(), &path(row, &things));
            let response = request.header(name, value).send().await.unwrap();
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{} {}", row.method, row.path);
            let body: Value = response.json().await.unwrap();
            assert_eq!(body["code"], "cross-site", "{} {}", row.method, row.path);
        }
    }
    unharmed(&place.api, &things).await;
}
