//! Beginnings of chunks whose requests were broken off, for those who sent them to go on with.
use gleaner_wire::Hash;
use std::collections::HashMap;

/// Beginnings that are kept at a time: as many as a few sources can have under way.
const KEPT_MAX: usize = 128;

/// What one source has sent of a chunk. Nobody else is to finish it: if the whole is not what its name says, it must be
/// known who has lied.
#[derive(Debug)]
struct Beginning {
    by: String,
    bytes: Vec<u8>,
}

/// Beginnings by the chunk that they belong to.
#[derive(Debug, Default)]
pub(super) struct Kept {
    beginnings: HashMap<Hash, Beginning>,
}

impl Kept {
    /// Keeps one. Returns how many bytes are of no use now: it, or the one that it replaces.
    pub(super) fn put(&mut self, id: Hash, by: String, bytes: Vec<u8>) -> u64 {
        let known = self.beginnings.get(&id).map(|known| known.bytes.len());
        let is_full = known.is_none() && self.beginnings.len() >= KEPT_MAX;
        if is_full || known.is_some_and(|known| known >= bytes.len()) {
            return bytes.len() as u64;
        }
        self.beginnings.insert(id, Beginning { by, bytes });
        known.unwrap_or_default() as u64
    }

    /// Takes what this source has sent of a chunk, if anything.
    pub(super) fn take(&mut self, id: &Hash, by: &str) -> Vec<u8> {
        if self.beginnings.get(id).is_none_or(|known| known.by != by) {
            return Vec::new();
        }
        self.beginnings.remove(id).map(|known| known.bytes).unwrap_or_default()
    }

    /// A chunk is here. Returns how many bytes of it had come in vain.
    pub(super) fn forget(&mut self, id: &Hash) -> u64 {
        self.beginnings.remove(id).map_or(0, |known| known.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Hash = Hash([1; 32]);

    #[test]
    fn a_beginning_is_given_to_who_sent_it_and_to_nobody_else() {
        let mut kept = Kept::default();
        assert_eq!(kept.put(ID, "one".to_owned(), vec![7; 10]), 0);
        assert!(kept.take(&ID, "two").is_empty());
        assert_eq!(kept.take(&ID, "one"), [7; 10]);
        assert!(kept.take(&ID, "one").is_empty());
    }

    #[test]
    fn the_longest_beginning_stays_and_the_others_count_as_lost() {
        let mut kept = Kept::default();
        assert_eq!(kept.put(ID, "one".to_owned(), vec![7; 10]), 0);
        assert_eq!(kept.put(ID, "two".to_owned(), vec![7; 4]), 4);
        assert_eq!(kept.put(ID, "two".to_owned(), vec![7; 12]), 10);
        assert_eq!(kept.forget(&ID), 12);
        assert_eq!(kept.forget(&ID), 0);
    }

    #[test]
    fn no_more_is_kept_than_a_few_sources_send() {
        let mut kept = Kept::default();
        for number in 0..=u8::try_from(KEPT_MAX).expect("few") {
            let lost = kept.put(Hash([number; 32]), "one".to_owned(), vec![7; 3]);
            assert_eq!(lost > 0, usize::from(number) == KEPT_MAX);
        }
    }
}
