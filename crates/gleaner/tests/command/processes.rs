//! `gleaner up` keeps its processes running, and leaves none behind, whether it is asked to end or killed.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::authority::Authority;
use crate::network::{Ended, PATIENCE, gleaner, wait};
use crate::programs;
use gleaner_client::data::Account;
use gleaner_client::{Client, Token};
use gleaner_wire::api::JobState;
use gleaner_wire::{JobId, State};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tokio::io::unix::AsyncFd;

/// What `gleaner up` says, in its folder.
const LOG: &str = "up.log";

/// Starts a network and returns when all of it is there.
fn up(folder: &Path) -> Child {
    let (up, url) = up_with(folder, &[]);
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    up
}

/// The same with more options, and what it says is its address.
fn up_with(folder: &Path, options: &[&str]) -> (Child, String) {
    let log = std::fs::File::create(folder.join(LOG)).expect("a log");
    let mut up = gleaner()
        .arg("--dir")
        .arg(folder)
        .args(["up", "--workers", "2", "--listen", "127.0.0.1:0"])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(up.stdout.take().expect("piped")).read_line(&mut line).expect("it says its address");
    (up, line.trim().to_owned())
}

/// The processes whose parent is this one.
fn children_of(parent: u32) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
        let status = std::fs::read_to_string(entry.ok()?.path().join("status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<i32>().ok());
        (field("PPid:")? == parent.cast_signed()).then(|| Pid::from_raw(field("Pid:")?)).flatten()
    });
    processes.collect()
}

/// A handle of each process, by which its end is noticed.
fn handles(processes: &[Pid]) -> Vec<OwnedFd> {
    processes.iter().map(|process| pidfd_open(*process, PidfdFlags::NONBLOCK).expect("it runs")).collect()
}

fn wait_for_ends(handles: Vec<OwnedFd>) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for handle in handles {
            // SAFETY: the handle is owned and stays open for as long as it is registered.
            let handle = unsafe { AsyncFd::register(handle) }.expect("a handle can be waited for");
            let ended = tokio::time::timeout(PATIENCE, handle.readable()).await;
            drop(ended.expect("the process ends before patience does").expect("it can be waited for"));
        }
    });
}

fn process_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed()).expect("a process has a number")
}

#[test]
fn a_network_with_a_certificate_is_encrypted_for_people_and_comes_back_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Authority::new().write(folder.path());
    let (certificate, key) = (files.certificate.display().to_string(), files.key.display().to_string());
    let (mut up, url) = up_with(folder.path(), &["--tls-cert", &certificate, "--tls-key", &key]);
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = std::fs::read(&files.authority).expect("it is there");
    let root = reqwest::Certificate::from_pem(&root).expect("a certificate");
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().expect("a client");
    let online = async || {
        let health = http.get(format!("{url}/api/v1/health")).send().await.ok()?;
        health.json::<serde_json::Value>().await.ok()?["workers_online"].as_u64()
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    assert_eq!(runtime.block_on(online()), Some(2));
    let hub = std::fs::read_to_string(folder.path().join("hub/hub.lock")).expect("a lock");
    let hub = Pid::from_raw(hub.trim().parse().expect("a number")).expect("a process has a number");
    let handle = handles(&[hub]);
    kill_process(hub, Signal::KILL).expect("it runs");
    wait_for_ends(handle);
    let back = async {
        while online().await != Some(2) {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let back = runtime.block_on(async { tokio::time::timeout(PATIENCE, back).await });
    back.expect("hub and workers are back where they were");
    kill_process(process_of(&up), Signal::INT).expect("it runs");
    assert!(up.wait().expect("it ends").success());
}

#[test]
fn ctrl_c_ends_the_whole_network_cleanly() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut up = up(folder.path());
    let children = children_of(up.id());
    assert_eq!(children.len(), 3, "a hub and two workers");
    let handles = handles(&children);
    kill_process(process_of(&up), Signal::INT).expect("it can be signalled");
    assert!(up.wait().expect("it ends").success());
    wait_for_ends(handles);
}

#[test]
fn a_killed_network_leaves_no_orphan() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut up = up(folder.path());
    let children = children_of(up.id());
    let grandchildren: Vec<Pid> =
        children.iter().flat_map(|child| children_of(child.as_raw_nonzero().get().cast_unsigned())).collect();
    let handles = handles(&[children, grandchildren].concat());
    assert!(handles.len() >= 3, "a hub and two workers");
    up.kill().expect("it can be killed");
    up.wait().expect("it ends");
    wait_for_ends(handles);
}

/// The process of this network that was started with this word: `hub`, or a worker's name.
fn process_named(up: &Child, word: &str) -> Option<Pid> {
    children_of(up.id()).into_iter().find(|process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    })
}

fn client_of(folder: &Path) -> Client {
    let url = std::fs::read_to_string(folder.join("hub/address")).expect("the hub wrote its address");
    let token = Token::read(&folder.join("hub/api.token")).expect("the hub made its token");
    let account = Account::open(&folder.join("data")).expect("an account");
    Client::new(url.trim(), token, "local").expect("an address").with_account(account)
}

fn end(mut up: Child) {
    kill_process(process_of(&up), Signal::INT).expect("it can be signalled");
    assert!(up.wait().expect("it ends").success());
}

#[test]
fn a_killed_worker_of_a_network_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let up = up(folder.path());
    let victim = process_named(&up, "worker-1").expect("it runs");
    let handles = handles(&[victim]);
    kill_process(victim, Signal::KILL).expect("it can be killed");
    wait_for_ends(handles);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let workers = runtime.block_on(wait(&client_of(folder.path()), &async |client: &Client| {
        let replaced = process_named(&up, "worker-1").is_some_and(|process| process != victim);
        let workers = client.workers().await.expect("the hub answers");
        (replaced && workers.iter().all(|worker| worker.state != State::Offline)).then_some(workers)
    }));
    assert_eq!(workers.len(), 2, "it came back as the worker that it was");
    let said = std::fs::read_to_string(folder.path().join(LOG)).expect("a log");
    assert_eq!(said.matches("worker-1 ended by itself (signal: 9 (SIGKILL))").count(), 1, "{said}");
    end(up);
}

#[test]
fn jobs_go_on_when_the_hub_of_a_network_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let up = up(folder.path());
    let job = "name = \"array\"\n[[task]]\nname = \"part\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n\
               args = [\"{index}\"]\neach = \"1..20\"\n";
    std::fs::write(folder.path().join("program.wasm"), programs::patterned(300, 100)).expect("written");
    std::fs::write(folder.path().join("job.toml"), job).expect("written");
    let run = |args: &[&str]| {
        let mut command = gleaner();
        let command = command.current_dir(folder.path()).args(["--dir", "."]).args(args);
        Ended::from(command.output().expect("it runs")).succeeded()
    };
    let job = JobId(run(&["run", "--detach", "job.toml"]).stdout.trim().parse().expect("a number"));
    let (runtime, client) = (tokio::runtime::Runtime::new().expect("a runtime"), client_of(folder.path()));
    let look = async |client: &Client| client.job(job).await.expect("the hub answers");
    runtime.block_on(wait(&client, &async |client: &Client| (look(client).await.summary.done > 0).then_some(())));
    let hub = process_named(&up, "hub").expect("it runs");
    kill_process(hub, Signal::KILL).expect("it can be killed");
    let state = runtime.block_on(wait(&client, &async |client: &Client| {
        let state = look(client).await.summary.state;
        state.has_ended().then_some(state)
    }));
    assert_eq!(state, JobState::Done);
    assert_ne!(process_named(&up, "hub"), Some(hub));
    run(&["job", "fetch", &job.to_string(), "--out", "out"]);
    for index in 0..20 {
        let bytes = std::fs::read(folder.path().join(format!("out/part/{index}"))).expect("a result");
        assert_eq!(bytes, programs::pattern(index + 1, 100));
    }
    end(up);
}
