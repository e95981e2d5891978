//! Checkpoints: what a program writes to `/checkpoint`, saved while it runs and when it is stopped, so that another attempt
//! goes on from there. A program that never leaves its folder alone is frozen for the moment of a copy.
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use gleaner_sandbox::{CollectLimits, Controls, Snapshot, snapshot};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::folder::{CellFolder, take};
use crate::deliver::{Saving, Sealing};
use crate::product::Product;

const FILES_MAX: u64 = 100_000;
/// The least time between two looks at a folder that was changing.
const AGAIN: Duration = Duration::from_millis(500);
/// So many copies of a folder that changed meanwhile are given up before the program is frozen for one.
const CHANGED_MAX: u32 = 3;
/// How long the last checkpoint of a program that was stopped may take.
const LAST_TIME_MAX: Duration = Duration::from_secs(120);

/// Saves the checkpoints of one attempt.
pub(super) struct Saver {
    runtime: Handle,
    saving: Saving,
    sealing: Sealing,
    scratch: PathBuf,
    folder: PathBuf,
    bytes_max: u64,
    every: Duration,
    due: Instant,
    /// What the folder was when it was last saved.
    saved: Option<Stamp>,
    /// How many copies in a row were given up because it was changing.
    changed: u32,
    under_way: Option<JoinHandle<Outcome>>,
}

/// What came of an attempt to save.
enum Outcome {
    /// This is saved now.
    Saved(Stamp),
    /// The folder changed while it was copied.
    Changed,
    /// It cannot be saved, or not be sent.
    Failed,
}

/// What came of a copy.
enum Copied {
    Whole(Product),
    Changed,
    Failed,
}

/// By what a folder is known to have changed: files, bytes, and the latest change.
type Stamp = (u64, u64, Option<SystemTime>);

impl Saver {
    pub(super) fn new(
        runtime: Handle,
        saving: Saving,
        sealing: Sealing,
        cell: &CellFolder,
        scratch: &Path,
        bytes_max: u64,
        every: Duration,
    ) -> Self {
        let (folder, scratch) = (cell.folder.checkpoint(), scratch.to_owned());
        let saved = stamp(&folder);
        let due = Instant::now() + every;
        Self { runtime, saving, sealing, scratch, folder, bytes_max, every, due, saved, changed: 0, under_way: None }
    }

    /// Begins to save if it is time and something has changed.
    pub(super) async fn look(&mut self, now: Instant, controls: &Controls) {
        if self.under_way.as_ref().is_some_and(|under_way| !under_way.is_finished()) {
            return;
        }
        if let Some(ended) = self.under_way.take() {
            let again = now + AGAIN.min(self.every);
            (self.due, self.changed) = match ended.await.unwrap_or(Outcome::Failed) {
                Outcome::Saved(stamp) => {
                    self.saved = Some(stamp);
                    (now + self.every, 0)
                }
                Outcome::Changed => (again, self.changed.saturating_add(1)),
                Outcome::Failed => (again, self.changed),
            };
        }
        if now >= self.due {
            self.due = now + self.every;
            if let Some(stamp) = stamp(&self.folder).filter(|stamp| stamp.0 > 0 && Some(*stamp) != self.saved) {
                let frozen = (self.changed >= CHANGED_MAX).then(|| controls.clone());
                self.under_way = Some(self.begin(stamp, frozen));
            }
        }
    }

    /// Saves what a program that was stopped has left.
    pub(super) async fn last(mut self) {
        let under_way = self.under_way.take();
        let last = async {
            if let Some(under_way) = under_way
                && let Ok(Outcome::Saved(stamp)) = under_way.await
            {
                self.saved = Some(stamp);
            }
            if let Some(stamp) = stamp(&self.folder).filter(|stamp| stamp.0 > 0 && Some(*stamp) != self.saved) {
                // Whoever waits for it hears nothing if it does not come to an end.
                let _ = self.begin(stamp, None).await;
            }
        };
        if tokio::time::timeout(LAST_TIME_MAX, last).await.is_err() {
            let (job, attempt) = (self.sealing.job, self.sealing.attempt);
            tracing::warn!(%job, %attempt, "a checkpoint could not be saved in time: the task goes on from the one before");
        }
    }

    /// Copies the folder, with the program frozen meanwhile where `frozen` can do that, and sends the copy.
    fn begin(&self, stamp: Stamp, frozen: Option<Controls>) -> JoinHandle<Outcome> {
        let (saving, sealing, folder) = (self.saving.clone(), self.sealing.clone(), self.folder.clone());
        let (scratch, bytes_max) = (self.scratch.clone(), self.bytes_max);
        self.runtime.spawn(async move {
            let copy = async move {
                let copied = tokio::task::spawn_blocking(move || copy(&scratch, &folder, bytes_max)).await;
                copied.unwrap_or(Copied::Failed)
            };
            let copied = match frozen {
                Some(controls) => while_frozen(&controls, copy).await,
                None => copy.await,
            };
            match copied {
                Copied::Whole(product) => match saving.save(&sealing, product).await {
                    true => Outcome::Saved(stamp),
                    false => Outcome::Failed,
                },
                Copied::Failed => Outcome::Failed,
                Copied::Changed => Outcome::Changed,
            }
        })
    }
}

/// Copies while nothing of the program moves. It goes on afterwards, whatever came of the copy.
async fn while_frozen(controls: &Controls, copy: impl Future<Output = Copied>) -> Copied {
    let stands = controls.freeze().await;
    let copied = if stands { copy.await } else { Copied::Changed };
    controls.thaw().await;
    copied
}

/// A copy of a folder that stood still meanwhile.
fn copy(scratch: &Path, folder: &Path, bytes_max: u64) -> Copied {
    let Ok(home) = tempfile::Builder::new().prefix("save-").tempdir_in(scratch) else { return Copied::Failed };
    let into = home.path().join("copy");
    let taken = snapshot(folder, &into, CollectLimits { files: FILES_MAX, bytes: bytes_max });
    match taken {
        Ok(Snapshot::Whole { .. }) => take(&into, home.path(), bytes_max).map_or(Copied::Failed, Copied::Whole),
        Ok(Snapshot::Changed(_)) => Copied::Changed,
        Err(error) => {
            tracing::debug!(%error, "a checkpoint is not saved");
            Copied::Failed
        }
    }
}

/// What a folder is now, as far as a look tells. Links are not followed.
fn stamp(folder: &Path) -> Option<Stamp> {
    let mut stamp = (0, 0, None);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            stamp.2 = stamp.2.max(found.modified().ok());
            if found.is_dir() && !found.is_symlink() {
                folders.push(entry.path());
            } else {
                stamp = (stamp.0 + 1, stamp.1 + found.len(), stamp.2);
            }
            if stamp.0 > FILES_MAX {
                return None;
            }
        }
    }
    Some(stamp)
}
