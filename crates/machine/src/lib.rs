//! What a machine has, what is missing on it, and when it belongs to its owner.
//!
//! [`mod@probe`] and [`watch`] read the outside into plain records; everything else is a pure function of those records:
//! [`inventory`] says what is there, [`advice`] what is missing and the command that fixes it, [`governor`] when a device
//! is its owner's, [`energy`] what work costs in electricity and what to ask for it, [`mod@line`] how fast the hub is reached.
//! [`idle`] also runs a process: the owner's own command for a machine without work. Nothing here runs tasks, talks to a hub or knows a graphics
//! interface: the caller hands in the adapters that it found.
pub mod advice;
pub mod bid;
pub mod energy;
pub mod governor;
pub mod idle;
pub mod inventory;
pub mod line;
pub mod preferences;
pub mod probe;
pub mod service;
pub mod watch;

pub use advice::{Finding, State};
pub use bid::Bid;
pub use governor::{Governor, Verdict};
pub use inventory::{Device, Inventory};
pub use preferences::Preferences;
pub use probe::{Probes, probe};
