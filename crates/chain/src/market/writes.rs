//! Everything that can be sent, as values.
use alloy_primitives::{Address, B256, Bytes, U256};
use gleaner_wire::Amount;

use super::{Call, Market, ReadError, call, units};
use crate::account::Account;
use crate::contracts::escrow::IEscrow;
use crate::contracts::{Court, Escrow, Rewards, Stake, Token, Vesting, Vouchers};
use crate::order::{Order, Settlement};
use crate::voucher::Voucher;

mod permit {
    //! The token's permit, as EIP-712 typed data.
    alloy_sol_types::sol! {
        struct Permit { address owner; address spender; uint256 value; uint256 nonce; uint256 deadline; }
    }
}

struct Signed {
    deadline: U256,
    v: u8,
    r: B256,
    s: B256,
}

impl From<&Order> for IEscrow::Order {
    fn from(order: &Order) -> Self {
        Self {
            requester: order.requester,
            hub: order.hub,
            job: order.job,
            cap: units(order.cap),
            bond: units(order.bond),
            deadline: order.deadline,
            policy: order.policy,
            nonce: order.nonce,
        }
    }
}

impl From<&Settlement> for IEscrow::Settlement {
    fn from(settlement: &Settlement) -> Self {
        let payouts = settlement.payouts.iter();
        Self {
            order: settlement.order,
            receiptsRoot: settlement.receipts_root,
            payouts: payouts
                .map(|payout| IEscrow::Payout { provider: payout.provider, gross: units(payout.gross) })
                .collect(),
        }
    }
}

/// The token.
impl Market {
    /// Sends tokens.
    pub fn transfer(&self, to: Address, value: Amount) -> Call {
        call(self.deployment.token, &Token::transferCall { to, value: units(value) })
    }

    /// Lets a contract take tokens.
    pub fn approve(&self, spender: Address, value: Amount) -> Call {
        call(self.deployment.token, &Token::approveCall { spender, value: units(value) })
    }

    /// Gives one's votes to somebody; to oneself in order to vote.
    pub fn delegate(&self, delegatee: Address) -> Call {
        call(self.deployment.token, &Token::delegateCall { delegatee })
    }

    /// Pays the beneficiary of a schedule what has vested.
    pub fn release_vested(&self, id: u64) -> Call {
        call(self.deployment.vesting, &Vesting::releaseCall { id: U256::from(id) })
    }

    async fn permit(&self, owner: &Account, spender: Address, value: Amount) -> Result<Signed, ReadError> {
        use alloy_sol_types::{Eip712Domain, SolStruct};
        let token = self.deployment.token;
        let nonce = self.read(token, &Token::noncesCall { owner: owner.address() }).await?;
        let deadline = U256::MAX;
        let permit = permit::Permit { owner: owner.address(), spender, value: units(value), nonce, deadline };
        let chain_id = Some(U256::from(self.deployment.chain_id));
        let domain = Eip712Domain::new(Some("Gleaner".into()), Some("1".into()), chain_id, Some(token), None);
        let signature = owner.sign_digest(permit.eip712_signing_hash(&domain));
        let half = |from: usize| B256::from_slice(&signature[from..from + 32]);
        Ok(Signed { deadline, v: signature[64], r: half(0), s: half(32) })
    }
}

/// Free money in Escrow.
impl Market {
    /// Deposits tokens that Escrow has been approved for.
    pub fn deposit(&self, amount: Amount) -> Call {
        call(self.deployment.escrow, &Escrow::depositCall { amount: units(amount) })
    }

    /// Deposits approved tokens for somebody else.
    pub fn deposit_for(&self, account: Address, amount: Amount) -> Call {
        call(self.deployment.escrow, &Escrow::depositForCall { account, amount: units(amount) })
    }

    /// Approval and deposit in one transaction.
    pub async fn deposit_with_permit(&self, account: &Account, amount: Amount) -> Result<Call, ReadError> {
        let Signed { deadline, v, r, s } = self.permit(account, self.deployment.escrow, amount).await?;
        let deposit = Escrow::depositWithPermitCall { amount: units(amount), deadline, v, r, s };
        Ok(call(self.deployment.escrow, &deposit))
    }

    /// Takes free money out.
    pub fn withdraw(&self, amount: Amount) -> Call {
        call(self.deployment.escrow, &Escrow::withdrawCall { amount: units(amount) })
    }

    /// Takes free money out, to another address.
    pub fn withdraw_to(&self, to: Address, amount: Amount) -> Call {
        call(self.deployment.escrow, &Escrow::withdrawToCall { to, amount: units(amount) })
    }
}

/// Orders and settlements.
impl Market {
    /// Locks one order.
    pub fn lock(&self, order: &Order, signature: Bytes) -> Call {
        call(self.deployment.escrow, &Escrow::lockCall { order: order.into(), signature })
    }

    /// Locks many orders; one that fails does not stop the others.
    pub fn lock_many(&self, orders: &[(Order, Bytes)]) -> Call {
        let (orders, signatures) = orders.iter().map(|(order, signature)| (order.into(), signature.clone())).unzip();
        call(self.deployment.escrow, &Escrow::lockManyCall { orders, signatures })
    }

    /// Makes an order worthless that is not locked yet.
    pub fn revoke(&self, nonce: U256) -> Call {
        call(self.deployment.escrow, &Escrow::revokeCall { nonce })
    }

    /// Locks part of providers' stake for an order.
    pub fn engage(&self, id: B256, providers: Vec<Address>) -> Call {
        call(self.deployment.escrow, &Escrow::engageCall { id, providers })
    }

    /// Settles an order at once with the requester's approval, or proposes it with an empty one.
    pub fn settle(&self, settlement: &Settlement, approval: Bytes) -> Call {
        call(self.deployment.escrow, &Escrow::settleCall { settlement: settlement.into(), approval })
    }

    /// Settles or proposes many; one that fails does not stop the others.
    pub fn settle_many(&self, settlements: &[(Settlement, Bytes)]) -> Call {
        let both = settlements.iter().map(|(settlement, approval)| (settlement.into(), approval.clone()));
        let (settlements, approvals) = both.unzip();
        call(self.deployment.escrow, &Escrow::settleManyCall { settlements, approvals })
    }

    /// The requester agrees with a proposal.
    pub fn accept(&self, settlement: &Settlement) -> Call {
        call(self.deployment.escrow, &Escrow::acceptCall { settlement: settlement.into() })
    }

    /// Makes a proposal final after its window.
    pub fn finalize(&self, settlement: &Settlement) -> Call {
        call(self.deployment.escrow, &Escrow::finalizeCall { settlement: settlement.into() })
    }

    /// Makes many proposals final; one that fails does not stop the others.
    pub fn finalize_many(&self, settlements: &[Settlement]) -> Call {
        let settlements = settlements.iter().map(Into::into).collect();
        call(self.deployment.escrow, &Escrow::finalizeManyCall { settlements })
    }

    /// Asks the court to prefer another settlement.
    pub fn challenge(&self, counter: &Settlement) -> Call {
        let challenge = Escrow::challengeCall { id: counter.order, counter: counter.into() };
        call(self.deployment.escrow, &challenge)
    }

    /// Pays out as the court has ruled.
    pub fn conclude(&self, winner: &Settlement) -> Call {
        call(self.deployment.escrow, &Escrow::concludeCall { id: winner.order, winner: winner.into() })
    }

    /// Gives the money of an order back.
    pub fn release(&self, id: B256) -> Call {
        call(self.deployment.escrow, &Escrow::releaseCall { id })
    }
}

/// Stake.
impl Market {
    /// Stakes tokens that Stake has been approved for.
    pub fn stake(&self, amount: Amount) -> Call {
        call(self.deployment.stake, &Stake::stakeCall { amount: units(amount) })
    }

    /// Stakes approved tokens for somebody else.
    pub fn stake_for(&self, account: Address, amount: Amount) -> Call {
        call(self.deployment.stake, &Stake::stakeForCall { account, amount: units(amount) })
    }

    /// Approval and stake in one transaction.
    pub async fn stake_with_permit(&self, account: &Account, amount: Amount) -> Result<Call, ReadError> {
        let Signed { deadline, v, r, s } = self.permit(account, self.deployment.stake, amount).await?;
        Ok(call(self.deployment.stake, &Stake::stakeWithPermitCall { amount: units(amount), deadline, v, r, s }))
    }

    /// Lets a hub hold so much of one's stake locked at a time.
    pub fn allow(&self, hub: Address, limit: Amount) -> Call {
        call(self.deployment.stake, &Stake::allowCall { hub, limit: units(limit) })
    }

    /// Begins to take free stake out.
    pub fn unbond(&self, amount: Amount) -> Call {
        call(self.deployment.stake, &Stake::unbondCall { amount: units(amount) })
    }

    /// Stakes again what is on its way out.
    pub fn cancel_unbond(&self) -> Call {
        call(self.deployment.stake, &Stake::cancelUnbondCall {})
    }

    /// Pays out what has been unbonding long enough.
    pub fn claim_stake(&self) -> Call {
        call(self.deployment.stake, &Stake::claimCall {})
    }
}

/// Disputes.
impl Market {
    /// Becomes an auditor.
    pub fn enroll(&self) -> Call {
        call(self.deployment.court, &Court::enrollCall {})
    }

    /// Says as an auditor that one is there. Who has not for a voting window is not drawn.
    pub fn renew(&self) -> Call {
        call(self.deployment.court, &Court::renewCall {})
    }

    /// Takes an auditor off the list that is not present, or whose stake is too small.
    pub fn evict(&self, auditor: Address) -> Call {
        call(self.deployment.court, &Court::evictCall { auditor })
    }

    /// Stops being an auditor.
    pub fn resign(&self) -> Call {
        call(self.deployment.court, &Court::resignCall {})
    }

    /// Accuses a provider of a fault.
    pub fn accuse(&self, order: B256, provider: Address, evidence: B256) -> Call {
        call(self.deployment.court, &Court::accuseCall { order, provider, evidence })
    }

    /// Draws the committee of a dispute.
    pub fn draw(&self, dispute: U256) -> Call {
        call(self.deployment.court, &Court::drawCall { dispute })
    }

    /// Hands in the votes of a committee, in rising order of the members' addresses.
    pub fn decide(&self, dispute: U256, rulings: Vec<u8>, signatures: Vec<Bytes>) -> Call {
        call(self.deployment.court, &Court::decideCall { dispute, rulings, signatures })
    }

    /// Ends a dispute that was not decided in time.
    pub fn expire(&self, dispute: U256) -> Call {
        call(self.deployment.court, &Court::expireCall { dispute })
    }
}

/// Channels for small payments.
impl Market {
    /// Opens a channel with free money.
    pub fn open_channel(&self, payee: Address, amount: Amount, nonce: U256) -> Call {
        call(self.deployment.vouchers, &Vouchers::openCall { payee, amount: units(amount), nonce })
    }

    /// Adds to a channel.
    pub fn top_up(&self, channel: B256, amount: Amount) -> Call {
        call(self.deployment.vouchers, &Vouchers::topUpCall { channel, amount: units(amount) })
    }

    /// Redeems the last payment of a channel, and with it all before.
    pub fn redeem(&self, voucher: &Voucher) -> Call {
        let anchor = Vouchers::Anchor {
            channel: voucher.anchor.channel,
            base: units(voucher.anchor.base),
            tip: voucher.anchor.tip,
            step: units(voucher.anchor.step),
            steps: voucher.anchor.steps,
        };
        let signature = voucher.signature.clone();
        let redeem = Vouchers::redeemCall { anchor, signature, index: voucher.index, word: voucher.word };
        call(self.deployment.vouchers, &redeem)
    }

    /// The payee ends a channel.
    pub fn close_channel(&self, channel: B256) -> Call {
        call(self.deployment.vouchers, &Vouchers::closeCall { channel })
    }

    /// The payer announces that it leaves.
    pub fn start_close(&self, channel: B256) -> Call {
        call(self.deployment.vouchers, &Vouchers::startCloseCall { channel })
    }

    /// Ends a channel whose payer left long enough ago.
    pub fn finish_close(&self, channel: B256) -> Call {
        call(self.deployment.vouchers, &Vouchers::finishCloseCall { channel })
    }
}

/// Node rewards.
impl Market {
    /// Publishes the shares of an epoch.
    pub fn publish_rewards(&self, epoch: u64, root: B256, total: Amount) -> Call {
        let publish = Rewards::publishCall { epoch: U256::from(epoch), root, total: units(total) };
        call(self.deployment.rewards, &publish)
    }

    /// Contests the shares of an epoch.
    pub fn contest_rewards(&self, epoch: u64, root: B256, total: Amount) -> Call {
        let (epoch, counter_total) = (U256::from(epoch), units(total));
        let contest = Rewards::contestCall { epoch, counterRoot: root, counterTotal: counter_total };
        call(self.deployment.rewards, &contest)
    }

    /// Ends a contest as the court has decided.
    pub fn conclude_rewards(&self, epoch: u64) -> Call {
        call(self.deployment.rewards, &Rewards::concludeCall { epoch: U256::from(epoch) })
    }

    /// Makes uncontested shares final after their window.
    pub fn finish_rewards(&self, epoch: u64) -> Call {
        call(self.deployment.rewards, &Rewards::finishCall { epoch: U256::from(epoch) })
    }

    /// Pays an account its share of an epoch.
    pub fn claim_reward(&self, epoch: u64, account: Address, amount: Amount, proof: Vec<B256>) -> Call {
        let claim = Rewards::claimCall { epoch: U256::from(epoch), account, amount: units(amount), proof };
        call(self.deployment.rewards, &claim)
    }
}
