//! Which attempts a job had: for each the worker, the times, what became of it and why it was placed there.
//!
//! This is for people who look at a job, and no part of the journal: the core forgets attempts that have ended. What runs
//! is known from the core after a restart; what has ended is on disk within a moment. A thread of its own writes, and the
//! keeper never waits for it. Each job keeps its newest attempts, and all jobs together keep so many.
mod changes;
mod recorder;
mod store;
#[cfg(test)]
mod tests;

use crate::live::Live;
use crate::metrics::Metrics;
use crate::traces::Traces;
use gleaner_core::Placed;
use gleaner_wire::progress::AttemptState;
use gleaner_wire::{AttemptId, Cause, JobId, Millis, WorkerId};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use tokio::sync::oneshot;

use recorder::Recorder;
use store::Store;

/// Attempts that are kept for one job: the newest.
pub(crate) const PER_JOB_MAX: u64 = 2000;
/// Attempts that are kept for all jobs together; those of the oldest jobs go first.
const ALL_MAX: u64 = 2_000_000;
/// Turns whose notes wait for the thread; further ones are lost, and counted.
const MESSAGES_WAITING_MAX: usize = 256;
/// Notes that room is made for beforehand.
const GATHERED_ROOM_MAX: usize = 4096;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    /// It delivered.
    Done,
    /// It failed, or its result was found wrong later.
    Failed(Cause),
    /// Nobody needed it any more.
    Cancelled,
}

/// An attempt as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) attempt: AttemptId,
    pub(crate) group: u16,
    pub(crate) index: u32,
    pub(crate) worker: WorkerId,
    pub(crate) started: Millis,
    pub(crate) ended: Option<(Millis, End)>,
    pub(crate) why: String,
    pub(crate) second: bool,
}

impl Record {
    /// What became of it, and why if it failed.
    pub(crate) fn state(&self) -> (AttemptState, Option<Cause>) {
        match self.ended {
            None => (AttemptState::Running, None),
            Some((_, End::Done)) => (AttemptState::Done, None),
            Some((_, End::Failed(cause))) => (AttemptState::Failed, Some(cause)),
            Some((_, End::Cancelled)) => (AttemptState::Cancelled, None),
        }
    }
}

/// The attempts of a job: the newest, in the order in which they were placed, and how many there were before.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) records: Vec<Record>,
    pub(crate) not_listed: u64,
}

enum Note {
    Started {
        placed: Placed,
        /// The worker's name, if somebody watches the job.
        worker: Option<String>,
    },
    Ended {
        attempt: AttemptId,
        job: Option<JobId>,
        at: Millis,
        end: End,
    },
}

enum Message {
    Notes(Vec<Note>),
    Read { job: JobId, answer: oneshot::Sender<Result<Listed, rusqlite::Error>> },
}

/// Where what happens to attempts is noted; never waits. A busy hub starts hundreds of thousands a second, so notes are
/// gathered for a turn and sent together.
pub(crate) struct Notes {
    sender: SyncSender<Message>,
    metrics: Arc<Metrics>,
    at: Millis,
    gathered: Vec<Note>,
}

/// Where it is read.
#[derive(Clone)]
pub(crate) struct Reader {
    sender: SyncSender<Message>,
}

/// Opens the file and starts the thread that writes it.
pub(crate) fn open(
    path: &Path,
    metrics: Arc<Metrics>,
    live: Live,
    traces: Traces,
) -> Result<(Notes, Reader), rusqlite::Error> {
    let recorder = Recorder::new(Store::open(path)?, live, traces);
    let (sender, receiver) = sync_channel(MESSAGES_WAITING_MAX);
    let thread = std::thread::Builder::new().name("hub-attempts".to_owned());
    let started = thread.spawn(move || recorder.run(&receiver));
    started.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    let notes = Notes { sender: sender.clone(), metrics, at: Millis(0), gathered: Vec::new() };
    Ok((notes, Reader { sender }))
}

impl Notes {
    /// From now on it is this moment.
    pub(crate) fn is_now(&mut self, at: Millis) {
        self.at = at;
    }

    /// An attempt was placed; with the worker's name if somebody watches the job.
    pub(crate) fn started(&mut self, placed: Placed, worker: Option<String>) {
        self.gathered.push(Note::Started { placed, worker });
    }

    /// An attempt that ran has ended.
    pub(crate) fn ended(&mut self, attempt: AttemptId, end: End) {
        self.gathered.push(Note::Ended { attempt, job: None, at: self.at, end });
    }

    /// An attempt of a job failed, or its result was found wrong after it had ended.
    pub(crate) fn failed(&mut self, job: JobId, attempt: AttemptId, cause: Cause) {
        self.gathered.push(Note::Ended { attempt, job: Some(job), at: self.at, end: End::Failed(cause) });
    }

    /// Sends what was gathered.
    pub(crate) fn flush(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let count = self.gathered.len();
        let notes = std::mem::replace(&mut self.gathered, Vec::with_capacity(count.min(GATHERED_ROOM_MAX)));
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.sender.try_send(Message::Notes(notes))
        {
            self.metrics.attempts_unrecorded.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

impl Reader {
    /// The attempts of a job; nothing if the thread has ended.
    pub(crate) async fn of(&self, job: JobId) -> Result<Listed, rusqlite::Error> {
        let (answer, listed) = oneshot::channel();
        let sender = self.sender.clone();
        let sent = tokio::task::spawn_blocking(move || sender.send(Message::Read { job, answer })).await;
        if !matches!(sent, Ok(Ok(()))) {
            return Ok(Listed::default());
        }
        listed.await.unwrap_or_else(|_| Ok(Listed::default()))
    }
}
