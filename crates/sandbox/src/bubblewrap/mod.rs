//! Programs of this machine under bubblewrap: own user, process, network, IPC, host name and mount namespaces, the
//! system's folders read-only, no capability, Landlock and seccomp on top.

mod cage;
mod options;

use crate::disk::Disk;
use crate::ending::Exit;
use crate::helper::enter::Entry;
use crate::helper::inner::Locks;
use crate::helper::{Landlock, Report};
use crate::lines::{self, Splitter, Stream};
use crate::supervise::{Watched, supervise};
use crate::{Device, Error, Groups, Helper, Identity, Job, Lines, Network, Running};
use cage::{Child, ProcessCage};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

const REPORT_BYTES_MAX: u64 = 64 * 1024;

/// How programs are run under bubblewrap.
#[derive(Debug, Clone)]
pub struct BubblewrapConfig {
    /// How the binary becomes its helper.
    pub helper: Helper,
    /// Folders beside the system's that every program may read, such as `/opt/blender`. Never a home.
    pub readable: Vec<PathBuf>,
    /// Whom programs run as if the worker is root.
    pub unprivileged: Identity,
}

/// Runs programs of this machine under bubblewrap.
#[derive(Debug, Clone)]
pub struct Bubblewrap {
    config: BubblewrapConfig,
    program: PathBuf,
    groups: Arc<Groups>,
    landlock: Arc<Mutex<Option<Landlock>>>,
}

/// What stands between a program and the machine, for `gleaner doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guards {
    /// Why there are no control groups, so that memory is watched and not walled; none if there are.
    pub without_groups: Option<String>,
    /// Whom programs run as.
    pub identity: Identity,
    /// What Landlock enforced around the last program that was started; none before the first.
    pub landlock: Option<Landlock>,
}

impl Bubblewrap {
    /// Finds `bwrap` on this machine.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn new(config: BubblewrapConfig, groups: Arc<Groups>) -> Result<Self, Error> {
        let program = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"]
            .iter()
            .map(PathBuf::from)
            .find(|path| path.is_file())
            .ok_or_else(|| {
                Error::unavailable("bubblewrap is not installed", "Install it (Debian: apt install bubblewrap)")
            })?;
        Ok(Self { config, program, groups, landlock: Arc::default() })
    }

    /// What stands between a program and this machine.
    #[must_use]
    pub fn guards(&self) -> Guards {
        let landlock = *self.landlock.lock().unwrap_or_else(PoisonError::into_inner);
        Guards { without_groups: self.groups.missing().map(str::to_owned), identity: self.identity(), landlock }
    }

    /// The command that runs the binary itself inside a sandbox, with this as its last argument: it is there for its own sake
    /// anyway, and reads what strangers made more safely there.
    #[must_use]
    pub fn own_program(&self, role: &str) -> Vec<String> {
        let mut command = vec![options::HELPER.to_owned()];
        command.extend(self.config.helper.arguments.iter().cloned());
        command.push(role.to_owned());
        command
    }

    fn identity(&self) -> Identity {
        Identity::for_programs(self.config.unprivileged)
    }

    /// Starts a job. It has to be called within a tokio runtime.
    ///
    /// # Errors
    /// If the job asks for what it cannot have, or its processes cannot be made. What goes wrong later is in its ending.
    pub async fn start(&self, job: Job) -> Result<(Running, Lines), Error> {
        check(&job)?;
        let identity = self.identity();
        job.folder.prepare(identity)?;
        let disk = Disk::new(&job.folder, &job.limits)?;
        let group = self.groups.create(&job.attempt, &job.limits)?;
        let entry = self.entry(&job, identity, group.as_ref().map(crate::cgroup::Group::doors))?;
        let Child { process, stdout, stderr, channel, exit } = cage::spawn(&self.config.helper).await?;
        let (sink, lines) = lines::channel();
        let head = Arc::new(Mutex::new(String::new()));
        tokio::spawn(lines::pump(stdout, Splitter::new(Stream::Out, sink.clone())));
        let errors = tokio::spawn(lines::pump(stderr, Splitter::new(Stream::Err, sink).remember(head.clone())));
        let (exit_sender, exit_receiver) = oneshot::channel();
        let seen = self.landlock.clone();
        tokio::spawn(async move {
            let reports = converse(channel, &entry).await;
            if let Some(landlock) = enforced(&reports) {
                *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(landlock);
            }
            let code = exit.await.unwrap_or(-1);
            let _ = errors.await;
            let said = head.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let _ = exit_sender.send(conclude(&reports, code, &said));
        });
        let (running, orders, ending) = Running::new();
        let measure_memory = group.is_none();
        let cage = Arc::new(ProcessCage { process, frozen_by_group: group.as_ref().map(|group| group.freezer()) });
        let watched = Watched { cage, group, observed: None, disk, limits: job.limits, measure_memory };
        tokio::spawn(async move { ending.send(supervise(watched, orders, exit_receiver).await) });
        Ok((running, lines))
    }

    fn entry(&self, job: &Job, identity: Identity, doors: Option<Vec<PathBuf>>) -> Result<Entry, Error> {
        let changes = identity != Identity::own();
        let readable: Vec<String> = self.config.readable.iter().map(|path| text(path)).collect::<Result<_, _>>()?;
        let sources = options::Sources::new(job, &self.config.helper.program, changes)?;
        let locks = Locks {
            file_bytes: job.limits.disk_bytes,
            processes: doors.is_none().then_some(u64::from(job.limits.processes)),
            readable: readable.clone(),
            command: job.command.clone(),
        };
        let locks = serde_json::to_string(&locks).map_err(|error| Error::system("describing a job", error))?;
        let mut command = vec![options::HELPER.to_owned()];
        command.extend(self.config.helper.arguments.iter().cloned());
        command.extend(["inner".to_owned(), locks]);
        Ok(Entry {
            parent: i32::try_from(std::process::id()).unwrap_or_default(),
            cores: doors.is_none().then(|| job.limits.cpu_milli.div_ceil(1000)),
            doors: doors.unwrap_or_default(),
            identity: changes.then_some(identity),
            groups: job.groups(),
            staged: if changes { sources.staged.clone() } else { Vec::new() },
            bwrap: self.program.clone(),
            options: options::options(job, &sources, &readable),
            files: options::files(),
            command,
        })
    }
}

fn check(job: &Job) -> Result<(), Error> {
    job.check()?;
    if job.command.is_empty() {
        return Err(Error::Refused("no program is named".into()));
    }
    match job.network {
        Network::None => {}
        // Sharing the machine's network would show the program what listens on its loopback: the hub, databases.
        Network::Allowed => return Err(Error::Refused("a program with a network runs in a container only".into())),
    }
    match job.devices.iter().find(|device| matches!(device, Device::Cdi(_))) {
        Some(_) => Err(Error::Refused("devices are given as nodes here, not by CDI names".into())),
        None => Ok(()),
    }
}

fn text(path: &Path) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or_else(|| Error::Refused(format!("{} is not UTF-8", path.display())))
}

/// Tells the helper what to do and hears what it has to say, until the program starts or all is over.
async fn converse(channel: tokio::net::UnixStream, entry: &Entry) -> Vec<Report> {
    let (from, mut to) = channel.into_split();
    let told = match serde_json::to_vec(entry) {
        Ok(text) => to.write_all(&text).await,
        Err(error) => Err(error.into()),
    };
    if told.is_err() || to.shutdown().await.is_err() {
        return Vec::new();
    }
    let mut said = String::new();
    let _ = from.take(REPORT_BYTES_MAX).read_to_string(&mut said).await;
    said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What Landlock enforces around the program that is about to start.
fn enforced(reports: &[Report]) -> Option<Landlock> {
    reports.iter().find_map(|report| match report {
        Report::Ready { landlock } => Some(*landlock),
        Report::Failed { .. } | Report::NoProgram { .. } => None,
    })
}

/// How the program left, out of what the helpers said and the code.
fn conclude(reports: &[Report], code: i32, stderr: &str) -> Exit {
    match reports.iter().find(|report| !matches!(report, Report::Ready { .. })).or(reports.first()) {
        Some(Report::Ready { .. } | Report::NoProgram { .. }) => Exit::Code(code),
        Some(Report::Failed { doing, error }) => fault(format!("{doing} failed: {error}")),
        None => fault(format!("the sandbox could not be built: {}", stderr.trim())),
    }
}

fn fault(what: String) -> Exit {
    let remedy = "User namespaces must be allowed to ordinary users (sysctl kernel.unprivileged_userns_clone=1, and \
                  kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap), and a worker that \
                  is root needs CAP_SYS_ADMIN";
    Exit::Fault { what, remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready() -> Report {
        Report::Ready { landlock: Landlock::All }
    }

    #[test]
    fn code_counts_only_once_the_program_has_started() {
        assert_eq!(conclude(&[ready()], 1, ""), Exit::Code(1));
        assert!(matches!(conclude(&[], 1, "bwrap: no"), Exit::Fault { what, .. } if what.contains("bwrap: no")));
    }

    #[test]
    fn lock_that_failed_after_all_was_ready_is_the_sandboxs_fault() {
        let failed = Report::Failed { doing: "locking by seccomp".into(), error: "no".into() };
        assert!(matches!(conclude(&[ready(), failed], 127, ""), Exit::Fault { .. }));
    }

    #[test]
    fn program_that_is_not_there_is_the_programs_fault() {
        let none = Report::NoProgram { error: "no such file".into() };
        assert_eq!(conclude(&[ready(), none], 127, ""), Exit::Code(127));
    }
}
