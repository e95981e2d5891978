//! What the API says when something is wrong.
use crate::place::{Api, Place, array};
use crate::worker::Worker;
use gleaner_wire::api::{Problem, QuoteView};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::json;

async fn problem(request: RequestBuilder, status: StatusCode) -> Problem {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem: Problem = response.json().await.unwrap();
    assert_eq!(problem.status, status.as_u16());
    problem
}

fn toml(api: &Api, text: String) -> RequestBuilder {
    api.post("/api/v1/jobs").header("content-type", "application/toml").body(text)
}

#[tokio::test]
async fn every_wrong_request_gets_a_problem_with_a_reason() {
    let api = Place::new().await;
    let api = &api.api;
    problem(api.get("/api/v1/nowhere"), StatusCode::NOT_FOUND).await;
    problem(api.get("/api/v1/jobs/7"), StatusCode::NOT_FOUND).await;
    problem(api.get("/api/v1/jobs/18446744073709551615"), StatusCode::NOT_FOUND).await;
    problem(api.get("/api/v1/jobs/seven/explain"), StatusCode::NOT_FOUND).await;
    problem(api.get("/api/v1/workers/7"), StatusCode::NOT_FOUND).await;
    problem(api.post("/api/v1/jobs/7/cancel"), StatusCode::NOT_FOUND).await;
    problem(api.get("/api/v1/jobs/7/logs"), StatusCode::NOT_FOUND).await;
    problem(api.get("/api/v1/jobs/7/results"), StatusCode::NOT_FOUND).await;
    problem(api.put("/api/v1/jobs"), StatusCode::METHOD_NOT_ALLOWED).await;
    problem(api.post("/api/v1/jobs").body("name"), StatusCode::UNSUPPORTED_MEDIA_TYPE).await;
    problem(api.get("/api/v1/jobs?limit=many"), StatusCode::BAD_REQUEST).await;
    problem(api.get("/worker/v1"), StatusCode::BAD_REQUEST).await;
    problem(api.get("/api/v1/events"), StatusCode::BAD_REQUEST).await;
    let job = api.post("/api/v1/jobs").json(&json!({}));
    problem(job.header("idempotency-key", "short"), StatusCode::BAD_REQUEST).await;
    let job = api.post("/api/v1/jobs").json(&json!({}));
    problem(job.header("gleaner-requester", "x".repeat(65)), StatusCode::BAD_REQUEST).await;
    problem(api.client.get(format!("{}/api/v1/jobs", api.url)), StatusCode::UNAUTHORIZED).await;
}

#[tokio::test]
async fn a_job_file_that_is_too_large_is_refused() {
    let place = Place::new().await;
    let text = format!("name = \"{}\"", "x".repeat(17 * 1024 * 1024));
    problem(toml(&place.api, text), StatusCode::PAYLOAD_TOO_LARGE).await;
}

#[tokio::test]
async fn a_mistake_in_a_job_file_is_named_with_its_place_and_line() {
    let place = Place::new().await;
    let program = place.api.store(b"a program").await;
    let file = format!("name = \"n\"\n[[task]]\nname = \"t\"\nruntime = \"wasm\"\nprogram = \"{program}\"\n");
    let wrong = problem(toml(&place.api, format!("{file}each = 5\n")), StatusCode::UNPROCESSABLE_ENTITY).await;
    assert_eq!(wrong.line, Some(6), "{wrong:?}");
    let unknown = format!("{file}each = \"1..x\"\n");
    let wrong = problem(toml(&place.api, unknown), StatusCode::UNPROCESSABLE_ENTITY).await;
    assert_eq!((wrong.at.as_deref(), wrong.line), (Some("task[0].each"), Some(6)), "{wrong:?}");
    let response = toml(&place.api, file).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()["location"], "/api/v1/jobs/1");
}

#[tokio::test]
async fn a_job_whose_program_is_not_there_is_refused_with_which() {
    let place = Place::new().await;
    let missing = gleaner_wire::DataRef::from(gleaner_wire::BlobRef::of(b"missing"));
    let job = place.api.post("/api/v1/jobs").json(&array(5, &missing.to_string()));
    let wrong = problem(job, StatusCode::UNPROCESSABLE_ENTITY).await;
    assert_eq!(wrong.at.as_deref(), Some("task[0].program"));
    assert!(wrong.detail.contains(&missing.to_string()), "{wrong:?}");
}

#[tokio::test]
async fn a_job_is_quoted_without_its_data_and_nothing_comes_of_it() {
    let place = Place::new().await;
    let missing = gleaner_wire::DataRef::from(gleaner_wire::BlobRef::of(b"missing"));
    let job = array(5, &missing.to_string());
    let view: QuoteView =
        place.api.post("/api/v1/quote").json(&job).send().await.unwrap().json().await.expect("a quote");
    assert_eq!((view.tasks, view.expected, view.rests_on), (5, None, 0));
    assert_eq!(view.groups[0].reasons[0].code, "no_workers");
    assert_eq!(place.api.json("/api/v1/jobs").await["items"], json!([]));
    let stranger = place.api.client.post(format!("{}/api/v1/quote", place.api.url)).json(&job);
    problem(stranger, StatusCode::UNAUTHORIZED).await;
    let large = json!({ "name": "x".repeat(17 * 1024 * 1024) });
    problem(place.api.post("/api/v1/quote").json(&large), StatusCode::PAYLOAD_TOO_LARGE).await;
    let path = array(5, "program.wasm");
    let wrong = problem(place.api.post("/api/v1/quote").json(&path), StatusCode::UNPROCESSABLE_ENTITY).await;
    assert_eq!(wrong.at.as_deref(), Some("task[0].program"));
}

#[tokio::test]
async fn a_job_that_its_requester_cannot_pay_is_refused() {
    let place = Place::new().await;
    let mut job = array(5, &place.api.store(b"a program").await.to_string());
    job["budget"] = json!({ "price_max": "101 GLN" });
    let wrong = problem(place.api.post("/api/v1/jobs").json(&job), StatusCode::UNPROCESSABLE_ENTITY).await;
    assert!(wrong.detail.contains("GLN"), "{wrong:?}");
}

#[tokio::test]
async fn a_task_too_large_for_a_message_is_refused() {
    let place = Place::new().await;
    let mut job = array(5, &place.api.store(b"a program").await.to_string());
    job["task"][0]["args"] = json!(["x".repeat(300_000)]);
    problem(place.api.post("/api/v1/jobs").json(&job), StatusCode::UNPROCESSABLE_ENTITY).await;
}

#[tokio::test]
async fn workers_are_shown_paused_and_resumed() {
    let place = Place::new().await;
    let worker = Worker::join(&place.api, 1).await;
    let path = format!("/api/v1/workers/{}", worker.id);
    assert_eq!(place.api.json(&path).await["state"], "available");
    for (action, state) in [("pause", "paused"), ("resume", "available")] {
        let response = place.api.post(&format!("{path}/{action}")).send().await.unwrap();
        assert_eq!(response.json::<serde_json::Value>().await.unwrap()["state"], state);
    }
    problem(place.api.post(&format!("{path}/dance")), StatusCode::NOT_FOUND).await;
}

#[tokio::test]
async fn waiting_is_explained_and_counted() {
    let place = Place::new().await;
    let job = place.api.submit_array(5, 1).await.job;
    let view = place.api.json(&format!("/api/v1/jobs/{job}/explain")).await;
    assert_eq!(view["waiting"][0]["queued"], 5, "{view}");
    let metrics =
        place.api.client.get(format!("{}/metrics", place.api.url)).send().await.unwrap().text().await.unwrap();
    for line in ["gleaner_jobs_submitted_total 1", "gleaner_tasks_queued 5", "gleaner_accepting 1"] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
    assert!(metrics.contains("gleaner_journal_commit_seconds_bucket"), "{metrics}");
}
