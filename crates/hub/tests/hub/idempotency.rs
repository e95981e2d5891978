//! Requests that spend and are sent again.
use crate::place::{Place, array};
use reqwest::StatusCode;
use serde_json::Value;

#[tokio::test]
async fn the_same_key_gets_the_same_answer_and_another_job_is_refused() {
    let mut place = Place::new().await;
    let program = place.api.store(b"a program").await.to_string();
    let first = place.api.send(&array(3, &program), 7).await;
    assert_eq!(first.status(), StatusCode::CREATED);
    let location = first.headers()["location"].clone();
    let first: Value = first.json().await.unwrap();
    for round in 0..2 {
        let again = place.api.send(&array(3, &program), 7).await;
        assert_eq!(again.status(), StatusCode::CREATED);
        assert_eq!(again.headers()["idempotency-replayed"], "true");
        assert_eq!(again.headers()["location"], location);
        assert_eq!(again.json::<Value>().await.unwrap(), first, "round {round}");
        let other = place.api.send(&array(4, &program), 7).await;
        assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let problem: Value = other.json().await.unwrap();
        assert_eq!((&problem["code"], &problem["at"]), (&"idempotency-key-reused".into(), &"idempotency-key".into()));
        let someone = place.api.post("/api/v1/jobs").header("gleaner-requester", "ada");
        let someone = someone.header("idempotency-key", format!("{:032x}", 7)).json(&array(3, &program));
        assert_eq!(someone.send().await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY, "it is another's key");
        place.kill_and_start().await;
    }
    assert_eq!(place.api.json("/api/v1/jobs").await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_refused_job_can_be_mended_and_sent_with_its_key() {
    let place = Place::new().await;
    let program = place.api.store(b"a program").await.to_string();
    let missing = gleaner_wire::DataRef::from(gleaner_wire::BlobRef::of(b"not here")).to_string();
    let refused = place.api.send(&array(3, &missing), 9).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let taken = place.api.send(&array(3, &program), 9).await;
    assert_eq!(taken.status(), StatusCode::CREATED);
    for key in ["short", "", &"x".repeat(65), "with space"] {
        let wrong = place.api.post("/api/v1/jobs").header("idempotency-key", key).json(&array(3, &program));
        let wrong = wrong.send().await.unwrap();
        assert_eq!(wrong.status(), StatusCode::BAD_REQUEST, "`{key}`");
        assert_eq!(wrong.json::<Value>().await.unwrap()["at"], "idempotency-key");
    }
}

#[tokio::test]
async fn a_key_that_is_used_twice_at_once_spends_once() {
    let place = Place::new().await;
    let program = place.api.store(b"a program").await.to_string();
    let sent = futures_util::future::join_all(
        (0..16).map(|_| async { place.api.send(&array(2, &program), 5).await.status() }),
    );
    let statuses = sent.await;
    assert!(statuses.iter().all(|status| *status == StatusCode::CREATED), "{statuses:?}");
    assert_eq!(place.api.json("/api/v1/jobs").await["items"].as_array().unwrap().len(), 1);
}
