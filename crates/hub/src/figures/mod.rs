//! The network in figures: what there is and what happens, now and over the last day; and what workers earned, hour by hour.
//!
//! Everything is read off the core every few seconds and kept in a file of its own; nothing is decided by it.
mod earnings;
mod sample;
mod store;
#[cfg(test)]
mod tests;

use crate::clock::wall_ms;
use crate::journal::Archive;
use crate::keeper::{Handle, Unavailable};
use crate::live::{About, Live};
use gleaner_core::Part;
use gleaner_wire::api::PriceView;
use gleaner_wire::figures::{EarningsPoint, StatusHistory, StatusPoint, StatusView};
use gleaner_wire::live::{LiveEvent, Topic};
use gleaner_wire::{Amount, JobId, Micros, Millis, WorkerId};
use sample::Sample;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::Store;
use tokio::sync::{mpsc, watch};

/// How often the figures are taken.
const SAMPLE_EVERY: Duration = Duration::from_secs(5);
/// Figures that are this young are shown again.
const FRESH: Duration = Duration::from_secs(2);
/// How often earnings of jobs that run are counted.
const COUNT_EVERY: Duration = Duration::from_secs(60);
/// Ended jobs that wait to be counted; the others are found in the archive.
const ENDED_WAITING_MAX: usize = 16_384;

/// Where jobs that have ended are handed over, with what was done for them; never waits.
pub(crate) struct Endings {
    sender: mpsc::Sender<(Millis, Vec<Part>)>,
}

impl Endings {
    /// A job has ended.
    pub(crate) fn ended(&self, at: Millis, parts: Vec<Part>) {
        let job = parts.first().map(|part| part.job.0);
        if self.sender.try_send((at, parts)).is_err() {
            tracing::warn!(job, "what was earned with a job that ended is counted later");
        }
    }
}

/// The figures.
pub(crate) struct Figures {
    store: Arc<Mutex<Store>>,
    latest: tokio::sync::Mutex<Latest>,
    keeper: Handle,
    archive: Archive,
    live: Live,
}

#[derive(Default)]
struct Latest {
    taken: Option<(Instant, Arc<StatusView>)>,
    counted: Option<Instant>,
    prices: Vec<PriceView>,
    told: Option<Arc<StatusView>>,
}

/// Jobs that have ended, on their way to be counted.
pub(crate) struct Ended(mpsc::Receiver<(Millis, Vec<Part>)>);

/// Opens the file.
pub(crate) fn open(
    path: &Path,
    keeper: Handle,
    archive: Archive,
    live: Live,
) -> Result<(Arc<Figures>, Endings, Ended), rusqlite::Error> {
    let store = Arc::new(Mutex::new(Store::open(path, Millis(wall_ms()))?));
    let (sender, receiver) = mpsc::channel(ENDED_WAITING_MAX);
    let figures = Figures { store, latest: tokio::sync::Mutex::default(), keeper, archive, live };
    Ok((Arc::new(figures), Endings { sender }, Ended(receiver)))
}

impl Figures {
    /// Takes figures every few seconds, and counts what is earned, until the hub stops.
    pub(crate) async fn attend(self: Arc<Self>, Ended(mut ended): Ended, mut stopping: watch::Receiver<bool>) {
        let mut tick = tokio::time::interval(SAMPLE_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.recover().await;
        loop {
            let mut some = Vec::new();
            tokio::select! {
                _ = tick.tick() => self.look().await,
                _ = ended.recv_many(&mut some, 256), if !ended.is_closed() => self.count(some).await,
                _ = stopping.changed() => break,
            }
        }
        let mut rest = Vec::new();
        while let Ok(one) = ended.try_recv() {
            rest.push(one);
        }
        self.count(rest).await;
    }

    /// Takes figures, and tells pages what has changed.
    async fn look(&self) {
        let Ok(view) = self.now().await else { return };
        let due = {
            let mut latest = self.latest.lock().await;
            let due = latest.counted.is_none_or(|at| at.elapsed() >= COUNT_EVERY);
            if due {
                latest.counted = Some(Instant::now());
            }
            due
        };
        if due {
            self.count_running().await;
        }
        self.tell(view).await;
    }

    async fn tell(&self, view: Arc<StatusView>) {
        if !self.live.wants(&[Topic::Network]) {
            return;
        }
        let mut latest = self.latest.lock().await;
        let same = latest.told.as_ref().is_some_and(|told| StatusView { at: view.at, ..(**told).clone() } == *view);
        if !same {
            latest.told = Some(Arc::clone(&view));
            self.live.publish(LiveEvent::Status((*view).clone()), About::Anybody, [Some(Topic::Network), None]);
        }
        let now = view.at;
        let Ok(prices) = self.keeper.ask(move |core| core.prices(now)).await else { return };
        if prices != latest.prices {
            latest.prices.clone_from(&prices);
            self.live.publish(LiveEvent::Prices { items: prices }, About::Anybody, [Some(Topic::Network), None]);
        }
    }

    /// The network as it is now, a moment old at most. However many ask, it is looked at once.
    pub(crate) async fn now(&self) -> Result<Arc<StatusView>, Unavailable> {
        let mut latest = self.latest.lock().await;
        if let Some((at, view)) = &latest.taken
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(view));
        }
        let at = Millis(wall_ms());
        let sample = self.keeper.ask(move |core| Sample::of(core, at)).await?;
        let view = self.in_store(move |store| Ok(store.take(&sample))).await;
        let view = Arc::new(view.map_err(|error| Unavailable::Refusing(error.to_string()))?);
        latest.taken = Some((Instant::now(), Arc::clone(&view)));
        Ok(view)
    }

    /// The network now and over the last day.
    pub(crate) async fn with_history(&self) -> Result<StatusHistory, Unavailable> {
        let now = (*self.now().await?).clone();
        let history = self.in_store(Store::history).await;
        let history: Vec<StatusPoint> = history.map_err(|error| Unavailable::Refusing(error.to_string()))?;
        Ok(StatusHistory { now, history })
    }

    /// What a worker earned in the hours of a span, oldest first, at most so many.
    pub(crate) async fn earned(
        &self,
        worker: WorkerId,
        span: (Millis, Millis),
        count: u32,
    ) -> Result<Vec<EarningsPoint>, rusqlite::Error> {
        // What runs now counts up to now.
        self.count_running().await;
        self.in_store(move |store| store.earned(worker, span, count)).await
    }

    async fn count_running(&self) {
        let at = Millis(wall_ms());
        let Ok(parts) = self.keeper.ask(|core| core.parts()).await else { return };
        let counted = self.in_store(move |store| store.count(&parts, at, false)).await;
        if let Err(error) = counted {
            tracing::warn!(%error, "what workers earn is counted later");
        }
    }

    async fn count(&self, ended: Vec<(Millis, Vec<Part>)>) {
        if ended.is_empty() {
            return;
        }
        let counted =
            self.in_store(move |store| ended.iter().try_for_each(|(at, parts)| store.count(parts, *at, true)));
        if let Err(error) = counted.await {
            tracing::warn!(%error, "what was earned with jobs that ended is counted at the next start");
        }
    }

    /// Counts what was earned with jobs that ended while nobody counted: the archive has them.
    async fn recover(&self) {
        let Ok(running) = self.keeper.ask(|core| core.parts()).await else { return };
        let running: BTreeSet<JobId> = running.into_iter().map(|part| part.job).collect();
        let Ok(open) = self.in_store(|store| store.open_jobs()).await else { return };
        for job in open.into_iter().filter(|job| !running.contains(job)) {
            let Ok(Some(view)) = self.archive.view(job).await else { continue };
            let part = |tally: gleaner_wire::api::TallyView| Part {
                job,
                worker: tally.worker,
                tasks: tally.done,
                ran: Micros(tally.ran_micros),
                gross: tally.gross,
                net: tally.earned,
            };
            let parts = view.workers.into_iter().map(part).collect();
            let at = view.summary.ended_at.unwrap_or(Millis(wall_ms()));
            self.count(vec![(at, parts)]).await;
        }
    }

    async fn in_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, rusqlite::Error> {
        let store = Arc::clone(&self.store);
        let work = move || work(&mut store.lock().unwrap_or_else(PoisonError::into_inner));
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(rusqlite::Error::InvalidQuery))
    }
}

/// The sum of some hours.
pub(crate) fn sum(points: &[EarningsPoint]) -> EarningsPoint {
    let first =
        EarningsPoint { hour: points.first().map_or(Millis(0), |point| point.hour), ..EarningsPoint::default() };
    points.iter().fold(first, |sum, point| EarningsPoint {
        hour: sum.hour,
        gross: Amount(sum.gross.0.saturating_add(point.gross.0)),
        net: Amount(sum.net.0.saturating_add(point.net.0)),
        tasks: sum.tasks.saturating_add(point.tasks),
        ran_micros: sum.ran_micros.saturating_add(point.ran_micros),
    })
}
