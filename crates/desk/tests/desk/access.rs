//! Who may use which route of the desk: every one, asked by everybody there is, with what is theirs and what is not.
use std::collections::BTreeSet;

use gleaner_desk::routes;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::place::{Answer, JOB, PROGRAM, Place};

/// What each caller is answered, route by route, as the hub's table has it: `+` let through, `0` not there because it is
/// another's, `?` who are you, `s` the scope is missing, `r` the role, `c` the page's token. The callers:
///
/// nobody, a revoked token, the operator;
/// the owner's session, its cookie alone, its tokens with one scope each: read, submit, spend, provide;
/// a stranger's likewise; a session of an account that only provides.
const EXPECTED: &str = "
GET    /api/v1/files                                                ??+ +++sss +++sss +
GET    /api/v1/files/{name}                                         ??0 +++sss 000sss 0
DELETE /api/v1/files/{name}                                         ??0 +cs+ss 0cs0ss 0
HEAD   /api/v1/files/{name}/{*path}                                 ??+ +++sss +++sss +
PUT    /api/v1/files/{name}/{*path}                                 ??+ +cs+ss +cs+ss +
POST   /api/v1/desk/quote                                           ??+ +c+sss +c+sss +
POST   /api/v1/desk/jobs                                            ??+ +css+s +css+s r
GET    /api/v1/desk/jobs/{job}/results                              ??0 +++sss 000sss 0
GET    /api/v1/desk/jobs/{job}/results/{task}/{index}/{*path}       ??0 +++sss 000sss 0
GET    /api/v1/desk/jobs/{job}/preview/{task}                       ??0 +++sss 000sss 0
GET    /api/v1/desk/jobs/{job}/archive                              ??0 +++sss 000sss 0
GET    /api/v1/desk/jobs/{job}/invoice                              ??0 +++sss 000sss 0
GET    /api/v1/desk/jobs/{job}/dispute                              ??0 +++sss 000sss 0
POST   /api/v1/desk/jobs/{job}/dispute                              ??0 +css+s 0css0s 0
GET    /api/v1/desk/invoices                                        ??+ +++sss +++sss +
GET    /api/v1/desk/invoices.csv                                    ??+ +++sss +++sss +
GET    /api/v1/desk/wallet                                          ??+ +++sss +++sss +
GET    /api/v1/desk/wallet/history                                  ??+ +++sss +++sss +
POST   /api/v1/desk/wallet/faucet                                   ??+ +cs+ss +cs+ss +
POST   /api/v1/desk/wallet/deposit                                  ??+ +css+s +css+s +
POST   /api/v1/desk/wallet/withdraw                                 ??+ +css+s +css+s +
GET    /api/v1/desk/wallet/overdue                                  ??+ +++sss +++sss +
POST   /api/v1/desk/wallet/release                                  ??+ +css+s +css+s +
GET    /api/v1/desk/rewards                                         ??+ +++sss +++sss +
POST   /api/v1/desk/rewards/claim                                   ??+ +css+s +css+s +
GET    /api/v1/desk/stake                                           ??+ +++sss +++sss +
POST   /api/v1/desk/stake/add                                       ??+ +css+s +css+s +
POST   /api/v1/desk/stake/unbond                                    ??+ +css+s +css+s +
POST   /api/v1/desk/stake/claim                                     ??+ +css+s +css+s +
GET    /api/v1/desk/votes                                           ??+ +++sss +++sss +
POST   /api/v1/desk/votes/cast                                      ??+ +css+s +css+s +
POST   /api/v1/desk/votes/delegate                                  ??+ +css+s +css+s +
GET    /api/v1/catalogue                                            +++ ++++++ ++++++ +
POST   /api/v1/catalogue                                            ??+ +cs+ss +cs+ss +
GET    /api/v1/catalogue/{template}                                 +++ ++++++ ++++++ +
DELETE /api/v1/catalogue/{template}                                 ??0 +cs+ss 0cs0ss 0
GET    /api/v1/catalogue/{template}/picture                         +++ ++++++ ++++++ +
POST   /api/v1/catalogue/{template}/render                          ??+ +cs+ss +cs+ss +
";

const REFUSALS: [(char, &str, u16); 5] =
    [('?', "unauthorized", 401), ('s', "scope", 403), ('r', "role", 403), ('c', "csrf", 403), ('f', "forbidden", 403)];

#[derive(Clone)]
enum Shows {
    Nothing,
    Bearer(String),
    Session { cookie: String, csrf: Option<String> },
}

struct Caller<'a> {
    place: &'a Place,
    shows: Shows,
}

impl<'a> Caller<'a> {
    fn new(place: &'a Place, shows: Shows) -> Self {
        Self { place, shows }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.place.http().request(method, format!("{}{path}", self.place.url()));
        match &self.shows {
            Shows::Nothing => request,
            Shows::Bearer(token) => request.bearer_auth(token),
            Shows::Session { cookie, csrf: None } => request.header("cookie", cookie),
            Shows::Session { cookie, csrf: Some(csrf) } => {
                request.header("cookie", cookie).header("x-gleaner-csrf", csrf)
            }
        }
    }

    async fn send(&self, request: RequestBuilder) -> Answer {
        Answer::of(request.send().await.expect("answered")).await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    async fn sign_up(place: &'a Place, name: &str, roles: &[&str]) -> Self {
        let said = json!({ "name": name, "passphrase": "wind over the old mill", "roles": roles });
        let nobody = Self::new(place, Shows::Nothing);
        let answer = nobody.post("/api/v1/accounts", &said).await.ok();
        let cookie = answer.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        let csrf = answer.json()["csrf"].as_str().map(str::to_owned);
        Self::new(place, Shows::Session { cookie, csrf })
    }

    async fn token(&self, scopes: &Value) -> (Self, u64) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_millis();
        let ends_at = u64::try_from(now).expect("now") + 24 * 3600 * 1000;
        let wanted = json!({ "label": "a script", "scopes": scopes, "ends_at": ends_at });
        let made = self.post("/api/v1/account/tokens", &wanted).await.ok().json();
        let text = made["text"].as_str().expect("a token").to_owned();
        (Self::new(self.place, Shows::Bearer(text)), made["token"]["id"].as_u64().expect("a number"))
    }

    /// The session, its cookie alone, and a token for each scope.
    async fn in_every_way(self) -> Vec<Self> {
        let mut ways = Vec::new();
        for scopes in
            [json!({ "read": true }), json!({ "submit": true }), json!({ "spend": "1" }), json!({ "provide": true })]
        {
            ways.push(self.token(&scopes).await.0);
        }
        let Shows::Session { cookie, .. } = &self.shows else { panic!("no session") };
        let alone = Self::new(self.place, Shows::Session { cookie: cookie.clone(), csrf: None });
        ways.splice(0..0, [self, alone]);
        ways
    }
}

fn path(route: &str, job: u64) -> String {
    let path = route
        .replace("{name}", "scene")
        .replace("{*path}", "program.wasm")
        .replace("{job}", &job.to_string())
        .replace("{task}", "a")
        .replace("{index}", "0")
        .replace("{template}", "mine");
    assert!(!path.contains('{'), "{path} has something in it that this test does not know");
    path
}

/// What the answer is, as it is written above.
fn answered(method: &Method, wanted: char, answer: &Answer) -> Option<char> {
    if answer.status.is_server_error() {
        return None;
    }
    let status = answer.status.as_u16();
    // Such an answer has no body that says more.
    let code = match method {
        &Method::HEAD => {
            REFUSALS.iter().find(|(cell, _, of)| *cell == wanted && *of == status).map(|(_, code, _)| *code)
        }
        _ => None,
    };
    let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let code = code.or(json["code"].as_str()).unwrap_or_default();
    match REFUSALS.iter().find(|(_, word, _)| *word == code) {
        Some((cell, _, of)) => (*of == status).then_some(*cell),
        // A file that the owner's job has not delivered is not there either.
        None if wanted == '0' && answer.status == StatusCode::NOT_FOUND => Some('0'),
        None => Some('+'),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_everybody_as_it_is_written() {
    let place = Place::new().await;
    let owner = Caller::sign_up(&place, "owner", &["requester", "provider"]).await;
    let stranger = Caller::sign_up(&place, "stranger", &["requester", "provider"]).await;
    let provider = Caller::sign_up(&place, "provider", &["provider"]).await;
    let (revoked, id) = stranger.token(&json!({ "read": true, "submit": true, "spend": "1" })).await;
    owner.send(owner.request(Method::PUT, "/api/v1/files/scene/program.wasm").body(PROGRAM)).await.ok();
    let wanted = json!({ "job": JOB, "folder": "scene" });
    let order = owner.request(Method::POST, "/api/v1/desk/jobs").header("idempotency-key", "k").json(&wanted);
    let job = owner.send(order).await.ok().json()["job"].as_u64().expect("a job");
    let gone = stranger.request(Method::DELETE, &format!("/api/v1/account/tokens/{id}"));
    assert_eq!(stranger.send(gone).await.status, StatusCode::NO_CONTENT);
    let mut callers =
        vec![Caller::new(&place, Shows::Nothing), revoked, Caller::new(&place, Shows::Bearer(place.token()))];
    callers.extend(owner.in_every_way().await);
    callers.extend(stranger.in_every_way().await);
    callers.push(provider);
    let lines: Vec<Vec<&str>> = EXPECTED
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|line: &Vec<&str>| !line.is_empty())
        .collect();
    let written: BTreeSet<(&str, &str)> = lines.iter().map(|line| (line[0], line[1])).collect();
    let served: BTreeSet<(&str, &str)> = routes().iter().map(|route| (route.method, route.path)).collect();
    assert_eq!(written, served, "every route has its line, and no other");
    let mut wrongs = Vec::new();
    // First everybody who must not get through, so that what follows finds everything as it was; last what removes it.
    for round in 0..3 {
        for line in &lines {
            let (method, cells) = (line[0], line[2..].concat());
            assert_eq!(cells.len(), callers.len(), "{line:?}");
            for (number, (caller, cell)) in callers.iter().zip(cells.chars()).enumerate() {
                let turn = if cell != '+' {
                    0
                } else if method == "DELETE" {
                    2
                } else {
                    1
                };
                if turn != round {
                    continue;
                }
                let method: Method = method.parse().expect("a method");
                let request = caller.request(method.clone(), &path(line[1], job));
                let answer = caller.send(request.header("content-type", "application/json").body("nonsense")).await;
                if answered(&method, cell, &answer) != Some(cell) {
                    wrongs.push(format!("{method} {} for {number}: {} {}", line[1], answer.status, answer.text()));
                }
            }
        }
    }
    assert!(wrongs.is_empty(), "{} answers are wrong:\n{}", wrongs.len(), wrongs.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_whose_is_told_to_its_owner_alone() {
    let place = Place::new().await;
    let owner = Caller::sign_up(&place, "owner", &["requester"]).await;
    let stranger = Caller::sign_up(&place, "stranger", &["requester"]).await;
    owner.send(owner.request(Method::PUT, "/api/v1/files/scene/program.wasm").body(PROGRAM)).await.ok();
    let wanted = json!({ "job": JOB, "folder": "scene" });
    let order = owner.request(Method::POST, "/api/v1/desk/jobs").header("idempotency-key", "k").json(&wanted);
    let job = owner.send(order).await.ok().json()["job"].as_u64().expect("a job");
    for path in [
        format!("/api/v1/desk/jobs/{job}/results"),
        format!("/api/v1/desk/jobs/{job}/invoice"),
        "/api/v1/files/scene".to_owned(),
    ] {
        owner.send(owner.request(Method::GET, &path)).await.ok();
        let other = stranger.send(stranger.request(Method::GET, &path)).await;
        assert_eq!(other.status, StatusCode::NOT_FOUND, "{path}");
        let elsewhere = path.replace(&format!("/jobs/{job}/"), "/jobs/4242/").replace("scene", "none");
        let missing = stranger.send(stranger.request(Method::GET, &elsewhere)).await;
        let plain = |answer: &Answer| answer.text().replace("4242", &job.to_string()).replace("none", "scene");
        assert_eq!(plain(&other), plain(&missing), "it answers like what is not there");
    }
    for path in ["/api/v1/desk/invoices", "/api/v1/files", "/api/v1/jobs", "/api/v1/datasets"] {
        let mine = owner.send(owner.request(Method::GET, path)).await.ok().text();
        let theirs = stranger.send(stranger.request(Method::GET, path)).await.ok().text();
        assert!(mine.len() > theirs.len(), "{path}: {mine} {theirs}");
        assert!(!theirs.contains("scene") && !theirs.contains("\"x\""), "{path}: {theirs}");
    }
}
