//! What was read lately: whose tokens and sessions are, and whom accounts pay as.
//!
//! It holds for as long as nobody has written anything, which the database itself tells, of other processes too: whatever
//! was taken back is unknown here at once. It never waits for the disk.
use crate::session::Signed;
use crate::token::Shown;
use crate::{AccountId, Error, schema};
use rusqlite::Connection;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much of each kind is remembered; beyond that everything is forgotten.
const KEPT_MAX: usize = 10_000;

/// What is remembered, by the hashes of secrets.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) tokens: HashMap<[u8; 32], Shown>,
    pub(crate) sessions: HashMap<[u8; 32], Signed>,
    pub(crate) payers: HashMap<AccountId, Vec<String>>,
}

impl Known {
    fn is_full(&self) -> bool {
        [self.tokens.len(), self.sessions.len(), self.payers.len()].into_iter().any(|kept| kept >= KEPT_MAX)
    }
}

/// A state of the database: another one after each write of anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(i64);

struct Inner {
    /// Never writes, so that every change that it notices is somebody else's.
    watch: Connection,
    /// What the rest is true of.
    version: Option<Version>,
    known: Known,
}

impl Inner {
    /// Forgets what is not true any more, and says of which state the rest is.
    fn refresh(&mut self) -> Option<Version> {
        let asked = self.watch.prepare_cached("PRAGMA data_version").and_then(|mut statement| {
            let version = statement.query_row([], |row| row.get(0))?;
            Ok(Version(version))
        });
        let version = asked.ok();
        if version.is_none() || version != self.version {
            (self.version, self.known) = (version, Known::default());
        }
        version
    }
}

/// The memory.
pub(crate) struct Memory {
    inner: Mutex<Inner>,
}

impl Memory {
    pub(crate) fn open(database: &Path) -> Result<Self, Error> {
        let watch = Connection::open(database)?;
        schema::prepare(&watch)?;
        // Whoever would have to wait reads the database instead.
        watch.busy_timeout(Duration::ZERO)?;
        Ok(Self { inner: Mutex::new(Inner { watch, version: None, known: Known::default() }) })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that is known and still true.
    pub(crate) fn recall<T>(&self, pick: impl FnOnce(&Known) -> Option<T>) -> Option<T> {
        let mut inner = self.inner();
        inner.refresh()?;
        pick(&inner.known)
    }

    /// The state of the database, to be asked for before it is read.
    pub(crate) fn version(&self) -> Option<Version> {
        self.inner().refresh()
    }

    /// Remembers what was read after `version`, if nobody has written since.
    pub(crate) fn keep(&self, version: Option<Version>, put: impl FnOnce(&mut Known)) {
        let mut inner = self.inner();
        if version.is_none() || inner.refresh() != version {
            return;
        }
        if inner.known.is_full() {
            inner.known = Known::default();
        }
        put(&mut inner.known);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use crate::session::IDLE_MS;
    use crate::store::tests::{NOW, PASSPHRASE, accounts, made, open, visit};
    use crate::token::tests::ask;
    use crate::token::{Scope, Scopes};
    use crate::{Accounts, Role, Roles, Secret};
    use gleaner_wire::{Address, Millis};

    /// A token and a session of one account, both used a moment ago.
    fn remembered(accounts: &Accounts) -> (crate::AccountId, String, String) {
        let signed_up = accounts.sign_up(visit(NOW), "orchard", &Secret::new(PASSPHRASE), Roles::default()).unwrap();
        let id = signed_up.account.id;
        let token = accounts.make_token(visit(NOW), id, &ask(Scopes::of(&[Scope::Read]))).unwrap();
        let (token, session) = (token.text.expose().to_owned(), signed_up.session.token.expose().to_owned());
        // The first use of a token is written down.
        for _ in 0..2 {
            accounts.token(visit(NOW), &token).unwrap().unwrap();
            accounts.session(visit(NOW), &session).unwrap().unwrap();
            accounts.payers(id).unwrap();
        }
        (id, token, session)
    }

    fn recalls(accounts: &Accounts, id: crate::AccountId, token: &str, session: &str, now: Millis) -> [bool; 3] {
        [
            accounts.recall_token(visit(now), token).is_some(),
            accounts.recall_session(visit(now), session).is_some(),
            accounts.recall_payers(id).is_some(),
        ]
    }

    #[test]
    fn what_was_read_is_recalled_as_it_was() {
        let (_dir, accounts) = accounts();
        let (id, token, session) = remembered(&accounts);
        let recalled = accounts.recall_token(visit(NOW), &token).unwrap();
        assert_eq!(Some(recalled), accounts.token(visit(NOW), &token).unwrap());
        let recalled = accounts.recall_session(visit(NOW), &session).unwrap();
        assert_eq!(Some(recalled), accounts.session(visit(NOW), &session).unwrap());
        assert_eq!(accounts.recall_payers(id).unwrap(), ["@orchard"]);
        let nobodys = "f".repeat(session.len());
        assert!(accounts.recall_session(visit(NOW), &nobodys).is_none());
    }

    #[test]
    fn every_write_of_anybody_is_noticed_at_once() {
        let (dir, accounts) = accounts();
        let (id, token, session) = remembered(&accounts);
        let other = open(&dir);
        let changes: [&dyn Fn(); 3] = [
            &|| {
                accounts.grant(visit(NOW), id, Role::Operator).unwrap();
            },
            &|| {
                other.add_desk_wallet(id, Address([7; 20])).unwrap();
            },
            &|| {
                made(&other, "barley");
            },
        ];
        for change in changes {
            accounts.token(visit(NOW), &token).unwrap().unwrap();
            assert!(accounts.recall_token(visit(NOW), &token).is_some(), "known before");
            change();
            assert_eq!(recalls(&accounts, id, &token, &session, NOW), [false; 3]);
        }
        let list = accounts.tokens(id).unwrap();
        accounts.token(visit(NOW), &token).unwrap().unwrap();
        other.revoke_token(visit(NOW), id, list[0].id).unwrap();
        assert!(accounts.recall_token(visit(NOW), &token).is_none());
        assert!(accounts.token(visit(NOW), &token).unwrap().is_none());
    }

    #[test]
    fn what_is_read_while_somebody_writes_is_not_remembered() {
        let (_dir, accounts) = accounts();
        let (id, ..) = remembered(&accounts);
        let version = accounts.memory.version();
        made(&accounts, "barley");
        accounts.memory.keep(version, |known| {
            known.payers.insert(id, vec!["of before".to_owned()]);
        });
        assert!(accounts.recall_payers(id).is_none());
    }

    #[test]
    fn nothing_is_recalled_beyond_its_end_or_when_its_use_has_to_be_written_down() {
        let (_dir, accounts) = accounts();
        let (id, token, session) = remembered(&accounts);
        assert_eq!(recalls(&accounts, id, &token, &session, NOW), [true; 3]);
        for later in [crate::token::USED_GRAIN_MS, IDLE_MS, crate::token::LIFE_MAX_MS] {
            assert_eq!(recalls(&accounts, id, &token, &session, NOW.after(Millis(later))), [false, false, true]);
        }
    }
}
