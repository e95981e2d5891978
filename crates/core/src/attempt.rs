//! Attempts: who tries which task, since when, until when, and with how much money behind it.
use alloc::boxed::Box;
use alloc::vec::Vec;
use gleaner_wire::{Amount, AttemptId, JobId, Micros, Millis, Output, WorkerId};
use serde::{Deserialize, Serialize};

use crate::data::Moving;
use crate::market::tier::Notice;
use crate::place::SeatId;

/// Why an attempt was placed where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Why {
    /// The best idle seat.
    Idle,
    /// Short work sent ahead to a busy seat.
    Ahead,
    /// A second attempt beside a slow one.
    Second,
    /// The test of a worker on probation.
    Test,
    /// The check of another worker's result; nothing is paid for it.
    Audit(AttemptId),
    /// The best bid of an auction.
    Won,
    /// Beside another one in a race.
    Hedge,
}

/// One try of a task on one seat.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub job: JobId,
    pub group: u16,
    pub index: u32,
    pub worker: WorkerId,
    pub seat: SeatId,
    /// Its place in the worker's list.
    pub position: u32,
    pub why: Why,
    pub placed: Millis,
    pub predicted: Option<Micros>,
    /// When it should be done; `None` if its length is not known.
    pub expected: Option<Millis>,
    /// When to suspect that it is stuck.
    pub suspect_at: Millis,
    /// When the lease lapses unless renewed.
    pub lease: Millis,
    /// When even a worker that renews must have reported.
    pub deadline: Millis,
    /// What had to be moved to its worker first.
    pub moving: Moving,
    /// Running time that is paid for.
    pub time_ms: Millis,
    /// Money set aside for it.
    pub hold: Amount,
    pub price: Amount,
    /// The other attempt at the same task.
    pub twin: Option<u32>,
    /// The build of the engine that it was given to.
    pub engine: u16,
    /// Whether it goes on from where an earlier one was, so that its time says nothing of the whole.
    pub resumed: bool,
    /// The results that it compares, instead of running anything.
    pub compare: Option<Box<[Output; 2]>>,
    /// Whether its worker has shown that it holds it.
    pub begun: bool,
    /// How many attempts at the task were called off for faster ones before this one.
    pub replaced: u8,
    /// When more must be set aside for it, if its job was quoted.
    pub uncovered_at: Option<Millis>,
    /// What will be wasted if it wins a race, as far as one can tell; nothing if it runs beside no other.
    pub risk: Micros,
    /// Whether it must give its seat up.
    pub notice: Option<Notice>,
    /// Whether it has saved how far it is.
    pub saved: bool,
}

impl Attempt {
    /// When to look at it next.
    pub fn wakes_at(&self) -> Millis {
        let first = self.lease.min(self.deadline).min(self.suspect_at);
        let notice = self.notice.map(|notice| notice.by);
        self.uncovered_at.into_iter().chain(notice).fold(first, Millis::min)
    }

    /// Whether it checks somebody else's result.
    pub fn is_audit(&self) -> bool {
        matches!(self.why, Why::Audit(_))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Slot {
    generation: u32,
    attempt: Option<Attempt>,
}

/// All running attempts. A slot is used again under a new generation, so an old id never finds a new attempt.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Attempts {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Attempts {
    pub fn insert(&mut self, attempt: Attempt) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize].attempt = Some(attempt);
            return slot;
        }
        self.slots.push(Slot { generation: 1, attempt: Some(attempt) });
        self.slots.len() as u32 - 1
    }

    pub fn remove(&mut self, slot: u32) -> Attempt {
        let entry = &mut self.slots[slot as usize];
        entry.generation = entry.generation.wrapping_add(1).max(1);
        self.free.push(slot);
        entry.attempt.take().expect("only a running attempt is removed")
    }

    pub fn id(&self, slot: u32) -> AttemptId {
        AttemptId(u64::from(self.slots[slot as usize].generation) << 32 | u64::from(slot))
    }

    /// The slot of an attempt that still runs.
    pub fn slot(&self, id: AttemptId) -> Option<u32> {
        let (generation, slot) = ((id.0 >> 32) as u32, id.0 as u32);
        let entry = self.slots.get(slot as usize)?;
        (entry.generation == generation && entry.attempt.is_some()).then_some(slot)
    }

    pub fn at(&self, slot: u32) -> &Attempt {
        self.slots[slot as usize].attempt.as_ref().expect("the slot of a running attempt")
    }

    /// The attempt in a slot, if one runs there.
    pub fn get(&self, slot: u32) -> Option<&Attempt> {
        self.slots.get(slot as usize)?.attempt.as_ref()
    }

    pub fn at_mut(&mut self, slot: u32) -> &mut Attempt {
        self.slots[slot as usize].attempt.as_mut().expect("the slot of a running attempt")
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Attempt)> {
        (0..).zip(&self.slots).filter_map(|(slot, entry)| Some((slot, entry.attempt.as_ref()?)))
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
