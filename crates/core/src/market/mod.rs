//! How a task finds its worker other than by posted prices: auctions of sealed bids.
//!
//! [`auction`] is the rule by which bids win and are paid, pure arithmetic. The rest is how auctions are opened, kept and
//! ended around it: whom to invite, when bids are in, who gets which task.
pub mod auction;
mod auctions;
mod award;
mod bids;
mod bond;
mod invite;
mod record;
mod sale;
mod words;

pub(crate) use auctions::{Auctions, Entry};
pub(crate) use award::Award;
pub use record::Record;
pub(crate) use sale::Sale;
