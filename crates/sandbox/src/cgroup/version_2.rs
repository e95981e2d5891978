//! A job's group in the second version: one folder.

use super::{Freezer, named_number, number_in};
use crate::Limits;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CPU_PERIOD_US: u64 = 100_000;

#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    path: PathBuf,
}

pub(super) fn create(parent: &Path, attempt: &str, limits: &Limits) -> io::Result<Group> {
    let folder = parent.join(attempt);
    super::end(&folder);
    fs::create_dir(&folder)?;
    for (file, value) in settings(limits) {
        fs::write(folder.join(file), value)?;
    }
    // Absent without swap, and on kernels before 4.19.
    let _ = fs::write(folder.join("memory.swap.max"), "0");
    let _ = fs::write(folder.join("memory.oom.group"), "1");
    // A container's own group, made by its engine, needs the controllers too.
    let path = Path::new("/").join(folder.strip_prefix("/sys/fs/cgroup").unwrap_or(&folder));
    Ok(Group { folder, path })
}

fn settings(limits: &Limits) -> [(&'static str, String); 3] {
    let quota = (u64::from(limits.cpu_milli) * CPU_PERIOD_US / 1000).max(1000);
    [
        ("memory.max", limits.memory_bytes.to_string()),
        ("pids.max", limits.processes.to_string()),
        ("cpu.max", format!("{quota} {CPU_PERIOD_US}")),
    ]
}

impl Group {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Kills in groups below are counted here as well.
    pub(super) fn out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        named_number(&events, "oom_kill").is_some_and(|count| count > 0)
    }

    /// Known since Linux 5.19.
    pub(super) fn memory_peak_bytes(&self) -> Option<u64> {
        number_in(&self.folder.join("memory.peak"))
    }

    pub(super) fn cpu(&self) -> Option<Duration> {
        let stat = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        named_number(&stat, "usage_usec").map(Duration::from_micros)
    }

    pub(super) fn freezer(&self) -> Freezer {
        let (file, answer) = (self.folder.join("cgroup.freeze"), self.folder.join("cgroup.events"));
        Freezer { file, words: ["1", "0"], answer, frozen: "frozen 1" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(files: &[(&str, &str)]) -> (tempfile::TempDir, Group) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).expect("a file"));
        let group = Group { folder: folder.path().to_owned(), path: "/x".into() };
        (folder, group)
    }

    #[test]
    fn kill_for_memory_is_read_from_the_events() {
        let events = "low 0\nhigh 0\nmax 31\noom 1\noom_kill 0\noom_group_kill 0\n";
        assert!(!recorded(&[("memory.events", events)]).1.out_of_memory());
        let events = "low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\noom_group_kill 1\n";
        assert!(recorded(&[("memory.events", events)]).1.out_of_memory());
    }

    #[test]
    fn what_was_used_is_read() {
        let files = [("memory.peak", "1048576\n"), ("cpu.stat", "usage_usec 2500\nuser_usec 2000\nsystem_usec 500\n")];
        let (_folder, group) = recorded(&files);
        assert_eq!(group.memory_peak_bytes(), Some(1 << 20));
        assert_eq!(group.cpu(), Some(Duration::from_micros(2500)));
    }

    #[test]
    fn limits_are_written_as_the_kernel_reads_them() {
        let limits = Limits { cpu_milli: 1500, memory_bytes: 1 << 30, processes: 7, ..Limits::default() };
        let written = settings(&limits);
        assert_eq!(written[2], ("cpu.max", "150000 100000".to_owned()));
        assert_eq!(written[0].1, "1073741824");
        assert_eq!(written[1].1, "7");
    }
}
