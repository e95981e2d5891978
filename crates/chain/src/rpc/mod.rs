//! JSON-RPC for the embedded chain, so that wallets and libraries work with it as with any node.
//!
//! It listens on loopback only. It holds no keys: what changes the chain is signed elsewhere. Pages in a browser may
//! ask it from anywhere, but only under a loopback name, so that no other name can be pointed at it.
mod filters;
mod methods;
mod protocol;
mod shape;
mod subscribe;

use crate::embedded::{Chain, TRANSACTION_BYTES_MAX};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State, WebSocketUpgrade};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use methods::Methods;
use protocol::{Call, Incoming};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The largest body that is read: some thirty of the largest transactions at once.
const BODY_BYTES_MAX: usize = 64 * TRANSACTION_BYTES_MAX;

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It would be open to others.
    #[error("{0} is not on loopback: the chain's JSON-RPC is for this machine only")]
    NotLoopback(SocketAddr),
    /// The address cannot be used.
    #[error("the chain's JSON-RPC cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// A running server; it ends when this is dropped or stopped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves a chain. Port 0 takes any that is free.
    pub async fn start(chain: Chain, address: SocketAddr) -> Result<Self, Error> {
        if !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        let listen = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = axum::serve(listener, router(chain));
        let task = tokio::spawn(async move {
            tokio::select! {
                _ = serve => {}
                _ = stopped => {}
            }
        });
        Ok(Self { address, stop: Some(stop), task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends it and waits until the port is free.
    pub async fn stop(mut self) {
        self.stop = None;
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn router(chain: Chain) -> Router {
    Router::new()
        .route("/", post(answer).get(upgrade).options(|| async { StatusCode::NO_CONTENT }))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(guard))
        .with_state(Arc::new(Methods::new(chain)))
}

/// Lets in only who asks for this machine by a loopback name, and tells browsers that pages may ask.
async fn guard(request: Request, next: Next) -> Response {
    if !names_loopback(request.headers()) {
        return (StatusCode::FORBIDDEN, "ask for localhost or 127.0.0.1").into_response();
    }
    let preflight = request.method() == Method::OPTIONS;
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    if preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, OPTIONS"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        let private = HeaderName::from_static("access-control-allow-private-network");
        headers.insert(private, HeaderValue::from_static("true"));
    }
    response
}

fn names_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn answer(State(methods): State<Arc<Methods>>, body: Bytes) -> Response {
    let answer = reply(&methods, &body).await;
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

async fn reply(methods: &Methods, body: &[u8]) -> Value {
    match Incoming::read(body) {
        Err(refusal) => refusal,
        Ok(Incoming::One(call)) => run(methods, call).await,
        Ok(Incoming::Many(calls)) => {
            // All at once, so that transactions of one batch can share a block and find each other out of order.
            Value::Array(futures_util::future::join_all(calls.into_iter().map(|call| run(methods, call))).await)
        }
    }
}

async fn run(methods: &Methods, call: Result<Call, Value>) -> Value {
    match call {
        Err(refusal) => refusal,
        Ok(call) => {
            let (id, method, params) = call.into_parts();
            Call::answer(&id, methods.call(&method, &params).await)
        }
    }
}

async fn upgrade(State(methods): State<Arc<Methods>>, socket: WebSocketUpgrade) -> Response {
    socket.max_message_size(BODY_BYTES_MAX).on_upgrade(|socket| subscribe::serve(methods, socket))
}
