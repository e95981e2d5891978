//! Chunks that were named a while ago are named by their distance. Writer and reader remember the same ones.
use std::collections::{HashMap, VecDeque};

use gleaner_wire::Hash;

use crate::chunk::ChunkRef;

/// How many chunks are remembered.
const CHUNKS_MAX: usize = 4096;

/// What a writer remembers.
#[derive(Debug, Default)]
pub(super) struct Named {
    count: u64,
    at: HashMap<Hash, u64>,
    order: VecDeque<Hash>,
}

impl Named {
    /// How many chunks ago this one was named, 0 for the last; none if it is named now.
    pub(super) fn name(&mut self, id: Hash) -> Option<u64> {
        if let Some(at) = self.at.get(&id) {
            return Some(self.count - at);
        }
        if self.order.len() == CHUNKS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.at.remove(&oldest);
        }
        self.count += 1;
        self.at.insert(id, self.count);
        self.order.push_back(id);
        None
    }
}

/// What a reader remembers.
#[derive(Debug, Default)]
pub(super) struct Recall {
    chunks: VecDeque<ChunkRef>,
}

impl Recall {
    pub(super) fn remember(&mut self, chunk: ChunkRef) {
        if self.chunks.len() == CHUNKS_MAX {
            self.chunks.pop_back();
        }
        self.chunks.push_front(chunk);
    }

    pub(super) fn chunk(&self, distance: u64) -> Option<&ChunkRef> {
        self.chunks.get(usize::try_from(distance).ok()?)
    }
}
