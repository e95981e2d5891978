//! Passphrases: which are taken, and their Argon2id hashes with the parameters beside them.
mod policy;

pub use policy::{BYTES_MAX, CHARS_MIN, DISTINCT_MIN, Weak, check};

use crate::audit::{self, Kind};
use crate::{AccountId, Accounts, Chance, Error, Refusal, Secret, Visit, account, chance, lockout, session};
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use rusqlite::{Connection, OptionalExtension, params};

/// Random bytes beside each passphrase.
const SALT_BYTES: usize = 16;
/// Random bytes of a passphrase that the operator hands out, and the letters of each of its groups.
const RANDOM_BYTES: usize = 15;
const GROUP_CHARS: usize = 4;

/// What one hash costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// How often it is walked over.
    pub passes: u32,
}

impl Cost {
    /// For tests, which hash many.
    pub const CHEAPEST: Self = Self { memory_kib: Params::MIN_M_COST, passes: Params::MIN_T_COST };
}

impl Default for Cost {
    /// 19 MiB, twice: tens of milliseconds of one core, which is what OWASP asks of a server.
    fn default() -> Self {
        Self { memory_kib: Params::DEFAULT_M_COST, passes: Params::DEFAULT_T_COST }
    }
}

/// Whether a passphrase is the one, and what is to be stored from now on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    /// Another one, or none.
    No,
    /// The one.
    Yes,
    /// The one, and its hash is cheaper than hashes are now: this is a new one.
    Rehashed(String),
}

/// Hashes passphrases and compares them.
pub(crate) struct Hasher {
    argon: Argon2<'static>,
    /// Compared with where there is no hash, so that this takes as long as a wrong passphrase.
    nobody: String,
}

impl Hasher {
    pub(crate) fn new(cost: Cost, chance: &dyn Chance) -> Result<Self, Error> {
        let params = Params::new(cost.memory_kib, cost.passes, Params::DEFAULT_P_COST, None);
        let params = params.map_err(|error| Error::Hash(error.to_string()))?;
        let mut hasher =
            Self { argon: Argon2::new(Algorithm::Argon2id, Version::V0x13, params), nobody: String::new() };
        let unknown: [u8; 32] = chance::bytes(chance)?;
        hasher.nobody = hasher.hash_bytes(&unknown, chance)?;
        Ok(hasher)
    }

    /// A new hash, with salt and parameters.
    pub(crate) fn hash(&self, passphrase: &Secret, chance: &dyn Chance) -> Result<String, Error> {
        self.hash_bytes(passphrase.expose().as_bytes(), chance)
    }

    fn hash_bytes(&self, bytes: &[u8], chance: &dyn Chance) -> Result<String, Error> {
        let salt: [u8; SALT_BYTES] = chance::bytes(chance)?;
        let hash: Result<PasswordHash, _> = self.argon.hash_password_with_salt(bytes, &salt);
        hash.map(|hash| hash.to_string()).map_err(|error| Error::Hash(error.to_string()))
    }

    /// Compares a passphrase with a hash, or with nobody's.
    pub(crate) fn verify(
        &self,
        passphrase: &Secret,
        hash: Option<&str>,
        chance: &dyn Chance,
    ) -> Result<Verified, Error> {
        // What is too long is nobody's, and is not hashed.
        let bytes = Some(passphrase.expose().as_bytes()).filter(|bytes| bytes.len() <= BYTES_MAX).unwrap_or_default();
        let parsed = PasswordHash::new(hash.unwrap_or(&self.nobody)).map_err(|_| Error::Altered("a passphrase"))?;
        let same = self.argon.verify_password(bytes, &parsed).is_ok();
        if !same || hash.is_none() {
            return Ok(Verified::No);
        }
        if self.is_cheap(&parsed) { Ok(Verified::Rehashed(self.hash(passphrase, chance)?)) } else { Ok(Verified::Yes) }
    }

    /// Whether a hash costs less than new ones do.
    fn is_cheap(&self, hash: &PasswordHash) -> bool {
        let now = self.argon.params();
        Params::try_from(hash).is_ok_and(|then| then.m_cost() < now.m_cost() || then.t_cost() < now.t_cost())
    }
}

/// The hash of an account's passphrase, if it has one.
pub(crate) fn stored(db: &Connection, account: AccountId) -> Result<Option<String>, Error> {
    let mut statement = db.prepare_cached("SELECT passphrase FROM account WHERE id = ?1")?;
    Ok(statement.query_row([account.0], |row| row.get(0)).optional()?.flatten())
}

pub(crate) fn store(db: &Connection, account: AccountId, hash: &str) -> Result<(), Error> {
    db.execute("UPDATE account SET passphrase = ?2 WHERE id = ?1", params![account.0, hash])?;
    Ok(())
}

/// A passphrase that nobody guesses, in groups that can be read out.
fn random_passphrase(chance: &dyn Chance) -> Result<Secret, Error> {
    let random: [u8; RANDOM_BYTES] = chance::bytes(chance)?;
    let letters = data_encoding::BASE32_NOPAD.encode(&random).to_lowercase();
    let groups: Vec<&str> = (0..letters.len()).step_by(GROUP_CHARS).map(|at| &letters[at..at + GROUP_CHARS]).collect();
    Ok(Secret::new(groups.join("-")))
}

impl Accounts {
    /// Gives an account another passphrase, or its first one. Who knows the old one says it; where there is none, the session
    /// that asks has to be fresh. Every session but that one ends.
    pub fn change_passphrase(
        &self,
        visit: Visit,
        id: AccountId,
        old: Option<&Secret>,
        new: &Secret,
        keep: Option<&str>,
    ) -> Result<(), Error> {
        let account = self.account(id)?.ok_or(Refusal::NotFound("account"))?;
        check(new.expose(), &account.name).map_err(Refusal::from)?;
        if let Some(hash) = self.read(|db| stored(db, id))? {
            let tried = self.begin_try(visit, Some(account.name.as_str()))?;
            let old = old.ok_or(Refusal::WrongCredentials)?;
            if self.hasher.verify(old, Some(&hash), &*self.chance)? == Verified::No {
                return Err(Refusal::WrongCredentials.into());
            }
            self.write(|db| tried.forgive(db))?;
        } else if let Some(session) = keep {
            self.read(|db| session::check_listed_fresh(db, id, session, visit.now))?;
        }
        let hash = self.hasher.hash(new, &*self.chance)?;
        self.write(|db| {
            store(db, id, &hash)?;
            session::end_all(db, id, keep)?;
            audit::note(db, visit, Some(id), Kind::PassphraseChanged, "")
        })
    }

    /// Gives an account a passphrase by the operator's word, for somebody who has lost theirs, or whose account somebody else
    /// got into: it is the only way in from then on. The second factor is turned off, sessions end, tokens and passkeys are
    /// worth nothing, and wallets do not sign in until they are linked again, while what they paid for stays the account's.
    /// Wrong tries are forgotten. The passphrase is known to whoever gets this answer only.
    pub fn reset_passphrase(&self, visit: Visit, id: AccountId) -> Result<Secret, Error> {
        let new = random_passphrase(&*self.chance)?;
        let hash = self.hasher.hash(&new, &*self.chance)?;
        self.write(|db| {
            let account = account::find(db, id)?.ok_or(Refusal::NotFound("account"))?;
            store(db, id, &hash)?;
            crate::totp::remove(db, id)?;
            session::end_all(db, id, None)?;
            for table in ["token", "passkey", "wallet"] {
                db.execute(&format!("DELETE FROM {table} WHERE account = ?1"), [id.0])?;
            }
            lockout::forget(db, &account.name)?;
            audit::note(db, visit, Some(id), Kind::PassphraseChanged, "by the operator")
        })?;
        Ok(new)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::SystemChance;
    use crate::store::tests::{NOW, PASSPHRASE, accounts, made, visit};
    use crate::token::tests::ask;
    use crate::token::{Scope, Scopes};
    use gleaner_wire::Millis;

    #[test]
    fn a_hash_says_what_it_is_and_is_salted() {
        let hasher = Hasher::new(Cost::default(), &SystemChance).unwrap();
        let (one, two) = (Secret::new(PASSPHRASE), Secret::new("another passphrase"));
        let hash = hasher.hash(&one, &SystemChance).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, hasher.hash(&one, &SystemChance).unwrap());
        assert_eq!(hasher.verify(&one, Some(&hash), &SystemChance).unwrap(), Verified::Yes);
        assert_eq!(hasher.verify(&two, Some(&hash), &SystemChance).unwrap(), Verified::No);
        assert_eq!(hasher.verify(&one, None, &SystemChance).unwrap(), Verified::No);
    }

    #[test]
    fn a_name_that_is_not_there_costs_as_much_as_one_that_is() {
        let hasher = Hasher::new(Cost::default(), &SystemChance).unwrap();
        let nobody = PasswordHash::new(&hasher.nobody).unwrap();
        let params = Params::try_from(&nobody).unwrap();
        let cost = Cost::default();
        assert_eq!((params.m_cost(), params.t_cost()), (cost.memory_kib, cost.passes));
    }

    #[test]
    fn a_cheap_hash_is_renewed_when_it_is_next_used() {
        let cheap = Hasher::new(Cost::CHEAPEST, &SystemChance).unwrap();
        let dear = Hasher::new(Cost { memory_kib: 64, passes: 2 }, &SystemChance).unwrap();
        let passphrase = Secret::new(PASSPHRASE);
        let old = cheap.hash(&passphrase, &SystemChance).unwrap();
        let Verified::Rehashed(new) = dear.verify(&passphrase, Some(&old), &SystemChance).unwrap() else {
            panic!("the hash is not renewed")
        };
        assert_eq!(dear.verify(&passphrase, Some(&new), &SystemChance).unwrap(), Verified::Yes);
        assert_eq!(cheap.verify(&passphrase, Some(&new), &SystemChance).unwrap(), Verified::Yes, "never made cheaper");
    }

    #[test]
    fn the_operator_hands_out_a_passphrase_that_lets_in_and_the_old_one_does_not() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let old = Secret::new(PASSPHRASE);
        let session = accounts.sign_in(visit(NOW), "orchard", &old, None).unwrap().session;
        for _ in 0..=lockout::ACCOUNT_FREE {
            assert!(accounts.sign_in(visit(NOW), "orchard", &Secret::new("guessed wrong"), None).is_err());
        }
        let new = accounts.reset_passphrase(visit(NOW), id).unwrap();
        assert_eq!(new.expose().split('-').map(str::len).collect::<Vec<_>>(), [4; 6]);
        assert!(accounts.session(visit(NOW), session.token.expose()).unwrap().is_none());
        assert!(accounts.sign_in(visit(NOW), "orchard", &old, None).is_err());
        accounts.sign_in(visit(NOW), "orchard", &new, None).unwrap();
        assert!(accounts.reset_passphrase(visit(NOW), AccountId(99)).is_err());
    }

    #[test]
    fn a_reset_leaves_no_other_way_in_and_what_wallets_paid_for_stays() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let token = accounts.make_token(visit(NOW), id, &ask(Scopes::of(&[Scope::Read]))).unwrap();
        let wallet = gleaner_wire::Address([7; 20]);
        let passkey = "INSERT INTO passkey (id, account, algorithm, public, sign_count, label, made_ms) \
                       VALUES (x'01', ?1, -7, x'02', 0, 'phone', 0)";
        accounts
            .write(|db| {
                db.execute(passkey, [id.0])?;
                db.execute(
                    "INSERT INTO wallet (address, account, made_ms) VALUES (?1, ?2, 0)",
                    params![wallet.0, id.0],
                )?;
                crate::ownership::add_payer(db, id, &wallet.to_string(), crate::ownership::Payer::Wallet)
            })
            .unwrap();
        let ways = || {
            (
                accounts.tokens(id).unwrap().len(),
                accounts.passkeys(id).unwrap().len(),
                accounts.wallets(id).unwrap().len(),
            )
        };
        assert_eq!(ways(), (1, 1, 1));
        accounts.reset_passphrase(visit(NOW), id).unwrap();
        assert_eq!(ways(), (0, 0, 0));
        assert!(accounts.token(visit(NOW), token.text.expose()).unwrap().is_none());
        assert!(accounts.payers(id).unwrap().contains(&wallet.to_string()));
    }

    #[test]
    fn a_first_passphrase_needs_a_fresh_session() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let session = accounts.sign_in(visit(NOW), "orchard", &Secret::new(PASSPHRASE), None).unwrap().session;
        accounts.write(|db| Ok(db.execute("UPDATE account SET passphrase = NULL", [])?)).unwrap();
        let new = Secret::new("rain on a tin roof");
        let late = visit(NOW.after(Millis(session::FRESH_MS)));
        let refused = accounts.change_passphrase(late, id, None, &new, Some(&session.id));
        assert!(matches!(refused, Err(Error::Refused(Refusal::NotFresh))), "{refused:?}");
        accounts.change_passphrase(visit(NOW), id, None, &new, Some(&session.id)).unwrap();
        accounts.sign_in(visit(NOW), "orchard", &new, None).unwrap();
    }

    #[test]
    fn a_new_passphrase_needs_the_old_one_and_ends_other_sessions() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let (old, new) = (Secret::new(PASSPHRASE), Secret::new("rain on a tin roof"));
        let here = accounts.sign_in(visit(NOW), "orchard", &old, None).unwrap().session;
        let there = accounts.sign_in(visit(NOW), "orchard", &old, None).unwrap().session;
        assert!(accounts.change_passphrase(visit(NOW), id, None, &new, Some(&here.id)).is_err());
        assert!(accounts.change_passphrase(visit(NOW), id, Some(&new), &new, Some(&here.id)).is_err());
        let weak = accounts.change_passphrase(visit(NOW), id, Some(&old), &Secret::new("password12"), Some(&here.id));
        assert!(matches!(weak, Err(Error::Refused(Refusal::Passphrase(Weak::Common)))));
        accounts.change_passphrase(visit(NOW), id, Some(&old), &new, Some(&here.id)).unwrap();
        assert!(accounts.session(visit(NOW), here.token.expose()).unwrap().is_some());
        assert!(accounts.session(visit(NOW), there.token.expose()).unwrap().is_none());
        assert!(accounts.sign_in(visit(NOW), "orchard", &old, None).is_err());
        assert!(accounts.sign_in(visit(NOW), "orchard", &new, None).is_ok());
    }
}
