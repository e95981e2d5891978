//! Presence: an auditor that was not heard of for a voting window is not drawn. While a machine is shared, its auditors
//! say again and again that they are there; when it stops in good order, its own one leaves the list.
//!
//! Nothing here decides about a dispute, and nothing here keeps a machine from stopping for more than a few seconds.
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use gleaner_chain::Account;
use gleaner_chain::market::{Call, Market};
use gleaner_chain::primitives::Address;
use gleaner_chain::sender::{Failure, Sender};
use gleaner_client::Client;
use gleaner_requester::{Purse, Turn};
use gleaner_wire::Amount;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::output::say;

/// How often an auditor renews in a voting window: one that fails once or twice does not lapse.
const RENEWALS: u32 = 3;
/// How often it tries in a voting window while it cannot renew: a draw is pending, or the hub is away.
const TRIES: u32 = 12;
/// The shortest pause, whatever the window is, and the longest before another try.
const PAUSE_MIN: Duration = Duration::from_secs(2);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(60);
/// The voting window until the chain has said what it is, and the longest that the contracts allow.
const WINDOW_AT_FIRST: Duration = Duration::from_secs(60);
const WINDOW_MAX: Duration = Duration::from_secs(30 * 86_400);
/// How long one try may take at least, on a machine that others use too.
const TRY_TIME_MIN: Duration = Duration::from_secs(30);
/// How long a machine that stops waits for its own auditor to leave.
pub const LEAVE_TIME_MAX: Duration = Duration::from_secs(3);
/// How often an auditor tries to leave while a draw is pending.
const LEAVE_PAUSE: Duration = Duration::from_millis(250);
/// How many times the least stake an auditor puts up where tokens are free, so that it can sit on several committees.
const STAKE_TIMES: u64 = 10;

/// Somebody who judges from this machine.
#[derive(Clone, Debug)]
pub enum Auditor {
    /// The provider, whose owner enrols it or does not.
    Provider {
        /// Its account.
        account: Account,
        /// The keystore, from which others may spend too.
        wallet: PathBuf,
    },
    /// The machine's own account, which nobody else uses.
    Machine(Account),
}

impl Auditor {
    /// The account that votes.
    pub fn account(&self) -> &Account {
        match self {
            Self::Provider { account, .. } | Self::Machine(account) => account,
        }
    }

    fn address(&self) -> Address {
        self.account().address()
    }
}

/// Keeps auditors present.
#[derive(Clone)]
pub struct Presence {
    client: Client,
    market: Market,
    sender: Sender,
}

impl Presence {
    /// Presence in this court; the hub gives tokens to newcomers.
    pub fn new(client: Client, market: Market) -> Self {
        let sender = Sender::new(market.node.clone(), market.deployment.chain_id);
        Self { client, market, sender }
    }

    /// Keeps an auditor present until the machine stops; then the machine's own leaves.
    pub async fn keep(self, auditor: Auditor, mut stopped: watch::Receiver<bool>) {
        tokio::select! {
            () = self.renew_for_ever(&auditor) => {}
            // An error means that whoever could say so is gone, which is an end too.
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        match &auditor {
            Auditor::Provider { .. } => {}
            Auditor::Machine(account) => self.leave(account).await,
        }
    }

    async fn renew_for_ever(&self, auditor: &Auditor) {
        let mut window = WINDOW_AT_FIRST;
        loop {
            let pause = match self.try_once(auditor, &mut window).await {
                Ok(()) => renewal_pause(window),
                Err(error) => {
                    let (address, error) = (auditor.address(), format!("{error:#}"));
                    tracing::debug!(%address, error, "an auditor cannot say now that it is there");
                    retry_pause(window)
                }
            };
            sleep(pause).await;
        }
    }

    async fn try_once(&self, auditor: &Auditor, window: &mut Duration) -> Result<()> {
        // Read each time, since a vote may change it.
        let seconds = self.market.parameter("votingWindow").await?.saturating_to();
        *window = Duration::from_secs(seconds).min(WINDOW_MAX);
        let time_max = renewal_pause(*window).max(TRY_TIME_MIN);
        timeout(time_max, self.renew(auditor)).await.context("it took too long")?
    }

    /// Says that an auditor is there. The machine's own is enrolled if it is not on the list, or not any more.
    async fn renew(&self, auditor: &Auditor) -> Result<()> {
        let listed = self.market.is_auditor(auditor.address()).await?;
        match (auditor, listed) {
            (Auditor::Provider { wallet, .. }, true) => {
                let _turn = Turn::take(wallet, || {}).await?;
                self.send(auditor.account(), &self.market.renew()).await
            }
            (Auditor::Provider { .. }, false) => Ok(()),
            (Auditor::Machine(account), true) => self.send(account, &self.market.renew()).await,
            (Auditor::Machine(account), false) => self.enrol(account).await,
        }
    }

    /// Makes an account of this machine's an auditor, with tokens that the faucet gives.
    async fn enrol(&self, account: &Account) -> Result<()> {
        let purse = Purse::of(&self.client, account.clone()).await?;
        let (market, address) = (&purse.market, account.address());
        let needed = purse.view.terms.stake_min;
        if market.free_stake_of(address).await? < needed {
            purse.fill(&self.client).await?;
            let stake = Amount(needed.0.saturating_mul(STAKE_TIMES));
            purse.send(&market.stake_with_permit(account, stake).await?).await?;
        }
        purse.send(&market.enroll()).await?;
        say(format!("{address} is an auditor now, who may be drawn to decide disputes"));
        Ok(())
    }

    async fn send(&self, account: &Account, call: &Call) -> Result<()> {
        self.sender.send(account, call).await?;
        Ok(())
    }

    /// Takes an account off the list, so that no committee waits for a machine that has stopped. It lapses where that
    /// does not succeed in time.
    async fn leave(&self, account: &Account) {
        let left = timeout(LEAVE_TIME_MAX, self.resign(account)).await.context("it took too long");
        if let Err(error) = left.and_then(|left| left) {
            tracing::debug!(address = %account.address(), error = format!("{error:#}"), "an auditor did not resign");
        }
    }

    async fn resign(&self, account: &Account) -> Result<()> {
        while self.market.is_auditor(account.address()).await? {
            match self.sender.send(account, &self.market.resign()).await {
                Ok(_) => return Ok(()),
                // Most likely a draw is pending, which is a matter of seconds.
                Err(Failure::Refused(_) | Failure::Reverted { .. }) => sleep(LEAVE_PAUSE).await,
                Err(
                    error @ (Failure::Send(_) | Failure::Replaced { .. } | Failure::Waiting { .. } | Failure::Node(_)),
                ) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// From one renewal to the next.
fn renewal_pause(window: Duration) -> Duration {
    (window / RENEWALS).max(PAUSE_MIN)
}

/// From a renewal that failed to the next try.
fn retry_pause(window: Duration) -> Duration {
    (window / TRIES).clamp(PAUSE_MIN, RETRY_PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUB: Duration = Duration::from_secs(60);
    const PRESET: Duration = Duration::from_secs(86_400);

    #[test]
    fn a_renewal_can_fail_several_times_before_the_auditor_lapses() {
        for window in [HUB, PRESET, WINDOW_MAX] {
            let left = window - renewal_pause(window);
            assert!(left.as_secs() / retry_pause(window).as_secs() >= 8, "{window:?}");
        }
    }

    #[test]
    fn no_window_makes_it_spin() {
        for seconds in [0, 1, 5, 20] {
            let window = Duration::from_secs(seconds);
            assert!(renewal_pause(window) >= PAUSE_MIN && retry_pause(window) >= PAUSE_MIN, "{window:?}");
        }
        assert_eq!(retry_pause(WINDOW_MAX), RETRY_PAUSE_MAX, "a hub that comes back is noticed");
    }
}
