//! The second factor: codes by time from an app, and recovery codes for when the app is lost.
//!
//! Secrets are sealed with the hub's key, each for its account: a stolen database gives none away.
mod code;
mod recovery;

pub use code::{SECRET_BYTES, STEP_SECONDS, STEPS_AROUND};
pub use recovery::CODES as RECOVERY_CODES;

use crate::audit::{self, Kind};
use crate::{AccountId, Accounts, Error, Refusal, Secret, Visit, account, chance, session};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use zeroize::Zeroizing;

/// What a person types or scans into an app.
#[derive(Debug, Serialize)]
pub struct Enrolment {
    /// To be typed.
    pub secret: Secret,
    /// To be scanned.
    pub uri: Secret,
}

/// What came of a second factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// The account has none.
    NotSet,
    /// The code was right.
    Passed,
    /// A recovery code was used up.
    Recovered,
    /// There is one, and no code was given.
    Needed,
    /// The code was wrong.
    Wrong,
}

fn place(account: AccountId) -> Vec<u8> {
    format!("totp of account {account}").into_bytes()
}

struct Stored {
    sealed: Vec<u8>,
    confirmed: bool,
    last_step: u64,
}

fn find(db: &Connection, account: AccountId) -> Result<Option<Stored>, Error> {
    let mut statement = db.prepare_cached("SELECT sealed, confirmed, last_step FROM totp WHERE account = ?1")?;
    let row =
        |row: &rusqlite::Row<'_>| Ok(Stored { sealed: row.get(0)?, confirmed: row.get(1)?, last_step: row.get(2)? });
    Ok(statement.query_row([account.0], row).optional()?)
}

/// Turns the second factor off.
pub(crate) fn remove(db: &Connection, account: AccountId) -> Result<(), Error> {
    db.execute("DELETE FROM totp WHERE account = ?1", [account.0])?;
    recovery::remove(db, account)
}

/// Whether an account has a second factor.
pub(crate) fn is_on(db: &Connection, account: AccountId) -> Result<bool, Error> {
    Ok(find(db, account)?.is_some_and(|stored| stored.confirmed))
}

impl Accounts {
    fn totp_secret(&self, account: AccountId, stored: &Stored) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.key.open_sealed(&place(account), &stored.sealed).ok_or(Error::Altered("the secret of a second factor"))
    }

    /// Whether this is a code of the account that was not used before; it is used up by that.
    fn spend_code(&self, db: &Connection, visit: Visit, account: AccountId, code: &str) -> Result<bool, Error> {
        let Some(stored) = find(db, account)? else { return Ok(false) };
        let secret = self.totp_secret(account, &stored)?;
        let Some(step) = code::matching(&secret, code::step(visit.now.0), stored.last_step, code) else {
            return Ok(false);
        };
        db.execute("UPDATE totp SET last_step = ?2 WHERE account = ?1", params![account.0, step])?;
        Ok(true)
    }

    /// Looks at the second factor of somebody who has passed the first.
    pub(crate) fn second_factor(
        &self,
        db: &Connection,
        visit: Visit,
        account: AccountId,
        given: Option<&str>,
    ) -> Result<Factor, Error> {
        if !is_on(db, account)? {
            return Ok(Factor::NotSet);
        }
        let Some(given) = given.filter(|given| !given.trim().is_empty()) else { return Ok(Factor::Needed) };
        if self.spend_code(db, visit, account, given)? {
            return Ok(Factor::Passed);
        }
        if recovery::spend(db, account, given)? {
            let left = format!("{} left", recovery::left(db, account)?);
            audit::note(db, visit, Some(account), Kind::RecoveryUsed, &left)?;
            return Ok(Factor::Recovered);
        }
        Ok(Factor::Wrong)
    }

    /// A new secret for an account, which counts once a code of it has been given.
    pub fn begin_totp(&self, id: AccountId, hub: &str) -> Result<Enrolment, Error> {
        let secret = Zeroizing::new(chance::bytes::<SECRET_BYTES>(&*self.chance)?);
        let sealed = self.key.seal(&place(id), &*secret, &*self.chance)?;
        self.write(|db| {
            let account = account::find(db, id)?.ok_or(Refusal::NotFound("account"))?;
            if is_on(db, id)? {
                return Err(Refusal::TotpOn.into());
            }
            let query = "INSERT OR REPLACE INTO totp (account, sealed, confirmed, last_step) VALUES (?1, ?2, 0, 0)";
            db.execute(query, params![id.0, sealed])?;
            let uri = Secret::new(code::uri(&*secret, hub, account.name.as_str()));
            Ok(Enrolment { secret: Secret::new(code::text(&*secret)), uri })
        })
    }

    /// Turns the second factor on with the first code, and hands out recovery codes. Other sessions end.
    pub fn confirm_totp(
        &self,
        visit: Visit,
        id: AccountId,
        code: &str,
        keep: Option<&str>,
    ) -> Result<Vec<Secret>, Error> {
        self.write(|db| {
            let stored = find(db, id)?.ok_or(Refusal::TotpOff)?;
            if stored.confirmed {
                return Err(Refusal::TotpOn.into());
            }
            if !self.spend_code(db, visit, id, code)? {
                return Err(Refusal::WrongCode.into());
            }
            db.execute("UPDATE totp SET confirmed = 1 WHERE account = ?1", [id.0])?;
            session::end_all(db, id, keep)?;
            audit::note(db, visit, Some(id), Kind::TotpOn, "")?;
            recovery::renew(db, id, &*self.chance)
        })
    }

    /// Turns the second factor off, with a code of it or a recovery code.
    pub fn remove_totp(&self, visit: Visit, id: AccountId, code: &str) -> Result<(), Error> {
        let account = self.account(id)?.ok_or(Refusal::NotFound("account"))?;
        if !self.read(|db| is_on(db, id))? {
            return Err(Refusal::TotpOff.into());
        }
        // Whoever has stolen a session must not guess codes.
        let tried = self.begin_try(visit, Some(account.name.as_str()))?;
        self.write(|db| match self.second_factor(db, visit, id, Some(code))? {
            Factor::Passed | Factor::Recovered | Factor::NotSet => {
                remove(db, id)?;
                tried.succeed(db)?;
                audit::note(db, visit, Some(id), Kind::TotpOff, "")
            }
            Factor::Needed | Factor::Wrong => Err(Refusal::WrongCode.into()),
        })
    }

    /// Whether an account has a second factor, and how many recovery codes are left.
    pub fn totp(&self, id: AccountId) -> Result<Option<u64>, Error> {
        self.read(|db| if is_on(db, id)? { Ok(Some(recovery::left(db, id)?)) } else { Ok(None) })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(crate) mod tests {
    use super::*;
    use crate::store::tests::{NOW, PASSPHRASE, accounts, made, visit};
    use data_encoding::BASE32_NOPAD;
    use gleaner_wire::Millis;

    fn refusal<T>(result: Result<T, Error>) -> Refusal {
        match result {
            Err(Error::Refused(refusal)) => refusal,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("not refused"),
        }
    }

    /// An account with a second factor, its secret and its recovery codes.
    fn enrolled(accounts: &Accounts) -> (AccountId, Vec<u8>, Vec<Secret>) {
        let id = made(accounts, "orchard");
        let (secret, codes) = enrol(accounts, id);
        (id, secret, codes)
    }

    fn enrol(accounts: &Accounts, id: AccountId) -> (Vec<u8>, Vec<Secret>) {
        let enrolment = accounts.begin_totp(id, "hub.example").unwrap();
        let secret = BASE32_NOPAD.decode(enrolment.secret.expose().as_bytes()).unwrap();
        let codes = accounts.confirm_totp(visit(NOW), id, &code::code(&secret, code::step(NOW.0)), None).unwrap();
        (secret, codes)
    }

    /// Turns the second factor of an account on, for its recovery codes.
    pub(crate) fn turn_on(accounts: &Accounts, id: AccountId) -> Vec<Secret> {
        enrol(accounts, id).1
    }

    fn sign_in(accounts: &Accounts, now: Millis, code: Option<&str>) -> Result<(), Error> {
        accounts.sign_in(visit(now), "orchard", &Secret::new(PASSPHRASE), code).map(|_| ())
    }

    #[test]
    fn a_second_factor_is_asked_for_once_it_is_confirmed() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        accounts.begin_totp(id, "hub.example").unwrap();
        sign_in(&accounts, NOW, None).unwrap();
        assert_eq!(refusal(accounts.confirm_totp(visit(NOW), id, "000000", None)), Refusal::WrongCode);
        assert_eq!(accounts.totp(id).unwrap(), None);
        let enrolment = accounts.begin_totp(id, "hub.example").unwrap();
        let secret = BASE32_NOPAD.decode(enrolment.secret.expose().as_bytes()).unwrap();
        accounts.confirm_totp(visit(NOW), id, &code::code(&secret, code::step(NOW.0)), None).unwrap();
        assert_eq!(accounts.totp(id).unwrap(), Some(RECOVERY_CODES as u64));
        assert_eq!(refusal(sign_in(&accounts, NOW, None)), Refusal::SecondFactorNeeded);
        assert_eq!(refusal(accounts.begin_totp(id, "hub.example")), Refusal::TotpOn);
    }

    #[test]
    fn a_code_works_once() {
        let (_dir, accounts) = accounts();
        let (_, secret, _) = enrolled(&accounts);
        let used = code::code(&secret, code::step(NOW.0));
        assert_eq!(refusal(sign_in(&accounts, NOW, Some(&used))), Refusal::WrongCode, "the one that confirmed it");
        let later = NOW.after(Millis(STEP_SECONDS * 1000));
        let next = code::code(&secret, code::step(later.0));
        sign_in(&accounts, later, Some(&next)).unwrap();
        assert_eq!(refusal(sign_in(&accounts, later, Some(&next))), Refusal::WrongCode);
    }

    #[test]
    fn each_recovery_code_works_once() {
        let (_dir, accounts) = accounts();
        let (id, _, codes) = enrolled(&accounts);
        assert_eq!(codes.len(), RECOVERY_CODES);
        sign_in(&accounts, NOW, Some(codes[3].expose())).unwrap();
        assert_eq!(refusal(sign_in(&accounts, NOW, Some(codes[3].expose()))), Refusal::WrongCode);
        assert_eq!(accounts.totp(id).unwrap(), Some(RECOVERY_CODES as u64 - 1));
        accounts.remove_totp(visit(NOW), id, codes[4].expose()).unwrap();
        assert_eq!(accounts.totp(id).unwrap(), None);
        sign_in(&accounts, NOW, None).unwrap();
    }

    #[test]
    fn codes_cannot_be_guessed_by_who_knows_the_passphrase() {
        let (_dir, accounts) = accounts();
        let (id, ..) = enrolled(&accounts);
        let tries: Vec<_> = (0..8).map(|_| refusal(sign_in(&accounts, NOW, Some("000000")))).collect();
        assert!(matches!(tries[7], Refusal::LockedOut { .. }), "{tries:?}");
        assert!(matches!(refusal(accounts.remove_totp(visit(NOW), id, "000000")), Refusal::LockedOut { .. }));
    }

    #[test]
    fn asking_for_the_code_is_no_wrong_try() {
        let (_dir, accounts) = accounts();
        enrolled(&accounts);
        for _ in 0..10 {
            assert_eq!(refusal(sign_in(&accounts, NOW, None)), Refusal::SecondFactorNeeded);
        }
    }

    #[test]
    fn the_database_alone_gives_no_secret_away() {
        let (dir, accounts) = accounts();
        let (_, secret, codes) = enrolled(&accounts);
        drop(accounts);
        let bytes = std::fs::read(dir.path().join("accounts.db")).unwrap();
        let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        assert!(!holds(&secret) && !holds(codes[0].expose().as_bytes()));
        assert!(holds(b"orchard"), "the file was looked at");
    }
}
