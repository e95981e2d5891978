//! Why a hub does not start or does not go on, in words for whoever runs it.
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a hub does not start or does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be used.
    #[error("could not use the folder {path}: check that it exists and that you may write there")]
    Folder {
        /// The folder or the file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What is written down of rounds cannot be used.
    #[error("could not use {path}, where draws of audits are written down: check that you may write there")]
    Rounds {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// What is kept for people to look at cannot be used.
    #[error("could not use {path}, where the hub keeps what people look at: check that you may write there")]
    Records {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// Another hub runs on this folder.
    #[error("another hub (process {pid}) runs on the folder {dir}: stop that one, or choose another folder with --dir")]
    Locked {
        /// The folder.
        dir: PathBuf,
        /// The other hub.
        pid: String,
    },
    /// The address is not on this machine alone.
    #[error(
        "{0} can be reached from other machines, and plain HTTP is not encrypted: \
             encrypt with --acme DOMAIN or --tls-cert and --tls-key, listen on 127.0.0.1, or add --allow-remote if a \
             private network or a TLS proxy protects it"
    )]
    Remote(SocketAddr),
    /// Connections cannot be encrypted.
    #[error("connections to this hub cannot be encrypted")]
    Tls(#[from] crate::tls::TlsError),
    /// Spans of jobs cannot be sent.
    #[error("spans of jobs cannot be sent: name a collector with --otlp")]
    Traces(#[from] gleaner_trace::Error),
    /// The address is taken or not ours.
    #[error("could not listen on {address}: choose another address or port with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The journal cannot be read or written.
    #[error("the journal {path} cannot be used: {source}")]
    Journal {
        /// The database.
        path: PathBuf,
        /// Why.
        source: crate::journal::Error,
    },
    /// The store of chunks cannot be used.
    #[error("the store of chunks {path} cannot be used")]
    Store {
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: gleaner_data::store::Error,
    },
    /// The catalog of datasets cannot be used.
    #[error("the catalog of datasets {path} cannot be used: {source}")]
    Catalog {
        /// The database.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// Machines cannot reach each other through this hub.
    #[error("the relay for machines that cannot reach each other does not start")]
    Relay(#[source] gleaner_data::net::Error),
    /// Nobody can come by SFTP.
    #[error("SFTP does not start: choose another address with --sftp, or leave it out")]
    Sftp(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The accounts cannot be used.
    #[error("the accounts of this hub cannot be used")]
    Accounts(#[source] gleaner_accounts::Error),
    /// A room beside the hub does not open.
    #[error("a room beside the hub does not open")]
    Extra(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The folder is of a hub whose money is elsewhere.
    #[error(
        "the hub in {path} was founded with its money {}: start it so, or choose another folder with --dir",
        if *on_chain { "on a chain" } else { "in its own books (--chain none)" }
    )]
    OtherMoney {
        /// The folder.
        path: PathBuf,
        /// Whether it was founded with a chain.
        on_chain: bool,
    },
    /// The chain, or the hub's account on it, cannot be used.
    #[error("the hub has no money to work with")]
    Money(#[from] Box<crate::money::OpenError>),
    /// The keeper thread ended by a defect.
    #[error("the hub stopped because of a defect in it; what was acknowledged is in the journal: start it again")]
    Defect,
    /// No random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
}
