//! A machine: a network namespace, held by a thread that lives in it.
//!
//! Commands are started by that thread, so that they are born inside, and die with it.
use super::{Error, Process};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

type Errand = Box<dyn FnOnce() + Send>;

struct Inner {
    name: String,
    errands: Option<mpsc::Sender<Errand>>,
    thread: Option<JoinHandle<()>>,
    links: AtomicU32,
}

/// A machine. Clones are the same; it ends with the last one, and with the links to it.
#[derive(Clone)]
pub struct Machine(Arc<Inner>);

impl Machine {
    /// A machine with nothing but a loopback device.
    pub fn new(name: &str) -> Result<Self, Error> {
        let (errands, inbox) = mpsc::channel::<Errand>();
        let (born, birth) = mpsc::channel();
        let thread = thread::Builder::new().name(format!("machine-{name}")).spawn(move || {
            // SAFETY: the table of open files stays shared; a thread may leave its network at any time.
            let left = unsafe { unshare_unsafe(UnshareFlags::NEWNET) };
            if born.send(left).is_ok() {
                inbox.into_iter().for_each(|errand| errand());
            }
        });
        let thread = thread.map_err(Error::system("starting a thread"))?;
        let unavailable = |why: String| Error::Unavailable(format!("no network namespace ({why}): run this as root"));
        birth.recv().map_err(|why| unavailable(why.to_string()))?.map_err(|why| unavailable(why.to_string()))?;
        let (errands, thread) = (Some(errands), Some(thread));
        let machine = Self(Arc::new(Inner { name: name.to_owned(), errands, thread, links: AtomicU32::new(0) }));
        // Without an address of the other kind, nobody tries it first and waits for its end.
        machine.set("ipv6/conf/all/disable_ipv6", "1")?;
        machine.set("ipv6/conf/default/disable_ipv6", "1")?;
        // An address that was added beside another one outlives it.
        machine.set("ipv4/conf/all/promote_secondaries", "1")?;
        machine.ip("link set lo up")?;
        Ok(machine)
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Does something inside, such as opening a socket, which stays inside wherever it is used afterwards. One thing at
    /// a time is done in a machine, so it must not wait for another one.
    pub fn inside<T: Send + 'static>(&self, errand: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, doing) = mpsc::channel();
        let errand = move || drop(done.send(catch_unwind(AssertUnwindSafe(errand))));
        let errands = self.0.errands.as_ref().expect("taken when the last clone is dropped only");
        errands.send(Box::new(errand)).expect("the thread takes errands as long as it can get any");
        doing.recv().expect("it answers each errand").unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Starts a command inside.
    pub fn start(&self, mut command: Command) -> Result<Process, Error> {
        // SAFETY: between fork and exec nothing but one system call is made.
        unsafe {
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let name = command.get_program().to_string_lossy().into_owned();
        let started = self.inside(move || command.spawn());
        Ok(Process::new(started.map_err(Error::system(format!("starting {name} in {}", self.0.name)))?, name))
    }

    /// Runs a command inside until it ends, and takes what it wrote.
    pub fn run(&self, mut command: Command) -> Result<Output, Error> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.start(command)?.output()
    }

    /// Sends packets of others on.
    pub fn forward(&self) -> Result<(), Error> {
        self.set("ipv4/ip_forward", "1")
    }

    /// Sets a value below `/proc/sys/net` for this machine.
    pub fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        let (path, value) = (format!("/proc/sys/net/{key}"), value.to_owned());
        self.inside(move || std::fs::write(&path, value).map_err(Error::system(format!("writing to {path}"))))
    }

    /// Lines for `ip -batch` (Debian: iproute2).
    pub fn ip(&self, lines: &str) -> Result<(), Error> {
        self.feed("ip", &["-batch", "-"], lines, "iproute2")
    }

    /// Runs a command that reads what it has to do.
    pub(crate) fn feed(&self, program: &str, arguments: &[&str], input: &str, package: &str) -> Result<(), Error> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = self.inside(move || command.spawn()).map_err(|why| {
            Error::Unavailable(format!("{program} does not start ({why}): Debian has it in {package}"))
        })?;
        let failed = |why: String| Error::Command { command: format!("{program} in {}", self.0.name), why };
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(|why| failed(why.to_string()))?;
        }
        let output = child.wait_with_output().map_err(|why| failed(why.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(format!("{} (told: {input})", String::from_utf8_lossy(&output.stderr).trim())))
    }

    /// A name for one more device.
    pub(crate) fn next_device(&self) -> String {
        format!("link{}", self.0.links.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.errands.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
