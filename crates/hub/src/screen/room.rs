//! The tests that are under way: whose they are, what opens their data, and where their ends are waited for.
use super::Screen;
use crate::Error;
use ed25519_dalek::SigningKey;
use gleaner_data::seal::TaskKeys;
use gleaner_wire::api::KeysView;
use gleaner_wire::{AttemptId, Finished, JobId, Outcome, WorkerId, WorkerKey};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// What the core never has: it numbers jobs from 1. The highest bit is left out, because SQLite has no use for it.
const JOB_MARK: u64 = 1 << 62;
/// What the core never has: attempts are numbered by their places in a table that has no such place.
const ATTEMPT_MARK: u64 = 1 << 63 | 1 << 31;

/// Whether a number is that of a test, now or once.
pub(crate) fn is_test(job: JobId) -> bool {
    job.0 & JOB_MARK != 0
}

/// How an attempt ended, and when that was heard.
pub(super) struct Ended {
    pub(super) at: Instant,
    pub(super) outcome: Outcome,
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) job: JobId,
    submission: u128,
}

impl Test {
    /// Numbers that nobody can foresee.
    pub(super) fn draw() -> Result<Self, Error> {
        let bytes = crate::token::random_bytes()?;
        let (job, rest) = bytes.split_first_chunk().expect("there are 32 bytes");
        let submission = u128::from_le_bytes(*rest.first_chunk().expect("there are 24 bytes"));
        Ok(Self { job: JobId((u64::from_le_bytes(*job) | JOB_MARK) & (JOB_MARK << 1).wrapping_sub(1)), submission })
    }
}

/// A test that is under way.
struct Active {
    test: Test,
    key: WorkerKey,
    /// What each round needs, by its group.
    keys: BTreeMap<u16, TaskKeys>,
    waiting: Option<(AttemptId, oneshot::Sender<Ended>)>,
    /// Dropped when the test is broken off.
    _broken_off: oneshot::Sender<()>,
}

/// All tests that are under way; a worker has one at a time.
#[derive(Default)]
pub(super) struct Room(Mutex<HashMap<WorkerId, Active>>);

impl Room {
    fn tests(&self) -> MutexGuard<'_, HashMap<WorkerId, Active>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a test; one that the worker had is broken off. Who gets the answer is told when this one is.
    pub(super) fn enter(&self, screen: &Screen, test: Test) -> oneshot::Receiver<()> {
        let (sender, broken_off) = oneshot::channel();
        let (keys, waiting) = (BTreeMap::new(), None);
        let active = Active { test, key: screen.key, keys, waiting, _broken_off: sender };
        self.tests().insert(screen.worker, active);
        broken_off
    }

    /// The worker has gone away: its test is broken off.
    pub(super) fn leave(&self, worker: WorkerId) {
        self.tests().remove(&worker);
    }

    /// A test is over. Says which attempt of it has not ended.
    pub(super) fn end(&self, worker: WorkerId, test: Test) -> Option<AttemptId> {
        let mut tests = self.tests();
        tests.get(&worker).filter(|active| active.test == test)?;
        tests.remove(&worker)?.waiting.map(|(attempt, _)| attempt)
    }

    /// Waits for the end of a new attempt; its keys are ready to be fetched. None if the test is broken off.
    pub(super) fn expect(
        &self,
        worker: WorkerId,
        test: Test,
        group: u16,
        keys: TaskKeys,
    ) -> Result<Option<(AttemptId, oneshot::Receiver<Ended>)>, Error> {
        let bytes = crate::token::random_bytes()?;
        let attempt = AttemptId(u64::from_le_bytes(*bytes.first_chunk().expect("there are 32 bytes")) | ATTEMPT_MARK);
        let mut tests = self.tests();
        let Some(active) = tests.get_mut(&worker).filter(|active| active.test == test) else { return Ok(None) };
        let (sender, ended) = oneshot::channel();
        active.keys.insert(group, keys);
        active.waiting = Some((attempt, sender));
        Ok(Some((attempt, ended)))
    }

    /// Takes out the ends of tests, and hands on the others.
    pub(super) fn take(&self, worker: WorkerId, mut results: Vec<Finished>) -> Vec<Finished> {
        if results.iter().all(|result| result.attempt.0 & ATTEMPT_MARK != ATTEMPT_MARK) {
            return results;
        }
        let at = Instant::now();
        let mut tests = self.tests();
        let Some(active) = tests.get_mut(&worker) else { return results };
        let of_test = |result: &Finished| active.waiting.as_ref().is_some_and(|(id, _)| *id == result.attempt);
        if let Some(position) = results.iter().position(of_test) {
            let outcome = results.remove(position).outcome;
            if let Some((_, waiting)) = active.waiting.take() {
                // Whoever waited may have given up this moment.
                let _ = waiting.send(Ended { at, outcome });
            }
        }
        results
    }

    /// Whether a worker is being tested by this job.
    pub(super) fn is_tested(&self, worker: WorkerId, job: JobId) -> bool {
        self.tests().get(&worker).is_some_and(|active| active.test.job == job)
    }

    /// The keys of a test, for the worker that it is for.
    pub(super) fn keys(
        &self,
        (worker, key): (WorkerId, WorkerKey),
        job: JobId,
        group: u16,
        signer: &SigningKey,
    ) -> Option<KeysView> {
        let tests = self.tests();
        let active = tests.get(&worker).filter(|active| active.test.job == job && active.key == key)?;
        let (keys, submission) = (active.keys.get(&group)?.clone(), active.test.submission);
        drop(tests);
        let wrapped = keys.sign(submission, group, signer).wrap(submission, group, key).ok()?;
        let owner = WorkerKey(signer.verifying_key().to_bytes());
        let keys = vec![wrapped.iter().map(|byte| format!("{byte:02x}")).collect()];
        Some(KeysView { submission: format!("{submission:032x}"), owner, keys, attended: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_data::seal::SignedTaskKeys;
    use gleaner_wire::{Cause, Micros, Runtime};

    fn key(number: u8) -> (SigningKey, WorkerKey) {
        let key = SigningKey::from_bytes(&[number; 32]);
        let public = WorkerKey(key.verifying_key().to_bytes());
        (key, public)
    }

    fn finished(attempt: AttemptId) -> Finished {
        let outcome = Outcome::Failed { cause: Cause::DeviceFault, detail: attempt.to_string() };
        Finished { attempt, ran: Micros(1), outcome }
    }

    fn entered(worker: u32) -> (Room, Screen, Test, oneshot::Receiver<()>) {
        let (room, test) = (Room::default(), Test::draw().expect("drawn"));
        let screen = Screen {
            worker: WorkerId(worker),
            key: key(7).1,
            session: gleaner_core::Session(1),
            device: 0,
            runtime: Runtime::Wasm,
        };
        let broken_off = room.enter(&screen, test);
        (room, screen, test, broken_off)
    }

    fn keys() -> TaskKeys {
        TaskKeys { program: [1; 32], output: [2; 32], inputs: Vec::new() }
    }

    #[test]
    fn numbers_of_tests_are_none_of_the_cores() {
        for _ in 0..100 {
            let (room, screen, test, _) = entered(1);
            assert!(is_test(test.job) && i64::try_from(test.job.0).is_ok());
            let (attempt, _) = room.expect(screen.worker, test, 0, keys()).expect("drawn").expect("under way");
            assert!(attempt.0 as u32 > u32::MAX / 2, "there is no such place in the core's table");
        }
        assert!(!is_test(JobId(1)));
    }

    #[test]
    fn ends_of_tests_are_taken_out_and_others_handed_on() {
        let (room, screen, test, _broken_off) = entered(3);
        let (attempt, mut ended) = room.expect(screen.worker, test, 0, keys()).expect("drawn").expect("under way");
        let others = vec![finished(AttemptId(5)), finished(AttemptId(attempt.0 ^ 1))];
        assert_eq!(room.take(screen.worker, others.clone()), others);
        let all = vec![others[0].clone(), finished(attempt), others[1].clone()];
        assert_eq!(room.take(WorkerId(4), all.clone()), all, "it is not that worker's test");
        assert_eq!(room.take(screen.worker, all), others);
        assert_eq!(ended.try_recv().expect("it has ended").outcome, finished(attempt).outcome);
        assert_eq!(room.take(screen.worker, vec![finished(attempt)]).len(), 1, "it ended before");
    }

    #[test]
    fn keys_are_for_the_tested_worker_and_open_for_it_alone() {
        let (room, screen, test, _broken_off) = entered(3);
        room.expect(screen.worker, test, 2, keys()).expect("drawn").expect("under way");
        let (hub, worker) = (key(1), key(7));
        assert_eq!(room.keys((WorkerId(4), worker.1), test.job, 2, &hub.0), None);
        assert_eq!(room.keys((screen.worker, key(8).1), test.job, 2, &hub.0), None);
        assert_eq!(room.keys((screen.worker, worker.1), test.job, 1, &hub.0), None);
        let view = room.keys((screen.worker, worker.1), test.job, 2, &hub.0).expect("they are its own");
        let digits = view.keys[0].as_bytes().as_chunks::<2>().0.iter();
        let number = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("hex");
        let wrapped: Vec<u8> = digits.map(number).collect();
        let submission = u128::from_str_radix(&view.submission, 16).expect("a number");
        let opened = SignedTaskKeys::unwrap(&wrapped, submission, 2, &worker.0, view.owner).expect("opens");
        assert_eq!(opened.keys, keys());
        room.leave(screen.worker);
        assert_eq!(room.keys((screen.worker, worker.1), test.job, 2, &hub.0), None);
    }

    #[test]
    fn a_test_is_broken_off_when_its_worker_goes_or_begins_another() {
        let (room, screen, test, mut first) = entered(3);
        assert!(first.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty));
        let next = Test::draw().expect("drawn");
        let mut second = room.enter(&screen, next);
        assert_eq!(first.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert!(room.expect(screen.worker, test, 0, keys()).expect("drawn").is_none());
        room.end(screen.worker, test);
        assert!(room.is_tested(screen.worker, next.job), "the end of the first is not that of the second");
        room.leave(screen.worker);
        assert_eq!(second.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert!(!room.is_tested(screen.worker, next.job));
    }
}
