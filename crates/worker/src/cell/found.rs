//! What runs whole programs on this machine, and what is missing for it.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gleaner_blender::engine::{Engine as BlenderProgram, Launch};
use gleaner_machine::advice::{self, Need};
use gleaner_sandbox::{
    Bubblewrap, BubblewrapConfig, Engine, EngineConfig, Groups, Helper, Identity, Isolation, Landlock, candidate_hosts,
};
use gleaner_wire::Millis;
use gleaner_wire::render::DeviceChoice;
use tokio::runtime::Handle;

use super::{BlenderEngine, Cells};
use crate::config::{Config, Error};
use crate::doctor::{Finding, install, inventory, system};

/// Whom programs run as if the worker is root: nobody.
const NOBODY: Identity = Identity { uid: 65_534, gid: 65_534 };
/// How the worker's own binary becomes the helper of a sandbox.
const HELPER: &str = "cell";
/// The most that a program gets to save itself when the owner needs the device.
const GRACE_MAX: Duration = Duration::from_secs(1);
/// How long an engine may take to run a container that says hello.
pub(super) const CONTAINER_TRIAL_TIME_MAX: Duration = Duration::from_secs(30);

/// What was found.
pub struct Found {
    /// What runs programs on the processor, if anything does.
    pub cells: Option<Cells>,
    /// What works and what does not.
    pub findings: Vec<Finding>,
    /// The name of the control groups of this worker's programs.
    pub group: String,
}

/// Looks for everything that the configuration allows. Called on a thread that may wait.
pub fn find(config: &Config, runtime: &Handle, scratch: &Path) -> Result<Found, Error> {
    let worker = worker_name(&config.dir);
    let mut found = Found { cells: None, findings: Vec::new(), group: format!("gleaner-{worker}") };
    if !config.containers && !config.blender {
        return Ok(found);
    }
    let groups = match Groups::open(&worker) {
        Ok(groups) => Arc::new(groups),
        Err(error) => {
            found.findings.push(Finding::missing("sandbox", error.to_string(), "report this as a bug"));
            return Ok(found);
        }
    };
    found.findings.extend(groups.missing().map(without_groups));
    let helper = Helper { program: config.child.clone(), arguments: vec![HELPER.to_owned()] };
    let containers = match config.containers {
        true => containers(config, runtime, (&worker, scratch), &helper, &groups, &mut found.findings),
        false => None,
    };
    let (cpu_milli, grace) = (1000, grace(config.preferences.idle.free_within));
    let (runtime, scratch, cards) = (runtime.clone(), scratch.to_owned(), Vec::new());
    let (bubblewrap, blender) = (None, None);
    let mut cells = Cells { runtime, scratch, bubblewrap, containers, blender, cards, cpu_milli, grace };
    if config.blender {
        find_blender(&mut cells, config, &helper, &groups, &mut found.findings);
    }
    if cells.containers.is_some() || cells.blender.is_some() {
        found.cells = Some(cells);
    }
    Ok(found)
}

/// Says which limits do not hold where control groups cannot be written. Containers are held by their engine.
fn without_groups(why: &str) -> Finding {
    let what = "for Blender, memory is measured ten times a second instead of walled in, processor time is held by whole cores, \
                and processes are counted for the whole user";
    let fix = "run it as a service with control groups of its own (`gleaner share --install`), or as root";
    Finding::missing("limits", format!("{what}: {why}"), fix)
}

/// Says what the wall behind the namespaces is worth on this kernel.
fn landlock(enforced: Landlock) -> Finding {
    let works = |detail: &str| Finding::works("landlock", detail);
    match enforced {
        Landlock::All => works("the kernel enforces all of it around Blender"),
        Landlock::Some => works("the kernel enforces what it knows of it around Blender; newer ones know more"),
        Landlock::None => {
            let why = "this kernel does not enforce it, so that around Blender namespaces and seccomp stand alone";
            let fix = "boot Linux 5.13 or newer, with landlock in its option lsm= (sudo cat /sys/kernel/security/lsm)";
            Finding::missing("landlock", why, fix)
        }
    }
}

/// Half of what the owner allows at most: the end itself takes time as well.
fn grace(free_within: Millis) -> Duration {
    Duration::from_millis(free_within.0 / 2).min(GRACE_MAX)
}

/// A name for this worker's programs that no other worker of the machine has, and the same at its next start.
fn worker_name(dir: &Path) -> String {
    let whole = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let hash = blake3::hash(whole.as_os_str().as_encoded_bytes());
    format!("w{}", &hash.to_hex()[..12])
}

/// The first engine that answers and runs a container.
fn containers(
    config: &Config,
    runtime: &Handle,
    (worker, scratch): (&str, &Path),
    helper: &Helper,
    groups: &Arc<Groups>,
    findings: &mut Vec<Finding>,
) -> Option<Engine> {
    let variable = |name: &str| std::env::var(name).ok();
    let (host, run, home) = (variable("DOCKER_HOST"), variable("XDG_RUNTIME_DIR"), variable("HOME"));
    let cuda = || config.gpu && inventory(&config.dir, &[]).computes_with_cuda();
    let start = || advice::start_engine(&system(&config.dir), cuda());
    let mut missing: Option<(String, String)> = None;
    for host in candidate_hosts(host.as_deref(), run.as_deref(), home.as_deref()) {
        let engine_config = EngineConfig {
            host,
            worker: worker.to_owned(),
            helper: helper.clone(),
            unprivileged: NOBODY,
            network: config.network.clone(),
            isolation: if config.gvisor { Isolation::Gvisor } else { Isolation::EngineDefault },
            image_ledger: config.dir.join("images.json"),
            images_bytes_max: config.preferences.images_max.0,
        };
        let engine = match runtime.block_on(Engine::connect(engine_config, groups.clone())) {
            Ok(engine) => engine,
            Err(error) => {
                tracing::debug!(%error, "a container engine does not answer");
                // One that answers and cannot be used is worth more words than one that is not there.
                let (why, fix) = in_words(&error);
                let said = || (format!("no container engine answers; {why}"), start());
                missing = missing.or_else(|| fix.map(|fix| (why.clone(), fix))).or_else(|| Some(said()));
                continue;
            }
        };
        match runtime.block_on(engine.trial(&[], scratch, CONTAINER_TRIAL_TIME_MAX)) {
            Ok(()) => {
                findings.push(Finding::works("container", format!("{} ran one", engine.name())));
                return Some(engine);
            }
            Err(error) => {
                let (why, fix) = in_words(&error);
                let fix = fix.unwrap_or_else(|| engine.restart());
                missing = Some((format!("{} answers and runs none: {why}", engine.name()), fix));
            }
        }
    }
    let (why, fix) = missing.unwrap_or_else(|| ("no container engine answers".to_owned(), start()));
    findings.push(Finding::missing("container", why, fix));
    None
}

/// What went wrong, and what to do about it where the sandbox knows.
pub(super) fn in_words(error: &gleaner_sandbox::Error) -> (String, Option<String>) {
    if let gleaner_sandbox::Error::Unavailable { what, remedy } = error {
        return (what.clone(), Some(remedy.clone()));
    }
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    (format!("{error}{source}"), None)
}

/// Adds Blender, if it renders a few pixels in a cell, and what makes films, if that runs in one.
fn find_blender(
    cells: &mut Cells,
    config: &Config,
    helper: &Helper,
    groups: &Arc<Groups>,
    findings: &mut Vec<Finding>,
) {
    let Some(engine) = newest(config, findings) else { return };
    let ffmpeg = program("ffmpeg").map(|path| path.canonicalize().unwrap_or(path));
    let mut readable = engine.readable.clone();
    // The file alone, and not the folder that it is in, which may be somebody's home.
    readable.extend(ffmpeg.clone().filter(|path| !gleaner_blender::engine::is_system(path)));
    let bubblewrap = BubblewrapConfig { helper: helper.clone(), readable, unprivileged: NOBODY };
    match Bubblewrap::new(bubblewrap, groups.clone()) {
        Ok(bubblewrap) => cells.bubblewrap = Some(bubblewrap),
        Err(error) => {
            let fix = install(&config.dir, Need::Bubblewrap);
            return findings.push(Finding::missing("blender", error.to_string(), fix));
        }
    }
    let devices: Vec<&str> = engine.devices.iter().map(|device| device.name.as_str()).collect();
    let works = Finding::works("blender", format!("Blender {} on {}", engine.version, devices.join(", ")));
    cells.blender = Some(Arc::new(BlenderEngine { engine: engine.clone(), ffmpeg: None }));
    if let Err((why, fix)) = cells.try_cycles(DeviceChoice::Cpu) {
        cells.blender = None;
        return findings.push(Finding::missing("blender", why, fix));
    }
    findings.push(works);
    findings.extend(cells.bubblewrap.as_ref().and_then(|bubblewrap| bubblewrap.guards().landlock).map(landlock));
    let tried = match &ffmpeg {
        Some(path) => cells.try_ffmpeg(path),
        None => Err(("ffmpeg is not installed".to_owned(), install(&config.dir, Need::Ffmpeg))),
    };
    match tried {
        Ok(()) => cells.blender = Some(Arc::new(BlenderEngine { engine, ffmpeg })),
        Err((why, fix)) => findings.push(Finding::missing("videos", why, fix)),
    }
}

/// The Blender that the owner names, or else the newest that answers.
fn newest(config: &Config, findings: &mut Vec<Finding>) -> Option<BlenderProgram> {
    let folders = search_path();
    let (launches, mut why) = match &config.blender_program {
        Some(program) => (vec![Launch::named(program)], String::new()),
        None => (Launch::in_folders(folders.iter().map(PathBuf::as_path)), "no Blender is installed".to_owned()),
    };
    let mut best: Option<BlenderProgram> = None;
    for launch in launches {
        match BlenderProgram::ask(&launch) {
            Ok(engine) if best.as_ref().is_none_or(|best| best.version < engine.version) => best = Some(engine),
            Ok(_) => {}
            Err(fault) => why = fault.to_string(),
        }
    }
    if best.is_none() {
        findings.push(Finding::missing("blender", why, install(&config.dir, Need::Blender)));
    }
    best
}

fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

fn program(name: &str) -> Option<PathBuf> {
    search_path().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_never_gets_all_the_time_that_the_owner_allows() {
        let graces = [200, 2000, 60_000].map(|free_within| grace(Millis(free_within)).as_millis());
        assert_eq!(graces, [100, 1000, 1000]);
    }

    #[test]
    fn a_kernel_without_landlock_is_told_of() {
        assert!(landlock(Landlock::All).is_good() && landlock(Landlock::Some).is_good());
        assert!(!landlock(Landlock::None).is_good());
    }

    #[test]
    fn where_groups_are_missing_it_is_said_which_limits_do_not_hold_and_why() {
        let told = without_groups("the group /x has no memory controller").to_string();
        for words in ["memory is measured", "processor time", "processes", "has no memory controller", "--install"] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }
}
