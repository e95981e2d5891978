//! A hub in a folder of its own, and a client of its API.
use gleaner_core::Params;
use gleaner_hub::{Config, Extra, Hub};
use gleaner_wire::api::{Health, JobView, Submitted};
use gleaner_wire::{BlobRef, DataRef};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// How long a test waits for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Place {
    pub hub: Option<Hub>,
    pub config: Config,
    pub api: Api,
    dir: tempfile::TempDir,
}

#[derive(Clone)]
pub struct Api {
    pub url: String,
    pub token: String,
    pub client: Client,
}

impl Place {
    pub async fn new() -> Self {
        Self::with(Params::default()).await
    }

    pub async fn with(params: Params) -> Self {
        Self::made(params, false, false, None).await
    }

    /// A hub that believes whom requests say that they come from.
    pub async fn behind_proxy() -> Self {
        Self::made(Params::default(), false, true, None).await
    }

    /// The same with a room beside it.
    pub async fn with_room(extra: Extra) -> Self {
        Self::made(Params::default(), false, true, Some(extra)).await
    }

    /// A hub whose webhooks may lead to this machine.
    pub async fn with_private_webhooks() -> Self {
        Self::made(Params::default(), true, false, None).await
    }

    async fn made(params: Params, webhooks_private: bool, behind_proxy: bool, extra: Option<Extra>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = Config { webhooks_private, behind_proxy, extra, ..config(dir.path(), params) };
        let hub = gleaner_hub::start(config.clone()).await.unwrap();
        let api = Api::of(&hub);
        Self { hub: Some(hub), config, api, dir }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Ends the hub as if it had been killed, and starts it again.
    pub async fn kill_and_start(&mut self) {
        drop(self.hub.take());
        self.start().await;
    }

    /// Stops the hub cleanly, and starts it again.
    pub async fn stop_and_start(&mut self) {
        self.hub.take().unwrap().stop().await;
        self.start().await;
    }

    pub async fn start(&mut self) {
        let hub = gleaner_hub::start(self.config.clone()).await.unwrap();
        self.api = Api::of(&hub);
        self.hub = Some(hub);
    }
}

/// How many chunks the hub in this folder keeps for a dataset, as its own index has it.
pub fn pins(dir: &Path, root: &str) -> u64 {
    let index = rusqlite::Connection::open(dir.join("chunks").join("index.db")).unwrap();
    let query = "SELECT count(*) FROM pin JOIN owner ON owner.number = pin.owner WHERE owner.name = ?1";
    index.query_row(query, [format!("data:{root}")], |row| row.get(0)).unwrap()
}

pub fn config(dir: &Path, params: Params) -> Config {
    Config { params, ..Config::new(dir, "127.0.0.1:0".parse().unwrap()) }
}

impl Api {
    pub fn of(hub: &Hub) -> Self {
        Self::at(&hub.address().to_string(), hub.token_file())
    }

    pub fn at(address: &str, token_file: &Path) -> Self {
        let token = std::fs::read_to_string(token_file).unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { url: format!("http://{address}"), token, client: Client::builder().timeout(PATIENCE).build().unwrap() }
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    pub fn delete(&self, path: &str) -> RequestBuilder {
        self.client.delete(format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    pub fn put(&self, path: &str) -> RequestBuilder {
        self.client.put(format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    /// Stores bytes as a chunk, which a hub cannot tell from the root of a dataset.
    pub async fn store(&self, bytes: &[u8]) -> DataRef {
        let response = self.post("/api/v1/chunks").body(gift(&[bytes])).send().await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
        BlobRef::of(bytes).into()
    }

    /// Sends a job, with a key for repeating it.
    pub async fn send(&self, job: &Value, key: u128) -> Response {
        self.post("/api/v1/jobs").header("idempotency-key", format!("{key:032x}")).json(job).send().await.unwrap()
    }

    /// Submits an array of wasm tasks.
    pub async fn submit_array(&self, tasks: u32, key: u128) -> Submitted {
        let program = self.store(b"a program").await;
        let response = self.send(&array(tasks, &program.to_string()), key).await;
        assert_eq!(response.status(), StatusCode::CREATED, "{}", response.text().await.unwrap());
        response.json().await.unwrap()
    }

    pub async fn job(&self, job: gleaner_wire::JobId) -> JobView {
        self.get(&format!("/api/v1/jobs/{job}")).send().await.unwrap().json().await.unwrap()
    }

    pub async fn health(&self) -> Health {
        self.get("/api/v1/health").send().await.unwrap().json().await.unwrap()
    }

    pub async fn json(&self, path: &str) -> Value {
        let response = self.get(path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    /// Waits until the hub says so about itself.
    pub async fn until(&self, accepting: bool) -> Health {
        let waiting = async {
            loop {
                let health = self.health().await;
                if health.accepting == accepting {
                    return health;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("the hub changes its mind")
    }
}

pub fn array(tasks: u32, program: &str) -> Value {
    json!({ "name": "array", "task": [
        { "name": "element", "runtime": "wasm", "program": program, "each": format!("1..{tasks}") }
    ]})
}

/// Chunks as they are given: each with its length before it, and a zero at the end.
pub fn gift(chunks: &[&[u8]]) -> Vec<u8> {
    let framed = |chunk: &&[u8]| [&(chunk.len() as u32).to_le_bytes()[..], *chunk].concat();
    chunks.iter().flat_map(framed).chain([0; 4]).collect()
}
