//! The store as its users see it, on a real disk, killed, damaged, filled up and shared by threads.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "figures and what was skipped are for whoever runs the tests")]
mod bounds;
mod child;
mod crash;
mod damage;
mod full_disk;
mod holdings;
mod model;
#[cfg(feature = "s3")]
mod s3;
mod threads;
mod world;
