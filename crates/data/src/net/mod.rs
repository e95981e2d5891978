//! Moving sealed chunks between machines that need not trust each other.
//!
//! Each machine has one iroh endpoint whose address is its own ed25519 key ([`Network`]). It serves what its store
//! holds to those whom the hub has granted it ([`Server`]), fetches from many at once ([`Fetch`]) and brings what
//! is missing elsewhere ([`Push`]). Carriers see sealed bytes and their sizes; whoever receives a chunk checks its hash
//! as it arrives. Which chunk is asked of whom is decided in [`schedule`], whose turn at the origin it is in [`swarm`];
//! both are pure.
//!
//! The protocol is plain frames on iroh streams, not iroh-blobs. A dataset is already cut into chunks of 64 KiB that are
//! named by their hashes, so the verified ranges within a blob that iroh-blobs is made for have nothing to verify here;
//! as blobs of its store, each chunk would be an entry of a second database beside the store that evicts, pins and
//! checks itself. Frames cost four bytes a chunk and one round trip for hundreds of them.
mod carrier;
mod discovery;
mod engine;
mod error;
mod frames;
mod grant;
mod inbox;
mod member;
mod network;
mod offer;
mod peer;
mod protocol;
mod receipt;

pub mod bring;
pub mod downlink;
pub mod fetch;
pub mod http;
pub mod measure;
pub mod push;
#[cfg(feature = "relay")]
pub mod relay;
pub mod schedule;
pub mod serve;
pub mod swarm;
pub mod uplink;

pub use bring::{Bring, BringControl, Brought, Dataset, StoreSource};
pub use carrier::{Carrier, Delivery};
pub use discovery::Discovery;
pub use downlink::Downlink;
pub use error::Error;
pub use fetch::{Control, Fetch, Progress, Update, Wish};
pub use grant::{Authority, Grant, Refused, Right, SignedGrant, public};
pub use member::{ANNOUNCE_TIME, Swarm};
pub use network::{Network, RelayAt, STREAMS_MAX, Setup};
pub use offer::Offer;
pub use peer::Peer;
pub use protocol::{ALPN, Ask, Code, IDS_MAX};
pub use push::{Push, Taker};
pub use receipt::{CLAIM_TIME, Claim, Meter, Receipt, STEP_BYTES, Session, SignedReceipt};
pub use serve::{Folders, Holder, Server};
pub use uplink::{Broken, PushControl, Pushed, Uplink};
