//! What a hub is told when it starts. Read once, passed down.
use crate::extra::Extra;
use crate::managed::ManagedConfig;
use crate::money::{ChainConfig, FiatConfig};
use crate::tls::Tls;
use gleaner_core::Params;
use gleaner_wire::{Amount, ByteSize};

pub use gleaner_accounts::Site;
pub use gleaner_data::store::Bucket;

use std::net::SocketAddr;
use std::path::PathBuf;

/// Who may make accounts on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignUp {
    /// Everybody.
    Open,
    /// The operator.
    Closed,
}

/// The configuration of a hub.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder that holds everything the hub keeps.
    pub dir: PathBuf,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The starting credit of a requester that this hub has not seen before.
    pub credit: Amount,
    /// Whether to listen on an address that other machines reach, although HTTP is not encrypted.
    pub allow_remote: bool,
    /// How connections are encrypted, if they are.
    pub tls: Option<Tls>,
    /// Where people who come without encryption are sent on from; nowhere, if they are not. Only with `tls`.
    pub redirect_http: Option<SocketAddr>,
    /// The most bytes that sealed chunks may take.
    pub data_bytes_max: ByteSize,
    /// The most bytes that one account may keep of them [default: a quarter].
    pub data_account_bytes_max: Option<ByteSize>,
    /// Where full segments of chunks are kept instead of the folder, if anywhere.
    pub bucket: Option<Bucket>,
    /// Where the relay for machines that cannot reach each other listens; nowhere, if there is to be none.
    pub relay: Option<SocketAddr>,
    /// Where people without the program bring data by SFTP; nowhere, if they cannot. Only on Linux.
    pub sftp: Option<SocketAddr>,
    /// The most bytes that all uploads may take before they are removed.
    pub inbox_bytes_max: ByteSize,
    /// The most bytes that one user's uploads may take.
    pub inbox_user_bytes_max: ByteSize,
    /// Where money is.
    pub chain: ChainConfig,
    /// Pages in browsers that may ask an embedded chain's JSON-RPC server.
    pub rpc_origins: Vec<Site>,
    /// Blocks that must have come after the one that gives a round its seed [default: as suits the chain].
    pub anchor_confirmations: Option<u64>,
    /// How credits are sold for ordinary money, if they are.
    pub fiat: Option<FiatConfig>,
    /// What the operator says of the platform's own workers.
    pub managed: ManagedConfig,
    /// The address under which people see this hub, if it is not one of this machine.
    pub url: Option<Site>,
    /// Whether a proxy stands before this hub and says in `X-Forwarded-For` for whom it asks.
    pub behind_proxy: bool,
    /// Who may make accounts.
    pub sign_up: SignUp,
    /// Rooms beside the hub that answer requests too, if there are any.
    pub extra: Option<Extra>,
    /// Whether webhooks may lead into networks that are not public, and be sent without encryption.
    pub webhooks_private: bool,
    /// Where spans of jobs go, if anywhere.
    pub traces: Option<gleaner_trace::Config>,
    /// What the core goes by. Fixed when the journal is made; later values are ignored.
    pub params: Params,
}

impl Config {
    /// A hub for this machine alone, with default limits and 100 GLN of starting credit.
    pub fn new(dir: impl Into<PathBuf>, listen: SocketAddr) -> Self {
        Self {
            dir: dir.into(),
            listen,
            credit: Amount::gln(100),
            allow_remote: false,
            tls: None,
            redirect_http: None,
            data_bytes_max: ByteSize::mib(64 * 1024),
            data_account_bytes_max: None,
            bucket: None,
            relay: None,
            sftp: None,
            inbox_bytes_max: ByteSize::mib(64 * 1024),
            inbox_user_bytes_max: ByteSize::mib(64 * 1024),
            chain: ChainConfig::None,
            rpc_origins: Vec::new(),
            anchor_confirmations: None,
            fiat: None,
            managed: ManagedConfig::default(),
            url: None,
            behind_proxy: false,
            sign_up: SignUp::Open,
            extra: None,
            webhooks_private: false,
            traces: None,
            params: Params::default(),
        }
    }
}
