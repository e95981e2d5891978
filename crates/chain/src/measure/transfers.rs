//! Transfers of the token: the smallest thing that a chain of money does.
use super::play::{Manner, Script};
use super::stage::Stage;
use super::{Error, Timing, machine};
use crate::account::Account;
use crate::contracts::Token;
use alloy_sol_types::SolEvent;
use gleaner_wire::Amount;

/// Who sends, each to the next.
const SENDERS: usize = 100;
/// Senders are spread over so many lanes, so that signatures are checked side by side.
const LANES: usize = 10;
/// Transfers of a lane that are under way at a time.
const AT_ONCE: usize = 800;

/// How long a number of transfers takes.
#[derive(Clone, Copy, Debug)]
pub struct Transfers {
    /// How many there were.
    pub count: u64,
    /// On revm alone.
    pub alone: Timing,
    /// On the chain, by senders whom the caller vouches for, on disk but not synced.
    pub vouched: Timing,
    /// The same, synced.
    pub vouched_synced: Timing,
    /// On the chain, with every signature checked, on disk but not synced.
    pub checked: Timing,
    /// The same, synced.
    pub checked_synced: Timing,
}

/// Measures that many transfers, rounded up to as many for every sender.
pub async fn transfers(count: u64) -> Result<Transfers, Error> {
    let mut stage = Stage::open().await?;
    let senders: Vec<Account> =
        (0..SENDERS).map(|number| Account::from_words(&format!("measured sender {number}"))).collect();
    let faucet = stage.faucet.clone();
    let gifts = senders.iter().map(|sender| (&faucet, stage.market.transfer(sender.address(), Amount::gln(1))));
    let gifts: Vec<_> = gifts.collect();
    stage.perform(&gifts).await?;
    let script = script(&mut stage, &senders, count.div_ceil(SENDERS as u64))?;
    let closed = stage.close();
    let manner = |sync, checked| Manner { sync, checked, at_once: AT_ONCE };
    Ok(Transfers {
        count: script.proof.1,
        alone: machine::alone(&closed, &script).await?,
        vouched: script.play(&closed, manner(false, false)).await?,
        vouched_synced: script.play(&closed, manner(true, false)).await?,
        checked: script.play(&closed, manner(false, true)).await?,
        checked_synced: script.play(&closed, manner(true, true)).await?,
    })
}

fn script(stage: &mut Stage, senders: &[Account], each: u64) -> Result<Script, Error> {
    let mut lanes = vec![Vec::new(); LANES];
    for _ in 0..each {
        for (place, sender) in senders.iter().enumerate() {
            let call = stage.market.transfer(senders[(place + 1) % senders.len()].address(), Amount(1));
            lanes[place % LANES].push(stage.sign(sender, &call)?);
        }
    }
    Ok(Script { lanes, proof: (Token::Transfer::SIGNATURE_HASH, each * senders.len() as u64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_way_of_sending_is_timed() {
        let measured = transfers(150).await.expect("measured");
        assert_eq!(measured.count, 200, "as many for each of the hundred senders");
        let Transfers { count, alone, vouched, vouched_synced, checked, checked_synced } = measured;
        for timing in [alone, vouched, vouched_synced, checked, checked_synced] {
            assert!(timing.per_second(count) > 1.0 && timing.per_second(count) < 10_000_000.0, "{timing:?}");
            assert!(timing.per_cpu_second(count) > 1.0, "{timing:?}");
        }
    }
}
