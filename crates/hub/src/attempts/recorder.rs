//! The thread that keeps attempts: what runs in memory, what has ended on disk a moment later.
use super::changes::Changes;
use super::store::Store;
use super::{End, Listed, Message, Note, PER_JOB_MAX, Record};
use crate::live::Live;
use crate::traces::Traces;
use gleaner_core::Placed;
use gleaner_trace::Selection;
use gleaner_wire::{AttemptId, JobId, Millis};
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long ended attempts may wait for the disk.
const FLUSH_AFTER: Duration = Duration::from_millis(200);

pub(super) struct Recorder {
    store: Store,
    changes: Changes,
    traces: Traces,
    selection: Selection,
    /// What runs, by the slot that is in its number.
    running: Vec<Option<Placed>>,
    /// Ended and not on disk yet, by job.
    ended: HashMap<JobId, Ended>,
    flushed: Instant,
}

struct Ended {
    /// The number of the last one in its job.
    last: u64,
    /// The newest, each with its number. Most of a busy job are replaced by newer ones before anybody reads them.
    attempts: VecDeque<(u64, Placed, Millis, End)>,
}

/// Slots are used again, and only so many attempts run at a time: a table is quicker than a map.
fn slot(attempt: AttemptId) -> usize {
    attempt.0 as u32 as usize
}

pub(super) fn record(placed: &Placed, ended: Option<(Millis, End)>) -> Record {
    let Placed { attempt, group, index, worker, at, reason, .. } = placed;
    Record {
        attempt: *attempt,
        group: *group,
        index: *index,
        worker: *worker,
        started: *at,
        ended,
        why: reason.to_string(),
        second: reason.is_second(),
    }
}

impl Recorder {
    pub(super) fn new(store: Store, live: Live, traces: Traces) -> Self {
        let (running, ended, flushed) = (Vec::new(), HashMap::new(), Instant::now());
        let selection = Selection::default();
        Self { store, changes: Changes::new(live), traces, selection, running, ended, flushed }
    }

    /// Runs until nobody can send any more; then everything is on disk.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let message = match self.ended.is_empty() && !self.changes.wait() {
                true => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => messages.recv_timeout(FLUSH_AFTER),
            };
            match message {
                Ok(Message::Notes(notes)) => notes.into_iter().for_each(|note| self.take(note)),
                Ok(Message::Read { job, answer }) => {
                    // Whoever asked may have gone away.
                    let _ = answer.send(self.read(job));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.flush(),
            }
            self.changes.tell();
            if self.flushed.elapsed() >= FLUSH_AFTER {
                self.flush();
            }
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Started { placed, worker } => {
                if self.changes.are_watched(placed.job) {
                    self.changes.note(placed.job, &record(&placed, None), worker);
                }
                let slot = slot(placed.attempt);
                if self.running.len() <= slot {
                    self.running.resize(slot + 1, None);
                }
                self.running[slot] = Some(placed);
            }
            Note::Ended { attempt, job, at, end } => self.end(attempt, job, at, end),
        }
    }

    fn end(&mut self, attempt: AttemptId, job: Option<JobId>, at: Millis, end: End) {
        let running = self.running.get_mut(slot(attempt));
        let Some(placed) = running.and_then(|entry| entry.take_if(|placed| placed.attempt == attempt)) else {
            if let Some(job) = job {
                self.correct(job, attempt, end);
            }
            return;
        };
        if self.changes.are_watched(placed.job) {
            self.changes.note(placed.job, &record(&placed, Some((at, end))), None);
        }
        self.trace(&placed, at, end);
        let Self { store, ended, .. } = self;
        let of_job = ended.entry(placed.job).or_insert_with(|| {
            // A file that cannot be read starts over: the numbers only say how many are gone.
            Ended { last: store.last(placed.job).unwrap_or(0), attempts: VecDeque::new() }
        });
        of_job.last += 1;
        if of_job.attempts.len() as u64 == PER_JOB_MAX {
            of_job.attempts.pop_front();
        }
        of_job.attempts.push_back((of_job.last, placed, at, end));
    }

    /// Tells how an attempt ended: to the log where it did not deliver, and to a collector where there is one.
    fn trace(&mut self, placed: &Placed, at: Millis, end: End) {
        let Placed { attempt, job, group, index, worker, .. } = *placed;
        if let End::Failed(cause) = end {
            let trace_id = self.traces.id(job);
            tracing::debug!(%job, group, index, %attempt, %worker, %trace_id, %cause, "an attempt failed");
        }
        if self.traces.are_wanted() && self.selection.takes(job, (group, index), end == End::Done) {
            self.traces.attempt(placed, at, end);
        }
    }

    /// The result of an attempt that ended before was found wrong.
    fn correct(&mut self, job: JobId, attempt: AttemptId, end: End) {
        let waiting = self.ended.get_mut(&job).into_iter().flat_map(|ended| ended.attempts.iter_mut());
        if let Some((_, _, _, known)) = waiting.into_iter().find(|(_, placed, ..)| placed.attempt == attempt) {
            *known = end;
        } else if let Err(error) = self.store.correct(job, attempt, end) {
            tracing::warn!(%error, %job, "a wrong result is not noted in the list of attempts");
        }
    }

    fn flush(&mut self) {
        self.flushed = Instant::now();
        let mut rows = Vec::new();
        for (job, ended) in self.ended.drain() {
            let attempts = ended.attempts.into_iter();
            rows.extend(attempts.map(|(number, placed, at, end)| (job, number, record(&placed, Some((at, end))))));
        }
        if rows.is_empty() {
            return;
        }
        if let Err(error) = self.store.add(&rows) {
            tracing::warn!(%error, count = rows.len(), "ended attempts could not be kept for listings");
        }
    }

    fn read(&mut self, job: JobId) -> Result<Listed, rusqlite::Error> {
        self.flush();
        let mut listed = self.store.of(job)?;
        let running = self.running.iter().flatten().filter(|placed| placed.job == job);
        listed.records.extend(running.map(|placed| record(placed, None)));
        listed.records.sort_by_key(|record| (record.started, record.attempt));
        let over = listed.records.len().saturating_sub(PER_JOB_MAX as usize);
        listed.records.drain(..over);
        listed.not_listed += over as u64;
        Ok(listed)
    }
}
