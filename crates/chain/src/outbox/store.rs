//! The outbox on disk: intents with their keys, and every transaction that was ever signed for them.
use std::path::Path;

use alloy_primitives::{Address, B256, Bytes};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Error, Status};
use crate::sender::Call;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS owner (name TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS intent (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, target BLOB NOT NULL, data BLOB NOT NULL,
    state INTEGER NOT NULL DEFAULT 0, nonce INTEGER, gas INTEGER, lost_at INTEGER,
    hash BLOB, block INTEGER, reason TEXT) STRICT;
CREATE INDEX IF NOT EXISTS intent_state ON intent (state, seq);
CREATE TABLE IF NOT EXISTS sent (
    hash BLOB PRIMARY KEY, seq INTEGER NOT NULL, raw BLOB NOT NULL, fee_max TEXT NOT NULL, priority TEXT NOT NULL,
    at INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS sent_seq ON sent (seq);";

const WAITING: i64 = 0;
const UNDERWAY: i64 = 1;
const DONE: i64 = 2;
const FAILED: i64 = 3;

/// A transaction as it was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub hash: B256,
    pub raw: Bytes,
    pub fee_max: u128,
    pub priority: u128,
    /// Unix seconds.
    pub at: u64,
}

/// An intent that has its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Underway {
    pub seq: i64,
    pub key: String,
    pub call: Call,
    pub nonce: u64,
    pub gas: u64,
    /// Everything signed for it, oldest first.
    pub sent: Vec<Sent>,
}

pub(super) struct Store {
    db: Connection,
}

impl Store {
    pub fn open(path: &Path, owner: &str) -> Result<Self, Error> {
        let db = Connection::open(path)?;
        db.pragma_update(None, "journal_mode", "wal")?;
        db.pragma_update(None, "synchronous", "full")?;
        db.busy_timeout(std::time::Duration::from_secs(5))?;
        db.execute_batch(SCHEMA)?;
        let found: Option<String> = db.query_row("SELECT name FROM owner", [], |row| row.get(0)).optional()?;
        match found {
            None => {
                db.execute("INSERT INTO owner VALUES (?1)", [owner])?;
            }
            Some(found) if found != owner => return Err(Error::Foreign { found, wanted: owner.into() }),
            Some(_) => {}
        }
        Ok(Self { db })
    }

    pub fn push(&mut self, key: &str, call: &Call) -> Result<(), Error> {
        let statement = "INSERT INTO intent (key, target, data) VALUES (?1, ?2, ?3) ON CONFLICT (key) DO NOTHING";
        let added = self.db.execute(statement, params![key, call.to.as_slice(), &call.data[..]])?;
        if added == 0 {
            let query = "SELECT target, data FROM intent WHERE key = ?1";
            let before = self.db.query_row(query, [key], |row| Ok(read_call(row, 0)))??;
            if before != *call {
                return Err(Error::OtherCall(key.into()));
            }
        }
        Ok(())
    }

    pub fn status(&self, key: &str) -> Result<Option<Status>, Error> {
        let query = "SELECT state, nonce, hash, block, reason FROM intent WHERE key = ?1";
        let row = self.db.query_row(query, [key], |row| {
            let (state, nonce): (i64, Option<u64>) = (row.get(0)?, row.get(1)?);
            let (hash, block): (Option<Vec<u8>>, Option<u64>) = (row.get(2)?, row.get(3)?);
            Ok((state, nonce, hash, block, row.get::<_, Option<String>>(4)?))
        });
        let Some((state, nonce, hash, block, reason)) = row.optional()? else { return Ok(None) };
        Ok(Some(match (state, nonce, hash, block) {
            (WAITING, ..) => Status::Waiting,
            (UNDERWAY, Some(nonce), ..) => Status::Underway { nonce },
            (DONE, _, Some(hash), Some(block)) => Status::Done { transaction: read_hash(&hash)?, block },
            (FAILED, ..) => Status::Failed { reason: reason.unwrap_or_default() },
            _ => return Err(Error::Damaged("an intent in no known state")),
        }))
    }

    pub fn backlog(&self) -> Result<u64, Error> {
        Ok(self.db.query_row("SELECT count(*) FROM intent WHERE state < ?1", [DONE], |row| row.get(0))?)
    }

    pub fn next_waiting(&self) -> Result<Option<(i64, Call)>, Error> {
        let query = "SELECT seq, target, data FROM intent WHERE state = ?1 ORDER BY seq LIMIT 1";
        let found = self.db.query_row(query, [WAITING], |row| Ok((row.get(0)?, read_call(row, 1)))).optional()?;
        found.map(|(seq, call)| Ok((seq, call?))).transpose()
    }

    pub fn underway(&self) -> Result<Vec<Underway>, Error> {
        let query = "SELECT seq, key, target, data, nonce, gas FROM intent WHERE state = ?1 ORDER BY nonce";
        let mut statement = self.db.prepare_cached(query)?;
        let mut rows = statement.query([UNDERWAY])?;
        let mut intents = Vec::new();
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            let (call, sent) = (read_call(row, 2)?, self.sent(seq)?);
            intents.push(Underway { seq, key: row.get(1)?, call, nonce: row.get(4)?, gas: row.get(5)?, sent });
        }
        Ok(intents)
    }

    fn sent(&self, seq: i64) -> Result<Vec<Sent>, Error> {
        let query = "SELECT hash, raw, fee_max, priority, at FROM sent WHERE seq = ?1 ORDER BY rowid";
        let mut statement = self.db.prepare_cached(query)?;
        let mut rows = statement.query([seq])?;
        let mut sent = Vec::new();
        while let Some(row) = rows.next()? {
            let fee = |text: String| text.parse().map_err(|_| Error::Damaged("a fee that is no number"));
            sent.push(Sent {
                hash: read_hash(&row.get::<_, Vec<u8>>(0)?)?,
                raw: row.get::<_, Vec<u8>>(1)?.into(),
                fee_max: fee(row.get(2)?)?,
                priority: fee(row.get(3)?)?,
                at: row.get(4)?,
            });
        }
        Ok(sent)
    }

    /// The number after all that are on their way, if there are any.
    pub fn nonce_after_ours(&self) -> Result<Option<u64>, Error> {
        let query = "SELECT max(nonce) + 1 FROM intent WHERE state = ?1";
        Ok(self.db.query_row(query, [UNDERWAY], |row| row.get(0))?)
    }

    /// Gives an intent its number, together with the transaction that uses it.
    pub fn number(&mut self, seq: i64, nonce: u64, gas: u64, sent: &Sent) -> Result<(), Error> {
        let transaction = self.db.transaction()?;
        let statement = "UPDATE intent SET state = ?2, nonce = ?3, gas = ?4, lost_at = NULL WHERE seq = ?1";
        transaction.execute(statement, params![seq, UNDERWAY, nonce, gas])?;
        insert(&transaction, seq, sent)?;
        Ok(transaction.commit()?)
    }

    /// Keeps another transaction with the same number.
    pub fn keep(&mut self, seq: i64, sent: &Sent) -> Result<(), Error> {
        Ok(insert(&self.db, seq, sent)?)
    }

    pub fn finish(&mut self, seq: i64, hash: B256, block: u64) -> Result<(), Error> {
        let transaction = self.db.transaction()?;
        let statement = "UPDATE intent SET state = ?2, hash = ?3, block = ?4 WHERE seq = ?1";
        transaction.execute(statement, params![seq, DONE, hash.as_slice(), block])?;
        transaction.execute("DELETE FROM sent WHERE seq = ?1", [seq])?;
        Ok(transaction.commit()?)
    }

    pub fn fail(&mut self, seq: i64, reason: &str) -> Result<(), Error> {
        let transaction = self.db.transaction()?;
        transaction
            .execute("UPDATE intent SET state = ?2, reason = ?3 WHERE seq = ?1", params![seq, FAILED, reason])?;
        transaction.execute("DELETE FROM sent WHERE seq = ?1", [seq])?;
        Ok(transaction.commit()?)
    }

    /// Remembers at which height the number was first seen used by somebody else.
    pub fn note_loss(&mut self, seq: i64, height: u64) -> Result<u64, Error> {
        let statement = "UPDATE intent SET lost_at = coalesce(lost_at, ?2) WHERE seq = ?1 RETURNING lost_at";
        Ok(self.db.query_row(statement, params![seq, height], |row| row.get(0))?)
    }

    pub fn forget_loss(&mut self, seq: i64) -> Result<(), Error> {
        self.db.execute("UPDATE intent SET lost_at = NULL WHERE seq = ?1 AND lost_at IS NOT NULL", [seq])?;
        Ok(())
    }

    /// Takes a lost number away; what was signed with it can never happen.
    pub fn renumber(&mut self, seq: i64) -> Result<(), Error> {
        let transaction = self.db.transaction()?;
        let statement = "UPDATE intent SET state = ?2, nonce = NULL, gas = NULL, lost_at = NULL WHERE seq = ?1";
        transaction.execute(statement, params![seq, WAITING])?;
        transaction.execute("DELETE FROM sent WHERE seq = ?1", [seq])?;
        Ok(transaction.commit()?)
    }
}

fn insert(db: &Connection, seq: i64, sent: &Sent) -> Result<(), rusqlite::Error> {
    // Signing is deterministic, so the same transaction may come again.
    let statement = "INSERT INTO sent VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (hash) DO UPDATE SET at = ?6";
    let (fee_max, priority) = (sent.fee_max.to_string(), sent.priority.to_string());
    db.execute(statement, params![sent.hash.as_slice(), seq, &sent.raw[..], fee_max, priority, sent.at])?;
    Ok(())
}

fn read_call(row: &Row<'_>, first: usize) -> Result<Call, Error> {
    let (to, data): (Vec<u8>, Vec<u8>) = (row.get(first)?, row.get(first + 1)?);
    let to = Address::try_from(&to[..]).map_err(|_| Error::Damaged("an address of a wrong length"))?;
    Ok(Call { to, data: data.into() })
}

fn read_hash(bytes: &[u8]) -> Result<B256, Error> {
    B256::try_from(bytes).map_err(|_| Error::Damaged("a hash of a wrong length"))
}
