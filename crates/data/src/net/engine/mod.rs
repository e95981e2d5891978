//! Everything that fetches: asks many sources at once, takes what they answer, and hands it to where it goes.
//!
//! The shell around [`super::schedule`]: whatever happens is told to the scheduler, whatever it plans is done. Which
//! chunks are wanted and where they go is the business of a [`Place`]: a store that keeps them, or a shelf that an unpack
//! takes them from. Nothing here knows which of them it is.
mod kept;
pub mod pace;
mod place;
mod progress;
mod requests;
mod run;
mod steering;

pub use pace::Pace;
pub(super) use place::{Amount, Place, Room};
pub use progress::{Progress, SourceProgress};
pub(super) use run::{Engine, Plan};
pub(super) use steering::Steering;
pub use steering::{Control, Update};

use gleaner_wire::BlobRef;

/// A chunk that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Where it is in the dataset's list.
    pub position: u32,
    /// What it is.
    pub blob: BlobRef,
}
