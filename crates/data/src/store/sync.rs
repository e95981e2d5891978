//! From what the process has written to what survives a power cut.
//!
//! Waiting for the disk with every put would make all wait for it who bring chunks. So puts are synced together, when
//! much has come or somebody wants to rely on it; and what was not is looked at when the store is opened again.
use super::disk::Disk;
use super::rows;
use super::writer::Writer;
use super::{Backend, Error, Store, holdings};
use gleaner_wire::Hash;
use rusqlite::Connection;
use std::collections::btree_map::Entry;
use std::sync::{Arc, PoisonError};

/// A put that finds more than this unsynced syncs it.
const UNSYNCED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A segment, and an offset in it: everything before lies before it in the segments too.
type Point = (u64, u64);

impl Store {
    /// Returns when everything that was put survives a power cut. Also writes down what was used lately.
    pub fn flush(&self) -> Result<(), Error> {
        let wanted = self.lock_writer().point();
        let _one = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let (files, point) = {
            let mut writer = self.lock_writer();
            if writer.unsynced.is_empty() || synced(&writer.db)? >= wanted {
                return writer.commit(|db, _| self.touches.write(db));
            }
            (writer.unsynced.clone(), writer.point())
        };
        for (segment, file) in &files {
            if let Err(error) = file.sync_data() {
                self.lose_unsynced()?;
                return Err(Error::file("sync", self.disk.path(*segment))(error));
            }
        }
        let mut writer = self.lock_writer();
        writer.commit(|db, _| {
            db.prepare_cached("UPDATE synced SET segment = ?1, offset = ?2")?.execute([point.0, point.1])?;
            self.touches.write(db)
        })?;
        let has_grown = writer.point() != point;
        writer.unsynced.retain(|segment, _| has_grown && *segment >= point.0);
        writer.unsynced_bytes = 0;
        Ok(())
    }

    /// After a put: syncs if much has come since the last time.
    pub(super) fn flush_some(&self) {
        if self.lock_writer().unsynced_bytes > UNSYNCED_BYTES_MAX
            && let Err(error) = self.flush()
        {
            tracing::warn!(%error, "what was put last is lost");
        }
    }

    /// Nobody knows what of the unsynced bytes is on disk: none of them is given out any more.
    fn lose_unsynced(&self) -> Result<(), Error> {
        let mut writer = self.lock_writer();
        let lost = beyond(&writer.db, synced(&writer.db)?)?;
        writer.active = None;
        self.drop_chunks(&mut writer, &lost)?;
        writer.unsynced.clear();
        writer.unsynced_bytes = 0;
        self.publish(&writer);
        Ok(())
    }
}

impl Writer {
    /// Where the next chunk goes.
    fn point(&self) -> Point {
        self.active.as_ref().map_or((self.next, 0), |active| (active.number, active.end))
    }
}

/// Up to where everything survives a power cut.
fn synced(db: &Connection) -> Result<Point, Error> {
    Ok(db.prepare_cached("SELECT segment, offset FROM synced")?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// The chunks on disk from a point on.
fn beyond(db: &Connection, point: Point) -> Result<Vec<rows::Entry>, Error> {
    let query = "SELECT id, segment, offset, bytes, used, chunk.pins FROM chunk JOIN segment ON number = segment
        WHERE place = ?3 AND (segment > ?1 OR segment = ?1 AND offset >= ?2) ORDER BY segment, offset";
    let mut statement = db.prepare(query)?;
    let found = statement.query_map([point.0, point.1, u64::from(rows::ON_DISK)], rows::entry)?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Compares what was not synced with its names, after the store was not closed. What a power cut has taken back goes.
pub(super) fn look_at_unsynced(writer: &mut Writer, disk: &Disk) -> Result<(), Error> {
    let mut lost = Vec::new();
    for entry in beyond(&writer.db, synced(&writer.db)?)? {
        match disk.read(entry.segment, entry.range()) {
            Ok(Some(bytes)) if Hash::of(&bytes) == entry.id => {
                if let Entry::Vacant(vacant) = writer.unsynced.entry(entry.segment) {
                    vacant.insert(Arc::new(disk.grow(entry.segment)?));
                }
            }
            Ok(_) | Err(_) => lost.push(entry),
        }
    }
    if lost.is_empty() {
        return Ok(());
    }
    tracing::warn!(chunks = lost.len(), "a power cut took chunks back; they can be fetched again");
    writer.commit(|db, tally| {
        let mut marks = holdings::Marks::default();
        for entry in &lost {
            rows::remove(db, tally, entry, false)?;
            marks.note(db, entry, false)?;
        }
        marks.write(db)
    })
}
