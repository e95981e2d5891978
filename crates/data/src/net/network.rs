//! This machine in the network: one endpoint whose address is its own ed25519 key.
//!
//! Nothing outside is asked for anything: relays are those that the hub names, addresses are those that the hub tells.
use super::Error;
use super::discovery::{Discovery, trust};
use super::grant::public;
use super::protocol::ALPN;
use ed25519_dalek::SigningKey;
use gleaner_wire::WorkerKey;
use iroh::address_lookup::memory::MemoryLookup;
use iroh::endpoint::{NetReportConfig, QuicTransportConfig, VarInt, presets};
use iroh::{Endpoint, EndpointAddr, EndpointId, RelayConfig, RelayMap, RelayMode, RelayUrl, SecretKey};
use noq_proto::congestion::Bbr3Config;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::sync::Mutex;

/// What one stream may have under way. The transport gives up a connection of which a stream has some 2,000 packets
/// that were not read yet, be there gaps between them or not, so a long fast line needs several streams.
const STREAM_WINDOW_BYTES: u32 = 3 * 512 * 1024;
/// What one connection may have under way, and in memory here.
const WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Questions that one connection may have open.
pub const STREAMS_MAX: u32 = 32;

/// How this machine is to be reached.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its key.
    pub key: SigningKey,
    /// Where it listens for direct connections. Nowhere: it is reached through relays only.
    pub listen: Vec<SocketAddr>,
    /// The hub's relays.
    pub relays: Vec<RelayAt>,
}

/// A relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayAt {
    /// Where it is.
    pub url: RelayUrl,
    /// Where the hub tells machines by which address it sees them. Without it, machines behind routers do not find a
    /// direct way to each other.
    pub discovery: Option<Discovery>,
}

impl RelayAt {
    fn config(&self) -> RelayConfig {
        let mut config = RelayConfig::from(self.url.clone());
        match (&mut config.quic, self.discovery) {
            (Some(quic), Some(discovery)) => quic.port = discovery.port,
            (quic, _) => *quic = None,
        }
        config
    }
}

/// This machine in the network. Clones are the same.
#[derive(Clone, Debug)]
pub struct Network {
    endpoint: Endpoint,
    known: MemoryLookup,
    key: Arc<SigningKey>,
    relays: Arc<Mutex<Vec<RelayAt>>>,
}

impl Network {
    /// Opens it.
    pub async fn open(setup: Setup) -> Result<Self, Error> {
        let known = MemoryLookup::new();
        let mut report = NetReportConfig::minimal();
        report.https_probes = !setup.relays.is_empty();
        let failed = |why: &dyn std::fmt::Display| Error::Bind {
            address: setup.listen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            why: why.to_string(),
        };
        let mut builder = Endpoint::builder(presets::Minimal)
            .secret_key(SecretKey::from_bytes(setup.key.as_bytes()))
            .alpns(vec![ALPN.to_vec()])
            .relay_mode(if setup.relays.is_empty() {
                RelayMode::Disabled
            } else {
                RelayMode::Custom(RelayMap::from_iter(setup.relays.iter().map(RelayAt::config)))
            })
            .ca_tls_config(trust(setup.relays.iter().filter_map(|relay| Some(relay.discovery?.key)).collect()))
            .clear_address_lookup()
            .address_lookup(known.clone())
            .transport_config(transport())
            .net_report_config(report)
            .clear_ip_transports();
        for address in &setup.listen {
            builder = builder.bind_addr(*address).map_err(|why| failed(&why))?;
        }
        let endpoint = builder.bind().await.map_err(|why| failed(&why))?;
        Ok(Self { endpoint, known, key: Arc::new(setup.key), relays: Arc::new(Mutex::new(setup.relays)) })
    }

    /// Opens it on every address of this machine, at a free port.
    pub async fn open_anywhere(key: SigningKey, relays: Vec<RelayAt>) -> Result<Self, Error> {
        let everywhere = [SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))];
        let setup = |listen: &[SocketAddr]| Setup { key: key.clone(), listen: listen.to_vec(), relays: relays.clone() };
        match Self::open(setup(&everywhere)).await {
            // Where there is no IPv6, the other one will do.
            Err(_) => Self::open(setup(&everywhere[..1])).await,
            opened => opened,
        }
    }

    /// The key that others know this machine by.
    pub fn key(&self) -> WorkerKey {
        public(&self.key)
    }

    /// Where others can reach it, for the hub to tell them.
    pub fn address(&self) -> EndpointAddr {
        self.endpoint.addr()
    }

    /// Waits until a relay can be used; for ever, if none is set up.
    pub async fn online(&self) {
        self.endpoint.online().await;
    }

    /// Uses these relays from now on, where a hub has come back with its relay elsewhere. They are believed by the keys that
    /// this was opened with; who was opened without relays stays without.
    pub async fn use_relays(&self, relays: &[RelayAt]) {
        let mut used = self.relays.lock().await;
        if used.is_empty() || *used == relays {
            return;
        }
        for relay in relays {
            self.endpoint.insert_relay(relay.url.clone(), Arc::new(relay.config())).await;
        }
        let is_gone = |old: &&RelayAt| relays.iter().all(|relay| relay.url != old.url);
        for old in used.iter().filter(is_gone) {
            self.endpoint.remove_relay(&old.url).await;
        }
        *used = relays.to_vec();
    }

    /// Remembers where somebody can be reached.
    pub fn learn(&self, address: EndpointAddr) {
        drop(self.known.set_endpoint_info(address));
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.endpoint.close().await;
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn signing_key(&self) -> &SigningKey {
        &self.key
    }
}

/// A key as iroh has it.
pub(super) fn endpoint_id(key: &WorkerKey) -> Result<EndpointId, Error> {
    EndpointId::from_bytes(&key.0).map_err(|why| Error::lost(key, why))
}

/// BBR holds its speed on lines that lose packets; windows are what a long fast line needs, and no more.
pub(super) fn transport() -> QuicTransportConfig {
    QuicTransportConfig::builder()
        .congestion_controller_factory(Arc::new(Bbr3Config::default()))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES))
        // Requests are answered one after the other: less is half done at any moment.
        .send_fairness(false)
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_MAX))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const BYTES: usize = 8 * 1024 * 1024;

    async fn machine(number: u8) -> Network {
        let listen = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
        let setup = Setup { key: SigningKey::from_bytes(&[number; 32]), listen, relays: Vec::new() };
        Network::open(setup).await.expect("a free port")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_stream_that_nobody_reads_for_a_while_keeps_its_connection() {
        let (one, two) = (machine(1).await, machine(2).await);
        let server = one.clone();
        let sender = tokio::spawn(async move {
            let incoming = server.endpoint().accept().await.expect("open");
            let connection = incoming.await.expect("connected");
            let (mut send, _receive) = connection.accept_bi().await.expect("a stream");
            send.write_all(&vec![7; BYTES]).await.expect("read in the end");
            send.finish().expect("not finished yet");
            connection.closed().await;
        });
        let connection = two.endpoint().connect(one.address(), ALPN).await.expect("connected");
        let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
        send.write_all(b"?").await.expect("sent");
        // Until as much has come as the window allows.
        let mut seen = (0, 0);
        while seen.1 < 5 {
            tokio::time::sleep(Duration::from_millis(40)).await;
            let bytes = connection.stats().udp_rx.bytes;
            let grown = bytes > seen.0 || bytes < u64::from(STREAM_WINDOW_BYTES);
            seen = (bytes, if grown { 0 } else { seen.1 + 1 });
            assert!(connection.close_reason().is_none(), "{:?}", connection.close_reason());
        }
        assert_eq!(receive.read_to_end(BYTES).await.expect("everything").len(), BYTES);
        connection.close(0_u32.into(), b"");
        sender.await.expect("sent");
    }
}
