//! What a worker does with a hub's messages. It outlives connections: what runs goes on while none stands.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use gleaner_wire::machine::MachineSettings;
use gleaner_wire::{
    Amount, AttemptId, BIDS_MAX, Cause, DeviceOffer, Finished, Held, Invitation, JobId, Micros, Outcome, Output,
    StartAttempt, TaskSpec, ToWorker,
};
use tokio::sync::watch;
use tracing::Instrument;

use crate::bidding::Bidding;
use crate::compare::{Comparison, Desk};
use crate::deliver::needed_by_owner;
use crate::depot::Depot;
use crate::failure::Failure;
use crate::group::{Group, Preparer, Ready};
use crate::holdings::Holdings;
use crate::hub_link::HubLink;
use crate::lane::{Lane, Shared};
use crate::outbox::Outbox;
use crate::owner::{IdleGate, OurGroups};
use crate::price::Market;
use crate::steering::Steering;
use crate::trail::Trails;
use crate::watch::Cancels;

/// The most specifications that a worker keeps; a hub forgets those of ended jobs.
const GROUPS_MAX: usize = 200_000;
/// Attempts of one message that are made ready at a time.
const PREPARED_AT_A_TIME: usize = 16;

/// The worker behind its connections.
pub struct Agent {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) hub: HubLink,
    pub(crate) depot: Arc<Depot>,
    holdings: Mutex<Holdings>,
    groups: Mutex<HashMap<(JobId, u16), Arc<Group>>>,
    cancels: Arc<Cancels>,
    lanes: Vec<Lane>,
    desk: Desk,
    preparer: Preparer,
    shared: Arc<Shared>,
    /// The devices that their owner needs now.
    pub(crate) resting: watch::Sender<Vec<u16>>,
    /// Whether the worker was paused through the hub.
    pub(crate) paused: watch::Sender<bool>,
    /// The owner's idle command.
    pub(crate) idle: Arc<IdleGate>,
    /// By what processes of programs are known to be ours.
    pub(crate) ours: OurGroups,
    /// What was earned on this hub.
    pub(crate) earned: watch::Sender<Amount>,
    /// Its bids where tasks are sold by auction.
    pub(crate) bidding: Arc<Bidding>,
    /// What the owner sets from afar.
    pub(crate) steering: Arc<Steering>,
    /// What is offered of each device.
    devices: Vec<DeviceOffer>,
    /// What others ask, where the owner follows them.
    pub(crate) market: watch::Sender<Market>,
    /// What is asked for a second of each device.
    pub(crate) prices: watch::Sender<Vec<Amount>>,
}

impl Drop for Agent {
    /// However a worker ends, its devices' threads are told before they are waited for.
    fn drop(&mut self) {
        self.stop();
    }
}

/// A message that no hub may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// Too many attempts.
    #[error("the hub started more attempts than a worker may hold")]
    TooManyAttempts,
    /// Too many specifications.
    #[error("the hub sent more specifications than a worker keeps")]
    TooManySpecs,
    /// A message of the handshake.
    #[error("the hub sent a message of the handshake after it")]
    OutOfOrder,
}

impl Agent {
    /// A worker with these devices.
    pub fn new(
        lanes: Vec<Lane>,
        preparer: Preparer,
        shared: Arc<Shared>,
        outbox: Arc<Outbox>,
        hub: HubLink,
        (depot, ours): (Arc<Depot>, OurGroups),
        (bidding, steering, devices): (Bidding, Steering, Vec<DeviceOffer>),
    ) -> Self {
        let cancels = shared.cancels.clone();
        let (holdings, groups) = (Mutex::default(), Mutex::default());
        let (resting, paused) = (watch::Sender::default(), watch::Sender::default());
        Self {
            outbox,
            hub,
            depot,
            holdings,
            groups,
            desk: Desk::new(cancels.clone()),
            cancels,
            lanes,
            preparer,
            idle: shared.idle.clone(),
            shared,
            resting,
            paused,
            ours,
            earned: watch::Sender::default(),
            bidding: Arc::new(bidding),
            steering: Arc::new(steering),
            devices,
            market: watch::Sender::default(),
            prices: watch::Sender::default(),
        }
    }

    /// The attempts and results that the worker holds.
    pub fn holdings(&self) -> MutexGuard<'_, Holdings> {
        self.holdings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn groups(&self) -> MutexGuard<'_, HashMap<(JobId, u16), Arc<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The images that this machine has of registries, last used first.
    pub fn images(&self) -> Vec<Held> {
        self.preparer.images.held()
    }

    /// The owner needs a device, or gives it back. New attempts are refused at once, what runs is stopped.
    pub fn rest(&self, device: u16, resting: bool) {
        let Some(lane) = self.lanes.get(usize::from(device)) else { return };
        lane.rest(resting);
        if resting {
            self.desk.rest(device);
        }
        self.resting.send_if_modified(|devices| {
            let before = devices.len();
            devices.retain(|other| *other != device);
            if resting {
                devices.push(device);
            }
            devices.sort_unstable();
            devices.len() != before
        });
    }

    /// Waits until a device that rests is free; says whether that came in time.
    pub fn wait_until_free(&self, device: u16, time: Duration) -> bool {
        self.lanes.get(usize::from(device)).is_none_or(|lane| lane.wait_until_free(time))
    }

    /// Whether a device does nothing for the hub.
    pub fn is_idle(&self, device: u16) -> bool {
        self.lanes.get(usize::from(device)).is_none_or(Lane::is_idle)
    }

    /// Who hears how long things took.
    pub fn trails(&self) -> &Trails {
        &self.shared.trails
    }

    /// Ends everything that runs. The devices' threads end when the agent is dropped.
    pub fn stop(&self) {
        self.cancels.cancel_all();
        self.hub.close();
        self.shared.delivery.close();
    }

    /// Does what a message says. Returns the reason if the hub refuses the worker.
    pub fn on_message(self: &Arc<Self>, message: ToWorker) -> Result<Option<String>, Breach> {
        match message {
            ToWorker::Challenge { .. } | ToWorker::Welcome { .. } => return Err(Breach::OutOfOrder),
            ToWorker::Refused { reason } => return Ok(Some(reason)),
            ToWorker::Spec { job, group, spec } => self.on_spec(job, group, spec)?,
            ToWorker::Start(starts) => self.on_start(starts)?,
            ToWorker::Cancel(attempts) => self.on_cancel(&attempts),
            ToWorker::Yield { attempt, .. } => {
                if self.holdings().has(attempt) {
                    self.cancels.outbid(attempt);
                }
            }
            ToWorker::Acknowledge { batch, earned } => {
                self.on_acknowledge(batch);
                self.note_earned(earned);
            }
            ToWorker::Forget(job) => self.groups().retain(|(of, _), _| *of != job),
            ToWorker::Paused(paused) => {
                self.paused.send_replace(paused);
            }
            ToWorker::Invite(invitations) => self.on_invite(invitations),
            ToWorker::Reveal(asked) => self.bidding.open(&asked),
            ToWorker::Earned(earned) => self.note_earned(earned),
            ToWorker::Set { number, settings } => self.on_set(number, settings),
            // Only the owner wants to know, and the session tells.
            ToWorker::Screened { .. } => {}
        }
        Ok(None)
    }

    fn note_earned(&self, earned: Amount) {
        self.earned.send_if_modified(|known| std::mem::replace(known, earned) != earned);
    }

    /// What the owner sets is kept on disk before it is answered.
    fn on_set(self: &Arc<Self>, number: u64, settings: MachineSettings) {
        let agent = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            agent.steering.answer(number, &settings, &agent.devices, &agent.bidding.least());
        });
    }

    /// Bids are thought about beside everything else: the owner's own command may take its time.
    fn on_invite(&self, mut invitations: Vec<Invitation>) {
        invitations.truncate(BIDS_MAX);
        let resting = self.resting.borrow().clone();
        let is_free = move |device| !resting.contains(&device);
        tokio::spawn(self.bidding.clone().answer(invitations, is_free));
    }

    /// A specification may come again on a new connection; what was made ready for it stays.
    fn on_spec(&self, job: JobId, number: u16, mut spec: TaskSpec) -> Result<(), Breach> {
        self.shared.delivery.heed(job, &mut spec);
        let mut groups = self.groups();
        if groups.get(&(job, number)).is_some_and(|known| known.spec == spec) {
            return Ok(());
        }
        if groups.len() >= GROUPS_MAX {
            return Err(Breach::TooManySpecs);
        }
        groups.insert((job, number), Arc::new(Group::new(job, number, spec)));
        Ok(())
    }

    fn on_start(self: &Arc<Self>, starts: Vec<StartAttempt>) -> Result<(), Breach> {
        let mut ready: Vec<Vec<Ready>> = self.lanes.iter().map(|_| Vec::new()).collect();
        let mut unready: HashMap<(JobId, u16), (Arc<Group>, Vec<StartAttempt>)> = HashMap::new();
        let groups = self.groups();
        let mut holdings = self.holdings();
        for start in holdings.take(starts).ok_or(Breach::TooManyAttempts)? {
            self.shared.trails.begin(&start);
            let key = (start.job, start.group);
            let Some(group) = groups.get(&key) else {
                self.fail(start.attempt, Failure::new(Cause::HubFault, "the hub sent no specification of the task"));
                continue;
            };
            let lane = usize::from(start.device);
            if lane >= ready.len() || u64::from(start.index) >= group.spec.extent.count() {
                self.fail(start.attempt, Failure::new(Cause::HubFault, "there is no such device or element"));
                continue;
            }
            match group.ready_at_once(&start) {
                Some(attempt) => ready[lane].push(attempt),
                None => unready.entry(key).or_insert_with(|| (group.clone(), Vec::new())).1.push(start),
            }
        }
        drop((groups, holdings));
        for (lane, attempts) in self.lanes.iter().zip(ready) {
            if !attempts.is_empty() {
                lane.push(attempts);
            }
        }
        for (group, starts) in unready.into_values() {
            tokio::spawn(self.clone().make_ready(group, starts));
        }
        Ok(())
    }

    /// Fetches what attempts need and lets each wait for its device as soon as it has everything.
    async fn make_ready(self: Arc<Self>, group: Arc<Group>, starts: Vec<StartAttempt>) {
        let prepare = |start: StartAttempt| {
            let (agent, group) = (&self, &group);
            let line = self.shared.trails.line(start.job, (start.group, start.index), start.attempt);
            let ready = async move {
                if agent.cancels.has(start.attempt) {
                    return agent.finish(start.attempt, Outcome::Cancelled);
                }
                if let Some(outputs) = start.compare {
                    return agent.compare(group, &start, outputs).await;
                }
                match agent.preparer.prepare(group, &start, &agent.shared.trails).await {
                    Ok(ready) => agent.lanes[usize::from(start.device)].push([ready]),
                    Err(failure) => agent.fail(start.attempt, failure),
                }
            };
            ready.instrument(line)
        };
        stream::iter(starts).map(prepare).buffer_unordered(PREPARED_AT_A_TIME).collect::<()>().await;
    }

    /// Compares two results: by the requester's program on its device, or at the desk.
    async fn compare(&self, group: &Arc<Group>, start: &StartAttempt, outputs: [Output; 2]) {
        let (attempt, device) = (start.attempt, start.device);
        let pair = match self.preparer.comparison(group, start, outputs).await {
            Ok(Comparison::AtDesk(pair)) => pair,
            Ok(Comparison::OnDevice(ready)) => return self.lanes[usize::from(device)].push([*ready]),
            Ok(Comparison::Known(compared)) => return self.finish(attempt, Outcome::Done(compared.to_output())),
            Err(failure) => return self.fail(attempt, failure),
        };
        if self.resting.borrow().contains(&device) {
            return self.fail(attempt, needed_by_owner());
        }
        let time = Duration::from_millis(start.time_ms.min(group.spec.limits.time_ms).0);
        let finished = self.desk.compare(attempt, device, time, pair).await;
        self.cancels.forget(attempt);
        self.outbox.push(finished, true);
    }

    fn on_cancel(&self, attempts: &[AttemptId]) {
        let holdings = self.holdings();
        for attempt in attempts.iter().filter(|attempt| holdings.has(**attempt)) {
            self.cancels.cancel(*attempt);
        }
    }

    /// A cancel may come for an attempt that has ended here and was still held; nothing else would forget it.
    fn on_acknowledge(&self, batch: u64) {
        let released = self.holdings().acknowledge(batch);
        self.shared.trails.end(&released);
        for attempt in released {
            self.cancels.forget(attempt);
        }
    }

    fn fail(&self, attempt: AttemptId, failure: Failure) {
        self.finish(attempt, Outcome::Failed { cause: failure.cause, detail: failure.detail });
    }

    fn finish(&self, attempt: AttemptId, outcome: Outcome) {
        self.cancels.forget(attempt);
        self.outbox.push(Finished { attempt, ran: Micros(0), outcome }, true);
    }
}

#[cfg(test)]
mod tests {
    use gleaner_client::HubAddress;
    use gleaner_wire::{ATTEMPTS_HELD_MAX, Millis};
    use tokio::sync::mpsc;

    use super::*;
    use crate::deliver::Delivery;
    use crate::images::Images;
    use crate::trail::Trails;

    /// A worker without devices: whatever it starts fails at once.
    fn agent(dir: &std::path::Path) -> Arc<Agent> {
        let hub = HubLink::new(&HubAddress::parse("http://127.0.0.1:9", None).expect("an address")).expect("a client");
        let key = ed25519_dalek::SigningKey::from_bytes(&[1; 32]);
        let depot = Arc::new(Depot::with_limit(dir, key, hub.clone(), 1 << 20).expect("opens"));
        let (outbox, cancels) = (Arc::new(Outbox::default()), Arc::new(Cancels::default()));
        let runtime = tokio::runtime::Handle::current();
        let delivery = Delivery::new(runtime, depot.clone(), outbox.clone(), cancels.clone(), None, Trails::default());
        let logs = mpsc::channel(1).0;
        let shared =
            Arc::new(Shared { delivery, cancels, logs: logs.clone(), idle: Arc::default(), trails: Trails::default() });
        let preparer = Preparer::new(depot.clone(), hub.clone(), None, Images::new(None, logs));
        let bidding = Bidding::new(gleaner_wire::WorkerKey([1; 32]), gleaner_machine::Bid::Fixed, Vec::new());
        let steering = Steering::open(dir, gleaner_machine::Preferences::default(), false);
        let set = (bidding, steering, Vec::new());
        Arc::new(Agent::new(Vec::new(), preparer, shared, outbox, hub, (depot, OurGroups::default()), set))
    }

    fn start(attempts: impl IntoIterator<Item = u64>) -> ToWorker {
        let (job, group, index, device, time_ms) = (JobId(1), 0, 0, 0, Millis(1));
        let start = |attempt| StartAttempt {
            attempt,
            job,
            group,
            index,
            device,
            time_ms,
            outputs: Vec::new(),
            checkpoint: None,
            compare: None,
        };
        ToWorker::Start(attempts.into_iter().map(AttemptId).map(start).collect())
    }

    #[tokio::test]
    async fn a_refused_start_leaves_nothing_held() {
        let dir = tempfile::tempdir().expect("a folder");
        let agent = agent(dir.path());
        let refused = agent.on_message(start(0..=ATTEMPTS_HELD_MAX as u64));
        assert_eq!(refused, Err(Breach::TooManyAttempts));
        assert!(agent.holdings().list().is_empty());
        assert!(agent.outbox.take_now().is_empty());
    }

    #[tokio::test]
    async fn a_cancel_of_what_has_ended_is_forgotten_with_its_acknowledgement() {
        let dir = tempfile::tempdir().expect("a folder");
        let agent = agent(dir.path());
        agent.on_message(start([1])).expect("is in order");
        let ended = agent.outbox.take_now();
        assert_eq!(ended.len(), 1);
        agent.on_message(ToWorker::Cancel(vec![AttemptId(1)])).expect("is in order");
        let batch = agent.holdings().finish(ended);
        agent.on_message(ToWorker::Acknowledge { batch, earned: Amount::ZERO }).expect("is in order");
        assert!(!agent.cancels.has(AttemptId(1)));
        agent.on_message(ToWorker::Cancel(vec![AttemptId(1)])).expect("is in order");
        assert!(!agent.cancels.has(AttemptId(1)), "it is not held any more");
    }
}
