//! The demo's money: who has what before and after, a withdrawal, and a vote that changes the platform's share.
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gleaner_chain::market::{Ballot, Call, Market, Stage};
use gleaner_chain::primitives::{Address, U256};
use gleaner_chain::sender::Sender;
use gleaner_chain::{Account, wallet};
use gleaner_client::Client;
use gleaner_requester::{Purse, Settled};
use gleaner_wire::Amount;
use tokio::time::{Instant, sleep};

use crate::network::worker_name;
use crate::output::say;
use crate::table::Align::{Left, Right};
use crate::table::Table;
use crate::words;

/// What the requester puts into escrow at first.
const DEPOSIT: Amount = Amount::gln(50);
/// The platform's share that is voted for, in hundredths of a percent.
const NEW_SHARE: u64 = 1200;
const SHARE: &str = "platformShareBps";
/// How long a vote may take; on a chain for this machine alone its delays are seconds.
const VOTE_TIME_MAX: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Someone whose money is watched.
#[derive(Clone)]
struct Party {
    name: String,
    address: Address,
}

/// What someone has.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Holdings {
    wallet: Amount,
    escrow: Amount,
    stake: Amount,
}

impl Holdings {
    fn sum(self) -> u128 {
        u128::from(self.wallet.0) + u128::from(self.escrow.0) + u128::from(self.stake.0)
    }
}

/// The money of the demo.
pub struct Money {
    /// The requester's purse.
    pub purse: Purse,
    folder: PathBuf,
    voter: Account,
    parties: Vec<Party>,
    before: Vec<Holdings>,
}

impl Money {
    /// Fills the requester's wallet, deposits, and notes what everyone has.
    pub async fn begin(client: &Client, folder: &Path, workers: u32, voter: Account) -> Result<Self> {
        let account = wallet::own(&folder.join("wallet.json"))?;
        let purse = Purse::of(client, account).await?;
        purse.fill(client).await?;
        let mut parties = vec![Party { name: "requester".to_owned(), address: purse.account.address() }];
        for number in 1..=workers {
            let address = provider(folder, number)?.address();
            parties.push(Party { name: worker_name(number), address });
        }
        parties.push(Party { name: "platform".to_owned(), address: purse.view.deployment.timelock });
        parties.push(Party { name: "hub".to_owned(), address: purse.view.hub });
        let mut money = Self { purse, folder: folder.to_owned(), voter, parties, before: Vec::new() };
        money.before = money.holdings().await?;
        let deposit = money.purse.market.deposit_with_permit(&money.purse.account, DEPOSIT).await?;
        money.purse.send(&deposit).await?;
        let stake = words::money(money.purse.view.terms.stake_min);
        say(format!(
            "The requester deposits {}; each worker has staked more than the {stake} it must.",
            words::money(DEPOSIT)
        ));
        Ok(money)
    }

    async fn holdings(&self) -> Result<Vec<Holdings>> {
        let market = &self.purse.market;
        let mut all = Vec::new();
        for party in &self.parties {
            all.push(Holdings {
                wallet: market.token_balance(party.address).await?,
                escrow: market.escrow_balance(party.address).await?,
                stake: market.stake_of(party.address).await?,
            });
        }
        Ok(all)
    }

    /// Has a worker's owner withdraw all that it has earned. Says who and how much.
    pub async fn withdraw(&self, number: u32) -> Result<String> {
        let account = provider(&self.folder, number)?;
        let (market, address) = (&self.purse.market, account.address());
        let earned = market.escrow_balance(address).await?;
        self.purse.sender.send(&account, &market.withdraw(earned)).await?;
        if market.escrow_balance(address).await? != Amount::ZERO {
            bail!("the withdrawal of {} left something behind", worker_name(number));
        }
        Ok(format!("{} withdrew the {} it had earned, in one transaction.", worker_name(number), words::money(earned)))
    }

    /// What everyone had and has, and that nothing was made or lost.
    pub async fn compare(&self) -> Result<String> {
        let after = self.holdings().await?;
        let mut table = Table::new([
            ("", Left),
            ("WALLET", Right),
            ("ESCROW", Right),
            ("STAKE", Right),
            ("AFTER: WALLET", Right),
            ("ESCROW", Right),
            ("STAKE", Right),
            ("CHANGE", Right),
        ]);
        for ((party, before), after) in self.parties.iter().zip(&self.before).zip(&after) {
            let change = after.sum() as i128 - before.sum() as i128;
            let cells = [before.wallet, before.escrow, before.stake, after.wallet, after.escrow, after.stake];
            let [a, b, c, d, e, f] = cells.map(|amount| amount.to_string());
            table.row([party.name.clone(), a, b, c, d, e, f, signed(change)]);
        }
        let sum = |all: &[Holdings]| all.iter().map(|holdings| holdings.sum()).sum::<u128>();
        if sum(&self.before) != sum(&after) {
            bail!("money was made or lost: {} units before, {} after", sum(&self.before), sum(&after));
        }
        let total = Amount(u64::try_from(sum(&after)).context("the sum fits")?);
        Ok(format!("{}\nBefore and after add up to the same {}.", table.render(), words::money(total)))
    }

    /// A vote on the platform's share, from the proposal to its effect.
    pub fn vote(&self) -> impl Future<Output = Result<String>> + Send + 'static {
        let (market, sender) = (self.purse.market.clone(), self.purse.sender.clone());
        let voter = self.voter.clone();
        async move { vote(&market, &sender, &voter).await }
    }
}

async fn vote(market: &Market, sender: &Sender, voter: &Account) -> Result<String> {
    let before = market.parameter(SHARE).await?;
    let proposal =
        market.parameter_change(SHARE, U256::from(NEW_SHARE), "Take 12 % for the platform instead of 15 %")?;
    sender.send(voter, &market.delegate(voter.address())).await?;
    let propose = market.propose(&proposal);
    // Votes count from the second after they were taken up.
    allowed(market, voter, &propose).await?;
    sender.send(voter, &propose).await?;
    let id = market.proposal_id(&proposal).await?;
    reach(market, id, Stage::Active).await?;
    sender.send(voter, &market.cast(id, Ballot::For)).await?;
    reach(market, id, Stage::Succeeded).await?;
    sender.send(voter, &market.queue(&proposal)).await?;
    let execute = market.execute(&proposal);
    allowed(market, voter, &execute).await?;
    sender.send(voter, &execute).await?;
    let after = market.parameter(SHARE).await?;
    if after != U256::from(NEW_SHARE) {
        bail!("the vote passed and the platform's share is still {after}");
    }
    Ok(format!(
        "A vote changed the platform's share from {} to {} for orders from then on.",
        percent(before),
        percent(after)
    ))
}

/// Waits until the contracts would take a call.
async fn allowed(market: &Market, from: &Account, call: &Call) -> Result<()> {
    let deadline = Instant::now() + VOTE_TIME_MAX;
    while let Err(error) = market.preflight(from.address(), call).await {
        if Instant::now() > deadline {
            return Err(error).context("the vote does not go on");
        }
        let_time_pass(market).await;
    }
    Ok(())
}

async fn reach(market: &Market, id: U256, wanted: Stage) -> Result<()> {
    let deadline = Instant::now() + VOTE_TIME_MAX;
    loop {
        let stage = market.proposal_stage(id).await?;
        if stage == wanted {
            return Ok(());
        }
        let may_come = matches!(stage, Stage::Pending | Stage::Active);
        if !may_come || Instant::now() > deadline {
            bail!("the proposal is {stage:?} and does not get to {wanted:?}");
        }
        let_time_pass(market).await;
    }
}

/// Waits a moment. A node for development makes no block by itself, and without blocks its clock stands still.
async fn let_time_pass(market: &Market) {
    sleep(LOOK_EVERY).await;
    let _refused_by_other_nodes = market.node.advance(0).await;
}

/// Whether an order that was locked after the vote went by its outcome.
pub fn took_effect(settled: &Settled) -> Result<String> {
    let payouts = settled.settlement.payouts.iter();
    let fee: u64 = payouts.map(|payout| payout.gross.basis_points(NEW_SHARE as u32).0).sum();
    if settled.fee != Amount(fee) {
        bail!("the platform took {} of the second order, and the vote gave it {}", settled.fee, Amount(fee));
    }
    Ok(format!(
        "Of the second picture's order, which came after the vote, the platform took {}: 12 %.",
        words::money(settled.fee)
    ))
}

/// The account of a worker of the demo's network.
pub fn provider(folder: &Path, number: u32) -> Result<Account> {
    Ok(wallet::own(&folder.join("workers").join(number.to_string()).join("wallet.json"))?)
}

fn signed(change: i128) -> String {
    let amount = Amount(u64::try_from(change.unsigned_abs()).unwrap_or(u64::MAX));
    match change {
        0 => "0".to_owned(),
        1.. => format!("+{amount}"),
        i128::MIN..=-1 => format!("-{amount}"),
    }
}

fn percent(points: U256) -> String {
    format!("{} %", points.saturating_to::<u64>() as f64 / 100.0)
}
