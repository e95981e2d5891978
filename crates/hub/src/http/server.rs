//! Accepts connections. hyper is driven directly, because its buffers have to stay small with ten thousand workers.
use super::access::Peer;
use crate::metrics::Metrics;
use crate::tls::Doorkeeper;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The most bytes that hyper buffers for one connection; a WebSocket has its own, smaller ones.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// How long a client may take to send the head of a request, and stay idle between two.
const HEAD_MS_MAX: u64 = 75_000;
/// How long requests under way may take once the hub stops.
const FAREWELL_MS_MAX: u64 = 2000;
/// The most connections at a time.
const CONNECTIONS_MAX: usize = 65_536;
/// The pause after the system refused to open one more connection.
const REFUSED_MS: u64 = 100;

/// Serves until told to stop, then lets open connections go. With a doorkeeper, connections are encrypted.
pub(crate) async fn serve(
    listener: TcpListener,
    doorkeeper: Option<Arc<Doorkeeper>>,
    router: Router,
    metrics: Arc<Metrics>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => return,
        };
        match accepted {
            Ok((stream, address)) if metrics.connections.load(Ordering::Relaxed) < CONNECTIONS_MAX => {
                let stream = Counted::new(stream, Arc::clone(&metrics));
                // Whatever a stranger does, others are let in meanwhile.
                tokio::spawn(let_in(stream, doorkeeper.clone(), address.ip(), router.clone(), stopping.clone()));
            }
            Ok(_) => tracing::warn!("a connection is refused: {CONNECTIONS_MAX} are open"),
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted; raise `ulimit -n` if this stays");
                tokio::time::sleep(Duration::from_millis(REFUSED_MS)).await;
            }
        }
    }
}

async fn let_in(
    stream: Counted,
    doorkeeper: Option<Arc<Doorkeeper>>,
    address: IpAddr,
    router: Router,
    stopping: watch::Receiver<bool>,
) {
    // Small messages must not wait for the acknowledgement of earlier ones.
    if stream.stream.set_nodelay(true).is_err() {
        return;
    }
    match doorkeeper {
        None => serve_connection(stream, address, router, stopping).await,
        Some(doorkeeper) => {
            if let Some(stream) = doorkeeper.welcome(stream, address).await {
                serve_connection(stream, address, router, stopping).await;
            }
        }
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    address: IpAddr,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let service = Introduced { service: TowerToHyperService::new(router), address };
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_MS_MAX))
        .max_buf_size(BUFFER_BYTES_MAX);
    let serving = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    tokio::pin!(serving);
    // A client that breaks off is its own affair, here and below.
    tokio::select! {
        _ = serving.as_mut() => return,
        _ = stopping.changed() => serving.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(Duration::from_millis(FAREWELL_MS_MAX), serving).await;
}

/// A router that is told where requests come from.
struct Introduced {
    service: TowerToHyperService<Router>,
    address: IpAddr,
}

impl Service<Request<Incoming>> for Introduced {
    type Response = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(Peer(self.address));
        self.service.call(request)
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// A socket that is counted as long as it is open, also after it has become a WebSocket.
struct Counted {
    stream: TcpStream,
    metrics: Arc<Metrics>,
}

impl Counted {
    fn new(stream: TcpStream, metrics: Arc<Metrics>) -> Self {
        metrics.connections.fetch_add(1, Ordering::Relaxed);
        Self { stream, metrics }
    }
}

impl AsRef<TcpStream> for Counted {
    fn as_ref(&self) -> &TcpStream {
        &self.stream
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
