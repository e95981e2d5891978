//! Certificates that a hub asks for itself, from Let's Encrypt's own test authority, which really looks whether the hub has
//! the name.
use crate::authority::Authority;
use crate::place::{PATIENCE, config};
use crate::tls::shown;
use gleaner_core::Params;
use gleaner_hub::{Acme, Config, Hub, Tls};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

const NAME: &str = "hub.gleaner.test";
const PAUSE: Duration = Duration::from_millis(50);

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().expect("it can be killed");
        self.0.wait().expect("it can be waited for");
    }
}

/// An authority, the names that it looks up, and the folder of both.
struct Pebble {
    authority: Authority,
    ports: [u16; 4],
    valid_s: u64,
    dir: tempfile::TempDir,
    _names: Process,
}

/// Ports that are free now. The authority cannot choose its own.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn start(program: &str, args: &[&str], log: &Path) -> Process {
    let log = std::fs::File::create(log).unwrap();
    let mut command = Command::new(program);
    command.args(args).env("PEBBLE_VA_NOSLEEP", "1").env("PEBBLE_WFE_NONCEREJECT", "0");
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    let started = command.spawn();
    Process(started.unwrap_or_else(|error| panic!("{program}: {error}; Debian has it in its package `pebble`")))
}

impl Pebble {
    /// Knows the names, but does not answer yet. Certificates are valid for so many seconds.
    fn new(valid_s: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ports = free_ports();
        let dns = format!("127.0.0.1:{}", ports[2]);
        let free: [u16; 1] = free_ports();
        let management = format!("127.0.0.1:{}", free[0]);
        let flags = ["-dns01", &dns, "-management", &management, "-http01", "", "-https01", "", "-tlsalpn01", ""];
        let names =
            start("pebble-challtestsrv", &[&flags[..], &["-defaultIPv6", ""]].concat(), &dir.path().join("names.log"));
        Self { authority: Authority::new(), ports, valid_s, dir, _names: names }
    }

    fn directory(&self) -> String {
        format!("https://127.0.0.1:{}/dir", self.ports[0])
    }

    /// The port of the hub at which it looks whether the hub has the name.
    fn hub_port(&self) -> u16 {
        self.ports[3]
    }

    fn start(&self) -> Process {
        let files = self.authority.write(self.dir.path());
        let told = serde_json::json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{}", self.ports[0]),
            "managementListenAddress": format!("127.0.0.1:{}", self.ports[1]),
            "certificate": files.certificate,
            "privateKey": files.key,
            "httpPort": 1,
            "tlsPort": self.hub_port(),
            "certificateValidityPeriod": self.valid_s,
        }});
        let path = self.dir.path().join("pebble.json");
        std::fs::write(&path, told.to_string()).unwrap();
        let dns = format!("127.0.0.1:{}", self.ports[2]);
        start("pebble", &["-config", path.to_str().unwrap(), "-dnsserver", &dns], &self.dir.path().join("pebble.log"))
    }

    /// The root of what it vouches for, which is another one each time it starts.
    async fn root(&self) -> String {
        // Whoever was first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let own = reqwest::Certificate::from_pem(self.authority.pem.as_bytes()).unwrap();
        let client = reqwest::Client::builder().tls_certs_only([own]).build().unwrap();
        let url = format!("https://127.0.0.1:{}/roots/0", self.ports[1]);
        let until = Instant::now() + PATIENCE;
        loop {
            match client.get(&url).send().await {
                Ok(answer) => return answer.text().await.unwrap(),
                Err(error) if Instant::now() > until => panic!("the authority does not answer: {error:?}"),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    async fn hub(&self) -> Hub {
        let acme = Acme {
            domains: vec![NAME.to_owned()],
            contact: Some("mailto:ada@gleaner.test".to_owned()),
            directory: self.directory(),
            root: Some(self.dir.path().join("ca.pem")),
        };
        let listen = SocketAddr::from(([127, 0, 0, 1], self.hub_port()));
        let config = config(&self.dir.path().join("hub"), Params::default());
        gleaner_hub::start(Config { listen, tls: Some(Tls::Acme(acme)), ..config }).await.unwrap()
    }
}

/// The certificate that a hub shows, once it is one that satisfies the test.
async fn wait_for_certificate(hub: &Hub, root: &str, is_right: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let until = Instant::now() + 2 * PATIENCE;
    loop {
        let stream = TcpStream::connect(hub.address()).await.unwrap();
        match shown(stream, NAME, root).await {
            Ok(certificate) if is_right(&certificate) => return certificate,
            Ok(_) | Err(_) if Instant::now() < until => sleep(PAUSE).await,
            outcome => panic!("no right certificate is shown: {outcome:?}"),
        }
    }
}

#[tokio::test]
async fn a_hub_gets_a_certificate_and_keeps_it_over_restarts() {
    let pebble = Pebble::new(90 * 24 * 3600);
    pebble.authority.write(pebble.dir.path());
    // The authority is not there yet: the hub asks again.
    let hub = pebble.hub().await;
    assert_eq!(hub.url(), format!("https://{NAME}"));
    let own = format!("{}/api/v1/health", hub.own_url());
    assert!(reqwest::get(&own).await.unwrap().status().is_success(), "it works meanwhile");
    let authority = pebble.start();
    let root = pebble.root().await;
    let first = wait_for_certificate(&hub, &root, |_| true).await;
    hub.stop().await;
    let kept: Vec<_> =
        std::fs::read_dir(pebble.dir.path().join("hub/acme")).unwrap().map(|file| file.unwrap()).collect();
    assert_eq!(kept.len(), 2, "an account and a certificate: {kept:?}");
    for file in kept {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    drop(authority);
    let hub = pebble.hub().await;
    assert_eq!(wait_for_certificate(&hub, &root, |_| true).await, first, "nobody was asked");
}

#[tokio::test]
async fn a_certificate_is_renewed_before_it_ends() {
    let pebble = Pebble::new(15);
    let _authority = pebble.start();
    let root = pebble.root().await;
    let hub = pebble.hub().await;
    let first = wait_for_certificate(&hub, &root, |_| true).await;
    wait_for_certificate(&hub, &root, |now| now != first).await;
}
