//! Jobs from submission to result.
use crate::place::{Place, array};
use crate::worker::{Worker, done_with};
use gleaner_wire::api::{JobState, ResultsPage};
use gleaner_wire::{Cause, Outcome, Output, ToHub, ToWorker};
use reqwest::StatusCode;
use serde_json::json;

#[tokio::test]
async fn an_array_is_done_paid_for_archived_and_its_results_are_read_page_by_page() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let submitted = place.api.submit_array(100, 1).await;
    assert_eq!(submitted.tasks, 100);
    worker.work(100).await;
    let view = place.api.job(submitted.job).await;
    assert_eq!((view.summary.state.clone(), view.summary.done), (JobState::Done, 100));
    assert!(view.summary.spent.0 > 0);
    let (mut seen, mut from) = (0, Some(0));
    while let Some(at) = from {
        let path = format!("/api/v1/jobs/{}/results?limit=7&from={at}", submitted.job);
        let page: ResultsPage = place.api.get(&path).send().await.unwrap().json().await.unwrap();
        for result in &page.results {
            assert_eq!(result.output.content(), Some(result.index.to_string().as_bytes()));
            seen += 1;
        }
        from = page.next;
    }
    assert_eq!(seen, 100);
    let ledger = place.api.json("/api/v1/ledger").await;
    assert!(ledger["accounts"]["platform"].is_string(), "{ledger}");
}

#[tokio::test]
async fn a_worker_hears_what_it_has_earned_without_bringing_results() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    place.api.submit_array(3, 1).await;
    worker.work(3).await;
    drop(worker);
    let mut worker = Worker::rejoin(&place.api, 1, Vec::new()).await;
    for _ in 0..3 {
        worker.connection.send(&ToHub::Heartbeat { held: Vec::new() }).await;
    }
    // All of the heartbeats were heard when this is answered.
    let last = worker.finish(Vec::new()).await;
    let (mut told, mut earned) = (Vec::new(), None);
    while earned.is_none() {
        match worker.connection.receive().await.expect("the connection stays") {
            ToWorker::Earned(amount) => told.push(amount),
            ToWorker::Acknowledge { batch, earned: amount } if batch == last => earned = Some(amount),
            _ => {}
        }
    }
    assert!(earned.is_some_and(|earned| earned > gleaner_wire::Amount::ZERO));
    assert_eq!(told, earned.into_iter().collect::<Vec<_>>(), "it is told once");
}

#[tokio::test]
async fn a_specification_comes_once_before_the_first_start_and_is_forgotten_at_the_end() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(3000, 1).await.job;
    let (mut specs, mut forgets, mut done) = (0, 0, 0);
    while forgets == 0 {
        match worker.connection.receive().await.unwrap() {
            ToWorker::Spec { job: of, group: 0, spec } if of == job => {
                assert_eq!((done, spec.name.as_str()), (0, "element"));
                specs += 1;
            }
            ToWorker::Start(starts) => {
                assert_eq!(specs, 1);
                done += starts.len();
                worker.finish(starts.iter().map(done_with).collect()).await;
            }
            ToWorker::Forget(of) if of == job => forgets += 1,
            ToWorker::Acknowledge { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((specs, done), (1, 3000));
}

#[tokio::test]
async fn a_submission_sent_twice_is_one_job() {
    let place = Place::new().await;
    let first = place.api.submit_array(5, 77).await;
    let second = place.api.submit_array(5, 77).await;
    assert_eq!(first.job, second.job);
    assert_ne!(place.api.submit_array(5, 78).await.job, first.job);
}

#[tokio::test]
async fn a_submission_sent_again_after_its_job_has_ended_is_still_that_job() {
    let mut place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let first = place.api.submit_array(5, 77).await;
    worker.work(5).await;
    assert_eq!(place.api.submit_array(5, 77).await, first);
    place.kill_and_start().await;
    assert_eq!(place.api.submit_array(5, 77).await, first);
}

#[tokio::test]
async fn a_cancelled_job_stops_on_its_workers_and_gives_the_rest_back() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(10, 1).await.job;
    let starts = worker.starts().await;
    let response = place.api.post(&format!("/api/v1/jobs/{job}/cancel")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut cancelled = Vec::new();
    while cancelled.len() < starts.len() {
        if let ToWorker::Cancel(attempts) = worker.connection.receive().await.unwrap() {
            cancelled.extend(attempts);
        }
    }
    assert_eq!(place.api.job(job).await.summary.state, JobState::Cancelled);
    let again = place.api.post(&format!("/api/v1/jobs/{job}/cancel")).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::CONFLICT);
    assert_eq!(place.api.json("/api/v1/ledger").await["accounts"]["requester:local"], json!("100"));
}

#[tokio::test]
async fn an_output_that_was_never_delivered_is_a_failure_and_one_that_was_is_taken() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let program = place.api.store(b"a program").await.to_string();
    let job: gleaner_wire::api::Submitted = place.api.send(&array(1, &program), 1).await.json().await.unwrap();
    let mut result = done_with(&worker.starts().await[0]);
    result.outcome = Outcome::Done(Output::File(gleaner_wire::BlobRef::of(b"nowhere")));
    let batch = worker.finish(vec![result]).await;
    worker.acknowledged(batch).await;
    let view = place.api.job(job.job).await;
    assert_eq!(view.summary.done, 0);
    assert_eq!(view.failures[0].cause, Cause::DeviceFault);
    assert!(view.failures[0].detail.contains("not delivered"), "{view:?}");

    let mut other = Worker::join(&place.api, 2).await;
    let mut result = done_with(&other.starts().await[0]);
    let api = crate::place::Api { token: other.token.clone(), ..place.api.clone() };
    result.outcome = Outcome::Done(Output::File(api.store(b"somewhere").await.root));
    let batch = other.finish(vec![result]).await;
    other.acknowledged(batch).await;
    assert_eq!(place.api.job(job.job).await.summary.done, 1);
}

#[tokio::test]
async fn logs_are_followed_line_by_line_until_the_job_ends() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(1, 1).await.job;
    let start = worker.starts().await.remove(0);
    let mut follower = place.api.get(&format!("/api/v1/jobs/{job}/logs?follow=true")).send().await.unwrap();
    worker.connection.send(&ToHub::Log { attempt: start.attempt, text: "one\ntwo\n".to_owned() }).await;
    let mut text = String::new();
    while text.lines().count() < 2 {
        text.push_str(std::str::from_utf8(&follower.chunk().await.unwrap().unwrap()).unwrap());
    }
    worker.connection.send(&ToHub::Log { attempt: start.attempt, text: "three".to_owned() }).await;
    worker.finish(vec![done_with(&start)]).await;
    while let Some(piece) = follower.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    let lines: Vec<gleaner_wire::api::LogView> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["one", "two", "three"]);
    assert_eq!((lines[0].task.as_str(), lines[0].worker.as_str()), ("element", "worker-1"));
    let rest = place.api.get(&format!("/api/v1/jobs/{job}/logs?after=2")).send().await.unwrap().text().await.unwrap();
    assert_eq!(rest.lines().count(), 1);
    assert!(rest.contains("three"), "{rest}");
}

#[tokio::test]
async fn a_worker_that_gathers_reads_every_output_of_a_group_in_order() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let program = place.api.store(b"a program").await.to_string();
    let job = json!({ "name": "fork and join", "task": [
        { "name": "fork", "runtime": "wasm", "program": program, "each": "1..20" },
        { "name": "join", "runtime": "wasm", "program": program, "input": [{ "name": "parts", "from": "fork" }] },
    ]});
    let job: gleaner_wire::api::Submitted = place.api.send(&job, 1).await.json().await.unwrap();
    let path = format!("/api/v1/jobs/{}/outputs/0", job.job);
    let as_worker = |path: &str| place.api.client.get(format!("{}{path}", place.api.url)).bearer_auth(&worker.token);
    assert_eq!(as_worker(&path).send().await.unwrap().status(), StatusCode::CONFLICT, "not all are done");
    let forbidden = as_worker("/api/v1/jobs").send().await.unwrap();
    assert_eq!(forbidden.status(), StatusCode::FORBIDDEN);
    let token = worker.token.clone();
    worker.work(20).await;
    let request = place.api.client.get(format!("{}{path}", place.api.url)).bearer_auth(token);
    let bytes = request.send().await.unwrap().bytes().await.unwrap();
    let outputs: Vec<Output> = postcard::from_bytes(&bytes).unwrap();
    let texts: Vec<_> = outputs.iter().map(|output| output.content().unwrap().to_vec()).collect();
    assert_eq!(texts, (0..20).map(|index: u32| index.to_string().into_bytes()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_worker_reads_no_outputs_of_jobs_that_it_does_not_work_on() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(3, 1).await.job;
    let stranger = Worker::join(&place.api, 2).await;
    let path = format!("/api/v1/jobs/{job}/outputs/0");
    worker.work(3).await;
    let read = |path: &str, token: &str| place.api.client.get(format!("{}{path}", place.api.url)).bearer_auth(token);
    for token in [&stranger.token, &worker.token] {
        for path in [&path, "/api/v1/jobs/999/outputs/0"] {
            let response = read(path, token).send().await.unwrap();
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{path}");
            assert_eq!(response.headers()["content-type"], "application/problem+json");
        }
    }
    assert_eq!(read(&path, &place.api.token).send().await.unwrap().status(), StatusCode::OK);
}
