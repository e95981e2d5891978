//! What a sandbox is asked to run, and within which limits.
//!
//! A job is checked here before a back end sees it: what a stranger wrote never becomes an option of `bwrap` or a path
//! outside the job's folder.

use crate::{Error, Folder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// At most so many bytes of command and environment together, well below what the kernel takes.
pub const COMMAND_BYTES_MAX: usize = 512 * 1024;
/// At most so many arguments, and as many variables.
pub const ARGUMENTS_MAX: usize = 2048;
/// At most so many devices.
pub const DEVICES_MAX: usize = 64;
const ATTEMPT_CHARS_MAX: usize = 64;

/// One program, what it is given, and what it may use.
#[derive(Debug, Clone)]
pub struct Job {
    /// Names this run: lower-case letters, digits and `-`. No two running jobs of a worker have the same.
    pub attempt: String,
    /// Program and arguments. Under bubblewrap the first is a path inside the sandbox or a name to be found in its `PATH`;
    /// in a container all of it is the image's command, and empty means what the image itself would run.
    pub command: Vec<String>,
    /// Environment, beside what the sandbox sets itself (`HOME`, `TMPDIR`, and a `PATH` where this has none).
    pub environment: BTreeMap<String, String>,
    /// The one folder that the program sees.
    pub folder: Folder,
    /// What it may use.
    pub limits: Limits,
    /// Whether it may reach a network.
    pub network: Network,
    /// Devices beside the harmless ones.
    pub devices: Vec<Device>,
}

/// What a job may use. All of them end the job when they are passed, except the processor's, which slows it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From its start to its end, without the time it was frozen.
    pub time: Duration,
    /// Memory of all its processes and of its `/tmp`.
    pub memory_bytes: u64,
    /// Processes and threads at a time.
    pub processes: u32,
    /// Thousandths of a processor core.
    pub cpu_milli: u32,
    /// Bytes in `out` and `checkpoint` together.
    pub disk_bytes: u64,
    /// Files and folders in `out` and `checkpoint` together.
    pub files: u64,
    /// Size of its private `/tmp`.
    pub tmp_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(3600),
            memory_bytes: 4 << 30,
            processes: 512,
            cpu_milli: 1000,
            disk_bytes: 8 << 30,
            files: 100_000,
            tmp_bytes: 1 << 30,
        }
    }
}

/// Whether a job may reach a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// It sees nothing but a loopback of its own.
    None,
    /// It is connected as the owner has set it up for containers.
    Allowed,
}

/// A device that a job may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Device {
    /// A device node, such as `/dev/dri/renderD128`.
    Node(PathBuf),
    /// A name of the Container Device Interface, such as `nvidia.com/gpu=0`. Containers only.
    Cdi(String),
}

impl Device {
    /// The group that may use it where not everybody may: a program that is given the device has to be in it.
    pub(crate) fn group(&self) -> Option<u32> {
        let Self::Node(path) = self else { return None };
        let node = std::fs::metadata(path).ok()?;
        group_of(node.mode(), node.gid())
    }
}

/// The group by which a node with this mode can be used, if that takes one. Nobody is put into the group of root.
fn group_of(mode: u32, group: u32) -> Option<u32> {
    let may = |bits: u32| mode & bits == bits;
    (group != 0 && may(0o060) && !may(0o006)).then_some(group)
}

impl Job {
    /// The groups without which it could not use its devices.
    pub(crate) fn groups(&self) -> Vec<u32> {
        let mut groups: Vec<u32> = self.devices.iter().filter_map(Device::group).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Refuses what no back end may be given.
    ///
    /// # Errors
    /// Says what is wrong with the job.
    pub fn check(&self) -> Result<(), Error> {
        check_attempt(&self.attempt)?;
        check_command(&self.command, &self.environment)?;
        check_limits(&self.limits)?;
        if self.devices.len() > DEVICES_MAX {
            return refuse(format!("more than {DEVICES_MAX} devices"));
        }
        self.devices.iter().try_for_each(check_device)
    }

    /// What the program gets as its environment.
    #[must_use]
    pub fn full_environment(&self) -> BTreeMap<String, String> {
        let own = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("LANG", "C.UTF-8"),
            ("HOME", "/tmp"),
            ("TMPDIR", "/tmp"),
        ];
        let mut all: BTreeMap<_, _> = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        all.extend(self.environment.clone());
        all
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Error> {
    Err(Error::Refused(why.into()))
}

fn check_attempt(attempt: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if attempt.is_empty() || attempt.len() > ATTEMPT_CHARS_MAX || !attempt.bytes().all(plain) {
        return refuse(format!(
            "the name of an attempt is 1 to {ATTEMPT_CHARS_MAX} lower-case letters, digits and `-`"
        ));
    }
    Ok(())
}

fn check_command(command: &[String], environment: &BTreeMap<String, String>) -> Result<(), Error> {
    if command.len() > ARGUMENTS_MAX || environment.len() > ARGUMENTS_MAX {
        return refuse(format!("more than {ARGUMENTS_MAX} arguments or variables"));
    }
    let bytes: usize = command.iter().map(String::len).sum::<usize>()
        + environment.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    if bytes > COMMAND_BYTES_MAX {
        return refuse(format!("command and environment have {bytes} bytes, at most {COMMAND_BYTES_MAX} are taken"));
    }
    let nul = |text: &String| text.contains('\0');
    if command.iter().any(nul) || environment.values().any(nul) {
        return refuse("a zero byte in the command or the environment");
    }
    if let Some(name) = environment.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        return refuse(format!("a variable cannot be called `{name}`"));
    }
    Ok(())
}

fn check_limits(limits: &Limits) -> Result<(), Error> {
    const MEMORY_BYTES_MIN: u64 = 8 << 20;
    if limits.memory_bytes < MEMORY_BYTES_MIN {
        return refuse("less than 8 MiB of memory: nothing starts in that");
    }
    if limits.time.is_zero() || limits.processes == 0 || limits.cpu_milli < 10 || limits.files == 0 {
        return refuse("a limit of nothing: time, processes, files, or less than a hundredth of a processor");
    }
    let signed = i64::MAX.unsigned_abs();
    if limits.memory_bytes > signed / 2 || limits.disk_bytes > signed || limits.tmp_bytes > signed {
        return refuse("a limit beyond what the system can count");
    }
    Ok(())
}

fn check_device(device: &Device) -> Result<(), Error> {
    match device {
        Device::Node(path) => check_node(path),
        Device::Cdi(name) => {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"./=_:-".contains(&byte);
            if name.len() > 200 || !name.contains('=') || !name.bytes().all(plain) {
                return refuse(format!("`{name}` is not a device name such as nvidia.com/gpu=0"));
            }
            Ok(())
        }
    }
}

/// Only nodes of graphics and compute devices: a disk or the memory of the machine is never handed out, whoever asks.
fn check_node(path: &Path) -> Result<(), Error> {
    const DRM: &str = "/dev/dri/renderD";
    const WHOLE: [&str; 6] =
        ["/dev/kfd", "/dev/dxg", "/dev/nvidiactl", "/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"];
    let text = path.to_str().unwrap_or_default();
    let numbered = |prefix: &str| {
        text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if WHOLE.contains(&text) || numbered(DRM) || numbered("/dev/nvidia") || numbered("/dev/accel/accel") {
        return Ok(());
    }
    refuse(format!("`{}` is not the node of a graphics or compute device", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            attempt: "a-1".into(),
            command: vec!["true".into()],
            environment: BTreeMap::new(),
            folder: Folder::at("/nowhere"),
            limits: Limits::default(),
            network: Network::None,
            devices: Vec::new(),
        }
    }

    #[test]
    fn plain_job_is_taken() {
        assert!(job().check().is_ok());
    }

    #[test]
    fn attempt_cannot_name_a_path() {
        for attempt in ["", "../x", "a/b", "A", "a b", &"a".repeat(65)] {
            assert!(Job { attempt: attempt.into(), ..job() }.check().is_err(), "{attempt}");
        }
    }

    #[test]
    fn only_graphics_nodes_are_handed_out() {
        for node in ["/dev/dri/renderD128", "/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/accel/accel0"] {
            assert!(check_node(Path::new(node)).is_ok(), "{node}");
        }
        for node in ["/dev/mem", "/dev/sda", "/dev/nvidia", "/dev/nvidia0/../mem", "/dev/dri/card0", "/etc/shadow", ""]
        {
            assert!(check_node(Path::new(node)).is_err(), "{node}");
        }
    }

    #[test]
    fn group_is_needed_where_not_everybody_may_use_a_device() {
        assert_eq!(group_of(0o20_660, 105), Some(105), "a render node");
        assert_eq!(group_of(0o20_666, 105), None, "everybody may");
        assert_eq!(group_of(0o20_640, 105), None, "it would not help");
        assert_eq!(group_of(0o20_660, 0), None, "never the group of root");
    }

    #[test]
    fn variables_that_would_split_are_refused() {
        for name in ["", "A=B", "A\0"] {
            let environment = BTreeMap::from([(name.to_owned(), String::new())]);
            assert!(Job { environment, ..job() }.check().is_err(), "{name:?}");
        }
    }

    #[test]
    fn command_beyond_its_limit_is_refused() {
        let long = vec!["x".repeat(COMMAND_BYTES_MAX + 1)];
        assert!(Job { command: long, ..job() }.check().is_err());
    }
}
