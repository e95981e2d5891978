//! The container of a job, as a pure function: what the engine is told to make.

use super::connect::Character;
use super::images::Image;
use super::{ATTEMPT_LABEL, EngineConfig, Isolation, RUN_LABEL, WORKER_LABEL};
use crate::{Device, Error, Identity, Job, Limits, Network};
use bollard::models::{
    ContainerCreateBody, DeviceMapping, DeviceRequest, HealthConfig, HostConfig, HostConfigLogConfig, Mount, MountType,
    ResourcesUlimits,
};
use std::collections::HashMap;
use std::path::Path;

/// The engine's own limit lies this much above that of our group, so that ours is reached first and counts it.
const MEMORY_SLACK_BYTES: u64 = 64 << 20;
/// The kernel counts this for a user, and all jobs run as the same one.
const PROCESSES_OF_ALL_JOBS_MAX: u64 = 65_536;

/// Describes the container. `seccomp` is how its profile is named to the engine, and `parent` our own group around it, where
/// there is one.
pub(super) fn describe(
    job: &Job,
    image: &Image,
    (config, run): (&EngineConfig, &str),
    character: &Character,
    seccomp: &str,
    parent: Option<&Path>,
) -> Result<ContainerCreateBody, Error> {
    let labels = [(WORKER_LABEL, config.worker.as_str()), (RUN_LABEL, run), (ATTEMPT_LABEL, job.attempt.as_str())];
    let variables = job.full_environment();
    let user = user(config, character);
    let own = |name: &str| name == "PATH" && !job.environment.contains_key("PATH");
    Ok(ContainerCreateBody {
        image: Some(image.id.clone()),
        cmd: (!job.command.is_empty()).then(|| job.command.clone()),
        // An image has its own idea of where its programs are.
        env: Some(
            variables.iter().filter(|(name, _)| !own(name)).map(|(name, value)| format!("{name}={value}")).collect(),
        ),
        user: Some(format!("{}:{}", user.uid, user.gid)),
        working_dir: Some("/out".into()),
        labels: Some(labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() }),
        host_config: Some(host(job, image, config, character, seccomp, parent)?),
        ..ContainerCreateBody::default()
    })
}

/// An ordinary user. Without root, an engine maps the worker's own user: podman is told to keep its number; Docker calls
/// it root inside, which outside is the worker's user and nobody more.
fn user(config: &EngineConfig, character: &Character) -> Identity {
    if character.rootless && !character.podman {
        return Identity { uid: 0, gid: 0 };
    }
    Identity::for_programs(config.unprivileged)
}

fn host(
    job: &Job,
    image: &Image,
    config: &EngineConfig,
    character: &Character,
    seccomp: &str,
    parent: Option<&Path>,
) -> Result<HostConfig, Error> {
    let (devices, device_requests) = devices(&job.devices);
    let limits = &job.limits;
    Ok(HostConfig {
        readonly_rootfs: Some(true),
        network_mode: Some(network(job.network, config)?),
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(vec!["no-new-privileges".into(), seccomp.to_owned()]),
        privileged: Some(false),
        ipc_mode: Some("private".into()),
        userns_mode: (character.rootless && character.podman).then(|| "keep-id".into()),
        memory: Some(signed(limits.memory_bytes + if parent.is_some() { MEMORY_SLACK_BYTES } else { 0 })),
        memory_swap: Some(signed(limits.memory_bytes + if parent.is_some() { MEMORY_SLACK_BYTES } else { 0 })),
        nano_cpus: Some(i64::from(limits.cpu_milli) * 1_000_000),
        pids_limit: Some(i64::from(limits.processes)),
        oom_score_adj: Some(1000),
        ulimits: Some(ulimits(limits, character)),
        shm_size: Some(signed(limits.tmp_bytes.max(1))),
        tmpfs: Some(tmpfs(limits, image, config, character)),
        mounts: Some(mounts(job)?),
        devices,
        device_requests,
        group_add: added(&job.groups(), character),
        // What it prints is read as it comes; kept by the engine, it could fill the disk.
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
        runtime: match config.isolation {
            Isolation::EngineDefault => None,
            Isolation::Gvisor => Some("runsc".into()),
        },
        cgroup_parent: parent.map(|path| path.to_string_lossy().into_owned()),
        ..HostConfig::default()
    })
}

fn network(network: Network, config: &EngineConfig) -> Result<String, Error> {
    match (network, &config.network) {
        (Network::None, _) => Ok("none".into()),
        (Network::Allowed, Some(name)) => Ok(name.clone()),
        (Network::Allowed, None) => Err(Error::Refused("the owner of this machine allows no network".into())),
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn ulimits(limits: &Limits, character: &Character) -> Vec<ResourcesUlimits> {
    let limit =
        |name: &str, value: i64| ResourcesUlimits { name: Some(name.to_owned()), soft: Some(value), hard: Some(value) };
    // Named although `pids_limit` counts: engines set more by themselves than an engine without CAP_SYS_RESOURCE may.
    let processes = signed(character.processes_max.unwrap_or(u64::MAX).min(PROCESSES_OF_ALL_JOBS_MAX));
    vec![limit("core", 0), limit("nofile", 4096), limit("nproc", processes), limit("fsize", signed(limits.disk_bytes))]
}

/// A private `/tmp`, and one in place of each volume that the image declares: engines would make those on the disk of the
/// machine, without a limit.
///
/// It belongs to the program. The mode alone would not do: runc up to 1.1 gives such a folder the mode of the image's folder
/// below it, whatever was asked, and that may be one where only its owner writes. podman has a word of its own for the
/// owner, and has to be told not to copy the image's files, which Docker never does.
fn tmpfs(limits: &Limits, image: &Image, config: &EngineConfig, character: &Character) -> HashMap<String, String> {
    let Identity { uid, gid } = user(config, character);
    let owner = if character.podman { "notmpcopyup,U".to_owned() } else { format!("uid={uid},gid={gid}") };
    let options = format!("rw,exec,nosuid,nodev,mode=1777,size={},{owner}", limits.tmp_bytes);
    let own = ["/in", "/out", "/checkpoint"];
    let declared = image.volumes.iter().filter(|path| !own.contains(&path.trim_end_matches('/')));
    declared.map(String::as_str).chain(["/tmp"]).map(|path| (path.to_owned(), options.clone())).collect()
}

fn mounts(job: &Job) -> Result<Vec<Mount>, Error> {
    let bind = |source: &Path, target: &str, read_only: bool| {
        let whole = std::fs::canonicalize(source)
            .map_err(|error| Error::system(format!("looking for {}", source.display()), error))?;
        let source = whole.to_str().ok_or_else(|| Error::Refused(format!("{} is not UTF-8", whole.display())))?;
        Ok(Mount {
            typ: Some(MountType::BIND),
            source: Some(source.to_owned()),
            target: Some(target.to_owned()),
            read_only: Some(read_only),
            ..Mount::default()
        })
    };
    Ok(vec![
        bind(&job.folder.inputs(), "/in", true)?,
        bind(&job.folder.outputs(), "/out", false)?,
        bind(&job.folder.checkpoint(), "/checkpoint", false)?,
    ])
}

/// The groups of a program that could not use its devices otherwise. Without root an engine cannot give any but those that
/// the worker's user has; podman is told to keep them.
fn added(groups: &[u32], character: &Character) -> Option<Vec<String>> {
    match (groups, character.rootless, character.podman) {
        ([], _, _) | ([..], true, false) => None,
        ([..], true, true) => Some(vec!["keep-groups".into()]),
        ([..], false, _) => Some(groups.iter().map(ToString::to_string).collect()),
    }
}

/// Docker takes CDI names as requests to a driver. podman takes none through this API; a job with one is refused before.
fn devices(devices: &[Device]) -> (Option<Vec<DeviceMapping>>, Option<Vec<DeviceRequest>>) {
    let mut nodes = Vec::new();
    let mut names = Vec::new();
    for device in devices {
        match device {
            Device::Node(path) => {
                let path = Some(path.to_string_lossy().into_owned());
                let permissions = Some("rw".to_owned());
                let node = DeviceMapping {
                    path_on_host: path.clone(),
                    path_in_container: path,
                    cgroup_permissions: permissions,
                };
                nodes.push(node);
            }
            Device::Cdi(name) => names.push(name.clone()),
        }
    }
    let request =
        DeviceRequest { driver: Some("cdi".into()), device_ids: Some(names.clone()), ..DeviceRequest::default() };
    ((!nodes.is_empty()).then_some(nodes), (!names.is_empty()).then(|| vec![request]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::connect::tests::character;

    #[test]
    fn nodes_are_mapped_and_names_are_requests_to_the_driver() {
        let (nodes, requests) = devices(&[
            Device::Node("/dev/dri/renderD128".into()),
            Device::Cdi("nvidia.com/gpu=0".into()),
            Device::Cdi("nvidia.com/gpu=1".into()),
        ]);
        let nodes = nodes.expect("nodes");
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].path_in_container.as_deref(), Some("/dev/dri/renderD128"));
        assert_eq!(nodes[0].cgroup_permissions.as_deref(), Some("rw"), "no new nodes are made of it");
        let requests = requests.expect("requests");
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].driver.as_deref(), Some("cdi"));
        assert_eq!(requests[0].device_ids, Some(vec!["nvidia.com/gpu=0".into(), "nvidia.com/gpu=1".into()]));
        assert_eq!(devices(&[]), (None, None));
    }

    #[test]
    fn groups_of_devices_are_given_as_far_as_an_engine_can() {
        let engine = |rootless, podman| {
            let mut known = character();
            (known.rootless, known.podman) = (rootless, podman);
            known
        };
        for podman in [false, true] {
            assert_eq!(added(&[], &engine(true, podman)), None);
            assert_eq!(added(&[44, 105], &engine(false, podman)), Some(vec!["44".into(), "105".into()]));
        }
        assert_eq!(added(&[105], &engine(true, true)), Some(vec!["keep-groups".into()]));
        assert_eq!(added(&[105], &engine(true, false)), None);
    }
}
