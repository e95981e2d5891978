//! The loop of a fetch: whatever happens is told to the scheduler, whatever it plans is done.
use super::progress::{Progress, SourceProgress};
use super::storing::{Stored, Storing};
use super::{Fetch, Update, Wish};
use crate::net::Error;
use crate::net::carrier::{Arrival, Carrier, Delivery};
use crate::net::frames::Answer;
use crate::net::schedule::{Effect, RequestId, Scheduler, SourceId, TICK, Wanted};
use crate::net::serve::blocking;
use crate::store::{Bitmap, Store};
use gleaner_wire::{BlobRef, Hash};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

/// Chunks that are wanted at a time; the list is read on when half of them are here.
const WINDOW_CHUNKS: usize = 16_384;
const READ_CHUNKS: usize = 4096;
/// Bytes of chunks in memory that are not stored yet.
const MEMORY_BYTES_MAX: usize = 48 * 1024 * 1024;
const ARRIVALS_MAX: usize = 256;
/// How long sources may take to be told that everything has come.
const PARTING_TIME_MAX: Duration = Duration::from_secs(1);
/// How much the speed of the last tick counts.
const SPEED_WEIGHT: f64 = 0.2;

/// A request under way: the bytes of a chunk that it has not brought whole yet are lost if it is broken off.
struct Asked {
    source: SourceId,
    task: AbortHandle,
    unfinished: Arc<AtomicU64>,
}

struct Running<W> {
    begun: Instant,
    store: Arc<Store>,
    /// The list; none when it has been read to its end.
    wishes: Option<W>,
    scheduler: Scheduler,
    carriers: BTreeMap<SourceId, Arc<dyn Carrier>>,
    requests: BTreeMap<RequestId, Asked>,
    tasks: JoinSet<()>,
    blobs: BTreeMap<u32, BlobRef>,
    /// What is wanted or on its way to the disk.
    positions: HashMap<Hash, u32>,
    storing: Storing,
    room: Arc<Semaphore>,
    arrivals: mpsc::Sender<(SourceId, RequestId, Arrival)>,
    pace: Arc<super::Pace>,
    progress: Progress,
    ticked: (Instant, u64),
}

pub(super) async fn run<W: Iterator<Item = Wish> + Send + 'static>(fetch: Fetch<W>) -> Result<Progress, Error> {
    let (arrivals, mut arriving) = mpsc::channel(ARRIVALS_MAX);
    let (mut updates, mut stop) = (fetch.updates, fetch.stop);
    let mut running = Running {
        begun: Instant::now(),
        storing: Storing::new(Arc::clone(&fetch.store)),
        store: fetch.store,
        wishes: Some(fetch.wishes),
        scheduler: fetch.scheduler,
        carriers: BTreeMap::new(),
        requests: BTreeMap::new(),
        tasks: JoinSet::new(),
        blobs: BTreeMap::new(),
        positions: HashMap::new(),
        room: Arc::new(Semaphore::new(MEMORY_BYTES_MAX)),
        arrivals,
        pace: fetch.pace,
        progress: Progress::default(),
        ticked: (Instant::now(), 0),
    };
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut told, mut steered) = (true, true);
    let ended = loop {
        running.top_up().await?;
        if running.is_done() {
            break Ok(());
        }
        let mut effects = Vec::new();
        tokio::select! {
            Some((source, request, arrival)) = arriving.recv() => {
                running.arrived(source, request, arrival, &mut effects);
                while let Ok((source, request, arrival)) = arriving.try_recv() {
                    running.arrived(source, request, arrival, &mut effects);
                }
            }
            stored = running.storing.next() => match stored {
                Ok(stored) => {
                    running.stored(&stored);
                    running.storing.flush_full();
                }
                Err(error) => break Err(error),
            },
            update = updates.recv(), if told => match update {
                Some(update) => running.told(update),
                None => told = false,
            },
            changed = stop.changed(), if steered => match changed {
                Ok(()) if *stop.borrow() => break Err(Error::Stopped),
                Ok(()) => {}
                Err(_) => steered = false,
            },
            _ = tick.tick() => {
                running.storing.flush();
                running.measure();
                fetch.progress.send_replace(running.progress.clone());
            }
        }
        if running.has_arrived() {
            running.storing.flush();
        }
        let now = running.now();
        running.scheduler.plan(now, &mut effects);
        running.perform(effects);
        if running.is_hopeless(fetch.patience) {
            break Err(Error::NoSource { chunks: running.scheduler.missing() });
        }
    };
    if ended.is_ok() {
        let parting = async { while running.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(PARTING_TIME_MAX, parting).await;
    }
    running.tasks.abort_all();
    for stored in running.storing.finish().await? {
        running.stored(&stored);
    }
    running.measure();
    fetch.progress.send_replace(running.progress.clone());
    ended.map(|()| running.progress)
}

impl<W: Iterator<Item = Wish> + Send + 'static> Running<W> {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether everything is here, if not yet on disk.
    fn has_arrived(&self) -> bool {
        self.wishes.is_none() && self.scheduler.missing() == 0
    }

    fn is_done(&self) -> bool {
        self.has_arrived() && self.storing.is_empty()
    }

    /// Nobody is asked, nobody waits to be asked, and it has been so for too long.
    fn is_hopeless(&self, patience: Duration) -> bool {
        let idle = self.scheduler.missing() > 0 && !self.scheduler.is_waiting();
        idle && self.now().saturating_sub(self.scheduler.fed()) > patience
    }

    /// Reads on in the list when little of it is left to fetch.
    async fn top_up(&mut self) -> Result<(), Error> {
        while self.scheduler.missing() < WINDOW_CHUNKS / 2
            && let Some(mut wishes) = self.wishes.take()
        {
            let store = Arc::clone(&self.store);
            let read = move || {
                let some: Vec<Wish> = wishes.by_ref().take(READ_CHUNKS).collect();
                let ids: Vec<Hash> = some.iter().map(|wish| wish.blob.id).collect();
                let held = store.has_many(&ids)?;
                Ok((wishes, some, held))
            };
            let (wishes, some, held): (W, Vec<Wish>, Bitmap) = blocking(read).await?;
            if some.len() == READ_CHUNKS {
                self.wishes = Some(wishes);
            }
            for (number, wish) in some.into_iter().enumerate() {
                self.wish(wish, held.contains(number));
            }
        }
        Ok(())
    }

    fn wish(&mut self, wish: Wish, held: bool) {
        let Wish { position, blob } = wish;
        if held {
            self.progress.known += 1;
        } else if let Entry::Vacant(vacant) = self.positions.entry(blob.id) {
            let bytes = u32::try_from(blob.bytes).unwrap_or(u32::MAX);
            vacant.insert(position);
            self.blobs.insert(position, blob);
            self.scheduler.want(Wanted { position, bytes });
        }
    }

    fn arrived(&mut self, source: SourceId, request: RequestId, arrival: Arrival, effects: &mut Vec<Effect>) {
        let now = self.now();
        match arrival {
            Arrival::Bytes(bytes) => self.scheduler.received(now, source, bytes),
            Arrival::Waited => self.scheduler.excuse(now, source),
            Arrival::Absent(blob) => {
                if let Some(&position) = self.positions.get(&blob.id) {
                    self.scheduler.absent(now, request, position);
                }
            }
            Arrival::Chunk(chunk, room) => {
                let position = self.positions.get(&chunk.id()).copied();
                if let Some(position) = position
                    && self.scheduler.arrived(now, source, position, effects)
                {
                    self.blobs.remove(&position);
                    self.storing.add(chunk, room);
                } else {
                    self.scheduler.wasted(source, chunk.blob().bytes);
                }
            }
            Arrival::Ended(outcome, unfinished) => {
                self.requests.remove(&request);
                if unfinished > 0 {
                    self.scheduler.wasted(source, unfinished);
                }
                self.scheduler.ended(now, request);
                match outcome {
                    Ok(()) | Err(Error::Stopped) => {}
                    Err(error) if error.is_fault() => self.drop_source(source, &error),
                    Err(error) => {
                        tracing::debug!(%error, source = self.name(source), "a source failed");
                        self.scheduler.failed(now, source, effects);
                    }
                }
            }
        }
    }

    fn name(&self, source: SourceId) -> String {
        self.carriers.get(&source).map_or_else(String::new, |carrier| carrier.name())
    }

    fn drop_source(&mut self, source: SourceId, why: &Error) {
        if let Some(carrier) = self.let_go(source) {
            tracing::warn!(error = %why, source = carrier.name(), "a source is not used any more");
            let now = self.now();
            self.scheduler.remove_source(now, source);
        }
    }

    fn told(&mut self, update: Update) {
        let now = self.now();
        match update {
            Update::Joined { carrier, role, holds } => {
                self.left(&carrier.name());
                let source = self.scheduler.add_source(now, carrier.route(), role, holds);
                self.carriers.insert(source, carrier);
            }
            Update::Holds { name, holds } => {
                if let Some(source) = self.find(&name) {
                    self.scheduler.set_holds(source, holds);
                }
            }
            Update::Left { name } => self.left(&name),
            Update::Member { key, held, complete } => self.scheduler.turns_mut().seen(now, key, held, complete),
            Update::MemberLeft { key } => self.scheduler.turns_mut().left(&key),
        }
    }

    /// Breaks off what a source is asked for, and its connection with it.
    fn let_go(&mut self, source: SourceId) -> Option<Arc<dyn Carrier>> {
        self.requests.retain(|_, asked| {
            if asked.source == source {
                asked.task.abort();
                self.scheduler.wasted(source, asked.unfinished.load(Ordering::Relaxed));
            }
            asked.source != source
        });
        let carrier = self.carriers.remove(&source);
        carrier.iter().for_each(|carrier| carrier.reset());
        carrier
    }

    fn find(&self, name: &str) -> Option<SourceId> {
        self.carriers.iter().find(|(_, carrier)| carrier.name() == name).map(|(source, _)| *source)
    }

    fn left(&mut self, name: &str) {
        if let Some(source) = self.find(name) {
            let now = self.now();
            self.let_go(source);
            self.scheduler.remove_source(now, source);
        }
    }

    fn stored(&mut self, stored: &Stored) {
        self.progress.chunks += stored.ids.len() as u64;
        self.progress.bytes += stored.bytes;
        for id in &stored.ids {
            self.positions.remove(id);
        }
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
                    if let Some(carrier) = self.carriers.get(&source) {
                        carrier.reset();
                    }
                }
                Effect::Drop { source } => {
                    if let Some(carrier) = self.let_go(source) {
                        tracing::info!(source = carrier.name(), "a source that stays silent is dropped");
                    }
                }
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
            to: self.arrivals.clone(),
            room: Arc::clone(&self.room),
            pace: Arc::clone(&self.pace),
            unfinished: Arc::clone(&unfinished),
            untold: (0, Instant::now()),
        };
        let (to, seen) = (self.arrivals.clone(), Arc::clone(&unfinished));
        let task = self.tasks.spawn(async move {
            let outcome = carrier.want(delivery).await;
            let lost = seen.load(Ordering::Relaxed);
            let _ = to.send((source, request, Arrival::Ended(outcome, lost))).await;
        });
        self.requests.insert(request, Asked { source, task, unfinished });
    }

    fn measure(&mut self) {
        let (since, before) = self.ticked;
        let time = since.elapsed().as_secs_f64().max(0.001);
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let speed = (self.progress.bytes - before) as f64 / time;
        self.progress.speed += (speed - self.progress.speed) * SPEED_WEIGHT;
        self.ticked = (Instant::now(), self.progress.bytes);
        self.progress.twice_bytes = self.scheduler.twice_bytes();
        let scheduler = &mut self.scheduler;
        self.progress.sources = self
            .carriers
            .iter()
            .map(|(source, carrier)| {
                scheduler.set_route(*source, carrier.route());
                let figures = scheduler.figures(*source).unwrap_or_default();
                SourceProgress { name: carrier.name(), route: carrier.route(), figures }
            })
            .collect();
    }
}
