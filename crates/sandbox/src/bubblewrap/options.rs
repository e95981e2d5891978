//! The command line of `bwrap`, as a pure function of the job: what a program sees and what it does not.

use super::text;
use crate::helper::enter::STAGE;
use crate::{Device, Error, Job};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the helper lies inside.
pub(super) const HELPER: &str = "/.gleaner/helper";
const USER: &str = "1000";

/// Folders of the system that hold programs and libraries. On merged systems most of them are links into `/usr`.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// What programs look up about the system. No passwords, keys, names of machines or addresses are among it.
const ETC: [&str; 12] = [
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/glvnd",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/OpenCL",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/vulkan",
];

/// What drivers of graphics devices read to find their device.
const SYS_OF_DEVICES: [&str; 5] = ["/sys/bus/pci", "/sys/class/drm", "/sys/class/kfd", "/sys/dev/char", "/sys/devices"];

/// Where `bwrap` finds the parts of a job.
#[derive(Debug)]
pub(super) struct Sources {
    inputs: String,
    outputs: String,
    checkpoint: String,
    helper: String,
    /// What the helper binds to where an ordinary user finds it.
    pub(super) staged: Vec<(PathBuf, String)>,
}

impl Sources {
    pub(super) fn new(job: &Job, helper: &Path, staged: bool) -> Result<Self, Error> {
        let parts = [
            (job.folder.inputs(), "in"),
            (job.folder.outputs(), "out"),
            (job.folder.checkpoint(), "checkpoint"),
            (helper.to_owned(), "helper"),
        ];
        let place = |(path, name): &(PathBuf, &str)| {
            let whole = fs::canonicalize(path)
                .map_err(|error| Error::system(format!("looking for {}", path.display()), error))?;
            if staged { Ok(format!("{STAGE}/{name}")) } else { text(&whole) }
        };
        Ok(Self {
            inputs: place(&parts[0])?,
            outputs: place(&parts[1])?,
            checkpoint: place(&parts[2])?,
            helper: place(&parts[3])?,
            staged: parts.into_iter().map(|(path, name)| (path, name.to_owned())).collect(),
        })
    }
}

/// Small files that stand for the machine's own; they are made before what the options say.
pub(super) fn files() -> Vec<(String, String)> {
    [
        ("/etc/passwd", format!("task:x:{USER}:{USER}::/tmp:/bin/sh\n")),
        ("/etc/group", format!("task:x:{USER}:\n")),
        ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n".to_owned()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
    ]
    .map(|(path, content)| (path.to_owned(), content))
    .into()
}

pub(super) fn options(job: &Job, sources: &Sources, readable: &[String]) -> Vec<String> {
    let mut all = Options(Vec::new());
    all.add("--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try");
    all.add("--disable-userns --cap-drop ALL --new-session --die-with-parent --hostname task --clearenv");
    all.push(&["--uid", USER, "--gid", USER]);
    for (name, value) in job.full_environment() {
        all.push(&["--setenv", &name, &value]);
    }
    all.system();
    all.devices(&job.devices);
    readable.iter().for_each(|path| all.push(&["--ro-bind", path, path]));
    let tmp = job.limits.tmp_bytes.to_string();
    all.push(&["--perms", "1777", "--size", &tmp, "--tmpfs", "/tmp"]);
    all.push(&["--perms", "1777", "--size", &tmp, "--tmpfs", "/dev/shm"]);
    all.push(&["--ro-bind", &sources.inputs, "/in"]);
    all.push(&["--bind", &sources.outputs, "/out"]);
    all.push(&["--bind", &sources.checkpoint, "/checkpoint"]);
    all.push(&["--ro-bind", &sources.helper, HELPER]);
    // Last: now that everything is in its place, nothing but the job's folders and /tmp can be written.
    all.add("--chdir /out --remount-ro /dev --remount-ro /");
    all.0
}

struct Options(Vec<String>);

impl Options {
    fn add(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(str::to_owned));
    }

    fn push(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn system(&mut self) {
        self.push(&["--ro-bind", "/usr", "/usr"]);
        for folder in SYSTEM {
            match fs::read_link(folder) {
                Ok(target) => self.push(&["--symlink", &target.to_string_lossy(), folder]),
                Err(_) => self.push(&["--ro-bind-try", folder, folder]),
            }
        }
        ETC.iter().for_each(|path| self.push(&["--ro-bind-try", path, path]));
        self.add("--proc /proc --dev /dev --ro-bind-try /sys/devices/system/cpu /sys/devices/system/cpu");
    }

    fn devices(&mut self, devices: &[Device]) {
        for device in devices {
            match device {
                Device::Node(node) => {
                    let node = node.to_string_lossy();
                    self.push(&["--dev-bind", &node, &node]);
                }
                Device::Cdi(_) => unreachable!("refused before"),
            }
        }
        if !devices.is_empty() {
            SYS_OF_DEVICES.iter().for_each(|path| self.push(&["--ro-bind-try", path, path]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Folder, Limits, Network};
    use std::collections::BTreeMap;

    fn sources() -> Sources {
        let name = |part: &str| format!("/jobs/1/{part}");
        Sources {
            inputs: name("in"),
            outputs: name("out"),
            checkpoint: name("checkpoint"),
            helper: "/opt/gleaner".into(),
            staged: Vec::new(),
        }
    }

    fn job(devices: Vec<Device>) -> Job {
        Job {
            attempt: "a".into(),
            command: vec!["true".into()],
            environment: BTreeMap::from([("--bind".to_owned(), "/".to_owned())]),
            folder: Folder::at("/jobs/1"),
            limits: Limits::default(),
            network: Network::None,
            devices,
        }
    }

    fn written(all: &[String]) -> Vec<&str> {
        let places = all.windows(2).filter(|pair| pair[0] == "--bind" && pair[1].starts_with('/'));
        places.map(|pair| pair[1].as_str()).collect()
    }

    #[test]
    fn only_the_two_folders_of_the_job_are_bound_for_writing() {
        let all = options(&job(Vec::new()), &sources(), &[]);
        let own: Vec<_> = written(&all).into_iter().filter(|path| *path != "/").collect();
        assert_eq!(own, ["/jobs/1/out", "/jobs/1/checkpoint"]);
    }

    #[test]
    fn variable_that_looks_like_an_option_stays_a_variable() {
        let all = options(&job(Vec::new()), &sources(), &[]);
        let at = all.iter().position(|word| word == "--bind").expect("the variable's name");
        assert_eq!(all[at - 1], "--setenv");
    }

    #[test]
    fn nothing_of_homes_run_and_var_is_mounted() {
        let all = options(&job(Vec::new()), &sources(), &[]);
        let forbidden = ["/home", "/root", "/run", "/var", "/etc", "/sys", "/dev/dri"];
        assert!(!all.iter().any(|word| forbidden.contains(&word.as_str())));
    }

    #[test]
    fn chosen_device_is_bound_and_no_other() {
        let all = options(&job(vec![Device::Node("/dev/dri/renderD128".into())]), &sources(), &[]);
        let bound: Vec<_> = all.windows(2).filter(|pair| pair[0] == "--dev-bind").map(|pair| pair[1].clone()).collect();
        assert_eq!(bound, ["/dev/dri/renderD128"]);
    }
}
