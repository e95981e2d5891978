//! Wallets: the owner of an address signs a message that names this hub, and is let in.
mod message;

pub use message::{MESSAGE_BYTES_MAX, Message, MessageError};

use crate::account::{self, Account, HANDLE_BYTES, New};
use crate::audit::{self, Kind};
use crate::challenge::{Answered, CHALLENGE_MS, Purpose};
use crate::ownership::{self, Payer};
use crate::session::Via;
use crate::sign_in::SignedIn;
use crate::{AccountId, Accounts, Error, Name, Refusal, Roles, Site, Visit, chance, passkey, passphrase};
use alloy_primitives::Signature;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use gleaner_wire::{Address, Millis};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

/// Wallets of one account.
pub const WALLETS_PER_ACCOUNT_MAX: u64 = 16;
/// How far a wallet's clock may be ahead.
pub const AHEAD_MS_MAX: u64 = 60 * 1000;
const SIGNATURE_BYTES: usize = 65;
const STATEMENT: &str =
    "Sign in to Gleaner, or link this wallet to your account there. This costs nothing and moves no money.";

/// Why a signed message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not a message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// For another page: somebody may be trying to use it here.
    #[error("the message is for another page than this hub's")]
    Domain,
    /// For another chain.
    #[error("the message is for another chain than this hub's")]
    Chain,
    /// It allows more than signing in.
    #[error("the message allows more than signing in, which this hub does not ask for")]
    Resources,
    /// Not now.
    #[error("the message is not valid now: check the clock of this machine, and ask for a new challenge")]
    Time,
    /// Not a signature.
    #[error("a signature is {SIGNATURE_BYTES} bytes in hexadecimal")]
    Signature,
    /// Somebody else's.
    #[error("the signature is not of the address that the message names")]
    Signer,
}

/// What a wallet is to sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToSign {
    /// The whole message.
    pub message: String,
    /// The nonce in it, for those who write the message themselves.
    pub nonce: String,
}

/// A wallet of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Wallet {
    /// Its address.
    pub address: Address,
    /// When it was linked.
    pub made_at: Millis,
}

/// Where a message has to be for.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The hub's page.
    pub site: &'a Site,
    /// The hub's chain.
    pub chain_id: u64,
}

/// What becomes of an address that no account has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newcomers {
    /// It gets an account.
    Welcome,
    /// It is refused.
    Refused,
}

/// A wallet that has proved its address.
struct Proved {
    address: Address,
    answered: Answered,
}

fn owner(db: &Connection, address: Address) -> Result<Option<AccountId>, Error> {
    let mut statement = db.prepare_cached("SELECT account FROM wallet WHERE address = ?1")?;
    Ok(statement.query_row([address.0], |row| row.get(0)).optional()?.map(AccountId))
}

pub(crate) fn count(db: &Connection, account: AccountId) -> Result<u64, Error> {
    Ok(db.query_row("SELECT count(*) FROM wallet WHERE account = ?1", [account.0], |row| row.get(0))?)
}

fn add(db: &Connection, visit: Visit, account: AccountId, address: Address) -> Result<(), Error> {
    match owner(db, address)? {
        Some(owner) if owner == account => return Ok(()),
        Some(_) => return Err(Refusal::WalletTaken.into()),
        None => {}
    }
    if count(db, account)? >= WALLETS_PER_ACCOUNT_MAX {
        return Err(Refusal::TooMany { what: "wallets of one account", max: WALLETS_PER_ACCOUNT_MAX }.into());
    }
    ownership::add_payer(db, account, &address.to_string(), Payer::Wallet)?;
    let query = "INSERT INTO wallet (address, account, made_ms) VALUES (?1, ?2, ?3)";
    db.execute(query, params![address.0, account.0, visit.now.0])?;
    audit::note(db, visit, Some(account), Kind::WalletLinked, &address.to_string())
}

/// Checks everything about a message but who signed it and whether its nonce is ours.
fn check(message: &Message, place: Place<'_>, now: Millis) -> Result<(), Fault> {
    let origin = place.site.origin();
    let scheme = origin.split("://").next().unwrap_or_default();
    let same_scheme = message.scheme.as_deref().is_none_or(|said| said == scheme);
    let below = message.uri.strip_prefix(origin);
    let same_page = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if message.domain != place.site.authority() || !same_scheme || !same_page {
        return Err(Fault::Domain);
    }
    if message.chain_id != place.chain_id {
        return Err(Fault::Chain);
    }
    if !message.resources.is_empty() {
        return Err(Fault::Resources);
    }
    let fresh = message.issued_at <= now.after(Millis(AHEAD_MS_MAX)) && now.since(message.issued_at).0 < CHALLENGE_MS;
    let ended = message.expires_at.is_some_and(|at| at <= now);
    let waits = message.not_before.is_some_and(|at| at > now.after(Millis(AHEAD_MS_MAX)));
    if !fresh || ended || waits { Err(Fault::Time) } else { Ok(()) }
}

/// Who signed a text, in the way of EIP-191.
fn signer(text: &str, signature: &str) -> Result<Address, Fault> {
    let digits = signature.strip_prefix("0x").unwrap_or(signature);
    if digits.len() != 2 * SIGNATURE_BYTES {
        return Err(Fault::Signature);
    }
    let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).map_err(|_| Fault::Signature)?;
    let signature = Signature::from_raw(&bytes).map_err(|_| Fault::Signature)?;
    let address = signature.recover_address_from_msg(text).map_err(|_| Fault::Signer)?;
    Ok(Address(address.into_array()))
}

impl Accounts {
    /// What the owner of an address is to sign.
    pub fn wallet_challenge(&self, now: Millis, place: Place<'_>, address: Address) -> Result<ToSign, Error> {
        let nonce = HEXLOWER.encode(&self.challenge(now, Purpose::Wallet(address))?);
        let message = Message {
            scheme: Some(if place.site.is_https() { "https" } else { "http" }.to_owned()),
            domain: place.site.authority().to_owned(),
            address,
            statement: Some(STATEMENT.to_owned()),
            uri: place.site.origin().to_owned(),
            chain_id: place.chain_id,
            nonce: nonce.clone(),
            issued_at: now,
            expires_at: Some(now.after(Millis(CHALLENGE_MS))),
            not_before: None,
            request_id: None,
            resources: Vec::new(),
        };
        Ok(ToSign { message: message.to_string(), nonce })
    }

    fn proved(&self, now: Millis, place: Place<'_>, text: &str, signature: &str) -> Result<Proved, Refusal> {
        let message = Message::parse(text).map_err(Fault::from)?;
        check(&message, place, now)?;
        if signer(text, signature)? != message.address {
            return Err(Fault::Signer.into());
        }
        let nonce = HEXLOWER.decode(message.nonce.as_bytes()).unwrap_or_default();
        let answered = self.answered(now, Purpose::Wallet(message.address), &nonce)?;
        Ok(Proved { address: message.address, answered })
    }

    /// Signs in with a signed message; an address that no account has linked gets an account, if newcomers are welcome.
    pub fn sign_in_with_wallet(
        &self,
        visit: Visit,
        place: Place<'_>,
        message: &str,
        signature: &str,
        code: Option<&str>,
        newcomers: Newcomers,
    ) -> Result<SignedIn, Error> {
        let proved = self.proved(visit.now, place, message, signature)?;
        let handle = chance::bytes::<HANDLE_BYTES>(&*self.chance)?;
        let owner = self.read(|db| owner(db, proved.address))?.map(|id| self.account(id)).transpose()?.flatten();
        if owner.is_none() && newcomers == Newcomers::Refused {
            return Err(Refusal::NoNewcomers.into());
        }
        let name = owner.map(|account| account.name);
        self.sign_in_by_key(visit, Via::Wallet, name.as_ref(), code, |db| {
            proved.answered.spend(db, visit.now)?;
            account_of(db, visit, proved.address, handle)
        })
    }

    /// Links the wallet that signed to an account.
    pub fn link_wallet(
        &self,
        visit: Visit,
        account: AccountId,
        place: Place<'_>,
        message: &str,
        signature: &str,
    ) -> Result<Address, Error> {
        let proved = self.proved(visit.now, place, message, signature)?;
        self.write(|db| {
            proved.answered.spend(db, visit.now)?;
            add(db, visit, account, proved.address)?;
            Ok(proved.address)
        })
    }

    /// Unlinks a wallet, unless it is the last way into the account.
    pub fn unlink_wallet(&self, visit: Visit, account: AccountId, address: Address) -> Result<(), Error> {
        self.write(|db| {
            let query = "DELETE FROM wallet WHERE address = ?1 AND account = ?2";
            if db.execute(query, params![address.0, account.0])? == 0 {
                return Err(Refusal::NotFound("wallet").into());
            }
            ownership::remove_wallet_payer(db, account, address)?;
            keep_a_way_in(db, account)?;
            audit::note(db, visit, Some(account), Kind::WalletUnlinked, &address.to_string())
        })
    }

    /// The wallets of an account.
    pub fn wallets(&self, account: AccountId) -> Result<Vec<Wallet>, Error> {
        self.read(|db| {
            let query = "SELECT address, made_ms FROM wallet WHERE account = ?1 ORDER BY made_ms, address";
            let mut statement = db.prepare_cached(query)?;
            let row =
                |row: &rusqlite::Row<'_>| Ok(Wallet { address: Address(row.get(0)?), made_at: Millis(row.get(1)?) });
            let rows = statement.query_map([account.0], row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// The account of an address; a new one if it has none.
fn account_of(db: &Connection, visit: Visit, address: Address, handle: [u8; HANDLE_BYTES]) -> Result<Account, Error> {
    if let Some(owner) = owner(db, address)? {
        return account::find(db, owner)?.ok_or(Error::Altered("a wallet"));
    }
    let name = Name::of_wallet(address);
    let account = account::add(db, visit, &New { name: &name, roles: Roles::default(), handle, passphrase: None })?;
    add(db, visit, account.id, address)?;
    Ok(account)
}

/// Refuses a change after which nobody could sign in.
pub(crate) fn keep_a_way_in(db: &Connection, account: AccountId) -> Result<(), Error> {
    let ways = count(db, account)? + passkey::count(db, account)?;
    if ways > 0 || passphrase::stored(db, account)?.is_some() { Ok(()) } else { Err(Refusal::LastWay.into()) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;
