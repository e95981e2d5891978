//! Challenges: what a wallet or a passkey is asked to sign, or a link carries. Good once, for a few minutes, for one purpose.
//!
//! A challenge carries its end and a code that only this hub makes, so nothing is remembered when one is handed out, and
//! strangers who ask for many fill no table. Only used ones are written down, until they would have ended anyway.
use crate::key::Use;
use crate::{AccountId, Accounts, Error, Refusal, chance};
use gleaner_wire::{Address, Millis};
use rusqlite::{Connection, params};
use subtle::ConstantTimeEq;

/// How long a challenge may be answered.
pub const CHALLENGE_MS: u64 = 5 * 60 * 1000;

const END_BYTES: usize = 8;
const RANDOM_BYTES: usize = 16;
const CODE_BYTES: usize = 16;
/// The length of a challenge.
pub const CHALLENGE_BYTES: usize = END_BYTES + RANDOM_BYTES + CODE_BYTES;

/// Why an answer is not to a challenge of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not ours, or for something else.
    #[error("what was signed was not asked for by this hub: ask for a new challenge")]
    Foreign,
    /// Too late.
    #[error("the answer came too late: ask for a new challenge")]
    Expired,
    /// Answered before.
    #[error("this challenge has been answered before: ask for a new one")]
    Used,
}

/// What a challenge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A wallet proves its address.
    Wallet(Address),
    /// An account gets a passkey.
    NewPasskey(AccountId),
    /// Somebody signs in with a passkey.
    Passkey,
    /// Somebody signs in by a link to an account.
    Link(AccountId),
}

impl Purpose {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Wallet(address) => [b"wallet".as_slice(), &address.0].concat(),
            Self::NewPasskey(account) => [b"new passkey".as_slice(), &account.0.to_be_bytes()].concat(),
            Self::Passkey => b"passkey".to_vec(),
            Self::Link(account) => [b"link".as_slice(), &account.0.to_be_bytes()].concat(),
        }
    }
}

/// What is to be signed.
pub(crate) type Challenge = [u8; CHALLENGE_BYTES];

/// A challenge of ours that may still be answered.
#[derive(Debug)]
pub(crate) struct Answered {
    hash: [u8; 32],
    ends: Millis,
}

impl Answered {
    /// Uses it up.
    pub(crate) fn spend(&self, db: &Connection, now: Millis) -> Result<(), Error> {
        db.prepare_cached("DELETE FROM used_challenge WHERE ends_ms <= ?1")?.execute([now.0])?;
        let query = "INSERT OR IGNORE INTO used_challenge (hash, ends_ms) VALUES (?1, ?2)";
        if db.prepare_cached(query)?.execute(params![self.hash, self.ends.0])? == 0 {
            return Err(Refusal::from(Fault::Used).into());
        }
        Ok(())
    }
}

impl Accounts {
    /// A new challenge.
    pub(crate) fn challenge(&self, now: Millis, purpose: Purpose) -> Result<Challenge, Error> {
        let ends = now.after(Millis(CHALLENGE_MS)).0.to_be_bytes();
        let random: [u8; RANDOM_BYTES] = chance::bytes(&*self.chance)?;
        let code = self.key.mac(Use::Challenge, &[&purpose.bytes(), &ends, &random]);
        let mut challenge = [0; CHALLENGE_BYTES];
        let parts = ends.iter().chain(&random).chain(code.as_bytes());
        challenge.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        Ok(challenge)
    }

    /// Whether a challenge is ours, for this purpose, and in time.
    pub(crate) fn answered(&self, now: Millis, purpose: Purpose, challenge: &[u8]) -> Result<Answered, Fault> {
        let challenge: &Challenge = challenge.try_into().map_err(|_| Fault::Foreign)?;
        let (ends, rest) = challenge.split_first_chunk::<END_BYTES>().ok_or(Fault::Foreign)?;
        let (random, code) = rest.split_at(RANDOM_BYTES);
        let ours = self.key.mac(Use::Challenge, &[&purpose.bytes(), ends, random]);
        if bool::from(ours.as_bytes()[..CODE_BYTES].ct_eq(code)) {
            let ends = Millis(u64::from_be_bytes(*ends));
            let hash = *blake3::hash(challenge).as_bytes();
            return if now < ends { Ok(Answered { hash, ends }) } else { Err(Fault::Expired) };
        }
        Err(Fault::Foreign)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, open};
    use proptest::prelude::*;

    #[test]
    fn a_challenge_is_good_once_for_its_purpose_and_its_time() {
        let (dir, accounts) = accounts();
        let (purpose, other) = (Purpose::Wallet(Address([1; 20])), Purpose::Wallet(Address([2; 20])));
        let challenge = accounts.challenge(NOW, purpose).unwrap();
        assert_eq!(accounts.answered(NOW, other, &challenge).unwrap_err(), Fault::Foreign);
        assert_eq!(accounts.answered(NOW, Purpose::Passkey, &challenge).unwrap_err(), Fault::Foreign);
        let ended = NOW.after(Millis(CHALLENGE_MS));
        assert_eq!(accounts.answered(ended, purpose, &challenge).unwrap_err(), Fault::Expired);
        // Another process knows it too.
        let answered = open(&dir).answered(NOW, purpose, &challenge).unwrap();
        accounts.write(|db| answered.spend(db, NOW)).unwrap();
        let again = accounts.write(|db| answered.spend(db, NOW)).unwrap_err();
        assert!(matches!(again, Error::Refused(Refusal::Challenge(Fault::Used))), "{again}");
    }

    #[test]
    fn used_challenges_are_forgotten_when_they_would_have_ended() {
        let (_dir, accounts) = accounts();
        for at in 0..10 {
            let now = NOW.after(Millis(at * CHALLENGE_MS));
            let challenge = accounts.challenge(now, Purpose::Passkey).unwrap();
            let answered = accounts.answered(now, Purpose::Passkey, &challenge).unwrap();
            accounts.write(|db| answered.spend(db, now)).unwrap();
        }
        let count = "SELECT count(*) FROM used_challenge";
        let count: u64 = accounts.read(|db| Ok(db.query_row(count, [], |row| row.get(0))?)).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_changed_challenge_is_foreign() {
        let (_dir, accounts) = accounts();
        let challenge = accounts.challenge(NOW, Purpose::Passkey).unwrap();
        proptest!(|(at in 0..CHALLENGE_BYTES, flip in 1_u8..=255)| {
            let mut changed = challenge;
            changed[at] ^= flip;
            prop_assert_eq!(accounts.answered(NOW, Purpose::Passkey, &changed).unwrap_err(), Fault::Foreign);
        });
        proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..80))| {
            prop_assert_eq!(accounts.answered(NOW, Purpose::Passkey, &bytes).unwrap_err(), Fault::Foreign);
        });
    }
}
