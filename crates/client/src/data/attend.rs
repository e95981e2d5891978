//! Answers workers that got a task of a job and wait for its keys, for as long as somebody watches the job.
use std::time::Duration;

use gleaner_wire::api::KeysLeft;
use gleaner_wire::{JobId, WorkerKey};

use super::{Account, HubData, JobKeys};
use crate::Error;

const PAUSE: Duration = Duration::from_secs(1);

/// Who can open the data of a job, and gives workers the keys of what they got to do.
#[derive(Clone, Debug)]
pub struct Attendant {
    hub: HubData,
    job: JobId,
    submission: u128,
    owner: WorkerKey,
    keys: JobKeys,
}

/// Somebody answers in the background while this lives.
#[derive(Debug)]
pub struct Attending(tokio::task::JoinHandle<()>);

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Attendant {
    /// For a job that was submitted with these keys.
    pub(crate) fn new(hub: HubData, job: JobId, submission: u128, owner: WorkerKey, keys: JobKeys) -> Self {
        Self { hub, job, submission, owner, keys }
    }

    /// For a job that was submitted before, by the same account, from wherever.
    pub async fn of(hub: &HubData, account: &Account, job: JobId, groups: usize) -> Result<Self, Error> {
        let (mut keys, mut number) = (JobKeys::default(), 0);
        for group in 0..groups {
            let group = u16::try_from(group).map_err(|_| Error::answer(hub.url(), "a job with too many tasks"))?;
            let found = hub.keys(job, group, Some(account.machine_key())).await?;
            let found = found.ok_or(Error::NoKeys(job))?;
            keys.tasks.push(found.open(group, &account.machine()).ok_or(Error::NoKeys(job))?);
            number = found.submission;
        }
        Ok(Self::new(hub.clone(), job, number, account.machine_key(), keys))
    }

    /// The keys.
    pub fn keys(&self) -> &JobKeys {
        &self.keys
    }

    /// Answers in the background for as long as what this returns lives.
    #[must_use]
    pub fn start(self) -> Attending {
        Attending(tokio::spawn(async move { self.attend().await }))
    }

    /// Answers until it is dropped.
    pub async fn attend(&self) {
        loop {
            if let Err(error) = self.answer_once().await {
                tracing::debug!(%error, "keys could not be left");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn answer_once(&self) -> Result<(), Error> {
        let wanted = self.hub.keys_wanted(self.job).await?;
        let wrapped = wanted.iter().filter_map(|want| self.keys.wrap(self.submission, want.group, want.worker));
        let wrapped: Vec<KeysLeft> = wrapped.collect();
        if wrapped.is_empty() {
            return Ok(());
        }
        self.hub.leave_keys(self.submission, self.owner, &wrapped).await
    }

    /// Wraps the keys for everybody who might get a task, because nobody will be here to be asked.
    pub async fn leave_for(&self, workers: &[WorkerKey]) -> Result<(), Error> {
        let groups = u16::try_from(self.keys.tasks.len()).unwrap_or(u16::MAX);
        let all = workers.iter().flat_map(|worker| (0..groups).map(move |group| (group, *worker)));
        let wrapped: Vec<KeysLeft> =
            all.filter_map(|(group, worker)| self.keys.wrap(self.submission, group, worker)).collect();
        for some in wrapped.chunks(1000) {
            self.hub.leave_keys(self.submission, self.owner, some).await?;
        }
        Ok(())
    }
}
