//! Accusations: who was found to have delivered something wrong is brought before the court of the chain.
//!
//! Every round starts from the docket and the chain and does what is missing: accuse while the order is open, have a
//! committee drawn, hand in the votes of its majority, or let the dispute expire. The hub puts as much of its own money
//! at stake as the order has locked of the provider's; it loses half of that if the committee disagrees.
use super::desk::Kind;
use super::disputes::DisputeView;
use super::docket::{Case, Outcome};
use super::settle::Tries;
use super::{Money, Trouble, convert};
use gleaner_chain::market::{Call, DisputeStage, DisputeState, ReadError, State, majority};
use gleaner_chain::order::Order;
use gleaner_chain::primitives::{Address, B256, U256};
use gleaner_wire::{Amount, Hash, JobId, SignedOrder};
use std::collections::BTreeMap;

/// How often an accusation that the chain would refuse is looked at again before it is given up. Settlements wait for
/// it, and the waits double from a second: about two minutes.
const ACCUSE_TRIES_MAX: u32 = 7;

/// A provider whose result was found to be wrong.
#[derive(Clone, Debug)]
pub(crate) struct Conviction {
    /// The order that it worked for.
    pub(crate) order: SignedOrder,
    /// The job of that order.
    pub(crate) job: JobId,
    /// Who.
    pub(crate) provider: gleaner_wire::Address,
    /// The hash of the document that shows it, which the docket keeps.
    pub(crate) evidence: Hash,
}

/// What the clerk remembers of cases, only so as not to try the same thing too often.
#[derive(Default)]
pub(super) struct Prosecution {
    tries: BTreeMap<(B256, Address), Tries>,
}

impl Prosecution {
    fn tries(&mut self, case: &Case) -> &mut Tries {
        self.tries.entry((case.order, case.provider)).or_default()
    }
}

impl Money {
    /// Whether auditors would find a provider guilty by this document, as far as that can be told without the chain: an accusation
    /// that fails costs the hub half of what it puts at stake. An error says why not.
    pub(super) fn would_convince(
        &self,
        order: &SignedOrder,
        provider: gleaner_wire::Address,
        document: &[u8],
    ) -> Result<(), String> {
        let order = Hash(Order::from(&order.order).id(&self.domain).0);
        let shown = gleaner_receipt::guilty_by_document(&order, &provider, document)?;
        shown.map(|_| ()).ok_or_else(|| "its receipt does not show a lie, with witnesses who have owners".to_owned())
    }

    /// Enters convictions, which are pursued from then on. Entering one again changes nothing.
    pub(crate) fn convict(&self, convictions: &[Conviction]) -> Result<(), Trouble> {
        for conviction in convictions {
            let order = Order::from(&conviction.order.order).id(&self.domain);
            let (job, provider) = (conviction.job, convert::address(conviction.provider));
            self.docket.enter(&Case { order, job, provider, evidence: conviction.evidence, dispute: None })?;
        }
        Ok(())
    }

    /// How a conviction ended before the court; none while it is pursued.
    #[cfg(test)]
    pub(crate) fn outcome(&self, conviction: &Conviction) -> Result<Option<Outcome>, Trouble> {
        let order = Order::from(&conviction.order.order).id(&self.domain);
        Ok(self.docket.outcome(order, convert::address(conviction.provider))?)
    }

    /// Moves every case on by a step. Says whether something is on its way.
    pub(super) async fn prosecute(&self, prosecution: &mut Prosecution) -> Result<bool, Trouble> {
        let cases = self.docket.open_cases()?;
        if cases.is_empty() {
            prosecution.tries.clear();
            self.show_disputes(Vec::new());
            return Ok(false);
        }
        if self.desk.is_busy(Kind::Court)? {
            return Ok(true);
        }
        let (mut busy, mut shown) = (false, Vec::new());
        let now = self.now().await?;
        for case in cases {
            match self.market.accusation_of(case.order, case.provider).await? {
                Some(dispute) => {
                    let found = self.market.dispute_state(dispute).await?;
                    busy |= self.move_dispute_on(&case, dispute, &found, now).await?;
                    shown.extend(DisputeView::of(&case, dispute, &found));
                }
                None => busy |= self.accuse(&case, prosecution).await?,
            }
        }
        self.show_disputes(shown);
        Ok(busy)
    }

    /// Brings a case before the court, as long as its order is open.
    async fn accuse(&self, case: &Case, prosecution: &mut Prosecution) -> Result<bool, Trouble> {
        if case.dispute.is_some() {
            // A re-organisation has taken it back.
            self.docket.see_dispute(case, None)?;
        }
        match self.market.order_state(case.order).await?.state {
            State::None if self.desk.is_busy(Kind::Lock)? => return Ok(true),
            State::None | State::Settled | State::Released => {
                return self.drop_case(case, "its order is not open".to_owned());
            }
            State::Locked | State::Proposed | State::Disputed => {}
        }
        if self.desk.is_busy(Kind::Engage)? {
            return Ok(true);
        }
        let tries = prosecution.tries(case);
        if !tries.again() {
            return Ok(false);
        }
        let given_up = tries.count() > ACCUSE_TRIES_MAX;
        let locked = self.market.lock_of(case.order, case.provider).await?;
        let refused = match locked {
            Amount::ZERO => self.engage_late(case).await?,
            locked => self.put_at_stake_and_accuse(case, locked).await?,
        };
        match refused {
            None => Ok(true),
            Some(reason) if given_up => self.drop_case(case, reason),
            Some(reason) => {
                tracing::warn!(job = %case.job, provider = %case.provider, reason, "a provider cannot be accused yet");
                Ok(false)
            }
        }
    }

    /// Nothing of its stake is locked for the order: its engagement may have been lost by a crash. Says why not, if the
    /// chain would not lock anything.
    async fn engage_late(&self, case: &Case) -> Result<Option<String>, Trouble> {
        let call = self.market.engage(case.order, vec![case.provider]);
        let (free, needed) = (self.market.free_stake_of(case.provider).await?, self.market.terms().await?.work_lock);
        if free < needed {
            return Ok(Some(format!("nothing of its stake is locked for the order, and only {free} GLN are free")));
        }
        let refused = self.hand_in_to_court(&call).await?;
        Ok(refused.or(Some("nothing of its stake was locked for the order".to_owned())))
    }

    async fn put_at_stake_and_accuse(&self, case: &Case, locked: Amount) -> Result<Option<String>, Trouble> {
        let free = self.market.escrow_balance(self.account.address()).await?;
        if let Some(missing) = locked.checked_sub(free).filter(|missing| *missing > Amount::ZERO) {
            return self.bring_security(missing).await;
        }
        let evidence = B256::from(case.evidence.0);
        self.hand_in_to_court(&self.market.accuse(case.order, case.provider, evidence)).await
    }

    /// Puts money of the hub into Escrow, which an accusation needs. Says why not, if it has none.
    async fn bring_security(&self, missing: Amount) -> Result<Option<String>, Trouble> {
        if let Some(faucet) = &self.faucet {
            faucet.fill(&self.market, &self.account, missing).await?;
        }
        if self.market.token_balance(self.account.address()).await? < missing {
            let hub = self.account.address();
            return Ok(Some(format!("an accusation puts {missing} GLN at stake, which the hub {hub} does not have")));
        }
        let call = self.market.deposit_with_permit(&self.account, missing).await?;
        self.hand_in_to_court(&call).await
    }

    /// Moves a dispute on by a step.
    async fn move_dispute_on(
        &self,
        case: &Case,
        dispute: U256,
        found: &DisputeState,
        now: u64,
    ) -> Result<bool, Trouble> {
        let number = dispute.saturating_to::<u64>();
        if case.dispute != Some(number) {
            self.docket.see_dispute(case, Some(number))?;
        }
        let outcome = match found.stage {
            DisputeStage::Open if now > found.ends => {
                self.hand_in_to_court(&self.market.expire(dispute)).await?;
                return Ok(true);
            }
            DisputeStage::Open if found.committee.is_empty() => return self.draw(dispute, found).await,
            DisputeStage::Open => {
                let Some(votes) = majority(&found.committee, &self.docket.votes(number)?) else { return Ok(false) };
                let refused = self.hand_in_to_court(&self.market.decide_by(dispute, &votes)).await?;
                return Ok(refused.is_none());
            }
            DisputeStage::ForClaimant => Outcome::Slashed,
            DisputeStage::ForDefendant => Outcome::Acquitted,
            DisputeStage::Expired => Outcome::Undecided,
            DisputeStage::None => return Ok(true),
        };
        let ending = self.market.ending_of(dispute).await?;
        tracing::info!(job = %case.job, provider = %case.provider, dispute = number, ?outcome, ?ending, "a dispute has ended");
        self.docket.close(case, &outcome, ending)?;
        Ok(true)
    }

    /// Has the committee drawn, once the block that gives the seed is there. One draw is all: if it found too few
    /// auditors, the dispute can only expire.
    async fn draw(&self, dispute: U256, found: &DisputeState) -> Result<bool, Trouble> {
        if self.market.node.height().await? <= found.anchor {
            self.nudge().await?;
            return Ok(true);
        }
        let refused = self.hand_in_to_court(&self.market.draw(dispute)).await?;
        Ok(refused.is_none())
    }

    fn drop_case(&self, case: &Case, reason: String) -> Result<bool, Trouble> {
        tracing::warn!(job = %case.job, provider = %case.provider, reason, "a provider is not accused");
        self.docket.close(case, &Outcome::Dropped(reason), None)?;
        Ok(false)
    }

    /// Hands a call in, unless the chain would refuse it; then says why.
    async fn hand_in_to_court(&self, call: &Call) -> Result<Option<String>, Trouble> {
        match self.market.preflight(self.account.address(), call).await {
            Ok(()) => {
                self.desk.send(Kind::Court, call)?;
                Ok(None)
            }
            Err(ReadError::Refused(reason)) => {
                tracing::debug!(reason, "nothing is handed in to the court now");
                Ok(Some(reason))
            }
            Err(error) => Err(error.into()),
        }
    }
}
