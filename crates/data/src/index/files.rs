//! Files as they were when they were pushed.
//!
//! Paths are kept with a zero byte between names: so their order is that of a walk, and a walk and the index can be
//! compared side by side, each read once.
use rusqlite::{OptionalExtension, params};

use super::{Error, Index, Span};

/// A folder that is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dataset(i64);

impl Dataset {
    pub(super) fn number(self) -> i64 {
        self.0
    }
}

/// By what an unchanged file is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The file system it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its size.
    pub bytes: u64,
    /// When its content was changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything about it was changed, which nobody can set.
    pub changed: i64,
}

/// A file that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Where it is.
    pub path: Vec<u8>,
    /// How it was.
    pub stamp: Stamp,
}

impl Index {
    /// The dataset of a folder.
    pub fn dataset(&mut self, folder: &[u8]) -> Result<Dataset, Error> {
        self.db.execute("INSERT INTO dataset (folder) VALUES (?1) ON CONFLICT DO NOTHING", [folder])?;
        let number = self.db.query_row("SELECT number FROM dataset WHERE folder = ?1", [folder], |row| row.get(0))?;
        Ok(Dataset(number))
    }

    /// The next files after a path, in the order of a walk.
    pub fn known_after(&self, dataset: Dataset, path: &[u8], limit: usize) -> Result<Vec<Known>, Error> {
        let query = "SELECT path, device, inode, bytes, modified, changed FROM file
            WHERE dataset = ?1 AND path > ?2 ORDER BY path LIMIT ?3";
        let mut statement = self.db.prepare_cached(query)?;
        let known = statement.query_map(params![dataset.0, path, limit as u64], |row| {
            let stamp = Stamp {
                device: row.get::<_, i64>(1)?.cast_unsigned(),
                inode: row.get::<_, i64>(2)?.cast_unsigned(),
                bytes: row.get(3)?,
                modified: row.get(4)?,
                changed: row.get(5)?,
            };
            Ok(Known { path: row.get(0)?, stamp })
        })?;
        Ok(known.collect::<Result<_, _>>()?)
    }

    /// One part of what a file is made of; none after the last.
    pub fn spans(&self, dataset: Dataset, path: &[u8], part: u64) -> Result<Option<Vec<Span>>, Error> {
        let query = "SELECT spans FROM part WHERE dataset = ?1 AND path = ?2 AND part = ?3";
        let mut statement = self.db.prepare_cached(query)?;
        let spans: Option<Vec<u8>> =
            statement.query_row(params![dataset.0, path, part], |row| row.get(0)).optional()?;
        spans.map(|spans| Span::decode_all(&spans)).transpose()
    }

    /// Remembers a part of what a file is made of. The file is known once its stamp is.
    pub fn remember_part(&mut self, dataset: Dataset, path: &[u8], part: u64, spans: &[Span]) -> Result<(), Error> {
        let mut statement = self.db.prepare_cached("INSERT OR REPLACE INTO part VALUES (?1, ?2, ?3, ?4)")?;
        statement.execute(params![dataset.0, path, part, Span::encode_all(spans)])?;
        Ok(())
    }

    /// Remembers how a file was, after all of its parts.
    pub fn remember_stamp(&mut self, dataset: Dataset, path: &[u8], stamp: &Stamp, parts: u64) -> Result<(), Error> {
        let query = "DELETE FROM part WHERE dataset = ?1 AND path = ?2 AND part >= ?3";
        self.db.prepare_cached(query)?.execute(params![dataset.0, path, parts])?;
        let Stamp { device, inode, bytes, modified, changed } = *stamp;
        let (device, inode) = (device.cast_signed(), inode.cast_signed());
        let query = "INSERT OR REPLACE INTO file VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let values = params![dataset.0, path, device, inode, bytes, modified, changed];
        self.db.prepare_cached(query)?.execute(values)?;
        Ok(())
    }

    /// Remembers a file at once.
    pub fn remember_file(&mut self, dataset: Dataset, path: &[u8], stamp: &Stamp, spans: &[Span]) -> Result<(), Error> {
        let mut parts = 0;
        for part in spans.chunks(super::SPANS_PER_PART) {
            self.remember_part(dataset, path, parts, part)?;
            parts += 1;
        }
        self.remember_stamp(dataset, path, stamp, parts)
    }

    /// Forgets a file.
    pub fn forget_file(&mut self, dataset: Dataset, path: &[u8]) -> Result<(), Error> {
        self.forget_row(dataset.0, path)
    }

    pub(super) fn forget_row(&mut self, dataset: i64, path: &[u8]) -> Result<(), Error> {
        for query in
            ["DELETE FROM file WHERE dataset = ?1 AND path = ?2", "DELETE FROM part WHERE dataset = ?1 AND path = ?2"]
        {
            self.db.prepare_cached(query)?.execute(params![dataset, path])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::keys;
    use super::super::{Number, SPANS_PER_PART};
    use super::*;

    #[test]
    fn files_come_in_the_order_of_a_walk() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut index = Index::open(&folder.path().join("index"), &keys()).expect("made");
        let (one, other) = (index.dataset(b"/one").expect("made"), index.dataset(b"/other").expect("made"));
        for path in [&b"a.b"[..], b"a\0z", b"b", b"a\0x\0y"] {
            index.remember_file(one, path, &Stamp::default(), &[]).expect("kept");
        }
        let paths = |after: &[u8], limit| -> Vec<Vec<u8>> {
            index.known_after(one, after, limit).expect("asked").into_iter().map(|known| known.path).collect()
        };
        assert_eq!(paths(b"", 10), [&b"a\0x\0y"[..], b"a\0z", b"a.b", b"b"]);
        assert_eq!(paths(b"a\0z", 1), [b"a.b"]);
        assert_eq!(index.known_after(other, b"", 10).expect("asked"), []);
    }

    #[test]
    fn a_file_that_became_shorter_keeps_no_old_parts() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut index = Index::open(&folder.path().join("index"), &keys()).expect("made");
        let dataset = index.dataset(b"/one").expect("made");
        let span = |number: usize| Span { chunk: Some(Number(number as u64 + 1)), offset: 3, bytes: 5 };
        let long: Vec<_> = (0..SPANS_PER_PART + 1).map(span).collect();
        let stamp = Stamp { device: u64::MAX, inode: 1 << 63, bytes: 9, modified: -1, changed: i64::MAX };
        index.remember_file(dataset, b"a", &stamp, &long).expect("kept");
        assert_eq!(index.known_after(dataset, b"", 9).expect("asked")[0].stamp, stamp);
        assert_eq!(index.spans(dataset, b"a", 1).expect("asked"), Some(long[SPANS_PER_PART..].to_vec()));
        index.remember_file(dataset, b"a", &stamp, &long[..1]).expect("kept");
        assert_eq!(index.spans(dataset, b"a", 0).expect("asked"), Some(long[..1].to_vec()));
        assert_eq!(index.spans(dataset, b"a", 1).expect("asked"), None);
        index.forget_file(dataset, b"a").expect("forgotten");
        assert_eq!(index.spans(dataset, b"a", 0).expect("asked"), None);
    }
}
