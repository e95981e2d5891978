//! What everybody shares: the newest state, the clock, and word of new blocks.
use super::block::Block;
use super::state::State;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::broadcast;

/// How many new blocks a slow listener may be behind before it misses some.
const NEWS_MAX: usize = 1_024;

/// Shared by the keeper, callers and the server.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) chain_id: u64,
    pub(crate) clock: Clock,
    pub(crate) news: broadcast::Sender<Arc<Block>>,
    state: RwLock<State>,
}

/// The wall clock, plus what tests have let pass.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    ahead: AtomicU64,
}

impl Clock {
    /// Unix seconds.
    pub(crate) fn now(&self) -> u64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        wall.saturating_add(self.ahead.load(Ordering::Relaxed))
    }

    /// Runs ahead by so many seconds more.
    pub(crate) fn shift(&self, seconds: u64) {
        let _ =
            self.ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |ahead| Some(ahead.saturating_add(seconds)));
    }
}

impl View {
    pub(crate) fn new(chain_id: u64, clock: Clock, state: State) -> Self {
        Self { chain_id, clock, news: broadcast::channel(NEWS_MAX).0, state: RwLock::new(state) }
    }

    /// The state after the newest block on disk.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().expect("whoever holds the state does not panic")
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().expect("whoever holds the state does not panic")
    }
}
