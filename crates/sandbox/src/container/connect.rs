//! Finds a container engine and learns what kind it is.

use super::{ANSWER_TIME_MAX, Isolation};
use crate::Error;
use bollard::models::{SystemInfoCgroupDriverEnum, SystemInfoCgroupVersionEnum};
use bollard::{API_DEFAULT_VERSION, Docker};
use std::fmt;

/// Where engines usually listen, best first: what `DOCKER_HOST` names, then this user's own, then the system's.
#[must_use]
pub fn candidate_hosts(docker_host: Option<&str>, runtime_dir: Option<&str>, home: Option<&str>) -> Vec<String> {
    let mut hosts: Vec<String> = docker_host.filter(|host| !host.is_empty()).map(str::to_owned).into_iter().collect();
    if let Some(dir) = runtime_dir {
        hosts.extend([format!("unix://{dir}/podman/podman.sock"), format!("unix://{dir}/docker.sock")]);
    }
    if let Some(home) = home {
        hosts.push(format!("unix://{home}/.docker/run/docker.sock"));
    }
    let system = ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"];
    hosts.extend(system.map(|path| format!("unix://{path}")));
    hosts
}

/// Connects to the engine at a host.
pub(crate) async fn connect(host: &str) -> Result<Docker, Error> {
    if !host.starts_with("unix://") {
        // A job's folder is on this machine, so its container has to be, too.
        return Err(Error::Refused(format!("`{host}` is not a local socket such as unix:///run/docker.sock")));
    }
    let silent = |error| Error::engine(format!("asking the container engine at {host}"), error);
    let docker = Docker::connect_with_unix(host, ANSWER_TIME_MAX.as_secs(), API_DEFAULT_VERSION).map_err(silent)?;
    docker.negotiate_version().await.map_err(silent)
}

/// The first interface of Docker that takes names of devices: that of Docker 25.
const NAMES_SINCE: (u32, u32) = (1, 44);

/// Whether an engine takes names of the Container Device Interface, by which NVIDIA's cards are handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceNames {
    /// It does.
    Taken,
    /// It is podman, which takes none through Docker's interface.
    NotByPodman,
    /// It is a Docker before 25.
    TooOld,
    /// It could, and does not look for descriptions of devices.
    SwitchedOff,
}

/// What kind of engine it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Character {
    pub(super) podman: bool,
    version: String,
    /// The newest version of its interface, as major and minor number.
    api: Option<(u32, u32)>,
    /// Whether it looks for descriptions of the Container Device Interface.
    reads_descriptions: bool,
    pub(super) rootless: bool,
    /// Whether it makes control groups itself, so that ours can be their parent.
    pub(super) plain_groups: bool,
    first_groups: bool,
    runtimes: Vec<String>,
    default_runtime: String,
    /// Where it keeps its images, if that is on this machine.
    pub(super) storage: Option<String>,
    /// How many processes its own user may have. Without CAP_SYS_RESOURCE it cannot give a container more.
    pub(super) processes_max: Option<u64>,
}

impl fmt::Display for Character {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rootless = if self.rootless { " without root" } else { "" };
        write!(f, "{} {}{rootless}", if self.podman { "podman" } else { "Docker" }, self.version)
    }
}

impl Character {
    pub(super) async fn of(docker: &Docker, host: &str) -> Result<Self, Error> {
        let failed = |error| Error::engine("asking the container engine what it is", error);
        let version = docker.version().await.map_err(failed)?;
        let info = docker.info().await.map_err(failed)?;
        let components = version.components.unwrap_or_default();
        let options = info.security_options.unwrap_or_default();
        Ok(Self {
            podman: components.iter().any(|component| component.name.contains("Podman")),
            version: version.version.unwrap_or_else(|| "of unknown version".into()),
            api: version.api_version.as_deref().and_then(api),
            reads_descriptions: info.cdi_spec_dirs.is_some_and(|folders| !folders.is_empty()),
            rootless: options.iter().any(|option| option.contains("rootless")),
            plain_groups: info.cgroup_driver == Some(SystemInfoCgroupDriverEnum::CGROUPFS),
            first_groups: info.cgroup_version == Some(SystemInfoCgroupVersionEnum::_1),
            runtimes: info.runtimes.unwrap_or_default().into_keys().collect(),
            default_runtime: info.default_runtime.unwrap_or_default(),
            storage: info.docker_root_dir.filter(|root| !root.is_empty()),
            processes_max: processes_max(host).await,
        })
    }

    /// Whether it takes names of the Container Device Interface. podman does not through this interface, and Docker not
    /// before 25.
    pub(super) fn device_names(&self) -> DeviceNames {
        match self.api {
            _ if self.podman => DeviceNames::NotByPodman,
            Some(api) if api < NAMES_SINCE => DeviceNames::TooOld,
            None => DeviceNames::TooOld,
            Some(_) if self.reads_descriptions => DeviceNames::Taken,
            Some(_) => DeviceNames::SwitchedOff,
        }
    }

    /// The commands that restart it and show what it says.
    pub(super) fn restart(&self) -> String {
        match (self.podman, self.rootless) {
            (true, true) => "systemctl --user restart podman.socket; journalctl --user -u podman -n 50",
            (true, false) => "sudo systemctl restart podman.socket; sudo journalctl -u podman -n 50",
            (false, true) => "systemctl --user restart docker; journalctl --user -u docker -n 50",
            (false, false) => "sudo systemctl restart docker; sudo journalctl -u docker -n 50",
        }
        .to_owned()
    }

    /// Refuses an engine that would take limits and not keep them.
    pub(super) fn check(&self, isolation: Isolation) -> Result<(), Error> {
        if self.rootless && self.first_groups {
            return Err(Error::unavailable(
                "a container engine without root cannot limit memory on a system with cgroups v1",
                "Run the engine as root, or boot with systemd.unified_cgroup_hierarchy=1",
            ));
        }
        match isolation {
            Isolation::EngineDefault => Ok(()),
            Isolation::Gvisor if self.default_runtime == "runsc" => Ok(()),
            Isolation::Gvisor if !self.podman && self.runtimes.iter().any(|name| name == "runsc") => Ok(()),
            // podman takes the wish over this API and does not fulfil it.
            Isolation::Gvisor => Err(Error::unavailable(
                format!("{self} would not use gVisor"),
                "Install it (Debian: apt install runsc); then add the runtime `runsc` to Docker's daemon.json, or make it \
                 the default of podman (runtime = \"runsc\" in containers.conf)",
            )),
        }
    }
}

/// `1.44` as two numbers.
fn api(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The limit of the process that listens there.
async fn processes_max(host: &str) -> Option<u64> {
    let socket = tokio::net::UnixStream::connect(host.strip_prefix("unix://")?).await.ok()?;
    let process = socket.peer_cred().ok()?.pid()?;
    hard_limit(&std::fs::read_to_string(format!("/proc/{process}/limits")).ok()?, "Max processes")
}

/// A number out of `/proc/PID/limits`; none if it is unlimited.
fn hard_limit(limits: &str, name: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().nth(1)?.parse().ok())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::container) fn character() -> Character {
        Character {
            podman: true,
            version: "4.3.1".into(),
            api: Some((1, 41)),
            reads_descriptions: false,
            rootless: false,
            plain_groups: true,
            first_groups: true,
            runtimes: vec!["runc".into()],
            default_runtime: "runc".into(),
            storage: None,
            processes_max: None,
        }
    }

    #[test]
    fn named_host_comes_first_and_own_engines_before_the_systems() {
        let hosts = candidate_hosts(Some("unix:///x"), Some("/run/user/1000"), None);
        assert_eq!(hosts[0], "unix:///x");
        assert_eq!(hosts[1], "unix:///run/user/1000/podman/podman.sock");
        assert_eq!(hosts.last().map(String::as_str), Some("unix:///run/podman/podman.sock"));
    }

    #[test]
    fn hard_limit_is_the_second_number() {
        let limits = "Limit            Soft Limit  Hard Limit  Units\nMax processes    100         32768       processes\n\
                      Max file size    unlimited   unlimited   bytes\n";
        assert_eq!(hard_limit(limits, "Max processes"), Some(32768));
        assert_eq!(hard_limit(limits, "Max file size"), None);
    }

    #[test]
    fn engine_that_ignores_limits_is_refused() {
        assert!(character().check(Isolation::EngineDefault).is_ok());
        assert!(Character { rootless: true, ..character() }.check(Isolation::EngineDefault).is_err());
        let second = Character { rootless: true, first_groups: false, ..character() };
        assert!(second.check(Isolation::EngineDefault).is_ok());
    }

    #[test]
    fn device_names_go_only_to_an_engine_that_takes_them() {
        assert_eq!(character().device_names(), DeviceNames::NotByPodman);
        let docker = |text, reads_descriptions| {
            Character { podman: false, api: api(text), reads_descriptions, ..character() }.device_names()
        };
        assert_eq!(docker("1.41", false), DeviceNames::TooOld, "Docker 20.10");
        assert_eq!(docker("1.43", true), DeviceNames::TooOld, "Docker 24");
        assert_eq!(docker("1.44", false), DeviceNames::SwitchedOff, "Docker 25 as it comes");
        assert_eq!(docker("1.44", true), DeviceNames::Taken);
        assert_eq!(docker("2.0", true), DeviceNames::Taken);
        assert_eq!(docker("", true), DeviceNames::TooOld, "one that does not say");
    }

    #[test]
    fn gvisor_is_never_silently_left_out() {
        assert!(character().check(Isolation::Gvisor).is_err());
        let known = Character { runtimes: vec!["runsc".into()], ..character() };
        assert!(known.check(Isolation::Gvisor).is_err(), "podman does not choose by name");
        assert!(Character { podman: false, ..known }.check(Isolation::Gvisor).is_ok());
        assert!(Character { default_runtime: "runsc".into(), ..character() }.check(Isolation::Gvisor).is_ok());
    }
}
