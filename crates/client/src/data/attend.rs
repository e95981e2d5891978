//! Answers workers that got a task of a job and wait for its keys, for as long as somebody watches the job.
use std::time::Duration;

use gleaner_wire::api::KeysLeft;
use gleaner_wire::{JobId, WorkerKey};

use super::direct::Serving;
use super::{Account, HubData, JobKeys, Local};
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
    /// What was pushed from here, and whose it is.
    locals: Option<(Account, Vec<Local>)>,
}

/// Somebody answers in the background while this lives, and gives workers what they miss of the job's data.
#[derive(Debug)]
pub struct Attending {
    answering: tokio::task::JoinHandle<()>,
    _serving: Option<Serving>,
}

impl Drop for Attending {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

impl Attendant {
    /// For a job that was submitted with these keys.
    pub(crate) fn new(hub: HubData, job: JobId, submission: u128, owner: WorkerKey, keys: JobKeys) -> Self {
        Self { hub, job, submission, owner, keys, locals: None }
    }

    /// Offers workers what was pushed from here, too.
    #[must_use]
    pub(crate) fn offering(mut self, account: &Account, locals: Vec<Local>) -> Self {
        self.locals = Some((account.clone(), locals));
        self
    }

    /// For a job that was submitted before, by the same account, from wherever.
    pub async fn of(hub: &HubData, account: &Account, job: JobId, groups: usize) -> Result<Self, Error> {
        let attendant = Self::with_keys_only(hub, account, job, groups).await?;
        let locals = Local::of_job(hub, account, job).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "workers fetch the job's data from the hub and each other only");
            Vec::new()
        });
        Ok(attendant.offering(account, locals))
    }

    /// The same, for a machine that has nothing for workers but keys: the hub has all of the job's data.
    pub async fn with_keys_only(hub: &HubData, account: &Account, job: JobId, groups: usize) -> Result<Self, Error> {
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
    pub fn start(mut self) -> Attending {
        let locals = self.locals.take();
        let serve = |(account, locals): (Account, Vec<Local>)| Serving::start(self.hub.clone(), account.keys(), locals);
        let serving = locals.and_then(serve);
        Attending { answering: tokio::spawn(async move { self.attend().await }), _serving: serving }
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
