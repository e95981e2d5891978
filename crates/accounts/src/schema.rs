//! The tables, and how SQLite is told to keep them.
use crate::Error;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::time::Duration;

/// The format of the tables. Raised with every change of them.
const FORMAT: i64 = 2;
/// How long a write waits for one of another process.
const BUSY_MS_MAX: u64 = 5000;

const TABLES: &str = "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE account (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, roles INTEGER NOT NULL,
        handle BLOB NOT NULL UNIQUE, passphrase TEXT, made_ms INTEGER NOT NULL,
        suspended INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE totp (
        account INTEGER PRIMARY KEY REFERENCES account, sealed BLOB NOT NULL, confirmed INTEGER NOT NULL,
        last_step INTEGER NOT NULL);
    CREATE TABLE recovery (
        account INTEGER NOT NULL REFERENCES account, hash BLOB NOT NULL, PRIMARY KEY (account, hash)) WITHOUT ROWID;
    CREATE TABLE wallet (
        address BLOB PRIMARY KEY, account INTEGER NOT NULL REFERENCES account, made_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX wallet_account ON wallet (account);
    CREATE TABLE passkey (
        id BLOB PRIMARY KEY, account INTEGER NOT NULL REFERENCES account, algorithm INTEGER NOT NULL,
        public BLOB NOT NULL, sign_count INTEGER NOT NULL, label TEXT NOT NULL, made_ms INTEGER NOT NULL,
        used_ms INTEGER) WITHOUT ROWID;
    CREATE INDEX passkey_account ON passkey (account);
    CREATE TABLE session (
        hash BLOB PRIMARY KEY, id TEXT NOT NULL UNIQUE, account INTEGER NOT NULL REFERENCES account,
        via TEXT NOT NULL, address TEXT, made_ms INTEGER NOT NULL, seen_ms INTEGER NOT NULL,
        ends_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX session_account ON session (account, seen_ms);
    CREATE TABLE token (
        id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, account INTEGER NOT NULL REFERENCES account,
        label TEXT NOT NULL, hint TEXT NOT NULL, read INTEGER NOT NULL, submit INTEGER NOT NULL,
        provide INTEGER NOT NULL, spend_max INTEGER, spent INTEGER NOT NULL DEFAULT 0, made_ms INTEGER NOT NULL,
        ends_ms INTEGER NOT NULL, used_ms INTEGER);
    CREATE INDEX token_account ON token (account);
    CREATE TABLE spending (
        token INTEGER NOT NULL REFERENCES token ON DELETE CASCADE, purpose TEXT NOT NULL, amount INTEGER NOT NULL,
        settled INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (token, purpose)) WITHOUT ROWID;
    CREATE INDEX spending_open ON spending (token) WHERE NOT settled;
    CREATE TABLE used_challenge (hash BLOB PRIMARY KEY, ends_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE failure (
        subject TEXT PRIMARY KEY, count INTEGER NOT NULL, last_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL)
        WITHOUT ROWID;
    CREATE INDEX failure_age ON failure (last_ms);
    CREATE TABLE payer (
        name TEXT PRIMARY KEY, account INTEGER NOT NULL REFERENCES account, kind TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX payer_account ON payer (account);
    CREATE TABLE worker (
        key BLOB PRIMARY KEY, account INTEGER NOT NULL REFERENCES account, made_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX worker_account ON worker (account);
    CREATE TABLE event (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, account INTEGER, kind TEXT NOT NULL,
        address TEXT, detail TEXT NOT NULL);
    CREATE INDEX event_account ON event (account, id);
";

/// From format 1 to 2: it is known of each spending whether it is final.
const TO_2: &str = "
    ALTER TABLE spending ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX spending_open ON spending (token) WHERE NOT settled;
";

/// Has every commit on disk before it returns.
pub(crate) fn prepare(db: &Connection) -> Result<(), Error> {
    db.busy_timeout(Duration::from_millis(BUSY_MS_MAX))?;
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

/// Makes the tables, or checks the format of those that are there. Answers whether the key is the one they know.
pub(crate) fn found(db: &mut Connection, key: &[u8; 32]) -> Result<bool, Error> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO meta (name, value) VALUES ('key', ?1)", params![key])?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    } else if found == 1 {
        transaction.execute_batch(TO_2)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    } else if found != FORMAT {
        return Err(Error::Format { found, known: FORMAT });
    }
    let known = "SELECT value FROM meta WHERE name = 'key'";
    let known: Option<Vec<u8>> = transaction.query_row(known, [], |row| row.get(0)).optional()?;
    transaction.commit()?;
    Ok(known.as_deref() == Some(&key[..]))
}
