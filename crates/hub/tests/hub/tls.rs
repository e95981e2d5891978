//! Encrypted hubs: who believes them, what they show, and what strangers cannot do at the door.
use crate::authority::{Authority, Files};
use crate::place::{PATIENCE, config};
use gleaner_core::Params;
use gleaner_hub::{Config, Error, Hub, Site, Tls};
use reqwest::{Certificate, Client, StatusCode, header};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

pub struct Encrypted {
    pub hub: Hub,
    authority: Authority,
    files: Files,
    _dir: tempfile::TempDir,
}

fn encrypted_config(dir: &Path, files: &Files) -> Config {
    let tls = Tls::Files { certificate: files.certificate.clone(), key: files.key.clone() };
    Config { tls: Some(tls), ..config(&dir.join("hub"), Params::default()) }
}

impl Encrypted {
    async fn start() -> Self {
        Self::with(|config| config).await
    }

    async fn with(told: impl FnOnce(Config) -> Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let files = authority.write(dir.path());
        let hub = gleaner_hub::start(told(encrypted_config(dir.path(), &files))).await.unwrap();
        Self { hub, authority, files, _dir: dir }
    }

    fn client(&self) -> Client {
        let root = Certificate::from_pem(self.authority.pem.as_bytes()).unwrap();
        let redirect = reqwest::redirect::Policy::none();
        Client::builder().tls_certs_only([root]).redirect(redirect).timeout(PATIENCE).build().unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.hub.address())
    }
}

/// The first certificate that is shown.
pub async fn shown(stream: TcpStream, name: &str, root: &str) -> Result<Vec<u8>, std::io::Error> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector.connect(ServerName::try_from(name.to_owned()).unwrap(), stream).await?;
    Ok(stream.get_ref().1.peer_certificates().unwrap()[0].to_vec())
}

fn der(pem: &str) -> Vec<u8> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

#[tokio::test]
async fn an_encrypted_hub_tells_when_its_certificate_ends() {
    let place = Encrypted::start().await;
    let metrics = place.client().get(place.url("/metrics")).send().await.unwrap().text().await.unwrap();
    let told = metrics.lines().find_map(|line| line.strip_prefix("gleaner_tls_certificate_expires_seconds "));
    let pem = std::fs::read_to_string(&place.files.certificate).unwrap();
    let der = der(&pem);
    let (_, certificate) = x509_parser::parse_x509_certificate(&der).unwrap();
    assert_eq!(told.unwrap(), certificate.validity().not_after.timestamp().to_string());
}

#[tokio::test]
async fn an_encrypted_hub_keeps_browsers_and_their_cookies_to_encryption() {
    let place = Encrypted::start().await;
    assert_eq!(place.hub.url(), format!("https://{}", place.hub.address()));
    let health = place.client().get(place.url("/api/v1/health")).send().await.unwrap();
    assert_eq!(health.status(), StatusCode::OK);
    assert_eq!(health.headers()[header::STRICT_TRANSPORT_SECURITY], "max-age=31536000");
    let person = json!({ "name": "ada", "passphrase": "long enough for everybody", "roles": ["requester"] });
    let origin = place.url("");
    let signed_up = place.client().post(place.url("/api/v1/accounts")).header("origin", origin).json(&person);
    let signed_up = signed_up.send().await.unwrap();
    assert_eq!(signed_up.status(), StatusCode::CREATED, "{}", signed_up.text().await.unwrap());
    let cookie = signed_up.headers()[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.starts_with("__Host-gleaner=") && cookie.ends_with("; Secure"), "{cookie}");
}

#[tokio::test]
async fn programs_on_its_machine_need_no_certificate() {
    let place = Encrypted::start().await;
    let own = place.hub.own_url();
    assert!(own.starts_with("http://127.0.0.1:"), "{own}");
    let health = place.client().get(format!("{own}/api/v1/health")).send().await.unwrap();
    assert_eq!(health.status(), StatusCode::OK);
}

#[tokio::test]
async fn plain_http_at_the_encrypted_port_is_told_what_to_write() {
    let place = Encrypted::start().await;
    let mut stream = TcpStream::connect(place.hub.address()).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: hub\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("https://"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let problem: gleaner_wire::api::Problem = serde_json::from_str(body).unwrap();
    assert_eq!((problem.status, problem.code.as_str()), (400, "encrypted-only"));
    let rubbish = place.client().get(format!("http://{}/", place.hub.address())).send().await.unwrap();
    assert_eq!(rubbish.status(), StatusCode::BAD_REQUEST, "reqwest understands it too");
}

#[tokio::test]
async fn the_plain_port_beside_it_sends_pages_on_and_nothing_else() {
    let site = Site::parse("https://hub.example").unwrap();
    // The port is not known before, and a hub does not tell it: nobody but people use it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let told = |config| Config { redirect_http: Some(free), url: Some(site), ..config };
    let place = Encrypted::with(told).await;
    let plain = |path: &str| format!("http://{free}{path}");
    let page = place.client().get(plain("/jobs/7?tab=logs")).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::PERMANENT_REDIRECT);
    assert_eq!(page.headers()[header::LOCATION], "https://hub.example/jobs/7?tab=logs");
    let order = place.client().post(plain("/api/v1/jobs")).body("secret").send().await.unwrap();
    assert_eq!(order.status(), StatusCode::BAD_REQUEST);
    assert!(order.headers().get(header::LOCATION).is_none());
}

#[tokio::test]
async fn a_certificate_that_is_replaced_is_shown_without_a_restart() {
    let place = Encrypted::start().await;
    let look = async || {
        let stream = TcpStream::connect(place.hub.address()).await.unwrap();
        shown(stream, "localhost", &place.authority.pem).await.unwrap()
    };
    let renewed = place.authority.vouch(&["localhost"]);
    assert_ne!(look().await, der(&renewed.0));
    place.files.replace(&renewed);
    let until = tokio::time::Instant::now() + PATIENCE;
    while look().await != der(&renewed.0) {
        assert!(tokio::time::Instant::now() < until, "the new certificate is never shown");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_pair_that_does_not_fit_keeps_the_hub_from_starting() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let files = authority.write(dir.path());
    let (other, _) = authority.vouch(&["localhost"]);
    std::fs::write(&files.certificate, other).unwrap();
    let refused = gleaner_hub::start(encrypted_config(dir.path(), &files)).await.err();
    let Some(Error::Tls(error)) = refused else { panic!("it starts: {refused:?}") };
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("key.pem is not the one of the certificate"), "{why}");
}

#[tokio::test]
async fn other_machines_are_listened_to_if_they_are_encrypted() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let place = Encrypted::with(|config| Config { listen: everywhere, ..config }).await;
    let url = format!("https://localhost:{}/api/v1/health", place.hub.address().port());
    assert_eq!(place.client().get(url).send().await.unwrap().status(), StatusCode::OK);
}

/// A connection to the hub from one of this machine's own addresses.
async fn from(own: &str, hub: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{own}:0").parse().unwrap()).unwrap();
    socket.connect(hub).await.unwrap()
}

#[tokio::test]
async fn who_dawdles_at_the_door_is_put_out_and_keeps_nobody_else_waiting() {
    let place = Encrypted::start().await;
    let mut dawdlers = Vec::new();
    for _ in 0..600 {
        let mut stream = from("127.0.0.9", place.hub.address()).await;
        stream.write_all(&[22]).await.unwrap();
        dawdlers.push(stream);
    }
    // Which line an address stands in is chance. Three of them do not all stand in the dawdlers'.
    let visits = ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map(|own| {
        let (hub, root) = (place.hub.address(), place.authority.pem.clone());
        Box::pin(async move { shown(from(own, hub).await, "localhost", &root).await })
    });
    let mut last = dawdlers.pop().unwrap();
    let mut byte = [0];
    tokio::select! {
        visited = futures_util::future::select_ok(visits) => drop(visited.unwrap()),
        _ = last.read(&mut byte) => panic!("visitors waited until the dawdlers were put out"),
    }
    for mut dawdler in dawdlers {
        let mut rest = Vec::new();
        // Closed with or without a last word; that it is closed is what matters.
        let _ = timeout(PATIENCE, dawdler.read_to_end(&mut rest)).await.expect("it is put out");
    }
}
