//! Proof of Sync on a hub: what workers sign, the draw of rounds, and receipts out of what is written down.
mod receipts;
mod rounds;
mod signed;

pub(crate) use receipts::{RECEIPTS_MAX, Receipts, Unmade};
pub(crate) use rounds::{Drawer, Drawing, Round, Rounds};
pub(crate) use signed::SignedClaims;
