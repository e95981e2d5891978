//! What people gain who do not bid what the work costs them, and whether auctions leave everybody their share.
mod fairness;
mod shading;

pub use fairness::{Fairness, fairness};
pub use shading::{Shading, shading};
