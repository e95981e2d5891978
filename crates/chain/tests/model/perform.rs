//! Actions of the model as calls of the contracts.
use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_sol_types::SolEvent;
use gleaner_chain::contracts::Court;
use gleaner_chain::market::Call;
use gleaner_chain::model::{Action, Approval, Settlement, Showing, Who};
use gleaner_chain::node::Receipt;
use gleaner_chain::voucher::{Anchor, Domain, Voucher};
use gleaner_wire::Amount;

use super::world::{PEOPLE, World};

impl World {
    pub async fn call_of(&self, action: &Action) -> Call {
        let market = &self.market;
        match action {
            Action::Transfer { to, amount } => market.transfer(self.address(*to), Amount(*amount)),
            Action::Deposit { amount } => market.deposit(Amount(*amount)),
            Action::DepositFor { account, amount } => market.deposit_for(self.address(*account), Amount(*amount)),
            Action::Withdraw { amount } => market.withdraw(Amount(*amount)),
            Action::WithdrawTo { to, amount } => market.withdraw_to(self.address(*to), Amount(*amount)),
            Action::Stake { amount } => market.stake(Amount(*amount)),
            Action::Unbond { amount } => market.unbond(Amount(*amount)),
            Action::CancelUnbond => market.cancel_unbond(),
            Action::ClaimStake => market.claim_stake(),
            Action::Allow { hub, limit } => market.allow(self.address(*hub), Amount(*limit)),
            Action::Lock { number, order, signed } => {
                let signer = if *signed { order.requester } else { someone_else(order.requester) };
                let order = self.signed_order(*number);
                market.lock(&order, order.sign(&market.domain(), self.account(signer)))
            }
            Action::Revoke { nonce } => market.revoke(U256::from(*nonce)),
            Action::Engage { order, providers } => {
                market.engage(self.order_id(*order), providers.iter().map(|who| self.address(*who)).collect())
            }
            Action::Settle { settlement, approval } => {
                market.settle(&self.settlement(settlement), self.approval(settlement, *approval))
            }
            Action::Accept { settlement } => market.accept(&self.settlement(settlement)),
            Action::Finalize { settlement } => market.finalize(&self.settlement(settlement)),
            Action::Challenge { counter } => market.challenge(&self.settlement(counter)),
            Action::Conclude { winner } => market.conclude(&self.settlement(winner)),
            Action::Release { order } => market.release(self.order_id(*order)),
            Action::Enroll => market.enroll(),
            Action::Renew => market.renew(),
            Action::Resign => market.resign(),
            Action::Evict { auditor } => market.evict(self.address(*auditor)),
            Action::Accuse { order, provider } => {
                market.accuse(self.order_id(*order), self.address(*provider), B256::ZERO)
            }
            Action::Draw { dispute, drawn: _ } => market.draw(U256::from(*dispute)),
            Action::Decide { dispute, votes } => self.decide(*dispute, votes).await,
            Action::Expire { dispute } => market.expire(U256::from(*dispute)),
            Action::OpenChannel { payee, amount, nonce } => {
                market.open_channel(self.address(*payee), Amount(*amount), U256::from(*nonce))
            }
            Action::TopUp { channel, amount } => market.top_up(self.channel_id(*channel), Amount(*amount)),
            Action::Redeem { channel, showing } => market.redeem(&self.voucher(*channel, showing)),
            Action::CloseChannel { channel } => market.close_channel(self.channel_id(*channel)),
            Action::StartClose { channel } => market.start_close(self.channel_id(*channel)),
            Action::FinishClose { channel } => market.finish_close(self.channel_id(*channel)),
            Action::CreateSchedule { schedule } => self.create_schedule(schedule),
            Action::ReleaseVested { schedule } => market.release_vested(*schedule),
            Action::Assign { schedule, to } => self.assign(*schedule, *to),
            Action::ReleaseLicence { licence } => self.release_licence(*licence),
            Action::TransferLicence { licence, from, to } => self.transfer_licence(*licence, *from, *to),
            Action::Publish { epoch, sharing } => {
                market.publish_rewards(*epoch, self.root(*epoch, sharing), Amount(sharing.total))
            }
            Action::Contest { epoch, sharing } => {
                market.contest_rewards(*epoch, self.root(*epoch, sharing), Amount(sharing.total))
            }
            Action::ConcludeEpoch { epoch } => market.conclude_rewards(*epoch),
            Action::FinishEpoch { epoch } => market.finish_rewards(*epoch),
            Action::ClaimReward { epoch, account, amount, proved } => {
                let proof = self.proof(*epoch, *account, *proved);
                market.claim_reward(*epoch, self.address(*account), Amount(*amount), proof)
            }
            Action::Delegate { to } => market.delegate(self.address(*to)),
            Action::Propose { number, deeds: _ } => market.propose(&self.proposal(*number)),
            Action::Cast { proposal, support } => self.cast(*proposal, *support),
            Action::Queue { proposal } => market.queue(&self.proposal(*proposal)),
            Action::Execute { proposal } => market.execute(&self.proposal(*proposal)),
            Action::Cancel { proposal } => self.cancel(*proposal),
            Action::Do { deed } => self.deed_call(deed),
        }
    }

    fn approval(&self, settlement: &Settlement, approval: Approval) -> Bytes {
        let requester = self.orders[settlement.order as usize].requester;
        let signer = match approval {
            Approval::None => return Bytes::new(),
            Approval::Signed => requester,
            Approval::Forged => someone_else(requester),
        };
        self.settlement(settlement).approve(&self.market.domain(), self.account(signer))
    }

    async fn decide(&self, dispute: u32, votes: &[(Who, u8)]) -> Call {
        let subject = self.model.disputes.get(&dispute).map_or(B256::ZERO, |dispute| self.subject_id(dispute.subject));
        let mut votes = votes.to_vec();
        votes.sort_by_key(|(who, _)| self.address(*who));
        let mut signatures = Vec::new();
        for (who, ruling) in &votes {
            let digest = Court::voteDigestCall { dispute: U256::from(dispute), subject, ruling: *ruling };
            let digest = self.market.read(self.market.deployment.court, &digest).await.expect("a digest");
            signatures.push(self.account(*who).sign_digest(digest));
        }
        self.market.decide(U256::from(dispute), votes.iter().map(|vote| vote.1).collect(), signatures)
    }

    /// Whom the chain has drawn.
    pub fn drawn_in(&self, receipt: &Receipt) -> Vec<Who> {
        let events = receipt.logs.iter().filter_map(|log| Court::Drawn::decode_log(log).ok());
        let mut drawn: Vec<Who> = events.flat_map(|event| event.data.committee).map(|who| self.who(who)).collect();
        drawn.sort();
        drawn
    }

    fn voucher_domain(&self) -> Domain {
        let deployment = &self.market.deployment;
        Domain { chain_id: deployment.chain_id, vouchers: deployment.vouchers }
    }

    pub fn channel_id(&self, (payer, payee, nonce): (Who, Who, u64)) -> B256 {
        self.voucher_domain().channel(self.address(payer), self.address(payee), U256::from(nonce))
    }

    fn voucher(&self, channel: (Who, Who, u64), showing: &Showing) -> Voucher {
        let Showing { base, step, steps, index, signed, right } = *showing;
        let hashed = |times| (0..times).fold(keccak256("a seed"), |word: B256, _| keccak256(word));
        let (base, step, channel_id) = (Amount(base), Amount(step), self.channel_id(channel));
        let anchor = Anchor { channel: channel_id, base, tip: hashed(steps), step, steps };
        let signer = if signed { channel.0 } else { someone_else(channel.0) };
        let signature = anchor.sign(&self.voucher_domain(), self.account(signer));
        let word = if right { hashed(steps.saturating_sub(index)) } else { B256::repeat_byte(1) };
        Voucher { anchor, signature, index, word }
    }
}

fn someone_else(who: Who) -> Who {
    Who((who.0 + 1) % PEOPLE)
}
