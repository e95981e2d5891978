//! What is an account's: the requesters that it pays as, and the workers that it claimed.
use crate::audit::{self, Kind};
use crate::{AccountId, Accounts, Error, Refusal, Visit};
use gleaner_wire::{Address, WorkerKey};
use rusqlite::{Connection, OptionalExtension, params};

/// Requesters that one account may pay as.
pub const PAYERS_PER_ACCOUNT_MAX: u64 = 64;
/// Workers that one account may claim.
pub const WORKERS_PER_ACCOUNT_MAX: u64 = 100_000;

/// Why a requester is an account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payer {
    /// It is `@` and the account's name.
    Name,
    /// The account has proved that the wallet is its own.
    Wallet,
    /// The desk keeps this wallet for the account.
    Desk,
}

impl Payer {
    fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Wallet => "wallet",
            Self::Desk => "desk",
        }
    }
}

pub(crate) fn add_payer(db: &Connection, account: AccountId, name: &str, kind: Payer) -> Result<(), Error> {
    let owner = payer_owner(db, name)?;
    if owner == Some(account) {
        return Ok(());
    }
    if owner.is_some() {
        return Err(Refusal::Owned("this requester").into());
    }
    let count = "SELECT count(*) FROM payer WHERE account = ?1";
    let count: u64 = db.query_row(count, [account.0], |row| row.get(0))?;
    if count >= PAYERS_PER_ACCOUNT_MAX {
        return Err(Refusal::TooMany { what: "requesters of one account", max: PAYERS_PER_ACCOUNT_MAX }.into());
    }
    db.execute("INSERT INTO payer (name, account, kind) VALUES (?1, ?2, ?3)", params![name, account.0, kind.name()])?;
    Ok(())
}

/// Takes a proved wallet back; one that the desk keeps stays.
pub(crate) fn remove_wallet_payer(db: &Connection, account: AccountId, address: Address) -> Result<(), Error> {
    let query = "DELETE FROM payer WHERE name = ?1 AND account = ?2 AND kind = 'wallet'";
    db.execute(query, params![address.to_string(), account.0])?;
    Ok(())
}

fn payer_owner(db: &Connection, name: &str) -> Result<Option<AccountId>, Error> {
    let mut statement = db.prepare_cached("SELECT account FROM payer WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?.map(AccountId))
}

fn worker_owner(db: &Connection, worker: WorkerKey) -> Result<Option<AccountId>, Error> {
    let mut statement = db.prepare_cached("SELECT account FROM worker WHERE key = ?1")?;
    Ok(statement.query_row([worker.0], |row| row.get(0)).optional()?.map(AccountId))
}

impl Accounts {
    /// Remembers the wallet that the desk keeps for an account.
    pub fn add_desk_wallet(&self, account: AccountId, address: Address) -> Result<(), Error> {
        self.write(|db| add_payer(db, account, &address.to_string(), Payer::Desk))
    }

    /// Whose requester this is.
    pub fn payer_owner(&self, requester: &str) -> Result<Option<AccountId>, Error> {
        self.read(|db| payer_owner(db, requester))
    }

    /// The requesters that an account pays as.
    pub fn payers(&self, account: AccountId) -> Result<Vec<String>, Error> {
        let version = self.memory.version();
        let names: Vec<String> = self.read(|db| {
            let mut statement = db.prepare_cached("SELECT name FROM payer WHERE account = ?1 ORDER BY name")?;
            let names = statement.query_map([account.0], |row| row.get(0))?;
            Ok(names.collect::<Result<_, _>>()?)
        })?;
        self.memory.keep(version, |known| {
            known.payers.insert(account, names.clone());
        });
        Ok(names)
    }

    /// The requesters that an account pays as, if they are remembered: read before, and nothing was written since. Waits
    /// for nothing.
    pub fn recall_payers(&self, account: AccountId) -> Option<Vec<String>> {
        self.memory.recall(|known| known.payers.get(&account).cloned())
    }

    /// Makes a worker an account's. The worker has proved its key, and somebody on it had a token of the account. One
    /// that was another account's moves: whoever has the machine has its key.
    pub fn claim_worker(&self, visit: Visit, account: AccountId, worker: WorkerKey) -> Result<(), Error> {
        // A worker claims itself each time it connects.
        if self.worker_owner(worker)? == Some(account) {
            return Ok(());
        }
        self.write(|db| {
            let count = "SELECT count(*) FROM worker WHERE account = ?1";
            let count: u64 = db.query_row(count, [account.0], |row| row.get(0))?;
            if count >= WORKERS_PER_ACCOUNT_MAX {
                return Err(Refusal::TooMany { what: "workers of one account", max: WORKERS_PER_ACCOUNT_MAX }.into());
            }
            let before = worker_owner(db, worker)?;
            let query = "INSERT OR REPLACE INTO worker (key, account, made_ms) VALUES (?1, ?2, ?3)";
            db.execute(query, params![worker.0, account.0, visit.now.0])?;
            if let Some(before) = before.filter(|before| *before != account) {
                audit::note(db, visit, Some(before), Kind::WorkerReleased, &worker.to_string())?;
            }
            audit::note(db, visit, Some(account), Kind::WorkerClaimed, &worker.to_string())
        })
    }

    /// Gives a worker up.
    pub fn release_worker(&self, visit: Visit, account: AccountId, worker: WorkerKey) -> Result<(), Error> {
        self.write(|db| {
            let query = "DELETE FROM worker WHERE key = ?1 AND account = ?2";
            if db.execute(query, params![worker.0, account.0])? == 0 {
                return Err(Refusal::NotFound("worker").into());
            }
            audit::note(db, visit, Some(account), Kind::WorkerReleased, &worker.to_string())
        })
    }

    /// Whose worker this is.
    pub fn worker_owner(&self, worker: WorkerKey) -> Result<Option<AccountId>, Error> {
        self.read(|db| worker_owner(db, worker))
    }

    /// The workers that an account claimed.
    pub fn workers(&self, account: AccountId) -> Result<Vec<WorkerKey>, Error> {
        self.read(|db| {
            let mut statement = db.prepare_cached("SELECT key FROM worker WHERE account = ?1 ORDER BY key")?;
            let keys = statement.query_map([account.0], |row| row.get(0))?;
            Ok(keys.map(|key| key.map(WorkerKey)).collect::<Result<_, _>>()?)
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, made, visit};

    #[test]
    fn a_requester_is_one_accounts() {
        let (_dir, accounts) = accounts();
        let (first, second) = (made(&accounts, "first"), made(&accounts, "second"));
        let address = Address([7; 20]);
        accounts.add_desk_wallet(first, address).unwrap();
        accounts.add_desk_wallet(first, address).unwrap();
        assert!(accounts.add_desk_wallet(second, address).is_err());
        assert_eq!(accounts.payers(first).unwrap(), [address.to_string(), "@first".to_owned()]);
        assert_eq!(accounts.payer_owner("@second").unwrap(), Some(second));
        assert_eq!(accounts.payer_owner("local").unwrap(), None);
    }

    #[test]
    fn a_worker_moves_with_whoever_has_the_machine() {
        let (_dir, accounts) = accounts();
        let (first, second) = (made(&accounts, "first"), made(&accounts, "second"));
        let worker = WorkerKey([9; 32]);
        accounts.claim_worker(visit(NOW), first, worker).unwrap();
        accounts.claim_worker(visit(NOW), second, worker).unwrap();
        assert_eq!(accounts.worker_owner(worker).unwrap(), Some(second));
        assert!(accounts.workers(first).unwrap().is_empty());
        assert_eq!(accounts.events_of(first, None, 1).unwrap()[0].kind, Kind::WorkerReleased);
        assert!(accounts.release_worker(visit(NOW), first, worker).is_err());
        accounts.release_worker(visit(NOW), second, worker).unwrap();
        assert_eq!(accounts.worker_owner(worker).unwrap(), None);
    }
}
