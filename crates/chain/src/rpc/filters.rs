//! Filters that a tool sets up and asks for news again and again.
use crate::node::LogFilter;
use alloy_primitives::U256;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most filters at a time; the one that was not asked for the longest makes room.
const FILTERS_MAX: usize = 1_024;
/// A filter that nobody asks for this long is forgotten.
const IDLE_MAX: Duration = Duration::from_secs(300);

/// What a filter watches for.
#[derive(Clone, Debug)]
pub(super) enum Watch {
    Blocks,
    Logs(LogFilter),
}

#[derive(Debug)]
struct Entry {
    watch: Watch,
    /// The first block that was not reported yet.
    next: u64,
    asked: Instant,
}

/// All filters of the server.
#[derive(Debug, Default)]
pub(super) struct Filters {
    entries: BTreeMap<U256, Entry>,
    last_id: u64,
}

impl Filters {
    /// Sets one up; it reports what comes from the given block on.
    pub(super) fn add(&mut self, watch: Watch, next: u64) -> U256 {
        let now = Instant::now();
        self.entries.retain(|_, entry| now.duration_since(entry.asked) < IDLE_MAX);
        if self.entries.len() >= FILTERS_MAX {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.asked).map(|(id, _)| *id);
            oldest.and_then(|id| self.entries.remove(&id));
        }
        self.last_id += 1;
        let id = U256::from(self.last_id);
        self.entries.insert(id, Entry { watch, next, asked: now });
        id
    }

    pub(super) fn remove(&mut self, id: U256) -> bool {
        self.entries.remove(&id).is_some()
    }

    /// What to look for and from which block on.
    pub(super) fn get(&mut self, id: U256) -> Option<(Watch, u64)> {
        let entry = self.entries.get_mut(&id)?;
        entry.asked = Instant::now();
        Some((entry.watch.clone(), entry.next))
    }

    /// Everything up to a block was reported.
    pub(super) fn reported(&mut self, id: U256, height: u64) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.next = entry.next.max(height + 1);
        }
    }
}
