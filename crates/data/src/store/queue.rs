//! Putting chunks: whoever comes first commits for all who wait, so that many threads share one commit.
use super::writer::{Draft, Lasting, Writer};
use super::{CHUNK_BYTES_MAX, Chunk, Error, Store, Verified, holdings, pins, rows};
use gleaner_wire::Hash;
use std::collections::{HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A commit takes waiting calls until it has this many bytes.
const COMMIT_BYTES: usize = 16 * 1024 * 1024;
/// How often room is made again because chunks that were held have been evicted for the rest of their batch.
const ROUNDS_MAX: usize = 8;

/// Calls that wait for their commit.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    served: Condvar,
}

/// Chunks that a call brought, under its number.
struct Call {
    ticket: u64,
    chunks: Vec<Verified>,
}

/// What became of a call: how many of its chunks were new.
struct Outcome {
    ticket: u64,
    result: Result<u64, Error>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Call>,
    outcomes: Vec<Outcome>,
    tickets: u64,
    /// Whether a thread commits right now.
    led: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_outcome(&mut self, ticket: u64) -> Option<Result<u64, Error>> {
        let position = self.outcomes.iter().position(|outcome| outcome.ticket == ticket)?;
        Some(self.outcomes.swap_remove(position).result)
    }

    fn take_batch(&mut self) -> Vec<Call> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while bytes < COMMIT_BYTES
            && let Some(call) = self.waiting.pop_front()
        {
            bytes += call.chunks.iter().map(|chunk| chunk.bytes().len()).sum::<usize>();
            batch.push(call);
        }
        batch
    }
}

/// One thread's turn to commit. It ends even if that thread panics: then its batch waits again, for the next one.
struct Lead<'a> {
    queue: &'a Queue,
    batch: Vec<Call>,
    outcomes: Vec<Outcome>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.led = false;
        if self.outcomes.is_empty() {
            self.batch.drain(..).rev().for_each(|call| state.waiting.push_front(call));
        }
        state.outcomes.append(&mut self.outcomes);
        self.queue.served.notify_all();
    }
}

impl Store {
    /// Stores chunks; on return they survive a crash of the process, and a power cut after [`Store::flush`]. What is held already is not written again.
    /// Returns how many were new. Either all are stored or, after an error, none of those that were new.
    pub fn put(&self, chunks: Vec<Chunk>) -> Result<u64, Error> {
        self.put_verified(chunks.into_iter().map(Verified::check).collect::<Result<_, _>>()?)
    }

    /// The same for chunks that have been hashed on their way here.
    pub fn put_verified(&self, chunks: Vec<Verified>) -> Result<u64, Error> {
        if chunks.is_empty() {
            return Ok(0);
        }
        let outcome = self.wait_for_commit(chunks);
        self.flush_some();
        self.offload_some();
        outcome
    }

    fn wait_for_commit(&self, chunks: Vec<Verified>) -> Result<u64, Error> {
        let mut state = self.queue.lock();
        state.tickets += 1;
        let ticket = state.tickets;
        state.waiting.push_back(Call { ticket, chunks });
        loop {
            if let Some(result) = state.take_outcome(ticket) {
                return result;
            }
            if state.led {
                state = self.queue.served.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.led = true;
            let mut lead = Lead { queue: &self.queue, batch: state.take_batch(), outcomes: Vec::new() };
            drop(state);
            lead.outcomes = self.serve(&lead.batch);
            drop(lead);
            state = self.queue.lock();
        }
    }

    /// Commits calls together; if that fails each by itself, so that an error reaches only who caused it.
    fn serve(&self, batch: &[Call]) -> Vec<Outcome> {
        let mut writer = self.lock_writer();
        let together = match batch {
            [_] => None,
            calls => {
                let all: Vec<Verified> = calls.iter().flat_map(|call| call.chunks.iter().cloned()).collect();
                self.store(&mut writer, &all).ok()
            }
        };
        let mut alone = |call: &Call| {
            let result = self.store(&mut writer, &call.chunks).map(|new| new.len() as u64);
            Outcome { ticket: call.ticket, result }
        };
        let outcomes = match together {
            Some(new) => shared_out(batch, new),
            None => batch.iter().map(&mut alone).collect(),
        };
        self.publish(&writer);
        outcomes
    }

    /// Stores chunks and tells which of them are new.
    fn store(&self, writer: &mut Writer, chunks: &[Verified]) -> Result<HashSet<Hash>, Error> {
        let now = self.now();
        for _ in 0..ROUNDS_MAX {
            let drafts = self.drafts(writer, chunks, now)?;
            let need = self.room_for(&drafts);
            if drafts.is_empty() || writer.tally.taken + need <= self.options.limit {
                self.write(writer, &drafts)?;
                return Ok(drafts.iter().map(|draft| draft.id).collect());
            }
            self.make_room(writer, need)?;
        }
        Err(self.no_room(writer, chunks.iter().map(|chunk| chunk.bytes().len() as u64).sum()))
    }

    /// What of these is not held yet. What is counts as used.
    fn drafts(&self, writer: &Writer, chunks: &[Verified], now: u64) -> Result<Vec<Draft>, Error> {
        // For reading: the index is locked once instead of for every statement.
        let db = writer.db.unchecked_transaction()?;
        let mut seen = HashSet::<Hash>::new();
        let mut drafts = Vec::new();
        for chunk in chunks {
            let id = chunk.id();
            if !seen.insert(id) {
                continue;
            }
            if rows::holds(&db, &id)? {
                self.touches.note(id, now);
            } else {
                let pins = pins::count(&db, &id)?;
                drafts.push(Draft { id, bytes: chunk.bytes().clone(), used: now, pins });
            }
        }
        Ok(drafts)
    }

    /// What these take at most, with the blocks that segments begin and end in.
    fn room_for(&self, drafts: &[Draft]) -> u64 {
        let bytes: u64 = drafts.iter().map(|draft| draft.bytes.len() as u64).sum();
        let blocks = 2 * (1 + bytes / self.options.segment_bytes.saturating_sub(CHUNK_BYTES_MAX as u64).max(1));
        bytes + blocks.min(2 * drafts.len() as u64) * self.disk.block()
    }

    fn write(&self, writer: &mut Writer, drafts: &[Draft]) -> Result<(), Error> {
        if drafts.is_empty() {
            return Ok(());
        }
        let full = self.options.segment_bytes;
        writer.append(&self.disk, full, drafts, Lasting::Process, |db, tally, written| {
            self.touches.write(db)?;
            rows::add(db, tally, &written.entries)?;
            let mut marks = holdings::Marks::default();
            written.entries.iter().try_for_each(|entry| marks.note(db, entry, true))?;
            marks.write(db)
        })
    }
}

/// Tells each call how many of the new chunks it brought; who brought one first counts it.
fn shared_out(calls: &[Call], mut new: HashSet<Hash>) -> Vec<Outcome> {
    let count = |call: &Call| {
        let first = call.chunks.iter().filter(|chunk| new.remove(&chunk.id())).count();
        Outcome { ticket: call.ticket, result: Ok(first as u64) }
    };
    calls.iter().map(count).collect()
}
