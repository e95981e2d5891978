//! What a worker may not do, and what happens to it then.
use crate::place::Place;
use crate::worker::{Connection, Worker, done_with};
use gleaner_wire::{AttemptId, LOG_BYTES_MAX, MESSAGE_BYTES_MAX, State, ToHub};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn garbage_ends_a_connection_with_a_reason_and_the_worker_has_left() {
    let place = Place::new().await;
    let mut worker = Worker::join(&place.api, 1).await;
    worker.connection.send_bytes(vec![0xff; 100]).await;
    let reason = worker.connection.refusal().await;
    assert!(reason.contains("not a message"), "{reason}");
    worker.connection.closed().await;
    let workers: Vec<gleaner_wire::api::WorkerView> =
        place.api.get("/api/v1/workers").send().await.unwrap().json().await.unwrap();
    assert_eq!(workers[0].state, State::Offline);
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
