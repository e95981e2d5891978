//! A job's group in the first version: a folder for each controller.

use super::{Freezer, named_number, number_in};
use crate::Limits;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

const CPU_PERIOD_US: u64 = 100_000;

#[derive(Debug)]
pub(crate) struct Group {
    folders: BTreeMap<String, PathBuf>,
    path: PathBuf,
    memory_bytes: u64,
    /// The kernel adds one whenever the group, or one above it, runs out of memory.
    alarm: OwnedFd,
}

pub(super) fn create(parents: &BTreeMap<String, PathBuf>, attempt: &str, limits: &Limits) -> io::Result<Group> {
    let folders: BTreeMap<_, _> =
        parents.iter().map(|(controller, parent)| (controller.clone(), parent.join(attempt))).collect();
    for folder in folders.values().collect::<BTreeSet<_>>() {
        super::end(folder);
        fs::create_dir(folder)?;
    }
    let memory = &folders["memory"];
    // Kernels before 5.11 count groups below only where they are told to.
    let _ = fs::write(memory.join("memory.use_hierarchy"), "1");
    fs::write(memory.join("memory.limit_in_bytes"), limits.memory_bytes.to_string())?;
    // Absent where swap is not counted; then there is none to hide in, or the owner has not asked for it to be counted.
    let _ = fs::write(memory.join("memory.memsw.limit_in_bytes"), limits.memory_bytes.to_string());
    fs::write(folders["pids"].join("pids.max"), limits.processes.to_string())?;
    let quota = (u64::from(limits.cpu_milli) * CPU_PERIOD_US / 1000).max(1000);
    fs::write(folders["cpu"].join("cpu.cfs_period_us"), CPU_PERIOD_US.to_string())?;
    fs::write(folders["cpu"].join("cpu.cfs_quota_us"), quota.to_string())?;
    let alarm = listen(memory)?;
    let path = below_mount(memory);
    Ok(Group { path, folders, memory_bytes: limits.memory_bytes, alarm })
}

/// The last two parts, `gleaner-WORKER/ATTEMPT`, with what may stand before them.
fn below_mount(memory: &Path) -> PathBuf {
    let mut parts: Vec<_> = memory.iter().collect();
    let start = parts.iter().position(|part| *part == "memory").map_or(parts.len().saturating_sub(2), |at| at + 1);
    parts.drain(..start);
    Path::new("/").join(parts.iter().collect::<PathBuf>())
}

fn listen(memory: &Path) -> io::Result<OwnedFd> {
    let alarm = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
    let control = File::open(memory.join("memory.oom_control"))?;
    let line = format!("{} {}", alarm.as_raw_fd(), control.as_raw_fd());
    fs::write(memory.join("cgroup.event_control"), line)?;
    Ok(alarm)
}

impl Group {
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.folders.values().cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Either a process of this very group was killed, which is counted; or, for a container, whose group is one below
    /// and gone with it, the alarm rang and this group did reach its limit.
    pub(super) fn out_of_memory(&self) -> bool {
        let control = fs::read_to_string(self.folders["memory"].join("memory.oom_control")).unwrap_or_default();
        let own = named_number(&control, "oom_kill").is_some_and(|count| count > 0);
        // Pages are counted in batches, so the peak can stay a little below the limit.
        let slack = (self.memory_bytes / 64).min(1 << 20);
        let full = self.memory_peak_bytes().is_some_and(|peak| peak.saturating_add(slack) >= self.memory_bytes);
        own || (full && self.alarm_rang())
    }

    /// Leaves the alarm as it is: what has rung once has rung for good.
    fn alarm_rang(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.alarm, PollFlags::IN)], Some(&now)).is_ok_and(|count| count > 0)
    }

    pub(super) fn memory_peak_bytes(&self) -> Option<u64> {
        number_in(&self.folders["memory"].join("memory.max_usage_in_bytes"))
    }

    pub(super) fn cpu(&self) -> Option<Duration> {
        number_in(&self.folders.get("cpuacct")?.join("cpuacct.usage")).map(Duration::from_nanos)
    }

    /// A file that is not there where no freezer is mounted, so that processes are stopped one by one.
    pub(super) fn freezer(&self) -> Freezer {
        let folder = self.folders.get("freezer").unwrap_or(&self.folders["memory"]);
        let file = folder.join("freezer.state");
        Freezer { answer: file.clone(), file, words: ["FROZEN", "THAWED"], frozen: "FROZEN" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_is_told_the_path_below_the_mount() {
        let path = below_mount(Path::new("/sys/fs/cgroup/memory/gleaner-w/a"));
        assert_eq!(path, Path::new("/gleaner-w/a"));
        let nested = below_mount(Path::new("/sys/fs/cgroup/memory/user/1000/gleaner-w/a"));
        assert_eq!(nested, Path::new("/user/1000/gleaner-w/a"));
    }
}
