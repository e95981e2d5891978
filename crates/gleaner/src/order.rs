//! Orders: what a requester signs before its job runs, and its word on the settlement afterwards.
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use gleaner_chain::order::Settlement;
use gleaner_chain::primitives::B256;
use gleaner_chain::receipt::{self, Receipt};
use gleaner_chain::{market, order, wallet};
use gleaner_client::data::Attendant;
use gleaner_client::{Client, Draft, Package, Way};
use gleaner_core::plan;
use gleaner_hub::money::{ApprovalView, ChainView, ReceiptsPage, SettlementView};
use gleaner_wire::api::Submitted;
use gleaner_wire::{Address, Amount, Hash, JobId, Order, SignedOrder};
use tokio::time::{Instant, sleep};

use crate::data::{Pushing, Steering};
use crate::failure::Advice;
use crate::output::say;
use crate::pending::Pending;
use crate::purse::{self, Purse};
use crate::settings::Settings;
use crate::words;

/// How long an order outlasts its job: the hub settles within it, and past it anyone can give the money back.
const SETTLE_SECONDS: u64 = 24 * 3600;
/// How long to wait for the chain to settle what was approved.
const SETTLED_WITHIN: Duration = Duration::from_secs(120);
/// How long an ended job may take to get into the archive.
const ARCHIVED_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How an order ended.
pub struct Settled {
    /// What was paid.
    pub settlement: Settlement,
    /// What the platform took of it.
    pub fee: Amount,
}

/// The requester's purse, filled by the faucet if there is one; none if the hub's money is on no chain.
pub async fn purse(settings: &Settings, client: &Client) -> Result<Option<Purse>> {
    match client.get::<ChainView>("/chain").await {
        Ok(_) => {}
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
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
    let Some(purse) = purse else {
        let submitted = client.send(&package, None).await?;
        let attendant = client.attendant(&package, submitted.job);
        return Ok((submitted, attendant));
    };
    let signed = sign(purse, &package).await?;
    let needs = signed.order.cap.checked_add(signed.order.bond).ok_or_else(|| {
        Advice::new("cap and bond are more than there can be", "lower budget.price_max in the job file")
    })?;
    let mut pending = Pending::read(purse).await?;
    let deposited = purse.cover(pending.and(needs)).await?;
    if deposited > Amount::ZERO {
        say(format!("deposited {} to cover the order", words::money(deposited)));
    }
    let submitted = client.send(&package, Some(&signed)).await?;
    pending.add(order::Order::from(&signed.order).id(&purse.market.domain()), needs)?;
    let attendant = client.attendant(&package, submitted.job);
    Ok((submitted, attendant))
}

async fn sign(purse: &Purse, package: &Package<'_>) -> Result<SignedOrder> {
    // Mistakes in the file are better told by the hub, which knows their lines.
    let time_max = plan::plan(&package.file).map_or(Default::default(), |graph| graph.time_max);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock stands before 1970")?.as_secs();
    // The deadline is by the chain's clock, which may be ahead of ours.
    let now = now.max(purse.market.now().await?);
    let cap = package.file.budget.price_max.unwrap_or(purse.view.price_max_default);
    let order = Order {
        requester: Address(purse.account.address().into_array()),
        hub: Address(purse.view.hub.into_array()),
        job: package.job(),
        cap,
        bond: cap.basis_points(purse.view.terms.bond_points),
        deadline: now + time_max.0.div_ceil(1000) + SETTLE_SECONDS,
        policy: Hash([0; 32]),
        nonce: package.submission(),
    };
    let signature = order::Order::from(&order).sign(&purse.market.domain(), &purse.account).to_vec();
    Ok(SignedOrder { order, signature })
}

/// Approves an ended job whose requester is the settings' wallet, if that was not done when it ended. Says how it was
/// settled, if it was.
pub async fn settle_late(settings: &Settings, client: &Client, job: JobId) -> Result<Option<Settled>> {
    let found: SettlementView = match client.get(&format!("/jobs/{job}/settlement")).await {
        Ok(found) => found,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let file = settings.wallet_file()?;
    let own = if file.exists() { wallet::address(&file)? } else { None };
    if found.closed || own != Some(found.order.requester) {
        return Ok(None);
    }
    let Some(purse) = purse(settings, client).await? else { return Ok(None) };
    settle(client, &purse, job).await.map(Some)
}

/// What a hub wants to be paid for an ended job, and what it delivered.
pub struct Claimed {
    /// Its settlement.
    pub found: SettlementView,
    receipts: Vec<Receipt>,
    /// The hash of every output, by group and element.
    outputs: BTreeMap<(u16, u32), B256>,
}

/// Checks what an ended job is to be paid for, approves it if it is right, and waits until the chain has paid.
pub async fn settle(client: &Client, purse: &Purse, job: JobId) -> Result<Settled> {
    let claimed = Claimed::read(client, job).await?;
    if let Err(reason) = claimed.check() {
        let window = words::span(gleaner_wire::Millis(purse.view.terms.challenge_window * 1000));
        let problem = format!("the settlement of job {job} is not approved: {reason}");
        let help =
            format!("once the hub proposes it to the chain, dispute it within {window}: `gleaner job dispute {job}`");
        return Err(Advice::new(problem, help).into());
    }
    let settlement = claimed.found.settlement;
    let signature = settlement.approve(&purse.market.domain(), &purse.account);
    let _taken: () = client.put_in(&format!("/jobs/{job}/approval"), &ApprovalView { signature }).await?;
    let deadline = Instant::now() + SETTLED_WITHIN;
    while !self::settlement(client, job).await?.closed {
        if Instant::now() > deadline {
            bail!("the settlement of job {job} is approved and not on the chain yet; the hub goes on trying");
        }
        sleep(LOOK_EVERY).await;
    }
    let paid = purse.market.payments_of(settlement.order).await?;
    let fee = Amount(paid.iter().map(|payment| payment.fee.0).sum());
    Ok(Settled { settlement, fee })
}

async fn settlement(client: &Client, job: JobId) -> Result<SettlementView> {
    let deadline = Instant::now() + ARCHIVED_WITHIN;
    loop {
        match client.get(&format!("/jobs/{job}/settlement")).await {
            Ok(view) => return Ok(view),
            // An ended job is archived a moment later.
            Err(error) if error.is_not_found() && Instant::now() < deadline => sleep(LOOK_EVERY).await,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn receipts(client: &Client, job: JobId) -> Result<Vec<Receipt>> {
    let (mut receipts, mut from) = (Vec::new(), Some(0));
    while let Some(at) = from {
        let page: ReceiptsPage = client.get(&format!("/jobs/{job}/receipts?from={at}")).await?;
        receipts.extend(page.receipts);
        from = page.next;
    }
    Ok(receipts)
}

impl Claimed {
    /// Asks the hub.
    pub async fn read(client: &Client, job: JobId) -> Result<Self> {
        let found = settlement(client, job).await?;
        Ok(Self { found, receipts: receipts(client, job).await?, outputs: outputs(client, job).await? })
    }

    /// Whether every unit is accounted for: the receipts make up the settlement, it stays within the cap, and every
    /// output that is paid for is the one that was delivered.
    fn check(&self) -> Result<()> {
        let settlement = &self.found.settlement;
        receipt::verify(settlement, &self.receipts)?;
        let gross = settlement.gross().context("the payouts add up to more than there can be")?;
        let (order, locked) = (&self.found.order, [market::State::Locked, market::State::Proposed]);
        if locked.contains(&order.state) && gross > order.cap {
            bail!("it pays {}, more than the cap of {}", words::money(gross), words::money(order.cap));
        }
        match self.receipts.iter().find(|receipt| !self.is_delivered(receipt)) {
            Some(receipt) => bail!("task {} is paid for with another output than was delivered", receipt.task),
            None => Ok(()),
        }
    }

    fn is_delivered(&self, receipt: &Receipt) -> bool {
        let place = (receipt.task.group, receipt.task.index);
        receipt.output == B256::ZERO || self.outputs.get(&place) == Some(&receipt.output)
    }

    /// The settlement that is right: it pays each attempt once, and only for what was delivered.
    pub fn counter(&self) -> Result<Settlement> {
        let order = self.found.settlement.order;
        let mut attempts = BTreeSet::new();
        let is_right = |receipt: &&Receipt| {
            receipt.order == order && attempts.insert(receipt.attempt) && self.is_delivered(receipt)
        };
        let receipts: Vec<Receipt> = self.receipts.iter().filter(is_right).cloned().collect();
        if receipt::verify(&self.found.settlement, &receipts).is_ok() {
            return Ok(self.found.settlement.clone());
        }
        let payouts = receipt::payouts(&receipts).context("the receipts add up to more than there can be")?;
        Ok(Settlement { order, receipts_root: receipt::tree(&receipts).root(), payouts })
    }
}

/// The hash of every output of a job, by group and element.
async fn outputs(client: &Client, job: JobId) -> Result<BTreeMap<(u16, u32), B256>> {
    let view = client.job(job).await?;
    let mut outputs = BTreeMap::new();
    for (number, group) in (0_u16..).zip(&view.groups) {
        let mut from = Some(u64::from(number) << 32);
        while let Some(at) = from {
            let page = client.results(job, Some(&group.name), at).await?;
            let found = page.results.iter().map(|result| ((number, result.index), B256::from(result.output.hash().0)));
            outputs.extend(found);
            from = page.next;
        }
    }
    Ok(outputs)
}

impl Settled {
    /// In words.
    pub fn words(&self) -> String {
        let gross = self.settlement.gross().unwrap_or_default();
        let providers = words::count(self.settlement.payouts.len() as u64, "worker");
        let net = Amount(gross.0.saturating_sub(self.fee.0));
        format!(
            "settled on the chain: {} paid, {} to {providers} and {} to the platform",
            words::money(gross),
            words::money(net),
            words::money(self.fee)
        )
    }
}
