//! A hub with a desk beside it, and people who ask.
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use gleaner_chain::genesis::Genesis;
use gleaner_client::Token;
use gleaner_client::registry::Reach;
use gleaner_desk::{Config, Desk, Limits, document, router, routes};
use gleaner_hub::money::ChainConfig;
use gleaner_hub::{Description, Extra, Hub, Need, Routes};
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::liar::Liar;

/// A test that waits longer than this for something has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

pub struct Place {
    pub folder: tempfile::TempDir,
    hub: Option<Hub>,
    limits: Limits,
    registries: Reach,
    chain: bool,
    /// Numbers of the economy that differ from those of a hub on one machine.
    numbers: &'static [(&'static str, u64)],
    /// What stands between the desk and the hub, if anything does.
    liar: Option<Liar>,
    pub http: reqwest::Client,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, body: response.bytes().await.expect("a body").to_vec() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?} is JSON: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The word by which programs know a refusal.
    #[track_caller]
    pub fn refused(&self, status: u16, kind: &str) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.json()["type"], kind, "{}", self.text());
        self.json()["detail"].as_str().expect("a reason").to_owned()
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert!(self.status.is_success(), "{} {}", self.status, self.text());
        self
    }
}

impl Place {
    /// A hub whose money is in its own books.
    pub async fn new() -> Self {
        Self::with(Limits::default(), false).await
    }

    /// A hub with a chain inside.
    pub async fn with_chain() -> Self {
        Self::with(Limits::default(), true).await
    }

    /// A hub with a chain inside, and with other numbers in its genesis.
    pub async fn with_numbers(numbers: &'static [(&'static str, u64)]) -> Self {
        Self { numbers, ..Self::founded(Limits::default(), true) }.started().await
    }

    pub async fn with(limits: Limits, chain: bool) -> Self {
        Self::founded(limits, chain).started().await
    }

    /// A hub whose desk asks registries on this machine too.
    pub async fn with_private_registries() -> Self {
        Self { registries: Reach::Anywhere, ..Self::founded(Limits::default(), false) }.started().await
    }

    /// A hub with a chain inside, whose desk hears of it through somebody else.
    pub async fn behind(liar: Liar, numbers: &'static [(&'static str, u64)]) -> Self {
        Self { liar: Some(liar), numbers, ..Self::founded(Limits::default(), true) }.started().await
    }

    async fn started(mut self) -> Self {
        self.start().await;
        self
    }

    fn founded(limits: Limits, chain: bool) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        let folder = tempfile::tempdir().expect("a folder");
        let registries = Reach::Only(gleaner_hub::is_public);
        Self { folder, hub: None, limits, registries, chain, numbers: &[], liar: None, http }
    }

    async fn start(&mut self) {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (limits, registries, liar) = (self.limits, self.registries, self.liar.clone());
        let extra = Extra::new(move |place| {
            let dir = place.dir.join("desk");
            let token = Token::read(&place.token_file)?;
            let hub = liar.as_ref().map_or_else(|| place.url.clone(), |liar| liar.stand_before(&place.url));
            let router = router(Desk::open(Config { dir, hub, token, limits, registries })?);
            Ok(Routes { router, description: description() })
        });
        let mut genesis = Genesis::preset("hub").and_then(|genesis| genesis.with_timings("local")).expect("a genesis");
        for (name, value) in self.numbers {
            genesis.put(name, *value).expect("a number of the genesis");
        }
        let chain = match self.chain {
            true => ChainConfig::Embedded { rpc: listen, genesis: Box::new(genesis) },
            false => ChainConfig::None,
        };
        let dir = self.folder.path().join("hub");
        let config = gleaner_hub::Config { chain, extra: Some(extra), ..gleaner_hub::Config::new(dir, listen) };
        self.hub = Some(gleaner_hub::start(config).await.expect("a hub"));
    }

    /// Ends hub and desk, and starts them again.
    pub async fn restart(&mut self) {
        self.hub.take().expect("it runs").stop().await;
        self.start().await;
    }

    fn hub(&self) -> &Hub {
        self.hub.as_ref().expect("it runs")
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.hub().address())
    }

    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }

    pub fn token(&self) -> String {
        std::fs::read_to_string(self.hub().token_file()).expect("there").trim().to_owned()
    }

    /// Somebody with an account.
    pub fn as_person<'a>(&'a self, name: &'a str) -> Person<'a> {
        Person { place: self, name }
    }

    /// Where the desk keeps somebody's files.
    pub fn files_of(&self, tree: &str) -> PathBuf {
        let all = self.folder.path().join("hub/desk/files");
        let mut found = std::fs::read_dir(all).expect("there").map(|entry| entry.expect("read").path().join(tree));
        found.find(|path| path.exists()).expect("uploaded")
    }
}

pub struct Person<'a> {
    place: &'a Place,
    name: &'a str,
}

impl Person<'_> {
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.place.http.request(method, format!("{}/api/v1{path}", self.place.url()));
        request.bearer_auth(self.place.token()).header("gleaner-requester", self.name)
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        Answer::of(request.send().await.expect("answered")).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    pub async fn put(&self, path: &str, content: impl Into<Vec<u8>>) -> Answer {
        self.send(self.request(Method::PUT, path).body(content.into())).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    pub async fn post_with_key(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path).header("idempotency-key", key).json(body)).await
    }

    /// Submits a job.
    pub async fn submit(&self, key: &str, job: &str, folder: Option<&str>) -> Answer {
        self.post_with_key("/desk/jobs", key, &json!({ "job": job, "folder": folder })).await
    }

    /// Waits until what a path answers is what it should be.
    pub async fn wait_for(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let waiting = async {
            loop {
                let found = self.get(path).await.ok().json();
                if is_wanted(&found) {
                    return found;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("it comes to that")
    }

    /// Waits until the invoice of a job is what it should be.
    pub async fn wait_for_invoice(&self, job: u64, is_wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(&format!("/desk/jobs/{job}/invoice"), is_wanted).await
    }
}

/// A program that nobody runs here.
pub const PROGRAM: &[u8] = b"\0asm\x01\0\0\0";

/// A job of one task with that program.
pub const JOB: &str = "name = \"x\"\n[[task]]\nname = \"a\"\nruntime = \"wasm\"\nprogram = \"program.wasm\"\n";

/// What the hub's guard is to ask of callers of the desk's routes.
fn description() -> Description {
    let need = |need| match need {
        gleaner_desk::Need::Nothing => Need::Nothing,
        gleaner_desk::Need::Read => Need::Read,
        gleaner_desk::Need::Submit => Need::Submit,
        gleaner_desk::Need::Spend => Need::Spend,
        gleaner_desk::Need::Order => Need::Order,
    };
    let needs = routes().into_iter().map(|route| (route.method, route.path, need(route.need))).collect();
    Description { needs, document: document() }
}
