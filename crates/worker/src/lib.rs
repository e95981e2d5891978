//! The worker: the agent on a provider's machine. It finds out what the machine can do, offers it to a hub, and
//! runs the attempts it is given, each in a sandbox.
//!
//! It decides nothing about prices, placement or trust. What it is given by a hub, and what programs do, is hostile:
//! it is bounded, and it never brings the worker down.
pub mod content;
pub mod failure;
pub mod log;
pub mod product;
pub mod wasm;
pub mod watch;
pub mod wgsl;

mod agent;
mod arguments;
mod bidding;
mod cards;
mod cell;
mod compare;
mod config;
mod deliver;
mod depot;
mod doctor;
mod energy_used;
mod group;
mod helper;
mod holdings;
mod hub_link;
mod identity;
mod images;
mod lane;
mod lies;
mod line;
mod nodes;
mod outbox;
mod owner;
mod price;
mod run;
mod self_test;
mod session;
mod steering;
mod trail;

pub use config::{Config, Error, Provider, Report};
pub use depot::OpenFile;
pub use doctor::{Finding, State, doctor};
pub use gleaner_machine as machine;
pub use helper::run_helper;
pub use identity::public_key;
pub use lies::Lie;
pub use line::LineSpeed;
pub use owner::{is_paused, set_paused};
pub use price::{Market, market};
pub use run::run;
pub use self_test::{Tested, self_test};
pub use wgsl::wgsl_child;
