//! Control groups: what keeps the memory, processes and processor time of a job within its limits, on kernels with the
//! first version of the interface, the second, or both at once.
//!
//! A worker has one parent group, `gleaner-NAME`, and below it one group for each attempt. Whatever is found there when a
//! worker starts was left by one that was killed, and is ended. Where groups cannot be written, [`Groups::open`] says why,
//! and jobs are watched by other means.

mod find;
mod observe;
mod version_1;
mod version_2;

use crate::{Error, Limits};
use find::Place;
pub(crate) use observe::Observed;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// So often, and with this pause, processes of a group are killed and the group is removed before it is given up.
const ROUNDS_MAX: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// The groups of one worker.
#[derive(Debug)]
pub struct Groups {
    place: Option<Arc<Place>>,
    missing: Option<String>,
    cleared: usize,
}

impl Groups {
    /// Finds where groups can be made, makes the worker's own and ends what an earlier worker of that name left in it.
    ///
    /// # Errors
    /// If the name is not made of lower-case letters, digits and `-`.
    pub fn open(worker: &str) -> Result<Self, Error> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if worker.is_empty() || worker.len() > 64 || !worker.bytes().all(plain) {
            return Err(Error::Refused(format!("a worker cannot be called `{worker}`")));
        }
        match find::place(&format!("gleaner-{worker}")) {
            Ok(place) => {
                let cleared = place.parents().iter().map(|parent| clear(parent)).max().unwrap_or(0);
                Ok(Self { place: Some(Arc::new(place)), missing: None, cleared })
            }
            Err(why) => Ok(Self::none(&why)),
        }
    }

    /// Does without groups, for the reason given.
    #[must_use]
    pub fn none(why: &str) -> Self {
        Self { place: None, missing: Some(why.to_owned()), cleared: 0 }
    }

    /// Why jobs have no groups here; none if they have.
    #[must_use]
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// How many groups an earlier worker had left.
    #[must_use]
    pub fn cleared(&self) -> usize {
        self.cleared
    }

    /// Makes the group of an attempt; none where groups cannot be written.
    pub(crate) fn create(&self, attempt: &str, limits: &Limits) -> Result<Option<Group>, Error> {
        let Some(place) = &self.place else { return Ok(None) };
        let failed = |error| Error::system("making a control group", error);
        let kind = match &**place {
            Place::First(mounts) => Kind::First(version_1::create(mounts, attempt, limits).map_err(failed)?),
            Place::Second(parent) => Kind::Second(version_2::create(parent, attempt, limits).map_err(failed)?),
        };
        Ok(Some(Group { kind, _place: place.clone() }))
    }
}

/// The group of one attempt. It is removed, and all in it killed, when it is dropped.
#[derive(Debug)]
pub(crate) struct Group {
    kind: Kind,
    /// The parent is removed with the last of its groups.
    _place: Arc<Place>,
}

#[derive(Debug)]
enum Kind {
    First(version_1::Group),
    Second(version_2::Group),
}

impl Group {
    /// The files that a process writes its number into to join.
    pub(crate) fn doors(&self) -> Vec<PathBuf> {
        self.folders().into_iter().map(|folder| folder.join("cgroup.procs")).collect()
    }

    /// How a container engine is told of the group: its path below the hierarchy.
    pub(crate) fn path(&self) -> &Path {
        match &self.kind {
            Kind::First(group) => group.path(),
            Kind::Second(group) => group.path(),
        }
    }

    /// Whether the kernel killed one of its processes for going beyond the group's memory.
    pub(crate) fn out_of_memory(&self) -> bool {
        match &self.kind {
            Kind::First(group) => group.out_of_memory(),
            Kind::Second(group) => group.out_of_memory(),
        }
    }

    pub(crate) fn memory_peak_bytes(&self) -> Option<u64> {
        match &self.kind {
            Kind::First(group) => group.memory_peak_bytes(),
            Kind::Second(group) => group.memory_peak_bytes(),
        }
    }

    pub(crate) fn cpu(&self) -> Option<Duration> {
        match &self.kind {
            Kind::First(group) => group.cpu(),
            Kind::Second(group) => group.cpu(),
        }
    }

    /// What freezes all of its processes at once.
    pub(crate) fn freezer(&self) -> Freezer {
        match &self.kind {
            Kind::First(group) => group.freezer(),
            Kind::Second(group) => group.freezer(),
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        match &self.kind {
            Kind::First(group) => group.folders(),
            Kind::Second(group) => vec![group.folder().to_owned()],
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in self.folders() {
            end(&folder);
        }
    }
}

/// Freezes a group: the file to write into with the words for frozen and thawed, and where it says that it is done.
#[derive(Debug, Clone)]
pub(crate) struct Freezer {
    file: PathBuf,
    words: [&'static str; 2],
    answer: PathBuf,
    frozen: &'static str,
}

impl Freezer {
    pub(crate) fn set(&self, frozen: bool) -> io::Result<()> {
        fs::write(&self.file, self.words[usize::from(!frozen)])
    }

    /// Whether all in it stand still by now.
    pub(crate) fn stands(&self) -> bool {
        fs::read_to_string(&self.answer).is_ok_and(|text| text.lines().any(|line| line == self.frozen))
    }
}

/// Ends every group below a parent, and says how many there were.
fn clear(parent: &Path) -> usize {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let left = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    left.map(|entry| end(&entry.path())).count()
}

/// Kills all that is in a group and removes it with those below.
fn end(folder: &Path) {
    let _ = fs::write(folder.join("freezer.state"), "THAWED");
    let _ = fs::write(folder.join("cgroup.freeze"), "0");
    for _ in 0..ROUNDS_MAX {
        let _ = fs::write(folder.join("cgroup.kill"), "1");
        crate::process_tree::signal(&members(folder), rustix::process::Signal::KILL);
        if remove(folder) {
            return;
        }
        sleep(PAUSE);
    }
}

fn remove(folder: &Path) -> bool {
    for below in subgroups(folder) {
        remove(&below);
    }
    match fs::remove_dir(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn subgroups(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

fn members(folder: &Path) -> Vec<i32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // A process of another pid namespace reads as 0, which as a signal's address would mean everyone here.
    let mut found: Vec<i32> =
        text.lines().filter_map(|line| line.parse().ok()).filter(|process| *process > 0).collect();
    for below in subgroups(folder) {
        found.extend(members(&below));
    }
    found
}

/// The number behind a name in files such as `oom_kill 3`.
fn named_number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

fn number_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_found_by_its_whole_name() {
        let text = "low 0\noom 4\noom_kill 2\noom_group_kill 1\n";
        assert_eq!(named_number(text, "oom"), Some(4));
        assert_eq!(named_number(text, "oom_kill"), Some(2));
        assert_eq!(named_number(text, "kill"), None);
    }

    #[test]
    fn worker_cannot_be_called_a_path() {
        for name in ["", "..", "a/b", "A"] {
            assert!(Groups::open(name).is_err(), "{name}");
        }
    }

    #[test]
    fn process_of_a_stranger_namespace_is_never_signalled() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("cgroup.procs"), "0\n-1\n4000000\n").expect("a list");
        assert_eq!(members(folder.path()), [4_000_000]);
    }
}
