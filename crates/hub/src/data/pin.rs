//! Keeping all chunks of a dataset, and the list of them.
use super::pin_name;
use gleaner_data::store::{Error, Store};
use gleaner_wire::Hash;

/// What was found of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// How many chunks are listed.
    pub(crate) count: u64,
    /// How many of them are not here; then nothing is pinned, unless it need not be whole.
    pub(crate) missing: u64,
}

/// Whether all of a dataset has to be here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// All of it.
    Yes,
    /// Workers get the rest from its owner's machine.
    No,
}

/// Pins and remembers the list of a dataset as it comes, the root first.
pub(crate) fn pin_listed(
    store: &Store,
    root: Hash,
    whole: Whole,
    lists: impl Iterator<Item = Vec<Hash>>,
) -> Result<Pinned, Error> {
    let name = pin_name(&root);
    let (mut count, mut missing, mut failed) = (0_u64, 0_u64, None);
    let mut listed = lists.take_while(|list| !list.is_empty()).flat_map(|list| {
        match store.pin(&name, &list) {
            Ok(held) => missing += (held.len() - held.count()) as u64,
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
        return Ok(Pinned { count, missing: 0 });
    }
    if missing > 0 || count == 0 {
        store.unpin(&name)?;
    }
    Ok(Pinned { count, missing })
}
