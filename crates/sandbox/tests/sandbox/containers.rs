//! What is particular to containers.

use crate::cell::{Cell, PROGRAMS, engine_config, limits};
use crate::podman::Podman;
use gleaner_sandbox::{
    Cause, Engine, EngineConfig, Error, Folder, Groups, ImageSource, Isolation, Job, Network, Stream, WORKER_LABEL,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

async fn connect(config: EngineConfig) -> Result<Engine, Error> {
    let groups = Arc::new(Groups::open(&config.worker).unwrap());
    Engine::connect(config, groups).await
}

#[tokio::test]
async fn program_in_a_container_reads_its_inputs_and_leaves_its_outputs() {
    let cell = Cell::container().await;
    let job = Job {
        environment: BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]),
        ..cell.job(&["sh", "-c", "cat /in/name; echo done >&2; echo $GREETING > result; id -u"])
    };
    fs::write(job.folder.inputs().join("name"), "input\n").unwrap();
    let outcome = cell.run(job).await;
    assert_eq!(outcome.ending.cause, Cause::Finished, "{}", outcome.text());
    assert_eq!(outcome.printed(Stream::Out), ["input", &PROGRAMS.uid.to_string()]);
    assert_eq!(outcome.printed(Stream::Err), ["done"]);
    let result = outcome.folder.outputs().join("result");
    assert_eq!(fs::read_to_string(&result).unwrap(), "hello\n");
    assert_eq!(fs::metadata(result).unwrap().uid(), PROGRAMS.uid);
    let failed = cell.attack(&["exit", "42"]).await;
    assert_eq!(failed.ending.cause, Cause::ProgramFault { exit_code: 42 });
    assert_eq!(cell.podman().unwrap().containers(), 0);
}

#[tokio::test]
async fn container_is_stopped_frozen_and_dropped() {
    let cell = Cell::container().await;
    let script = "trap 'echo saved > /checkpoint/state; exit 9' TERM; while :; do echo tick; sleep 0.05; done";
    let job = cell.job(&["sh", "-c", script]);
    let folder = job.folder.clone();
    let (running, mut lines) = cell.start(job).await.unwrap();
    lines.next().await.unwrap();
    running.controls().freeze().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    while lines.ready().is_some() {}
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(lines.ready(), None, "it printed while it was frozen");
    running.controls().thaw().await;
    assert!(lines.next().await.is_some());
    running.controls().stop(Duration::from_secs(30)).await;
    assert_eq!(running.ending().await.cause, Cause::Stopped);
    assert_eq!(fs::read_to_string(folder.checkpoint().join("state")).unwrap(), "saved\n");

    let (running, mut lines) = cell.start(cell.job(&["sh", "-c", "echo x; exec sleep 1000"])).await.unwrap();
    lines.next().await.unwrap();
    drop(running);
    while lines.next().await.is_some() {}
}

#[tokio::test]
async fn network_needs_the_owners_word_too() {
    let cell = Cell::container().await;
    let job = Job { network: Network::Allowed, ..cell.job(&["id"]) };
    assert!(matches!(cell.start(job).await, Err(Error::Refused(why)) if why.contains("owner")));
}

/// The network has no way out: what there is to reach is another container of the test.
#[tokio::test]
async fn network_that_job_and_owner_both_want_is_there_and_for_no_other_job() {
    let podman = Podman::start();
    podman.import("localhost/server:1");
    podman.run(&["network", "create", "--internal", "walled"]);
    let serve = "while :; do echo reached | busybox nc -l -p 8080; done";
    podman.run(&["run", "--detach", "--name=server", "--network=walled", "localhost/server:1", "sh", "-c", serve]);
    let place = "{{.NetworkSettings.Networks.walled.IPAddress}}";
    let address = podman.run(&["inspect", "server", "--format", place]);
    let cell = Cell::on_network(podman, "walled").await;
    let ask = format!("for n in 1 2 3 4 5; do busybox nc {address} 8080 < /dev/null && break; sleep 1; done");
    let job = |network| Job { network, ..cell.job(&["sh", "-c", &ask]) };
    let allowed = cell.run(job(Network::Allowed)).await;
    assert_eq!(allowed.printed(Stream::Out), ["reached"], "{}", allowed.text());
    let alone = cell.run(job(Network::None)).await;
    assert!(alone.printed(Stream::Out).is_empty(), "{}", alone.text());
    assert!(alone.text().contains("unreachable"), "it tried: {}", alone.text());
}

#[tokio::test]
async fn image_cannot_bring_a_volume_on_the_machines_disk_or_run_as_root() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    let says = serde_json::json!({
        "Volumes": { "/data": {} }, "User": "0:0", "Cmd": ["/bin/attack", "fill", "/data"]
    });
    let archive = podman.archive_of("greedy", &says);
    let engine = connect(engine_config(&podman.host(), home.path())).await.unwrap();
    let image = engine.image(&ImageSource::Archive(archive), Duration::from_secs(60), &mut |_| {}).await.unwrap();
    let folder = Folder::create(home.path().join("job")).unwrap();
    let job = |attempt: &str, command: &[&str]| Job {
        attempt: attempt.into(),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        environment: BTreeMap::new(),
        folder: folder.clone(),
        limits: limits(),
        network: Network::None,
        devices: Vec::new(),
    };
    // What the image itself would run fills its volume, and finds a small one.
    let (running, mut lines) = engine.start(job("fills", &[]), &image).await.unwrap();
    let said = lines.next().await.unwrap().text;
    assert!(said.contains("No space left"), "{said}");
    assert_eq!(running.ending().await.cause, Cause::ProgramFault { exit_code: 3 });
    let (running, mut lines) = engine.start(job("who", &["id", "-u"]), &image).await.unwrap();
    assert_eq!(lines.next().await.unwrap().text, PROGRAMS.uid.to_string());
    assert_eq!(running.ending().await.cause, Cause::Finished);
    assert_eq!(podman.run(&["volume", "ls", "--quiet"]), "");
}

#[tokio::test]
async fn what_an_earlier_worker_left_is_removed_and_what_others_run_is_not() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    podman.import("localhost/box:1");
    let config = engine_config(&podman.host(), home.path());
    let label = format!("{WORKER_LABEL}={}", config.worker);
    podman.run(&["run", "--detach", "--network", "none", "--label", &label, "localhost/box:1", "sleep", "1000"]);
    podman.run(&["run", "--detach", "--network", "none", "--name", "owners", "localhost/box:1", "sleep", "1000"]);
    let engine = connect(config).await.unwrap();
    assert!(engine.name().starts_with("podman "), "{}", engine.name());
    assert_eq!(podman.run(&["ps", "--format", "{{.Names}}"]), "owners");
}

#[tokio::test]
async fn engine_that_is_not_there_is_said() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    let config = engine_config(&podman.host(), home.path());
    for host in ["unix:///nowhere/s", "tcp://127.0.0.1:1"] {
        assert!(connect(EngineConfig { host: host.into(), ..config.clone() }).await.is_err(), "{host}");
    }
}

#[tokio::test]
async fn gvisor_is_used_where_it_is_installed_and_asked_for() {
    assert!(std::path::Path::new("/usr/bin/runsc").is_file(), "gVisor is not installed (Debian: apt install runsc)");
    let podman = Podman::start_with_gvisor();
    let home = tempfile::tempdir().unwrap();
    let config = EngineConfig { isolation: Isolation::Gvisor, ..engine_config(&podman.host(), home.path()) };
    let engine = connect(config).await.unwrap();
    let image =
        engine.image(&ImageSource::Archive(podman.archive()), Duration::from_secs(60), &mut |_| {}).await.unwrap();
    let job = Job {
        attempt: "g".into(),
        command: ["cat", "/proc/version"].map(str::to_owned).into(),
        environment: BTreeMap::new(),
        folder: Folder::create(home.path().join("job")).unwrap(),
        limits: limits(),
        network: Network::None,
        devices: Vec::new(),
    };
    let (running, mut lines) = engine.start(job, &image).await.unwrap();
    let inside = lines.next().await.unwrap().text;
    assert_eq!(running.ending().await.cause, Cause::Finished, "{inside}");
    assert_ne!(inside.trim(), fs::read_to_string("/proc/version").unwrap().trim(), "it saw the machine's own kernel");
}

#[tokio::test]
async fn engine_shows_by_a_container_of_its_own_that_it_runs_them() {
    let podman = Podman::start();
    let home = tempfile::tempdir().unwrap();
    let engine = connect(engine_config(&podman.host(), home.path())).await.unwrap();
    engine.trial(&[], home.path(), Duration::from_secs(60)).await.unwrap();
    assert_eq!((podman.containers(), podman.run(&["images", "--quiet"]).as_str()), (0, ""), "nothing is left of it");
    assert!(engine.images().await.unwrap().is_empty());
}

/// An engine may answer and run nothing all the same.
#[tokio::test]
async fn engine_that_answers_and_runs_nothing_is_found_out() {
    let podman = Podman::start_broken();
    let home = tempfile::tempdir().unwrap();
    let engine = connect(engine_config(&podman.host(), home.path())).await.unwrap();
    let tried = engine.trial(&[], home.path(), Duration::from_secs(60)).await;
    assert!(tried.is_err(), "its containers cannot run");
}

#[tokio::test]
async fn processes_of_a_container_are_known_to_be_ours_while_it_runs() {
    let cell = Cell::container().await;
    let containers = cell.engine().unwrap().running();
    let marker = format!("ours-{}", std::process::id());
    let (running, mut lines) = cell.start(cell.job(&["/in/attack", "stubborn", &marker])).await.unwrap();
    lines.next().await.unwrap();
    let wanted = format!("sleep\0{marker}\0");
    let is_wanted = |entry: &fs::DirEntry| {
        String::from_utf8_lossy(&fs::read(entry.path().join("cmdline")).unwrap_or_default()).contains(&wanted)
    };
    let inside = fs::read_dir("/proc").unwrap().flatten().find(is_wanted).expect("its process");
    let groups = fs::read_to_string(inside.path().join("cgroup")).unwrap();
    assert!(containers.hold(&groups), "{groups}");
    assert!(!containers.hold(&fs::read_to_string("/proc/self/cgroup").unwrap()));
    running.controls().stop(Duration::ZERO).await;
    running.ending().await;
    assert!(containers.is_empty());
}

#[tokio::test]
async fn docker_shows_by_a_container_of_its_own_that_it_runs_them() {
    let cell = Cell::docker().await;
    let engine = cell.engine().unwrap();
    assert!(engine.name().starts_with("Docker "), "{}", engine.name());
    engine.trial(&[], cell.home(), Duration::from_secs(60)).await.unwrap();
    assert_eq!(engine.images().await.unwrap().len(), 1, "the trial's own image is gone");
}
