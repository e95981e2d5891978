//! How long a sandbox takes to start and to end, beside the same program without one.
//!
//! `cargo run --release -p gleaner-sandbox --example overhead [-- --host unix:///run/docker.sock --image NAME]`
//!
//! Measures a program that does nothing: bare, under bubblewrap, and, where an engine and an image are named, in a container
//! (cold: with its image loaded or fetched first; warm: with the image there). And a program that computes for a while, bare
//! and under bubblewrap, for what the walls cost while it runs. The helper is this very program.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "figures are for whoever asked for them")]

use gleaner_sandbox::{
    Bubblewrap, BubblewrapConfig, Cause, Engine, EngineConfig, Folder, Groups, Helper, Identity, ImageSource,
    Isolation, Job, Limits, Lines, Network, Running, run_helper,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 11;
const NOTHING: [&str; 1] = ["true"];
const WORK: [&str; 3] = ["sh", "-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"];

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
async fn measure(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let groups = Arc::new(Groups::open("overhead")?);
    let helper = Helper { program: std::env::current_exe()?, arguments: vec!["helper".into()] };
    let unprivileged = Identity { uid: 65534, gid: 65534 };
    let config = BubblewrapConfig { helper: helper.clone(), readable: Vec::new(), unprivileged };
    let bubblewrap = Bubblewrap::new(config, groups.clone())?;
    let mut number = 0;
    let mut next = |command: &[&str]| {
        number += 1;
        job(home.path(), number, command)
    };
    for (what, command) in [("a program that does nothing", &NOTHING[..]), ("a program that computes", &WORK[..])] {
        let bare = median((0..ROUNDS).map(|_| bare(command)).collect::<Result<_, _>>()?);
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            finish(bubblewrap.start(next(command)?).await?).await?;
            times.push(begun.elapsed());
        }
        print(&format!("{what}, bare"), bare, None);
        print(&format!("{what}, under bubblewrap"), median(times), Some(bare));
    }
    let (Some(host), Some(image)) = (option(arguments, "--host"), option(arguments, "--image")) else {
        println!("containers are measured with --host unix://SOCKET --image NAME-OR-ARCHIVE");
        return Ok(());
    };
    let engine = EngineConfig {
        host: host.into(),
        worker: "overhead".into(),
        helper,
        unprivileged,
        network: None,
        isolation: if option(arguments, "--isolation") == Some("gvisor") {
            Isolation::Gvisor
        } else {
            Isolation::EngineDefault
        },
        image_ledger: home.path().join("images.json"),
        images_bytes_max: 1 << 40,
    };
    containers(&Engine::connect(engine, groups).await?, image, &mut next).await
}

async fn containers(
    engine: &Engine,
    image: &str,
    next: &mut dyn FnMut(&[&str]) -> Result<Job, gleaner_sandbox::Error>,
) -> Result<(), Box<dyn Error>> {
    let source = if Path::new(image).is_file() {
        ImageSource::Archive(image.into())
    } else {
        ImageSource::Registry(image.into())
    };
    let (mut cold, mut warm, mut loading) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS.min(5) {
        let begun = Instant::now();
        let had = engine.image(&source, Duration::from_secs(3600), &mut |_| {}).await?;
        loading.push(had.took);
        finish(engine.start(next(&["true"])?, &had).await?).await?;
        cold.push(begun.elapsed());
        let begun = Instant::now();
        finish(engine.start(next(&["true"])?, &had).await?).await?;
        warm.push(begun.elapsed());
        if !had.cached {
            engine.remove_image(&had.id).await?;
        }
    }
    println!("{}", engine.name());
    print("getting the image", median(loading), None);
    print("a container that does nothing, cold", median(cold), None);
    print("a container that does nothing, warm", median(warm), None);
    Ok(())
}

fn job(home: &Path, number: u32, command: &[&str]) -> Result<Job, gleaner_sandbox::Error> {
    Ok(Job {
        attempt: format!("n-{number}"),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        environment: BTreeMap::new(),
        folder: Folder::create(home.join(number.to_string()))?,
        limits: Limits { cpu_milli: 64_000, ..Limits::default() },
        network: Network::None,
        devices: Vec::new(),
    })
}

fn bare(command: &[&str]) -> std::io::Result<Duration> {
    let begun = Instant::now();
    Command::new(command[0]).args(&command[1..]).stdin(Stdio::null()).status()?;
    Ok(begun.elapsed())
}

async fn finish((running, _lines): (Running, Lines)) -> Result<(), Box<dyn Error>> {
    match running.ending().await.cause {
        Cause::Finished => Ok(()),
        other => Err(format!("it did not finish: {other:?}").into()),
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn print(what: &str, time: Duration, beside: Option<Duration>) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    match beside {
        Some(bare) => println!(
            "{what}: {:.1} ms, {:+.1} ms, times {:.2}",
            milliseconds(time),
            milliseconds(time) - milliseconds(bare),
            milliseconds(time) / milliseconds(bare)
        ),
        None => println!("{what}: {:.1} ms", milliseconds(time)),
    }
}
