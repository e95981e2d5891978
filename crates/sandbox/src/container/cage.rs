//! A container as the supervisor sees it.

use crate::supervise::Cage;
use bollard::Docker;
use bollard::query_parameters::{InspectContainerOptions, KillContainerOptions};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;

#[derive(Debug)]
pub(super) struct ContainerCage {
    pub(super) docker: Docker,
    pub(super) id: String,
    /// Its first process, if it runs under the kernel that this process sees.
    pub(super) first: Option<FirstProcess>,
}

/// The first process of a container, with which all others end.
#[derive(Debug)]
pub(super) struct FirstProcess {
    pub(super) number: i32,
    /// Means this very process, whoever has its number later.
    handle: OwnedFd,
}

impl FirstProcess {
    /// The process of this number, if it belongs to the container of this id.
    pub(super) fn of(number: i64, id: &str) -> Option<Self> {
        let number = i32::try_from(number).ok().filter(|number| *number > 1)?;
        // The handle comes first: if the process of this number is the container's afterwards, the handle's is.
        let handle = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
        let groups = std::fs::read_to_string(format!("/proc/{number}/cgroup")).ok()?;
        groups.contains(id).then_some(Self { number, handle })
    }
}

impl ContainerCage {
    async fn signal(&self, signal: &str) {
        // A container that has just ended refuses signals; its end is on its way.
        let _ = self.docker.kill_container(&self.id, Some(KillContainerOptions { signal: signal.into() })).await;
    }

    /// What the engine says of it: engines refuse to let go what does not stand still, which is as well.
    async fn is_paused(&self) -> Option<bool> {
        self.docker.inspect_container(&self.id, None::<InspectContainerOptions>).await.ok()?.state?.paused
    }
}

impl Cage for ContainerCage {
    async fn terminate(&self) {
        self.signal("SIGTERM").await;
    }

    /// By the kernel at once where this process may, because an engine has its own pace; else by the engine.
    async fn kill(&self) {
        let killed = self.first.as_ref().is_some_and(|first| pidfd_send_signal(&first.handle, Signal::KILL).is_ok());
        if !killed {
            self.signal("SIGKILL").await;
        }
    }

    async fn freeze(&self, frozen: bool) -> bool {
        let answer = if frozen {
            self.docker.pause_container(&self.id).await
        } else {
            self.docker.unpause_container(&self.id).await
        };
        answer.is_ok() || self.is_paused().await == Some(frozen)
    }

    fn first_process(&self) -> Option<i32> {
        self.first.as_ref().map(|first| first.number)
    }
}
