//! Those who spend from one wallet take turns: two at once would use the same number, or count the same money twice.
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tokio::time::{Instant, sleep};

use crate::Error;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long to wait without a word.
const QUIET: Duration = Duration::from_secs(2);
const WAIT_MAX: Duration = Duration::from_secs(600);

/// A turn with a wallet, until it is dropped. It holds among processes and within one.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "closing the file ends the turn")] File);

impl Turn {
    /// Waits for others who use the wallet; `waiting` is called once if that takes a while.
    pub async fn take(wallet: &Path, waiting: impl FnOnce()) -> Result<Self, Error> {
        let path = wallet.with_extension("lock");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::file("make the folder", folder))?;
        }
        let file = File::options().create(true).append(true).open(&path).map_err(Error::file("write", &path))?;
        let (begun, mut waiting) = (Instant::now(), Some(waiting));
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() > WAIT_MAX {
                return Err(Error::Busy(wallet.to_owned()));
            }
            if begun.elapsed() > QUIET
                && let Some(tell) = waiting.take()
            {
                tell();
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_and_who_waits_long_hears_of_it_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let wallet = folder.path().join("wallet.json");
        let first = Turn::take(&wallet, || panic!("nobody else is here")).await.expect("its turn");
        let (told, heard) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn({
            let wallet = wallet.clone();
            async move { Turn::take(&wallet, || told.send(()).expect("it is listened to")).await }
        });
        heard.await.expect("it waits");
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.expect("no panic").expect("its turn");
    }
}
