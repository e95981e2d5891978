//! What people gain who do not bid what the work costs them, whether all ways to buy leave everybody their share, and what
//! races gain and waste.
mod fairness;
mod racing;
mod shading;

pub use fairness::{Fairness, fairness};
pub use racing::{Racing, racing};
pub use shading::{Shading, shading};
