//! How fast the money is, and what it costs in gas: the real contracts on an embedded chain, beside revm alone.
//!
//! For `gleaner bench money`. Everything runs in folders that are removed afterwards; the accounts are made from words and
//! own nothing elsewhere. Nothing here judges a figure.
mod crew;
mod error;
mod gas;
mod machine;
mod play;
mod settlements;
mod signatures;
mod stage;
mod tasks;
mod timing;
mod transfers;

pub use error::Error;
pub use gas::{BatchGas, Gas, OrderGas, gas};
pub use settlements::{Settlements, settlements};
pub use signatures::signatures;
pub use tasks::{Tasks, tasks};
pub use timing::Timing;
pub use transfers::{Transfers, transfers};
