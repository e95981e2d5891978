//! How `gleaner hub` encrypts, and under which address people see it.
use std::net::SocketAddr;
use std::path::PathBuf;

use gleaner_hub::{ACME_DIRECTORY, Acme, Site, Tls};

use crate::output::say;

/// Options about certificates and addresses.
#[derive(clap::Args)]
pub struct Args {
    /// Encrypt with the certificate in this file (PEM, with those between it and a root); read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key", group = "certificate", help_heading = "Encryption")]
    tls_cert: Option<PathBuf>,
    /// The private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Encryption")]
    tls_key: Option<PathBuf>,
    /// Encrypt with a certificate for this name, asked for and renewed by the hub itself, which has to be reached under it at
    /// port 443; may be repeated
    #[arg(long, value_name = "DOMAIN", group = "certificate", help_heading = "Encryption")]
    acme: Vec<String>,
    /// Whom the authority can write to, such as mailto:ada@example.org
    #[arg(long, value_name = "MAILTO", requires = "acme", help_heading = "Encryption")]
    acme_contact: Option<String>,
    /// The authority's ACME directory
    #[arg(long, value_name = "URL", requires = "acme", default_value = ACME_DIRECTORY, help_heading = "Encryption")]
    acme_directory: String,
    /// File with the certificates, in PEM, of who may vouch for a directory of your own
    #[arg(long, value_name = "FILE", requires = "acme", help_heading = "Encryption")]
    acme_root: Option<PathBuf>,
    /// Address of a plain port from which browsers are sent on to the encrypted one
    #[arg(long, value_name = "ADDRESS", requires = "certificate", help_heading = "Encryption")]
    pub redirect_http: Option<SocketAddr>,
    /// The address under which people see this hub [default: the name of --acme, or this machine]
    #[arg(long, value_name = "URL", value_parser = Site::parse, help_heading = "Encryption")]
    pub url: Option<Site>,
    /// Believe X-Forwarded-For: every request comes through a proxy that sets it
    #[arg(long, help_heading = "Encryption")]
    pub behind_proxy: bool,
}

impl Args {
    /// What the hub is told.
    pub fn config(&self) -> Option<Tls> {
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            return Some(Tls::Files { certificate: certificate.clone(), key: key.clone() });
        }
        (!self.acme.is_empty()).then(|| {
            Tls::Acme(Acme {
                domains: self.acme.clone(),
                contact: self.acme_contact.clone(),
                directory: self.acme_directory.clone(),
                root: self.acme_root.clone(),
            })
        })
    }

    /// Says what the choice means.
    pub fn say(&self, listen: SocketAddr, allow_remote: bool, own: &str) {
        if self.config().is_some() {
            say(format!("encrypted; programs on this machine use {own}"));
        } else if allow_remote && !listen.ip().is_loopback() {
            say(
                "NOT ENCRYPTED: who is on the way reads and changes tokens, passphrases and jobs, unless a proxy or a \
                 private network protects them; --acme DOMAIN encrypts",
            );
        }
    }
}
