//! Who asks too often has to wait, hears for how long, and is let in again afterwards.
use crate::place::Place;
use reqwest::{Response, StatusCode, header};
use std::time::Duration;

/// More requests than anybody may make at once.
const MANY: usize = 3000;

async fn ask(place: &Place, address: &str) -> Response {
    let url = format!("{}/api/v1/workers", place.api.url);
    place.api.client.get(url).header("x-forwarded-for", address).send().await.unwrap()
}

#[tokio::test]
async fn who_asks_too_often_is_told_how_long_to_wait_and_nobody_else_is() {
    let place = Place::behind_proxy().await;
    let mut answered = 0;
    let refused = loop {
        let response = ask(&place, "192.0.2.7").await;
        if response.status() != StatusCode::OK {
            break response;
        }
        answered += 1;
        assert!(answered < MANY, "nobody is ever refused");
    };
    assert!(answered >= 600, "a page asks for much at once, and was refused after {answered}");
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()[header::CONTENT_TYPE], "application/problem+json");
    let wait: u64 = refused.headers()[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait} s");
    let problem: gleaner_wire::api::Problem = refused.json().await.unwrap();
    assert_eq!((problem.status, problem.code.as_str()), (429, "too-often"));
    assert!(problem.detail.contains(&format!("{wait} s")), "{}", problem.detail);
    assert_eq!(ask(&place, "192.0.2.8").await.status(), StatusCode::OK, "another address is counted apart");
    assert_eq!(place.api.get("/api/v1/workers").send().await.unwrap().status(), StatusCode::OK, "so is the operator");
    tokio::time::sleep(Duration::from_secs(wait)).await;
    assert_eq!(ask(&place, "192.0.2.7").await.status(), StatusCode::OK, "who has waited is let in");
}
