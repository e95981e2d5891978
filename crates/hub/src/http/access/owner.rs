//! Whose a thing is. What is not yours answers as if it were not there.
use super::rule::Owned;
use crate::http::Shared;
use crate::http::data::{blocking, root_of};
use crate::http::jobs::{job_id, no_job};
use crate::http::problem::Problem;
use gleaner_accounts::AccountId;
use gleaner_wire::api::WorkerView;
use gleaner_wire::{Hash, JobId, WorkerId};
use std::sync::Arc;

/// Refuses what is not this account's, in the words for what is not there.
pub(super) async fn check(
    shared: &Shared,
    account: AccountId,
    owned: Owned,
    named: impl Fn(&str) -> Option<String>,
) -> Result<(), Problem> {
    let part = |name: &str| named(name).unwrap_or_default();
    match owned {
        Owned::Nothing => Ok(()),
        Owned::Job => {
            let text = part("job");
            if owns_job(shared, account, job_id(&text)?).await? { Ok(()) } else { Err(no_job(&text)) }
        }
        Owned::Dataset => {
            let root = root_of(&part("root"))?;
            if owns_dataset(shared, account, root).await? { Ok(()) } else { Err(no_dataset(root)) }
        }
        Owned::Worker => {
            let text = part("worker");
            if owns_worker(shared, account, &text).await? { Ok(()) } else { Err(no_worker(&text)) }
        }
        Owned::Submission => {
            let text = part("submission");
            if may_leave_keys(shared, account, &text).await? {
                Ok(())
            } else {
                Err(Problem::not_found(format!("there is no submission {text} on this hub")))
            }
        }
    }
}

/// Whether a requester is one of an account's.
async fn is_payer(shared: &Shared, account: AccountId, requester: String) -> Result<bool, Problem> {
    Ok(shared.people.ask(move |accounts| accounts.payer_owner(&requester)).await? == Some(account))
}

async fn owns_job(shared: &Shared, account: AccountId, job: JobId) -> Result<bool, Problem> {
    match requester_of(shared, job).await? {
        Some(requester) => is_payer(shared, account, requester).await,
        None => Ok(false),
    }
}

/// Who pays for a job, live or ended.
pub(crate) async fn requester_of(shared: &Shared, job: JobId) -> Result<Option<String>, Problem> {
    // In this order: a job is in the archive before it leaves the core.
    if let Some(summary) = shared.keeper.ask(move |core| core.job_summary(job)).await? {
        return Ok(Some(summary.requester));
    }
    Ok(shared.archive.summary(job).await?.map(|summary| summary.requester))
}

async fn owns_dataset(shared: &Shared, account: AccountId, root: Hash) -> Result<bool, Problem> {
    let data = Arc::clone(&shared.data);
    match blocking(move || data.catalog.find(&root)).await? {
        Some(dataset) => is_payer(shared, account, dataset.owner).await,
        None => Ok(false),
    }
}

/// Whether a dataset is there and somebody else's.
pub(crate) async fn is_anothers(shared: &Shared, account: AccountId, root: Hash) -> Result<bool, Problem> {
    let data = Arc::clone(&shared.data);
    match blocking(move || data.catalog.find(&root)).await? {
        Some(dataset) => Ok(!is_payer(shared, account, dataset.owner).await?),
        None => Ok(false),
    }
}

async fn owns_worker(shared: &Shared, account: AccountId, text: &str) -> Result<bool, Problem> {
    let Ok(worker) = text.parse().map(WorkerId) else { return Ok(false) };
    match shared.keeper.ask(move |core| core.worker_view(worker)).await? {
        Some(view) => is_workers_owner(shared, account, &view).await,
        None => Ok(false),
    }
}

/// Whether a worker is an account's: claimed by it, or paid to a wallet that it has proved.
pub(crate) async fn is_workers_owner(shared: &Shared, account: AccountId, view: &WorkerView) -> Result<bool, Problem> {
    let (key, provider) = (view.key, view.offer.provider);
    let owner = shared.people.ask(move |accounts| match (accounts.worker_owner(key)?, provider) {
        (Some(owner), _) => Ok(Some(owner)),
        (None, Some(provider)) => accounts.payer_owner(&provider.to_string()),
        (None, None) => Ok(None),
    });
    Ok(owner.await? == Some(account))
}

/// Before there is a job, whoever has made up the number of the submission; then the owner of the job.
async fn may_leave_keys(shared: &Shared, account: AccountId, text: &str) -> Result<bool, Problem> {
    let Some(number) = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32) else { return Ok(false) };
    let data = Arc::clone(&shared.data);
    match blocking(move || data.catalog.job_of(number)).await? {
        Some(job) => owns_job(shared, account, job).await,
        None => Ok(true),
    }
}

/// There is no such dataset.
fn no_dataset(root: Hash) -> Problem {
    Problem::not_found(format!("there is no dataset {root} on this hub"))
}

/// There is no such worker.
fn no_worker(text: &str) -> Problem {
    Problem::not_found(format!("there is no worker {text} on this hub; `gleaner worker list` shows those that are"))
}
