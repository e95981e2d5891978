//! Slowing down guesses: after a few wrong tries an account, and the address they come from, have to wait, each time longer.
//!
//! A try counts before it is judged, so that many at once are no way around the limit. Only secrets that can be guessed
//! are counted: passkeys and wallets stay usable, so that nobody can be locked out of an account by others.
use crate::audit::{self, Kind};
use crate::{Accounts, Error, Name, Refusal, Visit};
use gleaner_wire::Millis;
use rusqlite::{Connection, OptionalExtension, params};
use std::net::{IpAddr, Ipv6Addr};

/// Wrong tries for an account before the first wait.
pub const ACCOUNT_FREE: u32 = 5;
/// Wrong tries from an address before the first wait; many people may share one.
pub const ADDRESS_FREE: u32 = 20;
/// The first wait; each next one is twice as long.
pub const WAIT_FIRST_MS: u64 = 1000;
/// The longest wait.
pub const WAIT_MAX_MS: u64 = 15 * 60 * 1000;
/// After so long without a wrong try they are forgotten.
pub const FORGOTTEN_MS: u64 = 24 * 3600 * 1000;
/// Accounts and addresses that are remembered; beyond, the oldest are forgotten.
pub const SUBJECTS_MAX: u64 = 100_000;

/// How long to wait after so many wrong tries.
pub fn wait_after(failures: u32, free: u32) -> Millis {
    let Some(over) = failures.checked_sub(free).filter(|over| *over > 0) else { return Millis(0) };
    let factor = 1_u64.checked_shl(over - 1).unwrap_or(u64::MAX);
    Millis(WAIT_FIRST_MS.saturating_mul(factor).min(WAIT_MAX_MS))
}

/// Who is slowed down.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    key: String,
    free: u32,
}

impl Subject {
    /// An account, whether it exists or not: answers must not tell.
    fn account(name: &str) -> Option<Self> {
        let name = Name::sought(name)?;
        Some(Self { key: format!("name {name}"), free: ACCOUNT_FREE })
    }

    /// An address; of IPv6 the network, since one household has as many addresses as it wants.
    fn address(address: IpAddr) -> Self {
        let network = match address.to_canonical() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).to_string(),
        };
        Self { key: format!("address {network}"), free: ADDRESS_FREE }
    }
}

struct Failures {
    count: u32,
    last: Millis,
    until: Millis,
}

/// A try that has been counted, as if it were wrong.
#[derive(Debug)]
#[must_use = "a try counts as wrong until it is forgiven"]
pub(crate) struct Try {
    now: Millis,
    account: Option<Subject>,
    address: Option<Subject>,
}

impl Try {
    /// It was right, all of it: the account's wrong ones are forgotten. The address has others to answer for.
    pub(crate) fn succeed(&self, db: &Connection) -> Result<(), Error> {
        if let Some(subject) = &self.account {
            db.execute("DELETE FROM failure WHERE subject = ?1", [&subject.key])?;
        }
        self.address.iter().try_for_each(|subject| uncount(db, subject, self.now))
    }

    /// It was neither right nor wrong: it does not count.
    pub(crate) fn forgive(&self, db: &Connection) -> Result<(), Error> {
        self.account.iter().chain(&self.address).try_for_each(|subject| uncount(db, subject, self.now))
    }
}

fn find(db: &Connection, subject: &Subject, now: Millis) -> Result<Option<Failures>, Error> {
    let mut statement = db.prepare_cached("SELECT count, last_ms, until_ms FROM failure WHERE subject = ?1")?;
    let row = |row: &rusqlite::Row<'_>| {
        Ok(Failures { count: row.get(0)?, last: Millis(row.get(1)?), until: Millis(row.get(2)?) })
    };
    let found = statement.query_row([&subject.key], row).optional()?;
    Ok(found.filter(|failures| now.since(failures.last).0 < FORGOTTEN_MS))
}

fn store(db: &Connection, subject: &Subject, failures: &Failures) -> Result<(), Error> {
    let query = "INSERT OR REPLACE INTO failure (subject, count, last_ms, until_ms) VALUES (?1, ?2, ?3, ?4)";
    let (last, until) = (failures.last.0, failures.until.0);
    db.prepare_cached(query)?.execute(params![subject.key, failures.count, last, until])?;
    Ok(())
}

fn count(db: &Connection, subject: &Subject, now: Millis) -> Result<(), Error> {
    let count = find(db, subject, now)?.map_or(0, |failures| failures.count).saturating_add(1);
    let until = now.after(wait_after(count, subject.free));
    store(db, subject, &Failures { count, last: now, until })
}

fn uncount(db: &Connection, subject: &Subject, now: Millis) -> Result<(), Error> {
    let Some(failures) = find(db, subject, now)? else { return Ok(()) };
    match failures.count.checked_sub(1).filter(|count| *count > 0) {
        None => {
            db.execute("DELETE FROM failure WHERE subject = ?1", [&subject.key])?;
            Ok(())
        }
        Some(count) => {
            let until = failures.last.after(wait_after(count, subject.free));
            store(db, subject, &Failures { count, last: failures.last, until })
        }
    }
}

/// Forgets the wrong tries for an account.
pub(crate) fn forget(db: &Connection, name: &Name) -> Result<(), Error> {
    if let Some(subject) = Subject::account(name.as_str()) {
        db.execute("DELETE FROM failure WHERE subject = ?1", [&subject.key])?;
    }
    Ok(())
}

fn forget_oldest(db: &Connection, now: Millis) -> Result<(), Error> {
    let forgotten = now.0.saturating_sub(FORGOTTEN_MS);
    db.prepare_cached("DELETE FROM failure WHERE last_ms < ?1")?.execute([forgotten])?;
    let query =
        "DELETE FROM failure WHERE subject IN (SELECT subject FROM failure ORDER BY last_ms DESC LIMIT -1 OFFSET ?1)";
    db.prepare_cached(query)?.execute([SUBJECTS_MAX])?;
    Ok(())
}

impl Accounts {
    /// Counts a try, unless it has to wait.
    pub(crate) fn begin_try(&self, visit: Visit, name: Option<&str>) -> Result<Try, Error> {
        let account = name.and_then(Subject::account);
        let tried = Try { now: visit.now, account, address: visit.address.map(Subject::address) };
        let locked = self.write(|db| {
            let subjects = || tried.account.iter().chain(&tried.address);
            for subject in subjects() {
                if let Some(found) = find(db, subject, visit.now)?.filter(|found| found.until > visit.now) {
                    return Ok(Some(found.until));
                }
            }
            subjects().try_for_each(|subject| count(db, subject, visit.now))?;
            forget_oldest(db, visit.now)?;
            Ok(None)
        })?;
        let Some(until) = locked else { return Ok(tried) };
        let account = name.map(|name| self.account_named(name)).transpose()?.flatten().map(|account| account.id);
        self.write(|db| audit::note(db, visit, account, Kind::LockedOut, ""))?;
        Err(Refusal::LockedOut { until }.into())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, open, visit};

    fn locked_until(result: Result<Try, Error>) -> Option<Millis> {
        match result {
            Ok(_) => None,
            Err(Error::Refused(Refusal::LockedOut { until })) => Some(until),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn waits_grow_and_end() {
        assert_eq!(wait_after(5, 5), Millis(0));
        assert_eq!(wait_after(6, 5), Millis(1000));
        assert_eq!(wait_after(7, 5), Millis(2000));
        assert_eq!(wait_after(15, 5), Millis(512_000));
        assert_eq!(wait_after(16, 5), Millis(WAIT_MAX_MS));
        assert_eq!(wait_after(u32::MAX, 5), Millis(WAIT_MAX_MS));
    }

    #[test]
    fn wrong_tries_lock_the_account_from_everywhere_and_are_forgotten() {
        let (dir, accounts) = accounts();
        let from = |last: u8, now| Visit { now, address: Some([198, 51, 100, last].into()) };
        for at in 0..=ACCOUNT_FREE {
            let _ = accounts.begin_try(from(at as u8, NOW), Some("orchard")).unwrap();
        }
        assert_eq!(locked_until(accounts.begin_try(from(99, NOW), Some("Orchard"))), Some(NOW.after(Millis(1000))));
        assert_eq!(locked_until(accounts.begin_try(from(99, NOW), Some("barley"))), None, "others are not locked");
        drop(accounts);
        let accounts = open(&dir);
        let later = NOW.after(Millis(1000));
        assert_eq!(
            locked_until(accounts.begin_try(from(99, NOW), Some("orchard"))),
            Some(later),
            "a restart is no way out"
        );
        assert_eq!(locked_until(accounts.begin_try(from(99, later), Some("orchard"))), None);
        let next = later.after(Millis(2000));
        assert_eq!(locked_until(accounts.begin_try(from(99, later), Some("orchard"))), Some(next));
        let tomorrow = later.after(Millis(FORGOTTEN_MS));
        for _ in 0..ACCOUNT_FREE {
            assert_eq!(locked_until(accounts.begin_try(from(99, tomorrow), Some("orchard"))), None);
        }
    }

    #[test]
    fn an_address_is_locked_whatever_names_it_tries() {
        let (_dir, accounts) = accounts();
        for at in 0..=ADDRESS_FREE {
            let _ = accounts.begin_try(visit(NOW), Some(&format!("name-{at}"))).unwrap();
        }
        assert!(locked_until(accounts.begin_try(visit(NOW), Some("another"))).is_some());
    }

    #[test]
    fn signing_in_to_ones_own_account_does_not_clear_the_address() {
        let (_dir, accounts) = accounts();
        for at in 0..ADDRESS_FREE {
            let _ = accounts.begin_try(visit(NOW), Some(&format!("name-{at}"))).unwrap();
        }
        let own = accounts.begin_try(visit(NOW), Some("own")).unwrap();
        accounts.write(|db| own.succeed(db)).unwrap();
        let _ = accounts.begin_try(visit(NOW), Some("other")).unwrap();
        assert!(locked_until(accounts.begin_try(visit(NOW), Some("another"))).is_some());
    }

    #[test]
    fn success_clears_the_account() {
        let (_dir, accounts) = accounts();
        for _ in 0..3 * ACCOUNT_FREE {
            let tried = accounts.begin_try(visit(NOW), Some("orchard")).unwrap();
            accounts.write(|db| tried.succeed(db)).unwrap();
        }
    }

    #[test]
    fn a_household_of_ipv6_is_one_subject() {
        let first = Subject::address("2001:db8:1:2::1".parse().unwrap());
        assert_eq!(first, Subject::address("2001:db8:1:2:ffff::9".parse().unwrap()));
        assert_ne!(first, Subject::address("2001:db8:1:3::1".parse().unwrap()));
        assert_eq!(
            Subject::address("::ffff:192.0.2.7".parse().unwrap()),
            Subject::address("192.0.2.7".parse().unwrap())
        );
    }
}
