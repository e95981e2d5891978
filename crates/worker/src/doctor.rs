//! What works on this machine, what does not, and the command that would fix it.
use std::fmt;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use crate::config::{Config, Error};
use crate::self_test::self_test;

/// Free space below which inputs and outputs soon do not fit.
const DISK_BYTES_MIN: u64 = 1 << 30;
const REACH_TIME_MAX: Duration = Duration::from_secs(3);

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub capability: String,
    /// How it went.
    pub state: State,
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It works.
    Works {
        /// How well.
        detail: String,
    },
    /// It does not.
    Missing {
        /// Why.
        why: String,
        /// What to do, a command where there is one.
        fix: String,
    },
}

impl Finding {
    pub(crate) fn works(capability: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { capability: capability.into(), state: State::Works { detail: detail.into() } }
    }

    pub(crate) fn missing(capability: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { capability: capability.into(), state: State::Missing { why: why.into(), fix: fix.into() } }
    }

    /// Whether it works.
    pub fn is_good(&self) -> bool {
        matches!(self.state, State::Works { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            State::Works { detail } => write!(f, "{}: {detail}", self.capability),
            State::Missing { why, fix } => write!(f, "{}: {why} (to fix it: {fix})", self.capability),
        }
    }
}

/// Why no adapter is there, and what to do about it.
pub(crate) fn no_adapter(wanted: Option<&str>) -> (String, String) {
    match wanted {
        Some(name) => (
            format!("no adapter has `{name}` in its name"),
            "look at the names with `gleaner doctor`, without --adapter".to_owned(),
        ),
        None => (
            "no Vulkan, Metal or DirectX 12 driver answered".to_owned(),
            "install your GPU's driver, or a software one (Debian: apt-get install mesa-vulkan-drivers)".to_owned(),
        ),
    }
}

/// Tries everything that a worker with this configuration would use. It takes a few seconds.
pub fn doctor(config: &Config) -> Vec<Finding> {
    let mut findings = vec![folder(config), disk(config)];
    match self_test(config) {
        Ok(tested) => {
            findings.extend(tested.findings);
            if let Err(error) = tested.offer.check() {
                let fix = "set a name and a region of 1 to 64 characters, and share at least one device";
                findings.push(Finding::missing("offer", error.to_string(), fix));
            }
        }
        Err(error) => findings.push(Finding::missing("self-test", with_source(&error), "fix the folder named above")),
    }
    findings.push(hub(config));
    findings
}

fn with_source(error: &Error) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}

fn folder(config: &Config) -> Finding {
    let dir = config.dir.display();
    let tried = std::fs::create_dir_all(&config.dir).and_then(|()| tempfile::tempfile_in(&config.dir));
    match tried {
        Ok(_) => Finding::works("folder", format!("{dir} can be written")),
        Err(error) => {
            let fix = format!("mkdir -p {dir} && chown \"$USER\" {dir}, or name another folder with --dir");
            Finding::missing("folder", format!("{dir} cannot be written: {error}"), fix)
        }
    }
}

/// Bytes that the worker may still write where its folder is.
pub(crate) fn free_bytes(dir: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(dir)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn disk(config: &Config) -> Finding {
    let dir = config.dir.display();
    match free_bytes(&config.dir) {
        Ok(bytes) if bytes >= DISK_BYTES_MIN => Finding::works("disk", format!("{} MiB free in {dir}", bytes >> 20)),
        Ok(bytes) => {
            let fix = "free some space, or name a folder on another disk with --dir";
            Finding::missing("disk", format!("only {} MiB free in {dir}; inputs may not fit", bytes >> 20), fix)
        }
        Err(error) => Finding::missing("disk", format!("{dir} cannot be looked at: {error}"), "check --dir"),
    }
}

fn hub(config: &Config) -> Finding {
    let url = &config.hub;
    let fix = "start one with `gleaner hub` (or `gleaner up`), or name another with --hub URL";
    if url.is_empty() {
        return Finding::missing("hub", "no hub is known here", fix);
    }
    let host = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/');
    let reached = host.to_socket_addrs().and_then(|mut addresses| {
        let address = addresses.next().ok_or(std::io::ErrorKind::NotFound)?;
        TcpStream::connect_timeout(&address, REACH_TIME_MAX)
    });
    match reached {
        Ok(_) => Finding::works("hub", format!("{url} answers")),
        Err(error) => Finding::missing("hub", format!("{url} does not answer: {error}"), fix),
    }
}
