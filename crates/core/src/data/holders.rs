//! Which worker holds how much of which dataset, as far as it was told or follows from what was placed there.
//!
//! What is kept is bounded: so much of datasets that live groups read, and far less of all others, which are remembered
//! only in case a job reads them soon.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gleaner_wire::{HELD_MAX, Hash, Held, Millis, WorkerId};
use serde::{Deserialize, Serialize};

/// Pairs of a worker and a dataset that live groups read.
const READ_MAX: usize = 1 << 20;
/// Pairs of a worker and a dataset that nobody reads now.
const OTHER_MAX: usize = 1 << 16;

/// A dataset's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct DataId(u32);

/// What one worker has of a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// The bytes it says it has.
    pub bytes: u64,
    /// A task that reads the dataset was placed there: by this time all of it should be.
    pub whole_at: Option<Millis>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Dataset {
    root: Hash,
    /// Groups that read it, of jobs that are not archived.
    users: u32,
    holders: BTreeMap<WorkerId, Holder>,
}

/// The table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Holders {
    table: Vec<Dataset>,
    free: Vec<DataId>,
    by_root: BTreeMap<Hash, DataId>,
    by_worker: BTreeMap<WorkerId, Vec<DataId>>,
    /// Pairs of datasets that are read, and of others.
    read: u32,
    other: u32,
}

impl Holders {
    /// Whether nobody holds anything.
    pub fn is_empty(&self) -> bool {
        self.by_worker.is_empty()
    }

    /// The dataset with this root, read by one more group.
    pub fn acquire(&mut self, root: Hash) -> DataId {
        let id = self.id_of(root);
        let dataset = &mut self.table[id.0 as usize];
        dataset.users += 1;
        if dataset.users == 1 {
            let count = dataset.holders.len() as u32;
            (self.read, self.other) = (self.read + count, self.other - count);
        }
        id
    }

    /// One group less reads the dataset. What was only expected of its holders is forgotten with the last one.
    pub fn release(&mut self, id: DataId) {
        let dataset = &mut self.table[id.0 as usize];
        dataset.users -= 1;
        if dataset.users > 0 {
            return;
        }
        let count = dataset.holders.len();
        (self.read, self.other) = (self.read - count as u32, self.other + count as u32);
        let full = self.other as usize > OTHER_MAX;
        let gone = dataset.holders.iter().filter(|(_, holder)| full || holder.bytes == 0).map(|(worker, _)| *worker);
        let gone: Vec<_> = gone.collect();
        dataset.holders.values_mut().for_each(|holder| holder.whole_at = None);
        for worker in gone {
            self.remove(id, worker);
            self.unlist(worker, id);
        }
        self.drop_unused(id);
    }

    /// A worker says what it holds: that, and no more. What it is fetching now it may go on to hold. Says whether a live
    /// group reads any of it.
    pub fn report(&mut self, worker: WorkerId, held: &[Held], now: Millis) -> bool {
        let fetching = |(id, holder): (DataId, Holder)| holder.whole_at.filter(|at| *at > now).map(|at| (id, at));
        let expected: Vec<_> = self.held_by(worker).filter_map(fetching).collect();
        let expected: Vec<_> = expected.into_iter().map(|(id, at)| (self.table[id.0 as usize].root, at)).collect();
        self.forget(worker);
        let mut read = false;
        for Held { root, bytes } in held.iter().take(HELD_MAX).filter(|held| held.bytes > 0) {
            if self.by_root.get(root).is_none_or(|id| self.of(*id, worker).is_none()) {
                read |= self.note(worker, *root, Holder { bytes: *bytes, whole_at: None });
            }
        }
        for (root, at) in expected {
            let known = self.by_root.get(&root).and_then(|id| self.of(*id, worker)).unwrap_or_default();
            self.note(worker, root, Holder { whole_at: Some(at), ..known });
        }
        read
    }

    /// A task that reads these datasets was placed on a worker, which will have all of them by then.
    pub fn expect(&mut self, worker: WorkerId, id: DataId, at: Millis) {
        let known = self.of(id, worker).unwrap_or_default();
        let root = self.table[id.0 as usize].root;
        self.note(worker, root, Holder { whole_at: Some(at), ..known });
    }

    /// A task that reads the dataset failed there: only what the worker says itself counts again.
    pub fn doubt(&mut self, worker: WorkerId, id: DataId) {
        match self.table[id.0 as usize].holders.get_mut(&worker) {
            Some(holder) if holder.bytes > 0 => holder.whole_at = None,
            Some(_) => {
                self.remove(id, worker);
                self.unlist(worker, id);
            }
            None => {}
        }
    }

    /// The worker is gone; it says again what it holds when it comes back.
    pub fn forget(&mut self, worker: WorkerId) {
        for id in self.by_worker.remove(&worker).unwrap_or_default() {
            self.remove(id, worker);
            self.drop_unused(id);
        }
    }

    /// What a worker has of a dataset.
    pub fn of(&self, id: DataId, worker: WorkerId) -> Option<Holder> {
        self.table[id.0 as usize].holders.get(&worker).copied()
    }

    /// Who has something of a dataset.
    pub fn workers(&self, id: DataId) -> impl Iterator<Item = WorkerId> + '_ {
        self.table[id.0 as usize].holders.keys().copied()
    }

    /// Whether a worker has anything.
    pub fn holds_any(&self, worker: WorkerId) -> bool {
        self.by_worker.contains_key(&worker)
    }

    fn held_by(&self, worker: WorkerId) -> impl Iterator<Item = (DataId, Holder)> + '_ {
        let ids = self.by_worker.get(&worker).into_iter().flatten();
        ids.filter_map(move |id| Some((*id, self.of(*id, worker)?)))
    }

    fn id_of(&mut self, root: Hash) -> DataId {
        if let Some(id) = self.by_root.get(&root) {
            return *id;
        }
        let fresh = Dataset { root, users: 0, holders: BTreeMap::new() };
        let id = match self.free.pop() {
            Some(id) => {
                self.table[id.0 as usize] = fresh;
                id
            }
            None => {
                self.table.push(fresh);
                DataId(self.table.len() as u32 - 1)
            }
        };
        self.by_root.insert(root, id);
        id
    }

    /// Notes what a worker has, unless there is no room for more. Says whether a live group reads it.
    fn note(&mut self, worker: WorkerId, root: Hash, holder: Holder) -> bool {
        let users = self.by_root.get(&root).map_or(0, |id| self.table[id.0 as usize].users);
        let known = self.by_root.get(&root).is_some_and(|id| self.of(*id, worker).is_some());
        let room = if users > 0 { (self.read as usize) < READ_MAX } else { (self.other as usize) < OTHER_MAX };
        if !known && !room {
            return users > 0;
        }
        let id = self.id_of(root);
        if self.table[id.0 as usize].holders.insert(worker, holder).is_none() {
            self.by_worker.entry(worker).or_default().push(id);
            *(if users > 0 { &mut self.read } else { &mut self.other }) += 1;
        }
        users > 0
    }

    fn remove(&mut self, id: DataId, worker: WorkerId) {
        let dataset = &mut self.table[id.0 as usize];
        if dataset.holders.remove(&worker).is_some() {
            *(if dataset.users > 0 { &mut self.read } else { &mut self.other }) -= 1;
        }
    }

    fn unlist(&mut self, worker: WorkerId, id: DataId) {
        if let Some(listed) = self.by_worker.get_mut(&worker) {
            listed.retain(|held| *held != id);
            if listed.is_empty() {
                self.by_worker.remove(&worker);
            }
        }
    }

    fn drop_unused(&mut self, id: DataId) {
        let dataset = &self.table[id.0 as usize];
        if dataset.users == 0 && dataset.holders.is_empty() && self.by_root.remove(&dataset.root).is_some() {
            self.free.push(id);
        }
    }

    /// The first of its own rules that does not hold.
    pub fn check(&self, users: &BTreeMap<DataId, u32>, online: impl Fn(WorkerId) -> bool) -> Result<(), &'static str> {
        let sets = || self.by_root.values().map(|id| (*id, &self.table[id.0 as usize]));
        let count = |read: bool| {
            let sets = sets().filter(|(_, set)| (set.users > 0) == read);
            sets.map(|(_, set)| set.holders.len()).sum::<usize>()
        };
        let listed = |id: DataId, worker: &WorkerId| {
            let listed = self.by_worker.get(worker);
            listed.is_some_and(|ids| ids.iter().filter(|held| **held == id).count() == 1)
        };
        let mut rules = [
            (count(true) == self.read as usize && count(false) == self.other as usize, "pairs are counted wrong"),
            (self.read as usize <= READ_MAX && self.other as usize <= OTHER_MAX, "more is kept than may be"),
            (sets().all(|(id, set)| users.get(&id).copied().unwrap_or(0) == set.users), "readers are counted wrong"),
            (sets().all(|(_, set)| set.users > 0 || !set.holders.is_empty()), "a dataset of no use is kept"),
            (sets().all(|(id, set)| set.holders.keys().all(|worker| listed(id, worker))), "a holder is not listed"),
            (self.by_worker.values().flatten().count() == count(true) + count(false), "a list names too many datasets"),
            (self.by_worker.keys().all(|worker| online(*worker)), "a worker that is gone holds data"),
            (self.free.len() + self.by_root.len() == self.table.len(), "a place in the table is lost"),
        ]
        .into_iter();
        rules.find(|(holds, _)| !holds).map_or(Ok(()), |(_, broken)| Err(broken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNA: WorkerId = WorkerId(1);
    const NOW: Millis = Millis(1000);

    fn held(name: &[u8], bytes: u64) -> Held {
        Held { root: Hash::of(name), bytes }
    }

    fn checked(holders: &Holders, users: &[(DataId, u32)]) {
        holders.check(&users.iter().copied().collect(), |_| true).expect("its rules hold");
    }

    #[test]
    fn a_report_replaces_the_one_before_it() {
        let mut holders = Holders::default();
        let (first, second) = (holders.acquire(Hash::of(b"a")), holders.acquire(Hash::of(b"b")));
        assert!(holders.report(ANNA, &[held(b"a", 5), held(b"a", 9), held(b"nobody reads it", 7)], NOW));
        assert_eq!(holders.of(first, ANNA).map(|holder| holder.bytes), Some(5));
        holders.report(ANNA, &[held(b"b", 6)], NOW);
        assert_eq!((holders.of(first, ANNA), holders.of(second, ANNA).is_some()), (None, true));
        checked(&holders, &[(first, 1), (second, 1)]);
        holders.forget(ANNA);
        assert!(holders.is_empty());
        checked(&holders, &[(first, 1), (second, 1)]);
    }

    #[test]
    fn what_is_being_fetched_outlasts_reports_until_it_should_be_there() {
        let mut holders = Holders::default();
        let id = holders.acquire(Hash::of(b"a"));
        holders.expect(ANNA, id, Millis(2000));
        holders.report(ANNA, &[], NOW);
        assert_eq!(holders.of(id, ANNA).and_then(|holder| holder.whole_at), Some(Millis(2000)));
        holders.report(ANNA, &[held(b"a", 3)], Millis(2000));
        assert_eq!(holders.of(id, ANNA), Some(Holder { bytes: 3, whole_at: None }));
        holders.doubt(ANNA, id);
        assert_eq!(holders.of(id, ANNA), Some(Holder { bytes: 3, whole_at: None }));
        checked(&holders, &[(id, 1)]);
    }

    #[test]
    fn strangers_cannot_make_it_grow_without_end() {
        let mut holders = Holders::default();
        let read = holders.acquire(Hash::of(b"read"));
        for worker in 0..2000_u32 {
            let junk: Vec<_> = (0..100_u8).map(|at| held(&[&worker.to_le_bytes()[..], &[at]].concat(), 1)).collect();
            holders.report(WorkerId(worker), &junk, NOW);
        }
        assert_eq!(holders.other as usize, OTHER_MAX);
        holders.report(WorkerId(5000), &[held(b"junk", 1), held(b"read", 1)], NOW);
        assert!(holders.of(read, WorkerId(5000)).is_some(), "what jobs read has room of its own");
        checked(&holders, &[(read, 1)]);
        let late = holders.acquire(Hash::of(b"late"));
        holders.report(WorkerId(5001), &[held(b"late", 1)], NOW);
        holders.release(late);
        assert!(holders.other as usize <= OTHER_MAX);
        checked(&holders, &[(read, 1)]);
    }
}
