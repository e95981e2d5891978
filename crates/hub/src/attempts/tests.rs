#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use super::*;

fn record(attempt: u64, started: u64, end: End) -> Record {
    let ended = Some((Millis(started + 5), end));
    let (worker, why) = (WorkerId(1), "the best idle device that fits".to_owned());
    Record {
        attempt: AttemptId(attempt),
        group: 0,
        index: 0,
        worker,
        started: Millis(started),
        ended,
        why,
        second: false,
    }
}

#[test]
fn a_job_keeps_its_newest_attempts_and_knows_how_many_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("attempts.db")).unwrap();
    let job = JobId(3);
    let rows: Vec<_> = (1..=PER_JOB_MAX + 40).map(|number| (job, number, record(number, number, End::Done))).collect();
    for some in rows.chunks(777) {
        store.add(some).unwrap();
    }
    let listed = store.of(job).unwrap();
    assert_eq!((listed.records.len() as u64, listed.not_listed), (PER_JOB_MAX, 40));
    assert_eq!(listed.records[0].attempt, AttemptId(41));
    assert_eq!(store.last(job).unwrap(), PER_JOB_MAX + 40);
}

#[test]
fn a_result_that_was_found_wrong_later_is_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("attempts.db")).unwrap();
    store.add(&[(JobId(1), 1, record(7, 10, End::Done)), (JobId(1), 2, record(8, 11, End::Done))]).unwrap();
    store.correct(JobId(1), AttemptId(8), End::Failed(Cause::Refuted)).unwrap();
    let states: Vec<_> = store.of(JobId(1)).unwrap().records.iter().map(Record::state).collect();
    assert_eq!(states, [(AttemptState::Done, None), (AttemptState::Failed, Some(Cause::Refuted))]);
}

#[test]
fn attempts_are_there_again_when_the_file_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("attempts.db");
    let mut store = Store::open(&path).unwrap();
    store.add(&[(JobId(1), 1, record(7, 10, End::Cancelled))]).unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!((store.of(JobId(1)).unwrap().records.len(), store.last(JobId(1)).unwrap()), (1, 1));
}
