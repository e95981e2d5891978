//! The thread that keeps attempts: what runs in memory, what has ended on disk a moment later.
use super::changes::Changes;
use super::store::Store;
use super::{End, Listed, Note, PER_JOB_MAX, Record};
use crate::live::Live;
use gleaner_core::Placed;
use gleaner_wire::{AttemptId, JobId, Millis};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long ended attempts may wait for the disk when nothing else comes.
const FLUSH_AFTER: Duration = Duration::from_millis(200);
/// Ended attempts that are written together.
const FLUSH_AT: usize = 4096;

pub(super) struct Recorder {
    store: Store,
    changes: Changes,
    running: BTreeMap<(JobId, AttemptId), Record>,
    jobs: HashMap<AttemptId, JobId>,
    /// Ended and not on disk yet, by job, with the number of the last one of each job.
    ended: HashMap<JobId, Ended>,
    waiting: usize,
}

struct Ended {
    last: u64,
    records: VecDeque<(u64, Record)>,
}

impl Recorder {
    pub(super) fn new(store: Store, live: Live) -> Self {
        let (running, jobs, ended) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Self { store, changes: Changes::new(live), running, jobs, ended, waiting: 0 }
    }

    /// Runs until nobody can send any more; then everything is on disk.
    pub(super) fn run(mut self, notes: &Receiver<Note>) {
        loop {
            let note = match self.waiting == 0 && !self.changes.wait() {
                true => notes.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => notes.recv_timeout(FLUSH_AFTER),
            };
            match note {
                Ok(note) => self.take(note),
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Err(RecvTimeoutError::Disconnected) => return self.flush(),
            }
            self.changes.tell();
            if self.waiting >= FLUSH_AT {
                self.flush();
            }
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Started { placed, worker } => self.start(&placed, worker),
            Note::Ended { attempt, job, at, end } => self.end(attempt, job, at, end),
            Note::Read { job, answer } => {
                // Whoever asked may have gone away.
                let _ = answer.send(self.read(job));
            }
        }
    }

    fn start(&mut self, placed: &Placed, name: Option<String>) {
        let Placed { attempt, job, group, index, worker, at, reason } = placed;
        let (why, second) = (reason.to_string(), reason.is_second());
        let record = Record {
            attempt: *attempt,
            group: *group,
            index: *index,
            worker: *worker,
            started: *at,
            ended: None,
            why,
            second,
        };
        self.changes.note(*job, &record, name);
        self.jobs.insert(*attempt, *job);
        self.running.insert((*job, *attempt), record);
    }

    fn end(&mut self, attempt: AttemptId, job: Option<JobId>, at: Millis, end: End) {
        let ran = self.jobs.remove(&attempt).and_then(|job| Some((job, self.running.remove(&(job, attempt))?)));
        let Some((job, mut record)) = ran else {
            if let Some(job) = job {
                self.correct(job, attempt, end);
            }
            return;
        };
        record.ended = Some((at, end));
        self.changes.note(job, &record, None);
        let Self { store, ended, .. } = self;
        let ended = ended.entry(job).or_insert_with(|| {
            // A file that cannot be read starts over: the numbers only say how many are gone.
            Ended { last: store.last(job).unwrap_or(0), records: VecDeque::new() }
        });
        ended.last += 1;
        ended.records.push_back((ended.last, record));
        self.waiting += 1;
        // A job may end more of them in a moment than are kept of it.
        if ended.records.len() as u64 > PER_JOB_MAX {
            ended.records.pop_front();
            self.waiting -= 1;
        }
    }

    /// The result of an attempt that ended before was found wrong.
    fn correct(&mut self, job: JobId, attempt: AttemptId, end: End) {
        let waiting = self.ended.get_mut(&job).into_iter().flat_map(|ended| ended.records.iter_mut());
        if let Some((_, record)) = waiting.into_iter().find(|(_, record)| record.attempt == attempt) {
            record.ended = record.ended.map(|(at, _)| (at, end));
        } else if let Err(error) = self.store.correct(job, attempt, end) {
            tracing::warn!(%error, %job, "a wrong result is not noted in the list of attempts");
        }
    }

    fn flush(&mut self) {
        let mut rows = Vec::with_capacity(self.waiting);
        for (job, ended) in self.ended.drain() {
            rows.extend(ended.records.into_iter().map(|(number, record)| (job, number, record)));
        }
        self.waiting = 0;
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
        let running = self.running.range((job, AttemptId(0))..=(job, AttemptId(u64::MAX)));
        listed.records.extend(running.map(|(_, record)| record.clone()));
        listed.records.sort_by_key(|record| (record.started, record.attempt));
        let over = listed.records.len().saturating_sub(PER_JOB_MAX as usize);
        listed.records.drain(..over);
        listed.not_listed += over as u64;
        Ok(listed)
    }
}
