//! Accounts: who there is, and what they may be.
mod name;
mod role;

pub use name::{NAME_CHARS_MAX, NAME_CHARS_MIN, Name, NameError};
pub use role::{Role, RoleError, Roles};

use crate::audit::{self, Kind};
use crate::{Accounts, Error, Refusal, Visit, lockout, session};
use gleaner_wire::Millis;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most accounts of a hub.
pub const ACCOUNTS_MAX: u64 = 1_000_000;
/// The most accounts that are listed at once.
pub const LISTED_MAX: u32 = 500;
/// The length of what passkeys know an account by.
pub(crate) const HANDLE_BYTES: usize = 16;

/// An account, numbered by its hub from 1; no number is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub u64);

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Its number.
    pub id: AccountId,
    /// Its name.
    pub name: Name,
    /// What it may be.
    pub roles: Roles,
    /// When it was made.
    pub made_at: Millis,
    /// Whether the operator has stopped it.
    pub suspended: bool,
}

/// The columns that [`read_account`] reads, in its order.
pub(crate) const COLUMNS: &str = "account.id, account.name, account.roles, account.made_ms, account.suspended";

pub(crate) fn read_account(row: &Row<'_>) -> rusqlite::Result<Account> {
    Ok(Account {
        id: AccountId(row.get(0)?),
        name: Name::stored(row.get(1)?),
        roles: Roles::from_bits(row.get(2)?),
        made_at: Millis(row.get(3)?),
        suspended: row.get(4)?,
    })
}

/// Finds an account by its number.
pub(crate) fn find(db: &Connection, id: AccountId) -> Result<Option<Account>, Error> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM account WHERE id = ?1"))?;
    Ok(statement.query_row([id.0], read_account).optional()?)
}

pub(crate) fn find_named(db: &Connection, name: &Name) -> Result<Option<Account>, Error> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM account WHERE name = ?1"))?;
    Ok(statement.query_row([name.as_str()], read_account).optional()?)
}

/// An account that is not there yet.
pub(crate) struct New<'a> {
    pub(crate) name: &'a Name,
    pub(crate) roles: Roles,
    pub(crate) handle: [u8; HANDLE_BYTES],
    pub(crate) passphrase: Option<&'a str>,
}

/// Adds an account, which pays by its name where money is in the hub's own books.
pub(crate) fn add(db: &Connection, visit: Visit, new: &New<'_>) -> Result<Account, Error> {
    if find_named(db, new.name)?.is_some() {
        return Err(Refusal::NameTaken.into());
    }
    let count: u64 = db.query_row("SELECT count(*) FROM account", [], |row| row.get(0))?;
    if count >= ACCOUNTS_MAX {
        return Err(Refusal::TooMany { what: "accounts on this hub", max: ACCOUNTS_MAX }.into());
    }
    db.execute(
        "INSERT INTO account (name, roles, handle, passphrase, made_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![new.name.as_str(), new.roles.bits(), new.handle, new.passphrase, visit.now.0],
    )?;
    let id = AccountId(db.last_insert_rowid().unsigned_abs());
    db.execute("INSERT INTO payer (name, account, kind) VALUES (?1, ?2, 'name')", params![new.name.payer(), id.0])?;
    audit::note(db, visit, Some(id), Kind::AccountMade, new.name.as_str())?;
    Ok(Account { id, name: new.name.clone(), roles: new.roles, made_at: visit.now, suspended: false })
}

impl Accounts {
    /// An account by its number.
    pub fn account(&self, id: AccountId) -> Result<Option<Account>, Error> {
        self.read(|db| find(db, id))
    }

    /// An account by its name.
    pub fn account_named(&self, name: &str) -> Result<Option<Account>, Error> {
        let Some(name) = Name::sought(name) else { return Ok(None) };
        self.read(|db| find_named(db, &name))
    }

    /// Accounts after one, in the order in which they were made.
    pub fn list(&self, after: Option<AccountId>, limit: u32) -> Result<Vec<Account>, Error> {
        self.read(|db| {
            let query = format!("SELECT {COLUMNS} FROM account WHERE id > ?1 ORDER BY id LIMIT ?2");
            let mut statement = db.prepare_cached(&query)?;
            let after = after.map_or(0, |id| id.0);
            let rows = statement.query_map(params![after, limit.min(LISTED_MAX)], read_account)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Whether there is any account yet.
    pub fn is_empty(&self) -> Result<bool, Error> {
        self.read(|db| Ok(db.query_row("SELECT NOT EXISTS (SELECT 1 FROM account)", [], |row| row.get(0))?))
    }

    /// Gives an account a role. Its sessions end: what was signed in with less must not have more.
    pub fn grant(&self, visit: Visit, id: AccountId, role: Role) -> Result<Account, Error> {
        self.change_roles(visit, id, &format!("+{role}"), |roles| roles.with(role))
    }

    /// Takes a role away from an account. Its sessions end.
    pub fn withdraw(&self, visit: Visit, id: AccountId, role: Role) -> Result<Account, Error> {
        self.change_roles(visit, id, &format!("-{role}"), |roles| roles.without(role))
    }

    fn change_roles(
        &self,
        visit: Visit,
        id: AccountId,
        what: &str,
        change: impl FnOnce(Roles) -> Roles,
    ) -> Result<Account, Error> {
        self.write(|db| {
            let account = find(db, id)?.ok_or(Refusal::NotFound("account"))?;
            let roles = change(account.roles);
            if roles == account.roles {
                return Ok(account);
            }
            db.execute("UPDATE account SET roles = ?2 WHERE id = ?1", params![id.0, roles.bits()])?;
            session::end_all(db, id, None)?;
            audit::note(db, visit, Some(id), Kind::RolesChanged, what)?;
            Ok(Account { roles, ..account })
        })
    }

    /// Stops an account: nobody signs in to it, and its sessions and tokens are good for nothing until it is readmitted.
    pub fn suspend(&self, visit: Visit, id: AccountId) -> Result<(), Error> {
        self.set_suspended(visit, id, true)
    }

    /// Takes a suspension back, and forgets the wrong tries for which its owner would have to wait.
    pub fn readmit(&self, visit: Visit, id: AccountId) -> Result<(), Error> {
        self.set_suspended(visit, id, false)
    }

    fn set_suspended(&self, visit: Visit, id: AccountId, suspended: bool) -> Result<(), Error> {
        self.write(|db| {
            let changed = db.execute("UPDATE account SET suspended = ?2 WHERE id = ?1", params![id.0, suspended])?;
            if changed == 0 {
                return Err(Refusal::NotFound("account").into());
            }
            if suspended {
                session::end_all(db, id, None)?;
            } else if let Some(account) = find(db, id)? {
                lockout::forget(db, &account.name)?;
            }
            let kind = if suspended { Kind::Suspended } else { Kind::Readmitted };
            audit::note(db, visit, Some(id), kind, "")
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, made, visit};

    #[test]
    fn a_name_belongs_to_one_account() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let passphrase = crate::Secret::new(crate::store::tests::PASSPHRASE);
        let error = accounts.sign_up(visit(NOW), "ORCHARD", &passphrase, Roles::default()).unwrap_err();
        assert!(matches!(error, Error::Refused(Refusal::NameTaken)), "{error}");
    }

    #[test]
    fn accounts_are_listed_page_by_page() {
        let (_dir, accounts) = accounts();
        assert!(accounts.is_empty().unwrap());
        let ids: Vec<_> = ["first", "second", "third"].iter().map(|name| made(&accounts, name)).collect();
        assert!(!accounts.is_empty().unwrap());
        let page = accounts.list(None, 2).unwrap();
        assert_eq!(page.iter().map(|account| account.id).collect::<Vec<_>>(), ids[..2]);
        let rest = accounts.list(Some(ids[1]), 2).unwrap();
        assert_eq!(rest.iter().map(|account| account.id).collect::<Vec<_>>(), ids[2..]);
    }

    #[test]
    fn who_is_readmitted_need_not_wait_for_wrong_tries() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let (right, wrong) =
            (crate::Secret::new(crate::store::tests::PASSPHRASE), crate::Secret::new("something else"));
        for _ in 0..=lockout::ACCOUNT_FREE {
            assert!(accounts.sign_in(visit(NOW), "orchard", &wrong, None).is_err());
        }
        let locked = accounts.sign_in(visit(NOW), "orchard", &right, None).unwrap_err();
        assert!(matches!(locked, Error::Refused(Refusal::LockedOut { .. })), "{locked}");
        accounts.readmit(visit(NOW), id).unwrap();
        accounts.sign_in(visit(NOW), "orchard", &right, None).unwrap();
    }

    #[test]
    fn a_role_is_granted_and_withdrawn() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        assert!(accounts.grant(visit(NOW), id, Role::Operator).unwrap().roles.has(Role::Operator));
        assert!(accounts.account(id).unwrap().unwrap().roles.has(Role::Operator));
        accounts.withdraw(visit(NOW), id, Role::Operator).unwrap();
        assert!(!accounts.account(id).unwrap().unwrap().roles.has(Role::Operator));
        assert!(accounts.grant(visit(NOW), AccountId(99), Role::Operator).is_err());
    }
}
