//! A typed client of a hub, used by the command line, by workers and by tests.
//!
//! It moves bytes and says what went wrong; it decides nothing about jobs.

mod backoff;
mod connection;
mod error;
mod token;

pub mod blobs;

pub use error::Error;
pub use token::Token;
