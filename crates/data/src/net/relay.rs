//! The relay that a hub runs for its own network.
//!
//! It carries what two machines cannot send each other directly, encrypted between those two. It listens on plain HTTP;
//! a hub that is reached through the internet puts it behind the same TLS as the rest of itself.
use super::Error;
use gleaner_wire::WorkerKey;
use iroh::RelayUrl;
use iroh_relay::server::{Access, AccessControl, ClientRequest, RelayConfig, Server, ServerConfig};
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
}

impl Relay {
    /// Starts it. Only those whom `admits` lets in are served.
    pub async fn start(
        listen: SocketAddr,
        admits: impl Fn(&WorkerKey) -> bool + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let mut relay = RelayConfig::new(listen);
        relay.key_cache_capacity = Some(KEYS_KEPT);
        relay.access = Arc::new(Door(admits));
        let mut config = ServerConfig::default();
        config.relay = Some(relay);
        let failed = |why: String| Error::Relay { address: listen.to_string(), why };
        let server = Server::spawn(config).await.map_err(|why| failed(why.to_string()))?;
        let address = server.http_addr().ok_or_else(|| failed("it does not listen".to_owned()))?;
        Ok(Self { server, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What endpoints are told.
    pub fn url(&self) -> Result<RelayUrl, Error> {
        let url = format!("http://{}", self.address);
        url.parse().map_err(|why| Error::Relay { address: url, why: format!("{why}") })
    }

    /// Ends it.
    pub async fn stop(self) -> Result<(), Error> {
        let address = self.address.to_string();
        self.server.shutdown().await.map_err(|why| Error::Relay { address, why: why.to_string() })
    }
}
