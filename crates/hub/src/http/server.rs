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
const HEAD_TIME_MAX: Duration = Duration::from_secs(75);
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
    mut stopping: watch::Receiver<bool>,
) {
    // Small messages must not wait for the acknowledgement of earlier ones.
    if stream.stream.set_nodelay(true).is_err() {
        return;
    }
    match doorkeeper {
        None => serve_connection(stream, address, router, HEAD_TIME_MAX, stopping).await,
        Some(doorkeeper) => {
            let welcomed = tokio::select! {
                welcomed = doorkeeper.welcome(stream, address) => welcomed,
                // Whoever says nothing must not keep the hub from ending.
                _ = stopping.changed() => return,
            };
            if let Some(stream) = welcomed {
                serve_connection(stream, address, router, HEAD_TIME_MAX, stopping).await;
            }
        }
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    address: IpAddr,
    router: Router,
    head: Duration,
    mut stopping: watch::Receiver<bool>,
) {
    let service = Introduced { service: TowerToHyperService::new(router), address };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(BUFFER_BYTES_MAX);
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::middleware::from_fn;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    const SOON: Duration = Duration::from_millis(50);
    const PATIENCE: Duration = Duration::from_secs(30);

    /// A connection to a server that is soon tired of waiting for heads, and what it answers.
    fn connect(head: Duration) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(4096);
        let router = Router::new().route("/", post(|body: String| async move { body }));
        let router = router.layer(from_fn(crate::http::patience::patient));
        tokio::spawn(async move {
            let (_stop, stopping) = watch::channel(false);
            serve_connection(theirs, IpAddr::from([127, 0, 0, 1]), router, head, stopping).await;
        });
        ours
    }

    async fn rest(mut connection: DuplexStream) -> String {
        let mut text = Vec::new();
        let read = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut text)).await;
        read.expect("the server ends it").expect("readable");
        String::from_utf8_lossy(&text).into_owned()
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_ends_the_connection() {
        for begun in ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: x\r\nx-slow: "] {
            let mut connection = connect(SOON);
            connection.write_all(begun.as_bytes()).await.expect("taken");
            let answer = rest(connection).await;
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{begun:?}: {answer}");
        }
    }

    #[tokio::test]
    async fn a_head_that_comes_byte_by_byte_has_no_more_time_than_another() {
        let mut connection = connect(SOON);
        let sent = async {
            let mut sent = 0_u32;
            while connection.write_all(b"x").await.is_ok() && sent < 100_000 {
                sent += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            sent
        };
        let sent = tokio::time::timeout(PATIENCE, sent).await.expect("the server ends it");
        assert!(sent > 0);
    }

    #[tokio::test]
    async fn a_request_in_time_is_answered() {
        let mut connection = connect(PATIENCE);
        let request = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
        connection.write_all(request).await.expect("taken");
        let answer = rest(connection).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
    }
}
