//! One attempt that runs in a cell.
use std::time::Duration;

use gleaner_wire::{AttemptId, Micros, TaskSpec};

use crate::deliver::{Delivery, Sealing};
use crate::failure::{End, Failure, Run};
use crate::group::Ready;
use crate::log::Log;
use crate::watch::Watch;

/// An attempt with everything that it needs.
pub struct Task<'a> {
    pub(super) ready: &'a Ready,
    pub(super) watch: Watch,
    pub(super) log: Log,
    pub(super) delivery: &'a Delivery,
    pub(super) sealing: Sealing,
    /// Told when nothing of it holds on to the device any more.
    pub(super) freed: &'a dyn Fn(),
}

impl<'a> Task<'a> {
    /// An attempt that is ready; `freed` is told when nothing of it holds on to the device any more.
    pub fn new(
        ready: &'a Ready,
        watch: Watch,
        log: Log,
        delivery: &'a Delivery,
        sealing: Sealing,
        freed: &'a dyn Fn(),
    ) -> Self {
        Self { ready, watch, log, delivery, sealing, freed }
    }

    pub(super) fn attempt(&self) -> AttemptId {
        self.ready.attempt
    }

    pub(super) fn spec(&self) -> &'a TaskSpec {
        &self.ready.group.spec
    }

    pub(super) fn time(&self) -> Duration {
        Duration::from_millis(self.ready.time.0)
    }
}

/// A run that failed after so long.
pub(super) fn failed(ran: Duration, failure: Failure) -> Run {
    Run { ran: micros(ran), end: End::Failed(failure) }
}

pub(super) fn micros(time: Duration) -> Micros {
    Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}
