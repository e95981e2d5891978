//! An account's money: what it has, where it is, and how it moves.
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::str::FromStr;

use gleaner_chain::market::{Call, Entry, Kind, ReadError};
use gleaner_chain::primitives::{Address, B256};
use gleaner_requester::{Purse, Turn, ask_faucet};
use gleaner_wire::api::LedgerView;
use gleaner_wire::{Amount, Asker, Hash};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::books::Begun;
use crate::ordering::{Spending, check_key};
use crate::{Desk, Error};

/// What an account has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = DeskWallet)]
pub struct WalletView {
    /// Who it is to the hub: the address of its wallet, or its name where money is on no chain.
    pub address: String,
    /// In its own hands; where money is on no chain, its credit.
    pub balance: Amount,
    /// Free for orders and withdrawals.
    pub deposited: Amount,
    /// In open orders, bonds included.
    pub locked: Amount,
    /// How many orders are open.
    pub open_orders: u64,
    /// Whether newcomers are given tokens.
    pub faucet: bool,
    /// Whether money is on a chain.
    pub chain: bool,
}

/// A line of a wallet's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = WalletLine)]
pub(crate) struct HistoryLine {
    /// Unix seconds.
    time: u64,
    /// The block.
    block: u64,
    /// The transaction.
    #[schema(value_type = String, pattern = "^0x[0-9a-f]{64}$")]
    transaction: B256,
    /// Its place among the logs of the block.
    index: u64,
    /// What happened.
    kind: Kind,
    /// How much.
    amount: Amount,
    /// Whom it was with, if anyone.
    #[schema(value_type = Option<String>)]
    with: Option<Address>,
}

impl HistoryLine {
    fn of(entry: &Entry, time: u64) -> Self {
        let &Entry { block, transaction, index, kind, amount, with } = entry;
        Self { time, block, transaction, index, kind, amount, with }
    }
}

/// What names a line: no two logs of a chain share it, and no new one comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LineId {
    block: u64,
    index: u64,
}

impl LineId {
    fn of(entry: &Entry) -> Self {
        Self { block: entry.block, index: entry.index }
    }
}

impl fmt::Display for LineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.block, self.index)
    }
}

impl FromStr for LineId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let parts = text.split_once('.').and_then(|(block, index)| Some((number(block)?, number(index)?)));
        let (block, index) = parts.ok_or_else(|| Error::Wrong("`cursor` is not what `next` said".into()))?;
        Ok(Self { block, index })
    }
}

/// How much to withdraw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Portion {
    /// So much.
    Some(Amount),
    /// The word `all`.
    Word(String),
}

/// A deposit that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deposit {
    /// How much.
    pub(crate) amount: Amount,
}

/// A withdrawal that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Withdrawal {
    /// How much, or `all`.
    #[schema(value_type = String)]
    pub(crate) amount: Portion,
    /// Who gets it; none: the account's own wallet.
    #[serde(default)]
    pub(crate) to: Option<String>,
}

/// What moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct Moved {
    /// How much.
    pub(crate) amount: Amount,
    /// The block in which it did, where it was a transaction of this account's.
    pub(crate) block: Option<u64>,
}

impl Desk {
    /// What an account has.
    pub async fn wallet(&self, asker: &Asker) -> Result<WalletView, Error> {
        let account = self.account(asker).await?;
        let client = account.client(&self.inner)?;
        let Some(purse) = account.purse(&client).await? else {
            let ledger: LedgerView = client.ledger().await?;
            return Ok(in_books(&account.payer, &ledger));
        };
        let (market, address) = (&purse.market, purse.account.address());
        let read = gleaner_requester::Error::from;
        let open = market.open_orders(address).await.map_err(read)?;
        Ok(WalletView {
            address: account.payer,
            balance: market.token_balance(address).await.map_err(read)?,
            deposited: market.escrow_balance(address).await.map_err(read)?,
            locked: Amount(open.iter().map(|(_, order)| order.locked().0).sum()),
            open_orders: open.len() as u64,
            faucet: purse.view.faucet,
            chain: true,
        })
    }

    /// What has happened to an account's wallet, newest first: so many lines before one that was shown, and whether there are
    /// earlier ones.
    pub(crate) async fn history(
        &self,
        asker: &Asker,
        before: Option<LineId>,
        limit: usize,
    ) -> Result<(Vec<HistoryLine>, Option<LineId>), Error> {
        let (_, purse) = self.purse(asker).await?;
        let read = gleaner_requester::Error::from;
        let newest = purse.market.node.height().await.map_err(|error| read(ReadError::from(error)))?;
        let last = before.map_or(newest, |before| before.block.min(newest));
        let history = purse.market.history(purse.account.address(), purse.market.deployment.block, last);
        let mut entries = history.await.map_err(read)?;
        entries.retain(|entry| before.is_none_or(|before| LineId::of(entry) < before));
        let earlier = entries.len().saturating_sub(limit);
        let entries = entries.split_off(earlier);
        let next = entries.first().filter(|_| earlier > 0).map(LineId::of);
        let (mut times, mut lines) = (BTreeMap::new(), Vec::new());
        for entry in entries.into_iter().rev() {
            let time = match times.get(&entry.block) {
                Some(time) => *time,
                None => {
                    let block = purse.market.node.block(entry.block).await;
                    block.map_err(|error| read(ReadError::from(error)))?.map_or(0, |block| block.timestamp)
                }
            };
            times.insert(entry.block, time);
            lines.push(HistoryLine::of(&entry, time));
        }
        Ok((lines, next))
    }

    /// Asks the hub's faucet for tokens.
    pub(crate) async fn faucet(&self, asker: &Asker) -> Result<Moved, Error> {
        let (_, purse) = self.purse(asker).await?;
        let amount = ask_faucet(&self.inner.client, purse.account.address()).await?;
        Ok(Moved { amount, block: None })
    }

    /// Moves tokens from the wallet into Escrow, where orders take them from.
    pub(crate) async fn deposit(&self, asker: &Asker, key: &str, deposit: &Deposit) -> Result<Moved, Error> {
        let (account, purse) = self.purse(asker).await?;
        let amount = positive(deposit.amount)?;
        self.once(&account, key, ("deposit", deposit), async || {
            let _turn = turn(&purse).await?;
            let call = purse.market.deposit_with_permit(&purse.account, amount).await;
            sent(&purse, &call.map_err(gleaner_requester::Error::from)?, amount).await
        })
        .await
    }

    /// Takes free money out of Escrow: into the wallet, or to somebody.
    pub(crate) async fn withdraw(&self, asker: &Asker, key: &str, wanted: &Withdrawal) -> Result<Moved, Error> {
        let (account, purse) = self.purse(asker).await?;
        let own = purse.account.address();
        let to = wanted.to.as_deref().map(|to| receiver(to, &purse)).transpose()?.unwrap_or(own);
        self.once(&account, key, ("withdraw", wanted), async || {
            let _turn = turn(&purse).await?;
            let free = purse.market.escrow_balance(own).await.map_err(gleaner_requester::Error::from)?;
            let amount = portion(&wanted.amount, free)?;
            let call = if to == own { purse.market.withdraw(amount) } else { purse.market.withdraw_to(to, amount) };
            // What stays the account's own is not spent.
            let spent = if to == own { Amount::ZERO } else { amount };
            let spending = Spending { purpose: withdrawal(&account, key), most: spent, again: false };
            let moved = self.within_limit(asker, &spending, async || sent(&purse, &call, amount).await).await?;
            Ok(moved)
        })
        .await
    }

    /// The account of who asks, and what it pays with.
    pub(crate) async fn purse(&self, asker: &Asker) -> Result<(Account, Purse), Error> {
        let account = self.account(asker).await?;
        let client = account.client(&self.inner)?;
        let purse = account.purse(&client).await?.ok_or(Error::NoChain)?;
        Ok((account, purse))
    }

    /// Moves money once, however often the same is asked for under the same key. What was cut short is not tried again: it
    /// may have happened.
    pub(crate) async fn once<T, W: Serialize, F>(
        &self,
        account: &Account,
        key: &str,
        what: W,
        work: impl FnOnce() -> F,
    ) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, Error>>,
    {
        check_key(key)?;
        let _turn = self.inner.turns.of(&account.id).await;
        let what = Hash::of(&serde_json::to_vec(&what).expect("texts can be encoded"));
        match self.inner.books.begin(&account.id, key, what).await? {
            Begun::New => {}
            Begun::Before => return Err(Error::Unknown),
            Begun::Answered(answer) => return serde_json::from_str(&answer).map_err(|_| Error::Defect),
            Begun::Other => return Err(Error::KeyReused),
        }
        let moved = work().await;
        match &moved {
            Ok(moved) => {
                let answer = serde_json::to_string(moved).expect("texts can be encoded");
                self.inner.books.answer(&account.id, key, answer).await?;
            }
            Err(error) if has_not_moved(error) => self.inner.books.forget(&account.id, key).await?,
            Err(_) => {}
        }
        moved
    }
}

/// Whether it is certain that nothing was sent.
pub(crate) fn has_not_moved(error: &Error) -> bool {
    use gleaner_chain::sender::Failure;
    match error {
        Error::Money(gleaner_requester::Error::Send(failure)) => match failure {
            Failure::Refused(_) | Failure::Send(_) | Failure::Reverted { .. } => true,
            Failure::Replaced { .. } | Failure::Waiting { .. } | Failure::Node(_) => false,
        },
        _ => true,
    }
}

/// What a withdrawal is reserved for: the same for the same key, and no submission of a job.
fn withdrawal(account: &Account, key: &str) -> String {
    format!("withdrawal-{}", Hash::of(format!("{}\0{key}", account.id).as_bytes()))
}

/// The turn of a wallet that several may spend from, until what this returns is dropped.
pub(crate) async fn turn(purse: &Purse) -> Result<Option<Turn>, Error> {
    match &purse.file {
        Some(file) => Ok(Some(Turn::take(file, || {}).await?)),
        None => Ok(None),
    }
}

/// Sends a call that moves so much.
pub(crate) async fn sent(purse: &Purse, call: &Call, amount: Amount) -> Result<Moved, Error> {
    let receipt = purse.send(call).await?;
    Ok(Moved { amount, block: Some(receipt.block_number) })
}

/// The amount, unless it is nothing.
pub(crate) fn positive(amount: Amount) -> Result<Amount, Error> {
    if amount == Amount::ZERO { Err(Error::Wrong("the amount must be above zero".into())) } else { Ok(amount) }
}

/// How much a portion is of what is free.
pub(crate) fn portion(portion: &Portion, free: Amount) -> Result<Amount, Error> {
    let amount = match portion {
        Portion::Some(amount) => *amount,
        Portion::Word(word) if word == "all" => free,
        Portion::Word(word) => {
            return Err(Error::Wrong(format!("`{word}` is not an amount: write a number of GLN, or `all`")));
        }
    };
    if amount > free {
        return Err(Error::Wrong(format!("{amount} GLN are wanted, and {free} GLN are free to withdraw")));
    }
    positive(amount)
}

/// An address as somebody wrote it, with its checksum if it has one.
pub(crate) fn address(text: &str) -> Result<Address, Error> {
    let wrong =
        || Error::Wrong(format!("`{text}` is not an address: 0x and 40 hexadecimal digits, copied as they are"));
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 40).ok_or_else(wrong)?;
    let address: Address = digits.parse().map_err(|_| wrong())?;
    let is_mixed = digits.bytes().any(|c| c.is_ascii_lowercase()) && digits.bytes().any(|c| c.is_ascii_uppercase());
    if address.is_zero() || (is_mixed && address.to_checksum(None) != text) {
        return Err(wrong());
    }
    Ok(address)
}

/// An address that money may go to: none of our contracts, where it would be lost.
fn receiver(text: &str, purse: &Purse) -> Result<Address, Error> {
    let address = address(text)?;
    let at = &purse.market.deployment;
    let contracts = [
        at.token,
        at.parameters,
        at.vesting,
        at.licences,
        at.stake,
        at.escrow,
        at.court,
        at.vouchers,
        at.rewards,
        at.governor,
    ];
    if contracts.contains(&address) {
        return Err(Error::Wrong(format!("{address} is one of the contracts: tokens sent there are lost")));
    }
    Ok(address)
}

fn in_books(payer: &str, ledger: &LedgerView) -> WalletView {
    let credit = ledger.accounts.get(&format!("requester:{payer}")).copied().unwrap_or_default();
    WalletView {
        address: payer.to_owned(),
        balance: credit,
        deposited: credit,
        locked: Amount::ZERO,
        open_orders: 0,
        faucet: false,
        chain: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_portion_is_an_amount_that_is_there_or_all() {
        let free = Amount(10);
        let parse = |json: &str| serde_json::from_str::<Portion>(json).expect("a portion");
        assert_eq!(portion(&parse("\"0.000000003\""), free).expect("there"), Amount(3));
        assert_eq!(portion(&parse("\"all\""), free).expect("there"), free);
        for wrong in ["\"0\"", "\"1\"", "\"some\""] {
            assert!(portion(&parse(wrong), free).is_err(), "{wrong}");
        }
        assert!(portion(&parse("\"all\""), Amount::ZERO).is_err(), "nothing is nothing");
    }
}
