//! Where segments lie: one small interface to files and to objects.
use super::Error;
use bytes::Bytes;
use std::ops::Range;

/// Keeps segments by number. A segment here is only read, thinned out and removed; it grows elsewhere.
pub trait Backend: Send + Sync {
    /// Takes a full segment; it is durable on return.
    fn keep(&self, segment: u64, bytes: Bytes) -> Result<(), Error>;

    /// Reads a range of a segment. Nothing if the segment or a part of the range is not there.
    fn read(&self, segment: u64, range: Range<u64>) -> Result<Option<Bytes>, Error>;

    /// Gives the room of a range back, if that can be done without moving the rest.
    fn punch(&self, segment: u64, range: Range<u64>) -> Result<(), Error>;

    /// Removes a segment. One that is not there is no error.
    fn remove(&self, segment: u64) -> Result<(), Error>;

    /// Every segment that is there, with its length, in any order.
    fn list(&self) -> Result<Vec<(u64, u64)>, Error>;
}
