//! Containers, by any engine that speaks Docker's API over a local socket: Docker or podman, with root or without.
//!
//! A container has a read-only root, no capability, no way to new privileges, a seccomp filter of ours, no network
//! unless job and owner both want one, and of this machine nothing but the job's folder. Every container carries the name
//! of its worker, by which the next start finds what was left, and the run that made it, by which the watchdog of that run
//! does: a worker that is started again at once does not lose its new containers to the watchdog of the old ones.

mod cage;
mod connect;
mod description;
mod images;
mod leftovers;
mod profile;
mod running;
mod start;
mod trial;
mod watchdog;

pub(crate) use connect::connect;
pub use connect::{DeviceNames, candidate_hosts};
pub use images::{Held, Image, ImageSource, PullProgress};
pub(crate) use leftovers::{Of, remove_leftovers};
pub use running::RunningContainers;

use crate::{Error, Groups, Helper, Identity};
use bollard::Docker;
use connect::Character;
use images::Ledger;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use watchdog::Watchdog;

/// The label that names the worker of a container.
pub const WORKER_LABEL: &str = "org.gleaner.worker";
/// The label that names the run of that worker: another one each time it connects.
pub(crate) const RUN_LABEL: &str = "org.gleaner.run";
/// The label that names the attempt of a container.
const ATTEMPT_LABEL: &str = "org.gleaner.attempt";
/// How long an engine may take for what it should do at once.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);
/// Where archives of images are unpacked, beside the ledger.
const UNPACKED: &str = "unpacked-images";

/// How containers are run.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The engine's socket, as in `DOCKER_HOST` (`unix:///run/docker.sock`).
    pub host: String,
    /// The worker's name: lower-case letters, digits and `-`.
    pub worker: String,
    /// How the binary becomes its helper.
    pub helper: Helper,
    /// Whom programs run as if the worker is root.
    pub unprivileged: Identity,
    /// The engine's network for jobs that want one; none if the owner allows no network.
    pub network: Option<String>,
    /// What keeps containers apart from the machine's kernel.
    pub isolation: Isolation,
    /// Where the worker remembers which images it has fetched. The profile of its containers is written beside it.
    pub image_ledger: PathBuf,
    /// How much the images that it has fetched may take up.
    pub images_bytes_max: u64,
}

/// What keeps containers apart from the machine's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// What the engine uses by itself, namespaces of the machine's kernel.
    EngineDefault,
    /// gVisor (`runsc`): a kernel of its own between program and machine.
    Gvisor,
}

/// A container engine of this machine. When the last clone is dropped, its containers are removed.
#[derive(Debug, Clone)]
pub struct Engine {
    docker: Docker,
    config: Arc<EngineConfig>,
    /// What this run of the worker is called.
    run: Arc<str>,
    character: Arc<Character>,
    /// How the engine is told of the profile of our containers.
    seccomp: Arc<str>,
    groups: Arc<Groups>,
    watchdog: Arc<Mutex<Watchdog>>,
    ledger: Arc<tokio::sync::Mutex<Ledger>>,
    running: RunningContainers,
}

impl Engine {
    /// Connects, removes what an earlier worker of the same name left, and starts the watchdog.
    ///
    /// # Errors
    /// If nothing answers at the host, or what answers cannot keep a job within its limits.
    pub async fn connect(config: EngineConfig, groups: Arc<Groups>) -> Result<Self, Error> {
        let docker = connect(&config.host).await?;
        let character = Character::of(&docker, &config.host).await?;
        character.check(config.isolation)?;
        remove_leftovers(&docker, Of::Worker(&config.worker)).await?;
        let run: Arc<str> = draw_run()?.into();
        let ledger = Ledger::open(&config.image_ledger)?;
        let seccomp = profile::option(&character, &config.image_ledger.with_file_name("seccomp.json"))?;
        // A worker that was killed while it unpacked an image left it there.
        let _ = std::fs::remove_dir_all(config.image_ledger.with_file_name(UNPACKED));
        let watchdog = Watchdog::start(&config, &run)?;
        Ok(Self {
            docker,
            config: Arc::new(config),
            run,
            character: Arc::new(character),
            seccomp: seccomp.into(),
            groups,
            watchdog: Arc::new(Mutex::new(watchdog)),
            ledger: Arc::new(tokio::sync::Mutex::new(ledger)),
            running: RunningContainers::default(),
        })
    }

    /// The containers of this run that are there now; what is returned goes on knowing.
    #[must_use]
    pub fn running(&self) -> RunningContainers {
        self.running.clone()
    }

    /// Where an archive of an image is unpacked: nobody else looks into that folder.
    fn unpacked(&self) -> Result<PathBuf, Error> {
        let folder = self.config.image_ledger.with_file_name(UNPACKED);
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::system(format!("making {}", folder.display()), error))?;
        Ok(folder)
    }

    /// What answers: `Docker 20.10.24`, `podman 4.3.1`.
    #[must_use]
    pub fn name(&self) -> String {
        self.character.to_string()
    }

    /// Whether it takes names of the Container Device Interface.
    #[must_use]
    pub fn device_names(&self) -> DeviceNames {
        self.character.device_names()
    }

    /// The commands that restart it and show what it says.
    #[must_use]
    pub fn restart(&self) -> String {
        self.character.restart()
    }
}

/// A name that no earlier run had.
fn draw_run() -> Result<String, Error> {
    let mut drawn = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut chance| chance.read_exact(&mut drawn))
        .map_err(|error| Error::system("drawing a name for this run", error))?;
    Ok(format!("{:016x}", u64::from_le_bytes(drawn)))
}
