//! The accounts of a hub: one database and one key beside it.
use crate::key::Key;
use crate::memory::Memory;
use crate::passphrase::{Cost, Hasher};
use crate::{Chance, Error, SystemChance, schema};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The database in the hub's folder.
const DATABASE: &str = "accounts.db";
/// The key in the hub's folder.
const KEY: &str = "accounts.key";

/// What may differ between hubs.
pub struct Settings {
    /// What it costs to hash a passphrase.
    pub cost: Cost,
    /// Where random bytes come from.
    pub chance: Box<dyn Chance>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { cost: Cost::default(), chance: Box::new(SystemChance) }
    }
}

/// The accounts of a hub. Several threads and processes may use them at once.
pub struct Accounts {
    writer: Mutex<Connection>,
    /// Reads wait for no write.
    reader: Mutex<Connection>,
    pub(crate) memory: Memory,
    pub(crate) key: Key,
    pub(crate) chance: Box<dyn Chance>,
    pub(crate) hasher: Hasher,
}

impl Accounts {
    /// Opens the accounts in a hub's folder, or founds them there.
    pub fn open(folder: &Path, settings: Settings) -> Result<Self, Error> {
        let Settings { cost, chance } = settings;
        let path = folder.join(DATABASE);
        let key_path = folder.join(KEY);
        let key = Key::open(&key_path, &*chance)?;
        let mut writer = Connection::open(&path)?;
        let private = fs::set_permissions(&path, fs::Permissions::from_mode(0o600));
        private.map_err(|source| Error::File { path: path.clone(), source })?;
        schema::prepare(&writer)?;
        if !schema::found(&mut writer, &key.check())? {
            return Err(Error::OtherKey { path: key_path });
        }
        let reader = Connection::open(&path)?;
        schema::prepare(&reader)?;
        let memory = Memory::open(&path)?;
        let hasher = Hasher::new(cost, &*chance)?;
        Ok(Self { writer: Mutex::new(writer), reader: Mutex::new(reader), memory, key, chance, hasher })
    }

    /// Reads; what other threads and processes write meanwhile is not seen half.
    pub(crate) fn read<T>(&self, with: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let mut db = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = db.transaction_with_behavior(TransactionBehavior::Deferred)?;
        with(&transaction)
    }

    /// Writes all of it or nothing: an error takes everything back.
    pub(crate) fn write<T>(&self, with: impl FnOnce(&Transaction<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let mut db = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = with(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
pub(crate) mod tests {
    use super::*;
    use crate::{Secret, Visit};
    use gleaner_wire::Millis;
    use tempfile::TempDir;

    /// A passphrase that is taken.
    pub(crate) const PASSPHRASE: &str = "wind over the old mill";

    /// Some moment.
    pub(crate) const NOW: Millis = Millis(1_800_000_000_000);

    /// Accounts in a folder of their own, with a cheap hash.
    pub(crate) fn accounts() -> (TempDir, Accounts) {
        let dir = tempfile::tempdir().unwrap();
        let accounts = open(&dir);
        (dir, accounts)
    }

    pub(crate) fn open(dir: &TempDir) -> Accounts {
        Accounts::open(dir.path(), Settings { cost: Cost::CHEAPEST, ..Settings::default() }).unwrap()
    }

    /// A visit from a documentation address.
    pub(crate) fn visit(now: Millis) -> Visit {
        Visit { now, address: Some([192, 0, 2, 7].into()) }
    }

    /// An account with the usual roles.
    pub(crate) fn made(accounts: &Accounts, name: &str) -> crate::AccountId {
        let passphrase = Secret::new(PASSPHRASE);
        accounts.sign_up(visit(NOW), name, &passphrase, crate::Roles::default()).unwrap().account.id
    }

    #[test]
    fn files_are_their_owners_alone() {
        let (dir, _accounts) = accounts();
        for file in [DATABASE, KEY] {
            let mode = fs::metadata(dir.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{file}");
        }
    }

    #[test]
    fn another_format_is_refused() {
        let (dir, accounts) = accounts();
        drop(accounts);
        let db = Connection::open(dir.path().join(DATABASE)).unwrap();
        db.pragma_update(None, "user_version", 99).unwrap();
        let error = Accounts::open(dir.path(), Settings::default()).err().unwrap();
        assert!(matches!(error, Error::Format { found: 99, known: 2 }), "{error}");
    }

    #[test]
    fn an_older_format_is_brought_up_to_date() {
        let (dir, accounts) = accounts();
        let id = made(&accounts, "orchard");
        drop(accounts);
        let db = Connection::open(dir.path().join(DATABASE)).unwrap();
        db.execute_batch(
            "DROP INDEX spending_open; ALTER TABLE spending DROP COLUMN settled; PRAGMA user_version = 1;",
        )
        .unwrap();
        drop(db);
        let accounts = open(&dir);
        assert_eq!(accounts.account_named("orchard").unwrap().unwrap().id, id);
        assert!(accounts.open_spendings(crate::token::TokenId(1), 1).unwrap().is_empty());
    }

    #[test]
    fn another_key_is_refused() {
        let (dir, accounts) = accounts();
        drop(accounts);
        fs::remove_file(dir.path().join(KEY)).unwrap();
        let error = Accounts::open(dir.path(), Settings::default()).err().unwrap();
        assert!(matches!(error, Error::OtherKey { .. }), "{error}");
    }

    #[test]
    fn what_fails_half_way_leaves_nothing() {
        let (_dir, accounts) = accounts();
        let failed: Result<(), Error> = accounts.write(|db| {
            db.execute("INSERT INTO meta (name, value) VALUES ('half', x'00')", [])?;
            Err(Error::Altered("a test"))
        });
        assert!(failed.is_err());
        let count: u64 = accounts
            .read(|db| Ok(db.query_row("SELECT count(*) FROM meta WHERE name = 'half'", [], |row| row.get(0))?))
            .unwrap();
        assert_eq!(count, 0);
    }

    #[test]
    fn two_processes_see_each_others_accounts() {
        let (dir, hub) = accounts();
        let command_line = open(&dir);
        made(&hub, "orchard");
        assert_eq!(command_line.account_named("orchard").unwrap().unwrap().name.as_str(), "orchard");
        made(&command_line, "barley");
        assert!(hub.account_named("barley").unwrap().is_some());
    }
}
