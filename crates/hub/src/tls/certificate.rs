//! A certificate with its key: read, checked, and shown to visitors.
use crate::clock::wall_ms;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Error as Tls, InconsistentKeys};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use x509_parser::time::ASN1Time;

/// The largest file that is read as a certificate or a key.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Why a certificate is of no use.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no certificate.
    #[error("{0} holds no certificate in PEM (`-----BEGIN CERTIFICATE-----`)")]
    NoCertificate(String),
    /// There is no key.
    #[error("{0} holds no private key in PEM that could be used; one with a password cannot be")]
    NoKey(String),
    /// The certificate cannot be understood.
    #[error("{0} holds a certificate that cannot be understood")]
    Malformed(String),
    /// The two do not belong together.
    #[error("the key in {key} is not the one of the certificate in {certificate}: name the pair that belongs together")]
    Mismatch {
        /// The certificate's file.
        certificate: String,
        /// The key's file.
        key: String,
    },
    /// Its time is over.
    #[error("the certificate in {place} was valid until {until}: renew it")]
    Expired {
        /// Its file.
        place: String,
        /// When.
        until: String,
    },
    /// Its time has not come.
    #[error("the certificate in {place} is valid from {from} on: check this machine's clock, or wait")]
    Early {
        /// Its file.
        place: String,
        /// When.
        from: String,
    },
    /// The kind of key is not known.
    #[error("the key in {place} is of a kind that cannot be used: take ECDSA, Ed25519 or RSA")]
    Key {
        /// Its file.
        place: String,
        /// What the library says.
        source: Tls,
    },
}

/// A certificate that visitors can be shown.
#[derive(Debug)]
pub(super) struct Certificate {
    key: Arc<CertifiedKey>,
    from: ASN1Time,
    until: ASN1Time,
}

/// What the parts of a certificate are called in messages.
pub(super) struct Names<'a> {
    pub(super) certificate: &'a str,
    pub(super) key: &'a str,
}

impl Certificate {
    /// Reads a certificate and its key. Whether it is valid now is another question.
    pub(super) fn parse(chain: &[u8], key: &[u8], names: &Names<'_>) -> Result<Self, CertificateError> {
        let chain = certificates(chain, names.certificate)?;
        let leaf = chain.first().expect("there is at least one");
        let malformed = || CertificateError::Malformed(names.certificate.to_owned());
        let (_, read) = x509_parser::parse_x509_certificate(leaf).map_err(|_| malformed())?;
        let (from, until) = (read.validity().not_before, read.validity().not_after);
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::NoKey(names.key.to_owned()))?;
        let pair = CertifiedKey::from_der(chain, key, &ring::default_provider());
        let key = pair.map_err(|source| match source {
            Tls::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                CertificateError::Mismatch { certificate: names.certificate.to_owned(), key: names.key.to_owned() }
            }
            Tls::InvalidCertificate(_) => malformed(),
            source => CertificateError::Key { place: names.key.to_owned(), source },
        })?;
        Ok(Self { key: Arc::new(key), from, until })
    }

    /// Refuses it if nobody would believe it now.
    pub(super) fn check_time(&self, place: &str) -> Result<(), CertificateError> {
        let (now, place) = (now_s(), place.to_owned());
        if self.until.timestamp() <= now {
            return Err(CertificateError::Expired { place, until: self.until.to_string() });
        }
        if self.from.timestamp() > now {
            return Err(CertificateError::Early { place, from: self.from.to_string() });
        }
        Ok(())
    }

    /// For how long it is valid still.
    pub(super) fn left(&self) -> Duration {
        let left = self.until.timestamp().saturating_sub(now_s());
        Duration::from_secs(u64::try_from(left).unwrap_or(0))
    }

    /// How long it is until a third of its life is left, which is when it is renewed.
    pub(super) fn renewal_in(&self) -> Duration {
        let life = self.until.timestamp().saturating_sub(self.from.timestamp());
        let third = Duration::from_secs(u64::try_from(life / 3).unwrap_or(0));
        self.left().saturating_sub(third)
    }

    /// Until when it is valid, in words.
    pub(super) fn until(&self) -> String {
        self.until.to_string()
    }
}

/// The certificates in a text of PEM, of which there is at least one.
pub(super) fn certificates(pem: &[u8], place: &str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_| CertificateError::Malformed(place.to_owned()))?;
    if found.is_empty() { Err(CertificateError::NoCertificate(place.to_owned())) } else { Ok(found) }
}

/// The bytes of a file that is no larger than such files are.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let read = || {
        let file = std::fs::File::open(path)?;
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, FILE_BYTES_MAX), &mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|source| CertificateError::Read { path: path.to_owned(), source })
}

fn now_s() -> i64 {
    i64::try_from(wall_ms() / 1000).unwrap_or(i64::MAX)
}

/// The certificate that visitors are shown at the moment.
#[derive(Debug, Default)]
pub(super) struct Shown {
    current: RwLock<Option<Arc<Certificate>>>,
    /// When it ends, in seconds since 1970, for those who watch over it.
    ends: Arc<AtomicU64>,
}

impl Shown {
    pub(super) fn ends(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.ends)
    }

    pub(super) fn set(&self, certificate: Certificate) {
        self.ends.store(u64::try_from(certificate.until.timestamp()).unwrap_or(0), Ordering::Relaxed);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certificate));
    }

    pub(super) fn current(&self) -> Option<Arc<Certificate>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current().map(|certificate| Arc::clone(&certificate.key))
    }
}
