//! What must be moved to a worker before a task can run there, and how long that takes.
use gleaner_wire::{Micros, Millis, WorkerId};
use serde::{Deserialize, Serialize};

use super::{Holders, Inputs};
use crate::attempt::{Attempt, Why};
use crate::job::Group;
use crate::state::Core;

/// The longest that a task is expected to wait for its data, whatever its requester says of the size.
const MOVING_MAX: Micros = Micros(48 * 3_600_000_000);
/// A line is never thought to be slower than the default by more than this, or faster.
const LINE_SLOWER_MAX: u64 = 16;
const LINE_FASTER_MAX: u64 = 1024;
/// What takes no time worth counting.
const NEGLIGIBLE: u64 = 1_000_000;
/// Shorter transfers say little about a line.
const MEASURED_MIN: Millis = Millis(100);
/// Slack for attempts that wait for data, beside a multiple of what the move should take.
const SLACK: Millis = Millis(30_000);

/// A move that comes before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moving {
    /// What must still be sent.
    pub bytes: u64,
    /// How long until all of it is there.
    pub time: Micros,
}

impl Moving {
    /// What a worker lacks of a group's inputs, at so many bytes a second.
    pub fn of(inputs: &Inputs, holders: &Holders, worker: WorkerId, line: u64, now: Millis) -> Self {
        let (mut bytes, mut underway) = (0_u64, Micros(0));
        for (id, size) in &inputs.sets {
            let holder = holders.of(*id, worker).unwrap_or_default();
            match holder.whole_at {
                Some(at) => underway = underway.max(at.since(now).micros()),
                None => bytes = bytes.saturating_add(size.saturating_sub(holder.bytes)),
            }
        }
        let bytes = if bytes < NEGLIGIBLE { 0 } else { bytes };
        Self { bytes, time: Micros((underway.0 + time_of(bytes, line).0).min(MOVING_MAX.0)) }
    }

    /// What a stalling network may take beyond the expected time before anyone is suspected.
    pub fn patience(self) -> Millis {
        if self.time.0 == 0 { Millis(0) } else { Millis(self.time.millis().0 * 2) }
    }

    /// What is added to the time after which even a worker that renews its lease must have reported.
    pub fn deadline(self) -> Millis {
        if self.time.0 == 0 { Millis(0) } else { Millis(self.time.millis().0 * 8).after(SLACK) }
    }
}

/// How long so many bytes take.
pub(super) fn time_of(bytes: u64, line: u64) -> Micros {
    let micros = u128::from(bytes) * 1_000_000 / u128::from(line.max(1));
    Micros(u64::try_from(micros).unwrap_or(u64::MAX).min(MOVING_MAX.0))
}

impl Core {
    /// Bytes a second that reach a worker: as its last transfers showed, or the default.
    pub(crate) fn line(&self, worker: WorkerId) -> u64 {
        self.workers[worker.0 as usize].line.unwrap_or(self.params.line_bytes_per_second)
    }

    /// What must be moved to a worker before it can run an element of a group.
    pub(crate) fn moving(&self, group: &Group, worker: WorkerId) -> Moving {
        match &group.inputs {
            Some(inputs) => Moving::of(inputs, &self.holders, worker, self.line(worker), self.now),
            None => Moving::default(),
        }
    }

    /// An attempt was delivered, so its worker has the data; how long it took says how fast its line is.
    pub(crate) fn learn_holder(&mut self, attempt: &Attempt, ran: Micros) {
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        let Some(inputs) = &group.inputs else { return };
        for (id, _) in &inputs.sets {
            self.holders.expect(attempt.worker, *id, self.now);
        }
        let took = self.now.since(attempt.placed).since(ran.millis());
        let waited = match attempt.why {
            Why::Ahead => true,
            Why::Idle | Why::Second | Why::Test | Why::Audit(_) | Why::Won | Why::Hedge => false,
        };
        let says_nothing = inputs.is_guess || attempt.moving.bytes < self.params.data_bytes_min;
        if says_nothing || took < MEASURED_MIN || waited {
            return;
        }
        let default = self.params.line_bytes_per_second;
        let seen = (u128::from(attempt.moving.bytes) * 1000 / u128::from(took.0)).min(u128::from(u64::MAX)) as u64;
        let seen = seen.clamp(default / LINE_SLOWER_MAX, default.saturating_mul(LINE_FASTER_MAX));
        let worker = &mut self.workers[attempt.worker.0 as usize];
        worker.line = Some(worker.line.map_or(seen, |line| line / 2 + seen / 2));
    }

    /// An attempt failed: whether its worker ever got the data is not known.
    pub(crate) fn doubt_holder(&mut self, attempt: &Attempt) {
        let group = &self.jobs[&attempt.job].groups[usize::from(attempt.group)];
        for (id, _) in group.inputs.iter().flat_map(|inputs| &inputs.sets) {
            self.holders.doubt(attempt.worker, *id);
        }
    }
}
