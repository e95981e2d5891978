//! An account's stake: what stands behind its word as a provider, and how that moves in and out.
use gleaner_chain::primitives::U256;
use gleaner_requester::Purse;
use gleaner_wire::{Amount, Asker};
use serde::{Deserialize, Serialize};

use crate::wallet::{Moved, Portion, portion, positive, sent, turn};
use crate::{Desk, Error};

/// All of something, in hundredths of a percent.
const WHOLE_POINTS: u64 = 10_000;

/// What an account has staked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = DeskStake)]
pub(crate) struct StakeView {
    /// Tokens in the wallet, which could be staked.
    tokens: Amount,
    /// All of the stake.
    total: Amount,
    /// What work, disputes or published rewards depend on.
    locked: Amount,
    /// The rest, which can be taken out.
    free: Amount,
    /// On its way out, and not part of the total.
    unbonding: Amount,
    /// Unix seconds from which that can be claimed.
    ready_at: Option<u64>,
    /// Whether it can be claimed now, by the chain's clock.
    ready: bool,
    /// Seconds that taking stake out lasts.
    unbonding_delay: u64,
    /// What a provider or an auditor must have staked.
    minimum: Amount,
    /// How much of it this hub may hold locked at a time.
    allowed: Amount,
    /// The most that one verdict about one order may take of it.
    verdict_max: Amount,
    /// The most that verdicts about everything that is locked now may take of it.
    at_risk: Amount,
    /// Whether the account may be drawn to decide disputes.
    auditor: bool,
}

/// Stake that somebody wants to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = WantedStake)]
#[serde(deny_unknown_fields)]
pub(crate) struct Added {
    /// How much.
    amount: Amount,
    /// Whether this hub may lock the stake while work depends on it, which providers need; yes if nothing is said.
    #[serde(default)]
    allow: Option<bool>,
}

/// Stake that somebody wants to take out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = WantedUnbonding)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unbonded {
    /// How much, or `all` that is free.
    #[schema(value_type = String)]
    amount: Portion,
}

impl Desk {
    /// What an account has staked.
    pub(crate) async fn stake(&self, asker: &Asker) -> Result<StakeView, Error> {
        let (_, purse) = self.purse(asker).await?;
        Ok(look(&purse).await?)
    }

    /// Stakes tokens of the wallet.
    pub(crate) async fn add_stake(&self, asker: &Asker, key: &str, wanted: &Added) -> Result<Moved, Error> {
        let (account, purse) = self.purse(asker).await?;
        let amount = positive(wanted.amount)?;
        self.once(&account, key, ("stake", wanted), async || {
            let _turn = turn(&purse).await?;
            let has = look(&purse).await?;
            if amount > has.tokens {
                let tokens = has.tokens;
                return Err(Error::Wrong(format!("{amount} GLN are wanted, and {tokens} GLN are in the wallet")));
            }
            // The allowance comes first: if the stake is refused then, nothing has moved, and the same can be asked again.
            if wanted.allow.unwrap_or(true) {
                let total = Amount(has.total.0.saturating_add(amount.0));
                if has.allowed < total {
                    purse.send(&purse.market.allow(purse.view.hub, total)).await?;
                }
            }
            let call = purse.market.stake_with_permit(&purse.account, amount).await;
            sent(&purse, &call.map_err(gleaner_requester::Error::from)?, amount).await
        })
        .await
    }

    /// Begins to take free stake out.
    pub(crate) async fn unbond_stake(&self, asker: &Asker, key: &str, wanted: &Unbonded) -> Result<Moved, Error> {
        let (account, purse) = self.purse(asker).await?;
        self.once(&account, key, ("unbond", wanted), async || {
            let _turn = turn(&purse).await?;
            let free = purse.market.free_stake_of(purse.account.address()).await;
            let amount = portion(&wanted.amount, free.map_err(gleaner_requester::Error::from)?)?;
            sent(&purse, &purse.market.unbond(amount), amount).await
        })
        .await
    }

    /// Takes out what has been unbonding long enough.
    pub(crate) async fn claim_stake(&self, asker: &Asker, key: &str) -> Result<Moved, Error> {
        let (account, purse) = self.purse(asker).await?;
        self.once(&account, key, "claim stake", async || {
            let _turn = turn(&purse).await?;
            let has = look(&purse).await?;
            if has.ready_at.is_none() {
                return Err(Error::NotNow("no stake is on its way out: begin with taking some out".into()));
            }
            if !has.ready {
                let unbonding = has.unbonding;
                return Err(Error::NotNow(format!("{unbonding} GLN are on their way out and cannot be claimed yet")));
            }
            sent(&purse, &purse.market.claim_stake(), has.unbonding).await
        })
        .await
    }
}

async fn look(purse: &Purse) -> Result<StakeView, gleaner_requester::Error> {
    let (market, address) = (&purse.market, purse.account.address());
    let (total, free) = (market.stake_of(address).await?, market.free_stake_of(address).await?);
    let (unbonding, ready_at) = market.unbonding_of(address).await?;
    let (terms, now) = (market.terms().await?, market.now().await?);
    let locked = Amount(total.0.saturating_sub(free.0));
    let is_unbonding = unbonding > Amount::ZERO;
    Ok(StakeView {
        tokens: market.token_balance(address).await?,
        total,
        locked,
        free,
        unbonding,
        ready_at: is_unbonding.then_some(ready_at),
        ready: is_unbonding && ready_at <= now,
        unbonding_delay: terms.unbonding_delay,
        minimum: terms.stake_min,
        allowed: limited(market.stake_allowance(address, purse.view.hub).await?),
        verdict_max: taken(terms.work_lock.min(total), terms.slash_points),
        at_risk: taken(locked, terms.slash_points),
        auditor: market.is_auditor(address).await?,
    })
}

/// An allowance can be above all tokens there are.
fn limited(allowance: U256) -> Amount {
    Amount(allowance.saturating_to())
}

/// What a verdict takes of what is locked.
fn taken(locked: Amount, points: u32) -> Amount {
    let part = u128::from(locked.0) * u128::from(points) / u128::from(WHOLE_POINTS);
    Amount(u64::try_from(part).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_takes_a_share_of_what_is_locked_rounded_down() {
        assert_eq!(taken(Amount::gln(1), 5_000), Amount(500_000_000));
        assert_eq!(taken(Amount(3), 5_000), Amount(1));
        assert_eq!(taken(Amount(u64::MAX), 10_000), Amount(u64::MAX));
        assert_eq!(taken(Amount::gln(7), 0), Amount::ZERO);
    }
}
