//! A worker as the world knows it: what it holds, what runs, and what it has not been told is safe yet.
//!
//! It keeps to the protocol of `wire`; what goes wrong with it is done to it by the world.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gleaner_wire::{AttemptId, AuctionId, Cause, DataRef, Finished, Hash, Millis, Offer, OpenedBid, Output, WorkerId};

use crate::cache::Cache;
use crate::scenario::{MILLISECOND, WorkerPlan};

/// The normal pace.
pub(crate) const PACE: u32 = 1000;

/// Where an attempt is on its worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// Its data is on the way.
    Fetching,
    /// It waits for a free slot.
    Waiting,
    /// It runs since `started`; at `since` there were `left` microseconds to go at the pace of then.
    Running { started: u64, since: u64, left: u64 },
    /// It ended; the hub has not said that it knows.
    Ended,
}

/// An attempt that a worker holds.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub device: u16,
    pub progress: Progress,
    /// Raised whenever its end moves, so that the old end is ignored.
    pub turn: u32,
    /// Running time that is paid for, in microseconds.
    pub limit: u64,
    /// Running time on the reference machine, in microseconds.
    pub work: u64,
    /// What it will deliver; `None` if the program is at fault.
    pub output: Option<Output>,
    pub cause: Cause,
    /// What it reads.
    pub sets: Vec<DataRef>,
}

#[derive(Clone, Debug)]
struct Device {
    slots: u16,
    busy: u16,
    waiting: VecDeque<AttemptId>,
}

/// When an attempt will end.
pub(crate) struct RunEnd {
    pub at: u64,
    pub attempt: AttemptId,
    pub turn: u32,
}

/// A worker.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub index: u32,
    pub speed: u32,
    /// Everything takes this many thousandths of the time it should.
    pub pace: u32,
    /// Its number on the hub, once it has been told.
    pub id: Option<WorkerId>,
    /// Its connection.
    pub session: Option<u64>,
    /// Connections made so far.
    pub connections: u32,
    /// Times it has changed its offer.
    pub version: u32,
    /// The devices that its owner needs.
    pub resting: BTreeSet<u16>,
    pub frozen_until: u64,
    /// Whether a heartbeat is on the agenda.
    pub beating: bool,
    /// Whether the hub has said that it is in.
    pub welcomed: bool,
    pub held: BTreeMap<AttemptId, Held>,
    /// Results by batch, until they are acknowledged.
    pub unacknowledged: VecDeque<(u64, Vec<Finished>)>,
    pub batches: u64,
    /// Device time used, in microseconds.
    pub used: u64,
    pub cache: Cache,
    /// Bids that it has sealed.
    pub bids: BTreeMap<(AuctionId, u16), OpenedBid>,
    devices: Vec<Device>,
}

impl Worker {
    pub fn new(index: u32, plan: &WorkerPlan) -> Self {
        Self {
            index,
            speed: plan.speed,
            pace: PACE,
            id: None,
            session: None,
            connections: 0,
            version: 0,
            resting: BTreeSet::new(),
            frozen_until: 0,
            beating: false,
            welcomed: false,
            held: BTreeMap::new(),
            unacknowledged: VecDeque::new(),
            batches: 0,
            used: 0,
            cache: Cache::new(plan.line, plan.room),
            bids: BTreeMap::new(),
            devices: Vec::new(),
        }
    }

    /// It will offer these devices from now on; what runs goes on.
    pub fn set_devices(&mut self, offer: &Offer) {
        self.devices.resize_with(offer.devices.len().max(self.devices.len()), || Device {
            slots: 0,
            busy: 0,
            waiting: VecDeque::new(),
        });
        for (device, offered) in self.devices.iter_mut().zip(&offer.devices) {
            device.slots = offered.slots;
        }
    }

    /// Its owner needs these of its devices, or all of them; says whether that is new.
    pub fn rest(&mut self, only: Option<u16>) -> bool {
        let devices = (0..).zip(&self.devices).map(|(device, _)| device);
        let before = self.resting.len();
        self.resting.extend(devices.filter(|device| only.is_none_or(|only| only == *device)));
        self.resting.len() > before
    }

    /// The devices that its owner needs now.
    pub fn resting(&self) -> Vec<u16> {
        self.resting.iter().copied().collect()
    }

    /// Everything it holds, ended or not.
    pub fn holds(&self) -> Vec<AttemptId> {
        self.held.keys().copied().collect()
    }

    /// Takes an attempt whose data may still be on the way.
    pub fn hold(&mut self, attempt: AttemptId, held: Held) {
        if usize::from(held.device) < self.devices.len() {
            self.held.insert(attempt, held);
        }
    }

    /// The attempt's data is here: it gets its turn.
    pub fn line_up(&mut self, now: u64, attempt: AttemptId) -> Option<RunEnd> {
        let held = self.held.get_mut(&attempt).filter(|held| matches!(held.progress, Progress::Fetching))?;
        held.progress = Progress::Waiting;
        let at = usize::from(held.device);
        self.devices[at].waiting.push_back(attempt);
        self.start_next(now, at)
    }

    /// The datasets that what it holds reads.
    pub fn needed(&self) -> BTreeSet<Hash> {
        let open = self.held.values().filter(|held| !matches!(held.progress, Progress::Ended));
        open.flat_map(|held| &held.sets).map(|set| set.root.id).collect()
    }

    fn start_next(&mut self, now: u64, at: usize) -> Option<RunEnd> {
        let device = &mut self.devices[at];
        if device.busy >= device.slots {
            return None;
        }
        let attempt = device.waiting.pop_front()?;
        device.busy += 1;
        let held = self.held.get_mut(&attempt).expect("what waits is held");
        let left = (held.work * 1000 / u64::from(self.speed)).max(1) * u64::from(self.pace) / u64::from(PACE);
        held.progress = Progress::Running { started: now, since: now, left };
        Some(RunEnd { at: now + left.min(held.limit), attempt, turn: held.turn })
    }

    /// An attempt leaves its device. Returns how long it ran, and what starts in its place.
    pub fn leave_device(&mut self, now: u64, attempt: AttemptId) -> (u64, Option<RunEnd>) {
        let Some(held) = self.held.get_mut(&attempt) else { return (0, None) };
        let at = usize::from(held.device);
        match std::mem::replace(&mut held.progress, Progress::Ended) {
            Progress::Waiting => {
                self.devices[at].waiting.retain(|waiting| *waiting != attempt);
                (0, None)
            }
            Progress::Running { started, .. } => {
                self.used += now - started;
                self.devices[at].busy -= 1;
                (now - started, self.start_next(now, at))
            }
            Progress::Fetching | Progress::Ended => (0, None),
        }
    }

    /// Whether the run that should end now does, and not one that was moved since.
    pub fn is_due(&self, attempt: AttemptId, turn: u32) -> bool {
        self.held
            .get(&attempt)
            .is_some_and(|held| held.turn == turn && matches!(held.progress, Progress::Running { .. }))
    }

    /// Whether the run had to be stopped at its limit.
    pub fn hit_limit(&self, now: u64, attempt: AttemptId) -> bool {
        self.held.get(&attempt).is_some_and(|held| match held.progress {
            Progress::Running { started, since, left } => since + left > now && now >= started + held.limit,
            Progress::Fetching | Progress::Waiting | Progress::Ended => false,
        })
    }

    /// Everything goes on at another pace.
    pub fn set_pace(&mut self, now: u64, pace: u32) -> Vec<RunEnd> {
        let before = u64::from(std::mem::replace(&mut self.pace, pace));
        let mut ends = Vec::new();
        for (attempt, held) in &mut self.held {
            let Progress::Running { started, since, left } = held.progress else { continue };
            let left = (since + left).saturating_sub(now) * u64::from(pace) / before;
            held.progress = Progress::Running { started, since: now, left };
            held.turn += 1;
            let at = (now + left).min((started + held.limit).max(now));
            ends.push(RunEnd { at, attempt: *attempt, turn: held.turn });
        }
        ends
    }

    /// The process dies with all it holds.
    pub fn forget_all(&mut self, now: u64) {
        for held in self.held.values() {
            if let Progress::Running { started, .. } = held.progress {
                self.used += now - started;
            }
        }
        self.cache.crash(now);
        self.held.clear();
        self.unacknowledged.clear();
        self.devices.clear();
        self.resting.clear();
        self.bids.clear();
    }

    /// Puts results into a batch that is kept until the hub says that it has it.
    pub fn batch(&mut self, results: Vec<Finished>) -> u64 {
        self.batches += 1;
        self.unacknowledged.push_back((self.batches, results));
        self.batches
    }

    /// The hub has everything up to this batch.
    pub fn acknowledge(&mut self, batch: u64) {
        while self.unacknowledged.front().is_some_and(|(number, _)| *number <= batch) {
            let (_, results) = self.unacknowledged.pop_front().expect("it was just seen");
            for finished in results {
                self.held.remove(&finished.attempt);
            }
        }
    }
}

/// A span of the hub in microseconds of the world.
pub(crate) fn micros(span: Millis) -> u64 {
    span.0.saturating_mul(MILLISECOND)
}
