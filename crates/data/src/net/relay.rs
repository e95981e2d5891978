//! The relay that a hub runs for its own network.
//!
//! It carries what two machines cannot send each other directly, encrypted between those two. It listens on plain HTTP;
//! a hub that is reached through the internet puts it behind the same TLS as the rest of itself. Beside it, on the UDP port
//! with the same number, machines learn by which address they are seen, so that few need the relay for long.
use super::discovery::prove;
use super::{Discovery, Error, RelayAt, public};
use ed25519_dalek::SigningKey;
use gleaner_wire::WorkerKey;
use iroh_relay::server::{
    Access, AccessControl, ClientRequest, QuicConfig, RelayConfig, Server, ServerConfig, SpawnError,
};
use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Keys that were seen lately are kept, so that they need not be unpacked for every packet.
const KEYS_KEPT: usize = 4096;

/// Says who may use the relay.
struct Door<F>(F);

impl<F> fmt::Debug for Door<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Door")
    }
}

impl<F: Fn(&WorkerKey) -> bool + Send + Sync + 'static> AccessControl for Door<F> {
    async fn on_connect(&self, request: &ClientRequest) -> Access {
        if (self.0)(&WorkerKey(*request.endpoint_id().as_bytes())) {
            Access::Allow
        } else {
            Access::Deny { reason: Some("this hub does not know that key: join it first".to_owned()) }
        }
    }
}

/// A relay that runs until it is dropped or stopped.
pub struct Relay {
    server: Server,
    address: SocketAddr,
    discovery: Discovery,
}

impl Relay {
    /// Starts it, for the hub with this key. Only those whom `admits` lets in are served. It takes the TCP and the UDP port;
    /// if that is 0, a free one of each.
    pub async fn start(
        listen: SocketAddr,
        key: &SigningKey,
        admits: impl Fn(&WorkerKey) -> bool + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let mut relay = RelayConfig::new(listen);
        relay.key_cache_capacity = Some(KEYS_KEPT);
        relay.access = Arc::new(Door(admits));
        let failed = |why: String| Error::Relay { address: listen.to_string(), why };
        let mut quic = QuicConfig::new(listen);
        quic.server_config = Some(prove(key).map_err(|why| failed(why.to_string()))?);
        let mut config = ServerConfig::default();
        config.relay = Some(relay);
        config.quic = Some(quic);
        let server = Server::spawn(config).await.map_err(|why| failed(reason(&why)))?;
        let silent = || failed("it does not listen".to_owned());
        let address = server.http_addr().ok_or_else(silent)?;
        let port = server.quic_addr().ok_or_else(silent)?.port();
        Ok(Self { server, address, discovery: Discovery { port, key: public(key) } })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it tells machines their addresses.
    pub fn discovery(&self) -> Discovery {
        self.discovery
    }

    /// What endpoints are told that reach it where it listens.
    pub fn at(&self) -> Result<RelayAt, Error> {
        let url = format!("http://{}", self.address);
        let url = url.parse().map_err(|why| Error::Relay { address: url, why: format!("{why}") })?;
        Ok(RelayAt { url, discovery: Some(self.discovery) })
    }

    /// Ends it.
    pub async fn stop(self) -> Result<(), Error> {
        let address = self.address.to_string();
        self.server.shutdown().await.map_err(|why| Error::Relay { address, why: why.to_string() })
    }
}

/// Which of the two ports it was, and the innermost reason.
fn reason(error: &SpawnError) -> String {
    let port = if matches!(error, SpawnError::QuicSpawn { .. }) { "UDP" } else { "TCP" };
    let mut innermost: &dyn StdError = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    format!("{port}: {innermost}. It needs a port that is free for TCP and for UDP: choose another")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    async fn refused(listen: SocketAddr) -> String {
        let started = Relay::start(listen, &SigningKey::from_bytes(&[1; 32]), |_| true).await;
        started.err().expect("the port is taken").to_string()
    }

    #[tokio::test]
    async fn a_taken_port_is_named() {
        let (udp, tcp) = ports();
        drop(tcp);
        let said = refused(udp.local_addr().expect("bound")).await;
        assert!(said.contains("UDP: Address already in use"), "{said}");
        let (udp, tcp) = ports();
        drop(udp);
        let said = refused(tcp.local_addr().expect("bound")).await;
        assert!(said.contains("TCP: Address already in use"), "{said}");
    }

    /// A port of each kind with the same number; other programs may have one kind of many numbers.
    fn ports() -> (UdpSocket, TcpListener) {
        let found = (0..100).find_map(|_| {
            let tcp = TcpListener::bind("127.0.0.1:0").ok()?;
            Some((UdpSocket::bind(tcp.local_addr().ok()?).ok()?, tcp))
        });
        found.expect("a number that is free for both")
    }
}
