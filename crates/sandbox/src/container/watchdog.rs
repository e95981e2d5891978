//! Starts the process that removes the containers of this run of a worker should the worker die, however it dies.

use super::EngineConfig;
use crate::Error;
use std::process::{Child, ChildStdin, Stdio};
use std::thread;

/// A process beside this one. It waits for the end of its input, which comes when this process is no more.
#[derive(Debug)]
pub(super) struct Watchdog {
    child: Option<Child>,
    /// Never written to: that it is open is the message.
    _lifeline: Option<ChildStdin>,
}

impl Watchdog {
    pub(super) fn start(config: &EngineConfig, run: &str) -> Result<Self, Error> {
        let mut command = config.helper.command("watch");
        command.args([&config.host, run]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| Error::system("starting the watchdog of containers", error))?;
        let lifeline = child.stdin.take();
        Ok(Self { child: Some(child), _lifeline: lifeline })
    }

    /// Starts it again if somebody ended it: no container runs unwatched.
    pub(super) fn ensure(&mut self, config: &EngineConfig, run: &str) -> Result<(), Error> {
        let alive = self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
        if !alive {
            *self = Self::start(config, run)?;
        }
        Ok(())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It ends by itself once it has removed what is left.
            thread::spawn(move || child.wait());
        }
    }
}
