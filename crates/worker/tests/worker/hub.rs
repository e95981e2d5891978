//! A hub that does what a test says: the real protocol over a real socket, and a blob store in memory.
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gleaner_wire::{
    AttemptId, BlobRef, Hash, JobId, Millis, Output, PROTOCOL, StartAttempt, TaskSpec, ToHub, ToWorker, WorkerId,
    decode, encode,
};
use gleaner_worker::{Config, Error, Report, run};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything in these tests takes.
const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "for this test";

#[derive(Clone)]
struct Store {
    blobs: Arc<Mutex<HashMap<Hash, Bytes>>>,
    outputs: Arc<Mutex<Vec<Output>>>,
    sockets: mpsc::Sender<WebSocket>,
}

/// The hub.
pub struct Hub {
    pub url: String,
    store: Store,
    sockets: mpsc::Receiver<WebSocket>,
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

async fn blob(State(store): State<Store>, UrlPath(id): UrlPath<String>, headers: HeaderMap) -> Response {
    let Ok(id) = id.parse::<Hash>() else { return StatusCode::BAD_REQUEST.into_response() };
    if !allowed(&headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let found = store.blobs.lock().expect("no panic").get(&id).cloned();
    found.map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response)
}

async fn put(State(store): State<Store>, UrlPath(id): UrlPath<String>, headers: HeaderMap, body: Bytes) -> StatusCode {
    if !allowed(&headers) || id.parse() != Ok(Hash::of(&body)) {
        return StatusCode::BAD_REQUEST;
    }
    store.blobs.lock().expect("no panic").insert(Hash::of(&body), body);
    StatusCode::CREATED
}

impl Hub {
    pub async fn start() -> Self {
        let (send, sockets) = mpsc::channel(4);
        let store = Store { blobs: Arc::default(), outputs: Arc::default(), sockets: send };
        let connect = |State(store): State<Store>, upgrade: WebSocketUpgrade| async move {
            upgrade.on_upgrade(move |socket| async move { drop(store.sockets.send(socket).await) })
        };
        let outputs = |State(store): State<Store>| async move { encode(&*store.outputs.lock().expect("no panic")) };
        let routes = Router::new()
            .route("/worker/v1", get(connect))
            .route("/api/v1/blobs/{id}", get(blob).put(put))
            .route("/api/v1/jobs/{job}/outputs/{group}", get(outputs))
            .with_state(store.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, store, sockets }
    }

    /// Puts a blob into the store.
    pub fn keep(&self, bytes: &[u8]) -> BlobRef {
        self.store.blobs.lock().expect("no panic").insert(Hash::of(bytes), Bytes::copy_from_slice(bytes));
        BlobRef::of(bytes)
    }

    pub fn blob(&self, blob: BlobRef) -> Option<Bytes> {
        self.store.blobs.lock().expect("no panic").get(&blob.id).cloned()
    }

    pub fn set_outputs(&self, outputs: Vec<Output>) {
        *self.store.outputs.lock().expect("no panic") = outputs;
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
        let ToHub::Hello { held, .. } = connection.next().await else { panic!("a hello comes first") };
        connection.held = held;
        let token = TOKEN.to_owned();
        connection.send(&ToWorker::Welcome { worker: WorkerId(1), heartbeat_ms: Millis(50), token }).await;
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
                    ToHub::Heartbeat { .. } => {}
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
    }
}

impl Worker {
    pub fn start(hub: &Hub, dir: &Path) -> Self {
        Self::start_with(hub, dir, |_| {})
    }

    pub fn start_with(hub: &Hub, dir: &Path, report: impl Fn(Report) + Send + Sync + 'static) -> Self {
        let config = Config {
            hub: hub.url.clone(),
            dir: dir.to_path_buf(),
            name: "test".to_owned(),
            region: "here".to_owned(),
            provider: None,
            price_per_second: gleaner_wire::Amount(1),
            cpu_slots: 2,
            gpu: false,
            child: env!("CARGO_BIN_EXE_gleaner-worker-child").into(),
            adapter: None,
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
