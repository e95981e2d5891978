//! The chain on disk: SQLite, one row for each block, written and synced before anybody hears of the block.
//!
//! Beside the blocks stand two indexes (transactions by hash, blocks by what their logs mention) and now and then a
//! snapshot of the state, so that opening does not replay everything. What the rows mean is checked on the way in.
use super::block::{Block, Outcome, decode_body, encode_body};
use super::logs::{index_key, keys_of};
use super::{Error, Options};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, U256, keccak256};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};
use std::path::Path;

/// A snapshot is due when the blocks since the last one take this many bytes, and more than the last one itself.
const SNAPSHOT_AFTER_BYTES: u64 = 4 * 1024 * 1024;
/// A snapshot is due after this many blocks.
const SNAPSHOT_AFTER_BLOCKS: u64 = 20_000;
/// How many snapshots are kept: if the last cannot be read, the one before and the blocks since then do.
const SNAPSHOTS_KEPT: u64 = 2;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS block (
        number INTEGER PRIMARY KEY, hash_key INTEGER NOT NULL, header BLOB NOT NULL,
        body BLOB NOT NULL, outcomes BLOB NOT NULL, checksum BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS block_by_hash ON block (hash_key);
    CREATE TABLE IF NOT EXISTS sent (
        hash_key INTEGER NOT NULL, block INTEGER NOT NULL, place INTEGER NOT NULL,
        PRIMARY KEY (hash_key, block, place)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS mentioned (
        key INTEGER NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (key, block)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS snapshot (number INTEGER PRIMARY KEY, world BLOB NOT NULL, checksum BLOB NOT NULL);
";

/// The store, open for writing. There is one for each folder.
#[derive(Debug)]
pub(crate) struct Store {
    db: Connection,
    blocks_since_snapshot: u64,
    bytes_since_snapshot: u64,
    snapshot_bytes: u64,
}

/// What a chain starts from, as it stands on disk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Founding {
    pub(crate) chain_id: u64,
    pub(crate) balances: Vec<(Address, U256)>,
}

impl Store {
    /// Opens or makes the database.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let db = Connection::open(path)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", if options.sync { "FULL" } else { "OFF" })?;
        db.pragma_update(None, "wal_autocheckpoint", 4_000)?;
        db.pragma_update(None, "cache_size", -32_768)?;
        db.execute_batch(SCHEMA).map_err(Error::writing)?;
        if let Some(bytes) = options.store_bytes_max {
            let page: u64 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
            db.pragma_update(None, "max_page_count", bytes / page)?;
        }
        Ok(Self { db, blocks_since_snapshot: 0, bytes_since_snapshot: 0, snapshot_bytes: 0 })
    }

    /// What the chain started from; none if there is no chain yet.
    pub(crate) fn founding(&self) -> Result<Option<Founding>, Error> {
        let read = |name: &str| -> Result<Option<Vec<u8>>, Error> {
            let row = self.db.query_row("SELECT value FROM fact WHERE name = ?1", [name], |row| row.get(0));
            Ok(row.optional()?)
        };
        let Some(id) = read("chain_id")? else { return Ok(None) };
        let chain_id = id.try_into().map(u64::from_be_bytes).map_err(|_| Error::damaged(0, "its chain id"))?;
        let balances = read("balances")?.ok_or_else(|| Error::damaged(0, "its first balances are missing"))?;
        Ok(Some(Founding { chain_id, balances: decode_balances(&balances)? }))
    }

    /// Writes what the chain starts from together with its first block.
    pub(crate) fn found(&mut self, founding: &Founding, genesis: &Block) -> Result<(), Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Error::writing)?;
        let facts =
            [("chain_id", founding.chain_id.to_be_bytes().to_vec()), ("balances", encode_balances(&founding.balances))];
        for (name, value) in facts {
            transaction.execute("INSERT INTO fact VALUES (?1, ?2)", params![name, value]).map_err(Error::writing)?;
        }
        insert(&transaction, genesis).map_err(Error::writing)?;
        transaction.commit().map_err(Error::writing)
    }

    /// Puts a block on disk, whole or not at all.
    pub(crate) fn append(&mut self, block: &Block) -> Result<(), Error> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Error::writing)?;
        let bytes = insert(&transaction, block).map_err(Error::writing)?;
        transaction.commit().map_err(Error::writing)?;
        self.note(bytes);
        Ok(())
    }

    /// Counts a block towards the next snapshot.
    pub(crate) fn note(&mut self, bytes: u64) {
        self.blocks_since_snapshot += 1;
        self.bytes_since_snapshot += bytes;
    }

    /// Whether a snapshot would shorten the next start enough to be worth its cost.
    pub(crate) fn snapshot_due(&self) -> bool {
        self.blocks_since_snapshot >= SNAPSHOT_AFTER_BLOCKS
            || self.bytes_since_snapshot >= SNAPSHOT_AFTER_BYTES.max(self.snapshot_bytes)
    }

    /// Whether anything was written since the last snapshot.
    pub(crate) fn has_news(&self) -> bool {
        self.blocks_since_snapshot > 0
    }

    /// Stores the state after a block.
    pub(crate) fn snapshot(&mut self, number: u64, world: &[u8]) -> Result<(), Error> {
        // Counted from here on even if this one fails, so that a full disk is not hammered with snapshots.
        self.blocks_since_snapshot = 0;
        self.bytes_since_snapshot = 0;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Error::writing)?;
        let checksum = checksum(&[&number.to_be_bytes(), world]);
        let put = "INSERT OR REPLACE INTO snapshot (number, world, checksum) VALUES (?1, ?2, ?3)";
        transaction.execute(put, params![number, world, checksum]).map_err(Error::writing)?;
        let forget =
            "DELETE FROM snapshot WHERE number NOT IN (SELECT number FROM snapshot ORDER BY number DESC LIMIT ?1)";
        transaction.execute(forget, [SNAPSHOTS_KEPT]).map_err(Error::writing)?;
        transaction.commit().map_err(Error::writing)?;
        self.snapshot_bytes = world.len() as u64;
        Ok(())
    }

    /// Snapshots that are whole, newest first, with the numbers of their blocks.
    pub(crate) fn snapshots(&self) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let mut query = self.db.prepare("SELECT number, world, checksum FROM snapshot ORDER BY number DESC")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let rows: Vec<(u64, Vec<u8>, Vec<u8>)> = rows.collect::<Result<_, _>>()?;
        let whole = |(number, world, sum): (u64, Vec<u8>, Vec<u8>)| {
            let fits = checksum(&[&number.to_be_bytes(), &world]) == *sum;
            fits.then_some((number, world))
        };
        Ok(rows.into_iter().filter_map(whole).collect())
    }

    /// The connection, to read with.
    pub(crate) fn connection(&self) -> &Connection {
        &self.db
    }
}

/// A second connection that only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(db)
}

fn insert(db: &Connection, block: &Block) -> rusqlite::Result<u64> {
    let number = block.header.number;
    let header = alloy_rlp::encode(&block.header);
    let body = encode_body(&block.transactions);
    let outcomes = alloy_rlp::encode(&block.outcomes);
    let sum = checksum(&[&header, &body, &outcomes]);
    db.prepare_cached("INSERT INTO block VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        number,
        index_key(block.hash.as_slice()),
        header,
        body,
        outcomes,
        sum
    ])?;
    let mut sent = db.prepare_cached("INSERT INTO sent VALUES (?1, ?2, ?3)")?;
    for (place, transaction) in block.transactions.iter().enumerate() {
        sent.execute(params![index_key(transaction.hash().as_slice()), number, place as u64])?;
    }
    let mut mentioned = db.prepare_cached("INSERT INTO mentioned VALUES (?1, ?2)")?;
    for key in keys_of(block) {
        mentioned.execute(params![key, number])?;
    }
    Ok((header.len() + body.len() + outcomes.len()) as u64)
}

/// The number of the newest block.
pub(crate) fn height(db: &Connection) -> Result<Option<u64>, Error> {
    Ok(db.query_row("SELECT max(number) FROM block", [], |row| row.get(0))?)
}

/// A block by its number.
pub(crate) fn block(db: &Connection, number: u64) -> Result<Option<Block>, Error> {
    let mut query = db.prepare_cached("SELECT header, body, outcomes, checksum FROM block WHERE number = ?1")?;
    let row = query.query_row([number], read_columns).optional()?;
    row.map(|columns| read_block(number, &columns)).transpose()
}

/// A block by its hash.
pub(crate) fn block_by_hash(db: &Connection, hash: B256) -> Result<Option<Block>, Error> {
    let mut query = db.prepare_cached("SELECT number FROM block WHERE hash_key = ?1")?;
    let numbers = query.query_map([index_key(hash.as_slice())], |row| row.get(0))?;
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
    for number in numbers {
        if let Some(block) = block(db, number)?.filter(|block| block.hash == hash) {
            return Ok(Some(block));
        }
    }
    Ok(None)
}

/// The block that holds a transaction, and its place there.
pub(crate) fn sent(db: &Connection, hash: B256) -> Result<Option<(Block, usize)>, Error> {
    let mut query = db.prepare_cached("SELECT block, place FROM sent WHERE hash_key = ?1")?;
    let rows = query.query_map([index_key(hash.as_slice())], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(u64, u64)> = rows.collect::<Result<_, _>>()?;
    for (number, place) in rows {
        let Some(block) = block(db, number)? else { continue };
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if block.transactions.get(place).is_some_and(|transaction| transaction.hash() == hash) {
            return Ok(Some((block, place)));
        }
    }
    Ok(None)
}

type Columns = [Vec<u8>; 4];

fn read_columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
}

fn read_block(number: u64, [header, body, outcomes, sum]: &Columns) -> Result<Block, Error> {
    if checksum(&[header, body, outcomes]) != **sum {
        return Err(Error::damaged(number, "its checksum does not fit"));
    }
    let unreadable = |error: alloy_rlp::Error| Error::damaged(number, format!("it cannot be read: {error}"));
    let hash = keccak256(header);
    let header: Header = alloy_rlp::decode_exact(header).map_err(unreadable)?;
    let transactions = decode_body(body).map_err(unreadable)?;
    let outcomes: Vec<Outcome> = alloy_rlp::decode_exact(outcomes).map_err(unreadable)?;
    if header.number != number || transactions.len() != outcomes.len() {
        return Err(Error::damaged(number, "its parts do not belong together"));
    }
    Ok(Block { header, hash, transactions, outcomes })
}

fn checksum(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    *hasher.finalize().as_bytes()
}

fn encode_balances(balances: &[(Address, U256)]) -> Vec<u8> {
    balances.iter().flat_map(|(address, balance)| [address.as_slice(), &balance.to_be_bytes::<32>()].concat()).collect()
}

fn decode_balances(bytes: &[u8]) -> Result<Vec<(Address, U256)>, Error> {
    let (lines, rest) = bytes.as_chunks::<52>();
    match rest.is_empty() {
        true => {
            Ok(lines.iter().map(|line| (Address::from_slice(&line[..20]), U256::from_be_slice(&line[20..]))).collect())
        }
        false => Err(Error::damaged(0, "its first balances")),
    }
}
