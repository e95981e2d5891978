//! A hub that does what a test says: the real protocol over a real socket, and a real store of sealed chunks.
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use ed25519_dalek::SigningKey;
use gleaner_client::HubAddress;
use gleaner_data::manifest::Root;
use gleaner_data::net::{Right, http};
use gleaner_data::seal::{AccountSecret, DatasetKey, Keys, TaskKeys};
use gleaner_data::store::{Chunk, Store, Verify};
use gleaner_data::tree::Case;
use gleaner_data::{PortError, Sink, Source, parcel, unpack};
use gleaner_wire::api::KeysView;
use gleaner_wire::{
    AttemptId, BlobRef, DataRef, Hash, JobId, Millis, Output, PROTOCOL, StartAttempt, TaskSpec, ToHub, ToWorker,
    WorkerId, WorkerKey, decode, encode,
};
use gleaner_worker::machine::Preferences;
use gleaner_worker::machine::preferences::{Unknown, YieldToInput};
use gleaner_worker::{Config, Error, Report, run};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything in these tests takes.
const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "for this test";

#[derive(Clone)]
struct Shared {
    store: Arc<Store>,
    outputs: Arc<Mutex<Vec<Output>>>,
    sockets: mpsc::Sender<WebSocket>,
    worker: Arc<Mutex<Option<WorkerKey>>>,
    /// The keys of the task, once it is known.
    keys: Arc<Mutex<TaskKeys>>,
}

/// The requester's secret; what tasks deliver is sealed with another one.
fn secret() -> AccountSecret {
    AccountSecret::from_bytes([3; 32])
}

/// What outputs are sealed with.
pub fn output_keys() -> Keys {
    secret().derive(b"output").keys()
}

/// What outputs of other tasks are sealed with.
pub fn other_keys() -> Keys {
    secret().derive(b"other").keys()
}

/// Lets in whoever has the token.
struct Door;

impl http::Door for Door {
    fn admits(&self, headers: &HeaderMap, _: Right) -> Result<http::Admitted, http::Refusal> {
        if allowed(headers) { Ok(http::Admitted::default()) } else { Err(http::Refusal::Unknown) }
    }
}

/// A store as `pack` and `unpack` want it.
struct Port<'a>(&'a Store);

impl Sink for Port<'_> {
    fn put(&self, _: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        self.0.put(vec![Chunk::of(sealed)])?;
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        Ok(())
    }
}

impl Source for Port<'_> {
    fn chunk(&self, blob: BlobRef) -> Result<Vec<u8>, PortError> {
        Ok(self.0.get(&blob.id, Verify::Here)?.ok_or("it is not there")?.to_vec())
    }
}

/// The hub.
pub struct Hub {
    pub url: String,
    shared: Shared,
    sockets: mpsc::Receiver<WebSocket>,
    _folder: tempfile::TempDir,
}

/// A worker's connection.
pub struct Connection {
    socket: WebSocket,
    pub held: Vec<AttemptId>,
}

/// A worker under test.
pub struct Worker {
    stop: watch::Sender<bool>,
    ended: JoinHandle<Result<(), Error>>,
}

fn allowed(headers: &HeaderMap) -> bool {
    headers.get("authorization").is_some_and(|value| value.as_bytes() == format!("Bearer {TOKEN}").as_bytes())
}

async fn keys_of(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if !allowed(&headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let worker = shared.worker.lock().expect("no panic").expect("it has said hello");
    let owner = SigningKey::from_bytes(&[4; 32]);
    let signed = shared.keys.lock().expect("no panic").clone().sign(5, 0, &owner);
    let wrapped = signed.wrap(5, 0, worker).expect("wrapped");
    let keys = vec!["00".repeat(200), wrapped.iter().map(|byte| format!("{byte:02x}")).collect()];
    let owner = WorkerKey(owner.verifying_key().to_bytes());
    Json(KeysView { submission: format!("{:032x}", 5), owner, keys, attended: true }).into_response()
}

/// Only what is there can be kept.
async fn register(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let ids: Vec<Hash> = body.chunks_exact(32).map(|id| Hash(id.try_into().expect("32 bytes"))).collect();
    let held = shared.store.has_many(&ids).expect("asked").count();
    if allowed(&headers) && held == ids.len() { StatusCode::CREATED } else { StatusCode::CONFLICT }
}

impl Hub {
    pub async fn start() -> Self {
        let (send, sockets) = mpsc::channel(4);
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(Store::open(folder.path(), 1 << 30).expect("opens"));
        let output = *secret().derive(b"output").expose();
        let keys = TaskKeys { program: [0; 32], output, inputs: Vec::new() };
        let shared = Shared {
            store: Arc::clone(&store),
            outputs: Arc::default(),
            sockets: send,
            worker: Arc::default(),
            keys: Arc::new(Mutex::new(keys)),
        };
        let connect = |State(shared): State<Shared>, upgrade: WebSocketUpgrade| async move {
            upgrade.on_upgrade(move |socket| async move { drop(shared.sockets.send(socket).await) })
        };
        let outputs = |State(shared): State<Shared>| async move { encode(&*shared.outputs.lock().expect("no panic")) };
        let routes = Router::new()
            .route("/worker/v1", get(connect))
            .route("/api/v1/jobs/{job}/outputs/{group}", get(outputs))
            .route("/api/v1/jobs/{job}/keys/{group}", get(keys_of))
            .route("/api/v1/datasets/{root}", put(register))
            .with_state(shared.clone())
            .nest("/api/v1", http::router(store, Arc::new(Door)));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, shared, sockets, _folder: folder }
    }

    /// Keeps a program: a dataset of one file. The task's keys open it.
    pub fn keep(&self, bytes: &[u8]) -> DataRef {
        let (data, key) = self.seal(&secret().keys(), bytes);
        self.shared.keys.lock().expect("no panic").program = *key.expose();
        data
    }

    /// Keeps an output of another task.
    pub fn keep_output(&self, bytes: &[u8]) -> BlobRef {
        self.shared.keys.lock().expect("no panic").inputs = vec![*secret().derive(b"other").expose()];
        self.seal(&other_keys(), bytes).0.root
    }

    /// Keeps the program of a check, which is the only input of the task.
    pub fn keep_checker(&self, bytes: &[u8]) -> DataRef {
        let (data, key) = self.seal(&secret().keys(), bytes);
        self.shared.keys.lock().expect("no panic").inputs = vec![*key.expose()];
        data
    }

    /// Keeps a result of the task itself.
    pub fn keep_result(&self, bytes: &[u8]) -> Output {
        Output::File(self.seal(&output_keys(), bytes).0.root)
    }

    fn seal(&self, keys: &Keys, bytes: &[u8]) -> (DataRef, DatasetKey) {
        let file = parcel::File { path: parcel::ONLY_FILE.to_owned(), bytes: bytes.len() as u64, content: bytes };
        let packed = parcel::pack(keys, vec![file], &Port(&self.shared.store)).expect("packed");
        (DataRef { root: packed.sealed.blob, bytes: packed.sealed_bytes }, packed.sealed.key)
    }

    /// What the worker delivered, opened with the keys that it was to be sealed with.
    pub fn opened(&self, output: Output) -> Vec<u8> {
        let keys = output_keys();
        match output {
            Output::Inline { .. } => {
                keys.open_short(0, output.content().unwrap_or_default()).expect("sealed with the task's keys")
            }
            Output::File(root) | Output::Files(root) => {
                let sealed = Port(&self.shared.store).chunk(root).expect("the root was stored");
                let key = keys.dataset_key(&sealed).expect("has a mark");
                let root = Root::open(&key, sealed).expect("sealed with the task's keys");
                let folder = tempfile::tempdir().expect("a folder");
                let options = unpack::Options { threads: 1, case: Case::Unknown, bytes_max: u64::MAX };
                let progress = unpack::Progress::default();
                unpack(&root, &Port(&self.shared.store), folder.path(), options, &progress).expect("all is there");
                std::fs::read(folder.path().join(parcel::ONLY_FILE)).expect("one file")
            }
        }
    }

    pub fn set_outputs(&self, outputs: Vec<Output>) {
        *self.shared.outputs.lock().expect("no panic") = outputs;
    }

    /// The next connection, before its handshake.
    pub async fn knock(&mut self) -> Connection {
        let socket = timeout(PATIENCE, self.sockets.recv()).await.expect("a worker comes").expect("the hub runs");
        Connection { socket, held: Vec::new() }
    }

    /// The next connection, welcomed.
    pub async fn welcome(&mut self) -> Connection {
        let mut connection = self.knock().await;
        connection.send(&ToWorker::Challenge { protocol: PROTOCOL, nonce: [7; 32] }).await;
        let ToHub::Hello { held, key, .. } = connection.next().await else { panic!("a hello comes first") };
        *self.shared.worker.lock().expect("no panic") = Some(key);
        connection.held = held;
        let (token, hub) = (TOKEN.to_owned(), WorkerKey([7; 32]));
        // A worker leaves a hub that is silent for four of them, and a test is while it computes on a busy machine.
        let heartbeat_ms = Millis(250);
        connection.send(&ToWorker::Welcome { worker: WorkerId(1), heartbeat_ms, token, hub }).await;
        connection
    }
}

impl Connection {
    pub async fn send(&mut self, message: &ToWorker) {
        self.send_bytes(encode(message)).await;
    }

    pub async fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.socket.send(Message::Binary(bytes.into())).await.expect("the worker listens");
    }

    /// The next message that is not a heartbeat.
    pub async fn next(&mut self) -> ToHub {
        let next = async {
            loop {
                match self.next_or_end().await.expect("the worker is there") {
                    ToHub::Heartbeat { .. }
                    | ToHub::Holds(_)
                    | ToHub::Resting(_)
                    | ToHub::Prices(_)
                    | ToHub::Machine(_) => {}
                    message => return message,
                }
            }
        };
        timeout(PATIENCE, next).await.expect("the worker says more than that it is alive")
    }

    /// The next heartbeat.
    pub async fn heartbeat(&mut self) -> Vec<AttemptId> {
        loop {
            if let ToHub::Heartbeat { held } = self.next_or_end().await.expect("the worker is there") {
                return held;
            }
        }
    }

    /// The next message, or `None` where the worker ends the connection.
    pub async fn next_or_end(&mut self) -> Option<ToHub> {
        loop {
            match timeout(PATIENCE, self.socket.recv()).await.expect("the worker says something") {
                Some(Ok(Message::Binary(bytes))) => return Some(decode(&bytes).expect("a message")),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Text(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            }
        }
    }

    pub async fn spec(&mut self, spec: &TaskSpec) {
        self.send(&ToWorker::Spec { job: JobId(1), group: 0, spec: spec.clone() }).await;
    }

    pub async fn start(&mut self, attempts: &[u64]) {
        let starts = attempts.iter().map(|attempt| start(*attempt));
        self.send(&ToWorker::Start(starts.collect())).await;
    }
}

pub fn start(attempt: u64) -> StartAttempt {
    let (job, group, index, device) = (JobId(1), 0, 0, 0);
    StartAttempt {
        attempt: AttemptId(attempt),
        job,
        group,
        index,
        device,
        time_ms: Millis(60_000),
        outputs: Vec::new(),
        checkpoint: None,
        compare: None,
    }
}

/// What the owner of a machine says at which nobody sits.
fn nobodys() -> Preferences {
    let mut preferences = Preferences::default();
    preferences.idle.unknown = Unknown::Share;
    preferences.idle.input = YieldToInput::Never;
    preferences
}

impl Worker {
    pub fn start(hub: &Hub, dir: &Path) -> Self {
        Self::start_with(hub, dir, |_| {})
    }

    pub fn start_with(hub: &Hub, dir: &Path, report: impl Fn(Report) + Send + Sync + 'static) -> Self {
        let config = Config {
            hub: HubAddress::parse(&hub.url, None).expect("an address"),
            dir: dir.to_path_buf(),
            name: "test".to_owned(),
            region: "here".to_owned(),
            provider: None,
            account_token: None,
            market: Vec::new(),
            cpu_slots: 2,
            gpu: false,
            child: env!("CARGO_BIN_EXE_gleaner-worker-child").into(),
            adapter: None,
            containers: false,
            blender: false,
            network: None,
            gvisor: false,
            blender_program: None,
            together: false,
            preferences: nobodys(),
            lie: None,
            traces: None,
        };
        let (stop, stopped) = watch::channel(false);
        Self { stop, ended: tokio::spawn(run(config, stopped, report)) }
    }

    pub fn tell_to_stop(&self) {
        self.stop.send_replace(true);
    }

    pub async fn end(self) -> Result<(), Error> {
        timeout(PATIENCE, self.ended).await.expect("it ends").expect("it does not panic")
    }
}
