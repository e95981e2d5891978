//! Sessions of browsers: a random token in a cookie, of which only the hash is kept.
//!
//! A session ends after a while without use, at the latest after its longest life, and when its owner or a change of what
//! the account may do ends it. Its token against forged requests is made of the session's own by the hub's key.
use crate::account::{self, Account};
use crate::audit::{self, Kind};
use crate::key::Use;
use crate::{AccountId, Accounts, Error, Refusal, Secret, Visit, chance};
use data_encoding::HEXLOWER;
use gleaner_wire::Millis;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Serialize, Serializer};
use subtle::ConstantTimeEq;

/// Without use, a session ends after so long.
pub const IDLE_MS: u64 = 12 * 3600 * 1000;
/// A session ends after so long in any case.
pub const LIFE_MS: u64 = 14 * 24 * 3600 * 1000;
/// How exactly the last use is known; each use would be a write otherwise.
pub const SEEN_GRAIN_MS: u64 = 60 * 1000;
/// What changes how somebody signs in needs a session that began no longer ago than this: whoever finds a browser open, or has
/// stolen its cookie, must not be able to come back for good.
pub const FRESH_MS: u64 = 10 * 60 * 1000;
/// Sessions of one account; one more ends the one that was not used for the longest time.
pub const SESSIONS_PER_ACCOUNT_MAX: u64 = 32;
const TOKEN_BYTES: usize = 32;
const TOKEN_CHARS: usize = 2 * TOKEN_BYTES;
const ID_BYTES: usize = 8;

/// How somebody signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// With a passphrase.
    Passphrase,
    /// With a passphrase or a wallet, and a code.
    SecondFactor,
    /// With a wallet.
    Wallet,
    /// With a passkey.
    Passkey,
    /// By a link that the operator made.
    Link,
}

impl Via {
    const ALL: [Self; 5] = [Self::Passphrase, Self::SecondFactor, Self::Wallet, Self::Passkey, Self::Link];

    /// A word for it that stays the same.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passphrase => "passphrase",
            Self::SecondFactor => "second-factor",
            Self::Wallet => "wallet",
            Self::Passkey => "passkey",
            Self::Link => "link",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|via| via.name() == name)
    }
}

impl Serialize for Via {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A session that has just begun: the only moment at which its token is known.
#[derive(Debug)]
pub struct NewSession {
    /// What it is listed as.
    pub id: String,
    /// For the cookie.
    pub token: Secret,
    /// For the header of everything that changes something.
    pub csrf: Secret,
    /// When it ends at the latest.
    pub ends_at: Millis,
    /// How it began.
    pub via: Via,
}

/// A session, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// What it is listed as.
    pub id: String,
    /// How it began.
    pub via: Via,
    /// Where from.
    pub address: Option<String>,
    /// When it began.
    pub made_at: Millis,
    /// When it was last used, about.
    pub seen_at: Millis,
    /// When it ends if it is not used again, and at the latest.
    pub ends_at: Millis,
}

impl Session {
    /// Refuses what changes how somebody signs in, if this session did not begin just now.
    pub fn check_fresh(&self, now: Millis) -> Result<(), Refusal> {
        check_fresh(self.made_at, now)
    }

    /// Whether its last use is written down as exactly as it has to be.
    fn is_seen_up_to(&self, now: Millis) -> bool {
        now.since(self.seen_at).0 < SEEN_GRAIN_MS
    }
}

/// Somebody who has shown the token of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Who.
    pub account: Account,
    /// Which session.
    pub session: Session,
}

fn hash(token: &str) -> Option<[u8; 32]> {
    // Only what can be a token is hashed.
    let plain = token.len() == TOKEN_CHARS && token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    plain.then(|| *blake3::hash(token.as_bytes()).as_bytes())
}

fn check_fresh(made_at: Millis, now: Millis) -> Result<(), Refusal> {
    if now.since(made_at).0 < FRESH_MS { Ok(()) } else { Err(Refusal::NotFresh) }
}

/// The same of the session that is listed as this; one that has ended is not fresh.
pub(crate) fn check_listed_fresh(db: &Connection, account: AccountId, id: &str, now: Millis) -> Result<(), Error> {
    let query = "SELECT made_ms FROM session WHERE account = ?1 AND id = ?2";
    let made = db.query_row(query, params![account.0, id], |row| row.get(0)).optional()?.map(Millis);
    Ok(check_fresh(made.ok_or(Refusal::NotFresh)?, now)?)
}

/// Ends an account's sessions, but one.
pub(crate) fn end_all(db: &Connection, account: AccountId, but: Option<&str>) -> Result<usize, Error> {
    let query = "DELETE FROM session WHERE account = ?1 AND id IS NOT ?2";
    Ok(db.execute(query, params![account.0, but])?)
}

const COLUMNS: &str = "session.id, session.via, session.address, session.made_ms, session.seen_ms, session.ends_ms";

/// Reads a session whose columns begin at one.
fn read_session(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Session> {
    let via: String = row.get(first + 1)?;
    let (seen_at, life_ends): (Millis, Millis) = (Millis(row.get(first + 4)?), Millis(row.get(first + 5)?));
    Ok(Session {
        id: row.get(first)?,
        via: Via::from_name(&via).ok_or(rusqlite::Error::IntegralValueOutOfRange(first + 1, 0))?,
        address: row.get(first + 2)?,
        made_at: Millis(row.get(first + 3)?),
        seen_at,
        ends_at: seen_at.after(Millis(IDLE_MS)).min(life_ends),
    })
}

impl Accounts {
    /// Begins a session, within the transaction that has made sure who it is for.
    pub(crate) fn begin_session(
        &self,
        db: &Connection,
        visit: Visit,
        account: AccountId,
        via: Via,
    ) -> Result<NewSession, Error> {
        let token = HEXLOWER.encode(&chance::bytes::<TOKEN_BYTES>(&*self.chance)?);
        let id = HEXLOWER.encode(&chance::bytes::<ID_BYTES>(&*self.chance)?);
        let (now, ends_at) = (visit.now.0, visit.now.after(Millis(LIFE_MS)));
        let hash = hash(&token).expect("the token was just made");
        let idle = now.saturating_sub(IDLE_MS);
        db.prepare_cached("DELETE FROM session WHERE account = ?1 AND (seen_ms <= ?2 OR ends_ms <= ?3)")?
            .execute(params![account.0, idle, now])?;
        db.prepare_cached(
            "DELETE FROM session WHERE account = ?1 AND hash IN \
             (SELECT hash FROM session WHERE account = ?1 ORDER BY seen_ms DESC, made_ms DESC LIMIT -1 OFFSET ?2)",
        )?
        .execute(params![account.0, SESSIONS_PER_ACCOUNT_MAX - 1])?;
        let address = visit.address.map(|address| address.to_string());
        db.prepare_cached(
            "INSERT INTO session (hash, id, account, via, address, made_ms, seen_ms, ends_ms) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)",
        )?
        .execute(params![hash, id, account.0, via.name(), address, now, ends_at.0])?;
        let csrf = self.csrf(&token);
        Ok(NewSession { id, token: Secret::new(token), csrf, ends_at, via })
    }

    /// What everything that changes something has to carry beside the cookie.
    pub fn csrf(&self, token: &str) -> Secret {
        Secret::new(self.key.mac(Use::Csrf, &[token.as_bytes()]).to_hex().to_string())
    }

    /// Whether this belongs to the session.
    pub fn is_csrf(&self, token: &str, given: &str) -> bool {
        let ours = self.csrf(token);
        bool::from(ours.expose().as_bytes().ct_eq(given.as_bytes()))
    }

    /// Whose session this is, if it has not ended.
    pub fn session(&self, visit: Visit, token: &str) -> Result<Option<Signed>, Error> {
        let Some(hash) = hash(token) else { return Ok(None) };
        let version = self.memory.version();
        let found = self.read(|db| {
            let query = format!(
                "SELECT {}, {COLUMNS} FROM session JOIN account ON account.id = session.account WHERE session.hash = ?1",
                account::COLUMNS
            );
            let row = |row: &rusqlite::Row<'_>| Ok((account::read_account(row)?, read_session(row, 5)?));
            Ok(db.prepare_cached(&query)?.query_row([hash], row).optional()?)
        })?;
        let Some((account, mut session)) = found else { return Ok(None) };
        if session.ends_at <= visit.now || account.suspended {
            return Ok(None);
        }
        if !session.is_seen_up_to(visit.now) {
            self.write(|db| {
                let query = "UPDATE session SET seen_ms = ?2 WHERE hash = ?1 AND seen_ms < ?2";
                db.prepare_cached(query)?.execute(params![hash, visit.now.0])?;
                Ok(())
            })?;
            session.seen_at = visit.now;
        }
        let signed = Signed { account, session };
        self.memory.keep(version, |known| {
            known.sessions.insert(hash, signed.clone());
        });
        Ok(Some(signed))
    }

    /// Whose session this is, if that is remembered: it was read before, and nothing was written since. Waits for nothing.
    pub fn recall_session(&self, visit: Visit, token: &str) -> Option<Signed> {
        let hash = hash(token)?;
        let signed = self.memory.recall(|known| known.sessions.get(&hash).cloned())?;
        let session = &signed.session;
        (session.ends_at > visit.now && session.is_seen_up_to(visit.now)).then_some(signed)
    }

    /// Gives a session another token and its full life; the old token is good for nothing. For changes of what the
    /// session may do.
    pub fn rotate(&self, visit: Visit, token: &str) -> Result<NewSession, Error> {
        let signed = self.session(visit, token)?.ok_or(Refusal::NotFound("session"))?;
        self.write(|db| {
            let query = "DELETE FROM session WHERE id = ?1";
            if db.execute(query, [&signed.session.id])? == 0 {
                return Err(Refusal::NotFound("session").into());
            }
            let new = self.begin_session(db, visit, signed.account.id, signed.session.via)?;
            // Nobody has proved anything anew.
            let query = "UPDATE session SET made_ms = ?2 WHERE id = ?1";
            db.execute(query, params![new.id, signed.session.made_at.0])?;
            Ok(new)
        })
    }

    /// Ends the session with this token; nothing happens if there is none.
    pub fn sign_out(&self, visit: Visit, token: &str) -> Result<(), Error> {
        let Some(hash) = hash(token) else { return Ok(()) };
        self.write(|db| {
            let query = "DELETE FROM session WHERE hash = ?1 RETURNING account";
            let account = db.query_row(query, [hash], |row| row.get(0)).optional()?.map(AccountId);
            account.map_or(Ok(()), |account| audit::note(db, visit, Some(account), Kind::SignedOut, ""))
        })
    }

    /// Ends all sessions of an account, or all but one.
    pub fn sign_out_everywhere(&self, visit: Visit, account: AccountId, but: Option<&str>) -> Result<usize, Error> {
        self.write(|db| {
            let ended = end_all(db, account, but)?;
            audit::note(db, visit, Some(account), Kind::SignedOutEverywhere, &format!("{ended} ended"))?;
            Ok(ended)
        })
    }

    /// Ends one session of an account.
    pub fn end_session(&self, visit: Visit, account: AccountId, id: &str) -> Result<(), Error> {
        self.write(|db| {
            if db.execute("DELETE FROM session WHERE account = ?1 AND id = ?2", params![account.0, id])? == 0 {
                return Err(Refusal::NotFound("session").into());
            }
            audit::note(db, visit, Some(account), Kind::SessionEnded, id)
        })
    }

    /// The sessions of an account that have not ended, the last used first.
    pub fn sessions(&self, now: Millis, account: AccountId) -> Result<Vec<Session>, Error> {
        self.read(|db| {
            let query = format!("SELECT {COLUMNS} FROM session WHERE account = ?1 ORDER BY seen_ms DESC, id");
            let mut statement = db.prepare_cached(&query)?;
            let rows = statement.query_map([account.0], |row| read_session(row, 0))?;
            let sessions: Vec<Session> = rows.collect::<Result<_, _>>()?;
            Ok(sessions.into_iter().filter(|session| session.ends_at > now).collect())
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::Role;
    use crate::store::tests::{NOW, PASSPHRASE, accounts, made, open, visit};

    fn begin(accounts: &Accounts, now: Millis) -> NewSession {
        accounts.sign_in(visit(now), "orchard", &Secret::new(PASSPHRASE), None).unwrap().session
    }

    fn is_valid(accounts: &Accounts, now: Millis, token: &Secret) -> bool {
        accounts.session(visit(now), token.expose()).unwrap().is_some()
    }

    #[test]
    fn a_session_outlives_a_restart_and_its_token_is_not_on_disk() {
        let (dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let session = begin(&accounts, NOW);
        drop(accounts);
        let bytes = std::fs::read(dir.path().join("accounts.db")).unwrap();
        let token = session.token.expose().as_bytes();
        assert!(!bytes.windows(token.len()).any(|window| window == token));
        let signed = open(&dir).session(visit(NOW), session.token.expose()).unwrap().unwrap();
        assert_eq!((signed.account.id, signed.session.via), (id, Via::Passphrase));
    }

    #[test]
    fn a_session_ends_without_use_and_at_the_latest_after_its_life() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let session = begin(&accounts, NOW);
        let idle = NOW.after(Millis(IDLE_MS));
        assert!(is_valid(&accounts, Millis(idle.0 - 1), &session.token));
        assert!(is_valid(&accounts, idle, &session.token), "it was used in between");
        let mut now = idle;
        while now < session.ends_at {
            assert!(is_valid(&accounts, now, &session.token), "{now:?}");
            now = now.after(Millis(IDLE_MS / 2));
        }
        assert!(!is_valid(&accounts, session.ends_at, &session.token));
        let unused = begin(&accounts, NOW);
        assert!(!is_valid(&accounts, idle, &unused.token));
    }

    #[test]
    fn a_rotated_session_leaves_the_old_token_worthless() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let old = begin(&accounts, NOW);
        let new = accounts.rotate(visit(NOW), old.token.expose()).unwrap();
        assert!(!is_valid(&accounts, NOW, &old.token) && is_valid(&accounts, NOW, &new.token));
        assert!(!accounts.is_csrf(new.token.expose(), old.csrf.expose()));
        assert!(accounts.rotate(visit(NOW), old.token.expose()).is_err());
    }

    #[test]
    fn a_session_is_fresh_for_a_while_and_another_token_makes_it_no_fresher() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let old = begin(&accounts, NOW);
        let session = |token: &Secret, now| accounts.session(visit(now), token.expose()).unwrap().unwrap().session;
        let soon = NOW.after(Millis(FRESH_MS - 1));
        assert_eq!(session(&old.token, soon).check_fresh(soon), Ok(()));
        let new = accounts.rotate(visit(soon), old.token.expose()).unwrap();
        let late = NOW.after(Millis(FRESH_MS));
        assert_eq!(session(&new.token, late).check_fresh(late), Err(Refusal::NotFresh));
    }

    #[test]
    fn the_token_against_forgery_belongs_to_one_session() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let (one, two) = (begin(&accounts, NOW), begin(&accounts, NOW));
        assert!(accounts.is_csrf(one.token.expose(), one.csrf.expose()));
        assert!(!accounts.is_csrf(one.token.expose(), two.csrf.expose()));
        assert!(!accounts.is_csrf(one.token.expose(), ""));
        assert_eq!(accounts.csrf(one.token.expose()), one.csrf);
    }

    #[test]
    fn signing_out_ends_one_and_everywhere_ends_all() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let (one, two, three) = (begin(&accounts, NOW), begin(&accounts, NOW), begin(&accounts, NOW));
        accounts.sign_out(visit(NOW), one.token.expose()).unwrap();
        assert!(!is_valid(&accounts, NOW, &one.token) && is_valid(&accounts, NOW, &two.token));
        accounts.sign_out_everywhere(visit(NOW), id, Some(&three.id)).unwrap();
        assert!(!is_valid(&accounts, NOW, &two.token) && is_valid(&accounts, NOW, &three.token));
        accounts.end_session(visit(NOW), id, &three.id).unwrap();
        assert!(!is_valid(&accounts, NOW, &three.token));
        assert!(accounts.sessions(NOW, id).unwrap().is_empty());
    }

    #[test]
    fn nobody_ends_anothers_session() {
        let (_dir, accounts) = accounts();
        made(&accounts, "orchard");
        let other = made(&accounts, "barley");
        let session = begin(&accounts, NOW);
        assert!(accounts.end_session(visit(NOW), other, &session.id).is_err());
        assert!(is_valid(&accounts, NOW, &session.token));
    }

    #[test]
    fn a_change_of_roles_and_a_suspension_end_sessions() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        let session = begin(&accounts, NOW);
        accounts.grant(visit(NOW), id, Role::Operator).unwrap();
        assert!(!is_valid(&accounts, NOW, &session.token));
        let session = begin(&accounts, NOW);
        accounts.suspend(visit(NOW), id).unwrap();
        assert!(!is_valid(&accounts, NOW, &session.token));
        accounts.readmit(visit(NOW), id).unwrap();
        assert!(is_valid(&accounts, NOW, &begin(&accounts, NOW).token));
    }

    #[test]
    fn the_longest_unused_session_goes_when_there_are_too_many() {
        let (_dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        accounts.sign_out_everywhere(visit(NOW), id, None).unwrap();
        let sessions: Vec<_> =
            (0..=SESSIONS_PER_ACCOUNT_MAX).map(|at| begin(&accounts, NOW.after(Millis(at)))).collect();
        assert!(!is_valid(&accounts, NOW, &sessions[0].token) && is_valid(&accounts, NOW, &sessions[1].token));
        assert_eq!(accounts.sessions(NOW, id).unwrap().len() as u64, SESSIONS_PER_ACCOUNT_MAX);
    }

    #[test]
    fn what_is_no_token_is_not_looked_for() {
        for token in ["", "0", &"g".repeat(64), &"A".repeat(64), &"0".repeat(65), &"é".repeat(32)] {
            assert_eq!(hash(token), None, "{token}");
        }
    }
}
