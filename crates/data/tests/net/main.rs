//! Chunks between real endpoints on loopback: fetched, pushed, relayed, lied about, killed and resumed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "figures are for whoever runs the tests, and a child speaks to its parent")]
mod actor;
mod bring;
mod child;
mod direct;
mod faults;
mod figures;
mod house;
mod http;
mod kill;
mod loopback;
mod push;
#[cfg(feature = "relay")]
mod relay;
mod ways;
mod ways_kill;
mod world;
