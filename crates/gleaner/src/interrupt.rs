//! Ctrl-C and SIGTERM: the first asks for a clean end.
use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for Ctrl-C or SIGTERM.
pub struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interrupt {
    /// From now on, these signals no longer end the process by themselves.
    pub fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Returns when one has come.
    pub async fn came(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
