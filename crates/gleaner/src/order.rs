//! Orders: what a requester signs before its job runs, and its word on the settlement afterwards, as commands tell of it.
use anyhow::Result;
use gleaner_chain::wallet;
use gleaner_client::data::Attendant;
use gleaner_client::{Client, Draft, Way};
use gleaner_requester::{Covered, Purse, Settled, awaits_approval, has_chain, settle};
use gleaner_wire::api::Submitted;
use gleaner_wire::{Amount, JobId};

use crate::data::{Pushing, Steering};
use crate::output::say;
use crate::settings::Settings;
use crate::{purse, words};

/// The requester's purse, filled by the faucet if there is one; none if the hub's money is on no chain.
pub async fn purse(settings: &Settings, client: &Client) -> Result<Option<Purse>> {
    if !has_chain(client).await? {
        return Ok(None);
    }
    let mut purse = Purse::of(client, purse::account(settings)?).await?;
    purse.file = Some(settings.wallet_file()?);
    if let Some(amount) = purse.fill(client).await? {
        say(format!("the faucet gave {} to {}", words::money(amount), purse.account.address()));
    }
    Ok(Some(purse))
}

/// Submits a job: without a chain as it is, else with an order that covers its cap. Workers ask the attendant for its
/// keys.
pub async fn submit(client: &Client, purse: Option<&Purse>, draft: &Draft, way: Way) -> Result<(Submitted, Attendant)> {
    let mut pushing = Pushing::new();
    let steering = Steering::watch(client.account()?.steering());
    let packed = client.pack(draft, Some(steering.receiver()), way, |name, so_far| pushing.show(name, so_far)).await;
    pushing.clear();
    let package = packed?;
    let submitted = match purse {
        None => client.send(&package, None).await?,
        Some(purse) => {
            let covered = Covered::by(purse, &package, || tell_waiting(purse)).await?;
            if covered.deposited > Amount::ZERO {
                say(format!("deposited {} to cover the order", words::money(covered.deposited)));
            }
            covered.send(client, &package).await?
        }
    };
    let attendant = client.attendant(&package, submitted.job);
    Ok((submitted, attendant))
}

fn tell_waiting(purse: &Purse) {
    purse.file.iter().for_each(|file| purse::tell_waiting(file));
}

/// Approves an ended job whose requester is the settings' wallet, if that was not done when it ended. Says how it was
/// settled, if it was.
pub async fn settle_late(settings: &Settings, client: &Client, job: JobId) -> Result<Option<Settled>> {
    let file = settings.wallet_file()?;
    let own = if file.exists() { wallet::address(&file)? } else { None };
    let Some(own) = own else { return Ok(None) };
    if !awaits_approval(client, job, own).await? {
        return Ok(None);
    }
    let Some(purse) = purse(settings, client).await? else { return Ok(None) };
    Ok(Some(settle(client, &purse, job).await?))
}

/// How an order ended, in words.
pub fn told(settled: &Settled) -> String {
    let gross = settled.settlement.gross().unwrap_or_default();
    let providers = words::count(settled.settlement.payouts.len() as u64, "worker");
    let net = Amount(gross.0.saturating_sub(settled.fee.0));
    format!(
        "settled on the chain: {} paid, {} to {providers} and {} to the platform",
        words::money(gross),
        words::money(net),
        words::money(settled.fee)
    )
}
