//! The keeper: the one thread that owns the core and the journal.
//!
//! Each turn it takes what has arrived, puts it on disk as one batch, applies it, performs what the core asks for, and
//! answers questions. It decides nothing itself.
mod announce;
mod batch;
mod command;
mod outbox;
mod perform;
mod turn;

pub(crate) use command::{Command, Handle, Join, Outgoing, Report, Unavailable, channel};
pub(crate) use outbox::{Backlog, BacklogReceiver};
pub(crate) use turn::{Ending, Keeper, Parts};
