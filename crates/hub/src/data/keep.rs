//! For how long data is kept: what a job needs while it lives, its results for a week after, what was pushed for good.
use super::Data;
use crate::keeper::Handle;
use gleaner_wire::{Hash, JobId};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

const EVERY: Duration = Duration::from_secs(30);
/// How long data of an ended job is kept.
pub(crate) const AFTER_JOB_MS: u64 = 7 * 24 * 3600 * 1000;

/// The name under which the chunks of a dataset are pinned.
pub(crate) fn pin_name(root: &Hash) -> String {
    format!("data:{root}")
}

/// Lets go of what is not needed any more, until the hub stops.
pub(crate) async fn sweep(data: Arc<Data>, keeper: Handle, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = stopping.changed() => return,
        }
        let Ok(live) = keeper.ask(|core| core.jobs().into_iter().map(|job| job.id).collect::<Vec<JobId>>()).await
        else {
            return;
        };
        let data = Arc::clone(&data);
        let swept = tokio::task::spawn_blocking(move || once(&data, &live)).await;
        if let Ok(Err(error)) = swept {
            tracing::warn!(%error, "old data could not be let go of; it is tried again");
        }
    }
}

impl Data {
    /// Returns when every chunk that has arrived survives a power cut. Blocks on the disk.
    pub(crate) fn make_durable(&self) -> Result<(), crate::Error> {
        self.store.flush().map_err(|source| crate::Error::Store { path: "chunks".into(), source })
    }
}

fn once(data: &Data, live: &[JobId]) -> Result<(), crate::Error> {
    let now = crate::clock::wall_ms();
    let ended: Vec<JobId> = data.catalog.users()?.into_iter().filter(|job| !live.contains(job)).collect();
    for job in &ended {
        data.catalog.ended(*job, now + AFTER_JOB_MS)?;
    }
    data.desk.forget(&ended);
    data.catalog.forget_sessions(now)?;
    for root in data.catalog.take_expired(now)? {
        let unpinned = data.store.unpin(&pin_name(&root)).and_then(|_| data.store.forget(&root));
        unpinned.map_err(|source| crate::Error::Store { path: "chunks".into(), source })?;
    }
    Ok(())
}
