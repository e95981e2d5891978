//! What stands behind workers.
use super::clerk::Clerk;
use super::{Money, Trouble, convert};
use crate::keeper::Handle;
use gleaner_core::Event;
use gleaner_wire::Address;

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
    /// Tells the core of a provider's stake if it has changed.
    pub(crate) async fn see_stake(&self, keeper: &Handle, provider: Address) -> Result<(), Trouble> {
        let stake = self.market.stake_of(convert::address(provider)).await?;
        if keeper.ask(move |core| core.stake(provider)).await? != stake {
            keeper.tell(Event::StakeSeen { provider, stake }).await?;
        }
        Ok(())
    }
}
