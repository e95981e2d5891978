//! The model's state against the chain's, number by number.
use alloy_primitives::U256;
use futures_util::future::join_all;
use gleaner_chain::market;
use gleaner_chain::model::{
    COURT, ESCROW, Holding, LICENCES, LIQUIDITY, REWARDS, STAKE, State, Status, TREASURY, VESTING, VOUCHERS, Who,
};
use gleaner_wire::Amount;

use super::world::{PEOPLE, World};

/// The most seconds from an action to the questions about what came of it.
const LATER_MAX: u64 = 60;

impl World {
    pub async fn compare(&self, context: &str) {
        join_all((0..PEOPLE).map(|who| self.compare_person(Who(who), context))).await;
        self.compare_contracts(context).await;
        join_all(self.model.orders.keys().map(|number| self.compare_order(*number, context))).await;
        join_all(self.model.disputes.keys().map(|number| self.compare_dispute(*number, context))).await;
        join_all(self.model.channels.keys().map(|channel| self.compare_channel(*channel, context))).await;
        self.compare_months(context).await;
    }

    async fn compare_person(&self, who: Who, context: &str) {
        let (market, address, model) = (&self.market, self.address(who), &self.model);
        let tokens = market.token_balance(address).await.expect("tokens");
        assert_eq!(tokens, Amount(model.tokens_of(who)), "tokens of {who:?} after {context}");
        let money = market.escrow_balance(address).await.expect("money");
        assert_eq!(money, Amount(model.money_of(who)), "money of {who:?} after {context}");
        let holding = model.holdings.get(&who).copied().unwrap_or_default();
        let stake = market.stake_of(address).await.expect("stake");
        let free = market.free_stake_of(address).await.expect("free stake");
        let (leaving, ready) = market.unbonding_of(address).await.expect("unbonding");
        let found = (stake.0, free.0, leaving.0, ready);
        let Holding { bonded, locked: _, exit } = holding;
        assert_eq!(found, (bonded, holding.free(), exit.amount, exit.ready), "stake of {who:?} after {context}");
        self.compare_presence(who, context).await;
    }

    async fn compare_presence(&self, who: Who, context: &str) {
        let found = self.market.present_until(self.address(who)).await.expect("presence");
        let listed = self.market.is_auditor(self.address(who)).await.expect("the list");
        let expected = self.model.present_until(self.at, who);
        assert_eq!((listed, found.is_some()), (expected.is_some(), expected.is_some()), "{who:?} after {context}");
        let (Some(found), Some(expected)) = (found, expected) else { return };
        // While a draw is pending it moves on with the time, and the chain is asked a little later.
        let pending = self.model.disputes.values().any(|dispute| dispute.drawing);
        let later = if pending { LATER_MAX } else { 0 };
        assert!(
            (expected..=expected + later).contains(&found),
            "presence of {who:?}: {found}, {expected} after {context}"
        );
    }

    async fn compare_contracts(&self, context: &str) {
        for who in [TREASURY, COURT, VOUCHERS] {
            let money = self.market.escrow_balance(self.address(who)).await.expect("money");
            assert_eq!(money, Amount(self.model.money_of(who)), "money of {who:?} after {context}");
        }
        for who in [TREASURY, ESCROW, STAKE, VESTING, LICENCES, REWARDS, LIQUIDITY] {
            let tokens = self.market.token_balance(self.address(who)).await.expect("tokens");
            assert_eq!(tokens, Amount(self.model.tokens_of(who)), "tokens of {who:?} after {context}");
        }
    }

    async fn compare_order(&self, number: u32, context: &str) {
        let record = &self.model.orders[&number];
        let found = self.market.order_state(self.order_id(number)).await.expect("an order");
        let state = match record.state {
            State::Locked => market::State::Locked,
            State::Proposed => market::State::Proposed,
            State::Disputed => market::State::Disputed,
            State::Settled => market::State::Settled,
            State::Released => market::State::Released,
        };
        let proposal = record.proposal.as_ref().map(|settlement| self.settlement(settlement).hash());
        let there = (found.state, found.cap.0, found.bond.0, found.final_at, found.proposal);
        let here = (state, record.order.cap, record.bond, record.final_at, proposal.unwrap_or_default());
        assert_eq!(there, here, "order {number} after {context}");
    }

    async fn compare_dispute(&self, number: u32, context: &str) {
        let dispute = &self.model.disputes[&number];
        let found = self.market.dispute_state(U256::from(number)).await.expect("a dispute");
        let stage = match (dispute.status, dispute.ruling) {
            (Status::Open, _) => market::DisputeStage::Open,
            (Status::Decided, 1) => market::DisputeStage::ForDefendant,
            (Status::Decided, _) => market::DisputeStage::ForClaimant,
            (Status::Expired, _) => market::DisputeStage::Expired,
        };
        let mut committee: Vec<Who> = found.committee.iter().map(|member| self.who(*member)).collect();
        committee.sort();
        let there = (found.stage, found.ends, &committee);
        assert_eq!(there, (stage, dispute.ends, &dispute.committee), "{number} after {context}");
    }

    async fn compare_channel(&self, id: (Who, Who, u64), context: &str) {
        let channel = &self.model.channels[&id];
        let found = self.market.channel_state(self.channel_id(id)).await.expect("a channel");
        let there = (found.amount.0, found.redeemed.0, u64::from(found.share_points), found.closing_at);
        let here = (channel.amount, channel.redeemed, channel.share, channel.closing_at);
        assert_eq!(there, here, "channel {id:?} after {context}");
    }
}
