//! A whole worker against a scripted hub: what it does with every message, and through lost connections.
use std::collections::BTreeSet;

use gleaner_wire::{
    AttemptId, Cause, Check, Extent, Finished, InputSpec, JobId, Limits, Millis, Outcome, Output, PROTOCOL,
    StartAttempt, TaskSpec, ToHub, ToWorker, Work,
};
use gleaner_worker::{Error, Report};

use crate::hub::{Connection, Hub, Worker, start};

/// A program that does nothing.
pub const NOTHING: &str = r#"(module (func (export "_start")))"#;
/// A program that never ends.
const ENDLESS: &str = r#"(module (func (export "_start") (loop $again (br $again))))"#;
/// A program that prints so many zeros.
fn zeros(count: u32) -> String {
    format!(
        r#"(module
          (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
          (memory (export "memory") 2)
          (func (export "_start")
            (i32.store (i32.const 0) (i32.const 16))
            (i32.store (i32.const 4) (i32.const {count}))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#
    )
}

/// A program that prints the file `in/all/1`.
const PRINT_SECOND: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "in/all/1")
  (func (export "_start")
    (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 8) (i32.const 0)
      (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 12)))
    (i32.store (i32.const 0) (i32.const 200))
    (i32.store (i32.const 4) (i32.const 1000))
    (drop (call $fd_read (i32.load (i32.const 12)) (i32.const 0) (i32.const 1) (i32.const 4)))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

pub fn spec(hub: &Hub, program: &str) -> TaskSpec {
    let module = hub.keep(&wat::parse_str(program).expect("the test's program is right"));
    let limits = Limits { time_ms: Millis(60_000), memory: 1 << 20, output: 1 << 20 };
    let work = Work::Wasm { module, args: Vec::new() };
    let (extent, inputs) = (Extent::Single, Vec::new());
    TaskSpec { name: "test".to_owned(), work, extent, inputs, limits, check: Check::None }
}

/// Waits for so many results and acknowledges them.
pub async fn results(connection: &mut Connection, count: usize) -> Vec<Finished> {
    let mut all = Vec::new();
    while all.len() < count {
        if let ToHub::Finished { batch, results, .. } = connection.next().await {
            all.extend(results);
            connection.send(&ToWorker::Acknowledge { batch, earned: gleaner_wire::Amount::ZERO }).await;
        }
    }
    all
}

pub fn done(result: &Finished) -> Output {
    match &result.outcome {
        Outcome::Done(output) => *output,
        other => panic!("{other:?}"),
    }
}

pub fn cause(result: &Finished) -> Cause {
    match &result.outcome {
        Outcome::Failed { cause, .. } => *cause,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_run_and_short_outputs_travel_inside_the_result() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    connection.spec(&spec(&hub, &zeros(3))).await;
    connection.start(&(1..=1000).collect::<Vec<_>>()).await;
    let results = results(&mut connection, 1000).await;
    assert_eq!(results.iter().map(|result| result.attempt).collect::<BTreeSet<_>>().len(), 1000);
    assert!(results.iter().all(|result| done(result).content().is_some() && hub.opened(done(result)) == [0; 3]));
    while !connection.heartbeat().await.is_empty() {}
    worker.tell_to_stop();
    assert_eq!(connection.next().await, ToHub::Leaving);
    worker.end().await.expect("ends well");
}

#[tokio::test(flavor = "multi_thread")]
async fn longer_outputs_are_stored_before_the_result_names_them() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    connection.spec(&spec(&hub, &zeros(70_000))).await;
    connection.start(&[1]).await;
    let results = results(&mut connection, 1).await;
    assert!(matches!(done(&results[0]), Output::File(_)));
    assert!(hub.opened(done(&results[0])) == [0; 70_000]);
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn gathered_outputs_are_a_folder() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let long = hub.keep_output(&[b'w'; 100]);
    let short = Output::inline(&crate::hub::other_keys().seal_short(0, b"chaff")).expect("short");
    hub.set_outputs(vec![short, Output::File(long)]);
    let mut connection = hub.welcome().await;
    let mut spec = spec(&hub, PRINT_SECOND);
    spec.inputs = vec![InputSpec::Gather { name: "all".to_owned(), group: 7, extent: Extent::Single }];
    connection.spec(&spec).await;
    connection.start(&[1]).await;
    assert_eq!(hub.opened(done(&results(&mut connection, 1).await[0])), [b'w'; 100]);
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_were_not_acknowledged_come_again() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    connection.spec(&spec(&hub, NOTHING)).await;
    connection.start(&[5]).await;
    let first = connection.next().await;
    assert!(matches!(&first, ToHub::Finished { results, .. } if results.len() == 1));
    drop(connection);
    let mut connection = hub.welcome().await;
    assert_eq!(connection.held, [AttemptId(5)]);
    assert_eq!(connection.next().await, first);
    connection.send(&ToWorker::Acknowledge { batch: 1, earned: gleaner_wire::Amount::ZERO }).await;
    while !connection.heartbeat().await.is_empty() {}
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_goes_on_through_a_lost_connection() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    connection.spec(&spec(&hub, ENDLESS)).await;
    connection.start(&[1, 2]).await;
    while connection.heartbeat().await.len() < 2 {}
    drop(connection);
    let mut connection = hub.welcome().await;
    assert_eq!(connection.held.iter().collect::<BTreeSet<_>>(), [AttemptId(1), AttemptId(2)].iter().collect());
    connection.send(&ToWorker::Cancel(vec![AttemptId(1), AttemptId(2), AttemptId(99)])).await;
    let results = results(&mut connection, 2).await;
    assert!(results.iter().all(|result| result.outcome == Outcome::Cancelled));
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_is_started_twice_runs_once() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    connection.spec(&spec(&hub, NOTHING)).await;
    connection.send(&ToWorker::Start(vec![start(1), start(1), start(2)])).await;
    connection.start(&[1, 3]).await;
    let mut seen = Vec::new();
    // Two run at a time, so that they end in any order.
    while !(1..=3).all(|number| seen.contains(&AttemptId(number))) {
        if let ToHub::Finished { results, .. } = connection.next().await {
            seen.extend(results.iter().map(|result| result.attempt));
        }
    }
    seen.sort();
    assert_eq!(seen, [1, 2, 3].map(AttemptId));
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_that_make_no_sense_are_the_hubs_fault() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    connection.spec(&spec(&hub, NOTHING)).await;
    let unknown = StartAttempt { job: JobId(9), ..start(1) };
    let no_device = StartAttempt { device: 9, ..start(2) };
    let no_element = StartAttempt { index: 1, ..start(3) };
    connection.send(&ToWorker::Start(vec![unknown, no_device, no_element])).await;
    for result in results(&mut connection, 3).await {
        assert_eq!(cause(&result), Cause::HubFault);
    }
    connection.start(&[4]).await;
    assert!(hub.opened(done(&results(&mut connection, 1).await[0])).is_empty());
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_none_is_bad_input_for_every_attempt() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    let mut spec = spec(&hub, NOTHING);
    spec.work = Work::Wasm { module: hub.keep(b"chaff"), args: Vec::new() };
    connection.spec(&spec).await;
    connection.start(&[1, 2, 3]).await;
    for result in results(&mut connection, 3).await {
        assert_eq!(cause(&result), Cause::BadInput);
    }
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_from_a_hub_ends_the_connection_and_not_the_worker() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let (told, mut reasons) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::start_with(&hub, dir.path(), move |report| {
        if let Report::Reconnecting { why, .. } = report {
            drop(told.send(why));
        }
    });
    let too_many: Vec<_> = (0..3000).map(start).collect();
    let challenge = ToWorker::Challenge { protocol: PROTOCOL, nonce: [0; 32] };
    for garbage in
        [vec![255; 100], Vec::new(), gleaner_wire::encode(&challenge), gleaner_wire::encode(&ToWorker::Start(too_many))]
    {
        let mut connection = hub.welcome().await;
        connection.send_bytes(garbage).await;
        while connection.next_or_end().await.is_some() {}
        assert!(!reasons.recv().await.expect("a reason").is_empty());
    }
    assert!(hub.welcome().await.held.is_empty(), "nothing of a refused start is held");
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_ends_the_worker_with_the_hubs_reason() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.knock().await;
    connection.send(&ToWorker::Refused { reason: "not today".to_owned() }).await;
    assert!(matches!(worker.end().await, Err(Error::Refused(reason)) if reason == "not today"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_told_to_stop_kills_what_runs() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    connection.spec(&spec(&hub, ENDLESS)).await;
    connection.start(&[1, 2, 3]).await;
    while connection.heartbeat().await.len() < 3 {}
    worker.tell_to_stop();
    assert_eq!(connection.next().await, ToHub::Leaving);
    worker.end().await.expect("ends well");
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_wait_for_a_connection_to_be_stored() {
    let (mut hub, dir) = (Hub::start().await, tempfile::tempdir().expect("a folder"));
    let worker = Worker::start(&hub, dir.path());
    let mut connection = hub.welcome().await;
    let spec = spec(&hub, &zeros(50_000));
    connection.spec(&spec).await;
    connection.start(&[1]).await;
    drop(connection);
    let mut connection = hub.welcome().await;
    if connection.held.is_empty() {
        connection.spec(&spec).await;
        connection.start(&[1]).await;
    }
    assert!(hub.opened(done(&results(&mut connection, 1).await[0])) == [0; 50_000]);
    drop(worker);
}
