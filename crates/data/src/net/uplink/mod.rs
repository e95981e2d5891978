//! What a pack makes, straight to somebody who keeps it: no store in between, and little memory.
//!
//! ```text
//! put ──▶ fresh ── which of these do you have? ──▶ missing ── batches over several streams ──▶ safe
//!           ▲                     (some hundred ahead of what is sent)              │
//!           └────────── lost: ask again, after a pause ◀──────────────────────────────┘
//! ```
mod engine;
mod flow;
mod line;
mod patience;
mod steering;

pub use line::MEMORY_BYTES_MAX;
pub(in crate::net) use line::{Ended, Line};
pub use patience::PATIENCE;
pub(in crate::net) use patience::Patience;
pub use steering::{PushControl, Pushed};

use super::Error;
use super::push::Taker;
use crate::port::{Mark, PortError, Sink};
use bytes::Bytes;
use gleaner_wire::BlobRef;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;

/// Brings what is put into it to somebody. It is used from threads that may block, never from a task.
pub struct Uplink {
    runtime: Handle,
    line: Line,
}

impl Uplink {
    /// To this machine. To be called within a runtime, which has to run for as long as this is used.
    pub fn open(taker: Arc<dyn Taker>) -> (Self, PushControl) {
        Self::with_patience(taker, PATIENCE)
    }

    /// The same, giving up when nothing has got through for this long.
    pub fn with_patience(taker: Arc<dyn Taker>, patience: Duration) -> (Self, PushControl) {
        let (line, control) = Line::open(taker, patience);
        (Self { runtime: Handle::current(), line }, control)
    }

    fn failed(&self, _: Ended) -> PortError {
        Box::new(Broken::new(Arc::clone(self.line.why())))
    }
}

impl Sink for Uplink {
    fn put(&self, blob: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        let putting = self.line.put(blob.id, Bytes::from(sealed), false);
        self.runtime.block_on(putting).map_err(|ended| self.failed(ended))
    }

    fn flush(&self) -> Result<(), PortError> {
        self.runtime.block_on(self.line.flush()).map_err(|ended| self.failed(ended))
    }

    fn mark(&self) -> Result<Mark, PortError> {
        self.line.mark().map_err(|ended| self.failed(ended))
    }

    fn bottleneck(&self) -> Option<u64> {
        self.line.speed()
    }
}

/// Why an uplink or a downlink has ended; all who use it are told the same.
pub struct Broken(Arc<OnceLock<Error>>);

impl Broken {
    pub(in crate::net) fn new(why: Arc<OnceLock<Error>>) -> Self {
        Self(why)
    }

    /// Why.
    pub fn why(&self) -> &Error {
        self.0.get().unwrap_or(&Error::Stopped)
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Broken").field(self.why()).finish()
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why().fmt(f)
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(self.why())
    }
}
