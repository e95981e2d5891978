//! Schedules, licences, rewards and votes: the model's against the chain's.
use alloy_primitives::U256;
use futures_util::future::join_all;
use gleaner_chain::contracts::{GleanerGovernor, Licences, Rewards, Vesting};
use gleaner_chain::genesis::PARAMETERS;
use gleaner_chain::market;
use gleaner_chain::model::{Action, NOBODY, Sharing, Stage, Standing, Who};
use gleaner_wire::Amount;

use super::world::{PEOPLE, World};

/// Epochs without anything are looked at up to here.
const EPOCHS_LOOKED_AT: u64 = 24;

impl World {
    pub async fn compare_months(&self, context: &str) {
        join_all((0..self.model.schedules.len()).map(|id| self.compare_schedule(id, context))).await;
        join_all((0..self.model.licences.len()).map(|place| self.compare_licence(place, context))).await;
        join_all(self.model.epochs.keys().map(|epoch| self.compare_epoch(*epoch, context))).await;
        join_all(self.model.proposals.keys().map(|number| self.compare_proposal(*number, context))).await;
        join_all((0..PEOPLE).map(|who| self.compare_votes(Who(who), context))).await;
    }

    async fn compare_schedule(&self, id: usize, context: &str) {
        let (here, at) = (&self.model.schedules[id], &self.market.deployment);
        let found = self.market.read(at.vesting, &Vesting::scheduleCall { id: U256::from(id) }).await.expect("one");
        let there = (found.beneficiary, found.start, found.cliffMonths, found.durationMonths);
        let beneficiary = self.address(here.beneficiary);
        assert_eq!(there, (beneficiary, here.start, here.cliff, here.duration), "schedule {id} after {context}");
        let there = [found.total, found.atLaunch, found.released];
        assert_eq!(there, [here.total, here.at_launch, here.released].map(U256::from), "schedule {id} after {context}");
    }

    async fn compare_licence(&self, place: usize, context: &str) {
        let (here, at, number) = (&self.model.licences[place], &self.market.deployment, U256::from(place + 1));
        let owner = self.market.read(at.licences, &Licences::ownerOfCall { tokenId: number }).await.expect("an owner");
        let minted = self.market.read(at.licences, &Licences::mintedAtCall { licence: number }).await.expect("a time");
        let released = self.market.read(at.licences, &Licences::releasedCall { licence: number }).await.expect("units");
        let expected = (self.address(here.holder), here.minted, U256::from(here.released));
        assert_eq!((owner, minted, released), expected, "licence {number} after {context}");
    }

    async fn compare_epoch(&self, epoch: u64, context: &str) {
        let here = &self.model.epochs[&epoch];
        let asked = Rewards::epochStateCall { epoch: U256::from(epoch) };
        let found = self.market.read(self.market.deployment.rewards, &asked).await.expect("an epoch");
        let state = match here.stage {
            Stage::Published => 1,
            Stage::Contested => 2,
            Stage::Final => 3,
        };
        let there = (found.state, found.finalAt, u64::from(found.capBps), found.publisher, found.contester);
        let expected = (state, here.final_at, here.cap, self.address(here.publisher), self.address(here.contester));
        assert_eq!(there, expected, "epoch {epoch} after {context}");
        let roots = (self.root(epoch, &here.sharing), self.root(epoch, &here.counter));
        assert_eq!((found.root, found.counterRoot), roots, "roots of epoch {epoch} after {context}");
        let there = [found.total, found.counterTotal, found.totalMax, found.claimed, found.dispute];
        let totals = [here.sharing.total, here.counter.total, here.pool, here.claimed, here.dispute.into()];
        assert_eq!(there, totals.map(U256::from), "numbers of epoch {epoch} after {context}");
    }

    async fn compare_proposal(&self, number: u32, context: &str) {
        let (here, id) = (&self.model.proposals[&number], self.proposal_id(number));
        let stage = self.market.proposal_stage(id).await.expect("a stage");
        let expected = match self.model.standing(self.at.now, number).expect("it was proposed") {
            Standing::Pending => market::Stage::Pending,
            Standing::Active => market::Stage::Active,
            Standing::Canceled => market::Stage::Canceled,
            Standing::Defeated => market::Stage::Defeated,
            Standing::Succeeded => market::Stage::Succeeded,
            Standing::Queued => market::Stage::Queued,
            Standing::Executed => market::Stage::Executed,
        };
        assert_eq!(stage, expected, "proposal {number} after {context}");
        let asked = GleanerGovernor::proposalVotesCall { proposalId: id };
        let votes = self.market.read(self.market.deployment.governor, &asked).await.expect("votes");
        let votes = [votes.againstVotes, votes.forVotes, votes.abstainVotes];
        assert_eq!(votes, here.votes.map(U256::from), "votes on {number} after {context}");
        let ready = self.market.ready_at(id).await.expect("a time");
        assert_eq!(ready, here.ready, "proposal {number} after {context}");
    }

    async fn compare_votes(&self, who: Who, context: &str) {
        let votes = self.market.votes(self.address(who)).await.expect("votes");
        assert_eq!(votes, Amount(self.model.votes_of(who)), "votes of {who:?} after {context}");
        let delegate = self.market.delegate_of(self.address(who)).await.expect("a delegate");
        let expected = self.model.delegates.get(&who).filter(|to| **to != NOBODY).map(|to| self.address(*to));
        assert_eq!(delegate, expected, "delegate of {who:?} after {context}");
    }

    /// What only some actions could change.
    pub async fn compare_what_is_seldom(&self, action: &Action, context: &str) {
        match action {
            Action::Execute { .. } | Action::Do { .. } => self.compare_parameters(context).await,
            Action::Publish { epoch, .. } | Action::Contest { epoch, .. } => self.compare_shares(*epoch, context).await,
            _ => {}
        }
    }

    async fn compare_parameters(&self, context: &str) {
        let compare = async |name: &&str| {
            let found = self.market.parameter(name).await.expect("a parameter");
            let expected = self.model.terms.value(name).expect("a parameter");
            assert_eq!(found, U256::from(expected), "{name} after {context}");
        };
        join_all(PARAMETERS.iter().map(compare)).await;
    }

    /// What everybody reckons from the chain's history is what the model reckons from its own.
    async fn compare_shares(&self, epoch: u64, context: &str) {
        if self.at.now < self.model.calendar.end_of(epoch) {
            return;
        }
        let found = self.market.epoch_shares(epoch).await.expect("shares");
        let mut shares: Vec<_> = found.shares.iter().map(|share| (self.who(share.account), share.amount.0)).collect();
        shares.sort_unstable();
        let expected = self.model.reckon(epoch);
        assert_eq!(Sharing { shares, total: found.total.0 }, expected, "shares of {epoch} after {context}");
        assert_eq!(found.root(), self.root(epoch, &expected), "root of {epoch} after {context}");
    }

    /// What is too much to look at after every step.
    pub async fn compare_at_the_end(&self) {
        let context = format!("seed {}", self.seed);
        self.compare_parameters(&context).await;
        for (epoch, entry) in &self.model.epochs {
            for who in (0..PEOPLE).map(Who) {
                let claimed = self.market.is_claimed(*epoch, self.address(who)).await.expect("an answer");
                assert_eq!(claimed, entry.claimants.contains(&who), "{who:?} of epoch {epoch} in {context}");
            }
        }
        for epoch in 0..self.epoch_now().min(EPOCHS_LOOKED_AT) {
            self.compare_shares(epoch, &context).await;
            let stage = self.market.epoch_state(epoch).await.expect("an epoch").stage;
            let open = stage == market::EpochStage::Open;
            assert_eq!(open, !self.model.epochs.contains_key(&epoch), "epoch {epoch} in {context}");
        }
    }
}
