//! The log of security events: durable, bounded, for the account and for the operator.
//!
//! Each account has room of its own, and so have events of nobody's account: no noise pushes out what others need to see.
use crate::{AccountId, Accounts, Error, Visit};
use gleaner_wire::Millis;
use rusqlite::{Connection, Row, params};
use serde::{Serialize, Serializer};

/// Events that are kept for one account.
pub const EVENTS_PER_ACCOUNT_MAX: u64 = 1000;
/// Events that are kept of nobody's account.
pub const EVENTS_OF_NOBODY_MAX: u64 = 10_000;
/// Events that are listed at once.
pub const EVENTS_LISTED_MAX: u32 = 200;
/// The longest detail, in characters.
pub const DETAIL_CHARS_MAX: usize = 200;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            /// A word for it that stays the same.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Reads a word back.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$kind),)* _ => None }
            }
        }
    };
}

kinds! {
    /// An account was made.
    AccountMade = "account-made",
    /// Somebody signed in.
    SignedIn = "signed-in",
    /// Somebody tried to.
    SignInFailed = "sign-in-failed",
    /// The passphrase was right and the code wrong.
    SecondFactorFailed = "second-factor-failed",
    /// Somebody has to wait.
    LockedOut = "locked-out",
    /// Somebody signed out.
    SignedOut = "signed-out",
    /// All sessions, or all but one, were ended.
    SignedOutEverywhere = "signed-out-everywhere",
    /// One session was ended from another.
    SessionEnded = "session-ended",
    /// A new passphrase.
    PassphraseChanged = "passphrase-changed",
    /// The second factor was turned on.
    TotpOn = "totp-on",
    /// The second factor was turned off.
    TotpOff = "totp-off",
    /// A recovery code was used.
    RecoveryUsed = "recovery-used",
    /// A passkey was added.
    PasskeyAdded = "passkey-added",
    /// A passkey was removed.
    PasskeyRemoved = "passkey-removed",
    /// A passkey's counter went back: there may be a copy of it.
    PasskeyCloned = "passkey-cloned",
    /// A wallet was linked.
    WalletLinked = "wallet-linked",
    /// A wallet was unlinked.
    WalletUnlinked = "wallet-unlinked",
    /// An API token was made.
    TokenMade = "token-made",
    /// An API token was revoked.
    TokenRevoked = "token-revoked",
    /// Roles were granted or withdrawn.
    RolesChanged = "roles-changed",
    /// The operator stopped the account.
    Suspended = "suspended",
    /// The operator took that back.
    Readmitted = "readmitted",
    /// A worker is the account's now.
    WorkerClaimed = "worker-claimed",
    /// A worker is not the account's any more.
    WorkerReleased = "worker-released",
    /// Somebody asked for what is not theirs to ask for.
    Denied = "denied",
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its number; later ones are larger.
    pub id: u64,
    /// When.
    pub at: Millis,
    /// Whose account, if anybody's.
    pub account: Option<AccountId>,
    /// What.
    pub kind: Kind,
    /// Where from, if not from the hub's own machine.
    pub address: Option<String>,
    /// More about it.
    pub detail: String,
}

/// Writes an event down, and forgets the oldest of the same account when there are too many.
pub(crate) fn note(
    db: &Connection,
    visit: Visit,
    account: Option<AccountId>,
    kind: Kind,
    detail: &str,
) -> Result<(), Error> {
    let detail: String = detail.chars().filter(|char| !char.is_control()).take(DETAIL_CHARS_MAX).collect();
    let address = visit.address.map(|address| address.to_string());
    let account = account.map(|id| id.0);
    db.prepare_cached("INSERT INTO event (at_ms, account, kind, address, detail) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![visit.now.0, account, kind.name(), address, detail])?;
    let max = if account.is_some() { EVENTS_PER_ACCOUNT_MAX } else { EVENTS_OF_NOBODY_MAX };
    let mut forget = db.prepare_cached(
        "DELETE FROM event WHERE account IS ?1 AND id <= \
         (SELECT id FROM event WHERE account IS ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
    )?;
    forget.execute(params![account, max])?;
    Ok(())
}

fn read_event(row: &Row<'_>) -> rusqlite::Result<Option<Event>> {
    let kind: String = row.get(3)?;
    let (id, at, account) = (row.get(0)?, Millis(row.get(1)?), row.get::<_, Option<u64>>(2)?.map(AccountId));
    let (address, detail) = (row.get(4)?, row.get(5)?);
    Ok(Kind::from_name(&kind).map(|kind| Event { id, at, account, kind, address, detail }))
}

impl Accounts {
    /// Writes down what the hub saw.
    pub fn note(&self, visit: Visit, account: Option<AccountId>, kind: Kind, detail: &str) -> Result<(), Error> {
        self.write(|db| note(db, visit, account, kind, detail))
    }

    /// An account's events, the newest first, from before an event on.
    pub fn events_of(&self, account: AccountId, before: Option<u64>, limit: u32) -> Result<Vec<Event>, Error> {
        let query = "SELECT id, at_ms, account, kind, address, detail FROM event \
                     WHERE account = ?3 AND id < ?1 ORDER BY id DESC LIMIT ?2";
        self.events_by(query, before, limit, account)
    }

    /// Everybody's events, the newest first, from before an event on.
    pub fn events(&self, before: Option<u64>, limit: u32) -> Result<Vec<Event>, Error> {
        let query = "SELECT id, at_ms, account, kind, address, detail FROM event \
                     WHERE ?3 = 0 AND id < ?1 ORDER BY id DESC LIMIT ?2";
        self.events_by(query, before, limit, AccountId(0))
    }

    fn events_by(&self, query: &str, before: Option<u64>, limit: u32, account: AccountId) -> Result<Vec<Event>, Error> {
        let before = before.unwrap_or(u64::MAX).min(i64::MAX.unsigned_abs());
        self.read(|db| {
            let mut statement = db.prepare_cached(query)?;
            let rows = statement.query_map(params![before, limit.min(EVENTS_LISTED_MAX), account.0], read_event)?;
            let events: Vec<Option<Event>> = rows.collect::<Result<_, _>>()?;
            Ok(events.into_iter().flatten().collect())
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::store::tests::{NOW, accounts, made, visit};

    #[test]
    fn each_account_sees_its_own_events_and_the_operator_all() {
        let (_dir, accounts) = accounts();
        let (first, second) = (made(&accounts, "first"), made(&accounts, "second"));
        accounts.note(visit(NOW), None, Kind::SignInFailed, "nobody\nknown").unwrap();
        let of_first = accounts.events_of(first, None, 10).unwrap();
        assert!(of_first.iter().all(|event| event.account == Some(first)) && !of_first.is_empty());
        assert_eq!(of_first.last().unwrap().address.as_deref(), Some("192.0.2.7"));
        let all = accounts.events(None, 100).unwrap();
        assert_eq!((all[0].kind, all[0].account, all[0].detail.as_str()), (Kind::SignInFailed, None, "nobodyknown"));
        assert!(all.iter().any(|event| event.account == Some(second)));
        let older = accounts.events(Some(all[0].id), 100).unwrap();
        assert_eq!(older, all[1..]);
    }

    #[test]
    fn the_noise_of_one_account_pushes_out_its_own_events_only() {
        let (_dir, accounts) = accounts();
        let (quiet, loud) = (made(&accounts, "quiet"), made(&accounts, "loud"));
        accounts
            .write(|db| {
                (0..EVENTS_PER_ACCOUNT_MAX + 50).try_for_each(|_| note(db, visit(NOW), Some(loud), Kind::Denied, ""))
            })
            .unwrap();
        let count = |id: AccountId| -> u64 {
            let query = "SELECT count(*) FROM event WHERE account = ?1";
            accounts.read(|db| Ok(db.query_row(query, [id.0], |row| row.get(0))?)).unwrap()
        };
        assert_eq!(count(loud), EVENTS_PER_ACCOUNT_MAX);
        assert!(count(quiet) >= 1);
    }
}
