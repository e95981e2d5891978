//! What Gleaner encodes on a wire or a disk: ids, amounts, job files, offers, messages and API views.
//!
//! This crate holds no decision and does no I/O. What comes from outside is parsed here into a type, or refused
//! with a reason. Binary encodings (postcard) are pinned by samples in the tests; changing one raises [`PROTOCOL`].
#![no_std]
extern crate alloc;
// What describes the types needs it; nothing else here does.
#[cfg(feature = "openapi")]
#[macro_use]
extern crate std;

mod address;
mod amount;
mod asker;
mod bid;
mod cause;
mod class;
mod contest;
mod data;
#[cfg(feature = "openapi")]
mod described;
mod element;
mod hash;
mod id;
mod message;
mod offer;
mod order;
mod output;
mod quantity;
mod quote;
mod spec;
mod standing;

pub mod api;
pub mod check;
pub mod commit;
pub mod figures;
pub mod job_file;
pub mod live;
pub mod machine;
pub mod market;
pub mod prices;
pub mod progress;
pub mod query;
pub mod receipt;
pub mod render;
pub mod webhook;

pub use address::{Address, AddressError};
pub use amount::{Amount, AmountError};
pub use asker::{Asker, SpendLimit};
pub use bid::{BIDS_MAX, Invitation, OpenedBid, SealedBid, seal_bid};
pub use cause::Cause;
pub use check::Check;
pub use class::{Band, ClassError, DeviceClass};
pub use data::DataRef;
pub use element::{Each, EachError, Extent, Rect};
pub use hash::{BlobRef, Hash, HashError};
pub use id::{AttemptId, AuctionId, JobId, TaskId, WorkerId, WorkerKey};
pub use message::{
    DecodeError, Finished, Held, Outcome, Signed, StartAttempt, ToHub, ToWorker, challenge_bytes, decode, encode,
};
pub use offer::{DeviceKind, DeviceNeed, DeviceOffer, Needs, Offer, OfferError, Runtime, RuntimeOffer};
pub use order::{Order, SignedOrder};
pub use output::{INLINE_BYTES_MAX, Output};
pub use quantity::{ByteSize, Micros, Millis, QuantityError};
pub use quote::{Quote, SignedQuote};
pub use spec::{Image, InputSpec, Limits, Stage, Sweep, TaskSpec, Work};
pub use standing::State;

/// The version of the control protocol; a hub and a worker that differ refuse each other with a clear message.
pub const PROTOCOL: u16 = 8;
/// The largest control message either side accepts.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;
/// The most attempts that one worker may hold at a time.
pub const ATTEMPTS_HELD_MAX: usize = 2048;
/// The largest piece of a log in one message.
pub const LOG_BYTES_MAX: usize = 16 * 1024;
/// The longest text that explains a failure.
pub const DETAIL_BYTES_MAX: usize = 2048;
/// What is moved at a time when a line is measured.
pub const LINE_PIECE_BYTES: usize = 1024 * 1024;
/// What an image in a registry is taken to be when it is weighed where a task should run: its size is not known.
pub const IMAGE_BYTES_GUESS: u64 = 1 << 30;
/// The most datasets that a worker says it holds something of.
pub const HELD_MAX: usize = 64;
/// The most tasks in one job.
pub const TASKS_MAX: u64 = 10_000_000;
