//! What devices are worth, and how many of its own the platform wants.
mod demand;
mod index;
mod sample;

pub use demand::Terms;
pub(crate) use demand::{Demand, Load};
pub(crate) use index::PriceIndex;
pub(crate) use sample::Sample;
