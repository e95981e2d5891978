//! What a worker may not do, and what happens to it then.
use crate::place::{PATIENCE, Place};
use crate::worker::{Connection, Worker, done_with};
use gleaner_core::Params;
use gleaner_wire::{
    Amount, AttemptId, Cause, Finished, LOG_BYTES_MAX, MESSAGE_BYTES_MAX, Micros, Millis, Outcome, ToHub,
};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn garbage_ends_a_connection_with_a_reason_and_the_worker_has_left() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    worker.connection.send_bytes(vec![0xff; 100]).await;
    let reason = worker.connection.refusal().await;
    assert!(reason.contains("not a message"), "{reason}");
    worker.connection.closed().await;
    // The connection ends a moment before the hub has written it down.
    let gone = async {
        while place.api.json("/api/v1/workers").await["items"][0]["state"] != "offline" {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("it has left");
}

#[tokio::test]
async fn garbage_instead_of_a_hello_is_refused() {
    let place = Place::new().await;
    let mut connection = Connection::open(&place.api).await;
    connection.send_bytes(vec![0xff; 100]).await;
    connection.refusal().await;
}

#[tokio::test]
async fn text_is_refused() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    worker.connection.send_frame(Message::text("hello")).await;
    let reason = worker.connection.refusal().await;
    assert!(reason.contains("binary"), "{reason}");
}

#[tokio::test]
async fn too_large_a_message_is_refused() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    worker.connection.send_bytes(vec![0; MESSAGE_BYTES_MAX + 1]).await;
    worker.connection.closed().await;
    // The hub is none the worse.
    Worker::join(&place.api, 1).await;
}

#[tokio::test]
async fn messages_over_their_limits_are_refused() {
    let place = Place::new().await;
    let too_many: Vec<_> = (0..5000).map(AttemptId).collect();
    let text = "x".repeat(LOG_BYTES_MAX + 1);
    for message in [ToHub::Heartbeat { held: too_many }, ToHub::Log { attempt: AttemptId(1), text }] {
        let mut worker = Worker::join(&place.api, 1).await;
        worker.connection.send(&message).await;
        let reason = worker.connection.refusal().await;
        assert!(reason.contains("at most"), "{reason}");
    }
}

#[tokio::test]
async fn a_second_hello_is_refused() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let hello = worker.connection.hello(1, Vec::new());
    worker.connection.send(&hello).await;
    let reason = worker.connection.refusal().await;
    assert!(reason.contains("second hello"), "{reason}");
}

#[tokio::test]
async fn a_worker_that_falls_silent_is_let_go_and_its_work_goes_elsewhere() {
    let params = Params { lease_ms: Millis(300), heartbeat_ms: Millis(100), ..Params::default() };
    let place = Place::with(params).await;
    let mut silent = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(1, 1).await.job;
    silent.starts().await;
    silent.connection.closed().await;
    let mut other = Worker::join(&place.api, 2).await;
    let starts = other.starts().await;
    let batch = other.finish(starts.iter().map(done_with).collect()).await;
    other.acknowledged(batch).await;
    let view = place.api.job(job).await;
    assert_eq!((view.summary.done, view.failures[0].cause), (1, Cause::WorkerLeft));
}

#[tokio::test]
async fn heartbeats_of_idle_workers_are_not_journaled() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let before = commits(&place).await;
    for _ in 0..100 {
        worker.connection.send(&ToHub::Heartbeat { held: Vec::new() }).await;
    }
    // An answer to this means that the heartbeats before it were taken in.
    let batch = worker.finish(Vec::new()).await;
    worker.acknowledged(batch).await;
    assert_eq!(commits(&place).await, before);
}

#[tokio::test]
async fn devices_that_rest_are_journaled_once_and_when_that_ends() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let before = events(&place).await;
    let (rests, works) = (ToHub::Resting(vec![0, 0]), ToHub::Resting(Vec::new()));
    let says = [&works, &rests, &rests, &works, &works, &rests];
    for message in says.into_iter().chain([&rests; 50]) {
        worker.connection.send(message).await;
    }
    let batch = worker.finish(Vec::new()).await;
    worker.acknowledged(batch).await;
    assert_eq!(events(&place).await - before, 3);
    assert_eq!(place.api.json("/api/v1/workers").await["items"][0]["resting"], serde_json::json!([0]));
    worker.connection.send(&works).await;
    let batch = worker.finish(Vec::new()).await;
    worker.acknowledged(batch).await;
    assert_eq!(place.api.json("/api/v1/workers").await["items"][0]["resting"], serde_json::json!([]));
}

#[tokio::test]
async fn new_prices_are_journaled_once_and_impossible_ones_refused() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let before = events(&place).await;
    let asks = |units| ToHub::Prices(vec![Amount(units)]);
    for message in [asks(7_000), asks(7_000), asks(9_000), asks(9_000)] {
        worker.connection.send(&message).await;
    }
    let batch = worker.finish(Vec::new()).await;
    worker.acknowledged(batch).await;
    assert_eq!(events(&place).await - before, 2);
    let device = &place.api.json("/api/v1/workers").await["items"][0]["offer"]["devices"][0];
    assert_eq!(device["price_per_second"], serde_json::json!(Amount(9_000)));
    worker.connection.send(&ToHub::Prices(vec![Amount::gln(1001)])).await;
    let reason = worker.connection.refusal().await;
    assert!(reason.contains("1000 GLN"), "{reason}");
}

#[tokio::test]
async fn attempts_that_never_ran_do_not_reach_the_journal_and_count_as_late() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let before = metric(&place, "gleaner_journal_bytes_total").await;
    let invented: Vec<_> = (0..2000).map(|number| AttemptId(u64::MAX - number)).collect();
    worker.connection.send(&ToHub::Heartbeat { held: invented.clone() }).await;
    let done = |attempt: &AttemptId| Finished { attempt: *attempt, ran: Micros(1), outcome: Outcome::Cancelled };
    let batch = worker.finish(invented.iter().map(done).collect()).await;
    worker.acknowledged(batch).await;
    assert!(metric(&place, "gleaner_journal_bytes_total").await - before < 100);
    assert_eq!(metric(&place, "gleaner_results_late_total").await, 2000);
}

async fn commits(place: &Place) -> u64 {
    metric(place, "gleaner_journal_commit_seconds_count").await
}

async fn events(place: &Place) -> u64 {
    metric(place, "gleaner_journal_batch_events_sum").await
}

async fn metric(place: &Place, name: &str) -> u64 {
    let metrics = place.api.get("/metrics").send().await.unwrap().text().await.unwrap();
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

#[tokio::test]
async fn a_result_for_someone_elses_attempt_is_not_taken_and_ends_the_connection() {
    let place = Place::new().await;
    let mut honest = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(1, 1).await.job;
    let starts = honest.starts().await;
    let mut thief = Worker::join(&place.api, 2).await;
    thief.finish(starts.iter().map(done_with).collect()).await;
    thief.connection.refusal().await;
    assert_eq!(place.api.job(job).await.summary.done, 0);
    let batch = honest.finish(starts.iter().map(done_with).collect()).await;
    honest.acknowledged(batch).await;
    let view = place.api.job(job).await;
    assert_eq!(view.summary.done, 1);
    assert_eq!(view.workers.iter().filter(|tally| tally.earned.0 > 0).count(), 1);
}

#[tokio::test]
async fn the_same_result_twice_is_paid_once() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    let job = place.api.submit_array(2, 1).await.job;
    let starts = worker.starts().await;
    let results = vec![done_with(&starts[0])];
    let batch = worker.finish(results.clone()).await;
    worker.acknowledged(batch).await;
    let paid = place.api.job(job).await.summary.spent;
    assert!(paid.0 > 0);
    worker.send_batch(batch, results.clone()).await;
    worker.acknowledged(batch).await;
    let again = worker.finish([results.clone(), results].concat()).await;
    worker.acknowledged(again).await;
    let summary = place.api.job(job).await.summary;
    assert_eq!((summary.done, summary.spent), (1, paid));
}
