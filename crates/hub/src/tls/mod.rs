//! Encrypted connections to a hub: which certificate it shows, where that comes from, and how strangers shake hands.
//! What is said over them is none of this room's business.
mod acme;
mod certificate;
mod files;
mod handshake;
mod redirect;
#[cfg(test)]
mod tests;

pub use acme::{Acme, DIRECTORY};
pub use certificate::CertificateError;
pub(crate) use redirect::router as redirect;

use crate::tls::certificate::Shown;
use crate::tls::handshake::Places;
use rustls::crypto::ring;
use rustls::server::ResolvesServerCert;
use rustls::{ServerConfig, version};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;

/// The one protocol that a hub speaks over TLS. Workers and pages use WebSockets, which need it.
const HTTP: &[u8] = b"http/1.1";

/// How a hub encrypts what it says.
#[derive(Clone, Debug)]
pub enum Tls {
    /// With a certificate that somebody else renews. The files are read again when they change.
    Files {
        /// The certificate and those between it and a root, in PEM.
        certificate: PathBuf,
        /// Its private key, in PEM.
        key: PathBuf,
    },
    /// With certificates that the hub asks for itself.
    Acme(Acme),
}

/// Why a hub cannot encrypt.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The files are of no use.
    #[error("the certificate of this hub cannot be used")]
    Certificate(#[from] CertificateError),
    /// The roots of the authority are of no use.
    #[error("the roots of the certificate authority cannot be used: --acme-root needs a file with certificates in PEM")]
    Root(#[source] CertificateError),
    /// No certificate can be asked for.
    #[error("no certificate can be asked for: {0}")]
    Acme(&'static str),
    /// Nobody is to be sent on.
    #[error("could not listen on {address} to send people on: choose another address with --redirect-http")]
    Redirect {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The door for this machine does not open.
    #[error("could not listen on this machine's own address, where programs beside the hub reach it")]
    Own(#[source] std::io::Error),
    /// The library does not like what it was told.
    #[error("TLS cannot be set up")]
    Setup(#[from] rustls::Error),
}

/// What shakes hands with everybody who connects.
pub(crate) struct Doorkeeper {
    /// What is said to visitors.
    visitors: Arc<ServerConfig>,
    /// What is said to an authority that looks whether this hub has the name that it asked a certificate for.
    authority: Arc<RwLock<Option<Arc<ServerConfig>>>>,
    places: Places,
    ends: Arc<AtomicU64>,
}

/// What keeps the certificate fresh.
pub(crate) enum Upkeep {
    Files(files::Watch),
    Acme(Box<acme::Attendant>),
}

/// Reads or asks for certificates. The folder is the hub's.
pub(crate) fn open(tls: &Tls, dir: &Path) -> Result<(Doorkeeper, Upkeep), TlsError> {
    // Some parts of the libraries ask for the process's choice. Fails when somebody chose before, which serves as well.
    let _ = ring::default_provider().install_default();
    let shown = Arc::new(Shown::default());
    let authority = Arc::default();
    let upkeep = match tls {
        Tls::Files { certificate, key } => {
            Upkeep::Files(files::Watch::open(certificate.clone(), key.clone(), Arc::clone(&shown))?)
        }
        Tls::Acme(acme) => {
            let attendant = acme::Attendant::open(acme, dir, Arc::clone(&shown), Arc::clone(&authority))?;
            Upkeep::Acme(Box::new(attendant))
        }
    };
    let ends = shown.ends();
    let visitors = Arc::new(config(shown, HTTP)?);
    Ok((Doorkeeper { visitors, authority, places: Places::default(), ends }, upkeep))
}

impl Upkeep {
    /// Works until the hub stops.
    pub(crate) async fn attend(self, stopping: watch::Receiver<bool>) {
        match self {
            Self::Files(watch) => watch.attend(stopping).await,
            Self::Acme(attendant) => attendant.attend(stopping).await,
        }
    }
}

impl Doorkeeper {
    /// When the certificate that it shows ends, in seconds since 1970; 0 while it shows none.
    pub(crate) fn certificate_ends(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.ends)
    }

    fn for_authority(&self) -> Option<Arc<ServerConfig>> {
        self.authority.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// TLS 1.2 and 1.3 with this certificate, for one protocol.
fn config(certificates: Arc<dyn ResolvesServerCert>, protocol: &[u8]) -> Result<ServerConfig, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(certificates);
    config.alpn_protocols.push(protocol.to_vec());
    Ok(config)
}
