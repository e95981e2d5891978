//! One thing at a time for each account, and a few of the heavy ones for all.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedMutexGuard, Semaphore, SemaphorePermit};

/// Folders that are packed at a time: it takes all cores as it is.
const PACKING_MAX: usize = 2;

/// Who does what at the moment.
#[derive(Debug)]
pub(crate) struct Turns {
    accounts: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    packing: Semaphore,
}

impl Default for Turns {
    fn default() -> Self {
        Self { accounts: Mutex::default(), packing: Semaphore::new(PACKING_MAX) }
    }
}

impl Turns {
    /// The turn of an account, until what this returns is dropped.
    pub(crate) async fn of(&self, account: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody waits for are forgotten.
            accounts.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(accounts.entry(account.to_owned()).or_default())
        };
        turn.lock_owned().await
    }

    /// A turn to pack.
    pub(crate) async fn packing(&self) -> SemaphorePermit<'_> {
        self.packing.acquire().await.expect("it is never closed")
    }
}
