//! The first words with a stranger: in bounded time, with a bounded number of them at once, and never in anybody's way.
use crate::tls::Doorkeeper;
use rustls::server::Acceptor;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a handshake may take, with all waiting for a place.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);
/// The most handshakes at once, and the most of them with one address.
const HANDSHAKES_MAX: usize = 512;
const HANDSHAKES_OF_ONE_MAX: usize = 32;
/// Addresses share this many lines; which of them an address stands in, nobody can know.
const LINES: usize = 256;
/// The first byte of every handshake (RFC 8446, 5.1).
const HANDSHAKE_RECORD: u8 = 22;
/// The protocol of an authority that looks whether a hub has a name (RFC 8737).
pub(super) const CHALLENGE: &[u8] = b"acme-tls/1";
/// How much of a request is read that came without encryption, so that its sender sees the answer.
const PLAIN_BYTES_MAX: u64 = 64 * 1024;

const TURNED_AWAY: &str = "{\"type\":\"encrypted-only\",\"code\":\"encrypted-only\",\"title\":\"this port is \
                           encrypted\",\"status\":400,\"detail\":\"plain HTTP came to a port that speaks TLS: write \
                           https:// instead of http://\"}\n";

impl Doorkeeper {
    /// Shakes hands with a stranger. Nothing if there is nobody to talk to afterwards.
    pub(crate) async fn welcome<S>(&self, stream: S, address: IpAddr) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + AsRef<TcpStream> + Unpin,
    {
        match timeout(HANDSHAKE_TIME_MAX, self.shake_hands(stream, address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%error, %address, "a handshake failed");
                None
            }
            Err(_) => {
                tracing::debug!(%address, "a handshake took too long");
                None
            }
        }
    }

    async fn shake_hands<S>(&self, stream: S, address: IpAddr) -> io::Result<Option<TlsStream<S>>>
    where
        S: AsyncRead + AsyncWrite + AsRef<TcpStream> + Unpin,
    {
        let mut first = [0];
        // Whoever says nothing takes nobody's place.
        if stream.as_ref().peek(&mut first).await? == 0 {
            return Ok(None);
        }
        if first != [HANDSHAKE_RECORD] {
            return turn_away(stream).await.map(|()| None);
        }
        let _place = self.places.take(address).await;
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let is_authority = hello.client_hello().alpn().is_some_and(|mut names| names.any(|name| name == CHALLENGE));
        if !is_authority {
            return hello.into_stream(self.visitors.clone()).await.map(Some);
        }
        if let Some(answer) = self.for_authority() {
            // It has seen what it wanted in the handshake.
            hello.into_stream(answer).await?.shutdown().await?;
        }
        Ok(None)
    }
}

/// Tells somebody who does not encrypt to do so.
async fn turn_away(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let length = TURNED_AWAY.len();
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(TURNED_AWAY.as_bytes()).await?;
    stream.shutdown().await?;
    // Closed with something unread, the system would take the answer back.
    tokio::io::copy(&mut stream.take(PLAIN_BYTES_MAX), &mut tokio::io::sink()).await.map(|_| ())
}

/// Room for handshakes, shared out so that no address takes all of it.
pub(super) struct Places {
    all: Semaphore,
    lines: Vec<Semaphore>,
    line_of: RandomState,
}

impl Default for Places {
    fn default() -> Self {
        let lines = (0..LINES).map(|_| Semaphore::new(HANDSHAKES_OF_ONE_MAX)).collect();
        Self { all: Semaphore::new(HANDSHAKES_MAX), lines, line_of: RandomState::new() }
    }
}

impl Places {
    async fn take(&self, address: IpAddr) -> [SemaphorePermit<'_>; 2] {
        let line = self.line_of.hash_one(neighbourhood(address)) as usize % LINES;
        let own = self.lines[line].acquire().await.expect("it is never closed");
        [own, self.all.acquire().await.expect("it is never closed")]
    }
}

/// What one person has of addresses: one, or a network of the newer kind.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
    }
}
