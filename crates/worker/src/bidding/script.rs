//! The owner's own command that makes a bid: the invitation as JSON on its input, a price on its output.
//!
//! It is the owner's program and runs as the owner, like the idle command. It has the time that the auction allows, and
//! what it prints is read up to a limit; whatever else it does means that nothing is bid.
use std::process::Stdio;
use std::time::Duration;

use gleaner_wire::{Amount, AmountError, Invitation};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const SHELL: &str = "/bin/sh";
/// The most that is read of what it prints.
const OUTPUT_BYTES_MAX: u64 = 4096;
/// The longest that it may take, however long the auction lasts.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The part of the auction's time that it may take, in percent; the rest is for the way to the hub.
const TIME_PERCENT: u32 = 80;

/// Why a command made no bid.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be run.
    #[error("it cannot be run: {0}")]
    Run(#[from] std::io::Error),
    /// It took too long.
    #[error("it took longer than {0:?}")]
    Late(Duration),
    /// It failed.
    #[error("it ended with {0}")]
    Failed(std::process::ExitStatus),
    /// It printed something else than a price.
    #[error("it printed no price: {0}")]
    Price(#[from] AmountError),
}

/// Ends a command with everything that it has started.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // A group that has ended needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Runs the command and reads its price for a second, in GLN.
pub async fn run(command: &str, invitation: &Invitation) -> Result<Amount, Error> {
    let time = Duration::from_millis(invitation.within_ms.0).mul_f64(f64::from(TIME_PERCENT) / 100.0).min(TIME_MAX);
    let mut child = Command::new(SHELL)
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let _group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    timeout(time, converse(&mut child, invitation)).await.unwrap_or(Err(Error::Late(time)))
}

async fn converse(child: &mut Child, invitation: &Invitation) -> Result<Amount, Error> {
    let told = serde_json::to_vec(invitation).map_err(std::io::Error::other)?;
    if let Some(mut input) = child.stdin.take() {
        // A command that does not want to know closes its input.
        let _ = input.write_all(&told).await;
    }
    let mut printed = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(OUTPUT_BYTES_MAX).read_to_end(&mut printed).await?;
    }
    let status = child.wait().await?;
    if !status.success() {
        return Err(Error::Failed(status));
    }
    Ok(String::from_utf8_lossy(&printed).trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bidding::invitation;
    use gleaner_wire::Millis;
    use std::time::Instant;

    #[tokio::test]
    async fn a_command_sees_the_task_and_its_price_is_read() {
        let command = r#"grep -q '"task":"train"' && echo 0.0000005 GLN"#;
        assert_eq!(run(command, &invitation(1)).await.expect("a price"), Amount(500));
        let other = r#"grep -q '"task":"render"' && echo 0.0000005 GLN"#;
        assert!(matches!(run(other, &invitation(1)).await, Err(Error::Failed(_))));
    }

    #[tokio::test]
    async fn what_prints_no_price_or_too_much_or_fails_bids_nothing() {
        assert!(matches!(run("echo cheap", &invitation(1)).await, Err(Error::Price(_))));
        assert!(matches!(
            run("head -c 1000000 /dev/zero", &invitation(1)).await,
            Err(Error::Price(_) | Error::Failed(_))
        ));
        assert!(matches!(run("echo 1; exit 3", &invitation(1)).await, Err(Error::Failed(_))));
        assert!(run("/no/such/command", &invitation(1)).await.is_err());
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_ended() {
        let short = Invitation { within_ms: Millis(200), ..invitation(1) };
        let begun = Instant::now();
        assert!(matches!(run("sleep 60 & sleep 60", &short).await, Err(Error::Late(_))));
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
