//! How `gleaner hub` and `gleaner up` encrypt, and under which address people see the hub.
use std::net::SocketAddr;
use std::path::PathBuf;

use gleaner_hub::{ACME_DIRECTORY, Acme, Site, Tls};

use crate::output::say;

/// Options about certificates and addresses.
#[derive(clap::Args)]
pub struct Args {
    /// Listen on an address that other machines reach, although nothing encrypts what is said there
    #[arg(long)]
    pub allow_remote: bool,
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

    /// The same for a hub that is started by this process.
    pub fn options(&self) -> Vec<String> {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let directory = (!self.acme.is_empty()).then(|| self.acme_directory.clone());
        let mut options: Vec<String> = self.acme.iter().flat_map(|name| ["--acme".to_owned(), name.clone()]).collect();
        let values = [
            ("--tls-cert", file(&self.tls_cert)),
            ("--tls-key", file(&self.tls_key)),
            ("--acme-contact", self.acme_contact.clone()),
            ("--acme-directory", directory),
            ("--acme-root", file(&self.acme_root)),
            ("--redirect-http", self.redirect_http.map(|address| address.to_string())),
            ("--url", self.url.as_ref().map(|site| site.origin().to_owned())),
        ];
        for (option, value) in values {
            options.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
        }
        let words = [("--allow-remote", self.allow_remote), ("--behind-proxy", self.behind_proxy)];
        options.extend(words.iter().filter(|(_, said)| *said).map(|(option, _)| (*option).to_owned()));
        options
    }

    /// Says what the choice means.
    pub fn say(&self, listen: SocketAddr, own: &str) {
        if self.config().is_some() {
            say(format!("encrypted; programs on this machine use {own}"));
        } else if self.allow_remote && !listen.ip().is_loopback() {
            say(
                "NOT ENCRYPTED: who is on the way reads and changes tokens, passphrases and jobs, unless a proxy or a \
                 private network protects them; --acme DOMAIN encrypts",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Told {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_hub_that_is_started_is_told_the_same() {
        let given = [
            &["--allow-remote"][..],
            &["--tls-cert", "c.pem", "--tls-key", "k.pem", "--redirect-http", "127.0.0.1:80", "--behind-proxy"],
            &["--acme", "a.example", "--acme", "b.example", "--acme-contact", "mailto:ada@example.org"],
            &[
                "--acme",
                "a.example",
                "--acme-root",
                "r.pem",
                "--acme-directory",
                "https://ca.example/",
                "--url",
                "https://a.example",
            ],
        ];
        for options in given {
            let told = Told::try_parse_from(["gleaner"].iter().chain(options)).expect("options");
            let passed_on = told.args.options();
            let again = Told::try_parse_from(["gleaner".to_owned()].into_iter().chain(passed_on.clone()));
            assert_eq!(again.expect("options again").args.options(), passed_on);
            for option in options {
                assert!(passed_on.iter().any(|passed| passed == option), "{option} is missing in {passed_on:?}");
            }
        }
    }
}
