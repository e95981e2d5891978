//! Keeping all chunks of a dataset, and the list of them.
//!
//! What is listed is pinned under a name of its own first, and handed over to the dataset only when the list is as it should
//! be: a broken list changes nothing of what is kept already.
use super::pin_name;
use gleaner_data::store::{Error, Store};
use gleaner_wire::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// How names begin under which chunks are pinned that no dataset has yet.
const BEFORE: &str = "before:";
/// Makes each of those names another one within this process; what an earlier one has left is let go of at the start.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// What was found of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// How many chunks are listed.
    pub(crate) count: u64,
    /// How many of them are not here; then nothing is pinned, unless it need not be whole.
    pub(crate) missing: u64,
}

impl Pinned {
    /// Whether a dataset can be made of it.
    fn is_enough(&self) -> bool {
        self.count > 0 && self.missing == 0
    }
}

/// Whether all of a dataset has to be here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// All of it.
    Yes,
    /// Workers get the rest from its owner's machine.
    No,
}

/// Chunks of a list, pinned for as long as this is there or until they are the dataset's.
pub(crate) struct Listed<'a> {
    store: &'a Store,
    root: Hash,
    name: String,
    /// Whether the list was remembered before: then it stays so.
    is_known: bool,
    pub(crate) found: Pinned,
}

impl Listed<'_> {
    /// How many bytes of it are here that the dataset does not keep yet.
    pub(crate) fn bytes(&self) -> Result<u64, Error> {
        self.store.pinned_bytes(&self.name, &pin_name(&self.root))
    }

    /// Makes the pins the dataset's, beside those that it has.
    pub(crate) fn keep(mut self) -> Result<Pinned, Error> {
        self.store.hand_over(&self.name, &pin_name(&self.root))?;
        self.is_known = true;
        Ok(self.found)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        let forgotten = if self.is_known { Ok(()) } else { self.store.forget(&self.root) };
        if let Err(error) = self.store.unpin(&self.name).and(forgotten) {
            tracing::warn!(%error, "chunks of a list that came to nothing are held until the next start");
        }
    }
}

/// Pins and remembers the list of a dataset as it comes, the root first.
pub(crate) fn hold_listed(
    store: &Store,
    root: Hash,
    whole: Whole,
    lists: impl Iterator<Item = Vec<Hash>>,
) -> Result<Listed<'_>, Error> {
    let name = format!("{BEFORE}{}:{root}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let is_known = store.holdings(&root)?.is_some();
    let mut held = Listed { store, root, name, is_known, found: Pinned { count: 0, missing: 0 } };
    let (mut count, mut missing, mut failed) = (0_u64, 0_u64, None);
    let mut listed = lists.take_while(|list| !list.is_empty()).flat_map(|list| {
        match pin(store, &held.name, whole, &list) {
            Ok(lacks) => missing += lacks,
            Err(error) => failed = Some(error),
        }
        if count == 0 && list.first() != Some(&root) {
            missing += 1;
        }
        count += list.len() as u64;
        list
    });
    let remembered = store.remember(root, listed.by_ref());
    // A list that is known is not read, and pinned all the same.
    listed.for_each(drop);
    failed.map_or(remembered, Err)?;
    if whole == Whole::No && count > 0 && store.has_many(&[root])?.is_full() {
        missing = 0;
    }
    held.found = Pinned { count, missing };
    Ok(held)
}

/// Pins a part of a list; how much of it is not here. What need not be here is not waited for: pinned all the same, whatever
/// somebody brings later would be kept without having been counted.
fn pin(store: &Store, name: &str, whole: Whole, list: &[Hash]) -> Result<u64, Error> {
    let held = match whole {
        Whole::Yes => store.pin(name, list)?,
        Whole::No => {
            let here = store.has_many(list)?;
            let here: Vec<Hash> = here.positions(true).map(|at| list[at]).collect();
            store.pin(name, &here)?;
            return Ok((list.len() - here.len()) as u64);
        }
    };
    Ok((held.len() - held.count()) as u64)
}

/// Keeps the list of a dataset as it comes, if all of it is here.
pub(crate) fn pin_listed(
    store: &Store,
    root: Hash,
    whole: Whole,
    lists: impl Iterator<Item = Vec<Hash>>,
) -> Result<Pinned, Error> {
    let held = hold_listed(store, root, whole, lists)?;
    if held.found.is_enough() { held.keep() } else { Ok(held.found) }
}

/// Lets go of what a hub has pinned that ended before it was a dataset's.
pub(super) fn let_go_of_leftovers(store: &Store) -> Result<(), Error> {
    let owners = store.owners()?;
    owners.iter().filter(|(name, _)| name.starts_with(BEFORE)).try_for_each(|(name, _)| store.unpin(name).map(|_| ()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use gleaner_data::store::Chunk;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 10_000_000).unwrap();
        (dir, store)
    }

    fn put(store: &Store, chunks: &[&'static [u8]]) -> Vec<Hash> {
        let chunks: Vec<Chunk> = chunks.iter().map(|bytes| Chunk::of(*bytes)).collect();
        let ids = chunks.iter().map(|chunk| chunk.id).collect();
        store.put(chunks).unwrap();
        ids
    }

    fn pins(store: &Store, root: Hash) -> u64 {
        store.owners().unwrap().into_iter().find(|(name, _)| *name == pin_name(&root)).map_or(0, |(_, count)| count)
    }

    #[test]
    fn a_list_that_is_broken_leaves_the_old_pins_and_the_old_list() {
        let (_dir, store) = store();
        let ids = put(&store, &[b"root", b"one", b"two"]);
        let root = ids[0];
        let kept = pin_listed(&store, root, Whole::Yes, std::iter::once(ids.clone())).unwrap();
        assert_eq!((kept, pins(&store, root)), (Pinned { count: 3, missing: 0 }, 3));
        let broken: [Vec<Hash>; 3] = [vec![], vec![root, Hash([9; 32])], vec![ids[1], root]];
        for list in broken {
            let found = pin_listed(&store, root, Whole::Yes, std::iter::once(list.clone())).unwrap();
            assert!(!found.is_enough(), "{list:?}");
            assert_eq!(pins(&store, root), 3, "{list:?}");
            assert_eq!(store.holdings(&root).unwrap().unwrap().count(), 3, "{list:?}");
        }
        assert_eq!(store.owners().unwrap().len(), 1, "nothing else is pinned");
    }

    #[test]
    fn what_came_to_nothing_is_neither_pinned_nor_remembered() {
        let (_dir, store) = store();
        let ids = put(&store, &[b"root"]);
        let wrong = std::iter::once(vec![ids[0], Hash([9; 32])]);
        assert_eq!(pin_listed(&store, ids[0], Whole::Yes, wrong).unwrap().missing, 1);
        assert!(store.owners().unwrap().is_empty());
        assert!(store.holdings(&ids[0]).unwrap().is_none(), "the right list is read when it comes");
    }

    #[test]
    fn of_what_need_not_be_here_only_what_is_here_is_pinned() {
        let (_dir, store) = store();
        let ids = put(&store, &[b"root"]);
        let list = vec![ids[0], Hash([9; 32])];
        let kept = pin_listed(&store, ids[0], Whole::No, std::iter::once(list)).unwrap();
        assert_eq!((kept, pins(&store, ids[0])), (Pinned { count: 2, missing: 0 }, 1));
    }

    #[test]
    fn a_hub_that_ended_meanwhile_leaves_no_pins() {
        let (_dir, store) = store();
        let ids = put(&store, &[b"root", b"kept"]);
        let held = hold_listed(&store, ids[0], Whole::Yes, std::iter::once(vec![ids[0]])).unwrap();
        assert_eq!(held.bytes().unwrap(), 4);
        // As if it had been killed here.
        std::mem::forget(held);
        store.pin(&pin_name(&ids[1]), &[ids[1]]).unwrap();
        let_go_of_leftovers(&store).unwrap();
        assert_eq!(store.owners().unwrap(), [(pin_name(&ids[1]), 1)]);
    }
}
