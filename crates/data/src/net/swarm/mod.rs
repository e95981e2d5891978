//! Many who fetch the same dataset: the hub tells them of each other, and they share the origin's line.
mod registry;
mod turns;
#[cfg(test)]
mod world;

pub use registry::{Announced, DATASETS_MAX, Member, Registry, SILENCE_MAX};
pub use turns::{GROUP_CHUNKS, MEMBERS_MAX, Turns, View};
