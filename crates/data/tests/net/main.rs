//! Chunks between real endpoints on loopback: fetched, pushed, relayed, lied about, killed and resumed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod child;
mod faults;
mod http;
mod kill;
mod loopback;
mod push;
#[cfg(feature = "relay")]
mod relay;
mod world;
