//! Where running attempts were placed, and why there.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use gleaner_wire::{Amount, AttemptId, JobId, Millis, WorkerId};

use crate::attempt::{Attempt, Why};
use crate::data::Moving;
use crate::market::mode::rules;
use crate::state::Core;

/// A running attempt, as it was placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which.
    pub attempt: AttemptId,
    /// The job.
    pub job: JobId,
    /// The group.
    pub group: u16,
    /// The element.
    pub index: u32,
    /// On whose device.
    pub worker: WorkerId,
    /// When.
    pub at: Millis,
    /// Why there.
    pub reason: Reason,
}

/// Why an attempt was placed where it is. It takes little to make; its words are for whoever reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    why: Why,
    speed: u32,
    price: Amount,
    /// How many bytes its inputs have, and what had to be moved of them.
    data: Option<(u64, Moving)>,
    /// How its bid won, or that there was none.
    sale: Sale,
}

/// How a device came to a task, beside being the best one that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sale {
    /// In no other way.
    None,
    /// Its bid won, and why.
    Won(String),
    /// A bid won the device before, and it is kept at that price.
    Kept,
    /// Nobody bid.
    Unsold,
}

impl Reason {
    /// Whether it is a second attempt beside a slow one.
    pub fn is_second(&self) -> bool {
        matches!(self.why, Why::Second | Why::Hedge)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.data.map_or_else(String::new, |(all, moving)| data_words(all, moving));
        let words = format!("speed {}, {} GLN a second{data}", self.speed, self.price);
        match self.sale {
            Sale::Kept => f.write_str("an earlier bid won the device, which is kept at that price: ")?,
            Sale::Unsold => f.write_str("nobody bid for it in time, so it went by posted prices: ")?,
            Sale::None | Sale::Won(_) => {}
        }
        match (self.why, &self.sale) {
            (Why::Idle, _) => write!(f, "the best idle device that fits ({words})"),
            (Why::Ahead, _) => write!(f, "short work, sent ahead to a device that will be free soon ({words})"),
            (Why::Second, _) => write!(f, "a second attempt, because the first is slow ({words})"),
            (Why::Hedge, _) => write!(f, "beside another one in a race, where the first answer is paid ({words})"),
            (Why::Test, _) => write!(f, "the test of a worker on probation ({words})"),
            (Why::Audit(_), _) => write!(f, "the check of another worker's result ({words})"),
            (Why::Won, Sale::Won(words)) => f.write_str(words),
            (Why::Won, Sale::None | Sale::Kept | Sale::Unsold) => f.write_str("its bid won an auction"),
        }
    }
}

impl Core {
    /// Where a running attempt was placed; nothing of one that checks somebody else's result.
    pub fn placed(&self, id: AttemptId) -> Option<Placed> {
        let attempt = self.attempts.at(self.attempts.slot(id)?);
        (!attempt.is_audit()).then(|| self.placed_as(id, attempt))
    }

    /// Every running attempt that checks nothing.
    pub fn all_placed(&self) -> Vec<Placed> {
        let running = self.attempts.iter().filter(|(_, attempt)| !attempt.is_audit());
        running.map(|(slot, attempt)| self.placed_as(self.attempts.id(slot), attempt)).collect()
    }

    /// The worker that runs an attempt which is paid for.
    pub fn holder(&self, id: AttemptId) -> Option<WorkerId> {
        let attempt = self.attempts.at(self.attempts.slot(id)?);
        (!attempt.is_audit()).then_some(attempt.worker)
    }

    fn placed_as(&self, id: AttemptId, attempt: &Attempt) -> Placed {
        let Attempt { job, group, index, worker, placed, .. } = *attempt;
        Placed { attempt: id, job, group, index, worker, at: placed, reason: self.reason(attempt) }
    }

    /// Why an attempt was placed where it is, in words.
    pub(crate) fn why(&self, attempt: &Attempt) -> String {
        self.reason(attempt).to_string()
    }

    fn reason(&self, attempt: &Attempt) -> Reason {
        let seat = &self.seats[attempt.seat.0 as usize];
        let job = &self.jobs[&attempt.job];
        let group = &job.groups[usize::from(attempt.group)];
        let speed = seat.runtime(group.plan.needs.runtime).map_or(0, |offered| offered.speed);
        let data = group.inputs.as_ref().map(|inputs| (inputs.bytes, attempt.moving));
        let sale = rules(job.market.mode).sold(self, job, attempt);
        Reason { why: attempt.why, speed, price: attempt.price, data, sale }
    }
}

/// How much of a task's data was where it runs.
fn data_words(all: u64, Moving { bytes, time }: Moving) -> String {
    let mb = |bytes: u64| bytes.saturating_add(500_000) / 1_000_000;
    let held = mb(all.saturating_sub(bytes));
    match (bytes, time.0) {
        (0, 0) => format!(", holds all {} MB of its data", mb(all)),
        (0, _) => format!(", waits about {} s for data that it fetches already", time.0.div_ceil(1_000_000)),
        _ => format!(
            ", holds {held} of {} MB of its data and fetches {} MB first, about {} s",
            mb(all),
            mb(bytes),
            time.0.div_ceil(1_000_000)
        ),
    }
}
