//! The faucet of an embedded chain: a newcomer gets tokens to begin with. On a real chain there is none.
use super::{Money, Trouble, convert};
use gleaner_chain::Account;
use gleaner_chain::market::{Market, ReadError};
use gleaner_chain::primitives::Address;
use gleaner_chain::sender::{Failure, Sender};
use gleaner_wire::Amount;
use std::collections::BTreeSet;
use tokio::sync::Mutex;

/// What a newcomer gets.
const GIFT: Amount = Amount::gln(1000);
/// Newcomers that one run of a hub serves.
const GIFTS_MAX: usize = 10_000;

/// The faucet. One gift at a time, so that its transactions are numbered in order.
pub(super) struct Faucet {
    sender: Sender,
    account: Account,
    given: Mutex<BTreeSet<Address>>,
}

/// What came of asking the faucet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gift {
    /// So much was sent.
    Given(Amount),
    /// The account has had its gift, or has tokens.
    NotNew,
    /// There is no faucet here, or it has served enough.
    Closed,
}

impl Faucet {
    pub(super) fn new(sender: Sender, account: Account) -> Self {
        Self { sender, account, given: Mutex::new(BTreeSet::new()) }
    }

    /// Gives the hub its stake, if it has none yet.
    pub(super) async fn endow(&self, market: &Market, hub: &Account, stake: Amount) -> Result<(), Failure> {
        let (address, failed) = (hub.address(), |error: ReadError| Failure::Refused(error.to_string()));
        if market.stake_of(address).await.map_err(failed)? > Amount::ZERO {
            return Ok(());
        }
        if market.token_balance(address).await.map_err(failed)? < stake {
            self.sender.send(&self.account, &market.transfer(address, stake)).await?;
        }
        let call = market.stake_with_permit(hub, stake).await.map_err(failed)?;
        self.sender.send(hub, &call).await?;
        Ok(())
    }

    /// Gives the hub what it has to put at stake, if its own tokens are fewer.
    pub(super) async fn fill(&self, market: &Market, hub: &Account, wanted: Amount) -> Result<(), Trouble> {
        let _turn = self.given.lock().await;
        if market.token_balance(hub.address()).await? < wanted {
            self.sender.send(&self.account, &market.transfer(hub.address(), wanted)).await?;
        }
        Ok(())
    }

    async fn give(&self, market: &Market, to: Address) -> Result<Gift, Trouble> {
        let mut given = self.given.lock().await;
        if given.len() >= GIFTS_MAX {
            return Ok(Gift::Closed);
        }
        if given.contains(&to) || market.token_balance(to).await? > Amount::ZERO {
            return Ok(Gift::NotNew);
        }
        self.sender.send(&self.account, &market.transfer(to, GIFT)).await?;
        given.insert(to);
        Ok(Gift::Given(GIFT))
    }
}

impl Money {
    /// Gives a newcomer tokens, if there is a faucet.
    pub(crate) async fn gift(&self, to: gleaner_wire::Address) -> Result<Gift, Trouble> {
        match &self.faucet {
            Some(faucet) => faucet.give(&self.market, convert::address(to)).await,
            None => Ok(Gift::Closed),
        }
    }
}
