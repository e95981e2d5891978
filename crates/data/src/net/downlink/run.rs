//! The loop of a downlink: what the shelf wants is planned by the scheduler, what arrives goes onto the shelf.
use super::Shared;
use crate::net::Error;
use crate::net::carrier::{Arrival, Carrier, Delivery};
use crate::net::fetch::{Pace, Progress, SourceProgress, Update};
use crate::net::frames::Answer;
use crate::net::schedule::{Effect, RequestId, Scheduler, SourceId, TICK, Wanted};
use crate::net::swarm::Turns;
use gleaner_wire::{BlobRef, WorkerKey};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

const ARRIVALS_MAX: usize = 256;
/// How much the speed of the last tick counts.
const SPEED_WEIGHT: f64 = 0.2;

type Arrived = (SourceId, RequestId, Arrival);

struct Asked {
    source: SourceId,
    task: AbortHandle,
    unfinished: Arc<AtomicU64>,
}

pub(super) struct Running {
    begun: Instant,
    shared: Arc<Shared>,
    scheduler: Scheduler,
    carriers: BTreeMap<SourceId, Arc<dyn Carrier>>,
    requests: BTreeMap<RequestId, Asked>,
    tasks: JoinSet<()>,
    blobs: HashMap<u32, BlobRef>,
    to: mpsc::Sender<Arrived>,
    arriving: mpsc::Receiver<Arrived>,
    /// The shelf wants no more than it has room for, so nothing has to wait for room here.
    room: Arc<Semaphore>,
    pace: Arc<Pace>,
    progress: Progress,
    shown: watch::Sender<Progress>,
    ticked: (Instant, u64),
    patience: Duration,
    /// Since when something is wanted and nobody can be asked for it.
    idle_since: Option<Instant>,
}

impl Running {
    pub(super) fn new(
        shared: Arc<Shared>,
        pace: Arc<Pace>,
        shown: watch::Sender<Progress>,
        patience: Duration,
    ) -> Self {
        let (to, arriving) = mpsc::channel(ARRIVALS_MAX);
        Self {
            begun: Instant::now(),
            shared,
            // Alone: turns are for those who fetch the same into stores, and serve it.
            scheduler: Scheduler::new(Turns::new(WorkerKey([0; 32])), 0),
            carriers: BTreeMap::new(),
            requests: BTreeMap::new(),
            tasks: JoinSet::new(),
            blobs: HashMap::new(),
            to,
            arriving,
            room: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            pace,
            progress: Progress::default(),
            shown,
            ticked: (Instant::now(), 0),
            patience,
            idle_since: None,
        }
    }

    /// Runs until it has to end, and says why.
    pub(super) async fn run(&mut self, mut updates: mpsc::Receiver<Update>, mut stop: watch::Receiver<bool>) -> Error {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let (mut is_told, mut is_steered) = (true, true);
        let shared = Arc::clone(&self.shared);
        loop {
            let mut effects = Vec::new();
            tokio::select! {
                Some(first) = self.arriving.recv() => self.arrived_all(first, &mut effects),
                () = shared.asked.notified() => {}
                update = updates.recv(), if is_told => match update {
                    Some(update) => self.told(update),
                    None => is_told = false,
                },
                stopped = stop.wait_for(|stop| *stop), if is_steered => match stopped {
                    Ok(_) => return Error::Stopped,
                    Err(_) => is_steered = false,
                },
                _ = tick.tick() => self.measure(),
            }
            self.want();
            self.scheduler.plan(self.begun.elapsed(), &mut effects);
            self.perform(effects);
            if self.is_hopeless() {
                return Error::NoSource { chunks: self.scheduler.missing() };
            }
        }
    }

    fn want(&mut self) {
        let wanted = self.shared.shelf().wanted();
        for (position, blob) in wanted {
            self.blobs.insert(position, blob);
            let bytes = u32::try_from(blob.bytes).unwrap_or(u32::MAX);
            self.scheduler.want(Wanted { position, bytes });
        }
    }

    fn is_hopeless(&mut self) -> bool {
        if self.scheduler.missing() == 0 || self.scheduler.is_waiting() {
            self.idle_since = None;
            return false;
        }
        self.idle_since.get_or_insert_with(Instant::now).elapsed() > self.patience
    }

    fn arrived_all(&mut self, first: Arrived, effects: &mut Vec<Effect>) {
        let mut next = Some(first);
        while let Some((source, request, arrival)) = next {
            self.arrived(source, request, arrival, effects);
            next = self.arriving.try_recv().ok();
        }
        self.shared.came.notify_all();
    }

    fn arrived(&mut self, source: SourceId, request: RequestId, arrival: Arrival, effects: &mut Vec<Effect>) {
        let now = self.begun.elapsed();
        match arrival {
            Arrival::Bytes(bytes) => self.scheduler.received(now, source, bytes),
            Arrival::Waited => self.scheduler.excuse(now, source),
            Arrival::Absent(blob) => {
                let position = self.shared.shelf().position(&blob.id);
                if let Some(position) = position {
                    self.scheduler.absent(now, request, position);
                }
            }
            Arrival::Chunk(chunk, _room) => {
                let (blob, bytes) = (chunk.blob(), chunk.bytes().clone());
                let mut shelf = self.shared.shelf();
                let position = shelf.position(&blob.id);
                let wanted = position.filter(|position| self.scheduler.arrived(now, source, *position, effects));
                if let Some(position) = wanted {
                    shelf.arrived(&blob.id, bytes);
                    self.blobs.remove(&position);
                    self.progress.chunks += 1;
                    self.progress.bytes += blob.bytes;
                } else {
                    self.scheduler.wasted(source, blob.bytes);
                }
            }
            Arrival::Ended(outcome, unfinished) => self.ended(now, source, request, outcome, unfinished, effects),
        }
    }

    fn ended(
        &mut self,
        now: Duration,
        source: SourceId,
        request: RequestId,
        outcome: Result<(), Error>,
        unfinished: u64,
        effects: &mut Vec<Effect>,
    ) {
        self.requests.remove(&request);
        if unfinished > 0 {
            self.scheduler.wasted(source, unfinished);
        }
        self.scheduler.ended(now, request);
        match outcome {
            Ok(()) | Err(Error::Stopped) => {}
            Err(error) if error.is_fault() => {
                tracing::warn!(%error, "a source is not used any more");
                self.let_go(source);
                self.scheduler.remove_source(now, source);
            }
            Err(error) => {
                tracing::debug!(%error, "a source failed");
                self.scheduler.failed(now, source, effects);
            }
        }
    }

    pub(super) fn told(&mut self, update: Update) {
        let now = self.begun.elapsed();
        match update {
            Update::Joined { carrier, role, holds } => {
                self.left(&carrier.name());
                let source = self.scheduler.add_source(now, carrier.route(), role, holds);
                self.carriers.insert(source, carrier);
            }
            Update::Left { name } => self.left(&name),
            // Positions are its own here, so what others hold by the dataset's list says nothing.
            Update::Holds { .. } | Update::Member { .. } | Update::MemberLeft { .. } => {}
        }
    }

    fn left(&mut self, name: &str) {
        let found = self.carriers.iter().find(|(_, carrier)| carrier.name() == name).map(|(source, _)| *source);
        if let Some(source) = found {
            self.let_go(source);
            self.scheduler.remove_source(self.begun.elapsed(), source);
        }
    }

    fn let_go(&mut self, source: SourceId) {
        self.requests.retain(|_, asked| {
            if asked.source == source {
                asked.task.abort();
            }
            asked.source != source
        });
        self.carriers.remove(&source).iter().for_each(|carrier| carrier.reset());
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask { source, request, positions } => self.ask(source, request, &positions),
                Effect::Cancel { request } => {
                    if let Some(asked) = self.requests.remove(&request) {
                        asked.task.abort();
                        self.scheduler.wasted(asked.source, asked.unfinished.load(Ordering::Relaxed));
                    }
                }
                Effect::Reset { source } => {
                    self.carriers.get(&source).iter().for_each(|carrier| carrier.reset());
                }
                Effect::Drop { source } => self.let_go(source),
            }
        }
        while self.tasks.try_join_next().is_some() {}
    }

    fn ask(&mut self, source: SourceId, request: RequestId, positions: &[u32]) {
        let blobs: Vec<BlobRef> = positions.iter().map(|position| self.blobs[position]).collect();
        let Some(carrier) = self.carriers.get(&source).map(Arc::clone) else { return };
        let unfinished = Arc::new(AtomicU64::new(0));
        let delivery = Delivery {
            request,
            source,
            answer: Answer::new(blobs.iter().copied()),
            blobs,
            to: self.to.clone(),
            room: Arc::clone(&self.room),
            pace: Arc::clone(&self.pace),
            unfinished: Arc::clone(&unfinished),
            untold: (0, Instant::now()),
        };
        let (to, seen) = (self.to.clone(), Arc::clone(&unfinished));
        let task = self.tasks.spawn(async move {
            let outcome = carrier.want(delivery).await;
            let lost = seen.load(Ordering::Relaxed);
            let _ = to.send((source, request, Arrival::Ended(outcome, lost))).await;
        });
        self.requests.insert(request, Asked { source, task, unfinished });
    }

    fn measure(&mut self) {
        let (since, before) = self.ticked;
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let speed = (self.progress.bytes - before) as f64 / since.elapsed().as_secs_f64().max(0.001);
        self.progress.speed += (speed - self.progress.speed) * SPEED_WEIGHT;
        self.ticked = (Instant::now(), self.progress.bytes);
        self.progress.twice_bytes = self.scheduler.twice_bytes();
        let scheduler = &mut self.scheduler;
        let shown = |(source, carrier): (&SourceId, &Arc<dyn Carrier>)| {
            scheduler.set_route(*source, carrier.route());
            let figures = scheduler.figures(*source).unwrap_or_default();
            SourceProgress { name: carrier.name(), route: carrier.route(), figures }
        };
        self.progress.sources = self.carriers.iter().map(shown).collect();
        self.shown.send_replace(self.progress.clone());
    }
}
