//! Looks at the group that an engine made for a container, where it cannot lie below ours: engines that have systemd make
//! their groups. What was seen last counts, because the group is gone with its container.

use super::{find, named_number, number_in};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// A container's group in the second version, and what was last seen in it.
#[derive(Debug)]
pub(crate) struct Observed {
    folder: PathBuf,
    pub(crate) cpu: Option<Duration>,
    pub(crate) memory_peak_bytes: Option<u64>,
    pub(crate) out_of_memory: bool,
}

impl Observed {
    /// The group of a process, if it is the one that was made for the container called `id`.
    pub(crate) fn of(process: i32, id: &str) -> Option<Self> {
        let own = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
        let path = find::own_paths(&own).remove("").filter(|path| path.contains(id))?;
        let mount = find::mounts(&fs::read_to_string("/proc/self/mountinfo").ok()?).second?;
        Some(Self::at(mount.join(path.trim_start_matches('/'))))
    }

    fn at(folder: PathBuf) -> Self {
        Self { folder, cpu: None, memory_peak_bytes: None, out_of_memory: false }
    }

    /// Takes in what the group says now; what it does not say any more stays as it was.
    pub(crate) fn look(&mut self) {
        let text = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        self.cpu = named_number(&text("cpu.stat"), "usage_usec").map(Duration::from_micros).or(self.cpu);
        // Kernels before 5.19 know no peak.
        let memory = ["memory.peak", "memory.current"].iter().find_map(|name| number_in(&self.folder.join(name)));
        self.memory_peak_bytes = self.memory_peak_bytes.max(memory);
        self.out_of_memory |= named_number(&text("memory.events"), "oom_kill").is_some_and(|count| count > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_stays_when_the_group_is_gone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        let mut observed = Observed::at(folder.path().to_owned());
        write("cpu.stat", "usage_usec 1500\n");
        write("memory.current", "4096\n");
        observed.look();
        write("memory.current", "2048\n");
        write("memory.events", "oom 1\noom_kill 1\n");
        observed.look();
        for name in ["cpu.stat", "memory.current", "memory.events"] {
            fs::remove_file(folder.path().join(name)).expect("removing");
        }
        observed.look();
        assert_eq!(observed.cpu, Some(Duration::from_micros(1500)));
        assert_eq!((observed.memory_peak_bytes, observed.out_of_memory), (Some(4096), true));
    }

    #[test]
    fn group_of_another_container_is_not_looked_at() {
        let own = i32::try_from(std::process::id()).expect("a process number");
        assert!(Observed::of(own, "0123456789abcdef").is_none());
    }
}
