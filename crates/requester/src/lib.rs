//! What a requester does with a hub whose money is on a chain: opens a wallet, signs orders, deposits what is missing,
//! checks receipts, approves settlements.
//!
//! It prints nothing and asks nobody. Who uses it decides what people are told.

mod claimed;
mod cover;
mod error;
mod keystore;
mod pending;
mod purse;
mod settle;
mod turn;

pub use claimed::{Claimed, Wrong};
pub use cover::Covered;
pub use error::Error;
pub use keystore::{Opened, open};
pub use purse::{Purse, ask_faucet, has_chain};
pub use settle::{Settled, awaits_approval, settle};
pub use turn::Turn;
