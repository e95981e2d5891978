//! Chunks that were just opened: neighbouring files share them.
use gleaner_wire::Hash;
use std::sync::Arc;

/// How many chunks a thread keeps.
const CHUNKS_MAX: usize = 8;

/// The last few chunks, the newest first.
#[derive(Debug, Default)]
pub(super) struct Cache {
    chunks: Vec<(Hash, Arc<Vec<u8>>)>,
}

impl Cache {
    pub(super) fn find(&mut self, id: Hash) -> Option<Arc<Vec<u8>>> {
        let at = self.chunks.iter().position(|(other, _)| *other == id)?;
        self.chunks[..=at].rotate_right(1);
        Some(Arc::clone(&self.chunks[0].1))
    }

    pub(super) fn keep(&mut self, id: Hash, plain: Vec<u8>) -> Arc<Vec<u8>> {
        self.chunks.truncate(CHUNKS_MAX - 1);
        let plain = Arc::new(plain);
        self.chunks.insert(0, (id, Arc::clone(&plain)));
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chunk_used_longest_ago_goes_first() {
        let mut cache = Cache::default();
        for number in 0..8 {
            cache.keep(Hash([number; 32]), vec![number]);
        }
        assert!(cache.find(Hash([0; 32])).is_some());
        cache.keep(Hash([8; 32]), vec![8]);
        assert_eq!(cache.find(Hash([0; 32])).as_deref(), Some(&vec![0]));
        assert_eq!(cache.find(Hash([1; 32])), None);
    }
}
