//! Certificates that can be used, and those that cannot, with the reason.
use super::certificate::{Certificate, CertificateError, Names};
use super::open as open_tls;
use super::*;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};

const NAMES: Names<'static> = Names { certificate: "cert.pem", key: "key.pem" };

fn pair(from: i32, until: i32) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
    (params.self_signed(&key).expect("a certificate").pem(), key.serialize_pem())
}

fn read(chain: &str, key: &str) -> Result<Certificate, CertificateError> {
    let certificate = Certificate::parse(chain.as_bytes(), key.as_bytes(), &NAMES)?;
    certificate.check_time("cert.pem").map(|()| certificate)
}

#[test]
fn a_certificate_is_renewed_when_a_third_of_its_life_is_left() {
    let (chain, key) = pair(2020, 2100);
    let certificate = read(&chain, &key).expect("a pair");
    let life = std::time::Duration::from_secs(29_220 * 24 * 3600);
    assert_eq!(certificate.left() - certificate.renewal_in(), life / 3);
}

#[test]
fn a_wrong_certificate_is_refused_with_what_is_wrong() {
    let (good, key) = pair(2020, 2100);
    let (other, _) = pair(2020, 2100);
    let (old, old_key) = pair(2000, 2001);
    let (early, early_key) = pair(2098, 2100);
    let damaged = good.replacen("MII", "AAA", 1);
    let cases = [
        ("", key.as_str(), "cert.pem holds no certificate"),
        (key.as_str(), key.as_str(), "cert.pem holds no certificate"),
        (damaged.as_str(), key.as_str(), "cannot be understood"),
        (good.as_str(), "", "key.pem holds no private key"),
        (good.as_str(), good.as_str(), "key.pem holds no private key"),
        (other.as_str(), key.as_str(), "is not the one of the certificate in cert.pem"),
        (old.as_str(), old_key.as_str(), "was valid until Jan  1 00:00:00 2001"),
        (early.as_str(), early_key.as_str(), "is valid from Jan  1 00:00:00 2098"),
    ];
    for (chain, key, why) in cases {
        let error = read(chain, key).expect_err(why).to_string();
        assert!(error.contains(why), "{error}, not: {why}");
    }
}

#[test]
fn names_that_no_authority_vouches_for_are_refused() {
    let open = |domains: &[&str], directory: &str, contact: Option<&str>| {
        let domains = domains.iter().map(|domain| (*domain).to_owned()).collect();
        let (contact, directory) = (contact.map(str::to_owned), directory.to_owned());
        open_tls(&Tls::Acme(Acme { domains, contact, directory, root: None }), Path::new("/none")).map(|_| ())
    };
    for domain in
        ["", "localhost", "192.0.2.1", "https://hub.example", "*.hub.example", "hub.example:443", "hub..example"]
    {
        assert!(matches!(open(&[domain], DIRECTORY, None), Err(TlsError::Acme(_))), "{domain}");
    }
    assert!(matches!(open(&[], DIRECTORY, None), Err(TlsError::Acme(_))));
    assert!(matches!(open(&["hub.example"], "http://ca.example", None), Err(TlsError::Acme(_))));
    assert!(matches!(open(&["hub.example"], DIRECTORY, Some("ada@hub.example")), Err(TlsError::Acme(_))));
    assert!(open(&["hub.example", "www.hub.example"], DIRECTORY, Some("mailto:ada@hub.example")).is_ok());
}

#[test]
fn a_tool_between_two_files_changes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("it can be written");
    let (old, new) = (pair(2020, 2100), pair(2020, 2100));
    write(&certificate, &old.0);
    write(&key, &old.1);
    let shown = Arc::new(Shown::default());
    let watch = files::Watch::open(certificate.clone(), key.clone(), Arc::clone(&shown)).expect("a pair");
    let first = shown.current().expect("it is shown");
    write(&certificate, &new.0);
    let watch = watch.look();
    assert!(Arc::ptr_eq(&first, &shown.current().expect("it is shown")), "the new one has no key yet");
    std::fs::remove_file(&key).expect("it is there");
    let watch = watch.look();
    assert!(Arc::ptr_eq(&first, &shown.current().expect("it is shown")), "there is no key at all");
    write(&key, &new.1);
    watch.look();
    assert!(!Arc::ptr_eq(&first, &shown.current().expect("it is shown")), "now it has");
}
