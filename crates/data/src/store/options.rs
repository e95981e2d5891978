//! What a store is told when it is opened.
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest chunk.
pub const CHUNK_BYTES_MAX: usize = 1024 * 1024;
/// A segment is full at this length: large enough that a terabyte is some ten thousand files, and that an object of it
/// moves at the speed of the line; small enough to be copied in a moment.
pub const SEGMENT_BYTES: u64 = 32 * 1024 * 1024;
/// The last use of a chunk is kept in steps of this many seconds: reading the same chunk often costs one write.
pub const TICK_SECONDS: u64 = 10;

/// Tells the time in ticks.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Where full segments lie.
#[derive(Clone, Debug)]
pub enum Place {
    /// In the folder.
    Disk,
    /// In a bucket. The segment that is being filled, and the index, are in the folder.
    #[cfg(feature = "s3")]
    S3(super::Bucket),
}

/// How a store is set up.
#[derive(Clone)]
pub struct Options {
    /// Bytes that chunks may take. The index comes on top, about 200 bytes a chunk, and while segments are tidied up
    /// one more segment.
    pub limit: u64,
    /// The length at which a segment is full.
    pub segment_bytes: u64,
    /// Where full segments lie.
    pub place: Place,
    /// Whether to punch holes where the file system can. If not, segments are compacted.
    pub punch: bool,
    /// Tells the time in ticks of [`TICK_SECONDS`].
    pub clock: Clock,
}

impl Options {
    /// On disk, with this limit.
    pub fn with_limit(limit: u64) -> Self {
        Self { limit, segment_bytes: SEGMENT_BYTES, place: Place::Disk, punch: true, clock: Arc::new(ticks) }
    }
}

fn ticks() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / TICK_SECONDS)
}
