//! Datasets: a folder becomes sealed chunks and a manifest, and becomes a folder again on another machine.
//!
//! Everything that leaves this machine is sealed: whoever stores or carries a chunk can check it by its BLAKE3 hash and
//! learns its size, nothing else. What comes back is hostile until it is checked: a manifest never writes outside its
//! folder, links out of it, or takes more room than it declares. Memory does not grow with the dataset.
//!
//! Stores and networks plug in as [`Sink`] and [`Source`]; [`store`] is the bounded one that every worker and hub has.

mod chunk;
mod port;

pub mod cut;
pub mod delta;
pub mod index;
pub mod manifest;
pub mod measure;
pub mod net;
pub mod pack;
pub mod parcel;
pub mod resealed;
pub mod seal;
pub mod squeeze;
pub mod store;
pub mod tree;
pub mod unpack;

pub use chunk::{ChunkRef, Extent, PLAIN_BYTES_AVERAGE, PLAIN_BYTES_MAX, PLAIN_BYTES_MIN, SEALED_BYTES_MAX};
pub use pack::pack;
pub use port::{PortError, Sink, Source};
pub use unpack::unpack;
