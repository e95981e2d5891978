//! Answers to requests that spend something, so that one sent again with the same key gets the same answer and spends
//! nothing more.
//!
//! A key belongs to whoever sent it and to what it was sent for. It is written down with the hash of the request before
//! anything happens, and with the answer afterwards: a request with the same key and another content is refused.
mod store;
#[cfg(test)]
mod tests;

use gleaner_wire::Hash;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;
use tokio::sync::watch;

/// The longest key.
pub(crate) const KEY_CHARS_MAX: usize = 64;
/// The longest answer that is kept.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Where what was made is.
    pub(crate) location: Option<String>,
    /// JSON.
    pub(crate) body: Vec<u8>,
}

/// Whose key it is, and what for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) scope: String,
    pub(crate) key: String,
}

/// What is known of a key.
pub(crate) enum Known {
    /// Nothing, or that the same request was begun and never answered: go on, and say how it ended.
    New(Turn),
    /// The same request was answered.
    Answered(Answer),
    /// It was used for another request.
    Other,
    /// The same key is used by a request that has not been answered yet.
    Busy,
}

/// The answers.
#[derive(Clone)]
pub(crate) struct Answers {
    store: Arc<Mutex<Store>>,
    busy: Arc<Mutex<HashSet<Key>>>,
    /// Counts requests that were answered.
    ended: watch::Sender<u64>,
}

/// A request that is being answered under a key.
pub(crate) struct Turn {
    answers: Answers,
    key: Key,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.answers.busy.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.answers.ended.send_modify(|count| *count += 1);
    }
}

impl Answers {
    /// Opens the file.
    pub(crate) fn open(path: &Path) -> Result<Self, rusqlite::Error> {
        let store = Arc::new(Mutex::new(Store::open(path)?));
        Ok(Self { store, busy: Arc::default(), ended: watch::Sender::new(0) })
    }

    /// Changes whenever a request under a key has been answered.
    pub(crate) fn ends(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    /// Begins a request, unless its key was used before. Waits for the disk.
    pub(crate) fn begin(&self, key: Key, request: Hash) -> Result<Known, rusqlite::Error> {
        if !self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            return Ok(Known::Busy);
        }
        let turn = Turn { answers: self.clone(), key };
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match store.find(&turn.key)? {
            Some((known, _)) if known != request => Known::Other,
            Some((_, Some(answer))) => Known::Answered(answer),
            Some((_, None)) => Known::New(turn),
            None => {
                store.begin(&turn.key, request)?;
                Known::New(turn)
            }
        };
        Ok(known)
    }
}

impl Turn {
    /// Keeps the answer. Waits for the disk.
    pub(crate) fn answered(self, answer: &Answer) {
        let store = self.answers.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = store.answer(&self.key, answer) {
            tracing::warn!(%error, "an answer is not kept: the same request again is carried out again");
        }
    }

    /// Nothing came of it: the key may be used again. Waits for the disk.
    pub(crate) fn refused(self) {
        let store = self.answers.store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = store.forget(&self.key) {
            tracing::warn!(%error, "the key of a refused request stays used");
        }
    }
}
