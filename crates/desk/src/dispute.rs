//! A requester's objection to what a hub wants to be paid for an ended job.
use gleaner_chain::market::{DisputeStage, OrderState, State};
use gleaner_chain::order::Settlement;
use gleaner_chain::views::SettlementView;
use gleaner_requester::{Claimed, Purse};
use gleaner_wire::{Amount, Asker, JobId};
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::results::no_job;
use crate::wallet::turn;
use crate::{Desk, Error};

/// Where the payment of a job stands, and whether there is something to object to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = JobDispute)]
pub(crate) struct DisputeView {
    /// Where the order of the job stands; `none` while the hub has not said what it wants to be paid.
    state: State,
    /// What can be done now.
    step: Step,
    /// What the hub wants to be paid, where that is not final.
    claimed: Option<Amount>,
    /// What was delivered comes to, where that is not final.
    delivered: Option<Amount>,
    /// What the account loses if the auditors side with the hub.
    bond: Amount,
    /// Unix seconds until which it can object.
    until: Option<u64>,
}

/// What a requester can do about a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = DisputeStep)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Nothing.
    Nothing,
    /// Have a committee of auditors decide.
    Challenge,
    /// Have paid what they decided.
    Conclude,
}

/// What was done about a settlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct Disputed {
    /// What it was.
    step: Step,
    /// The block in which it was.
    block: u64,
}

struct Case {
    view: DisputeView,
    /// The settlement that pays only what was delivered.
    counter: Option<Settlement>,
}

impl Desk {
    /// Refuses a job that was not ordered by this account at this desk, as one that is not there.
    pub(crate) async fn check_job(&self, asker: &Asker, job: JobId) -> Result<(), Error> {
        let found = self.inner.books.job_of(&asker.account, job).await?;
        found.map(|_| ()).ok_or_else(|| no_job(job))
    }

    /// Whether there is something to object to in what the hub wants to be paid.
    pub(crate) async fn dispute(&self, asker: &Asker, job: JobId) -> Result<DisputeView, Error> {
        self.check_job(asker, job).await?;
        let (account, purse) = self.purse(asker).await?;
        Ok(self.case(&account, &purse, job).await?.view)
    }

    /// Objects, or has paid what was decided.
    pub(crate) async fn object(&self, asker: &Asker, key: &str, job: JobId) -> Result<Disputed, Error> {
        self.check_job(asker, job).await?;
        let (account, purse) = self.purse(asker).await?;
        self.once(&account, key, ("dispute", job), async || {
            let _turn = turn(&purse).await?;
            let Case { view, counter } = self.case(&account, &purse, job).await?;
            let call = match (view.step, counter) {
                (Step::Challenge, Some(counter)) => purse.market.challenge(&counter),
                (Step::Conclude, Some(counter)) => purse.market.conclude(&counter),
                (Step::Nothing, _) | (_, None) => return Err(Error::NotNow(hindrance(&view).into())),
            };
            let receipt = purse.send(&call).await?;
            Ok(Disputed { step: view.step, block: receipt.block_number })
        })
        .await
    }

    async fn case(&self, account: &Account, purse: &Purse, job: JobId) -> Result<Case, Error> {
        let client = account.client(&self.inner)?;
        // It is asked for here first, because reading all of it waits for a job that is about to end.
        let found = match client.get::<SettlementView>(&format!("/jobs/{job}/settlement")).await {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Ok(Case::closed(State::None)),
            Err(error) => return Err(error.into()),
        };
        let read = gleaner_requester::Error::from;
        let order = purse.market.order_state(found.settlement.order).await.map_err(read)?;
        let verdict = match order.state {
            State::Proposed => DisputeStage::None,
            State::Disputed => purse.market.dispute_state(order.dispute).await.map_err(read)?.stage,
            State::None | State::Locked | State::Settled | State::Released => return Ok(Case::closed(order.state)),
        };
        let claimed = Claimed::read(&client, job).await?;
        let counter = claimed.counter()?;
        let is_right = counter == claimed.found.settlement;
        let step = step(&order, is_right, verdict);
        let view = DisputeView {
            state: order.state,
            step,
            claimed: claimed.found.settlement.gross(),
            delivered: counter.gross(),
            bond: order.bond,
            until: (order.state == State::Proposed).then_some(order.final_at),
        };
        Ok(Case { view, counter: Some(counter) })
    }
}

impl Case {
    fn closed(state: State) -> Self {
        let (step, bond) = (Step::Nothing, Amount::ZERO);
        Self { view: DisputeView { state, step, claimed: None, delivered: None, bond, until: None }, counter: None }
    }
}

fn step(order: &OrderState, is_right: bool, verdict: DisputeStage) -> Step {
    match (order.state, verdict) {
        (State::Proposed, _) if !is_right => Step::Challenge,
        (State::Disputed, DisputeStage::ForClaimant) => Step::Conclude,
        (State::Disputed | State::Proposed, _) => Step::Nothing,
        (State::None | State::Locked | State::Settled | State::Released, _) => Step::Nothing,
    }
}

fn hindrance(view: &DisputeView) -> &'static str {
    match view.state {
        State::None | State::Locked => {
            "the hub has not said yet what it wants to be paid, so there is nothing to dispute"
        }
        State::Proposed => "every receipt of this job is in order: there is nothing to dispute",
        State::Disputed => "a committee of auditors decides; there is nothing to do before it has decided for you",
        State::Settled | State::Released => "the order of this job is closed, so nothing can be disputed any more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requester_objects_to_what_is_wrong_and_concludes_what_was_decided_for_them() {
        use gleaner_chain::primitives::{Address, B256, U256};
        let order = |state| OrderState {
            state,
            requester: Address::ZERO,
            hub: Address::ZERO,
            cap: Amount::gln(2),
            bond: Amount::gln(1),
            deadline: 0,
            share_points: 0,
            proposal: B256::ZERO,
            final_at: 0,
            dispute: U256::ZERO,
        };
        let (proposed, disputed) = (order(State::Proposed), order(State::Disputed));
        assert_eq!(step(&proposed, false, DisputeStage::None), Step::Challenge);
        assert_eq!(step(&proposed, true, DisputeStage::None), Step::Nothing);
        assert_eq!(step(&disputed, false, DisputeStage::ForClaimant), Step::Conclude);
        for undecided in [DisputeStage::Open, DisputeStage::ForDefendant, DisputeStage::Expired] {
            assert_eq!(step(&disputed, false, undecided), Step::Nothing);
        }
        assert_eq!(step(&order(State::Settled), false, DisputeStage::None), Step::Nothing);
    }
}
