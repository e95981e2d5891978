//! The world's own books of awards: one for a task at a time, and never at a price that the job could not pay.
use std::collections::BTreeMap;

use gleaner_core::Core;
use gleaner_wire::market::{Mode, Tier};
use gleaner_wire::{Amount, AttemptId, JobId, Micros, StartAttempt, WorkerId};

use crate::books::ensure;
use crate::job_plan::JobPlan;

/// The books.
#[derive(Default)]
pub(crate) struct AwardBooks {
    awarded: BTreeMap<(JobId, u16, u32), AttemptId>,
    /// What devices have won, which reserved jobs keep at that price.
    won: BTreeMap<(JobId, WorkerId, u16), Amount>,
}

impl AwardBooks {
    /// The price at which a reserved job has won a device.
    pub fn won(&self, worker: WorkerId, start: &StartAttempt) -> Option<Amount> {
        self.won.get(&(start.job, worker, start.device)).copied()
    }

    /// A task went to the winner of an auction.
    pub fn start(
        &mut self,
        core: &Core,
        plan: &JobPlan,
        worker: WorkerId,
        start: &StartAttempt,
        price: Amount,
    ) -> Result<(), String> {
        let name = || format!("task {}.{}.{}", start.job, start.group, start.index);
        ensure(plan.file.market.mode == Mode::Auction, || format!("{} was auctioned unasked", name()))?;
        let before = self.awarded.insert((start.job, start.group, start.index), start.attempt);
        if plan.file.market.tier == Tier::Reserved {
            self.won.insert((start.job, worker, start.device), price);
        }
        let twice = before.is_some_and(|before| core.runs(before));
        ensure(!twice, || format!("{} was awarded twice", name()))?;
        let summary = core.job_summary(start.job).ok_or("an award of a job that is not there")?;
        // The hub never promises more running time than the cap pays for at this price.
        let most = price.per_second_over(Micros(start.time_ms.micros().0.saturating_sub(1_000)));
        // Where it was quoted, more is set aside while it runs, and it is stopped when there is no more.
        let quoted = || core.job_view(start.job).is_some_and(|view| view.quoted.is_some());
        ensure(most <= summary.price_max || quoted(), || format!("{} is paid more than its job may cost", name()))
    }
}
