//! Chunks that were pushed, known by their tags.
use std::collections::HashSet;

use gleaner_wire::Hash;
use rusqlite::{OptionalExtension, params};

use super::{Error, Index, Number, Span};
use crate::chunk::ChunkRef;
use crate::delta::{Grain, Old, Sum};
use crate::seal::{ChunkKey, Tag};

/// What is known about a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is a chunk.
    Chunk(Number),
    /// It is made of parts of other chunks.
    Made(Vec<Span>),
}

impl Index {
    /// What is known about the content with this tag.
    pub fn find(&self, tag: &Tag) -> Result<Option<Found>, Error> {
        let mut statement = self.db.prepare_cached("SELECT number FROM chunk WHERE tag = ?1")?;
        let number = statement.query_row([&tag.0[..]], |row| row.get(0)).optional()?;
        if let Some(number) = number {
            return Ok(Some(Found::Chunk(Number(number))));
        }
        let mut statement = self.db.prepare_cached("SELECT spans FROM made WHERE tag = ?1")?;
        let spans: Option<Vec<u8>> = statement.query_row([&tag.0[..]], |row| row.get(0)).optional()?;
        spans.map(|spans| Span::decode_all(&spans).map(Found::Made)).transpose()
    }

    /// Remembers a chunk that the sink has taken. If another thread was faster, that one's stays.
    pub fn remember_chunk(&mut self, tag: &Tag, chunk: &ChunkRef, grain: Grain, sums: &[Sum]) -> Result<Number, Error> {
        let statement = "INSERT INTO chunk (tag, id, key, plain, sealed) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (tag) DO NOTHING";
        let values =
            params![&tag.0[..], &chunk.id.0[..], &chunk.key.expose()[..], chunk.plain_bytes, chunk.sealed_bytes];
        if self.db.prepare_cached(statement)?.execute(values)? == 0 {
            let mut statement = self.db.prepare_cached("SELECT number FROM chunk WHERE tag = ?1")?;
            return Ok(Number(statement.query_row([&tag.0[..]], |row| row.get(0))?));
        }
        let number = self.db.last_insert_rowid();
        let mut statement = self.db.prepare_cached("INSERT INTO sums VALUES (?1, ?2, ?3)")?;
        statement.execute(params![number, grain == Grain::Coarse, Sum::encode_all(sums)])?;
        self.last = Number(number.unsigned_abs());
        Ok(self.last)
    }

    /// Remembers of which parts of other chunks a content is made.
    pub fn remember_made(&mut self, tag: &Tag, spans: &[Span]) -> Result<(), Error> {
        let mut statement = self.db.prepare_cached("INSERT OR REPLACE INTO made VALUES (?1, ?2)")?;
        statement.execute(params![&tag.0[..], Span::encode_all(spans)])?;
        Ok(())
    }

    /// What names and opens a chunk.
    pub fn chunk(&self, number: Number) -> Result<ChunkRef, Error> {
        let mut statement = self.db.prepare_cached("SELECT id, key, plain, sealed FROM chunk WHERE number = ?1")?;
        let row = statement.query_row([number.0], |row| {
            Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, [u8; 32]>(1)?, row.get(2)?, row.get(3)?))
        });
        let (id, key, plain_bytes, sealed_bytes) = row.optional()?.ok_or(Error::Damaged("a chunk is missing"))?;
        Ok(ChunkRef { id: Hash(id), key: ChunkKey::from_bytes(key), plain_bytes, sealed_bytes })
    }

    /// The size of a chunk.
    pub fn chunk_bytes(&self, number: Number) -> Result<u32, Error> {
        let mut statement = self.db.prepare_cached("SELECT plain FROM chunk WHERE number = ?1")?;
        let bytes = statement.query_row([number.0], |row| row.get(0)).optional()?;
        bytes.ok_or(Error::Damaged("a chunk is missing"))
    }

    /// A chunk as something to look for changed bytes in.
    pub fn old(&self, number: Number) -> Result<Old, Error> {
        let query = "SELECT plain, coarse, sums FROM chunk JOIN sums USING (number) WHERE number = ?1";
        let mut statement = self.db.prepare_cached(query)?;
        let row = statement.query_row([number.0], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?)));
        let (bytes, is_coarse, sums) = row.optional()?.ok_or(Error::Damaged("a chunk is missing"))?;
        let grain = if is_coarse { Grain::Coarse } else { Grain::Fine };
        Ok(Old { number, bytes, grain, sums: Sum::decode_all(&sums) })
    }

    /// Forgets chunks that the other side has lost, and everything that was made of them: it is read and sent again.
    pub fn forget_chunks(&mut self, lost: &HashSet<Hash>) -> Result<u64, Error> {
        let mut numbers = HashSet::new();
        {
            let mut statement = self.db.prepare("SELECT number, id FROM chunk")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if lost.contains(&Hash(row.get(1)?)) {
                    numbers.insert(Number(row.get(0)?));
                }
            }
        }
        self.forget_numbers(&numbers)?;
        Ok(numbers.len() as u64)
    }

    pub(super) fn forget_numbers(&mut self, numbers: &HashSet<Number>) -> Result<(), Error> {
        self.forget_made_of(numbers)?;
        for number in numbers {
            self.db.prepare_cached("DELETE FROM chunk WHERE number = ?1")?.execute([number.0])?;
            self.db.prepare_cached("DELETE FROM sums WHERE number = ?1")?.execute([number.0])?;
        }
        Ok(())
    }

    fn forget_made_of(&mut self, numbers: &HashSet<Number>) -> Result<(), Error> {
        let is_of = |spans: Vec<u8>| -> Result<bool, Error> {
            let spans = Span::decode_all(&spans)?;
            Ok(spans.iter().filter_map(|span| span.chunk).any(|number| numbers.contains(&number)))
        };
        let (mut tags, mut files) = (Vec::<Vec<u8>>::new(), Vec::<(i64, Vec<u8>)>::new());
        {
            let mut statement = self.db.prepare("SELECT tag, spans FROM made")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if is_of(row.get(1)?)? {
                    tags.push(row.get(0)?);
                }
            }
            let mut statement = self.db.prepare("SELECT dataset, path, spans FROM part")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if is_of(row.get(2)?)? {
                    files.push((row.get(0)?, row.get(1)?));
                }
            }
        }
        for tag in tags {
            self.db.prepare_cached("DELETE FROM made WHERE tag = ?1")?.execute([tag])?;
        }
        files.iter().try_for_each(|(dataset, path)| self.forget_row(*dataset, path))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::keys;
    use super::*;
    use crate::delta::Summer;
    use crate::measure::noise;

    fn chunk(number: u8) -> ChunkRef {
        ChunkRef {
            id: Hash([number; 32]),
            key: ChunkKey::from_bytes([number; 32]),
            plain_bytes: 5000,
            sealed_bytes: 4000,
        }
    }

    #[test]
    fn chunks_are_found_by_tag_after_a_commit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        let sums = Summer::new(&keys()).sums(Grain::Coarse, &noise(1, 5000));
        let mut index = Index::open(&path, &keys()).expect("made");
        let number = index.remember_chunk(&Tag([1; 32]), &chunk(1), Grain::Coarse, &sums).expect("remembered");
        assert_eq!(index.remember_chunk(&Tag([1; 32]), &chunk(9), Grain::Coarse, &sums).expect("known"), number);
        let later = index.remember_chunk(&Tag([2; 32]), &chunk(2), Grain::Coarse, &sums).expect("remembered");
        index.remember_made(&Tag([3; 32]), &[Span { chunk: Some(later), offset: 0, bytes: 9 }]).expect("remembered");
        index.commit(number).expect("committed");
        index.remember_chunk(&Tag([4; 32]), &chunk(4), Grain::Coarse, &sums).expect("remembered");
        drop(index);

        let index = Index::open(&path, &keys()).expect("opened");
        assert_eq!(index.find(&Tag([1; 32])).expect("asked"), Some(Found::Chunk(number)));
        for (tag, why) in [(2, "it was not safe"), (3, "what it is made of was not safe"), (4, "never committed")] {
            assert_eq!(index.find(&Tag([tag; 32])).expect("asked"), None, "{why}");
        }
        assert_eq!(index.chunk(number).expect("there"), chunk(1));
        let old = index.old(number).expect("there");
        assert_eq!((old.grain, old.sums), (Grain::Coarse, sums));
    }

    #[test]
    fn a_forgetful_index_knows_what_was_kept_and_keeps_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("index");
        let mut index = Index::open(&path, &keys()).expect("made");
        let kept = index.remember_chunk(&Tag([1; 32]), &chunk(1), Grain::Fine, &[]).expect("remembered");
        index.commit(kept).expect("committed");
        drop(index);
        let mut index = Index::open_forgetful(&path, &keys()).expect("opened");
        assert_eq!(index.find(&Tag([1; 32])).expect("asked"), Some(Found::Chunk(kept)));
        let told = index.remember_chunk(&Tag([2; 32]), &chunk(2), Grain::Fine, &[]).expect("remembered");
        index.commit(told).expect("taken back later");
        assert_eq!(index.find(&Tag([2; 32])).expect("asked"), Some(Found::Chunk(told)));
        drop(index);
        let index = Index::open(&path, &keys()).expect("opened");
        assert_eq!(index.find(&Tag([1; 32])).expect("asked"), Some(Found::Chunk(kept)));
        assert_eq!(index.find(&Tag([2; 32])).expect("asked"), None);
    }

    #[test]
    fn what_the_other_side_lost_is_forgotten_with_all_that_is_made_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut index = Index::open(&folder.path().join("index"), &keys()).expect("made");
        let numbers =
            [1, 2].map(|name| index.remember_chunk(&Tag([name; 32]), &chunk(name), Grain::Fine, &[]).expect("kept"));
        let of = |number| Span { chunk: Some(number), offset: 0, bytes: 10 };
        index.remember_made(&Tag([3; 32]), &[of(numbers[0]), of(numbers[1])]).expect("kept");
        index.remember_made(&Tag([4; 32]), &[of(numbers[1])]).expect("kept");
        let dataset = index.dataset(b"/data").expect("made");
        index.remember_file(dataset, b"one", &Default::default(), &[of(numbers[0])]).expect("kept");
        index.remember_file(dataset, b"two", &Default::default(), &[of(numbers[1])]).expect("kept");

        assert_eq!(index.forget_chunks(&HashSet::from([Hash([1; 32])])).expect("forgotten"), 1);
        assert_eq!(index.find(&Tag([1; 32])).expect("asked"), None);
        assert_eq!(index.find(&Tag([3; 32])).expect("asked"), None);
        assert_eq!(index.find(&Tag([4; 32])).expect("asked"), Some(Found::Made(vec![of(numbers[1])])));
        let left: Vec<_> =
            index.known_after(dataset, b"", 10).expect("asked").into_iter().map(|known| known.path).collect();
        assert_eq!(left, [b"two"]);
    }
}
