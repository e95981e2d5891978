//! How a passphrase, a wallet or a passkey becomes a session.
use crate::account::{self, Account, HANDLE_BYTES, New};
use crate::audit::{self, Kind};
use crate::lockout::Try;
use crate::passphrase::{self, Verified};
use crate::session::{NewSession, Via};
use crate::totp::Factor;
use crate::{AccountId, Accounts, Error, Name, Refusal, Roles, Secret, Visit, chance};

/// Somebody who has just signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// Who.
    pub account: Account,
    /// The session that has begun.
    pub session: NewSession,
}

/// What came of the second factor, once the first was passed.
enum Entry {
    In(NewSession),
    Needed,
    Wrong,
}

impl Accounts {
    /// Makes an account with a passphrase, and signs in to it.
    pub fn sign_up(&self, visit: Visit, name: &str, passphrase: &Secret, roles: Roles) -> Result<SignedIn, Error> {
        let name = Name::chosen(name).map_err(Refusal::from)?;
        passphrase::check(passphrase.expose(), &name).map_err(Refusal::from)?;
        let hash = self.hasher.hash(passphrase, &*self.chance)?;
        let handle = chance::bytes::<HANDLE_BYTES>(&*self.chance)?;
        self.write(|db| {
            let new = New { name: &name, roles, handle, passphrase: Some(&hash) };
            let account = account::add(db, visit, &new)?;
            let session = self.begin_session(db, visit, account.id, Via::Passphrase)?;
            Ok(SignedIn { account, session })
        })
    }

    /// Signs in with a passphrase, and a code if the account has a second factor.
    pub fn sign_in(
        &self,
        visit: Visit,
        name: &str,
        passphrase: &Secret,
        code: Option<&str>,
    ) -> Result<SignedIn, Error> {
        let tried = self.begin_try(visit, Some(name))?;
        let account = self.account_named(name)?;
        let hash = account.as_ref().map(|account| self.read(|db| passphrase::stored(db, account.id)));
        let hash = hash.transpose()?.flatten();
        let verified = self.hasher.verify(passphrase, hash.as_deref(), &*self.chance)?;
        let Some(account) = account.filter(|_| verified != Verified::No) else {
            let known = self.account_named(name)?.map(|account| account.id);
            self.note(visit, known, Kind::SignInFailed, "passphrase")?;
            return Err(Refusal::WrongCredentials.into());
        };
        if let Verified::Rehashed(hash) = &verified {
            self.write(|db| passphrase::store(db, account.id, hash))?;
        }
        let entry = self.write(|db| self.enter(db, visit, &account, Via::Passphrase, code, Some(&tried)))?;
        entered(account, entry)
    }

    /// Lets somebody in who has passed the first factor, if the second is passed or there is none.
    fn enter(
        &self,
        db: &rusqlite::Connection,
        visit: Visit,
        account: &Account,
        via: Via,
        code: Option<&str>,
        tried: Option<&Try>,
    ) -> Result<Entry, Error> {
        if account.suspended {
            return Err(Refusal::Suspended.into());
        }
        let via = match self.second_factor(db, visit, account.id, code)? {
            Factor::NotSet => via,
            Factor::Passed | Factor::Recovered => Via::SecondFactor,
            Factor::Needed => {
                tried.map_or(Ok(()), |tried| tried.forgive(db))?;
                return Ok(Entry::Needed);
            }
            Factor::Wrong => {
                audit::note(db, visit, Some(account.id), Kind::SecondFactorFailed, via.name())?;
                return Ok(Entry::Wrong);
            }
        };
        tried.map_or(Ok(()), |tried| tried.succeed(db))?;
        self.admit(db, visit, account.id, via).map(Entry::In)
    }

    fn admit(
        &self,
        db: &rusqlite::Connection,
        visit: Visit,
        account: AccountId,
        via: Via,
    ) -> Result<NewSession, Error> {
        audit::note(db, visit, Some(account), Kind::SignedIn, via.name())?;
        self.begin_session(db, visit, account, via)
    }

    /// Lets in whom a wallet or a passkey has proved, within the transaction that uses up their challenge: `prove` is
    /// taken back, and can be repeated with a code, if a code is needed.
    pub(crate) fn sign_in_by_key(
        &self,
        visit: Visit,
        via: Via,
        name: Option<&Name>,
        code: Option<&str>,
        prove: impl FnOnce(&rusqlite::Connection) -> Result<Account, Error>,
    ) -> Result<SignedIn, Error> {
        // Codes can be guessed, whatever came before them.
        let code = code.filter(|code| !code.trim().is_empty());
        let tried = code.map(|_| self.begin_try(visit, name.map(Name::as_str))).transpose()?;
        let mut wrong = None;
        let done = self.write(|db| {
            let account = prove(db)?;
            if account.suspended {
                return Err(Refusal::Suspended.into());
            }
            // A passkey that knows its owner is two factors.
            if via == Via::Passkey {
                let session = self.admit(db, visit, account.id, via)?;
                return Ok(SignedIn { account, session });
            }
            let entry = self.enter(db, visit, &account, via, code, tried.as_ref())?;
            if matches!(entry, Entry::Wrong) {
                wrong = Some(account.id);
            }
            entered(account, entry)
        });
        if let Some(account) = wrong {
            self.note(visit, Some(account), Kind::SecondFactorFailed, via.name())?;
        }
        done
    }
}

fn entered(account: Account, entry: Entry) -> Result<SignedIn, Error> {
    match entry {
        Entry::In(session) => Ok(SignedIn { account, session }),
        Entry::Needed => Err(Refusal::SecondFactorNeeded.into()),
        Entry::Wrong => Err(Refusal::WrongCode.into()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, PASSPHRASE, accounts, made, visit};
    use crate::{Settings, passphrase::Cost};

    fn refusal(result: Result<SignedIn, Error>) -> Refusal {
        match result {
            Err(Error::Refused(refusal)) => refusal,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("not refused"),
        }
    }

    #[test]
    fn a_wrong_name_and_a_wrong_passphrase_are_told_alike() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let (right, wrong) = (Secret::new(PASSPHRASE), Secret::new("something else"));
        assert!(accounts.sign_in(visit(NOW), "Orchard", &right, None).is_ok());
        for (name, passphrase) in [("orchard", &wrong), ("barley", &right), ("", &right), ("no such name!", &right)] {
            assert_eq!(refusal(accounts.sign_in(visit(NOW), name, passphrase, None)), Refusal::WrongCredentials);
        }
    }

    #[test]
    fn guessing_is_slowed_down_and_the_right_one_waits_too() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let (right, wrong) = (Secret::new(PASSPHRASE), Secret::new("something else"));
        for _ in 0..=crate::lockout::ACCOUNT_FREE {
            assert_eq!(refusal(accounts.sign_in(visit(NOW), "orchard", &wrong, None)), Refusal::WrongCredentials);
        }
        let Refusal::LockedOut { until } = refusal(accounts.sign_in(visit(NOW), "orchard", &right, None)) else {
            panic!("not locked out")
        };
        assert!(until > NOW);
        assert!(accounts.sign_in(visit(until), "orchard", &right, None).is_ok());
        let kinds: Vec<_> = accounts.events_of(id, None, 3).unwrap().into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [Kind::SignedIn, Kind::LockedOut, Kind::SignInFailed]);
    }

    #[test]
    fn a_suspended_account_is_closed_to_the_right_passphrase_only() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        accounts.suspend(visit(NOW), id).unwrap();
        let (right, wrong) = (Secret::new(PASSPHRASE), Secret::new("something else"));
        assert_eq!(refusal(accounts.sign_in(visit(NOW), "orchard", &right, None)), Refusal::Suspended);
        assert_eq!(refusal(accounts.sign_in(visit(NOW), "orchard", &wrong, None)), Refusal::WrongCredentials);
    }

    #[test]
    fn a_cheap_hash_is_replaced_at_the_next_sign_in() {
        let (dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let before = accounts.read(|db| passphrase::stored(db, id)).unwrap().unwrap();
        drop(accounts);
        let cost = Cost { memory_kib: 64, passes: 2 };
        let accounts = Accounts::open(dir.path(), Settings { cost, ..Settings::default() }).unwrap();
        accounts.sign_in(visit(NOW), "orchard", &Secret::new(PASSPHRASE), None).unwrap();
        let after = accounts.read(|db| passphrase::stored(db, id)).unwrap().unwrap();
        assert!(before.contains("m=8,t=1") && after.contains("m=64,t=2"), "{before} {after}");
        accounts.sign_in(visit(NOW), "orchard", &Secret::new(PASSPHRASE), None).unwrap();
    }

    #[test]
    fn many_wrong_tries_at_once_are_no_way_around_the_limit() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let wrong = Secret::new("something else");
        let judged = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| refusal(accounts.sign_in(visit(NOW), "orchard", &wrong, None))))
                .collect();
            let refusals = tries.into_iter().map(|tried| tried.join().unwrap());
            refusals.filter(|refusal| *refusal == Refusal::WrongCredentials).count()
        });
        assert_eq!(judged, crate::lockout::ACCOUNT_FREE as usize + 1);
    }
}
