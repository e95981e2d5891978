//! Which chunks were used: gathered in memory, written with the next commit.
//!
//! A crash forgets some uses, which only makes a later eviction a little less well chosen.
use super::Error;
use gleaner_wire::Hash;
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Uses that are gathered before they are worth a commit of their own.
const TOUCHES_MAX: usize = 16 * 1024;

/// Uses that are not written yet.
#[derive(Default)]
pub(super) struct Touches {
    used: Mutex<HashMap<Hash, u64>>,
}

impl Touches {
    /// Notes a use. Tells whether it is time to write.
    pub(super) fn note(&self, id: Hash, tick: u64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(id, tick);
        used.len() >= TOUCHES_MAX
    }

    /// Writes what was gathered, in a transaction.
    pub(super) fn write(&self, db: &Connection) -> Result<(), Error> {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        let mut statement = db.prepare_cached("UPDATE chunk SET used = ?2 WHERE id = ?1 AND used < ?2")?;
        for (id, tick) in used {
            statement.execute(params![id.0, tick])?;
        }
        Ok(())
    }
}
