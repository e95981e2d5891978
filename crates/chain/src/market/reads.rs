//! Questions to the contracts, answered with our own types.
use alloy_primitives::{Address, B256, U256};
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use super::{Market, ReadError, amount};
use crate::contracts::{Court, Escrow, Parameters, Stake, Token, Vouchers};

/// The numbers that hold for new orders now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ChainTerms))]
pub struct Terms {
    /// The platform's share, in hundredths of a percent.
    pub share_points: u32,
    /// The requester's bond as a share of the cap, in hundredths of a percent.
    pub bond_points: u32,
    /// What the loser of a dispute pays of its security, in hundredths of a percent.
    pub slash_points: u32,
    /// The largest reward as a share of the work, in hundredths of a percent.
    pub reward_cap_points: u32,
    /// What a provider must have staked.
    pub stake_min: Amount,
    /// What a publisher of rewards must have staked.
    pub hub_stake: Amount,
    /// What an order locks of a provider's stake.
    pub work_lock: Amount,
    /// What an order locks of the hub's stake.
    pub hub_lock: Amount,
    /// What an epoch gives at most.
    pub emission: Amount,
    /// Seconds in which a proposal can be challenged.
    pub challenge_window: u64,
    /// Seconds in which a committee votes.
    pub voting_window: u64,
    /// Seconds that unbonding takes.
    pub unbonding_delay: u64,
    /// The most seconds from locking an order to its deadline.
    pub order_duration_max: u64,
    /// How many auditors a committee has.
    pub committee_size: u64,
}

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OrderStage))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// There is none.
    None,
    /// Its money is locked.
    Locked,
    /// A settlement waits for its window to pass.
    Proposed,
    /// A committee decides.
    Disputed,
    /// Paid out.
    Settled,
    /// Given back.
    Released,
}

/// All that the chain remembers of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OrderState {
    /// Where it stands.
    pub state: State,
    /// Who pays.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub requester: Address,
    /// Who settles.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub hub: Address,
    /// The most it may cost.
    pub cap: Amount,
    /// The requester's bond.
    pub bond: Amount,
    /// Unix seconds after which it can be released.
    pub deadline: u64,
    /// The platform's share when it was locked, in hundredths of a percent.
    pub share_points: u32,
    /// The hash of the proposed settlement, or zero.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-f]{64}$"))]
    pub proposal: B256,
    /// Unix seconds from which the proposal can be made final.
    pub final_at: u64,
    /// The dispute about it, or zero.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-f]+$"))]
    pub dispute: U256,
}

/// Where a dispute stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeStage {
    /// There is none.
    None,
    /// It waits for a committee, or for its votes.
    Open,
    /// The defendant was right: the hub, whoever published rewards, or the accused.
    ForDefendant,
    /// The claimant was right.
    ForClaimant,
    /// It ended undecided.
    Expired,
}

/// All that the chain remembers of a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisputeState {
    /// Where it stands.
    pub stage: DisputeStage,
    /// What it is about: an order, or an epoch of rewards.
    pub subject: B256,
    /// Who began it.
    pub claimant: Address,
    /// Against whom.
    pub defendant: Address,
    /// The block whose hash is the seed of the draw.
    pub anchor: u64,
    /// Unix seconds after which it can expire.
    pub ends: u64,
    /// Who decides, in rising order; empty until drawn.
    pub committee: Vec<Address>,
}

/// All that the chain remembers of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelState {
    /// Who pays; the zero address if there is no such channel.
    pub payer: Address,
    /// Who is paid.
    pub payee: Address,
    /// What was put in. Of a closed channel: what was redeemed.
    pub amount: Amount,
    /// What was redeemed, the platform's share included.
    pub redeemed: Amount,
    /// The platform's share when it was opened, in hundredths of a percent.
    pub share_points: u32,
    /// Unix seconds from which it can be closed; zero while the payer stays.
    pub closing_at: u64,
}

/// The name of a parameter as the contract has it.
pub(super) fn name(text: &str) -> B256 {
    let mut bytes = [0; 32];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    B256::from(bytes)
}

fn points(value: U256) -> Result<u32, ReadError> {
    u32::try_from(value).map_err(|_| ReadError::Answer(format!("{value} is not a share")))
}

impl Market {
    /// One parameter, by its name in genesis files.
    pub async fn parameter(&self, parameter: &str) -> Result<U256, ReadError> {
        if parameter.len() > 32 {
            return Err(ReadError::Refused(format!("there is no parameter `{parameter}`")));
        }
        self.read(self.deployment.parameters, &Parameters::getCall { name: name(parameter) }).await
    }

    /// The numbers that hold for new orders now.
    pub async fn terms(&self) -> Result<Terms, ReadError> {
        let seconds = async |name| self.parameter(name).await.map(|value| value.saturating_to::<u64>());
        let money = async |name| amount(self.parameter(name).await?);
        let share = async |name| points(self.parameter(name).await?);
        Ok(Terms {
            share_points: share("platformShareBps").await?,
            bond_points: share("bondShareBps").await?,
            slash_points: share("slashShareBps").await?,
            reward_cap_points: share("rewardCapBps").await?,
            stake_min: money("minimumStake").await?,
            hub_stake: money("hubStake").await?,
            work_lock: money("workLock").await?,
            hub_lock: money("hubLock").await?,
            emission: money("emissionPerEpoch").await?,
            challenge_window: seconds("challengeWindow").await?,
            voting_window: seconds("votingWindow").await?,
            unbonding_delay: seconds("unbondingDelay").await?,
            order_duration_max: seconds("orderDurationMax").await?,
            committee_size: seconds("committeeSize").await?,
        })
    }

    /// Where an order stands.
    pub async fn order_state(&self, id: B256) -> Result<OrderState, ReadError> {
        let found = self.read(self.deployment.escrow, &Escrow::orderStateCall { id }).await?;
        let state = match found.state {
            0 => State::None,
            1 => State::Locked,
            2 => State::Proposed,
            3 => State::Disputed,
            4 => State::Settled,
            5 => State::Released,
            other => return Err(ReadError::Answer(format!("an order in state {other}"))),
        };
        Ok(OrderState {
            state,
            requester: found.requester,
            hub: found.hub,
            cap: amount(found.cap)?,
            bond: amount(found.bond)?,
            deadline: found.deadline,
            share_points: found.shareBps.into(),
            proposal: found.proposal,
            final_at: found.finalAt,
            dispute: found.dispute,
        })
    }

    /// Tokens in an account's own hands.
    pub async fn token_balance(&self, account: Address) -> Result<Amount, ReadError> {
        amount(self.read(self.deployment.token, &Token::balanceOfCall { account }).await?)
    }

    /// Votes of an account.
    pub async fn votes(&self, account: Address) -> Result<Amount, ReadError> {
        amount(self.read(self.deployment.token, &Token::getVotesCall { account }).await?)
    }

    /// Free money in Escrow.
    pub async fn escrow_balance(&self, account: Address) -> Result<Amount, ReadError> {
        amount(self.read(self.deployment.escrow, &Escrow::balanceOfCall { account }).await?)
    }

    /// Stake, locked or not.
    pub async fn stake_of(&self, account: Address) -> Result<Amount, ReadError> {
        amount(self.read(self.deployment.stake, &Stake::stakeOfCall { account }).await?)
    }

    /// Stake that nothing locks.
    pub async fn free_stake_of(&self, account: Address) -> Result<Amount, ReadError> {
        amount(self.read(self.deployment.stake, &Stake::freeOfCall { account }).await?)
    }

    /// Stake on its way out, and from when it can be claimed.
    pub async fn unbonding_of(&self, account: Address) -> Result<(Amount, u64), ReadError> {
        let found = self.read(self.deployment.stake, &Stake::unbondingOfCall { account }).await?;
        Ok((amount(found.amount)?, found.ready))
    }

    /// What an order or a seat has locked of an account.
    pub async fn lock_of(&self, id: B256, account: Address) -> Result<Amount, ReadError> {
        amount(self.read(self.deployment.stake, &Stake::lockOfCall { id, account }).await?)
    }

    /// How much of its stake an account lets a hub hold locked.
    pub async fn stake_allowance(&self, account: Address, hub: Address) -> Result<U256, ReadError> {
        self.read(self.deployment.stake, &Stake::allowanceCall { account, hub }).await
    }

    /// Where a dispute stands.
    pub async fn dispute_state(&self, dispute: U256) -> Result<DisputeState, ReadError> {
        let found = self.read(self.deployment.court, &Court::disputeStateCall { dispute }).await?;
        let committee = self.read(self.deployment.court, &Court::committeeCall { dispute }).await?;
        let stage = match (found.status, found.ruling) {
            (0, _) => DisputeStage::None,
            (1, _) => DisputeStage::Open,
            (2, 1) => DisputeStage::ForDefendant,
            (2, 2) => DisputeStage::ForClaimant,
            (3, _) => DisputeStage::Expired,
            other => return Err(ReadError::Answer(format!("{other:?} is no state of a dispute"))),
        };
        Ok(DisputeState {
            stage,
            subject: found.subject,
            claimant: found.claimant,
            defendant: found.defendant,
            anchor: found.anchor,
            ends: found.ends,
            committee,
        })
    }

    /// Where a channel stands.
    pub async fn channel_state(&self, channel: B256) -> Result<ChannelState, ReadError> {
        let found = self.read(self.deployment.vouchers, &Vouchers::channelStateCall { channel }).await?;
        Ok(ChannelState {
            payer: found.payer,
            payee: found.payee,
            amount: amount(found.amount)?,
            redeemed: amount(found.redeemed)?,
            share_points: found.shareBps.into(),
            closing_at: found.closingAt,
        })
    }
}
