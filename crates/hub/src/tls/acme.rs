//! Certificates that the hub asks an authority for (RFC 8555). The authority looks whether the hub has the name by a
//! handshake at the hub's own port (RFC 8737), so no second one is needed.
//!
//! Account and certificates are in the hub's folder. What fails is tried again, less and less often, because authorities
//! count failures.
use crate::tls::certificate::{Certificate, CertificateError, Names, Shown, certificates, read};
use crate::tls::handshake::CHALLENGE;
use crate::tls::{TlsError, config};
use async_trait::async_trait;
use futures_util::StreamExt;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tempfile::NamedTempFile;
use tokio::sync::watch;
use tokio_rustls_acme::{AccountCache, AcmeConfig, CertCache, EventOk};

/// The authority that is asked if no other is named: Let's Encrypt.
pub const DIRECTORY: &str = tokio_rustls_acme::acme::LETS_ENCRYPT_PRODUCTION_DIRECTORY;
/// How long an authority may take for a certificate, with all that it looks at.
const ORDER_TIME_MAX: Duration = Duration::from_secs(30 * 60);
/// The waits after failures; the last one is kept to. Authorities allow some five failures in an hour.
const WAITS: [Duration; 5] = [
    Duration::from_secs(5),
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(20 * 60),
    Duration::from_secs(3600),
];

/// How certificates are asked for.
#[derive(Clone, Debug)]
pub struct Acme {
    /// The names that the certificate is for.
    pub domains: Vec<String>,
    /// Whom the authority can write to, such as `mailto:ada@hub.example`.
    pub contact: Option<String>,
    /// The authority's directory, [`DIRECTORY`] for most.
    pub directory: String,
    /// The roots that vouch for the directory itself, if it is one that the public does not know.
    pub root: Option<PathBuf>,
}

impl Acme {
    fn check(&self) -> Result<(), TlsError> {
        let named = |domain: &String| {
            let labels = domain.split('.');
            let plain = |label: &str| {
                !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            domain.len() <= 253
                && domain.parse::<IpAddr>().is_err()
                && labels.clone().count() > 1
                && labels.into_iter().all(plain)
        };
        if self.domains.is_empty() || !self.domains.iter().all(named) {
            return Err(TlsError::Acme("--acme needs a name such as hub.example.org, without https:// and without *"));
        }
        if !self.directory.starts_with("https://") {
            return Err(TlsError::Acme("--acme-directory needs an address that starts with https://"));
        }
        if self.contact.as_ref().is_some_and(|contact| !contact.starts_with("mailto:")) {
            return Err(TlsError::Acme("--acme-contact needs an address such as mailto:ada@example.org"));
        }
        Ok(())
    }

    /// Who is believed to be the authority.
    fn client(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let mut roots = RootCertStore::empty();
        match &self.root {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                let place = path.display().to_string();
                let found = read(path).and_then(|pem| certificates(&pem, &place)).map_err(TlsError::Root)?;
                for root in found {
                    roots.add(root).map_err(|_| TlsError::Root(CertificateError::Malformed(place.clone())))?;
                }
            }
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?;
        Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
    }
}

/// Gets the first certificate and renews it when a third of its life is left.
pub(crate) struct Attendant {
    acme: Acme,
    client: Arc<ClientConfig>,
    drawer: Drawer,
    authority: Arc<RwLock<Option<Arc<ServerConfig>>>>,
}

impl Attendant {
    pub(super) fn open(
        acme: &Acme,
        dir: &Path,
        shown: Arc<Shown>,
        authority: Arc<RwLock<Option<Arc<ServerConfig>>>>,
    ) -> Result<Self, TlsError> {
        acme.check()?;
        let drawer = Drawer { dir: dir.join("acme"), shown };
        Ok(Self { acme: acme.clone(), client: acme.client()?, drawer, authority })
    }

    /// Works until the hub stops.
    pub(super) async fn attend(self, mut stopping: watch::Receiver<bool>) {
        let mut failures = 0;
        loop {
            let failure = tokio::select! {
                failure = self.go_on(&mut failures) => failure,
                _ = stopping.changed() => return,
            };
            let wait = WAITS[failures.min(WAITS.len() - 1)];
            failures += 1;
            let left = self.drawer.shown.current().map(|certificate| certificate.until());
            tracing::warn!(failure, ?wait, valid_until = left, "no certificate came; the hub asks again");
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = stopping.changed() => return,
            }
        }
    }

    /// Asks, and asks again when it is time, until something fails; says what.
    async fn go_on(&self, failures: &mut usize) -> String {
        let asking = AcmeConfig::new_with_client_tls_config(&self.acme.domains, Arc::clone(&self.client))
            .directory(&self.acme.directory)
            .contact(&self.acme.contact)
            .cache(self.drawer.clone());
        let mut state = asking.state();
        match config(state.resolver(), CHALLENGE) {
            Ok(answer) => *self.authority.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(answer)),
            Err(error) => return error.to_string(),
        }
        loop {
            let renewal_in = self.drawer.shown.current().map(|certificate| certificate.renewal_in());
            // The library waits for answers without end.
            let patience = renewal_in.unwrap_or_default().saturating_add(ORDER_TIME_MAX);
            match tokio::time::timeout(patience, state.next()).await {
                Ok(Some(Ok(EventOk::CertCacheStore))) => {
                    let renewal_in = self.drawer.shown.current().map(|certificate| certificate.renewal_in());
                    if renewal_in.is_none_or(|renewal_in| renewal_in.is_zero()) {
                        return "the new certificate is not valid by this machine's clock".to_owned();
                    }
                    *failures = 0;
                }
                Ok(Some(Ok(EventOk::DeployedCachedCert | EventOk::DeployedNewCert | EventOk::AccountCacheStore))) => {}
                Ok(Some(Err(error))) => return error.to_string(),
                Ok(None) => return "the library gave up".to_owned(),
                Err(_) => return format!("{} did not answer in time", self.acme.directory),
            }
        }
    }
}

/// Where account and certificates are kept. What goes in and out is shown, if it can be.
#[derive(Clone)]
struct Drawer {
    dir: PathBuf,
    shown: Arc<Shown>,
}

impl Drawer {
    fn path(&self, kind: &str, of: &[String], directory: &str) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        for part in of.iter().map(String::as_str).chain([directory]) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        self.dir.join(format!("{kind}-{}.pem", &hasher.finalize().to_hex()[..16]))
    }

    fn show(&self, pem: &[u8], path: &Path) {
        let place = path.display().to_string();
        let read = Certificate::parse(pem, pem, &Names { certificate: &place, key: &place });
        match read.and_then(|certificate| certificate.check_time(&place).map(|()| certificate)) {
            Ok(certificate) => {
                tracing::info!(until = certificate.until(), "the hub shows a certificate of its authority");
                self.shown.set(certificate);
            }
            Err(error) => tracing::warn!(%error, "a certificate of the authority cannot be shown"),
        }
    }

    /// Nobody else can read it, and after a crash there is the old file or the new one.
    fn store(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        // Made for its owner alone.
        let mut file = NamedTempFile::new_in(&self.dir)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        std::fs::File::open(&self.dir)?.sync_all()
    }
}

fn load(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[async_trait]
impl CertCache for Drawer {
    type EC = io::Error;

    async fn load_cert(&self, domains: &[String], directory: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.path("certificate", domains, directory);
        let pem = load(&path)?;
        if let Some(pem) = &pem {
            self.show(pem, &path);
        }
        Ok(pem)
    }

    async fn store_cert(&self, domains: &[String], directory: &str, pem: &[u8]) -> io::Result<()> {
        let path = self.path("certificate", domains, directory);
        // A full disk is no reason to show nothing.
        self.show(pem, &path);
        self.store(&path, pem)
    }
}

#[async_trait]
impl AccountCache for Drawer {
    type EA = io::Error;

    async fn load_account(&self, contact: &[String], directory: &str) -> io::Result<Option<Vec<u8>>> {
        load(&self.path("account", contact, directory))
    }

    async fn store_account(&self, contact: &[String], directory: &str, key: &[u8]) -> io::Result<()> {
        self.store(&self.path("account", contact, directory), key)
    }
}
