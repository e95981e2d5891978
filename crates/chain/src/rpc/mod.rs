//! JSON-RPC for the embedded chain, so that wallets and libraries work with it as with any node.
//!
//! It listens on loopback only. It holds no keys: what changes the chain is signed elsewhere. It answers under a loopback
//! name only, so that no other name can be pointed at it, and of pages in a browser those alone that were named.
mod filters;
mod line;
mod methods;
mod pages;
mod protocol;
mod shape;
mod subscribe;

use crate::embedded::{Chain, TRANSACTION_BYTES_MAX};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State, WebSocketUpgrade};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use line::Lines;
use methods::Methods;
use pages::Pages;
use protocol::{Call, Incoming};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
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

/// A running server; it ends when this is dropped or stopped, and with it whatever is connected.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// Gone, it ends the connections.
    stop: Option<watch::Sender<()>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves a chain to programs on this machine. Port 0 takes any that is free.
    pub async fn start(chain: Chain, address: SocketAddr) -> Result<Self, Error> {
        Self::start_for(chain, address, Vec::new()).await
    }

    /// The same, also to pages of these origins.
    pub async fn start_for(chain: Chain, address: SocketAddr, pages: Vec<String>) -> Result<Self, Error> {
        if !address.ip().is_loopback() {
            return Err(Error::NotLoopback(address));
        }
        let listen = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (stop, mut stopped) = watch::channel(());
        let lines = Lines { listener, stopped: stopped.clone() };
        let serve = axum::serve(lines, router(chain, pages.into()));
        let task = tokio::spawn(async move {
            tokio::select! {
                _ = serve => {}
                _ = stopped.changed() => {}
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

    /// Ends it and waits until the port is free. Who is connected is let go of, and with the last of them the chain.
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

fn router(chain: Chain, pages: Pages) -> Router {
    Router::new()
        .route("/", post(answer).get(upgrade).options(|| async { StatusCode::NO_CONTENT }))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(pages, pages::guard))
        .with_state(Arc::new(Methods::new(chain)))
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
