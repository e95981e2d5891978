//! Every decision of a hub, pure: plan, quote, place, lease, blame, share, pay.
//!
//! Events go in, effects come out: `Core::apply` never waits, reads a clock, draws chance or logs. The hub journals events
//! before it applies them, so replaying the journal gives the same state; the simulator runs this very code.
#![no_std]
extern crate alloc;

mod alarms;
mod assign;
mod attempt;
mod audit;
pub mod blame;
mod check;
mod complete;
mod data;
mod effect;
mod engine;
mod event;
mod explain;
mod failure;
mod fault;
mod feed;
mod figures;
mod job;
mod learn;
mod lease;
pub mod ledger;
mod lengths;
mod logarithm;
mod managed;
pub mod market;
mod memo;
mod on;
mod params;
mod pay;
mod place;
mod placed;
pub mod plan;
pub mod pool;
pub mod proof;
mod queue;
mod quote;
mod screen;
mod search;
mod share;
mod standing;
mod state;
mod tail;
mod view;

pub use audit::{AnswerNote, AuditNote, Conviction, DrawNote, Proof, Verdict};
pub use effect::Effect;
pub use event::{ChainTerms, Closing, Event, Session, Ticket};
pub use figures::{Part, Supply};
pub use market::Terms;
pub use market::tier::price as tier_price;
pub use params::Params;
pub use pay::{Bill, Receipt};
pub use placed::{Placed, Reason};
pub use quote::{ERROR_BOUNDS, Errors, TooManyKinds};
pub use search::{Cursor, CursorError, FOUND_MAX, Found, SORTED_MAX, SortedCursor, TooMany};
pub use state::{Core, SnapshotError, Totals};
pub use view::AttemptLabel;
