//! Chunks that small files share lose files as those change. Once less than half of such a chunk is used, the files that
//! are left in it are forgotten, so that the next push brings them together anew: nobody fetches mostly what is gone.
use std::collections::{HashMap, HashSet};

use rusqlite::params;

use super::{Dataset, Error, Index, Number, Span};

/// With more shared chunks than this nothing is tidied, which keeps memory small.
const CHUNKS_MAX: usize = 1 << 20;

impl Index {
    /// Forgets the files below `bytes_max` whose chunks are mostly unused by this dataset; says how many.
    pub fn tidy(&mut self, dataset: Dataset, bytes_max: u64) -> Result<u64, Error> {
        let mut used: HashMap<Number, u64> = HashMap::new();
        self.each_small(dataset, bytes_max, |_, spans| {
            for span in spans {
                if let Some(number) = span.chunk {
                    *used.entry(number).or_default() += span.bytes;
                }
            }
            used.len() <= CHUNKS_MAX
        })?;
        if used.len() > CHUNKS_MAX {
            return Ok(0);
        }
        let mut wasted = HashSet::new();
        for (number, used) in used {
            if used * 2 < u64::from(self.chunk_bytes(number)?) {
                wasted.insert(number);
            }
        }
        let mut paths = Vec::new();
        self.each_small(dataset, bytes_max, |path, spans| {
            if spans.iter().filter_map(|span| span.chunk).any(|number| wasted.contains(&number)) {
                paths.push(path.to_vec());
            }
            true
        })?;
        paths.iter().try_for_each(|path| self.forget_file(dataset, path))?;
        Ok(paths.len() as u64)
    }

    fn each_small(
        &self,
        dataset: Dataset,
        bytes_max: u64,
        mut see: impl FnMut(&[u8], &[Span]) -> bool,
    ) -> Result<(), Error> {
        let query = "SELECT path, spans FROM file JOIN part USING (dataset, path)
            WHERE dataset = ?1 AND bytes < ?2 AND part = 0";
        let mut statement = self.db.prepare_cached(query)?;
        let mut rows = statement.query(params![dataset.number(), bytes_max])?;
        while let Some(row) = rows.next()? {
            let spans = Span::decode_all(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?)?;
            if !see(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?, &spans) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gleaner_wire::Hash;

    use super::super::Stamp;
    use super::super::tests::keys;
    use super::*;
    use crate::chunk::ChunkRef;
    use crate::seal::{ChunkKey, Tag};

    #[test]
    fn files_in_mostly_unused_chunks_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut index = Index::open(&folder.path().join("index"), &keys()).expect("made");
        let dataset = index.dataset(b"/data").expect("made");
        let [full, wasted] = [1, 2].map(|name| {
            let key = ChunkKey::from_bytes([name; 32]);
            let chunk = ChunkRef { id: Hash([name; 32]), key, plain_bytes: 1000, sealed_bytes: 1017 };
            index.remember_chunk(&Tag([name; 32]), &chunk, crate::delta::Grain::Fine, &[]).expect("kept")
        });
        let span = |chunk, bytes| Span { chunk: Some(chunk), offset: 0, bytes };
        let mut keep = |path: &[u8], spans: &[Span]| {
            let stamp = Stamp { bytes: spans.iter().map(|span| span.bytes).sum(), ..Stamp::default() };
            index.remember_file(dataset, path, &stamp, spans).expect("kept");
        };
        keep(b"a", &[span(full, 300)]);
        keep(b"b", &[span(full, 200)]);
        keep(b"c", &[span(wasted, 499)]);
        keep(b"large", &[span(wasted, 400), span(full, 700)]);
        assert_eq!(index.tidy(dataset, 1000).expect("tidied"), 1);
        let left: Vec<_> =
            index.known_after(dataset, b"", 9).expect("asked").into_iter().map(|known| known.path).collect();
        assert_eq!(left, [&b"a"[..], b"b", b"large"]);
        assert_eq!(index.tidy(dataset, 1000).expect("tidied"), 0);
    }
}
