//! What is due when. Most alarms are not taken back: whoever set one looks, when it rings, whether it still means
//! something. Only those that lie far ahead are.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gleaner_wire::{AuctionId, JobId, Millis, WorkerId};
use serde::{Deserialize, Serialize};

use crate::place::ShapeId;

/// Alarms ring at whole multiples of this, so that a million of them share a few entries.
const STEP_MS: u64 = 64;

/// Something that is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Alarm {
    Worker(WorkerId),
    Job(JobId),
    Shape(ShapeId),
    Auction(AuctionId),
    Demand,
}

/// All alarms that are set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Alarms(BTreeMap<Millis, Vec<Alarm>>);

impl Alarms {
    /// Sets an alarm for this time or a moment later; returns when it will ring.
    pub fn set(&mut self, at: Millis, alarm: Alarm) -> Millis {
        let at = rounded(at);
        self.0.entry(at).or_default().push(alarm);
        at
    }

    /// Takes back an alarm that was set for this time.
    pub fn unset(&mut self, at: Millis, alarm: Alarm) {
        let at = rounded(at);
        if let Some(alarms) = self.0.get_mut(&at) {
            alarms.retain(|set| *set != alarm);
            if alarms.is_empty() {
                self.0.remove(&at);
            }
        }
    }

    /// When the next one rings.
    pub fn next(&self) -> Option<Millis> {
        self.0.keys().next().copied()
    }

    /// Takes the alarms of the earliest time that has come.
    pub fn ring(&mut self, now: Millis) -> Option<Vec<Alarm>> {
        let first = self.0.first_entry()?;
        (*first.key() <= now).then(|| first.remove())
    }
}

fn rounded(at: Millis) -> Millis {
    Millis(at.0.div_ceil(STEP_MS).saturating_mul(STEP_MS))
}
