//! Pins: chunks that running work needs are not evicted, whatever room is wanted.
//!
//! A pin holds for a name, whether its chunk is here yet or not, so that a task can pin what it is about to fetch.
use super::{Bitmap, Error, Store, rows};
use gleaner_wire::Hash;
use rusqlite::{Connection, OptionalExtension, params};

/// How many owners have pinned a chunk.
pub(super) fn count(db: &Connection, id: &Hash) -> Result<u64, Error> {
    Ok(db.prepare_cached("SELECT count(*) FROM pin WHERE id = ?1")?.query_row([id.0], |row| row.get(0))?)
}

impl Store {
    /// Pins chunks for an owner, on top of what it has pinned; a chunk goes only when its last owner lets go of it.
    /// Tells which of them are here. The pins are on disk when this returns.
    pub fn pin(&self, owner: &str, ids: &[Hash]) -> Result<Bitmap, Error> {
        let mut writer = self.lock_writer();
        let held = writer.commit(|db, tally| {
            db.prepare_cached("INSERT OR IGNORE INTO owner (name) VALUES (?1)")?.execute([owner])?;
            let owner = owner_number(db, owner)?.expect("the owner has just been added");
            let mut held = Bitmap::new(ids.len());
            for (position, id) in ids.iter().enumerate() {
                let new = db
                    .prepare_cached("INSERT OR IGNORE INTO pin (id, owner) VALUES (?1, ?2)")?
                    .execute(params![id.0, owner])?;
                held.set(position, rows::holds(db, id)?);
                if new > 0 {
                    tally.pinned += count_pin(db, id)?;
                }
            }
            Ok(held)
        })?;
        self.publish(&writer);
        Ok(held)
    }

    /// Lets go of everything that an owner has pinned. Returns how many chunks that were.
    pub fn unpin(&self, owner: &str) -> Result<u64, Error> {
        let mut writer = self.lock_writer();
        let ids = writer.commit(|db, tally| {
            let Some(number) = owner_number(db, owner)? else { return Ok(0) };
            let ids: Vec<[u8; 32]> = db
                .prepare_cached("SELECT id FROM pin WHERE owner = ?1")?
                .query_map([number], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for id in &ids {
                tally.pinned -= count_release(db, &Hash(*id))?;
            }
            db.prepare_cached("DELETE FROM pin WHERE owner = ?1")?.execute([number])?;
            db.prepare_cached("DELETE FROM owner WHERE number = ?1")?.execute([number])?;
            Ok(ids.len() as u64)
        })?;
        self.publish(&writer);
        Ok(ids)
    }

    /// Gives everything that one owner has pinned to another, at once. What both have pinned is pinned once.
    pub fn hand_over(&self, from: &str, to: &str) -> Result<(), Error> {
        let mut writer = self.lock_writer();
        writer.commit(|db, tally| {
            let Some(giver) = owner_number(db, from)? else { return Ok(()) };
            db.prepare_cached("INSERT OR IGNORE INTO owner (name) VALUES (?1)")?.execute([to])?;
            let taker = owner_number(db, to)?.expect("the owner has just been added");
            let twice: Vec<[u8; 32]> = db
                .prepare_cached(
                    "SELECT id FROM pin WHERE owner = ?1 AND EXISTS \
                     (SELECT 1 FROM pin AS other WHERE other.id = pin.id AND other.owner = ?2)",
                )?
                .query_map([giver, taker], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for id in &twice {
                tally.pinned -= count_release(db, &Hash(*id))?;
            }
            db.prepare_cached("UPDATE OR IGNORE pin SET owner = ?2 WHERE owner = ?1")?.execute([giver, taker])?;
            db.prepare_cached("DELETE FROM pin WHERE owner = ?1")?.execute([giver])?;
            db.prepare_cached("DELETE FROM owner WHERE number = ?1")?.execute([giver])?;
            Ok(())
        })?;
        self.publish(&writer);
        Ok(())
    }

    /// How many bytes are here of what an owner has pinned and another has not.
    pub fn pinned_bytes(&self, owner: &str, but_by: &str) -> Result<u64, Error> {
        self.readers.with(|db| {
            let Some(number) = owner_number(db, owner)? else { return Ok(0) };
            // Numbers of owners begin at 1.
            let other = owner_number(db, but_by)?.unwrap_or(0);
            let mut statement = db.prepare_cached(
                "SELECT id FROM pin WHERE owner = ?1 AND NOT EXISTS \
                 (SELECT 1 FROM pin AS other WHERE other.id = pin.id AND other.owner = ?2)",
            )?;
            let mut rows = statement.query([number, other])?;
            let mut bytes = 0;
            while let Some(row) = rows.next()? {
                bytes += rows::find(db, &Hash(row.get(0)?))?.map_or(0, |entry| entry.bytes);
            }
            Ok(bytes)
        })
    }

    /// Everybody who has pinned something, with how many chunks: who restarts finds out here what to let go of.
    pub fn owners(&self) -> Result<Vec<(String, u64)>, Error> {
        self.readers.with(|db| {
            let query = "SELECT name, (SELECT count(*) FROM pin WHERE owner = number) FROM owner ORDER BY name";
            let mut statement = db.prepare_cached(query)?;
            Ok(statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
        })
    }
}

fn owner_number(db: &Connection, name: &str) -> Result<Option<u64>, Error> {
    let mut statement = db.prepare_cached("SELECT number FROM owner WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

/// Counts one more owner of a chunk. Returns the bytes that are pinned by that.
fn count_pin(db: &Connection, id: &Hash) -> Result<u64, Error> {
    let Some(entry) = rows::find(db, id)? else { return Ok(0) };
    set_pins(db, &entry, entry.pins + 1)?;
    if entry.pins > 0 {
        return Ok(0);
    }
    db.prepare_cached("UPDATE segment SET pinned = pinned + ?2 WHERE number = ?1")?
        .execute([entry.segment, entry.bytes])?;
    Ok(entry.bytes)
}

/// Counts one owner of a chunk less. Returns the bytes that are not pinned any more.
fn count_release(db: &Connection, id: &Hash) -> Result<u64, Error> {
    let Some(entry) = rows::find(db, id)? else { return Ok(0) };
    assert!(entry.pins > 0, "a chunk counts its pins");
    set_pins(db, &entry, entry.pins - 1)?;
    if entry.pins > 1 {
        return Ok(0);
    }
    db.prepare_cached("UPDATE segment SET pinned = pinned - ?2 WHERE number = ?1")?
        .execute([entry.segment, entry.bytes])?;
    Ok(entry.bytes)
}

fn set_pins(db: &Connection, entry: &rows::Entry, pins: u64) -> Result<(), Error> {
    db.prepare_cached("UPDATE chunk SET pins = ?3 WHERE segment = ?1 AND offset = ?2")?.execute([
        entry.segment,
        entry.offset,
        pins,
    ])?;
    Ok(())
}
