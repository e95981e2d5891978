//! Receipts of settled tasks: making them, and checking them without asking anybody.
//!
//! [`verify()`] reckons everything in a receipt again, by the same functions of `gleaner-core` that the hub decides by, and says
//! what does not fit. What a hub alone can know, and has to be believed for, is listed in [`Checked`]. Nothing here reads a
//! clock, a disk or a network, unless the made-up hub in [`sample`] is given a chain to anchor on.
pub mod sample;

mod fault;
mod filed;
mod guilt;
mod job;
mod make;
mod read;
mod reckon;
mod sign;
mod verify;

pub use fault::Fault;
pub use filed::{Drawn, Filed, Missing, SignedBatch};
pub use guilt::{Evidence, guilty, guilty_by_document};
pub use job::{JobChecked, verify_job};
pub use make::{Lot, Parts, make};
pub use read::{ReadError, read};
pub use reckon::losers;
pub use sign::{Signatures, ordered, public, seal, sign_batch};
pub use verify::{Checked, Verifier, verify};
