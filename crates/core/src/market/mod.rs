//! How a task finds its worker and what that costs: auctions of sealed bids, races, how firm a place is, what devices are
//! worth, and how many of its own the platform wants.
//!
//! [`auction`] is the rule by which bids win and are paid, pure arithmetic. Around it is how auctions are opened, kept and
//! ended: whom to invite, when bids are in, who gets which task. `mode` is what posted prices, auctions and races have in
//! common.
pub mod auction;
mod auctioned;
mod auctions;
mod award;
mod bids;
mod bond;
mod demand;
mod index;
mod invite;
pub(crate) mod mode;
pub(crate) mod parts;
mod posted;
pub(crate) mod race;
mod record;
mod sale;
mod sample;
pub mod tier;
mod words;

pub(crate) use auctions::{Auctions, Entry};
pub(crate) use award::Award;
pub use bond::WITHHELD_POINTS;
pub use demand::Terms;
pub(crate) use demand::{Demand, Load};
pub(crate) use index::PriceIndex;
pub use record::Record;
pub(crate) use record::counts;
pub(crate) use sale::Sale;
pub(crate) use sample::Sample;
