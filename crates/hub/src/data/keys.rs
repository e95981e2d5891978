//! The desk where wrapped keys are left and fetched. Who gets a task asks here; who can open its data answers.
use super::Catalog;
use crate::Error;
use gleaner_data::seal::{TASK_KEYS_BYTES_MAX, WRAPPING_BYTES};
use gleaner_wire::{JobId, WorkerKey};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Keys left at a time, and in all for one submission.
pub(crate) const LEFT_AT_A_TIME_MAX: usize = 4096;
const LEFT_MAX: u64 = 1_000_000;
/// Who has not looked for this long does not attend any more.
const ATTENDED_TIME: Duration = Duration::from_secs(60);
/// Questions that wait for an answer.
const WANTED_MAX: usize = 65_536;

/// Keys of one task, wrapped for one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wrapped {
    /// The group of the job.
    pub(crate) group: u16,
    /// Who can open them.
    pub(crate) receiver: WorkerKey,
    /// The wrapped keys.
    pub(crate) keys: Vec<u8>,
}

/// Keys for somebody who asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) submission: u128,
    pub(crate) owner: WorkerKey,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) attended: bool,
}

type Wanted = BTreeMap<JobId, BTreeSet<(u16, WorkerKey)>>;

/// The desk.
pub(crate) struct Desk {
    catalog: Arc<Catalog>,
    wanted: Mutex<Wanted>,
    /// When somebody who can open everything last looked who waits.
    attended: Mutex<BTreeMap<JobId, Instant>>,
    /// Changes whenever keys are left or asked for.
    changed: watch::Sender<u64>,
}

impl Desk {
    /// A desk whose keys are in the catalog.
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog, wanted: Mutex::default(), attended: Mutex::default(), changed: watch::Sender::new(0) }
    }

    /// Told when something at the desk changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Leaves keys. Says what is wrong with them, if something is.
    pub(crate) fn leave(
        &self,
        submission: u128,
        giver: &WorkerKey,
        keys: &[Wrapped],
    ) -> Result<Result<(), &'static str>, Error> {
        let fits = |one: &Wrapped| one.keys.len() <= TASK_KEYS_BYTES_MAX + WRAPPING_BYTES;
        if keys.len() > LEFT_AT_A_TIME_MAX || !keys.iter().all(fits) {
            return Ok(Err("too many keys at a time, or too long ones"));
        }
        if self.catalog.keys_left(submission)? + keys.len() as u64 > LEFT_MAX {
            return Ok(Err("too many keys for one job"));
        }
        self.catalog.leave_keys(submission, giver, keys)?;
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        for of_job in wanted.values_mut() {
            of_job.retain(|(group, receiver)| !keys.iter().any(|one| one.group == *group && one.receiver == *receiver));
        }
        wanted.retain(|_, of_job| !of_job.is_empty());
        drop(wanted);
        self.changed.send_modify(|count| *count += 1);
        Ok(Ok(()))
    }

    /// The keys of a task for a machine that got it. If they are not here, it is noted that they are wanted.
    pub(crate) fn fetch(&self, job: JobId, group: u16, for_whom: WorkerKey) -> Result<Option<Found>, Error> {
        if let Some(submission) = self.catalog.submission(job)?
            && let Some(owner) = self.catalog.owner(submission)?
        {
            let keys = self.catalog.keys(submission, group, &for_whom)?;
            if !keys.is_empty() {
                return Ok(Some(Found { submission, owner, keys, attended: self.is_attended(job) }));
            }
        }
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.values().map(BTreeSet::len).sum::<usize>() < WANTED_MAX
            && wanted.entry(job).or_default().insert((group, for_whom))
        {
            drop(wanted);
            self.changed.send_modify(|count| *count += 1);
        }
        Ok(None)
    }

    /// Lets everybody who waits look again.
    pub(crate) fn ring(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Somebody who can open everything looks who waits.
    pub(crate) fn attend(&self, job: JobId) {
        self.attended.lock().unwrap_or_else(PoisonError::into_inner).insert(job, Instant::now());
    }

    fn is_attended(&self, job: JobId) -> bool {
        let attended = self.attended.lock().unwrap_or_else(PoisonError::into_inner);
        attended.get(&job).is_some_and(|at| at.elapsed() < ATTENDED_TIME)
    }

    /// Who waits for keys of a job.
    pub(crate) fn wanted(&self, job: JobId) -> Vec<(u16, WorkerKey)> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.get(&job).into_iter().flatten().take(LEFT_AT_A_TIME_MAX).copied().collect()
    }

    /// Nobody waits for keys of these any more.
    pub(crate) fn forget(&self, jobs: &[JobId]) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut attended = self.attended.lock().unwrap_or_else(PoisonError::into_inner);
        for job in jobs {
            wanted.remove(job);
            attended.remove(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_shown_until_keys_are_left() {
        let dir = tempfile::tempdir().expect("a folder");
        let catalog = Arc::new(Catalog::open(&dir.path().join("data.db")).expect("opens"));
        let desk = Desk::new(Arc::clone(&catalog));
        let (job, worker) = (JobId(1), WorkerKey([7; 32]));
        catalog.submitted(job, 99).expect("noted");
        assert_eq!(desk.fetch(job, 0, worker).expect("asked"), None);
        assert_eq!(desk.fetch(job, 0, worker).expect("asked"), None);
        assert_eq!(desk.wanted(job), [(0, worker)]);
        let keys = Wrapped { group: 0, receiver: worker, keys: vec![1; 100] };
        let owner = WorkerKey([1; 32]);
        desk.leave(99, &owner, std::slice::from_ref(&keys)).expect("left").expect("in order");
        assert!(desk.wanted(job).is_empty());
        let found = desk.fetch(job, 0, worker).expect("asked").expect("there");
        assert_eq!(found, Found { submission: 99, owner, keys: vec![keys.keys], attended: false });
        desk.attend(job);
        assert!(desk.fetch(job, 0, worker).expect("asked").expect("there").attended);
        let long = Wrapped { group: 0, receiver: worker, keys: vec![1; 1 << 20] };
        assert!(desk.leave(99, &owner, &[long]).expect("asked").is_err());
    }
}
