//! Who holds which data, and what moving it costs: placement counts the time until a task's inputs are where it runs.
//!
//! All of it concerns only groups with inputs that are worth the trouble (`Params::data_bytes_min`); the others have no
//! `Inputs`, and every decision about them stays as it is.
mod fleet;
mod holders;
mod inputs;
mod moving;
mod place;

pub(crate) use holders::Holders;
pub(crate) use inputs::Inputs;
pub(crate) use moving::Moving;
pub(crate) use place::IdleHolders;
