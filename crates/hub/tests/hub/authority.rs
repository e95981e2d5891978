//! A certificate authority of a test, and what it vouches for.
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::path::{Path, PathBuf};

/// An authority with a key of its own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub pem: String,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "An authority of a test");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for these names, and its key.
    pub fn vouch(&self, names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).expect("names");
        (params.signed_by(&key, &self.issuer).expect("a certificate").pem(), key.serialize_pem())
    }

    /// Writes a certificate for this machine and its key, as `cert.pem` and `key.pem`, and the authority's own as `ca.pem`.
    pub fn write(&self, dir: &Path) -> Files {
        let files =
            Files { certificate: dir.join("cert.pem"), key: dir.join("key.pem"), authority: dir.join("ca.pem") };
        files.replace(&self.vouch(&["localhost", "127.0.0.1"]));
        std::fs::write(&files.authority, &self.pem).expect("it can be written");
        files
    }
}

/// Where they are.
#[derive(Clone)]
pub struct Files {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub authority: PathBuf,
}

impl Files {
    /// Puts another pair there, as a tool that renews does.
    pub fn replace(&self, pair: &(String, String)) {
        for (path, text) in [(&self.certificate, &pair.0), (&self.key, &pair.1)] {
            let beside = path.with_extension("new");
            std::fs::write(&beside, text).expect("it can be written");
            std::fs::rename(&beside, path).expect("it can be replaced");
        }
    }
}
