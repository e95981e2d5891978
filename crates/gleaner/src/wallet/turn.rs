//! Commands that spend from one wallet take turns: two at once would use the same number, or count the same money twice.
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use tokio::time::{Instant, sleep};

use crate::failure::Advice;
use crate::output::say;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long to wait without a word.
const QUIET: Duration = Duration::from_secs(2);
const WAIT_MAX: Duration = Duration::from_secs(600);

/// The turn of this process, until it is dropped.
pub struct Turn(#[expect(dead_code, reason = "closing the file ends the turn")] File);

impl Turn {
    /// Waits for other commands that use the wallet.
    pub async fn take(wallet: &Path) -> Result<Self> {
        let path = wallet.with_extension("lock");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let file = File::options().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let (begun, mut told) = (Instant::now(), false);
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() > WAIT_MAX {
                let problem = format!("another command has used the wallet {} for ten minutes", wallet.display());
                return Err(Advice::new(problem, "end it, or wait for it").into());
            }
            if begun.elapsed() > QUIET && !std::mem::replace(&mut told, true) {
                say(format!("waiting for another command that uses the wallet {}", wallet.display()));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(Self(file))
    }
}
