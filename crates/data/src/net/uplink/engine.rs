//! The loop of a line: asks what is missing, ahead of what is sent, and sends that in batches over several streams.
//!
//! A chunk leaves memory when the taker has it safe. After any failure the taker is asked again what it has, so what is
//! sent twice is at most what was under way.
use super::flow::Flow;
use super::patience::Patience;
use super::steering::{Pushed, Steering};
use crate::net::Error;
use crate::net::push::Taker;
use crate::port::Mark;
use crate::store::Bitmap;
use bytes::Bytes;
use gleaner_wire::Hash;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};

/// Batches that are sent at a time.
const STREAMS: usize = 8;
/// Questions that are open at a time, and the chunks that each is about.
const QUESTIONS: usize = 3;
const QUESTION_CHUNKS: usize = 128;
/// A question waits this long for more chunks.
const GATHER_TIME: Duration = Duration::from_millis(5);
/// A batch has this many bytes, as its line allows: what one stream carries is sent again if it breaks.
const BATCH_BYTES_MIN: usize = 64 * 1024;
const BATCH_BYTES_FIRST: usize = 256 * 1024;
/// So that all streams together take less than the memory that a line has, and more can wait behind them.
const BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;
/// A batch should take about this long, or some times the quickest one on a line where all take long: if it takes longer
/// the next is smaller, if much less it is larger.
const BATCH_TIME: Duration = Duration::from_millis(200);
const BATCH_QUICKEST: u32 = 4;

/// What a line is told.
pub(super) enum Order {
    Bring(Parcel),
    Known(u64),
    Flush(oneshot::Sender<()>),
    Mark(Mark),
}

/// A chunk on its way, with its room in memory.
pub(super) struct Parcel {
    id: Hash,
    bytes: Bytes,
    missing: bool,
    number: u64,
    is_sent: bool,
    _room: OwnedSemaphorePermit,
}

impl Parcel {
    pub(super) fn new(id: Hash, bytes: Bytes, missing: bool, room: OwnedSemaphorePermit) -> Self {
        Self { id, bytes, missing, number: 0, is_sent: false, _room: room }
    }
}

/// What was tried with some parcels, since when, and what came of it.
struct Tried<T> {
    parcels: Vec<Parcel>,
    began: Instant,
    outcome: Result<T, Error>,
}

type Joined<T> = Result<Tried<T>, JoinError>;

pub(super) struct Engine {
    taker: Arc<dyn Taker>,
    steering: Steering,
    orders: mpsc::UnboundedReceiver<Order>,
    is_open: bool,
    /// Not asked about yet, and since when the first of them waits.
    fresh: VecDeque<Parcel>,
    fresh_since: Instant,
    missing: VecDeque<Parcel>,
    missing_bytes: usize,
    questions: JoinSet<Tried<Bitmap>>,
    gifts: JoinSet<Tried<()>>,
    /// The numbers of all parcels that are not safe yet.
    unsafe_numbers: BTreeSet<u64>,
    next_number: u64,
    flushes: Vec<(u64, oneshot::Sender<()>)>,
    marks: VecDeque<(u64, Mark)>,
    flow: Flow,
    patience: Patience,
    batch_bytes: usize,
    quickest: Duration,
    pushed: Pushed,
}

impl Engine {
    pub(super) fn new(
        taker: Arc<dyn Taker>,
        patience: Duration,
        steering: Steering,
        orders: mpsc::UnboundedReceiver<Order>,
        flow: Flow,
    ) -> Self {
        Self {
            taker,
            steering,
            orders,
            is_open: true,
            fresh: VecDeque::new(),
            fresh_since: Instant::now(),
            missing: VecDeque::new(),
            missing_bytes: 0,
            questions: JoinSet::new(),
            gifts: JoinSet::new(),
            unsafe_numbers: BTreeSet::new(),
            next_number: 0,
            flushes: Vec::new(),
            marks: VecDeque::new(),
            flow,
            patience: Patience::new(patience),
            batch_bytes: BATCH_BYTES_FIRST,
            quickest: Duration::MAX,
            pushed: Pushed::default(),
        }
    }

    /// Runs until nobody has anything to bring any more.
    pub(super) async fn run(&mut self) -> Result<(), Error> {
        let mut stop = self.steering.stop.clone();
        while self.is_open || !self.unsafe_numbers.is_empty() {
            self.begin();
            let wake = self.wake();
            tokio::select! {
                order = self.orders.recv(), if self.is_open => self.ordered(order),
                Some(asked) = self.questions.join_next() => self.answered(asked)?,
                Some(given) = self.gifts.join_next() => self.given(given)?,
                () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now).into()), if wake.is_some() => {}
                Ok(_) = stop.wait_for(|stop| *stop) => return Err(Error::Stopped),
                else => return Err(Error::Stopped),
            }
            self.tell();
        }
        Ok(())
    }

    fn ordered(&mut self, first: Option<Order>) {
        let mut next = first;
        self.is_open = next.is_some();
        while let Some(order) = next {
            match order {
                Order::Bring(parcel) => self.bring(parcel),
                Order::Known(chunks) => self.pushed.known += chunks,
                Order::Flush(done) => self.flushes.push((self.next_number, done)),
                Order::Mark(mark) => self.marks.push_back((self.next_number, mark)),
            }
            next = self.orders.try_recv().ok();
        }
    }

    fn bring(&mut self, mut parcel: Parcel) {
        parcel.number = self.next_number;
        self.next_number += 1;
        self.unsafe_numbers.insert(parcel.number);
        if parcel.missing {
            self.lacks(parcel);
        } else {
            if self.fresh.is_empty() {
                self.fresh_since = Instant::now();
            }
            self.fresh.push_back(parcel);
        }
    }

    fn lacks(&mut self, parcel: Parcel) {
        self.missing_bytes += parcel.bytes.len();
        self.missing.push_back(parcel);
    }

    /// When to look again although nothing has happened.
    fn wake(&self) -> Option<Instant> {
        let gathered =
            (!self.fresh.is_empty() && self.questions.len() < QUESTIONS).then(|| self.fresh_since + GATHER_TIME);
        self.patience.paused_until().or(gathered)
    }

    fn begin(&mut self) {
        if self.patience.paused_until().is_some() {
            return;
        }
        while self.questions.len() < QUESTIONS && self.may_ask() {
            self.ask();
        }
        while self.gifts.len() < self.streams() && self.may_give() {
            self.give();
        }
    }

    fn may_ask(&self) -> bool {
        let enough = self.fresh.len() >= QUESTION_CHUNKS || self.fresh_since.elapsed() >= GATHER_TIME;
        !self.fresh.is_empty() && (enough || !self.flushes.is_empty())
    }

    /// On a line that is slow even for the smallest batches, several at a time would only time out together.
    fn streams(&self) -> usize {
        if self.batch_bytes > BATCH_BYTES_MIN { STREAMS } else { 1 }
    }

    /// A full batch, or what there is if nothing else is on its way or nothing more can come before a flush is done.
    fn may_give(&self) -> bool {
        let last = self.fresh.is_empty() && self.questions.is_empty() && (!self.flushes.is_empty() || !self.is_open);
        !self.missing.is_empty() && (self.missing_bytes >= self.batch_bytes || self.gifts.is_empty() || last)
    }

    fn ask(&mut self) {
        let count = self.fresh.len().min(QUESTION_CHUNKS);
        let parcels: Vec<Parcel> = self.fresh.drain(..count).collect();
        self.fresh_since = Instant::now();
        let ids = parcels.iter().map(|parcel| parcel.id).collect();
        let taker = Arc::clone(&self.taker);
        self.questions.spawn(async move {
            let began = Instant::now();
            let outcome = taker.having(ids).await;
            Tried { parcels, began, outcome }
        });
    }

    fn give(&mut self) {
        let (mut parcels, mut bytes) = (Vec::new(), 0);
        while let Some(parcel) = self.missing.front()
            && (bytes == 0 || bytes + parcel.bytes.len() <= self.batch_bytes)
        {
            bytes += parcel.bytes.len();
            if parcel.is_sent {
                self.pushed.again += parcel.bytes.len() as u64;
            }
            parcels.extend(self.missing.pop_front());
        }
        self.missing_bytes -= bytes;
        let chunks = parcels.iter().map(|parcel| parcel.bytes.clone()).collect();
        let (taker, pace) = (Arc::clone(&self.taker), Arc::clone(&self.steering.pace));
        self.gifts.spawn(async move {
            let began = Instant::now();
            let outcome = taker.give(chunks, pace).await;
            Tried { parcels, began, outcome }
        });
    }

    fn answered(&mut self, asked: Joined<Bitmap>) -> Result<(), Error> {
        let Tried { parcels, began, outcome } = asked.map_err(|_| Error::Malformed("a question"))?;
        match outcome {
            Ok(has) if has.len() == parcels.len() => {
                for (position, parcel) in parcels.into_iter().enumerate() {
                    if has.contains(position) { self.is_there(&parcel) } else { self.lacks(parcel) }
                }
                Ok(())
            }
            Ok(_) => Err(Error::Malformed("a list of chunks")),
            Err(error) => self.again(parcels, began, error),
        }
    }

    fn given(&mut self, given: Joined<()>) -> Result<(), Error> {
        let Tried { mut parcels, began, outcome } = given.map_err(|_| Error::Malformed("a push"))?;
        parcels.iter_mut().for_each(|parcel| parcel.is_sent = true);
        if let Err(error) = outcome {
            return self.again(parcels, began, error);
        }
        self.adapt(began.elapsed());
        parcels.iter().for_each(|parcel| self.is_there(parcel));
        Ok(())
    }

    fn adapt(&mut self, taken: Duration) {
        self.quickest = self.quickest.min(taken);
        let enough = BATCH_TIME.max(self.quickest * BATCH_QUICKEST);
        if taken > enough {
            self.batch_bytes = (self.batch_bytes / 2).max(BATCH_BYTES_MIN);
        } else if taken < enough / 2 {
            self.batch_bytes = (self.batch_bytes * 2).min(BATCH_BYTES_MAX);
        }
    }

    fn again(&mut self, parcels: Vec<Parcel>, began: Instant, error: Error) -> Result<(), Error> {
        parcels.into_iter().rev().for_each(|parcel| self.fresh.push_front(parcel));
        self.patience.failed(began, error)
    }

    fn is_there(&mut self, parcel: &Parcel) {
        self.patience.got_through();
        self.unsafe_numbers.remove(&parcel.number);
        let bytes = parcel.bytes.len() as u64;
        if parcel.is_sent {
            self.pushed.chunks += 1;
            self.pushed.bytes += bytes;
        } else {
            self.pushed.known += 1;
            self.pushed.known_bytes += bytes;
        }
    }

    /// Tells how far it is, and those who wait that what they put is safe.
    fn tell(&mut self) {
        let pushed = self.pushed;
        self.steering.progress.send_if_modified(|shown| std::mem::replace(shown, pushed) != pushed);
        let oldest = self.unsafe_numbers.first().copied().unwrap_or(u64::MAX);
        for (_, done) in self.flushes.extract_if(.., |(number, _)| *number <= oldest) {
            // Who does not wait any more need not be told.
            let _ = done.send(());
        }
        while let Some((_, mark)) = self.marks.pop_front_if(|(number, _)| *number <= oldest) {
            mark.reach();
        }
        let is_full = self.missing_bytes >= self.batch_bytes && self.gifts.len() >= self.streams();
        self.flow.look(Instant::now(), pushed.bytes, is_full);
    }
}
