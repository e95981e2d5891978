//! On the way into a sandbox: joins groups, gives up root, becomes `bwrap`.
//!
//! What to do comes as JSON on standard input, a socket on which failures are told as well. Options of `bwrap` go through
//! an unnamed file, so that nobody sees a job's environment in the list of processes.

use super::{Doing, Report, Step, close_inherited};
use crate::Identity;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, UnshareFlags, sched_getaffinity, sched_setaffinity};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Where the job's parts are bound to when the program's user could not walk to where they are.
pub(crate) const STAGE: &str = "/run/gleaner";
const ENTRY_BYTES_MAX: u64 = 8 << 20;

/// What `enter` is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The process that must be there as long as the job.
    pub(crate) parent: i32,
    /// Files of control groups to join.
    pub(crate) doors: Vec<PathBuf>,
    /// How many processors to keep to, where no group says so.
    pub(crate) cores: Option<u32>,
    /// Whom to become, if not who we are.
    pub(crate) identity: Option<Identity>,
    /// Which groups to be in then, and no others.
    pub(crate) groups: Vec<u32>,
    /// What to bind below [`STAGE`], and under which name, if the identity changes.
    pub(crate) staged: Vec<(PathBuf, String)>,
    pub(crate) bwrap: PathBuf,
    /// Options of `bwrap`.
    pub(crate) options: Vec<String>,
    /// Files that appear inside, and what is in them.
    pub(crate) files: Vec<(String, String)>,
    /// What `bwrap` runs, the helper's own second role; the number of the report's handle is put at its end.
    pub(crate) command: Vec<String>,
}

pub(super) fn run() -> ExitCode {
    let channel = match rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3) {
        Ok(fd) => UnixStream::from(fd),
        Err(_) => return ExitCode::from(2),
    };
    let Err((doing, error)) = enter(&channel);
    let report = Report::Failed { doing, error: error.to_string() };
    let _ = serde_json::to_writer(&channel, &report);
    let _ = (&channel).flush();
    ExitCode::FAILURE
}

fn enter(channel: &UnixStream) -> Step<std::convert::Infallible> {
    // A worker keeps its files to itself; what is made here is made for the program's user.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let mut text = String::new();
    channel.take(ENTRY_BYTES_MAX).read_to_string(&mut text).doing("reading what to start")?;
    let entry: Entry = serde_json::from_str(&text).map_err(io::Error::from).doing("reading what to start")?;
    let null = fs::File::open("/dev/null").doing("opening /dev/null")?;
    rustix::stdio::dup2_stdin(&null).doing("closing standard input")?;
    join(&entry)?;
    if let Some(identity) = entry.identity {
        stage(&entry.staged)?;
        become_user(identity, &entry.groups)?;
    }
    tie_to_parent(entry.parent)?;
    become_bwrap(&entry, channel)
}

fn join(entry: &Entry) -> Step<()> {
    let own = std::process::id().to_string();
    for door in &entry.doors {
        fs::write(door, &own).doing(&format!("joining {}", door.display()))?;
    }
    // Should the whole machine run out of memory, a stranger's program goes first.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    let _ = rustix::process::nice(5);
    if let Some(cores) = entry.cores {
        keep_to(cores).doing("keeping to some of the processors")?;
    }
    Ok(())
}

fn keep_to(cores: u32) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let mut chosen = CpuSet::new();
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .take(usize::try_from(cores).unwrap_or(usize::MAX).max(1))
        .for_each(|cpu| chosen.set(cpu));
    Ok(sched_setaffinity(None, &chosen)?)
}

/// Binds the job's parts to where the program's user can reach them, in a mount namespace of our own.
fn stage(staged: &[(PathBuf, String)]) -> Step<()> {
    // SAFETY: unsharing mounts changes no memory and no handle of this process, which has one thread.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.doing("making a mount namespace")?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .doing("keeping mounts to ourselves")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", "/run", "tmpfs", flags, Some(c"mode=0755,size=1m")).doing("mounting a place for the job")?;
    fs::create_dir(STAGE).doing("making a place for the job")?;
    for (source, name) in staged {
        let target = Path::new(STAGE).join(name);
        let folder = fs::symlink_metadata(source).doing(&format!("looking at {}", source.display()))?.is_dir();
        if folder { fs::create_dir(&target) } else { fs::write(&target, "") }.doing("making a place for the job")?;
        mount_bind(source, &target).doing(&format!("binding {}", source.display()))?;
    }
    Ok(())
}

fn become_user(identity: Identity, groups: &[u32]) -> Step<()> {
    let groups: Vec<_> = groups.iter().map(|group| rustix::process::Gid::from_raw(*group)).collect();
    let (uid, gid) = (rustix::process::Uid::from_raw(identity.uid), rustix::process::Gid::from_raw(identity.gid));
    set_thread_groups(&groups).doing("leaving all groups")?;
    set_thread_res_gid(gid, gid, gid).doing("becoming an ordinary group")?;
    set_thread_res_uid(uid, uid, uid).doing("becoming an ordinary user")
}

fn tie_to_parent(parent: i32) -> Step<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).doing("tying the job to its worker")?;
    // It may have died before that, and then nothing would end us.
    if getppid() != Pid::from_raw(parent) {
        return Err(("starting a job".into(), io::Error::other("the worker is gone")));
    }
    Ok(())
}

fn become_bwrap(entry: &Entry, channel: &UnixStream) -> Step<std::convert::Infallible> {
    let mut options = Vec::new();
    let mut kept = Vec::new();
    for (path, content) in &entry.files {
        let file = unnamed(content.as_bytes()).doing("writing a small file")?;
        options.extend(["--perms".into(), "0444".into(), "--file".into(), file.as_raw_fd().to_string(), path.clone()]);
        kept.push(file);
    }
    options.extend(entry.options.iter().cloned());
    let joined: Vec<u8> = options.iter().flat_map(|option| option.bytes().chain([0])).collect();
    let arguments = unnamed(&joined).doing("writing the options of bwrap")?;
    let report = rustix::io::fcntl_dupfd_cloexec(channel, 10).doing("keeping the report open")?;
    rustix::io::fcntl_setfd(&report, rustix::io::FdFlags::empty()).doing("keeping the report open")?;
    let numbers: Vec<_> = kept.iter().chain([&arguments, &report]).map(AsRawFd::as_raw_fd).collect();
    close_inherited(&numbers).doing("closing what was inherited")?;
    let error = Command::new(&entry.bwrap)
        .args(["--args", &arguments.as_raw_fd().to_string(), "--"])
        .args(&entry.command)
        .arg(report.as_raw_fd().to_string())
        .exec();
    Err((format!("starting {}", entry.bwrap.display()), error))
}

/// A file in memory that stays open over `exec`, to be read from its start.
fn unnamed(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = fs::File::from(memfd_create("gleaner", MemfdFlags::empty())?);
    file.write_all(content)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}
