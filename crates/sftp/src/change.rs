//! Which top folders have changed, and when they have become quiet, so that the hub can pack what was uploaded.
//!
//! A thousand files in one folder are one change. Nothing here is kept over a restart: a hub that starts looks at the
//! folders itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Beyond this many tops that wait for the hub, changes are told for whole folders.
const TOPS_MAX: usize = 10_000;
/// The most interrupted files that are remembered by name for one top.
const INTERRUPTED_MAX: usize = 1000;

/// Something that was changed and then left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// The user's folder.
    pub folder: String,
    /// The file or folder at its top that changed; it may be gone. `None` means any of them.
    pub name: Option<Vec<u8>>,
    /// Paths from the user's folder of files whose upload broke off and was not resumed.
    pub interrupted: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Top {
    folder: String,
    name: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
struct State {
    writers: usize,
    changed: Option<Instant>,
    /// It was told of, and has not changed since.
    is_told: bool,
    interrupted: BTreeSet<Vec<u8>>,
}

impl State {
    fn change(&mut self) {
        (self.changed, self.is_told) = (Some(Instant::now()), false);
    }
}

/// The changes that the hub has not heard of.
#[derive(Debug, Default)]
pub struct Changes {
    tops: Mutex<BTreeMap<Top, State>>,
    notify: Notify,
}

impl Changes {
    /// Waits for a top that changed, has not been touched for as long as `calm`, and is not being written. It is told again
    /// until [`Changes::heard`]. Meant for one caller at a time.
    pub async fn next_quiet(&self, calm: Duration) -> Quiet {
        loop {
            let notified = self.notify.notified();
            let next = match self.take_quiet(calm) {
                Ok(quiet) => return quiet,
                Err(next) => next,
            };
            match next {
                Some(at) => drop(tokio::time::timeout_at(at, notified).await),
                None => notified.await,
            }
        }
    }

    /// Takes the top that has been quiet for the longest, or says when one could be.
    fn take_quiet(&self, calm: Duration) -> Result<Quiet, Option<Instant>> {
        let mut tops = self.tops();
        let unwritten = tops.iter().filter(|(_, state)| state.writers == 0);
        let first = unwritten.filter_map(|(top, state)| Some((state.changed?, top))).min();
        let Some((changed, top)) = first else { return Err(None) };
        if changed.elapsed() < calm {
            return Err(Some(changed + calm));
        }
        let top = top.clone();
        let state = tops.entry(top.clone()).or_default();
        state.is_told = true;
        let interrupted = state.interrupted.iter().cloned().collect();
        Ok(Quiet { folder: top.folder, name: top.name, interrupted })
    }

    /// Whoever was told of a change writes it down by `note`, and from then on it is not pending here. What has changed
    /// again meanwhile is not written down, and told again.
    pub fn heard(&self, quiet: &Quiet, note: impl FnOnce()) {
        let top = Top { folder: quiet.folder.clone(), name: quiet.name.clone() };
        let mut tops = self.tops();
        let Some(state) = tops.get_mut(&top).filter(|state| state.is_told) else { return };
        // Under the lock, so that at every moment somebody knows of the change.
        note();
        if state.interrupted.is_empty() {
            tops.remove(&top);
        } else {
            state.changed = None;
        }
    }

    /// Whether a top of a user's folder is being written, was interrupted, or has changed since it was last heard of.
    pub fn is_pending(&self, folder: &str, name: &[u8]) -> bool {
        let tops = self.tops();
        let has = |name: Option<&[u8]>| {
            tops.contains_key(&Top { folder: folder.to_string(), name: name.map(<[u8]>::to_vec) })
        };
        has(Some(name)) || has(None)
    }

    fn tops(&self) -> MutexGuard<'_, BTreeMap<Top, State>> {
        self.tops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something at `place` was made or given other attributes.
    pub(crate) fn touched(&self, folder: &str, place: Option<&[u8]>) {
        self.update(folder, place, |_| {});
    }

    /// What was at `place` was removed, renamed or replaced.
    pub(crate) fn replaced(&self, folder: &str, place: Option<&[u8]>) {
        self.update(folder, place, |state| {
            if let Some(place) = place {
                state.interrupted.remove(place);
            }
        });
    }

    /// A file at `place` was opened for writing.
    pub(crate) fn opened(self: &Arc<Self>, folder: &str, place: Option<Vec<u8>>) -> Writing {
        let top = self.update(folder, place.as_deref(), |state| state.writers += 1);
        Writing { changes: Arc::clone(self), top, place, is_closed: false }
    }

    fn update(&self, folder: &str, place: Option<&[u8]>, update: impl FnOnce(&mut State)) -> Top {
        let mut tops = self.tops();
        let name = place.and_then(|place| place.split(|byte| *byte == b'/').next().map(<[u8]>::to_vec));
        let mut top = Top { folder: folder.to_string(), name };
        if tops.len() >= TOPS_MAX && !tops.contains_key(&top) {
            top.name = None;
        }
        let state = tops.entry(top.clone()).or_default();
        update(state);
        state.change();
        self.notify.notify_one();
        top
    }
}

/// A file that is being written; dropped without [`Writing::close`], its upload was interrupted.
#[derive(Debug)]
pub(crate) struct Writing {
    changes: Arc<Changes>,
    top: Top,
    place: Option<Vec<u8>>,
    is_closed: bool,
}

impl Writing {
    /// The client closed the file.
    pub(crate) fn close(mut self) {
        self.is_closed = true;
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut tops = self.changes.tops();
        let state = tops.entry(self.top.clone()).or_default();
        state.writers = state.writers.saturating_sub(1);
        state.change();
        if let Some(place) = self.place.take() {
            if self.is_closed {
                state.interrupted.remove(&place);
            } else if state.interrupted.len() < INTERRUPTED_MAX {
                state.interrupted.insert(place);
            }
        }
        drop(tops);
        self.changes.notify.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Option<Vec<u8>> {
        Some(path.as_bytes().to_vec())
    }

    fn quiet(name: &str, interrupted: &[&str]) -> Quiet {
        let interrupted = interrupted.iter().map(|path| path.as_bytes().to_vec()).collect();
        Quiet { folder: "ada".into(), name: Some(name.into()), interrupted }
    }

    /// What is quiet, told and heard.
    fn heard(changes: &Changes) -> Result<Quiet, Option<Instant>> {
        let quiet = changes.take_quiet(Duration::ZERO)?;
        changes.heard(&quiet, || {});
        Ok(quiet)
    }

    #[test]
    fn many_files_in_one_folder_are_one_change() {
        let changes = Arc::new(Changes::default());
        for file in 0..100 {
            changes.opened("ada", place(&format!("scene/{file}"))).close();
        }
        assert_eq!(heard(&changes), Ok(quiet("scene", &[])));
        assert_eq!(heard(&changes), Err(None));
    }

    #[test]
    fn nothing_is_quiet_while_it_is_written_or_too_soon_after() {
        let changes = Arc::new(Changes::default());
        let writing = changes.opened("ada", place("scene/file"));
        assert_eq!(heard(&changes), Err(None));
        writing.close();
        assert!(matches!(changes.take_quiet(Duration::from_secs(60)), Err(Some(_))));
        assert_eq!(heard(&changes), Ok(quiet("scene", &[])));
    }

    #[test]
    fn an_interrupted_file_is_named_until_it_is_finished() {
        let changes = Arc::new(Changes::default());
        drop(changes.opened("ada", place("scene/file")));
        assert_eq!(heard(&changes), Ok(quiet("scene", &["scene/file"])));
        changes.touched("ada", Some(b"scene/other"));
        assert_eq!(heard(&changes), Ok(quiet("scene", &["scene/file"])));
        changes.opened("ada", place("scene/file")).close();
        assert_eq!(heard(&changes), Ok(quiet("scene", &[])));
    }

    #[test]
    fn an_interrupted_file_that_was_removed_is_not_named() {
        let changes = Arc::new(Changes::default());
        drop(changes.opened("ada", place("scene/file")));
        changes.replaced("ada", Some(b"scene/file"));
        assert_eq!(heard(&changes), Ok(quiet("scene", &[])));
    }

    #[test]
    fn countless_tops_become_one_change_of_the_folder() {
        let changes = Arc::new(Changes::default());
        for file in 0..=TOPS_MAX {
            changes.touched("ada", Some(file.to_string().as_bytes()));
        }
        assert_eq!(changes.tops().len(), TOPS_MAX + 1);
        assert!(changes.tops().contains_key(&Top { folder: "ada".into(), name: None }));
    }

    #[test]
    fn a_change_is_pending_until_it_was_heard_of_and_not_changed_since() {
        let changes = Arc::new(Changes::default());
        assert!(!changes.is_pending("ada", b"scene"));
        let writing = changes.opened("ada", place("scene/file"));
        assert!(changes.is_pending("ada", b"scene"));
        writing.close();
        let told = changes.take_quiet(Duration::ZERO).expect("it is quiet");
        assert!(changes.is_pending("ada", b"scene"));
        changes.touched("ada", Some(b"scene/other"));
        changes.heard(&told, || panic!("it has changed again"));
        assert!(changes.is_pending("ada", b"scene"), "it has changed again");
        assert_eq!(heard(&changes), Ok(quiet("scene", &[])));
        assert!(!changes.is_pending("ada", b"scene"));
        drop(changes.opened("ada", place("scene/file")));
        assert_eq!(heard(&changes), Ok(quiet("scene", &["scene/file"])));
        assert!(changes.is_pending("ada", b"scene"), "it is not whole");
        assert_eq!(heard(&changes), Err(None), "but told once");
    }
}
