//! A command that starts and stops machines. It is told all that is wanted, not what has changed, so that one that failed
//! or was never run is made good by the next; one runs at a time.
use super::Place;
use gleaner_wire::DeviceClass;
use gleaner_wire::prices::DemandView;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// How long a command may take.
const TIME_MAX: Duration = Duration::from_secs(60);
/// The first wait after a failure; each further one is twice as long.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(300);

/// The command, and what it has been told.
pub(super) struct Hook {
    command: String,
    place: Place,
    /// How many of each class it was told to have, the last time that it succeeded.
    told: Option<Vec<(DeviceClass, u32)>>,
    failures: u32,
}

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("it cannot be started or spoken to")]
    Start(#[from] std::io::Error),
    #[error("it ended with {0}")]
    Status(std::process::ExitStatus),
    #[error("it took longer than {} seconds and was ended", TIME_MAX.as_secs())]
    Time,
}

impl Hook {
    pub(super) fn new(command: String, place: Place) -> Self {
        Self { command, place, told: None, failures: 0 }
    }

    /// Runs the command if something else is wanted than it was told.
    pub(super) async fn follow(&mut self, demand: &DemandView) {
        let wanted = demand.classes.iter().filter(|class| class.wanted > 0);
        let wanted: Vec<_> = wanted.map(|class| (class.class, class.wanted)).collect();
        if self.told.as_ref() == Some(&wanted) {
            self.failures = 0;
            return;
        }
        match self.run(demand).await {
            Ok(()) => {
                tracing::info!(?wanted, "the demand hook was run");
                (self.told, self.failures) = (Some(wanted), 0);
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                let (error, wait) = (chain(&error), self.retry_in());
                tracing::warn!(error, ?wait, "the demand hook failed and is run again");
            }
        }
    }

    /// How long to wait before it is run again, if it failed.
    pub(super) fn retry_in(&self) -> Option<Duration> {
        let doubled = 1_u32.checked_shl(self.failures.checked_sub(1)?).unwrap_or(u32::MAX);
        Some(RETRY_FIRST.saturating_mul(doubled).min(RETRY_MAX))
    }

    async fn run(&self, demand: &DemandView) -> Result<(), Failed> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command).stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
        // A group of its own, so that one that hangs is ended with all that it started.
        command.process_group(0);
        command.env("GLEANER_HUB", &self.place.url).env("GLEANER_TOKEN_FILE", &self.place.token_file);
        let mut child = command.spawn()?;
        let body = serde_json::to_vec(demand).expect("a view is plain data");
        match tokio::time::timeout(TIME_MAX, tell(&mut child, &body)).await {
            Ok(status) => {
                let status = status?;
                if status.success() { Ok(()) } else { Err(Failed::Status(status)) }
            }
            Err(_) => {
                end(&child);
                Err(Failed::Time)
            }
        }
    }
}

async fn tell(child: &mut Child, body: &[u8]) -> std::io::Result<std::process::ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not care what is wanted need not read it.
        let _ = stdin.write_all(body).await;
    }
    child.wait().await
}

/// Ends a command and whatever it started.
fn end(child: &Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // It may have ended just now.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        text = format!("{text}: {deeper}");
        cause = deeper.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_wire::prices::ClassDemand;

    fn demand(wanted: u32) -> DemandView {
        let class: DeviceClass = "cpu-wasm-0GiB".parse().expect("a class");
        let (kind, runtime, memory_min) = (class.kind, class.runtime, class.band.least());
        let one = ClassDemand { class, kind, runtime, memory_min, wanted, online: 0, busy: 0, waiting: 9 };
        DemandView { workers_max: 5, classes: vec![one] }
    }

    fn hook(command: &str) -> Hook {
        Hook::new(command.into(), Place { url: "http://hub".into(), token_file: "/token".into() })
    }

    #[tokio::test]
    async fn it_is_told_all_that_is_wanted_and_only_when_that_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("told");
        let mut hook = hook(&format!("cat >> {0}; echo \" $GLEANER_HUB\" >> {0}", file.display()));
        for wanted in [2, 2, 3] {
            hook.follow(&demand(wanted)).await;
        }
        let told = std::fs::read_to_string(&file).expect("it was written");
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines.len(), 2, "{told}");
        assert!(lines[0].ends_with(" http://hub") && lines[0].contains("\"wanted\":2"), "{told}");
        assert!(lines[1].contains("\"class\":\"cpu-wasm-0GiB\"") && lines[1].contains("\"wanted\":3"), "{told}");
    }

    #[tokio::test]
    async fn one_that_fails_is_run_again_ever_more_rarely() {
        let mut hook = hook("exit 3");
        let mut waits = Vec::new();
        for _ in 0..12 {
            hook.follow(&demand(1)).await;
            waits.push(hook.retry_in().expect("it failed").as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        hook.command = "true".into();
        hook.follow(&demand(1)).await;
        assert_eq!(hook.retry_in(), None);
    }
}
