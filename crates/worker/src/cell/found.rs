//! What runs whole programs on this machine, and what is missing for it.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gleaner_blender::engine::{Engine as BlenderProgram, Launch};
use gleaner_machine::advice::{self, Need};
use gleaner_sandbox::{
    Bubblewrap, BubblewrapConfig, Engine, EngineConfig, Groups, Helper, Identity, Isolation, candidate_hosts,
};
use gleaner_wire::Millis;
use tokio::runtime::Handle;

use super::{BlenderEngine, Cells};
use crate::config::{Config, Error};
use crate::doctor::{Finding, install, system};

/// Whom programs run as if the worker is root: nobody.
const NOBODY: Identity = Identity { uid: 65_534, gid: 65_534 };
/// How the worker's own binary becomes the helper of a sandbox.
const HELPER: &str = "cell";
/// The most that a program gets to save itself when the owner needs the device.
const GRACE_MAX: Duration = Duration::from_secs(1);

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
    let helper = Helper { program: config.child.clone(), arguments: vec![HELPER.to_owned()] };
    let containers = match config.containers {
        true => containers(config, runtime, &worker, &helper, &groups, &mut found.findings),
        false => None,
    };
    let (bubblewrap, blender) = match config.blender {
        true => blender(config, &helper, &groups, &mut found.findings),
        false => (None, None),
    };
    if containers.is_some() || blender.is_some() {
        let (runtime, scratch, cards) = (runtime.clone(), scratch.to_owned(), Vec::new());
        let (cpu_milli, grace) = (1000, grace(config.preferences.idle.free_within));
        found.cells = Some(Cells { runtime, scratch, bubblewrap, containers, blender, cards, cpu_milli, grace });
    }
    Ok(found)
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

fn containers(
    config: &Config,
    runtime: &Handle,
    worker: &str,
    helper: &Helper,
    groups: &Arc<Groups>,
    findings: &mut Vec<Finding>,
) -> Option<Engine> {
    let variable = |name: &str| std::env::var(name).ok();
    let (host, run, home) = (variable("DOCKER_HOST"), variable("XDG_RUNTIME_DIR"), variable("HOME"));
    let mut why = "no container engine answers".to_owned();
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
        match runtime.block_on(Engine::connect(engine_config, groups.clone())) {
            Ok(engine) => {
                findings.push(Finding::works("container", format!("{} runs them", engine.name())));
                return Some(engine);
            }
            Err(error) => {
                tracing::debug!(%error, "a container engine does not answer");
                let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
                why = format!("no container engine answers; {error}{source}");
            }
        }
    }
    findings.push(Finding::missing("container", why, advice::start_engine(&system(&config.dir))));
    None
}

fn blender(
    config: &Config,
    helper: &Helper,
    groups: &Arc<Groups>,
    findings: &mut Vec<Finding>,
) -> (Option<Bubblewrap>, Option<Arc<BlenderEngine>>) {
    let Some(engine) = newest(config, findings) else { return (None, None) };
    let dir = &config.dir;
    let config = BubblewrapConfig { helper: helper.clone(), readable: engine.readable.clone(), unprivileged: NOBODY };
    match Bubblewrap::new(config, groups.clone()) {
        Ok(bubblewrap) => {
            let devices: Vec<&str> = engine.devices.iter().map(|device| device.name.as_str()).collect();
            let detail = format!("Blender {} on {}", engine.version, devices.join(", "));
            findings.push(Finding::works("blender", detail));
            let ffmpeg = program("ffmpeg").unwrap_or_else(|| "/usr/bin/ffmpeg".into());
            (Some(bubblewrap), Some(Arc::new(BlenderEngine { engine, ffmpeg })))
        }
        Err(error) => {
            findings.push(Finding::missing("blender", error.to_string(), install(dir, Need::Bubblewrap)));
            (None, None)
        }
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
}
