//! From disk back to a store: what a crash left behind is found and removed.
use super::disk::Disk;
use super::rows::{self, Segment};
use super::tally::Tally;
use super::writer::{Active, Writer};
use super::{Backend, Error, holdings, room, sync};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

/// What was found that no row names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leftovers {
    /// Files and objects removed, and tails cut off.
    pub(super) count: u64,
    /// Their bytes.
    pub(super) bytes: u64,
}

/// Puts segments and index in agreement, and goes on with the last segment if it is not full.
pub(super) fn recover(db: Connection, disk: &Disk, objects: Option<&dyn Backend>, full: u64) -> Result<Writer, Error> {
    let tally = Tally::read(&db, disk.block())?;
    let mut writer = Writer { db, tally, active: None, next: 0, unsynced: BTreeMap::new(), unsynced_bytes: 0 };
    let unfinished: Vec<u64> = writer
        .db
        .prepare("SELECT number FROM dataset WHERE NOT complete")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for dataset in unfinished {
        while writer.commit(|db, _| holdings::forget_page(db, dataset))? {}
    }
    sync::look_at_unsynced(&mut writer, disk)?;
    let leftovers = reconcile(&mut writer, disk, objects)?;
    if leftovers.count > 0 {
        tracing::info!(leftovers.count, leftovers.bytes, "removed what an interrupted write left behind");
    }
    let last = rows::segments(&writer.db, "true")?.pop();
    writer.next = last.map_or(1, |segment| segment.number + 1);
    if let Some(last) = last.filter(|last| last.place == rows::ON_DISK && last.length < full) {
        writer.active = Some(Active::open(disk, last.number, last.length)?);
    }
    Ok(writer)
}

/// Removes what no row names, and rows that name nothing. Nobody else writes meanwhile.
pub(super) fn reconcile(writer: &mut Writer, disk: &Disk, objects: Option<&dyn Backend>) -> Result<Leftovers, Error> {
    let mut leftovers = Leftovers::default();
    for path in disk.strangers()? {
        leftovers.count += 1;
        leftovers.bytes += fs::metadata(&path).map_or(0, |metadata| metadata.len());
        fs::remove_file(&path).map_err(Error::file("remove", &path))?;
    }
    agree(writer, disk, rows::ON_DISK, &mut leftovers, |segment, length, writer| {
        if length > segment.length {
            disk.truncate(segment.number, segment.length)?;
        }
        fill_holes(writer, disk, segment)
    })?;
    let remote = rows::segments(&writer.db, &format!("place = {}", rows::IN_OBJECTS))?;
    match objects {
        Some(objects) => agree(writer, objects, rows::IN_OBJECTS, &mut leftovers, |_, _, _| Ok(()))?,
        None if remote.is_empty() => {}
        None => return Err(Error::NoBucket { segments: remote.len() }),
    }
    writer.tally = Tally::read(&writer.db, disk.block())?;
    Ok(leftovers)
}

/// Compares the segments of a place with their rows.
fn agree(
    writer: &mut Writer,
    backend: &dyn Backend,
    place: u8,
    leftovers: &mut Leftovers,
    tend: impl Fn(&Segment, u64, &Writer) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut there: BTreeMap<u64, u64> = backend.list()?.into_iter().collect();
    for segment in rows::segments(&writer.db, &format!("place = {place}"))? {
        let length = there.remove(&segment.number).unwrap_or(0);
        let grows = writer.active.as_ref().is_some_and(|active| active.number == segment.number);
        if grows && (segment.chunks == 0 || length < segment.length) {
            writer.active = None;
        }
        if segment.chunks == 0 {
            writer.commit(|db, tally| room::drop_segment(db, tally, &segment))?;
            backend.remove(segment.number)?;
            continue;
        }
        if length < segment.length {
            shorten(writer, &segment, length)?;
            continue;
        }
        if length > segment.length {
            leftovers.count += 1;
            leftovers.bytes += length - segment.length;
        }
        tend(&segment, length, writer)?;
    }
    let active = writer.active.as_ref().map(|active| active.number);
    for (number, length) in there.into_iter().filter(|(number, _)| Some(*number) != active) {
        backend.remove(number)?;
        leftovers.count += 1;
        leftovers.bytes += length;
    }
    Ok(())
}

/// Bytes that rows name are missing, which no crash does, but a damaged disk may: the rows go.
fn shorten(writer: &mut Writer, segment: &Segment, length: u64) -> Result<(), Error> {
    let lost = rows::chunks(&writer.db, segment.number, 0, u64::from(u32::MAX))?;
    let lost: Vec<_> = lost.into_iter().filter(|entry| entry.range().end > length).collect();
    tracing::warn!(
        segment = segment.number,
        chunks = lost.len(),
        "a segment is shorter than it was; what is missing can be fetched again"
    );
    writer.commit(|db, tally| {
        let mut marks = holdings::Marks::default();
        for entry in &lost {
            rows::remove(db, tally, entry, false)?;
            marks.note(db, entry, false)?;
        }
        marks.write(db)?;
        // What was freed of it is not known any more; it counts as taken until the segment goes.
        db.execute("UPDATE segment SET length = ?2, freed = 0 WHERE number = ?1", params![segment.number, length])?;
        Ok(())
    })
}

/// Punches holes that were to be punched when the process ended.
fn fill_holes(writer: &Writer, disk: &Disk, segment: &Segment) -> Result<(), Error> {
    let taken = disk.taken(segment.number).unwrap_or(0);
    if !disk.punches() || taken <= segment.taken(disk.block()) {
        return Ok(());
    }
    gaps(&writer.db, segment)?.into_iter().try_for_each(|gap| disk.punch(segment.number, gap))
}

fn gaps(db: &Connection, segment: &Segment) -> Result<Vec<Range<u64>>, Error> {
    let mut gaps = Vec::new();
    let mut end = 0;
    for entry in rows::chunks(db, segment.number, 0, u64::from(u32::MAX))? {
        if entry.offset > end {
            gaps.push(end..entry.offset);
        }
        end = entry.range().end;
    }
    if segment.length > end {
        gaps.push(end..segment.length);
    }
    Ok(gaps)
}
