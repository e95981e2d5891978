//! A container as the supervisor sees it.

use crate::supervise::Cage;
use bollard::Docker;
use bollard::query_parameters::KillContainerOptions;

#[derive(Debug)]
pub(super) struct ContainerCage {
    pub(super) docker: Docker,
    pub(super) id: String,
    /// Its first process, if it runs under the kernel that this process sees.
    pub(super) process: Option<i32>,
}

impl ContainerCage {
    async fn signal(&self, signal: &str) {
        // A container that has just ended refuses signals; its end is on its way.
        let _ = self.docker.kill_container(&self.id, Some(KillContainerOptions { signal: signal.into() })).await;
    }
}

impl Cage for ContainerCage {
    async fn terminate(&self) {
        self.signal("SIGTERM").await;
    }

    async fn kill(&self) {
        self.signal("SIGKILL").await;
    }

    async fn freeze(&self, frozen: bool) -> bool {
        let answer = if frozen {
            self.docker.pause_container(&self.id).await
        } else {
            self.docker.unpause_container(&self.id).await
        };
        answer.is_ok()
    }

    fn first_process(&self) -> Option<i32> {
        self.process
    }
}
