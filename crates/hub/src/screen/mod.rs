//! Tests of workers before paid work: real tasks whose answers the hub knows and the worker cannot.
//!
//! The core says when a runtime of a device is to be tested, and what follows from the outcome. Here a test is run: it
//! is a task like any other to the worker, with data, keys and outputs that travel the ordinary way, but none of the core's
//! jobs. Inputs are drawn anew each time, the hub computes the answers itself, and it takes the time itself. Nothing that
//! a worker says of its own speed counts.
mod container;
mod course;
mod exercise;
mod frame;
mod goods;
mod kernel;
mod product;
mod room;
mod trace;
mod walk;

pub(crate) use room::is_test;

use crate::Error;
use crate::data::Data;
use crate::keeper::{Command, Handle};
use crate::metrics::Metrics;
use crate::traces::Traces;
use course::{Course, Trouble, time_max};
use gleaner_core::{Event, Session};
use gleaner_wire::api::KeysView;
use gleaner_wire::{Finished, JobId, Runtime, ToWorker, WorkerId, WorkerKey};
use goods::Goods;
use room::{Room, Test};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::{Semaphore, oneshot, watch};

/// Tests that run at a time; others wait, which does not count against them.
const TESTS_AT_A_TIME: usize = 64;
/// Answers that are computed again at a time.
const CHECKS_AT_A_TIME: usize = 2;

/// A runtime of a device to be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    /// Whose device.
    pub(crate) worker: WorkerId,
    /// Its key.
    pub(crate) key: WorkerKey,
    /// Its connection.
    pub(crate) session: Session,
    /// The position of the device in its offer.
    pub(crate) device: u16,
    /// Which runtime.
    pub(crate) runtime: Runtime,
}

/// Runs tests. Clones are the same.
#[derive(Clone)]
pub(crate) struct Screener(Arc<Inner>);

/// What all tests share.
struct Inner {
    keeper: Handle,
    runtime: tokio::runtime::Handle,
    goods: Arc<Goods>,
    room: Room,
    metrics: Arc<Metrics>,
    traces: Traces,
    turns: Arc<Semaphore>,
    checks: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl Screener {
    /// Tests with the account whose secret is in the hub's folder, on this runtime.
    pub(crate) fn open(
        dir: &Path,
        data: Arc<Data>,
        keeper: Handle,
        (metrics, traces): (Arc<Metrics>, Traces),
        runtime: tokio::runtime::Handle,
        stopping: watch::Receiver<bool>,
    ) -> Result<Self, Error> {
        let goods = Arc::new(Goods::open(dir, data)?);
        let turns = Arc::new(Semaphore::new(TESTS_AT_A_TIME));
        let checks = Arc::new(Semaphore::new(CHECKS_AT_A_TIME));
        let room = Room::default();
        Ok(Self(Arc::new(Inner { keeper, runtime, goods, room, metrics, traces, turns, checks, stopping })))
    }

    /// Begins a test; its outcome is told to the keeper. One that the worker was in is broken off. Does not wait.
    pub(crate) fn begin(&self, screen: Screen) {
        let inner = Arc::clone(&self.0);
        let test = Test::draw();
        let broken_off = test.as_ref().ok().map(|test| inner.room.enter(&screen, *test));
        inner.metrics.test_began();
        self.0.runtime.spawn(async move {
            match (test, broken_off) {
                (Ok(test), Some(broken_off)) => inner.run(screen, test, broken_off).await,
                (Ok(_) | Err(_), _) => {
                    let why = "the hub could not draw a test".to_owned();
                    inner.tell(screen, Err(why)).await;
                }
            }
        });
    }

    /// The worker's connection has ended: so has its test, and nobody is told of an outcome.
    pub(crate) fn leave(&self, worker: WorkerId) {
        self.0.room.leave(worker);
    }

    /// Takes the ends of tests out of what a worker reports, and returns the rest.
    pub(crate) fn take(&self, worker: WorkerId, results: Vec<Finished>) -> Vec<Finished> {
        self.0.room.take(worker, results)
    }

    /// Whether this job is the test that a worker is in.
    pub(crate) fn is_tested(&self, worker: WorkerId, job: JobId) -> bool {
        self.0.room.is_tested(worker, job)
    }

    /// The keys of a test, for the worker that is in it.
    pub(crate) fn keys(&self, who: (WorkerId, WorkerKey), job: JobId, group: u16) -> Option<KeysView> {
        self.0.room.keys(who, job, group, &self.0.goods.signer)
    }
}

impl Inner {
    /// One test, to its end.
    async fn run(self: &Arc<Self>, screen: Screen, test: Test, broken_off: oneshot::Receiver<()>) {
        let (mut stopping, begun) = (self.stopping.clone(), SystemTime::now());
        let outcome = tokio::select! {
            outcome = self.outcome(screen, test) => outcome,
            _ = broken_off => Err(Trouble::BrokenOff),
            _ = stopping.changed() => Err(Trouble::BrokenOff),
        };
        self.traces.tested(test.job, screen.worker, begun, outcome.is_ok());
        let outcome = match outcome {
            Ok(score) => Ok(score),
            Err(Trouble::Failed(why)) => Err(why),
            Err(Trouble::BrokenOff) => return,
        };
        let running = self.room.end(screen.worker, test);
        let cancel = running.map(|attempt| ToWorker::Cancel(vec![attempt]));
        let messages = cancel.into_iter().chain([ToWorker::Forget(test.job)]).collect();
        // A keeper that has stopped has no connections left either.
        let _ = self.keeper.send(Command::Say { worker: screen.worker, messages }).await;
        self.tell(screen, outcome).await;
    }

    /// The score, or what was wrong.
    async fn outcome(self: &Arc<Self>, screen: Screen, test: Test) -> Result<u32, Trouble> {
        let _turn = self.turns.acquire().await;
        let time_left = time_max(screen.runtime);
        Course { inner: Arc::clone(self), screen, test, group: 0, time_left }.run().await
    }

    /// Tells the core, however long it is busy: it waits for this before it tests anything else of the worker.
    async fn tell(&self, screen: Screen, outcome: Result<u32, String>) {
        let Screen { worker, session, device, runtime, .. } = screen;
        tracing::debug!(%worker, device, %runtime, ?outcome, "a test has ended");
        self.metrics.test_ended(outcome.is_ok());
        let event = Box::new(Event::Screened { worker, session, device, runtime, outcome });
        let (applied, _) = oneshot::channel();
        // A keeper that has stopped tests again when it starts.
        let _ = self.keeper.send(Command::Happened { event, applied }).await;
    }

    fn chance(&self) -> Result<u64, Error> {
        let bytes = crate::token::random_bytes()?;
        Ok(u64::from_le_bytes(*bytes.first_chunk().expect("there are 32 bytes")))
    }

    /// Does something that takes the disk or the processor for a while.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Trouble> {
        tokio::task::spawn_blocking(work).await.map_err(|_| Trouble::Failed("the hub gave up on a test".to_owned()))
    }
}

/// Says that a test of a real part could not run here; `scripts/test`, which installs those parts, does not allow it.
#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a skipped test is never silent")]
fn skipped(why: &str) {
    assert!(std::env::var_os("GLEANER_TEST_EVERYTHING").is_none(), "{why}");
    eprintln!("skipped: {why}");
}
