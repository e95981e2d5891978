//! What stands behind workers, and whose they are.
use super::clerk::Clerk;
use super::{DocketError, Money, Trouble, convert};
use crate::keeper::Handle;
use gleaner_chain::order::Order;
use gleaner_chain::ownership::Ownership;
use gleaner_core::Event;
use gleaner_wire::receipt::Bytes;
use gleaner_wire::{Address, Amount, WorkerKey};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Providers whose stake is looked at in a round.
const STAKES_PER_ROUND: usize = 16;

impl Clerk {
    /// Looks at the stake of a few providers at a time, so that all are looked at again and again.
    pub(super) async fn look_at_stakes(&mut self) -> Result<(), Trouble> {
        if self.to_look_at.is_empty() {
            self.to_look_at = self.keeper.ask(|core| core.providers()).await?.into();
        }
        for _ in 0..STAKES_PER_ROUND {
            let Some(provider) = self.to_look_at.pop_front() else { return Ok(()) };
            self.money.see_stake(&self.keeper, provider).await?;
        }
        Ok(())
    }
}

impl Money {
    /// Refuses a worker whose provider has not signed that it is its own here: it could lie under a stranger's stake. What was
    /// signed is on disk when this returns, because every receipt of that worker has to show it.
    pub(crate) async fn take_owner(
        self: &Arc<Self>,
        worker: WorkerKey,
        provider: Address,
        proof: Vec<u8>,
    ) -> Result<(), String> {
        self.check_owner(worker, provider, &proof)?;
        let money = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || money.docket.keep_owner(worker, provider, &proof)).await;
        let kept = kept.map_err(|error| error.to_string())?;
        kept.map_err(|error| format!("what {provider} signed for its worker cannot be kept: {error}"))
    }

    /// What these owners have signed for their workers, as far as it is known.
    pub(crate) fn owner_proofs(
        &self,
        owned: &[(WorkerKey, Address)],
    ) -> Result<BTreeMap<(WorkerKey, Address), Bytes>, DocketError> {
        let mut found = BTreeMap::new();
        for (worker, provider) in owned {
            if let Some(signature) = self.docket.owner(*worker, *provider)? {
                found.insert((*worker, *provider), Bytes(signature));
            }
        }
        Ok(found)
    }

    fn check_owner(&self, worker: WorkerKey, provider: Address, proof: &[u8]) -> Result<(), String> {
        let (deployment, hub) = (&self.market.deployment, self.account.address());
        let (chain_id, stake, owner) = (deployment.chain_id, deployment.stake, convert::address(provider));
        if (Ownership { chain_id, stake, owner, worker, hub }).is_signed_by_owner(proof) {
            return Ok(());
        }
        let lack = if proof.is_empty() { "does not prove" } else { "shows a signature that does not prove" };
        Err(format!(
            "the worker {worker} names the account {provider} and {lack} that it is this account's own on the hub {hub}: \
             start it with the wallet of that account (`gleaner share --wallet FILE`), or have that wallet sign what \
             `gleaner worker statement {provider}` prints (`gleaner wallet prove-worker`) and name the outcome with \
             `gleaner share --owner-proof FILE`"
        ))
    }

    /// Tells the core what is locked of the stake of those whose claims are about to be drawn, as far as it has not heard: that
    /// is what they stand to lose. Of whom nothing is locked everything is audited.
    pub(crate) async fn see_locks(&self, keeper: &Handle) -> Result<(), Trouble> {
        for (job, signed, provider) in keeper.ask(|core| core.locks_unseen()).await? {
            let order = Order::from(&signed.order).id(&self.domain);
            let locked = self.market.lock_of(order, convert::address(provider)).await?;
            if locked > Amount::ZERO {
                keeper.tell(Event::LockSeen { job, provider, locked }).await?;
            }
        }
        Ok(())
    }

    /// Tells the core of a provider's stake if it has changed.
    pub(crate) async fn see_stake(&self, keeper: &Handle, provider: Address) -> Result<(), Trouble> {
        let stake = self.market.stake_of(convert::address(provider)).await?;
        if keeper.ask(move |core| core.stake(provider)).await? != stake {
            keeper.tell(Event::StakeSeen { provider, stake }).await?;
        }
        Ok(())
    }
}
