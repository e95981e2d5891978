//! A typed client of a hub, used by the command line, by workers and by tests.
//!
//! It moves bytes and says what went wrong; it decides nothing about jobs.

mod address;
mod backoff;
mod client;
mod connection;
mod error;
mod events;
mod fetch;
mod line;
mod logs;
mod names;
mod outputs;
mod picture;
mod submit;
mod token;

pub mod data;
pub mod registry;

pub use address::HubAddress;
pub use client::{Client, JOBS_PER_PAGE, RESULTS_PER_PAGE};
pub use error::Error;
pub use events::{Events, Heard};
pub use fetch::Fetched;
pub use line::{LineMeasured, Moved};
pub use logs::Logs;
pub use outputs::{Look, OutputFile, Outputs, There};
pub use picture::Canvas;
pub use submit::{Draft, Package, Way};
pub use token::Token;
