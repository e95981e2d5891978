//! The world's own books of tests, resting devices and checkpoints: who may be given what.
//!
//! Like `books` it goes by events and effects, and believes nothing that the core has reckoned by itself.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::{Core, Effect, Event, Session};
use gleaner_wire::{AttemptId, Cause, JobId, Offer, Outcome, Output, Runtime, StartAttempt, TaskId, WorkerId};

use crate::books::ensure;

/// What the world knows of a worker that has been let in.
#[derive(Default)]
struct Known {
    session: Option<Session>,
    offer: Option<Offer>,
    /// The devices that the hub was told to leave alone.
    resting: BTreeSet<u16>,
    /// The test that is under way.
    test: Option<(u16, Runtime)>,
    passed: BTreeSet<(u16, Runtime)>,
}

impl Known {
    /// A test that is broken off has to be passed before there is more work.
    fn break_off(&mut self) {
        if let Some(test) = self.test.take() {
            self.passed.remove(&test);
        }
    }
}

/// Whether the next attempt at a task begins anew: what was saved may be why this one failed.
fn begins_anew(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { cause: Cause::ProgramFault | Cause::BadInput, .. })
}

/// The books.
#[derive(Default)]
pub(crate) struct TestBooks {
    screening: bool,
    workers: BTreeMap<WorkerId, Known>,
    /// Who asks to be let in with the current event.
    joining: Option<(Session, Offer, BTreeSet<u16>)>,
    /// The outcome that the current event reports, of a test that was under way.
    outcome: Option<(WorkerId, u16, Runtime, bool)>,
    /// What was last saved of each task, by whoever had it.
    saved: BTreeMap<(JobId, u16, u32), Output>,
    /// How often each task has begun anew because a result was refused that was built on what was saved.
    refused: BTreeMap<(JobId, u16, u32), usize>,
}

impl TestBooks {
    pub fn new(screening: bool) -> Self {
        Self { screening, ..Self::default() }
    }

    /// Looks at an event before it is applied; `owner` says who was given a running attempt, and of which task.
    pub fn before(&mut self, event: &Event, owner: impl Fn(AttemptId) -> Option<(WorkerId, (JobId, u16, u32))>) {
        (self.joining, self.outcome) = (None, None);
        match event {
            Event::WorkerJoined { session, offer, resting, .. } => {
                self.joining = Some((*session, offer.clone(), resting.iter().copied().collect()));
            }
            Event::DevicesRest { worker, devices } => {
                self.workers.entry(*worker).or_default().resting = devices.iter().copied().collect();
            }
            Event::WorkerLeft { worker, session } => {
                let known = self.workers.entry(*worker).or_default();
                if known.session == Some(*session) {
                    known.session = None;
                    known.break_off();
                }
            }
            Event::HubStarted => {
                for known in self.workers.values_mut() {
                    known.session = None;
                    known.break_off();
                }
            }
            Event::Screened { worker, session, device, runtime, outcome } => {
                let known = self.workers.entry(*worker).or_default();
                if known.session == Some(*session) && known.test == Some((*device, *runtime)) {
                    known.test = None;
                    self.outcome = Some((*worker, *device, *runtime, outcome.is_ok()));
                }
            }
            Event::Saved { worker, attempt, checkpoint } => {
                if let Some((_, task)) = owner(*attempt).filter(|(owner, _)| owner == worker) {
                    self.saved.insert(task, *checkpoint);
                }
            }
            Event::AttemptsFinished { worker, results, .. } => {
                let mut ended = BTreeSet::new();
                for result in results {
                    // What is said twice in one breath counts once.
                    let counts = ended.insert(result.attempt) && begins_anew(&result.outcome);
                    let owned = owner(result.attempt).filter(|(owner, _)| owner == worker);
                    if let Some((_, task)) = owned.filter(|_| counts) {
                        self.saved.remove(&task);
                    }
                }
            }
            Event::TimePassed
            | Event::Deposited { .. }
            | Event::WorkerPaused { .. }
            | Event::WorkerResumed { .. }
            | Event::WorkerReadmitted { .. }
            | Event::LeasesRenewed { .. }
            | Event::Holds { .. }
            | Event::Repriced { .. }
            | Event::JobSubmitted { .. }
            | Event::OrderLocked { .. }
            | Event::OrderRefused { .. }
            | Event::OrderClosed(_)
            | Event::TermsSeen(_)
            | Event::LockSeen { .. }
            | Event::StakeSeen { .. }
            | Event::JobCancelled { .. }
            | Event::RoundDrawn { .. }
            | Event::BidsSealed { .. }
            | Event::BidsOpened { .. }
            | Event::LotDrawn { .. }
            | Event::JobArchived { .. }
            | Event::WorkerManaged { .. }
            | Event::DemandTermsSet { .. } => {}
        }
    }

    /// A worker was let in. What it passed counts for as long as the device is the same.
    pub fn welcome(&mut self, worker: WorkerId) -> Result<(), String> {
        let (session, offer, resting) = self.joining.take().ok_or("a worker is welcome that did not join")?;
        let known = self.workers.entry(worker).or_default();
        known.break_off();
        let is_same = |(device, runtime): &(u16, Runtime)| {
            let of = |offer: &Offer| {
                let device = offer.devices.get(usize::from(*device))?;
                let offered = device.runtimes.iter().find(|offered| offered.runtime == *runtime)?;
                Some((device.kind, device.name.clone(), offered.engine.clone()))
            };
            known.offer.as_ref().and_then(of).is_some_and(|before| of(&offer) == Some(before))
        };
        let passed = known.passed.iter().filter(|test| is_same(test)).copied().collect();
        *known = Known { session: Some(session), offer: Some(offer), resting, test: None, passed };
        Ok(())
    }

    /// A test is to begin.
    pub fn screen(&mut self, effect: &Effect) -> Result<(), String> {
        let Effect::Screen { worker, session, device, runtime } = effect else { return Ok(()) };
        let known = self.workers.get_mut(worker).ok_or("a test of a worker that never joined")?;
        ensure(self.screening, || "a test where nobody is tested".into())?;
        ensure(known.session == Some(*session), || format!("a test of worker {worker} on a connection that is gone"))?;
        let before = known.test.replace((*device, *runtime));
        ensure(before.is_none(), || format!("two tests of worker {worker} at a time"))?;
        ensure(!known.resting.contains(device), || format!("a test of a device of worker {worker} that rests"))
    }

    /// The outcome of a test is told.
    pub fn told(&mut self, worker: WorkerId, device: u16, runtime: Runtime, passed: bool) -> Result<(), String> {
        let known = self.workers.get_mut(&worker).ok_or("a verdict on a worker that never joined")?;
        if !passed {
            known.passed.remove(&(device, runtime));
            return Ok(());
        }
        known.passed.insert((device, runtime));
        ensure(self.outcome == Some((worker, device, runtime, true)), || {
            format!("worker {worker} is said to have passed a test that it has not had")
        })
    }

    /// An attempt is started.
    pub fn start(&mut self, core: &Core, worker: WorkerId, start: &StartAttempt) -> Result<(), String> {
        let known = self.workers.get(&worker).ok_or("an attempt on a worker that never joined")?;
        let (device, task) = (start.device, (start.job, start.group, start.index));
        let at = || format!("task {}.{}.{} on device {device} of worker {worker}", task.0, task.1, task.2);
        ensure(!known.resting.contains(&device), || format!("{}, which rests", at()))?;
        ensure(known.test.is_none_or(|(of, _)| of != device), || format!("{}, which is being tested", at()))?;
        let runtime = core.spec(start.job, start.group).ok_or("an attempt of no group")?.work.runtime();
        let passed = !self.screening || known.passed.contains(&(device, runtime));
        ensure(passed, || format!("{}, which has passed no test", at()))?;
        // Whoever checks a result computes all of it.
        let saved = self.saved.get(&task).copied().filter(|_| !core.is_audit(start.attempt));
        if saved.is_some() && start.checkpoint.is_none() && self.was_refused(core, task) {
            self.saved.remove(&task);
            return Ok(());
        }
        ensure(saved == start.checkpoint, || format!("{} does not go on from where it was", at()))
    }

    /// Whether a result of a task was refused since it last began anew.
    fn was_refused(&mut self, core: &Core, task: (JobId, u16, u32)) -> bool {
        let (job, group, index) = task;
        let proofs = core.proofs(job, 0, usize::MAX);
        let ours = proofs.iter().filter(|proof| proof.task == TaskId { job, group, index } && !proof.verdict.pays());
        let count = ours.count();
        let before = self.refused.insert(task, count).unwrap_or(0);
        count > before
    }
}
