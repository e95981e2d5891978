//! Tokens that may spend only so much, whichever way they spend it.
use reqwest::header;
use serde_json::{Value, json};

use crate::place::{Answer, Place};

const PASSPHRASE: &str = "wind over the old mill";

/// A program with a token of an account.
struct Spender<'a> {
    place: &'a Place,
    token: String,
    session: (String, String),
}

impl<'a> Spender<'a> {
    /// Makes an account, and a token of it that may spend so much.
    async fn with_limit(place: &'a Place, spend: &str) -> Self {
        let url = format!("{}/api/v1", place.url());
        let said = json!({ "name": "ada", "passphrase": PASSPHRASE });
        let made = place.http.post(format!("{url}/accounts")).json(&said).send().await.expect("answered");
        let cookie = made.headers()[header::SET_COOKIE].to_str().expect("text").split(';').next().expect("a pair");
        let cookie = cookie.to_owned();
        let csrf = made.json::<Value>().await.expect("JSON")["csrf"].as_str().expect("text").to_owned();
        let mut spender = Self { place, token: String::new(), session: (cookie, csrf) };
        spender.token = spender.make_token(spend).await;
        spender
    }

    async fn make_token(&self, spend: &str) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("later").as_millis() as u64;
        let scopes = json!({ "read": true, "submit": true, "spend": spend });
        let wanted = json!({ "label": "a script", "scopes": scopes, "ends_at": now + 3_600_000 });
        let url = format!("{}/api/v1/account/tokens", self.place.url());
        let (cookie, csrf) = &self.session;
        let request = self.place.http.post(url).header(header::COOKIE, cookie).header("x-gleaner-csrf", csrf);
        let made: Value = request.json(&wanted).send().await.expect("answered").json().await.expect("JSON");
        made["text"].as_str().expect("a token").to_owned()
    }

    async fn tokens(&self) -> Value {
        let url = format!("{}/api/v1/account/tokens", self.place.url());
        let request = self.place.http.get(url).header(header::COOKIE, &self.session.0);
        request.send().await.expect("answered").json().await.expect("JSON")
    }

    async fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        let url = format!("{}/api/v1{path}", self.place.url());
        let request = self.place.http.post(url).bearer_auth(&self.token).header("idempotency-key", key);
        let response = request.json(body).send().await.expect("answered");
        let (status, headers) = (response.status(), response.headers().clone());
        Answer { status, headers, body: response.bytes().await.expect("a body").to_vec() }
    }

    /// Orders a job at the desk that may cost so much, and needs no files.
    async fn order(&self, key: &str, price: &str) -> Answer {
        let image = format!("docker.io/library/x@sha256:{}", "0".repeat(64));
        let job = format!(
            "name = \"x\"\n[budget]\nprice_max = \"{price}\"\n[[task]]\nname = \"a\"\nruntime = \"container\"\n\
             [task.container]\nimage = \"{image}\"\n"
        );
        self.post("/desk/jobs", key, &json!({ "job": job })).await
    }

    /// Submits a job to the hub itself that may cost so much.
    async fn submit(&self, key: u128, price: &str) -> Answer {
        let image = format!("docker.io/library/x@sha256:{}", "0".repeat(64));
        let task = json!({ "name": "a", "runtime": "container", "container": { "image": image } });
        let job = json!({ "name": "x", "budget": { "price_max": price }, "task": [task] });
        self.post("/jobs", &format!("{key:032x}"), &job).await
    }

    async fn cancel(&self, job: &Value) {
        self.post(&format!("/jobs/{job}/cancel"), "cancel", &json!({})).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_orders_jobs_within_its_limit_and_gets_back_what_they_did_not_cost() {
    let place = Place::new().await;
    let mut ada = Spender::with_limit(&place, "1.5").await;
    let first = ada.order("a", "1 GLN").await.ok().json();
    assert_eq!(ada.order("a", "1 GLN").await.ok().json()["job"], first["job"], "the same, and counted once");
    let reason = ada.order("b", "0.6 GLN").await.refused(403, "spend-limit");
    assert!(reason.contains("may spend 0.5 GLN more, and this needs 0.6 GLN"), "{reason}");
    ada.cancel(&first["job"]).await;
    ada.order("b", "0.6 GLN").await.ok();
    assert_eq!(ada.tokens().await["items"][0]["spent"], "0.6", "the job that was cancelled cost nothing");
    ada.token = ada.make_token("0.6").await;
    ada.order("c", "0.6 GLN").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_does_not_spend_its_limit_twice_by_going_another_way() {
    let place = Place::new().await;
    let ada = Spender::with_limit(&place, "1.5").await;
    let first = ada.submit(7, "1").await.ok().json();
    ada.order("a", "0.6 GLN").await.refused(403, "spend-limit");
    ada.order("b", "0.5 GLN").await.ok();
    ada.submit(8, "0.1").await.refused(422, "over-limit");
    ada.cancel(&first["job"]).await;
    ada.submit(8, "0.1").await.ok();
    ada.order("a", "0.6 GLN").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_for_requests_that_come_together() {
    let place = Place::new().await;
    let ada = Spender::with_limit(&place, "1.5").await;
    let keys = ["a", "b", "c", "d"];
    let all = futures_util::future::join_all(keys.map(|key| ada.order(key, "1 GLN"))).await;
    assert_eq!(all.iter().filter(|ordered| ordered.status.is_success()).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_does_not_count() {
    let place = Place::new().await;
    let ada = Spender::with_limit(&place, "1").await;
    let job = "name = \"x\"\n[budget]\nprice_max = \"1 GLN\"\n[[task]]\nname = \"a\"\nruntime = \"wasm\"\nprogram = \"gone.wasm\"\n";
    for _ in 0..2 {
        let refused = ada.post("/desk/jobs", "a", &json!({ "job": job })).await;
        assert!(refused.status.is_client_error(), "{refused:?}");
    }
    assert_eq!(ada.tokens().await["items"][0]["spent"], "0");
    ada.order("b", "1 GLN").await.ok();
}
