//! Payment of attempts: what moves from a job's order to a worker and to the platform, and the record of it.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::{Address, Amount, AttemptId, Hash, JobId, Micros, SignedOrder, State, TaskId, WorkerId, WorkerKey};
use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::audit::Verdict;
use crate::job::{Job, Paid, Phase};
use crate::ledger::Account;
use crate::market::mode::rules;
use crate::state::Core;

/// A worker's part of a job's bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    /// Who.
    pub worker: WorkerId,
    /// What the requester pays for its work.
    pub gross: Amount,
    /// What of that is the worker's.
    pub net: Amount,
}

/// The record of one paid attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// What was done.
    pub task: TaskId,
    /// By which attempt.
    pub attempt: AttemptId,
    /// Who did it.
    pub worker: WorkerKey,
    /// Who is paid for it.
    pub provider: Address,
    /// For how long it ran.
    pub ran: Micros,
    /// What it cost the requester.
    pub gross: Amount,
    /// The hash of what it delivered; nothing if it failed by the program's own fault.
    pub output: Option<Hash>,
    /// How it was checked.
    pub verdict: Verdict,
}

impl Core {
    /// Pays a worker for the time it ran, out of what was set aside, less a bond that it has lost and the platform's share.
    ///
    /// The share is taken of all that the worker has done for the job so far, so that it comes out as it does when the
    /// sum is settled at once.
    pub(crate) fn pay(&mut self, attempt: &Attempt, id: AttemptId, ran: Micros, delivered: bool, verdict: Verdict) {
        let full = attempt.price.per_second_over(ran).min(attempt.hold);
        // Only what has a receipt, which shows it.
        let bond = if delivered { self.withhold_bond(attempt.worker, full) } else { Amount::ZERO };
        let gross = Amount(full.0 - bond.0);
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        let tally = job.tallies.entry(attempt.worker).or_default();
        let before = tally.gross.basis_points(job.share_points);
        tally.gross = Amount(tally.gross.0 + gross.0);
        let share = Amount(tally.gross.basis_points(job.share_points).0 - before.0);
        let earned = Amount(gross.0 - share.0);
        tally.earned = Amount(tally.earned.0 + earned.0);
        job.spent = Amount(job.spent.0 + gross.0);
        if job.order.is_some() {
            let (group, index, worker) = (attempt.group, attempt.index, attempt.worker);
            job.paid.push(Paid { attempt: id, group, index, worker, delivered, ran, gross, verdict });
        }
        let order = Account::Order(attempt.job);
        let paid = self.ledger.transfer(&order, &Account::Platform, share);
        let paid = paid.and_then(|()| self.ledger.transfer(&order, &Account::Worker(attempt.worker), earned));
        paid.expect("what was set aside for an attempt is part of its order");
        if delivered {
            rules(self.jobs[&attempt.job].market.mode).paid(self, attempt, ran);
        }
    }

    /// What the requester signed for a job.
    pub fn order(&self, job: JobId) -> Option<&SignedOrder> {
        self.jobs.get(&job)?.order.as_ref()
    }

    /// Jobs that wait for their money to be locked, with what their requesters signed.
    pub fn orders_unlocked(&self) -> Vec<(JobId, SignedOrder)> {
        let waiting = self.jobs.values().filter(|job| job.phase == Phase::Ordered);
        waiting.filter_map(|job| Some((job.id, job.order.clone()?))).collect()
    }

    /// Jobs that run on locked money, with what they have paid so far.
    pub fn orders_running(&self) -> Vec<(JobId, SignedOrder, Amount)> {
        let running = self.jobs.values().filter(|job| job.is_running());
        running.filter_map(|job| Some((job.id, job.order.clone()?, job.spent))).collect()
    }

    /// Whether the money of a job's order was locked.
    pub fn was_locked(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|job| job.locked)
    }

    /// The account that is paid for a worker's work.
    pub fn provider(&self, worker: WorkerId) -> Option<Address> {
        self.workers.get(worker.0 as usize)?.offer.provider
    }

    /// What stands behind a provider's workers, as far as it is known.
    pub fn stake(&self, provider: Address) -> Amount {
        self.stakes.get(&provider).copied().unwrap_or_default()
    }

    /// The accounts behind connected workers.
    pub fn providers(&self) -> Vec<Address> {
        let online = self.workers.iter().filter(|worker| worker.state != State::Offline);
        let providers: BTreeSet<Address> = online.filter_map(|worker| worker.offer.provider).collect();
        providers.into_iter().collect()
    }

    /// Who is paid how much for a job so far; workers that earned nothing are left out.
    pub fn bills(&self, job: JobId) -> Vec<Bill> {
        let tallies = self.jobs.get(&job).into_iter().flat_map(|job| &job.tallies);
        let bills = tallies.map(|(worker, tally)| Bill { worker: *worker, gross: tally.gross, net: tally.earned });
        bills.filter(|bill| bill.gross > Amount::ZERO).collect()
    }

    /// The receipts of a job that has an order, in the order of payment, from `first` on.
    pub fn receipts(&self, job: JobId, first: usize, count: usize) -> Vec<Receipt> {
        let Some(job) = self.jobs.get(&job) else { return Vec::new() };
        let paid = job.paid.get(first..).unwrap_or_default().iter().take(count);
        paid.map(|paid| self.receipt(job, paid)).collect()
    }

    fn receipt(&self, job: &Job, paid: &Paid) -> Receipt {
        let worker = &self.workers[paid.worker.0 as usize];
        let output = job.groups[usize::from(paid.group)].output(paid.index).filter(|_| paid.delivered);
        Receipt {
            task: TaskId { job: job.id, group: paid.group, index: paid.index },
            attempt: paid.attempt,
            worker: worker.key,
            provider: worker.offer.provider.unwrap_or(Address([0; 20])),
            ran: paid.ran,
            gross: paid.gross,
            output: output.map(|output| output.hash()),
            verdict: paid.verdict,
        }
    }
}
