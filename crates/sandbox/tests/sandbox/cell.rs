//! One way to run a job in either sandbox, and to look at what came of it.

use crate::attacker::attacker;
use crate::box_image::write_archive;
use crate::docker::Docker;
use crate::podman::Podman;
use gleaner_sandbox::{
    Bubblewrap, BubblewrapConfig, Cause, Ending, Engine, EngineConfig, Error, Folder, Groups, Guards, Helper, Identity,
    Image, ImageSource, Isolation, Job, Limits, Line, Lines, Network, Running, Stream,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub const PROGRAMS: Identity = Identity { uid: 65534, gid: 65534 };
static ATTEMPTS: AtomicU32 = AtomicU32::new(0);

/// A sandbox of either kind, with a folder for its jobs.
pub struct Cell {
    kind: Kind,
    home: tempfile::TempDir,
}

#[expect(clippy::large_enum_variant, reason = "a test has one or two of them")]
enum Kind {
    Bubblewrap(Bubblewrap),
    Container { engine: Engine, image: Image, service: Service },
}

/// What runs containers.
enum Service {
    Podman(Podman),
    Docker(Docker),
}

impl Service {
    fn host(&self) -> String {
        match self {
            Self::Podman(podman) => podman.host(),
            Self::Docker(docker) => docker.host(),
        }
    }
}

/// What came of a job.
pub struct Outcome {
    pub ending: Ending,
    pub lines: Vec<Line>,
    pub folder: Folder,
}

pub fn helper() -> Helper {
    Helper { program: PathBuf::from(env!("CARGO_BIN_EXE_gleaner-sandbox-helper")), arguments: Vec::new() }
}

/// A name that no other test uses at the same time.
pub fn worker_name() -> String {
    format!("test-{}-{}", std::process::id(), ATTEMPTS.fetch_add(1, Ordering::Relaxed))
}

pub fn limits() -> Limits {
    Limits {
        time: Duration::from_secs(60),
        memory_bytes: 128 << 20,
        processes: 64,
        cpu_milli: 1000,
        disk_bytes: 64 << 20,
        files: 1000,
        tmp_bytes: 16 << 20,
    }
}

pub fn engine_config(host: &str, home: &Path) -> EngineConfig {
    EngineConfig {
        host: host.to_owned(),
        worker: worker_name(),
        helper: helper(),
        unprivileged: PROGRAMS,
        network: None,
        isolation: Isolation::EngineDefault,
        image_ledger: home.join("images.json"),
        images_bytes_max: 1 << 30,
    }
}

impl Cell {
    pub fn bubblewrap() -> Self {
        Self::bubblewrap_with(Groups::open(&worker_name()).unwrap())
    }

    pub fn bubblewrap_with(groups: Groups) -> Self {
        let config = BubblewrapConfig { helper: helper(), readable: Vec::new(), unprivileged: PROGRAMS };
        let kind = Kind::Bubblewrap(Bubblewrap::new(config, Arc::new(groups)).unwrap());
        Self { kind, home: tempfile::tempdir().unwrap() }
    }

    pub async fn container() -> Self {
        Self::contained(Service::Podman(Podman::start()), Isolation::EngineDefault).await
    }

    /// Containers on a kernel of their own.
    pub async fn gvisor() -> Self {
        assert!(Path::new("/usr/bin/runsc").is_file(), "gVisor is not installed (Debian: apt install runsc)");
        Self::contained(Service::Podman(Podman::start_with_gvisor()), Isolation::Gvisor).await
    }

    /// Containers by Docker instead of podman.
    pub async fn docker() -> Self {
        Self::contained(Service::Docker(Docker::start()), Isolation::EngineDefault).await
    }

    /// Containers whose owner allows a network of this podman.
    pub async fn on_network(podman: Podman, network: &str) -> Self {
        Self::contained_on(Service::Podman(podman), Isolation::EngineDefault, Some(network)).await
    }

    async fn contained(service: Service, isolation: Isolation) -> Self {
        Self::contained_on(service, isolation, None).await
    }

    async fn contained_on(service: Service, isolation: Isolation, network: Option<&str>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let network = network.map(str::to_owned);
        let config = EngineConfig { isolation, network, ..engine_config(&service.host(), home.path()) };
        let groups = Arc::new(Groups::open(&config.worker).unwrap());
        let engine = Engine::connect(config, groups).await.unwrap();
        let archive = home.path().join("image.tar");
        write_archive(&archive, &serde_json::json!({}));
        let source = ImageSource::Archive(archive);
        let image = engine.image(&source, Duration::from_secs(120), &mut |_| {}).await.unwrap();
        Self { kind: Kind::Container { engine, image, service }, home }
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Bubblewrap(_) => "bubblewrap",
            Kind::Container { .. } => "container",
        }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn podman(&self) -> Option<&Podman> {
        match &self.kind {
            Kind::Bubblewrap(_) => None,
            Kind::Container { service: Service::Podman(podman), .. } => Some(podman),
            Kind::Container { service: Service::Docker(_), .. } => None,
        }
    }

    pub fn engine(&self) -> Option<&Engine> {
        match &self.kind {
            Kind::Bubblewrap(_) => None,
            Kind::Container { engine, .. } => Some(engine),
        }
    }

    /// What stands between programs and the machine, under bubblewrap.
    pub fn guards(&self) -> Guards {
        match &self.kind {
            Kind::Bubblewrap(bubblewrap) => bubblewrap.guards(),
            Kind::Container { .. } => panic!("containers are guarded by their engine"),
        }
    }

    /// A job with the attacker among its inputs.
    pub fn job(&self, command: &[&str]) -> Job {
        let attempt = format!("a-{}", ATTEMPTS.fetch_add(1, Ordering::Relaxed));
        let folder = Folder::create(self.home.path().join(&attempt)).unwrap();
        std::fs::copy(attacker(), folder.inputs().join("attack")).unwrap();
        Job {
            attempt,
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            environment: BTreeMap::new(),
            folder,
            limits: limits(),
            network: Network::None,
            devices: Vec::new(),
        }
    }

    pub async fn start(&self, job: Job) -> Result<(Running, Lines), Error> {
        match &self.kind {
            Kind::Bubblewrap(bubblewrap) => bubblewrap.start(job).await,
            Kind::Container { engine, image, .. } => engine.start(job, image).await,
        }
    }

    pub async fn run(&self, job: Job) -> Outcome {
        let folder = job.folder.clone();
        let (running, mut lines) = self.start(job).await.unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(line);
        }
        Outcome { ending: running.ending().await, lines: all, folder }
    }

    /// Runs the attacker with these words.
    pub async fn attack(&self, words: &[&str]) -> Outcome {
        let command: Vec<&str> = ["/in/attack"].into_iter().chain(words.iter().copied()).collect();
        self.run(self.job(&command)).await
    }

    /// Runs the attacker, who must have tried and got nothing.
    pub async fn holds(&self, words: &[&str]) -> Outcome {
        let outcome = self.attack(words).await;
        let text = outcome.text();
        assert!(!text.contains("ESCAPED"), "{} {words:?}:\n{text}", self.name());
        assert!(text.contains("HELD"), "{} {words:?} tried nothing: {:?}\n{text}", self.name(), outcome.ending);
        assert_eq!(outcome.ending.cause, Cause::Finished, "{} {words:?}:\n{text}", self.name());
        outcome
    }

    /// The sandbox works as before.
    pub async fn still_works(&self) {
        let outcome = self.attack(&["exit", "0"]).await;
        assert_eq!(outcome.ending.cause, Cause::Finished, "{}: {}", self.name(), outcome.text());
    }
}

impl Outcome {
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }

    pub fn printed(&self, stream: Stream) -> Vec<&str> {
        self.lines.iter().filter(|line| line.stream == stream).map(|line| line.text.as_str()).collect()
    }
}
