//! What somebody stands to lose by a wrong answer, and how often its results are audited for it.
//!
//! A verdict reaches what one order has locked of one provider's stake, takes a share of that, and takes it once. So what
//! counts against a gain is that share of a lock which was seen on the chain, and nothing after it was called in.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::{Address, Amount, AttemptId, JobId, SignedOrder, WorkerId};

use super::claim::Claim;
use crate::proof::{Costs, RateView, Record};
use crate::state::Core;

impl Core {
    /// What is locked of a provider's stake for the order of a job.
    pub(crate) fn on_lock_seen(&mut self, job: JobId, provider: Address, locked: Amount) {
        if let Some(job) = self.jobs.get_mut(&job).filter(|job| !job.has_ended()) {
            job.locks.insert(provider, locked);
        }
    }

    /// Those whose claims wait for a draw without it being known what is locked of their stake for the order: what the
    /// chain says of it belongs here before the draw.
    pub fn locks_unseen(&self) -> Vec<(JobId, SignedOrder, Address)> {
        let claims = self.claims.drawing.iter().filter_map(|id| self.claims.all.get(id));
        let pairs: BTreeSet<_> = claims.filter_map(|claim| Some((claim.attempt.job, claim.provider?))).collect();
        let unseen = |(job, provider): &(JobId, Address)| {
            self.jobs[job].locks.get(provider).is_none_or(|locked| *locked == Amount::ZERO)
        };
        let unseen = pairs.into_iter().filter(unseen);
        unseen.filter_map(|(job, provider)| Some((job, self.jobs[&job].order.clone()?, provider))).collect()
    }

    /// What a verdict takes by the chain's terms.
    pub(crate) fn verdict_takes(&self) -> Amount {
        self.params.work_lock.basis_points(self.params.slash_points)
    }

    /// What a verdict on a claim of a job would take of its provider's stake.
    fn at_stake(&self, job: JobId, provider: Address) -> Amount {
        // A lock is taken once, however many wrong answers there are.
        if self.convictions.iter().any(|conviction| conviction.job == job && conviction.provider == provider) {
            return Amount::ZERO;
        }
        let locked = self.jobs[&job].locks.get(&provider).copied().unwrap_or_default();
        locked.basis_points(self.params.slash_points)
    }

    /// Whether a lie in place of a claim's result could cost stake at all: by its check and runtime, with what is known of honest
    /// devices, and with enough others at hand who must come to the same.
    fn can_cost_stake(&self, claim: &Claim) -> bool {
        match self.costs_of(claim) {
            Costs::Trust => false,
            Costs::StakeForLies => self.may_blame(claim) && self.has_peers(claim),
            Costs::Stake => self.has_peers(claim),
        }
    }

    /// What a wrong answer to a claim's task costs.
    pub(crate) fn costs_of(&self, claim: &Claim) -> Costs {
        let plan = &self.jobs[&claim.attempt.job].groups[usize::from(claim.attempt.group)].plan;
        Costs::of(self.check_of_task(claim), plan.needs.runtime)
    }

    /// The rate at which a claim is audited that is drawn now, and what it rests on.
    pub(crate) fn rate_of_claim(&self, id: AttemptId) -> RateView {
        let claim = &self.claims.all[&id];
        let provider = claim.provider.filter(|_| self.params.orders);
        let at_stake = provider.filter(|_| self.can_cost_stake(claim));
        let loses = at_stake.map_or(Amount::ZERO, |provider| self.at_stake(claim.attempt.job, provider));
        self.rate_view(claim.attempt.worker, provider, loses)
    }

    /// The rate at which a worker's claims are audited while nothing is known against it, and what it may have unpaid: with
    /// the lock that a next order makes, as far as its stake is there for one.
    pub(crate) fn audit_rate(&self, worker: WorkerId) -> RateView {
        let provider = self.provider(worker).filter(|_| self.params.orders);
        let stake = provider.map_or(Amount::ZERO, |provider| self.stake(provider));
        let loses = stake.min(self.params.work_lock).basis_points(self.params.slash_points);
        self.rate_view(worker, provider, loses)
    }

    fn rate_view(&self, worker: WorkerId, provider: Option<Address>, loses: Amount) -> RateView {
        let record = &self.workers[worker.0 as usize].record;
        // Whoever was caught starts anew with all its workers: another name for a machine costs nothing.
        let bad = provider.map_or(0, |provider| self.wrong_answers(provider)).max(record.bad);
        let exposure = self.claims.exposure(provider);
        RateView::of(&self.params.audits, &Record { bad, ..*record }, loses, exposure)
    }

    /// How often workers of a provider were found wrong.
    pub(crate) fn wrong_answers(&self, provider: Address) -> u32 {
        self.wrong.get(&provider).copied().unwrap_or_default()
    }

    /// Whether a worker has as much unpaid work as its stake speaks for.
    pub(crate) fn is_stretched(&self, worker: WorkerId) -> bool {
        if self.claims.exposure.is_empty() || !self.params.orders {
            return false;
        }
        self.claims.exposure(self.provider(worker)) > Amount::ZERO && !self.audit_rate(worker).may_take(Amount(1))
    }
}
