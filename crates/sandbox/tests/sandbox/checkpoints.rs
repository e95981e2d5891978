//! Checkpoints: saved while the program runs, and taken up by another one.

use crate::cell::Cell;
use gleaner_sandbox::{Cause, CollectLimits, Job, Snapshot, collect, snapshot};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

const LIMITS: CollectLimits = CollectLimits { files: 100, bytes: 1 << 20 };
/// Counts on from its checkpoint up to 200 and saves every step under another name first, as programs should.
const COUNTS: &str = "i=$(cat /checkpoint/step || echo 0); echo from $i; \
    while [ $i -lt 200 ]; do i=$((i+1)); echo $i > /checkpoint/next; mv /checkpoint/next /checkpoint/step; echo $i; \
    sleep 0.01; done";

/// A job that counts; its first fifty steps are awaited.
async fn counting(cell: &Cell, into: &Path) -> Snapshot {
    let job = cell.job(&["sh", "-c", COUNTS]);
    let checkpoint = job.folder.checkpoint();
    let (running, mut lines) = cell.start(job).await.unwrap();
    while lines.next().await.unwrap().text != "50" {}
    assert!(running.controls().freeze().await, "{} does not stand still", cell.name());
    let taken = snapshot(&checkpoint, into, LIMITS).unwrap();
    // The frozen program has written nothing since.
    let harvest = collect(&checkpoint, LIMITS).unwrap();
    for found in &harvest.files {
        io::copy(&mut harvest.read(found).unwrap(), &mut io::sink()).unwrap();
    }
    assert!(running.controls().thaw().await, "{} does not go on", cell.name());
    while lines.ready().is_some() {}
    assert!(lines.next().await.is_some());
    running.controls().stop(Duration::ZERO).await;
    assert_eq!(running.ending().await.cause, Cause::Stopped);
    taken
}

async fn goes_on_elsewhere(first: &Cell, second: &Cell) {
    let copy = first.home().join("copy");
    let taken = counting(first, &copy).await;
    assert!(matches!(taken, Snapshot::Whole { .. }), "{taken:?}");
    let saved: u32 = fs::read_to_string(copy.join("step")).unwrap().trim().parse().unwrap();
    assert!(saved >= 50, "{saved}");

    let job: Job = second.job(&["sh", "-c", COUNTS]);
    fs::copy(copy.join("step"), job.folder.checkpoint().join("step")).unwrap();
    let outcome = second.run(job).await;
    assert_eq!(outcome.ending.cause, Cause::Finished, "{}", outcome.text());
    assert_eq!(outcome.lines[0].text, format!("from {saved}"));
    assert_eq!(fs::read_to_string(outcome.folder.checkpoint().join("step")).unwrap(), "200\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_goes_on_under_bubblewrap_from_a_snapshot_of_its_checkpoint() {
    goes_on_elsewhere(&Cell::bubblewrap(), &Cell::bubblewrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_goes_on_in_a_container_from_a_snapshot_of_its_checkpoint() {
    goes_on_elsewhere(&Cell::container().await, &Cell::container().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_goes_on_with_docker_from_a_snapshot_of_its_checkpoint() {
    goes_on_elsewhere(&Cell::docker().await, &Cell::bubblewrap()).await;
}

/// Where there is no group to freeze, processes are stopped one by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_is_frozen_without_groups_as_well() {
    let cell = Cell::bubblewrap_with(gleaner_sandbox::Groups::none("switched off by a test"));
    let taken = counting(&cell, &cell.home().join("copy")).await;
    assert!(matches!(taken, Snapshot::Whole { .. }), "{taken:?}");
}

/// Such a program takes no notice of a signal until its child has gone on, which is stopped as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_that_waits_for_its_child_is_frozen_without_groups_as_well() {
    let cell = Cell::bubblewrap_with(gleaner_sandbox::Groups::none("switched off by a test"));
    let (running, mut lines) = cell.start(cell.job(&["/in/attack", "vfork"])).await.unwrap();
    assert_eq!(lines.next().await.unwrap().text, "READY");
    assert!(running.controls().freeze().await);
    running.controls().stop(Duration::ZERO).await;
    assert_eq!(running.ending().await.cause, Cause::Stopped);
}
