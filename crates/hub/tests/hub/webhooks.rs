//! Webhooks against a real server on this machine: signed, tried again, not lost, and not sent where they must not go.
use crate::people::Somebody;
use crate::place::{Api, PATIENCE, Place};
use crate::worker::Worker;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use gleaner_wire::webhook::{DeliveriesPage, DeliveryState, JobEvent, WebhookMade, WebhookMessage};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

struct Arrived {
    headers: HeaderMap,
    body: Bytes,
}

impl Arrived {
    fn message(&self) -> WebhookMessage {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// Whether the signature is the one that the secret makes of the moment and the body.
    fn is_signed(&self, secret: &str) -> bool {
        let (moment, digits) = self.header("gleaner-signature").split_once(',').unwrap();
        let (moment, digits) = (moment.strip_prefix("t=").unwrap(), digits.strip_prefix("v1=").unwrap());
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(moment.as_bytes());
        mac.update(b".");
        mac.update(&self.body);
        let wanted: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        wanted == digits
    }
}

/// A server that tells what arrives and answers as it is told.
struct Server {
    address: SocketAddr,
    arrived: mpsc::UnboundedReceiver<Arrived>,
    status: Arc<AtomicU16>,
}

type Shared = (mpsc::UnboundedSender<Arrived>, Arc<AtomicU16>);

async fn take(State((sender, status)): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    sender.send(Arrived { headers, body }).unwrap();
    StatusCode::from_u16(status.load(Ordering::Relaxed)).unwrap()
}

impl Server {
    async fn start() -> Self {
        let (sender, arrived) = mpsc::unbounded_channel();
        let status = Arc::new(AtomicU16::new(200));
        let router = Router::new().route("/hook", post(take)).with_state((sender, Arc::clone(&status)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, arrived, status }
    }

    fn answer(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    async fn next(&mut self) -> Arrived {
        tokio::time::timeout(PATIENCE, self.arrived.recv()).await.expect("a request").unwrap()
    }
}

async fn make(place: &Place, body: &Value) -> WebhookMade {
    let answer = place.api.post("/api/v1/webhooks").json(body).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    answer.json().await.unwrap()
}

/// Waits until the log says that so many were delivered.
async fn delivered(place: &Place, hook: u64, count: usize) -> DeliveriesPage {
    let looking = async {
        loop {
            let path = format!("/api/v1/webhooks/{hook}/deliveries");
            let page: DeliveriesPage = place.api.get(&path).send().await.unwrap().json().await.unwrap();
            if page.items.iter().filter(|one| one.state == DeliveryState::Delivered).count() >= count {
                return page;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("they are delivered")
}

#[tokio::test]
async fn a_webhook_hears_of_jobs_by_signed_requests() {
    let place = Place::with_private_webhooks().await;
    let mut server = Server::start().await;
    let made = make(&place, &json!({ "url": server.url() })).await;
    assert!(made.secret.starts_with("whsec_") && made.secret.len() > 60);
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(2, 1).await.job;
    let first = server.next().await;
    assert!(first.is_signed(&made.secret) && !first.is_signed("whsec_another"));
    assert_eq!((first.message().event, first.message().job.id), (JobEvent::Submitted, job));
    assert_eq!(first.header("gleaner-event"), "job.submitted");
    worker.work(2).await;
    let second = server.next().await;
    assert_eq!((second.message().event, second.message().job.done), (JobEvent::Done, 2));
    assert_ne!(first.header("gleaner-delivery"), second.header("gleaner-delivery"));
    let log = delivered(&place, made.webhook.id, 2).await;
    assert_eq!(log.items.iter().map(|one| (one.tries, one.status)).collect::<Vec<_>>(), [(1, Some(200)); 2]);
    // The secret is shown once.
    let listed = place.api.json("/api/v1/webhooks").await;
    assert!(!listed.to_string().contains(&made.secret) && listed["items"][0]["url"] == server.url());
    let removed = place.api.delete(&format!("/api/v1/webhooks/{}", made.webhook.id)).send().await.unwrap();
    assert_eq!(removed.status(), 204);
    let again = place.api.delete(&format!("/api/v1/webhooks/{}", made.webhook.id)).send().await.unwrap();
    assert_eq!(again.status(), 404);
}

#[tokio::test]
async fn what_is_not_taken_is_tried_again_with_the_same_number_and_a_new_moment() {
    let place = Place::with_private_webhooks().await;
    let mut server = Server::start().await;
    server.answer(503);
    let made = make(&place, &json!({ "url": server.url(), "events": ["job.submitted"] })).await;
    place.api.submit_array(1, 1).await;
    let first = server.next().await;
    server.answer(200);
    let second = server.next().await;
    assert_eq!(first.body, second.body);
    assert_eq!(first.header("gleaner-delivery"), second.header("gleaner-delivery"));
    assert_ne!(first.header("gleaner-signature"), second.header("gleaner-signature"));
    assert!(second.is_signed(&made.secret));
    let log = delivered(&place, made.webhook.id, 1).await;
    assert_eq!((log.items[0].tries, log.items[0].status), (2, Some(200)));
}

#[tokio::test]
async fn a_killed_hub_delivers_what_it_had_not_delivered() {
    let mut place = Place::with_private_webhooks().await;
    let mut server = Server::start().await;
    server.answer(500);
    let made = make(&place, &json!({ "url": server.url() })).await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(1, 1).await.job;
    worker.work(1).await;
    server.next().await;
    place.kill_and_start().await;
    server.answer(204);
    let mut told = Vec::new();
    while told.len() < 2 {
        let message = server.next().await.message();
        assert_eq!(message.job.id, job);
        if !told.contains(&message.event) {
            told.push(message.event);
        }
    }
    told.sort_unstable();
    assert_eq!(told, [JobEvent::Submitted, JobEvent::Done]);
    delivered(&place, made.webhook.id, 2).await;
}

#[tokio::test]
async fn webhooks_do_not_lead_into_private_networks_unless_the_operator_allows_it() {
    let place = Place::new().await;
    let server = Server::start().await;
    for url in [
        server.url(),
        format!("https://{}/hook", server.address),
        "https://localhost/hook".to_owned(),
        "https://169.254.169.254/latest".to_owned(),
        "https://[::1]/".to_owned(),
        "http://example.com/".to_owned(),
        "nonsense".to_owned(),
    ] {
        let answer = place.api.post("/api/v1/webhooks").json(&json!({ "url": url })).send().await.unwrap();
        assert_eq!(answer.status(), 422, "{url}");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!((problem["code"].as_str(), problem["at"].as_str()), (Some("webhook-refused"), Some("url")), "{url}");
    }
    for (body, status) in [
        (json!({ "url": "https://example.com/", "events": [] }), 422),
        (json!({ "url": "https://example.com/", "events": ["job.dreamt"] }), 422),
        (json!({ "url": "https://example.com/", "colour": "red" }), 422),
        (json!({ "url": 7 }), 422),
        (json!({ "url": "https://example.com/" }), 201),
    ] {
        let answer = place.api.post("/api/v1/webhooks").json(&body).send().await.unwrap();
        assert_eq!(answer.status(), status, "{body}");
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind, if status == 201 { "application/json" } else { "application/problem+json" }, "{body}");
    }
    let stranger = place.api.client.get(format!("{}/api/v1/webhooks", place.api.url)).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
}

#[tokio::test]
async fn an_allowance_that_was_taken_back_holds_for_what_waits() {
    let mut place = Place::with_private_webhooks().await;
    let mut server = Server::start().await;
    server.answer(500);
    let made = make(&place, &json!({ "url": server.url() })).await;
    place.api.submit_array(1, 1).await;
    server.next().await;
    place.config.webhooks_private = false;
    place.stop_and_start().await;
    let looking = async {
        loop {
            let path = format!("/api/v1/webhooks/{}/deliveries", made.webhook.id);
            let page: DeliveriesPage = place.api.get(&path).send().await.unwrap().json().await.unwrap();
            if page.items[0].error.as_deref().is_some_and(|error| error.contains("https only")) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("it is refused");
}

const ALL: &str = "/api/v1/webhooks";

async fn account(place: &Place, name: &str) -> (Somebody, Api) {
    let account = Somebody::sign_up(&place.api, name, &["requester"]).await;
    let token = account.token(&json!({ "read": true, "submit": true, "spend": "10" })).await;
    (account, token.as_api())
}

/// Waits until somebody has so many webhooks.
async fn has_webhooks(who: &Somebody, count: usize) {
    let looking = async {
        while who.json(ALL).await["items"].as_array().unwrap().len() != count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("so many");
}

#[tokio::test]
async fn an_accounts_webhook_hears_of_its_own_jobs_and_is_nobody_elses() {
    let place = Place::with_private_webhooks().await;
    let ((ada, ada_api), (bob, bob_api)) = (account(&place, "ada").await, account(&place, "bob").await);
    let operator = Somebody::sign_up(&place.api, "the-operator", &["operator", "requester"]).await;
    let (mut adas, mut bobs, mut operators) = (Server::start().await, Server::start().await, Server::start().await);
    let wants = |server: &Server| json!({ "url": server.url(), "events": ["job.submitted"] });
    let (status, made) = ada.post(ALL, &wants(&adas)).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(bob.post(ALL, &wants(&bobs)).await.0, 201);
    // Also if somebody names another's requester.
    let named = json!({ "url": bobs.url(), "events": ["job.submitted"], "requester": "@ada" });
    assert_eq!(bob.post(ALL, &named).await.0, 201);
    assert_eq!(operator.post(ALL, &wants(&operators)).await.0, 201);
    let of_ada = ada_api.submit_array(1, 1).await.job;
    assert_eq!(adas.next().await.message().job.id, of_ada);
    let of_bob = bob_api.submit_array(1, 2).await.job;
    let heard = bobs.next().await.message().job;
    assert_eq!((heard.id, heard.requester.as_str()), (of_bob, "@bob"), "nothing came of ada's before");
    // What is put down for the operator's account is put down before this, its own.
    let of_operator = operator.token(&json!({ "read": true, "submit": true, "spend": "10" })).await.as_api();
    let own = of_operator.submit_array(1, 3).await.job;
    assert_eq!(operators.next().await.message().job.id, own, "a role is no reason to hear of everybody's jobs");
    let id = made["id"].as_u64().unwrap();
    for other in [&bob, &operator] {
        assert!(!other.json(ALL).await.to_string().contains(&adas.url()));
        assert_eq!(other.delete(&format!("{ALL}/{id}")).await, 404);
        let log = other.ask(reqwest::Method::GET, &format!("{ALL}/{id}/deliveries")).send().await.unwrap();
        assert_eq!(log.status(), 404);
    }
    assert_eq!(ada.delete(&format!("{ALL}/{id}")).await, 204);
}

#[tokio::test]
async fn a_webhook_goes_with_the_token_that_made_it() {
    let place = Place::with_private_webhooks().await;
    let (ada, api) = account(&place, "ada").await;
    let mut server = Server::start().await;
    let wants = json!({ "url": server.url(), "events": ["job.submitted"] });
    let submits = ada.token(&json!({ "submit": true })).await;
    let (status, problem) = submits.post(ALL, &wants).await;
    assert_eq!((status.as_u16(), problem["code"].as_str()), (403, Some("scope")), "it would hear what it may not read");
    let made = ada.make_token(&json!({ "read": true, "submit": true })).await;
    let token = Somebody::with_token(&place.api, made["text"].as_str().unwrap());
    assert_eq!(token.post(ALL, &wants).await.0, 201);
    api.submit_array(1, 1).await;
    server.next().await;
    let revoked = ada.delete(&format!("/api/v1/account/tokens/{}", made["token"]["id"])).await;
    assert_eq!(revoked, 204);
    has_webhooks(&ada, 0).await;
    // One that was made in a session stays, and what comes next is for that one alone.
    let other = json!({ "url": server.url(), "events": ["job.submitted"] });
    assert_eq!(ada.post(ALL, &other).await.0, 201);
    let second = api.submit_array(1, 2).await.job;
    let third = api.submit_array(1, 3).await.job;
    let mut told = [server.next().await.message().job.id, server.next().await.message().job.id];
    told.sort();
    assert_eq!(told, [second, third]);
}

#[tokio::test]
async fn a_suspended_accounts_webhook_hears_nothing_until_it_is_readmitted() {
    let place = Place::with_private_webhooks().await;
    let (ada, api) = account(&place, "ada").await;
    let mut server = Server::start().await;
    assert_eq!(ada.post(ALL, &json!({ "url": server.url() })).await.0, 201);
    let first = api.submit_array(1, 1).await.job;
    assert_eq!(server.next().await.message().job.id, first);
    let id = ada.json("/api/v1/session").await["account"]["id"].to_string();
    let suspended = place.api.post(&format!("/api/v1/accounts/{id}/suspend")).send().await.unwrap();
    assert_eq!(suspended.status(), 200);
    let cancelled = place.api.post(&format!("/api/v1/jobs/{first}/cancel")).send().await.unwrap();
    assert!(cancelled.status().is_success());
    // The operator's own webhook has heard of it, so it was put down for everybody who may hear of it.
    let mut operators = Server::start().await;
    make(&place, &json!({ "url": operators.url() })).await;
    let other = place.api.submit_array(1, 9).await.job;
    assert_eq!(operators.next().await.message().job.id, other);
    assert!(server.arrived.try_recv().is_err(), "nothing is told of a suspended account's jobs");
    let readmitted = place.api.post(&format!("/api/v1/accounts/{id}/readmit")).send().await.unwrap();
    assert_eq!(readmitted.status(), 200);
    let ada = Somebody::sign_in(&place.api, "ada").await;
    has_webhooks(&ada, 1).await;
}
