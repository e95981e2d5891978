//! What is held of which dataset, kept up with every put and eviction.
//!
//! The list of a dataset's chunks is stored once, and a bit for each says whether it is here, so that the answer for a
//! terabyte is read in milliseconds instead of looked up chunk by chunk.
use super::rows::{self, Entry};
use super::{Bitmap, Error, Store};
use gleaner_wire::Hash;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// Chunks that share a page of a list, and a commit when the list is stored.
const PAGE_CHUNKS: usize = 8192;
/// The longest list: four terabytes of chunks of average size.
const CHUNKS_MAX: u64 = 1 << 26;
/// Datasets that are remembered; of more, those of which the least is held are forgotten.
const DATASETS_MAX: u64 = 4096;

/// How much of a dataset is held. A chunk that occurs twice in it counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The dataset's root.
    pub root: Hash,
    /// Chunks in it.
    pub chunks: u64,
    /// Chunks of it that are here.
    pub held: u64,
    /// Their bytes.
    pub held_bytes: u64,
}

impl Store {
    /// Remembers which chunks a dataset (or a blob, by its own name) is made of, in order. The list is read as it is
    /// stored, so it may be longer than memory. A root that is known is not read again.
    pub fn remember(&self, root: Hash, ids: impl IntoIterator<Item = Hash>) -> Result<(), Error> {
        let _one = self.remembering.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.readers.with(|db| number_of(db, &root))?;
        match known {
            Some((_, true)) => return Ok(()),
            Some((_, false)) => self.forget_listed(&root)?,
            None => {}
        }
        self.forget_beyond(DATASETS_MAX - 1)?;
        let dataset = self.lock_writer().commit(|db, _| {
            let query = "INSERT INTO dataset (root, complete, chunks, held, held_bytes) VALUES (?1, 0, 0, 0, 0)";
            db.prepare_cached(query)?.execute([root.0])?;
            Ok(u64::try_from(db.last_insert_rowid()).expect("numbers of rows are positive"))
        })?;
        let mut ids = ids.into_iter();
        for page in 0.. {
            let listed: Vec<Hash> = ids.by_ref().take(PAGE_CHUNKS).collect();
            if page * PAGE_CHUNKS as u64 + listed.len() as u64 > CHUNKS_MAX {
                self.forget_listed(&root)?;
                return Err(Error::TooManyChunks { max: CHUNKS_MAX });
            }
            self.lock_writer().commit(|db, _| store_page(db, dataset, page, &listed))?;
            if listed.len() < PAGE_CHUNKS {
                break;
            }
        }
        Ok(())
    }

    /// Forgets the list of a dataset; its chunks stay until they are evicted.
    pub fn forget(&self, root: &Hash) -> Result<(), Error> {
        let _one = self.remembering.lock().unwrap_or_else(PoisonError::into_inner);
        self.forget_listed(root)
    }

    /// Which chunks of a dataset are here, by their position in its list. Nothing if the dataset is not remembered.
    pub fn holdings(&self, root: &Hash) -> Result<Option<Bitmap>, Error> {
        self.readers.with(|db| {
            let Some((dataset, true)) = number_of(db, root)? else { return Ok(None) };
            let mut statement = db.prepare_cached("SELECT page, bits FROM held WHERE dataset = ?1 ORDER BY page")?;
            let total: u64 =
                db.query_row("SELECT chunks FROM dataset WHERE number = ?1", [dataset], |row| row.get(0))?;
            let mut bits = Bitmap::new(0);
            let mut rows = statement.query([dataset])?;
            while let Some(row) = rows.next()? {
                let length = page_length(total, row.get(0)?);
                bits.append(&Bitmap::from_bytes(&row.get::<_, Vec<u8>>(1)?, length).unwrap_or(Bitmap::new(length)));
            }
            Ok(Some(bits))
        })
    }

    /// Every dataset that is remembered, with how much of it is here, the most first.
    pub fn datasets(&self) -> Result<Vec<Holding>, Error> {
        self.readers.with(|db| {
            let query = "SELECT root, chunks, held, held_bytes FROM dataset WHERE complete
                         ORDER BY held_bytes DESC, number DESC";
            let holding = |row: &rusqlite::Row<'_>| {
                let (root, chunks, held, held_bytes) = (Hash(row.get(0)?), row.get(1)?, row.get(2)?, row.get(3)?);
                Ok(Holding { root, chunks, held, held_bytes })
            };
            Ok(db.prepare_cached(query)?.query_map([], holding)?.collect::<Result<_, _>>()?)
        })
    }

    fn forget_beyond(&self, count: u64) -> Result<(), Error> {
        let extra: Vec<Hash> =
            self.datasets()?.into_iter().skip(usize::try_from(count).unwrap_or(usize::MAX)).map(|it| it.root).collect();
        extra.iter().try_for_each(|root| self.forget_listed(root))
    }

    fn forget_listed(&self, root: &Hash) -> Result<(), Error> {
        let Some((dataset, _)) = self.readers.with(|db| number_of(db, root))? else { return Ok(()) };
        self.lock_writer().commit(|db, _| {
            db.prepare_cached("UPDATE dataset SET complete = 0 WHERE number = ?1")?.execute([dataset])?;
            Ok(())
        })?;
        while self.lock_writer().commit(|db, _| forget_page(db, dataset))? {}
        Ok(())
    }
}

/// Stores a page of a list. The list is complete with the first page that is not full.
fn store_page(db: &Connection, dataset: u64, page: u64, ids: &[Hash]) -> Result<(), Error> {
    let mut bits = Bitmap::new(ids.len());
    let mut bytes = 0;
    for (position, id) in ids.iter().enumerate() {
        let number = page * PAGE_CHUNKS as u64 + position as u64;
        db.prepare_cached("INSERT INTO member (id, dataset, position) VALUES (?1, ?2, ?3)")?
            .execute(params![id.0, dataset, number])?;
        if let Some(entry) = rows::find(db, id)? {
            bits.set(position, true);
            bytes += entry.bytes;
        }
    }
    let listed: Vec<u8> = ids.iter().flat_map(|id| id.0).collect();
    db.prepare_cached("INSERT INTO listing (dataset, page, ids) VALUES (?1, ?2, ?3)")?
        .execute(params![dataset, page, listed])?;
    db.prepare_cached("INSERT INTO held (dataset, page, bits) VALUES (?1, ?2, ?3)")?.execute(params![
        dataset,
        page,
        bits.as_bytes()
    ])?;
    let query = "UPDATE dataset SET chunks = chunks + ?2, held = held + ?3, held_bytes = held_bytes + ?4, complete = ?5
                 WHERE number = ?1";
    db.prepare_cached(query)?.execute(params![
        dataset,
        ids.len() as u64,
        bits.count() as u64,
        bytes,
        ids.len() < PAGE_CHUNKS
    ])?;
    Ok(())
}

/// Forgets a page of a list that is not complete, or in the end the list itself. Tells whether there is more.
pub(super) fn forget_page(db: &Connection, dataset: u64) -> Result<bool, Error> {
    let query = "SELECT page, ids FROM listing WHERE dataset = ?1 ORDER BY page DESC LIMIT 1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u64>(0)?, row.get::<_, Vec<u8>>(1)?));
    let Some((page, ids)) = db.prepare_cached(query)?.query_row([dataset], row).optional()? else {
        db.prepare_cached("DELETE FROM dataset WHERE number = ?1")?.execute([dataset])?;
        return Ok(false);
    };
    for (position, id) in ids.chunks_exact(32).enumerate() {
        let number = page * PAGE_CHUNKS as u64 + position as u64;
        db.prepare_cached("DELETE FROM member WHERE id = ?1 AND dataset = ?2 AND position = ?3")?
            .execute(params![id, dataset, number])?;
    }
    db.prepare_cached("DELETE FROM listing WHERE dataset = ?1 AND page = ?2")?.execute([dataset, page])?;
    db.prepare_cached("DELETE FROM held WHERE dataset = ?1 AND page = ?2")?.execute([dataset, page])?;
    Ok(true)
}

fn number_of(db: &Connection, root: &Hash) -> Result<Option<(u64, bool)>, Error> {
    let mut statement = db.prepare_cached("SELECT number, complete FROM dataset WHERE root = ?1")?;
    Ok(statement.query_row([root.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

fn page_length(total: u64, page: u64) -> usize {
    let rest = total.saturating_sub(page * PAGE_CHUNKS as u64);
    usize::try_from(rest).unwrap_or(PAGE_CHUNKS).min(PAGE_CHUNKS)
}

/// A bit of a page to be set or cleared, for a chunk of this many bytes.
struct Mark {
    bit: usize,
    held: bool,
    bytes: u64,
}

/// Bits to change, gathered by page, because chunks of a batch are mostly neighbours in their dataset.
#[derive(Default)]
pub(super) struct Marks {
    pages: BTreeMap<(u64, u64), Vec<Mark>>,
}

impl Marks {
    /// A chunk has come or gone.
    pub(super) fn note(&mut self, db: &Connection, entry: &Entry, held: bool) -> Result<(), Error> {
        let mut statement = db.prepare_cached("SELECT dataset, position FROM member WHERE id = ?1")?;
        let mut rows = statement.query([entry.id.0])?;
        while let Some(row) = rows.next()? {
            let position: u64 = row.get(1)?;
            let bit = usize::try_from(position % PAGE_CHUNKS as u64).expect("a position in a page is small");
            let page = (row.get(0)?, position / PAGE_CHUNKS as u64);
            self.pages.entry(page).or_default().push(Mark { bit, held, bytes: entry.bytes });
        }
        Ok(())
    }

    /// Changes the bits, in the transaction of the rows.
    pub(super) fn write(&self, db: &Connection) -> Result<(), Error> {
        for (&(dataset, page), changes) in &self.pages {
            let total: u64 = db
                .prepare_cached("SELECT chunks FROM dataset WHERE number = ?1")?
                .query_row([dataset], |row| row.get(0))?;
            let length = page_length(total, page);
            let stored: Vec<u8> = db
                .prepare_cached("SELECT bits FROM held WHERE dataset = ?1 AND page = ?2")?
                .query_row([dataset, page], |row| row.get(0))?;
            let mut bits = Bitmap::from_bytes(&stored, length).unwrap_or(Bitmap::new(length));
            let (mut count, mut sum) = (0_i64, 0_i64);
            for &Mark { bit, held, bytes } in changes {
                if bits.set(bit, held) {
                    let sign = if held { 1 } else { -1 };
                    count += sign;
                    sum += sign * i64::try_from(bytes).expect("a chunk is small");
                }
            }
            db.prepare_cached("UPDATE held SET bits = ?3 WHERE dataset = ?1 AND page = ?2")?.execute(params![
                dataset,
                page,
                bits.as_bytes()
            ])?;
            let query = "UPDATE dataset SET held = held + ?2, held_bytes = held_bytes + ?3 WHERE number = ?1";
            db.prepare_cached(query)?.execute(params![dataset, count, sum])?;
        }
        Ok(())
    }
}
