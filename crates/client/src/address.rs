//! Where a hub is, and who may vouch that it is that one. Read once, where a program is told of a hub.
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio_tungstenite::Connector;

use crate::Error;

/// The address of a hub: `https://HOST`, or `http://HOST:PORT` on the same machine or a private network.
#[derive(Clone)]
pub struct HubAddress {
    url: String,
    /// Who is believed; nothing where nothing is encrypted.
    tls: Option<Arc<ClientConfig>>,
}

impl HubAddress {
    /// Reads an address. The hub's certificate has to be from an authority in the file `authorities`, if there is one, and
    /// otherwise from one that this system trusts.
    pub fn parse(url: &str, authorities: Option<&Path>) -> Result<Self, Error> {
        let url = url.trim_end_matches('/');
        let refuse = |reason| Err(Error::Address { url: url.to_owned(), reason });
        let (is_encrypted, host) = match url.split_once("://") {
            Some(("http", host)) => (false, host),
            Some(("https", host)) => (true, host),
            Some(_) | None => return refuse("it must start with https:// or http://"),
        };
        if host.is_empty() || host.contains(['/', '@', '?', '#']) || reqwest::Url::parse(url).is_err() {
            return refuse("write https://HOST, or http://HOST:PORT");
        }
        let tls = match (is_encrypted, authorities) {
            (true, Some(file)) => Some(believe(roots(file)?)?),
            (true, None) => Some(believe_system()?),
            (false, None) => None,
            (false, Some(_)) => return refuse("a hub that is not encrypted shows no certificate: write https://"),
        };
        Ok(Self { url: url.to_owned(), tls })
    }

    /// The address without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        self.url.split_once("://").map_or(&self.url, |(_, authority)| authority)
    }

    /// The host without a port.
    pub fn host(&self) -> &str {
        match self.authority().rsplit_once(':') {
            // An address of the newer kind without a port ends in a bracket.
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            Some(_) | None => self.authority(),
        }
    }

    /// The port, also if it is the usual one.
    pub fn port(&self) -> u16 {
        let port = self.authority().strip_prefix(self.host()).and_then(|port| port.strip_prefix(':'));
        port.and_then(|port| port.parse().ok()).unwrap_or(if self.tls.is_some() { 443 } else { 80 })
    }

    /// The address of a WebSocket below this path.
    pub fn socket_url(&self, path: &str) -> String {
        format!("{}{path}", self.url.replacen("http", "ws", 1))
    }

    /// What connects WebSockets.
    pub fn connector(&self) -> Connector {
        self.tls.as_ref().map_or(Connector::Plain, |tls| Connector::Rustls(Arc::clone(tls)))
    }

    /// What encrypts, if anything does.
    pub fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }
}

impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Debug for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HubAddress").field(&self.url).finish()
    }
}

fn roots(file: &Path) -> Result<RootCertStore, Error> {
    let wrong = |reason| Error::Authorities { path: file.to_owned(), reason };
    let pem = std::fs::read(file).map_err(Error::file("read", file))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("it holds no certificate in PEM".to_owned())) } else { Ok(roots) }
}

fn believe(roots: RootCertStore) -> Result<Arc<ClientConfig>, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(Error::NoTls)?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

fn believe_system() -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(Arc::clone(&provider)).map_err(Error::NoTls)?;
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(Error::NoTls)?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    Ok(Arc::new(builder.with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_host_and_nothing_more() {
        for url in [
            "",
            "127.0.0.1:7700",
            "http://",
            "https://",
            "http://a b",
            "https://hub/path",
            "ftp://hub",
            "https://a@hub",
        ] {
            assert!(matches!(HubAddress::parse(url, None), Err(Error::Address { .. })), "{url}");
        }
        let parts = |url: &str| {
            let address = HubAddress::parse(url, None).expect("an address");
            (address.host().to_owned(), address.port(), address.socket_url("/x"))
        };
        assert_eq!(parts("http://127.0.0.1:7700/"), ("127.0.0.1".into(), 7700, "ws://127.0.0.1:7700/x".into()));
        assert_eq!(parts("http://[::1]"), ("[::1]".into(), 80, "ws://[::1]/x".into()));
        assert_eq!(parts("http://[::1]:77"), ("[::1]".into(), 77, "ws://[::1]:77/x".into()));
    }

    #[test]
    fn authorities_are_certificates_and_only_for_encrypted_hubs() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let parse = |url| HubAddress::parse(url, Some(file.path()));
        assert!(matches!(parse("http://hub"), Err(Error::Address { .. })));
        assert!(matches!(parse("https://hub"), Err(Error::Authorities { .. })), "the file is empty");
        std::fs::remove_file(file.path()).expect("it is there");
        assert!(matches!(parse("https://hub"), Err(Error::File { .. })));
    }
}
