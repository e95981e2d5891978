//! How an attempt ends on this machine, before anything is delivered.
use gleaner_wire::check::Compared;
use gleaner_wire::{Cause, DETAIL_BYTES_MAX, Micros};

use crate::product::Product;

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}: {detail}")]
pub struct Failure {
    /// The cause, out of the closed list.
    pub cause: Cause,
    /// In words, for the requester.
    pub detail: String,
}

impl Failure {
    /// A failure with a text that is cut to what a message may hold.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        let mut detail: String = detail.into();
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
        Self { cause, detail }
    }
}

/// How a run ended.
#[derive(Debug)]
pub enum End {
    /// It delivered.
    Done(Product),
    /// It failed.
    Failed(Failure),
    /// It was not wanted any more.
    Cancelled,
    /// It compared two results.
    Compared(Compared),
}

/// One run of an attempt.
#[derive(Debug)]
pub struct Run {
    /// How long it took on the device.
    pub ran: Micros,
    /// How it ended.
    pub end: End,
}
