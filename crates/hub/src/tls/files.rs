//! A certificate in files that somebody else renews. They are looked at every few seconds, so that no restart is needed.
use crate::tls::certificate::{Certificate, CertificateError, Names, Shown, read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often the files are looked at. They are small.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// When the operator is warned that nobody renews the certificate, and how often.
const LEFT_MIN: Duration = Duration::from_secs(14 * 24 * 3600);
const WARN_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Looks after the files.
pub(crate) struct Watch {
    certificate: PathBuf,
    key: PathBuf,
    shown: Arc<Shown>,
    /// What was in the files the last time.
    seen: Seen,
}

/// What is in the two files. A failure is remembered too, so that it is told once.
#[derive(PartialEq, Eq)]
struct Seen {
    chain: Vec<u8>,
    key: Vec<u8>,
    failed: Option<String>,
}

impl Watch {
    /// Reads the files and shows what is in them.
    pub(super) fn open(certificate: PathBuf, key: PathBuf, shown: Arc<Shown>) -> Result<Self, CertificateError> {
        let (chain, key_bytes) = (read(&certificate)?, read(&key)?);
        let mut watch =
            Self { certificate, key, shown, seen: Seen { chain: Vec::new(), key: Vec::new(), failed: None } };
        watch.show(&chain, &key_bytes)?;
        watch.warn_of_readers();
        watch.seen = Seen { chain, key: key_bytes, failed: None };
        Ok(watch)
    }

    fn show(&self, chain: &[u8], key: &[u8]) -> Result<(), CertificateError> {
        let (place, key_place) = (self.certificate.display().to_string(), self.key.display().to_string());
        let certificate = Certificate::parse(chain, key, &Names { certificate: &place, key: &key_place })?;
        certificate.check_time(&place)?;
        tracing::info!(certificate = place, until = certificate.until(), "the hub shows a certificate");
        self.shown.set(certificate);
        Ok(())
    }

    fn warn_of_readers(&self) {
        let mode = std::fs::metadata(&self.key).map_or(0, |file| file.permissions().mode());
        if mode & 0o007 != 0 {
            tracing::warn!(key = %self.key.display(), "everybody on this machine can read the hub's private key");
        }
    }

    /// Looks until the hub stops. What cannot be used leaves the last certificate where it is: a tool may be between two
    /// files.
    pub(super) async fn attend(mut self, mut stopping: watch::Receiver<bool>) {
        let mut warned = None;
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                _ = stopping.changed() => return,
            }
            // The disk may be slow.
            self = match tokio::task::spawn_blocking(move || self.look()).await {
                Ok(watch) => watch,
                Err(_) => return,
            };
            self.warn_of_the_end(&mut warned);
        }
    }

    /// Shows what is in the files, if that has changed and can be used.
    pub(super) fn look(mut self) -> Self {
        let (chain, key) = match read(&self.certificate).and_then(|chain| Ok((chain, read(&self.key)?))) {
            Ok(read) => read,
            Err(error) => {
                self.remember(Vec::new(), Vec::new(), Some(&error));
                return self;
            }
        };
        if (&chain, &key) != (&self.seen.chain, &self.seen.key) {
            let failed = self.show(&chain, &key).err();
            self.remember(chain, key, failed.as_ref());
        }
        self
    }

    fn remember(&mut self, chain: Vec<u8>, key: Vec<u8>, failed: Option<&CertificateError>) {
        let failed = failed.map(|error| match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        });
        let seen = Seen { chain, key, failed };
        if let Some(error) = seen.failed.as_ref().filter(|_| seen != self.seen) {
            tracing::warn!(error, "the new certificate cannot be used; the hub goes on with the old one");
        }
        self.seen = seen;
    }

    fn warn_of_the_end(&self, warned: &mut Option<tokio::time::Instant>) {
        let Some(certificate) = self.shown.current() else { return };
        let lately = warned.is_some_and(|at| at.elapsed() < WARN_EVERY);
        if certificate.left() < LEFT_MIN && !lately {
            *warned = Some(tokio::time::Instant::now());
            tracing::warn!(until = certificate.until(), "the hub's certificate ends soon, and nobody has renewed it");
        }
    }
}
