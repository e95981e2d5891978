//! The bounded store of sealed chunks that every worker and hub has.
//!
//! A chunk is at most [`CHUNK_BYTES_MAX`] bytes, named by their BLAKE3 hash; what is in it is sealed and none of this
//! room's business. Bytes lie in append-only segment files, and a SQLite index says where. Three rules hold whatever
//! crashes:
//!
//! 1. Every row names bytes that are there. What is put survives the end of the process at once, and a power cut once
//!    [`Store::flush`] has returned; until then it is compared with its name when the store is opened again.
//! 2. A row is gone before its bytes are, so a reader sees a chunk whole or not at all.
//! 3. What no row names is found and removed when the store is opened.
//!
//! All functions block on the disk (or on the network, with object storage); call them where that is allowed. None
//! holds a lock around a read: many threads read at once, also while one writes.
mod backend;
mod bitmap;
mod check;
mod compact;
mod disk;
mod error;
mod holdings;
mod lock;
mod measure;
mod offload;
mod open;
mod options;
mod pins;
mod queue;
mod read;
mod readers;
mod recover;
mod room;
mod rows;
#[cfg(feature = "s3")]
mod s3;
mod schema;
mod sketch;
mod sync;
mod tally;
mod touch;
mod verified;
mod writer;

pub use backend::Backend;
pub use bitmap::Bitmap;
pub use check::{Checked, Progress};
pub use error::Error;
pub use holdings::Holding;
pub use lock::is_open;
pub use measure::{Figures, Load, measure};
pub use open::{Chunk, Store};
pub use options::{CHUNK_BYTES_MAX, Clock, Options, Place, SEGMENT_BYTES, TICK_SECONDS};
pub use read::Verify;
#[cfg(feature = "s3")]
pub use s3::Bucket;
pub use sketch::{Held, SKETCH_HOLDINGS_MAX, Sketch, SketchError};
pub use tally::Usage;
pub use verified::Verified;
