//! What works on this machine, what does not, and the command that would fix it.
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gleaner_machine::advice::{Distribution, Need};
use gleaner_machine::probe::system::System;
use gleaner_machine::probe::{Places, Tree};
use gleaner_machine::{Inventory, Probes};
use tokio::runtime::Handle;

use crate::config::{Config, Error};
use crate::identity::{self, Lock};
use crate::self_test::self_test;
use crate::wgsl::Adapter;

pub use gleaner_machine::{Finding, State};

/// Free space below which inputs and outputs soon do not fit.
const DISK_BYTES_MIN: u64 = 1 << 30;
const REACH_TIME_MAX: Duration = Duration::from_secs(3);

/// Why no adapter is there, and what to do about it.
pub(crate) fn no_adapter(dir: &Path, wanted: Option<&str>) -> (String, String) {
    match wanted {
        Some(name) => (
            format!("no adapter has `{name}` in its name"),
            "look at the names with `gleaner doctor`, without --adapter".to_owned(),
        ),
        None => (
            "no Vulkan, Metal or DirectX 12 driver answered".to_owned(),
            format!("install your GPU's driver, or a software one: {}", install(dir, Need::MesaVulkan)),
        ),
    }
}

/// Tries everything that a worker with this configuration would use. It takes a few seconds. A worker that runs in the folder
/// is left alone: then everything is tried beside it, in a folder and under a name of its own.
pub fn doctor(config: &Config, runtime: &Handle) -> Vec<Finding> {
    let mut findings = vec![folder(config), disk(config)];
    match room(config) {
        Ok(room) => {
            findings.extend(room.beside);
            findings.extend(tried(&Config { dir: room.dir, ..config.clone() }, runtime));
        }
        Err(error) => {
            findings.extend(machine(config, &[]));
            findings.push(Finding::missing("self-test", with_source(&error), "fix the folder named above"));
        }
    }
    findings.push(hub(config, runtime));
    findings
}

/// Where things are tried without disturbing a worker.
struct Room {
    dir: PathBuf,
    /// What is said of the worker that runs.
    beside: Option<Finding>,
    /// Nobody else uses the folder meanwhile.
    _lock: Lock,
    /// Removed afterwards, where it was only for this.
    _temporary: Option<tempfile::TempDir>,
}

fn room(config: &Config) -> Result<Room, Error> {
    match identity::lock(&config.dir) {
        Ok(lock) => Ok(Room { dir: config.dir.clone(), beside: None, _lock: lock, _temporary: None }),
        Err(Error::Occupied(occupied)) => {
            let made = tempfile::Builder::new().prefix("doctor-").tempdir_in(&occupied);
            let temporary = made.map_err(Error::file("make a folder in", &occupied))?;
            let detail = format!("one runs in {}; all was tried beside it, so speeds are lower", occupied.display());
            let (dir, beside) = (temporary.path().to_owned(), Some(Finding::works("worker", detail)));
            let lock = identity::lock(&dir)?;
            Ok(Room { dir, beside, _lock: lock, _temporary: Some(temporary) })
        }
        Err(error) => Err(error),
    }
}

fn tried(config: &Config, runtime: &Handle) -> Vec<Finding> {
    match self_test(config, runtime) {
        Ok(tested) => {
            // What was tried says more than that a program for it is installed or not.
            let is_tried = |one: &Finding| tested.findings.iter().any(|tried| tried.capability == one.capability);
            let mut findings = machine(config, &tested.adapters);
            findings.retain(|finding| !is_tried(finding));
            findings.extend(tested.findings);
            if let Err(error) = tested.offer.check() {
                let fix = "set a name and a region of 1 to 64 characters, and share at least one device";
                findings.push(Finding::missing("offer", error.to_string(), fix));
            }
            findings
        }
        Err(error) => {
            let mut findings = machine(config, &[]);
            findings.push(Finding::missing("self-test", with_source(&error), "fix the folder named above"));
            findings
        }
    }
}

/// What the machine has and lacks, whatever the self-test makes of it.
fn machine(config: &Config, adapters: &[Adapter]) -> Vec<Finding> {
    let probes = probes(&config.dir, adapters);
    gleaner_machine::advice::findings(&Inventory::from(&probes), &probes.system)
}

/// What the machine has, with the adapters that were found.
pub(crate) fn inventory(dir: &Path, adapters: &[Adapter]) -> Inventory {
    Inventory::from(&probes(dir, adapters))
}

/// The system around the worker's folder.
pub(crate) fn system(dir: &Path) -> System {
    let search_path = std::env::var("PATH").unwrap_or_default();
    gleaner_machine::probe::system::read(&Tree::default(), &search_path, dir)
}

/// The command that installs something on this system.
pub(crate) fn install(dir: &Path, need: Need) -> String {
    Distribution::of(&system(dir)).install(need)
}

fn probes(dir: &Path, adapters: &[Adapter]) -> Probes {
    let search_path = std::env::var("PATH").unwrap_or_default();
    let places = Places { tree: Tree::default(), search_path, dir: dir.to_owned() };
    let record = |adapter: &Adapter| gleaner_machine::probe::Adapter {
        name: adapter.name.clone(),
        kind: adapter.kind,
        backend: adapter.backend.clone(),
        driver: adapter.driver.clone(),
        ids: adapter.ids,
        address: adapter.bus.parse().ok(),
        discrete: adapter.discrete,
    };
    gleaner_machine::probe(&places, Some(adapters.iter().map(record).collect()))
}

fn with_source(error: &Error) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}

fn folder(config: &Config) -> Finding {
    let dir = config.dir.display();
    let tried = std::fs::create_dir_all(&config.dir).and_then(|()| tempfile::tempfile_in(&config.dir));
    match tried {
        Ok(_) => Finding::works("folder", format!("{dir} can be written")),
        Err(error) => {
            let fix = format!("mkdir -p {dir} && chown \"$USER\" {dir}, or name another folder with --dir");
            Finding::missing("folder", format!("{dir} cannot be written: {error}"), fix)
        }
    }
}

/// Bytes that the worker may still write where its folder is.
pub(crate) fn free_bytes(dir: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(dir)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn disk(config: &Config) -> Finding {
    let dir = config.dir.display();
    match free_bytes(&config.dir) {
        Ok(bytes) if bytes >= DISK_BYTES_MIN => Finding::works("disk", format!("{} MiB free in {dir}", bytes >> 20)),
        Ok(bytes) => {
            let fix = "free some space, or name a folder on another disk with --dir";
            Finding::missing("disk", format!("only {} MiB free in {dir}; inputs may not fit", bytes >> 20), fix)
        }
        Err(error) => Finding::missing("disk", format!("{dir} cannot be looked at: {error}"), "check --dir"),
    }
}

fn hub(config: &Config, runtime: &Handle) -> Finding {
    let hub = &config.hub;
    let url = hub.url();
    let fix = "start one with `gleaner hub` (or `gleaner up`), or name another with --hub URL";
    // The system takes addresses of the newer kind without brackets.
    let host = (hub.host().trim_start_matches('[').trim_end_matches(']'), hub.port());
    let reached = host.to_socket_addrs().and_then(|mut addresses| {
        let address = addresses.next().ok_or(std::io::ErrorKind::NotFound)?;
        TcpStream::connect_timeout(&address, REACH_TIME_MAX)
    });
    match reached {
        Ok(_) => match runtime.block_on(crate::line::measure(hub)) {
            Ok(speed) => Finding::works("hub", format!("{url} {speed}")),
            Err(error) => Finding::works("hub", format!("{url} answers; its speed was not measured: {error}")),
        },
        Err(error) => Finding::missing("hub", format!("{url} does not answer: {error}"), fix),
    }
}
