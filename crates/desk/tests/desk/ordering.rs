//! Quotes and submissions: asked twice, done once.
use gleaner_desk::Limits;
use serde_json::json;

use crate::place::{JOB, PROGRAM, Place};

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_has_three_choices_and_sends_nothing() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    let quote = ada.post("/desk/quote", &json!({ "job": JOB, "folder": "scene" })).await.ok().json();
    assert_eq!((&quote["name"], &quote["tasks"], &quote["cap"]), (&"x".into(), &1.into(), &"1".into()));
    let prefers: Vec<_> = quote["choices"].as_array().expect("a list").iter().map(|choice| &choice["name"]).collect();
    assert_eq!(prefers, ["cheap", "balanced", "fast"]);
    for choice in quote["choices"].as_array().expect("a list") {
        assert_eq!((&choice["price"], &choice["rests_on"]), (&json!(null), &0.into()), "nothing is known");
        assert!(choice["why"].as_str().is_some_and(|why| why.contains("no worker could take `a`")), "{choice}");
        assert_eq!((&choice["sure"], &choice["binding"]), (&"unknown".into(), &json!(null)));
    }
    assert_eq!(ada.get("/datasets").await.ok().json()["items"], json!([]), "nothing was sent");
    let with_quote = |job: &str| json!({ "job": job, "folder": "scene", "quote": quote["quote"] });
    let another = ada.post_with_key("/desk/jobs", "k", &with_quote(&JOB.replace("\"x\"", "\"y\""))).await;
    another.refused(409, "other-quote");
    let ordered = ada.post_with_key("/desk/jobs", "k", &with_quote(JOB)).await.ok().json();
    assert_eq!(ordered["reserved"], "1", "the job's own cap holds");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_makes_the_same_job_whatever_happens_in_between() {
    let mut place = Place::new().await;
    let ada = place.as_person("ada");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    let first = ada.submit("key", JOB, Some("scene")).await;
    assert_eq!((first.status.as_u16(), first.header("location")), (201, "/api/v1/jobs/1"));
    let again = ada.submit("key", JOB, Some("scene")).await.ok();
    assert_eq!(again.json(), first.json());
    let another = ada.submit("key", &JOB.replace("\"x\"", "\"y\""), Some("scene")).await;
    another.refused(422, "idempotency-key-reused");
    place.restart().await;
    let ada = place.as_person("ada");
    assert_eq!(ada.submit("key", JOB, Some("scene")).await.ok().json()["job"], 1);
    assert_eq!(place.as_person("bob").get("/files").await.ok().json()["items"], json!([]));
    let together = futures_util::future::join_all((0..4).map(|_| ada.submit("another", JOB, Some("scene")))).await;
    assert!(together.iter().all(|answer| answer.json()["job"] == 2), "{together:?}");
    assert_eq!(ada.get("/jobs").await.ok().json()["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_job_leaves_its_key_free() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    ada.submit("key", JOB, None).await.refused(422, "job-refused");
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    ada.submit("key", JOB, Some("scene")).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_spends_needs_a_key_and_json() {
    let place = Place::new().await;
    let ada = place.as_person("ada");
    ada.post("/desk/jobs", &json!({ "job": JOB })).await.refused(400, "idempotency-key-missing");
    ada.submit("schlüssel", JOB, None).await.refused(400, "idempotency-key-missing");
    let form = ada.request(reqwest::Method::POST, "/desk/jobs").header("idempotency-key", "k").body("job=x");
    ada.send(form).await.refused(415, "media-type");
    ada.post_with_key("/desk/jobs", "k", &json!({ "job": JOB, "colour": "red" })).await.refused(400, "bad-request");
    ada.post_with_key("/desk/jobs", "k", &json!({ "job": "x".repeat(5 << 20) })).await.refused(413, "too-large");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_only_so_many_jobs_at_once() {
    let place = Place::with(Limits { jobs_open_max: 1, ..Limits::default() }, false).await;
    let (ada, bob) = (place.as_person("ada"), place.as_person("bob"));
    for person in [&ada, &bob] {
        person.put("/files/scene/program.wasm", PROGRAM).await.ok();
    }
    ada.submit("one", JOB, Some("scene")).await.ok();
    ada.submit("two", JOB, Some("scene")).await.refused(429, "too-many");
    bob.submit("one", JOB, Some("scene")).await.ok();
    ada.post("/jobs/1/cancel", &json!(null)).await.ok();
    let invoice = ada.wait_for_invoice(1, |invoice| invoice["state"] == "cancelled").await;
    assert_eq!(invoice["name"], "x");
    ada.submit("two", JOB, Some("scene")).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_and_its_invoice_are_nobody_elses() {
    let place = Place::new().await;
    let (ada, bob) = (place.as_person("ada"), place.as_person("bob"));
    ada.put("/files/scene/program.wasm", PROGRAM).await.ok();
    let wanted = json!({ "job": JOB, "folder": "scene", "choice": "cheap" });
    ada.post_with_key("/desk/jobs", "k", &wanted).await.ok();
    for path in ["invoice", "results", "archive", "preview/a", "results/a/0/output"] {
        bob.get(&format!("/desk/jobs/1/{path}")).await.refused(404, "not-found");
        ada.get(&format!("/desk/jobs/7/{path}")).await.refused(404, "not-found");
        ada.get(&format!("/desk/jobs/x/{path}")).await.refused(404, "not-found");
        ada.get(&format!("/desk/jobs/18446744073709551615/{path}")).await.refused(404, "not-found");
    }
    let invoice = ada.get("/desk/jobs/1/invoice").await.ok().json();
    assert_eq!(
        (&invoice["state"], &invoice["choice"], &invoice["cap"]),
        (&"running".into(), &"cheap".into(), &"1".into())
    );
    assert_eq!(bob.get("/desk/invoices").await.ok().json()["items"], json!([]));
    assert_eq!(ada.get("/desk/jobs/1/results").await.ok().json(), json!({ "items": [], "pictures": [], "next": null }));
    ada.get("/desk/jobs/1/results/a/0/output").await.refused(404, "not-found");
    let job = ada.get("/jobs/1").await.ok().json();
    assert_eq!(job["requester"], "@ada", "where money is on no chain, an account is known by its name");
}
