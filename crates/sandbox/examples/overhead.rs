//! What a sandbox costs: starting and ending it, and what its walls cost while a program runs.
//!
//! `cargo run --release -p gleaner-sandbox --example overhead [-- --host unix:///run/docker.sock --image NAME-OR-ARCHIVE]`
//!
//! Measures a program that does nothing and one that computes: bare, under bubblewrap and in a container, each beside the bare
//! run of the same program in the same round. Cold is a container whose image is loaded or fetched first, warm one whose image
//! is there. Without `--host` it starts a podman of its own with an image of busybox, and where gVisor is installed another
//! one with that. The image needs `busybox`, and so does this machine. The helper is this very program.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "figures are for whoever asked for them")]
#![expect(clippy::unwrap_used, reason = "the engine of the tests is used, which cannot go on without its parts")]

#[path = "../tests/sandbox/attacker.rs"]
mod attacker;
#[path = "../tests/sandbox/box_image.rs"]
mod box_image;
#[path = "../tests/sandbox/podman.rs"]
#[expect(dead_code, reason = "tests need more of it")]
mod podman;

use gleaner_sandbox::{
    Bubblewrap, BubblewrapConfig, Cause, Engine, EngineConfig, Folder, Groups, Helper, Identity, Image, ImageSource,
    Isolation, Job, Limits, Lines, Network, Running, run_helper,
};
use podman::Podman;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const IMAGE_TIME_MAX: Duration = Duration::from_secs(3600);
const NOTHING: &[&str] = &["busybox", "true"];
const WORK: &[&str] = &["busybox", "sh", "-c", "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done"];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, rest @ ..] = arguments.as_slice()
        && first == "helper"
    {
        return run_helper(rest);
    }
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn option<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|word| word == name)?;
    arguments.get(at + 1).map(String::as_str)
}

#[tokio::main]
async fn measure(arguments: &[String]) -> Outcome<()> {
    let mut bench = Bench::new()?;
    bench.bubblewrap().await?;
    match (option(arguments, "--host"), option(arguments, "--image")) {
        (Some(host), Some(image)) => {
            let wanted = option(arguments, "--isolation") == Some("gvisor");
            let isolation = if wanted { Isolation::Gvisor } else { Isolation::EngineDefault };
            bench.containers(host, source(image), isolation).await
        }
        _ => bench.own_engines().await,
    }
}

fn source(image: &str) -> ImageSource {
    if Path::new(image).is_file() { ImageSource::Archive(image.into()) } else { ImageSource::Registry(image.into()) }
}

/// What all measurements share.
struct Bench {
    home: tempfile::TempDir,
    groups: Arc<Groups>,
    helper: Helper,
    number: u32,
}

const PROGRAMS: Identity = Identity { uid: 65534, gid: 65534 };

impl Bench {
    fn new() -> Outcome<Self> {
        Ok(Self {
            home: tempfile::tempdir()?,
            groups: Arc::new(Groups::open("overhead")?),
            helper: Helper { program: std::env::current_exe()?, arguments: vec!["helper".into()] },
            number: 0,
        })
    }

    fn job(&mut self, command: &[&str]) -> Outcome<Job> {
        self.number += 1;
        Ok(Job {
            attempt: format!("n-{}", self.number),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            environment: BTreeMap::new(),
            folder: Folder::create(self.home.path().join(self.number.to_string()))?,
            limits: Limits { cpu_milli: 64_000, ..Limits::default() },
            network: Network::None,
            devices: Vec::new(),
        })
    }

    async fn bubblewrap(&mut self) -> Outcome<()> {
        let config = BubblewrapConfig { helper: self.helper.clone(), readable: Vec::new(), unprivileged: PROGRAMS };
        let bubblewrap = Bubblewrap::new(config, self.groups.clone())?;
        for (what, command) in [("does nothing", NOTHING), ("computes", WORK)] {
            let mut pairs = Pairs::default();
            for _ in 0..ROUNDS {
                let bare = bare(command)?;
                let begun = Instant::now();
                finish(bubblewrap.start(self.job(command)?).await?).await?;
                pairs.add(bare, begun.elapsed());
            }
            pairs.print(&format!("bubblewrap, a program that {what}"));
        }
        Ok(())
    }

    async fn own_engines(&mut self) -> Outcome<()> {
        if !["/usr/bin/podman", "/usr/bin/cc"].iter().all(|path| Path::new(path).is_file()) {
            println!(
                "skipped: containers need podman and a C compiler (Debian: apt install podman runc gcc libc6-dev)"
            );
            return Ok(());
        }
        let podman = Podman::start();
        let archive = ImageSource::Archive(podman.archive());
        self.containers(&podman.host(), archive, Isolation::EngineDefault).await?;
        if !Path::new("/usr/bin/runsc").is_file() {
            println!("skipped: gVisor is not installed (Debian: apt install runsc)");
            return Ok(());
        }
        let podman = Podman::start_with_gvisor();
        let archive = ImageSource::Archive(podman.archive());
        self.containers(&podman.host(), archive, Isolation::Gvisor).await
    }

    async fn containers(&mut self, host: &str, source: ImageSource, isolation: Isolation) -> Outcome<()> {
        let config = EngineConfig {
            host: host.into(),
            worker: "overhead".into(),
            helper: self.helper.clone(),
            unprivileged: PROGRAMS,
            network: None,
            isolation,
            image_ledger: self.home.path().join("images.json"),
            images_bytes_max: 1 << 40,
        };
        let engine = Engine::connect(config, self.groups.clone()).await?;
        let name = match isolation {
            Isolation::EngineDefault => engine.name(),
            Isolation::Gvisor => format!("{} with gVisor", engine.name()),
        };
        self.cold_and_warm(&engine, &source, &name).await?;
        let image = engine.image(&source, IMAGE_TIME_MAX, &mut |_| {}).await?;
        let mut pairs = Pairs::default();
        for _ in 0..ROUNDS.min(3) {
            let bare = bare(WORK)?;
            pairs.add(bare, self.contained(&engine, &image, WORK).await?);
        }
        pairs.print(&format!("{name}, a program that computes"));
        Ok(())
    }

    async fn cold_and_warm(&mut self, engine: &Engine, source: &ImageSource, name: &str) -> Outcome<()> {
        let (mut cold, mut warm, mut loading) = (Pairs::default(), Pairs::default(), Vec::new());
        for _ in 0..ROUNDS {
            let bare = bare(NOTHING)?;
            let begun = Instant::now();
            let image = engine.image(source, IMAGE_TIME_MAX, &mut |_| {}).await?;
            loading.push(image.took);
            self.contained(engine, &image, NOTHING).await?;
            cold.add(bare, begun.elapsed());
            warm.add(bare, self.contained(engine, &image, NOTHING).await?);
            if !image.cached {
                engine.remove_image(&image.id).await?;
            }
        }
        println!("{name}, getting the image: {:.1} ms", milliseconds(median(loading)));
        cold.print(&format!("{name}, cold, a program that does nothing"));
        warm.print(&format!("{name}, warm, a program that does nothing"));
        println!("{name}, cold beside warm: times {:.2}", cold.sandboxed() / warm.sandboxed());
        Ok(())
    }

    async fn contained(&mut self, engine: &Engine, image: &Image, command: &[&str]) -> Outcome<Duration> {
        let job = self.job(command)?;
        let begun = Instant::now();
        finish(engine.start(job, image).await?).await?;
        Ok(begun.elapsed())
    }
}

fn bare(command: &[&str]) -> std::io::Result<Duration> {
    let begun = Instant::now();
    Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).status()?;
    Ok(begun.elapsed())
}

async fn finish((running, _lines): (Running, Lines)) -> Outcome<()> {
    match running.ending().await.cause {
        Cause::Finished => Ok(()),
        other => Err(format!("it did not finish: {other:?}").into()),
    }
}

/// Runs without and with a sandbox, one after the other, so that both saw the same machine.
#[derive(Default)]
struct Pairs {
    bare: Vec<Duration>,
    sandboxed: Vec<Duration>,
}

impl Pairs {
    fn add(&mut self, bare: Duration, sandboxed: Duration) {
        self.bare.push(bare);
        self.sandboxed.push(sandboxed);
    }

    fn sandboxed(&self) -> f64 {
        milliseconds(median(self.sandboxed.clone()))
    }

    fn print(&self, what: &str) {
        let (bare, sandboxed) = (milliseconds(median(self.bare.clone())), self.sandboxed());
        println!(
            "{what}: {sandboxed:.1} ms, bare {bare:.1} ms: {:+.1} ms, times {:.2}",
            sandboxed - bare,
            sandboxed / bare
        );
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
