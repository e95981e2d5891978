//! The helper as a binary lends it, and a worker that starts one job and waits to be killed: both for the tests.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stdout, reason = "the worker tells the test that its job runs")]

use gleaner_sandbox::{
    Bubblewrap, BubblewrapConfig, Engine, EngineConfig, Folder, Groups, Helper, Identity, ImageSource, Isolation, Job,
    Limits, Network, run_helper,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == "as-worker" => work(rest),
        _ => run_helper(&arguments),
    }
}

fn work(arguments: &[String]) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let [worker, folder, command @ ..] = arguments else { return ExitCode::from(2) };
        let (container, command) = match command {
            [first, host, archive, rest @ ..] if first == "container" => (Some((host, archive)), rest),
            rest => (None, rest),
        };
        let groups = Arc::new(Groups::open(worker).expect("groups"));
        let helper = Helper { program: std::env::current_exe().expect("this binary"), arguments: Vec::new() };
        let job = job(Path::new(folder), command);
        let unprivileged = Identity { uid: 65534, gid: 65534 };
        // Kept until the worker is killed: an engine that is dropped removes its containers.
        let mut kept = None;
        let (running, mut lines) = match container {
            None => {
                let config = BubblewrapConfig { helper, readable: Vec::new(), unprivileged };
                Bubblewrap::new(config, groups).expect("bubblewrap").start(job).await.expect("a job")
            }
            Some((host, archive)) => {
                let config = EngineConfig {
                    host: host.clone(),
                    worker: worker.clone(),
                    helper,
                    unprivileged,
                    network: None,
                    isolation: Isolation::EngineDefault,
                    image_ledger: Path::new(folder).join("images.json"),
                    images_bytes_max: 1 << 30,
                };
                let engine = Engine::connect(config, groups).await.expect("an engine");
                let source = ImageSource::Archive(archive.into());
                let image = engine.image(&source, Duration::from_secs(60), &mut |_| {}).await.expect("an image");
                kept.insert(engine).start(job, &image).await.expect("a job")
            }
        };
        let line = lines.next().await.expect("a line of the job");
        println!("{}", line.text);
        println!("{:?}", running.ending().await);
        drop(kept);
        ExitCode::SUCCESS
    })
}

fn job(folder: &Path, command: &[String]) -> Job {
    Job {
        attempt: "doomed".into(),
        command: command.to_vec(),
        environment: BTreeMap::new(),
        folder: Folder::at(folder),
        limits: Limits { memory_bytes: 256 << 20, time: Duration::from_secs(300), ..Limits::default() },
        network: Network::None,
        devices: Vec::new(),
    }
}
