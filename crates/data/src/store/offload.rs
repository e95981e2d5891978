//! Moving full segments to object storage. Until that is done they are on disk, so nothing is ever nowhere.
use super::rows::{self, Segment};
use super::{Error, Store};
use std::fs;
use std::sync::PoisonError;

/// When more full segments than this wait, whoever puts waits too, so that a fast line does not fill the disk.
const WAITING_MAX: usize = 4;

impl Store {
    /// Moves full segments to object storage, if the store has one. Puts do this by themselves; a failure is reported
    /// here, and tried again with the next put.
    pub fn offload(&self) -> Result<(), Error> {
        let _one = self.offloading.lock().unwrap_or_else(PoisonError::into_inner);
        self.offload_waiting()
    }

    /// After a put: moves what waits unless somebody else does, or too much waits.
    pub(super) fn offload_some(&self) {
        if self.objects.is_none() {
            return;
        }
        let moved = match self.offloading.try_lock() {
            Ok(_one) => self.offload_waiting(),
            Err(_) => match self.waiting() {
                Ok(waiting) if waiting.len() > WAITING_MAX => self.offload(),
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            },
        };
        if let Err(error) = moved {
            tracing::warn!(%error, "full segments stay on disk until object storage takes them");
        }
    }

    fn offload_waiting(&self) -> Result<(), Error> {
        let Some(objects) = &self.objects else { return Ok(()) };
        for segment in self.waiting()? {
            let path = self.disk.path(segment.number);
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                // Compacted or evicted since.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::file("read", &path)(error)),
            };
            objects.keep(segment.number, bytes.into())?;
            let moved = self.move_row(segment.number)?;
            let left = if moved { rows::ON_DISK } else { rows::IN_OBJECTS };
            self.backend(left).remove(segment.number)?;
            // An object has no holes, so the segment may take more there than it did here.
            let mut writer = self.lock_writer();
            let bounded = self.make_room(&mut writer, 0);
            self.publish(&writer);
            bounded?;
        }
        Ok(())
    }

    /// Full segments that are on disk.
    fn waiting(&self) -> Result<Vec<Segment>, Error> {
        let writer = self.lock_writer();
        let mut waiting = rows::segments(&writer.db, &format!("place = {}", rows::ON_DISK))?;
        waiting.retain(|segment| writer.active.as_ref().is_none_or(|active| active.number != segment.number));
        Ok(waiting)
    }

    /// Has the index say that a segment is in object storage, holes and all. Tells whether it still is anywhere.
    fn move_row(&self, number: u64) -> Result<bool, Error> {
        let mut writer = self.lock_writer();
        let moved = writer.commit(|db, tally| {
            let Some(segment) = rows::segment_of(db, number)? else { return Ok(false) };
            db.prepare_cached("UPDATE segment SET place = ?2, freed = 0 WHERE number = ?1")?
                .execute([number, u64::from(rows::IN_OBJECTS)])?;
            tally.taken += segment.freed;
            Ok(true)
        })?;
        self.publish(&writer);
        Ok(moved)
    }
}
