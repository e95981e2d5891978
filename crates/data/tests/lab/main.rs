//! Chunks between machines on real networks: homes behind NAT, long, slow and lossy lines, addresses that change in the
//! middle, peers that stall or vanish. Each machine is a process of its own in a network of its own.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "figures are for whoever runs the tests, and a child speaks to its parent")]
#[path = "../net/actor.rs"]
mod actor;
mod addresses;
mod child;
mod faults;
#[cfg(feature = "relay")]
mod homes;
mod lines;
mod stage;
#[path = "../net/world.rs"]
#[expect(dead_code, reason = "what these tests and those on loopback share, of which each uses its part")]
mod world;
