//! The watchdog of the containers of one run of a worker: an engine would let them run on without it.

use crate::container::{Of, connect, remove_leftovers};
use rustix::process::setsid;
use std::io::{self, Read};
use std::process::ExitCode;
use std::time::Duration;

/// After the worker's death it looks again until nothing was left twice in a row: the engine may still be making a container.
const QUIET_ROUNDS: u32 = 2;
const ROUNDS_MAX: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn run(host: &str, run: &str) -> ExitCode {
    // Out of the worker's terminal and session, so that what ends the worker there does not end us before it.
    let _ = setsid();
    // A service manager asks all processes of a service to end, us too, and we have to be the last.
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: ignoring a signal installs no code that it could interrupt this process with.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let mut byte = [0; 64];
    while let Ok(1..) = io::stdin().read(&mut byte) {}
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    runtime.block_on(sweep(host, run))
}

async fn sweep(host: &str, run: &str) -> ExitCode {
    let mut quiet = 0;
    for _ in 0..ROUNDS_MAX {
        let removed = match connect(host).await {
            Ok(docker) => remove_leftovers(&docker, Of::Run(run)).await,
            Err(error) => Err(error),
        };
        quiet = if matches!(removed, Ok(0)) { quiet + 1 } else { 0 };
        if quiet == QUIET_ROUNDS {
            return ExitCode::SUCCESS;
        }
        tokio::time::sleep(PAUSE).await;
    }
    ExitCode::FAILURE
}
