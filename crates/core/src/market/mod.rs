//! How tasks find workers beside standing prices: races, and how firm a place on a worker is.
pub(crate) mod race;
pub mod tier;
