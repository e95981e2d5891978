//! What a sandbox costs: starting and ending it, and what its walls cost while a program runs.
//!
//! `cargo run --release -p gleaner-sandbox --example overhead [-- --host unix:///run/docker.sock --image NAME-OR-ARCHIVE]`
//!
//! Prints two tables of medians. The first is of a program that does nothing, from the order to start it to the news of its
//! end: bare, under bubblewrap and in a container. Cold is a container whose image is loaded or fetched first, warm one whose
//! image is there. The second is of a program that computes, in seconds of the processor as the machine's own kernel counts
//! them, less those of the program that does nothing: time by the clock would say more about whom the scheduler prefers. Each
//! run is compared with a bare one of the same round. Without `--host` it starts a podman of its own with an image of busybox, and where gVisor is installed another
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
/// Prints what it took of the processor.
const WORK: &[&str] = &["busybox", "sh", "-c", "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; times"];

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
            bench.containers(host, source(image), isolation).await?;
        }
        _ => bench.own_engines().await?,
    }
    bench.print();
    Ok(())
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
    starts: Vec<Start>,
    works: Vec<Work>,
    skipped: Vec<&'static str>,
}

/// From the order to start a program that does nothing to the news of its end.
struct Start {
    what: String,
    median: Duration,
}

/// What a program that computes took of the processor inside, and beside it outside.
struct Work {
    what: String,
    seconds: f64,
    bare_seconds: f64,
    ratio: f64,
}

/// What became of a job.
struct Done {
    /// From the order to start it to the news of its end.
    time: Duration,
    /// Seconds of the processor, of the sandbox as well.
    cpu: f64,
}

const PROGRAMS: Identity = Identity { uid: 65534, gid: 65534 };

impl Bench {
    fn new() -> Outcome<Self> {
        Ok(Self {
            home: tempfile::tempdir()?,
            groups: Arc::new(Groups::open("overhead")?),
            helper: Helper { program: std::env::current_exe()?, arguments: vec!["helper".into()] },
            number: 0,
            starts: Vec::new(),
            works: Vec::new(),
            skipped: Vec::new(),
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

    fn started(&mut self, what: impl Into<String>, times: &[Duration]) {
        let median = Duration::from_secs_f64(median(times.iter().map(Duration::as_secs_f64).collect()));
        self.starts.push(Start { what: what.into(), median });
    }

    fn worked(&mut self, what: impl Into<String>, pairs: &[(f64, f64)]) {
        self.works.push(Work {
            what: what.into(),
            seconds: median(pairs.iter().map(|pair| pair.1).collect()),
            bare_seconds: median(pairs.iter().map(|pair| pair.0).collect()),
            ratio: median(pairs.iter().map(|pair| pair.1 / pair.0).collect()),
        });
    }

    async fn bubblewrap(&mut self) -> Outcome<()> {
        let config = BubblewrapConfig { helper: self.helper.clone(), readable: Vec::new(), unprivileged: PROGRAMS };
        let bubblewrap = Bubblewrap::new(config, self.groups.clone())?;
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            bare(NOTHING)?;
            outside.push(begun.elapsed());
            let job = self.job(NOTHING)?;
            inside.push(finish(Instant::now(), bubblewrap.start(job).await?).await?);
        }
        self.started("bare process", &outside);
        self.started("bubblewrap", &times(&inside));
        let mut pairs = Vec::new();
        for _ in 0..ROUNDS {
            let bare = took(&bare(WORK)?)?;
            let job = self.job(WORK)?;
            let done = finish(Instant::now(), bubblewrap.start(job).await?).await?;
            pairs.push((bare, done.cpu - cpu(&inside)));
        }
        self.worked("bubblewrap", &pairs);
        Ok(())
    }

    async fn own_engines(&mut self) -> Outcome<()> {
        if !["/usr/bin/podman", "/usr/bin/cc"].iter().all(|path| Path::new(path).is_file()) {
            self.skipped.push("containers: they need `apt install podman runc gcc libc6-dev`");
            return Ok(());
        }
        let podman = Podman::start();
        let archive = ImageSource::Archive(podman.archive());
        self.containers(&podman.host(), archive, Isolation::EngineDefault).await?;
        if !Path::new("/usr/bin/runsc").is_file() {
            self.skipped.push("gVisor: it needs `apt install runsc`");
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
        let nothing = self.cold_and_warm(&engine, &source, &name).await?;
        let image = engine.image(&source, IMAGE_TIME_MAX, &mut |_| {}).await?;
        let mut pairs = Vec::new();
        for _ in 0..ROUNDS {
            let bare = took(&bare(WORK)?)?;
            pairs.push((bare, self.contained(&engine, &image, WORK).await?.cpu - nothing));
        }
        self.worked(name, &pairs);
        Ok(())
    }

    /// Gives what the warm ones took of the processor.
    async fn cold_and_warm(&mut self, engine: &Engine, source: &ImageSource, name: &str) -> Outcome<f64> {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let image = engine.image(source, IMAGE_TIME_MAX, &mut |_| {}).await?;
            self.contained(engine, &image, NOTHING).await?;
            if !image.cached {
                cold.push(begun.elapsed());
            }
            warm.push(self.contained(engine, &image, NOTHING).await?);
            if !image.cached {
                engine.remove_image(&image.id).await?;
            }
        }
        if cold.is_empty() {
            self.skipped.push("a cold start: the image was there before");
        } else {
            self.started(format!("{name}, cold"), &cold);
        }
        self.started(format!("{name}, warm"), &times(&warm));
        Ok(cpu(&warm))
    }

    async fn contained(&mut self, engine: &Engine, image: &Image, command: &[&str]) -> Outcome<Done> {
        let job = self.job(command)?;
        finish(Instant::now(), engine.start(job, image).await?).await
    }

    fn print(&self) {
        println!("| start and end of nothing | ms | beside a bare process |\n|---|---|---|");
        let bare = self.starts.first().map_or(f64::NAN, |start| start.median.as_secs_f64());
        for Start { what, median } in &self.starts {
            let seconds = median.as_secs_f64();
            println!("| {what} | {:.1} | {:+.1} ms |", seconds * 1000.0, (seconds - bare) * 1000.0);
        }
        println!("\n| a program that computes | processor s | bare, processor s | ratio |\n|---|---|---|---|");
        for Work { what, seconds, bare_seconds, ratio } in &self.works {
            println!("| {what} | {seconds:.2} | {bare_seconds:.2} | {ratio:.3} |");
        }
        for what in &self.skipped {
            println!("\nskipped: {what}");
        }
    }
}

/// Runs a program without a sandbox, and gives what it printed.
fn bare(command: &[&str]) -> Outcome<String> {
    let output = Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Waits for the end of a job that was ordered at `begun`.
async fn finish(begun: Instant, (running, _lines): (Running, Lines)) -> Outcome<Done> {
    let ending = running.ending().await;
    let time = begun.elapsed();
    match (ending.cause, ending.usage.cpu) {
        (Cause::Finished, Some(cpu)) => Ok(Done { time, cpu: cpu.as_secs_f64() }),
        (Cause::Finished, None) => Err("no group counts the processor's time: run this as root".into()),
        (other, _) => Err(format!("it did not finish: {other:?}").into()),
    }
}

fn times(done: &[Done]) -> Vec<Duration> {
    done.iter().map(|done| done.time).collect()
}

fn cpu(done: &[Done]) -> f64 {
    median(done.iter().map(|done| done.cpu).collect())
}

/// The seconds of the processor that a shell printed of itself, such as `0m1.250s 0m0.010s`.
fn took(printed: &str) -> Outcome<f64> {
    let own = printed.lines().next().unwrap_or_default();
    let seconds = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let all: Option<Vec<f64>> = own.split_ascii_whitespace().map(seconds).collect();
    all.map(|all| all.iter().sum()).filter(|sum| *sum > 0.0).ok_or_else(|| format!("no time in `{printed}`").into())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
