//! Connections for reading the index: each thread takes one, none waits for another.
use super::{Error, schema};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Connections that are kept for the next reader; more are opened and closed as needed.
const IDLE_MAX: usize = 16;

/// The pool.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// For an index that is there.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    /// Reads with a connection of one's own. All that is read is of one moment, and the index is locked once for it
    /// instead of for every statement.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = match idle {
            Some(db) => db,
            None => schema::open_reader(&self.path)?,
        };
        let transaction = db.unchecked_transaction()?;
        let result = read(&transaction);
        transaction.finish()?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(db);
        }
        result
    }
}
