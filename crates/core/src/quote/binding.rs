//! A quote that was accepted: the order is for exactly its price, and an overrun is never the requester's.
//!
//! The cap of a quoted job leaves little to set aside, so an attempt starts with what it should cost and gets more while it
//! runs. Once the cap is used up, the platform goes on paying up to a bound out of what it has earned; beyond that the job
//! ends. Where money is on a chain, only the order can be paid out, and the job ends at its cap.
use alloc::string::String;
use alloc::vec::Vec;
use gleaner_wire::api::QuotedView;
use gleaner_wire::{Amount, Cause, Hash, JobId, Micros, Millis, Quote};
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::job::{Job, Phase};
use crate::ledger::Account;
use crate::plan::{self, Graph, Group};
use crate::state::Core;

/// What the platform adds to a quoted price at most, in hundredths of a percent of it.
const BACKING_POINTS: u32 = 2500;
/// How long an attempt of a quoted job may run beyond what is set aside for it before more is.
const CREDIT: Millis = Millis(2000);

/// What was promised to a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quoted {
    pub quote: Quote,
    /// What the platform has put into the order.
    pub backed: Amount,
}

impl Graph {
    /// What is to be done, whatever it costs and whatever matters more: what a quote is for.
    pub fn work(&self) -> Hash {
        let groups: Vec<(&_, &_, bool)> =
            self.groups.iter().map(|Group { spec, needs, memo }| (spec, needs, *memo)).collect();
        let work = (&self.name, self.market, self.time_max, groups);
        Hash::of(&postcard::to_allocvec(&work).expect("plans hold nothing that postcard cannot encode"))
    }

    /// Whether a quote that the hub has signed is for this job, and still holds.
    pub(crate) fn fits_quote(&self, quote: &Quote, now: Millis) -> Result<(), String> {
        if quote.until < now {
            return Err("the quote has run out: ask for a new one".into());
        }
        if quote.work != self.work() || quote.prefer != self.prefer {
            return Err("the quote is for another job".into());
        }
        match self.price_max == Some(quote.price) {
            true => Ok(()),
            false => Err(alloc::format!("the quote is for {} GLN, and the job's cap is another", quote.price)),
        }
    }
}

impl Job {
    /// What may be spent on it in all: its cap, and what the platform has added.
    pub fn covered(&self) -> Amount {
        Amount(self.price_max.0 + self.quoted.as_ref().map_or(0, |quoted| quoted.backed.0))
    }

    /// What its requester has paid.
    pub fn charged(&self) -> Amount {
        self.spent.min(self.price_max)
    }

    /// How far cost and time are from what was quoted, in thousandths; only a job that was done, all of it by running, tells.
    fn errors(&self) -> Option<(u64, u64)> {
        let (quoted, ended) = (self.quoted.as_ref()?, self.ended_at?);
        let tells = self.phase == Phase::Done && self.known == 0;
        let error = |was: u64, should: u64| was.abs_diff(should).saturating_mul(1000) / should.max(1);
        let took = ended.since(self.submitted_at).0;
        tells.then(|| (error(self.spent.0, quoted.quote.expected.0), error(took, quoted.quote.time_ms.0)))
    }

    pub fn quoted_view(&self) -> Option<QuotedView> {
        let quoted = self.quoted.as_ref()?;
        let errors = self.errors();
        Some(QuotedView {
            id: quoted.quote.id(),
            price: quoted.quote.price,
            expected: quoted.quote.expected,
            time_ms: quoted.quote.time_ms,
            platform_paid: Amount(self.spent.0 - self.charged().0),
            price_error_mille: errors.map(|(price, _)| price),
            time_error_mille: errors.map(|(_, time)| time),
        })
    }
}

impl Core {
    /// Sets more aside for an attempt of a quoted job: out of the order, or else out of what the platform adds. Says whether
    /// all of it could be had.
    pub(crate) fn set_more_aside(&mut self, slot: u32, wanted: Amount) -> bool {
        let attempt = self.attempts.at(slot);
        let more = Amount(wanted.0.saturating_sub(attempt.hold.0));
        let id = attempt.job;
        let short = more.0.saturating_sub(self.jobs[&id].money_left().0);
        if short > 0 {
            self.back(id, Amount(short));
        }
        let job = self.jobs.get_mut(&id).expect("an attempt's job is there");
        let had = more.min(job.money_left());
        job.held = Amount(job.held.0 + had.0);
        let attempt = self.attempts.at_mut(slot);
        attempt.hold = Amount(attempt.hold.0 + had.0);
        had == more
    }

    /// The platform adds to the order of a quoted job, as far as it may and can.
    fn back(&mut self, id: JobId, wanted: Amount) {
        let job = self.jobs.get_mut(&id).expect("only live jobs are backed");
        let Some(quoted) = job.quoted.as_mut().filter(|_| job.order.is_none()) else { return };
        let bound = quoted.quote.price.basis_points(BACKING_POINTS);
        let may = Amount(bound.0 - quoted.backed.0);
        let adds = wanted.min(may).min(self.ledger.balance(&Account::Platform));
        if self.ledger.transfer(&Account::Platform, &Account::Order(id), adds).is_ok() {
            quoted.backed = Amount(quoted.backed.0 + adds.0);
        }
    }

    /// A quoted job cannot go on with what is left of its order: the platform adds what it may. Says whether that is anything.
    pub(crate) fn back_all(&mut self, id: JobId) -> bool {
        let before = self.jobs[&id].covered();
        self.back(id, before);
        let more = self.jobs[&id].covered() > before;
        if more {
            self.money_came_back(id);
        }
        more
    }

    /// An attempt of a quoted job has ended: what it ran for is set aside, as far as there is money for it.
    pub(crate) fn cover_run(&mut self, slot: u32, ran: Micros) {
        let attempt = self.attempts.at(slot);
        if self.jobs[&attempt.job].quoted.is_some() {
            let wanted = attempt.price.per_second_over(ran);
            self.set_more_aside(slot, wanted);
        }
    }

    /// A quoted job ended: what the platform has added and was not needed is its own again.
    pub(crate) fn take_back_backing(&mut self, id: JobId) {
        let job = self.jobs.get_mut(&id).expect("only live jobs end");
        let needed = job.spent.0 - job.charged().0;
        let Some(quoted) = &mut job.quoted else { return };
        let rest = Amount(quoted.backed.0 - needed);
        quoted.backed = Amount(needed);
        let back = self.ledger.transfer(&Account::Order(id), &Account::Platform, rest);
        back.expect("an order holds what was added to it and not spent");
        let job = &self.jobs[&id];
        if let Some((price, time)) = job.errors() {
            self.totals.quote_price_errors.note(price);
            self.totals.quote_time_errors.note(time);
        }
        self.totals.quotes_backed += u64::from(needed > 0);
        self.totals.quote_backing = Amount(self.totals.quote_backing.0.saturating_add(needed));
    }

    /// An attempt of a quoted job has used up what was set aside for it. It goes on if there is more; otherwise it is
    /// called off, and the job has run out of money.
    pub(crate) fn cover(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        let attempt = self.attempts.at(slot);
        let elapsed = self.now.since(attempt.placed.after(attempt.moving.time.millis()));
        let wanted = attempt.price.per_second_over(Millis(elapsed.0 + elapsed.0 / 4 + 1000).micros());
        let (job, id, worker) = (attempt.job, self.attempts.id(slot), attempt.worker);
        if self.set_more_aside(slot, wanted) {
            let attempt = self.attempts.at(slot);
            let at = uncovered_at(attempt.price, attempt.hold, attempt.placed);
            self.attempts.at_mut(slot).uncovered_at = Some(at.max(self.now.after(Millis(1))));
            return;
        }
        effects.push(Effect::CancelAttempt { worker, attempt: id });
        let detail = "what was quoted for the job is used up";
        self.fail_by_id(id, Cause::HubFault, detail, effects);
        if self.jobs.get(&job).is_some_and(Job::is_running) {
            self.run_out_of_money(job, effects);
        }
    }
}

/// When more must be set aside for an attempt of a quoted job.
pub(crate) fn uncovered_at(price: Amount, hold: Amount, since: Millis) -> Millis {
    since.after(hold.lasts_at(price).millis()).after(CREDIT).min(since.after(plan::TIME_MAX))
}
