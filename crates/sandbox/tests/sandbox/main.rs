//! Strangers' programs against both sandboxes: what they may do works, and what they try beyond it fails and leaves the
//! supervisor up.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod attacker;
mod box_image;
mod bubblewrap;
mod cell;
mod checkpoints;
mod containers;
mod death;
mod devices;
mod docker;
mod escapes;
mod images;
mod podman;
mod registry;
