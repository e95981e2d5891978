//! What can go wrong between a client and its hub, in words for the person who asked.
use std::io;
use std::path::{Path, PathBuf};

use gleaner_wire::api::Problem;
use gleaner_wire::{Hash, JobId};

/// Why a request did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not one this client can dial.
    #[error("`{url}` is not the address of a hub: {reason}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file of authorities is of no use.
    #[error("{} names no authority that could vouch for a hub: {reason}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing can be encrypted here.
    #[error("this system trusts nobody who could vouch for a hub")]
    NoTls(#[source] rustls::Error),
    /// Somebody answered, and may be anybody.
    #[error("what answers at {url} cannot prove to be that hub")]
    Untrusted {
        /// Where.
        url: String,
        /// Why.
        #[source]
        source: rustls::Error,
    },
    /// Nobody answered.
    #[error("no hub answers at {url}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The hub said no.
    #[error("the hub refused: {}", .0.detail)]
    Refused(Box<Problem>),
    /// The job file is wrong.
    #[error("{}{}: {reason}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    JobFile {
        /// The file.
        path: PathBuf,
        /// The line, if it is known.
        line: Option<usize>,
        /// What is wrong there.
        reason: String,
    },
    /// The answer is not what the API promises.
    #[error("the answer of {url} makes no sense: {reason}")]
    Answer {
        /// Where it came from.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder or file cannot be sealed and pushed.
    #[error("cannot push {}: {reason}", path.display())]
    Pack {
        /// Which.
        path: PathBuf,
        /// Why, with all its causes.
        reason: String,
    },
    /// A dataset cannot be opened.
    #[error("cannot open the dataset {what}")]
    Fetch {
        /// Its root.
        what: Hash,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A dataset cannot be written.
    #[error("cannot unpack into {}", folder.display())]
    Unpack {
        /// Where.
        folder: PathBuf,
        /// Why.
        #[source]
        source: gleaner_data::unpack::Error,
    },
    /// Nobody here can open a job's data.
    #[error("the keys of job {0} are not here: they open with the secret of who submitted it")]
    NoKeys(JobId),
    /// Nobody said whose data it is.
    #[error("this client has no account: data cannot be sealed or opened")]
    NoAccount,
    /// A local file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A name from outside that is not used as a file name.
    #[error("the job names an output `{0}`, which is not a safe file name")]
    UnsafeName(String),
}

impl Error {
    /// What the person can do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Unreachable { .. } => {
                Some("start a network with `gleaner up`, a hub with `gleaner hub`, or name another with --hub URL")
            }
            Self::Refused(problem) if problem.status == 401 => {
                Some("name the hub's token file with --token-file; the hub keeps it in its folder as api.token")
            }
            Self::Answer { .. } => Some("check that the address is a hub's, and of the same version as this program"),
            Self::Untrusted { .. } => Some(
                "if its certificate is from an authority of your own, name that one's certificate with --hub-ca FILE; \
                 otherwise somebody may be in between: ask the hub's operator",
            ),
            Self::NoTls(_) => {
                Some("install the system's certificates (Debian: apt install ca-certificates), or use --hub-ca FILE")
            }
            Self::NoKeys(_) => Some("use the state folder (--dir) from which the job was submitted"),
            Self::Address { .. }
            | Self::Authorities { .. }
            | Self::Refused(_)
            | Self::JobFile { .. }
            | Self::File { .. }
            | Self::Pack { .. }
            | Self::Fetch { .. }
            | Self::Unpack { .. }
            | Self::NoAccount
            | Self::UnsafeName(_) => None,
        }
    }

    /// Whether the hub said that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(problem) if problem.status == 404)
    }

    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }

    pub(crate) fn pack(path: &Path, error: &gleaner_data::pack::Error) -> Self {
        let (mut reason, mut deeper) = (error.to_string(), std::error::Error::source(error));
        while let Some(cause) = deeper {
            reason = format!("{reason}: {cause}");
            deeper = cause.source();
        }
        Self::Pack { path: path.to_owned(), reason }
    }

    #[expect(clippy::needless_pass_by_value, reason = "the reasons are mostly errors, which come by value")]
    pub(crate) fn answer(url: &str, reason: impl ToString) -> Self {
        Self::Answer { url: url.to_owned(), reason: reason.to_string() }
    }

    /// Keeps only the innermost cause: the layers between say "request failed" each in their own words.
    pub(crate) fn unreachable(url: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source = source.into();
        let mut root: &dyn std::error::Error = &*source;
        loop {
            if let Some(source) = distrust(root) {
                return Self::Untrusted { url: url.to_owned(), source };
            }
            let Some(deeper) = root.source() else { break };
            root = deeper;
        }
        Self::Unreachable { url: url.to_owned(), source: root.to_string().into() }
    }

    /// Whether trying again may help.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Address { .. }
            | Self::Authorities { .. }
            | Self::NoTls(_)
            | Self::Untrusted { .. }
            | Self::Refused(_)
            | Self::JobFile { .. }
            | Self::Answer { .. }
            | Self::Pack { .. }
            | Self::Fetch { .. }
            | Self::Unpack { .. }
            | Self::NoKeys(_)
            | Self::NoAccount
            | Self::File { .. }
            | Self::UnsafeName(_) => false,
        }
    }
}

/// Why the other side's certificate was not believed, if that is what an error is about.
fn distrust<'a>(mut error: &'a (dyn std::error::Error + 'static)) -> Option<rustls::Error> {
    // Streams hand errors on inside of theirs, which do not name them as their source.
    while let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        let inner: &'a (dyn std::error::Error + 'static) = inner;
        error = inner;
    }
    let error = error.downcast_ref::<rustls::Error>()?;
    matches!(error, rustls::Error::InvalidCertificate(_)).then(|| error.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_believed_is_told_from_silence() {
        let distrust = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let nested = io::Error::other(io::Error::other(distrust()));
        for error in [Error::unreachable("hub", distrust()), Error::unreachable("hub", nested)] {
            assert!(matches!(&error, Error::Untrusted { .. }), "{error:?}");
            assert!(!error.is_transient() && error.help().is_some_and(|help| help.contains("--hub-ca")));
        }
        let silence = Error::unreachable("hub", io::Error::other(rustls::Error::HandshakeNotComplete));
        assert!(matches!(silence, Error::Unreachable { .. }));
    }
}
