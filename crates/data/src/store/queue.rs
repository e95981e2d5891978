//! Putting chunks: whoever comes first commits for all who wait, so that many threads share one sync.
use super::writer::{Draft, Writer};
use super::{CHUNK_BYTES_MAX, Chunk, Error, Store, holdings, pins, rows};
use gleaner_wire::Hash;
use std::collections::{HashSet, VecDeque};
use std::sync::{Condvar, Mutex, PoisonError};

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

#[derive(Default)]
struct State {
    waiting: VecDeque<(u64, Vec<Chunk>)>,
    outcomes: Vec<(u64, Result<u64, Error>)>,
    tickets: u64,
    /// Whether a thread commits right now.
    led: bool,
}

impl State {
    fn take_outcome(&mut self, ticket: u64) -> Option<Result<u64, Error>> {
        let position = self.outcomes.iter().position(|(number, _)| *number == ticket)?;
        Some(self.outcomes.swap_remove(position).1)
    }

    fn take_batch(&mut self) -> Vec<(u64, Vec<Chunk>)> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while bytes < COMMIT_BYTES
            && let Some(call) = self.waiting.pop_front()
        {
            bytes += call.1.iter().map(|chunk| chunk.bytes.len()).sum::<usize>();
            batch.push(call);
        }
        batch
    }
}

impl Store {
    /// Stores chunks; on return they survive a crash and a power cut. What is held already is not written again.
    /// Returns how many were new. Either all are stored or, after an error, none of those that were new.
    pub fn put(&self, chunks: Vec<Chunk>) -> Result<u64, Error> {
        chunks.iter().try_for_each(verify)?;
        let outcome = self.wait_for_commit(chunks);
        self.offload_some();
        outcome
    }

    fn wait_for_commit(&self, chunks: Vec<Chunk>) -> Result<u64, Error> {
        let lock = || self.queue.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock();
        state.tickets += 1;
        let ticket = state.tickets;
        state.waiting.push_back((ticket, chunks));
        loop {
            if let Some(outcome) = state.take_outcome(ticket) {
                return outcome;
            }
            if state.led {
                state = self.queue.served.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.led = true;
            let batch = state.take_batch();
            drop(state);
            let outcomes = self.serve(&batch);
            state = lock();
            state.led = false;
            state.outcomes.extend(outcomes);
            self.queue.served.notify_all();
        }
    }

    /// Commits calls together; if that fails each by itself, so that an error reaches only who caused it.
    fn serve(&self, batch: &[(u64, Vec<Chunk>)]) -> Vec<(u64, Result<u64, Error>)> {
        let mut writer = self.lock_writer();
        let outcomes = match batch {
            [(ticket, chunks)] => vec![(*ticket, self.store(&mut writer, chunks))],
            calls => {
                let all: Vec<Chunk> = calls.iter().flat_map(|(_, chunks)| chunks.iter().cloned()).collect();
                match self.store(&mut writer, &all) {
                    // Who of them brought a chunk first is nobody's business; each learns of the new ones of all.
                    Ok(new) => {
                        calls.iter().map(|(ticket, chunks)| (*ticket, Ok(new.min(chunks.len() as u64)))).collect()
                    }
                    Err(_) => calls.iter().map(|(ticket, chunks)| (*ticket, self.store(&mut writer, chunks))).collect(),
                }
            }
        };
        self.publish(&writer);
        outcomes
    }

    fn store(&self, writer: &mut Writer, chunks: &[Chunk]) -> Result<u64, Error> {
        let now = self.now();
        for _ in 0..ROUNDS_MAX {
            let drafts = self.drafts(writer, chunks, now)?;
            let need = self.room_for(&drafts);
            if drafts.is_empty() || writer.tally.taken + need <= self.options.limit {
                self.write(writer, &drafts)?;
                return Ok(drafts.len() as u64);
            }
            self.make_room(writer, need)?;
        }
        Err(self.no_room(writer, chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum()))
    }

    /// What of these is not held yet. What is counts as used.
    fn drafts(&self, writer: &Writer, chunks: &[Chunk], now: u64) -> Result<Vec<Draft>, Error> {
        let mut seen = HashSet::<Hash>::new();
        let mut drafts = Vec::new();
        for chunk in chunks {
            if !seen.insert(chunk.id) {
                continue;
            }
            if rows::holds(&writer.db, &chunk.id)? {
                self.touches.note(chunk.id, now);
            } else {
                let pins = pins::count(&writer.db, &chunk.id)?;
                drafts.push(Draft { id: chunk.id, bytes: chunk.bytes.clone(), used: now, pins });
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
        writer.append(&self.disk, self.options.segment_bytes, drafts, |db, tally, written| {
            self.touches.write(db)?;
            let mut marks = holdings::Marks::default();
            for entry in &written.entries {
                rows::add(db, tally, entry)?;
                marks.note(db, entry, true)?;
            }
            marks.write(db)
        })
    }
}

fn verify(chunk: &Chunk) -> Result<(), Error> {
    if chunk.bytes.len() > CHUNK_BYTES_MAX {
        let bytes = chunk.bytes.len() as u64;
        return Err(Error::TooLarge { id: chunk.id, bytes, max: CHUNK_BYTES_MAX as u64 });
    }
    if Hash::of(&chunk.bytes) == chunk.id { Ok(()) } else { Err(Error::Mismatch(chunk.id)) }
}
