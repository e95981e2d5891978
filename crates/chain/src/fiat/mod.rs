//! Credits bought with ordinary money: a payment provider says by a signed message that somebody has paid, and an
//! operator account deposits GLN for the buyer.
//!
//! Messages come in Stripe's format. A [`Desk`] checks the signature and the age of a message, books each payment once
//! however often it is told, keeps to the operator's limits and says what is to be done on the chain. It sends nothing
//! itself: an [`Instruction`] carries a key under which the outbox does it exactly once.
//!
//! What is trusted: the payment provider, and whoever holds the signing secret; both could make the operator deposit up to
//! its limits. A deposit cannot be taken back on the chain. When a payment is refunded, what its buyer has got becomes a
//! debt, which the buyer's next purchases pay off first.
mod desk;
mod event;
mod signature;

pub use desk::{Desk, Error, Held, Instruction, Limits, Outcome};
pub use event::{Event, Fact, Malformed};
pub use signature::{Secret, SignatureError, TOLERANCE_SECONDS, sign, verify};

/// The largest message that is looked at.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
