//! The loop: what happens is told to the scheduler and to the place, what they want is done.
use super::kept::Kept;
use super::place::{Place, Room};
use super::requests::Asked;
use super::{Progress, SourceProgress, Steering, Update};
use crate::net::Error;
use crate::net::carrier::{Arrival, Arrived, Carrier};
use crate::net::schedule::{Effect, RequestId, Scheduler, SourceId, TICK, Wanted};
use crate::store::Verified;
use gleaner_wire::{BlobRef, Hash};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

const ARRIVALS_MAX: usize = 256;
/// How long sources may take to be told that everything has come.
const PARTING_TIME_MAX: Duration = Duration::from_secs(1);
/// How much the speed of the last tick counts.
const SPEED_WEIGHT: f64 = 0.2;

/// How an engine is to fetch.
pub struct Plan {
    /// Decides who is asked for what.
    pub scheduler: Scheduler,
    /// How it is steered.
    pub steering: Steering,
    /// How long to wait when nobody has what is missing.
    pub patience: Duration,
}

/// Fetches what a place wants.
pub struct Engine<P> {
    pub(super) place: P,
    pub(super) scheduler: Scheduler,
    pub(super) steering: Steering,
    patience: Duration,
    begun: Instant,
    pub(super) carriers: BTreeMap<SourceId, Arc<dyn Carrier>>,
    pub(super) requests: BTreeMap<RequestId, Asked>,
    pub(super) tasks: JoinSet<()>,
    /// What is missing, by where it is and by what it is.
    pub(super) blobs: BTreeMap<u32, BlobRef>,
    pub(super) positions: HashMap<Hash, u32>,
    pub(super) kept: Kept,
    pub(super) room: Arc<Semaphore>,
    pub(super) to: mpsc::Sender<Arrived>,
    arriving: mpsc::Receiver<Arrived>,
    progress: Progress,
    ticked: (Instant, u64),
    /// Until when nothing was missing.
    sated: Duration,
}

impl<P: Place> Engine<P> {
    pub fn new(place: P, plan: Plan) -> Self {
        let (to, arriving) = mpsc::channel(ARRIVALS_MAX);
        Self {
            place,
            scheduler: plan.scheduler,
            steering: plan.steering,
            patience: plan.patience,
            begun: Instant::now(),
            carriers: BTreeMap::new(),
            requests: BTreeMap::new(),
            tasks: JoinSet::new(),
            blobs: BTreeMap::new(),
            positions: HashMap::new(),
            kept: Kept::default(),
            room: Arc::new(Semaphore::new(P::MEMORY_BYTES_MAX)),
            to,
            arriving,
            progress: Progress::default(),
            ticked: (Instant::now(), 0),
            sated: Duration::ZERO,
        }
    }

    /// Runs until the place has everything, and says what came from whom.
    pub async fn run(mut self) -> Result<Progress, Error> {
        let ended = self.fetch().await;
        if ended.is_ok() {
            let parting = async { while self.tasks.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(PARTING_TIME_MAX, parting).await;
        }
        self.end();
        self.place.finish().await?;
        self.measure();
        ended.map(|()| self.progress)
    }

    async fn fetch(&mut self) -> Result<(), Error> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut is_told, mut is_steered) = (true, true);
        loop {
            let mut effects = Vec::new();
            tokio::select! {
                Some(first) = self.arriving.recv() => self.arrived_all(first, &mut effects),
                changed = self.place.changed() => changed?,
                update = self.steering.updates.recv(), if is_told => match update {
                    Some(update) => self.told(update, &mut effects),
                    None => is_told = false,
                },
                changed = self.steering.stop.changed(), if is_steered => match changed {
                    Ok(()) if *self.steering.stop.borrow() => return Err(Error::Stopped),
                    Ok(()) => {}
                    Err(_) => is_steered = false,
                },
                _ = tick.tick() => self.measure(),
            }
            self.place.settle(self.scheduler.missing());
            self.want().await?;
            if self.place.is_done(self.scheduler.missing()) {
                return Ok(());
            }
            self.scheduler.set_limit(self.steering.pace.limit());
            self.scheduler.plan(self.now(), &mut effects);
            self.perform(effects);
            if self.is_hopeless() {
                return Err(Error::NoSource { chunks: self.scheduler.missing() });
            }
        }
    }

    /// Breaks everything off, and takes what has come all the same.
    fn end(&mut self) {
        let mut effects = Vec::new();
        self.break_off_all(&mut effects);
        while let Ok(next) = self.arriving.try_recv() {
            self.arrived_all(next, &mut effects);
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    async fn want(&mut self) -> Result<(), Error> {
        for wish in self.place.more(self.scheduler.missing()).await? {
            let bytes = u32::try_from(wish.blob.bytes).unwrap_or(u32::MAX);
            self.positions.insert(wish.blob.id, wish.position);
            self.blobs.insert(wish.position, wish.blob);
            self.scheduler.want(Wanted { position: wish.position, bytes });
        }
        Ok(())
    }

    /// Nobody is asked, nobody waits to be asked, and nothing has come for too long.
    fn is_hopeless(&mut self) -> bool {
        if self.scheduler.missing() == 0 {
            self.sated = self.now();
        }
        let fed = self.sated.max(self.scheduler.fed());
        !self.scheduler.is_waiting() && self.now().saturating_sub(fed) > self.patience
    }

    fn arrived_all(&mut self, first: Arrived, effects: &mut Vec<Effect>) {
        let mut next = Some(first);
        while let Some((source, request, arrival)) = next {
            self.arrived(source, request, arrival, effects);
            next = self.arriving.try_recv().ok();
        }
    }

    fn arrived(&mut self, source: SourceId, request: RequestId, arrival: Arrival, effects: &mut Vec<Effect>) {
        let now = self.now();
        match arrival {
            Arrival::Bytes(bytes) => self.scheduler.received(now, source, bytes),
            Arrival::Waited => self.scheduler.excuse(now, source),
            Arrival::Absent(blob) => self.absent(request, &blob),
            Arrival::Chunk(chunk, room) => self.take(source, chunk, room, effects),
            Arrival::Ended(outcome) => {
                if let Some(asked) = self.requests.remove(&request) {
                    self.save(request, &asked, effects);
                }
                self.scheduler.ended(now, request);
                match outcome {
                    Ok(()) | Err(Error::Stopped) => {}
                    Err(error) if error.is_fault() => self.drop_source(source, &error, effects),
                    Err(error) => {
                        tracing::debug!(%error, source = self.name(source), "a source failed");
                        self.scheduler.failed(now, source, effects);
                    }
                }
            }
        }
    }

    pub(super) fn absent(&mut self, request: RequestId, blob: &BlobRef) {
        if let Some(&position) = self.positions.get(&blob.id) {
            self.scheduler.absent(self.now(), request, position);
        }
    }

    pub(super) fn take(&mut self, source: SourceId, chunk: Verified, room: Room, effects: &mut Vec<Effect>) {
        let (now, blob) = (self.now(), chunk.blob());
        let in_vain = self.kept.forget(&blob.id);
        if in_vain > 0 {
            self.scheduler.wasted(source, in_vain);
        }
        let position = self.positions.remove(&blob.id);
        if let Some(position) = position
            && self.scheduler.arrived(now, source, position, effects)
        {
            self.blobs.remove(&position);
            self.place.take(chunk, room);
        } else {
            self.scheduler.wasted(source, blob.bytes);
        }
    }

    /// Tells it something that happened elsewhere.
    pub fn told(&mut self, update: Update, effects: &mut Vec<Effect>) {
        let now = self.now();
        match update {
            Update::Joined { carrier, role, holds } => {
                self.left(&carrier.name(), effects);
                let source = self.scheduler.add_source(now, carrier.route(), role, holds);
                self.carriers.insert(source, carrier);
            }
            Update::Holds { name, holds } => {
                if let Some(source) = self.find(&name) {
                    self.scheduler.set_holds(source, holds);
                }
            }
            Update::Left { name } => self.left(&name, effects),
            Update::Member { key, held, complete } => self.scheduler.turns_mut().seen(now, key, held, complete),
            Update::MemberLeft { key } => self.scheduler.turns_mut().left(&key),
        }
    }

    pub(super) fn name(&self, source: SourceId) -> String {
        self.carriers.get(&source).map_or_else(String::new, |carrier| carrier.name())
    }

    fn find(&self, name: &str) -> Option<SourceId> {
        self.carriers.iter().find(|(_, carrier)| carrier.name() == name).map(|(source, _)| *source)
    }

    fn left(&mut self, name: &str, effects: &mut Vec<Effect>) {
        if let Some(source) = self.find(name) {
            self.let_go(source, effects);
            self.scheduler.remove_source(self.now(), source);
        }
    }

    fn drop_source(&mut self, source: SourceId, why: &Error, effects: &mut Vec<Effect>) {
        if let Some(carrier) = self.let_go(source, effects) {
            tracing::warn!(error = %why, source = carrier.name(), "a source is not used any more");
            self.scheduler.remove_source(self.now(), source);
        }
    }

    fn measure(&mut self) {
        let (since, before) = self.ticked;
        let amount = self.place.amount();
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let speed = (amount.bytes - before) as f64 / since.elapsed().as_secs_f64().max(0.001);
        self.ticked = (Instant::now(), amount.bytes);
        let scheduler = &mut self.scheduler;
        let shown = |(source, carrier): (&SourceId, &Arc<dyn Carrier>)| {
            scheduler.set_route(*source, carrier.route(), carrier.round_trip());
            let figures = scheduler.figures(*source).unwrap_or_default();
            SourceProgress { name: carrier.name(), route: carrier.route(), figures }
        };
        let sources = self.carriers.iter().map(shown).collect();
        self.progress = Progress {
            chunks: amount.chunks,
            bytes: amount.bytes,
            known: amount.known,
            twice_bytes: self.scheduler.twice_bytes(),
            speed: self.progress.speed + (speed - self.progress.speed) * SPEED_WEIGHT,
            sources,
        };
        self.steering.progress.send_replace(self.progress.clone());
    }
}
