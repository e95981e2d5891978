//! Whose a thing is. What is not yours answers as if it were not there.
use super::caller::Asking;
use super::rule::Owned;
use crate::http::Shared;
use crate::http::data::{blocking, root_of};
use crate::http::jobs::{job_id, no_job};
use crate::http::problem::Problem;
use crate::http::submit::{REQUESTER, requester};
use crate::token::Caller;
use axum::http::{HeaderMap, StatusCode};
use gleaner_accounts::AccountId;
use gleaner_wire::api::WorkerView;
use gleaner_wire::{Address, Amount, Hash, JobId, WorkerId, WorkerKey};
use std::collections::{BTreeSet, HashSet};
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
    Ok(shared.people.payers(account).await?.contains(&requester))
}

/// The requesters of an account.
pub(crate) async fn payers(shared: &Shared, account: AccountId) -> Result<Vec<String>, Problem> {
    Ok(shared.people.payers(account).await?)
}

/// In whose name a request is made: whom the operator names, or one of an account's requesters, its own name if none is
/// named.
pub(crate) async fn requester_for(shared: &Shared, caller: Caller, headers: &HeaderMap) -> Result<String, Problem> {
    let Caller::Account(account) = caller else { return requester(headers) };
    let missing = || Problem::not_found("there is no such account");
    if !headers.contains_key(REQUESTER) {
        let found = shared.people.ask(move |accounts| accounts.account(account)).await?;
        return Ok(found.ok_or_else(missing)?.name.payer());
    }
    let name = requester(headers)?;
    if is_payer(shared, account, name.clone()).await? {
        return Ok(name);
    }
    let detail = format!("`{name}` is none of your requesters: link its wallet to your account first");
    Err(Problem::new(StatusCode::FORBIDDEN, "requester", "not in this name", detail))
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
async fn is_workers_owner(shared: &Shared, account: AccountId, view: &WorkerView) -> Result<bool, Problem> {
    let (key, provider) = (view.key, view.offer.provider);
    let owner = shared.people.ask(move |accounts| match (accounts.worker_owner(key)?, provider) {
        (Some(owner), _) => Ok(Some(owner)),
        (None, Some(provider)) => accounts.payer_owner(&provider.to_string()),
        (None, None) => Ok(None),
    });
    Ok(owner.await? == Some(account))
}

/// What makes workers an account's.
#[derive(Default)]
pub(crate) struct Mine {
    claimed: HashSet<WorkerKey>,
    payers: HashSet<String>,
    everything: bool,
}

impl Mine {
    /// Whether a worker is its.
    pub(crate) fn has(&self, view: &WorkerView) -> bool {
        let paid = || view.offer.provider.is_some_and(|provider| self.payers.contains(&provider.to_string()));
        self.everything || self.claimed.contains(&view.key) || paid()
    }

    /// A worker as it is shown: whole to its owner, and to others what they need to choose one.
    pub(crate) fn shown(&self, mut view: WorkerView) -> WorkerView {
        if !self.has(&view) {
            (view.earned, view.settled, view.forfeited) = (Amount::ZERO, Amount::ZERO, Amount::ZERO);
            view.audits = None;
            view.resting = Vec::new();
        }
        view
    }
}

/// Which workers are the caller's: all the operator's, none of strangers.
pub(crate) async fn mine(shared: &Shared, asking: &Asking) -> Result<Mine, Problem> {
    match asking.caller() {
        Some(Caller::Operator) => Ok(Mine { everything: true, ..Mine::default() }),
        Some(Caller::Worker(..)) | None => Ok(Mine::default()),
        Some(Caller::Account(_)) if !asking.person().is_some_and(|person| person.reads()) => Ok(Mine::default()),
        Some(Caller::Account(account)) => {
            let found = shared.people.ask(move |accounts| {
                let (claimed, payers) = (accounts.workers(account)?, accounts.payers(account)?);
                Ok(Mine {
                    claimed: claimed.into_iter().collect(),
                    payers: payers.into_iter().collect(),
                    everything: false,
                })
            });
            Ok(found.await?)
        }
    }
}

/// Workers that are looked at in one question to the keeper, which has other things to do.
const LOOKED_AT_MAX: u32 = 65_536;

/// The machines of an account: those that it has claimed, and those that are paid to its wallets and claimed by nobody.
pub(crate) async fn machines_of(shared: &Shared, account: AccountId) -> Result<BTreeSet<WorkerId>, Problem> {
    let found = shared.people.ask(move |accounts| Ok((accounts.workers(account)?, accounts.payers(account)?)));
    let (claimed, payers) = found.await?;
    let mut mine: BTreeSet<WorkerId> =
        shared.keeper.ask(move |core| claimed.iter().filter_map(|key| core.worker_by_key(key)).collect()).await?;
    let wallets: Arc<BTreeSet<Address>> = Arc::new(payers.iter().filter_map(|payer| payer.parse().ok()).collect());
    let mut from = Some(WorkerId(0)).filter(|_| !wallets.is_empty());
    while let Some(first) = from {
        let wallets = Arc::clone(&wallets);
        let look = shared.keeper.ask(move |core| {
            let (paid, rest) = core.paid_to(&wallets, first, LOOKED_AT_MAX);
            let paid = paid.into_iter().filter_map(|id| core.worker_key(id).map(|key| (id, key)));
            (paid.collect::<Vec<_>>(), rest)
        });
        let (paid, rest) = look.await?;
        let unclaimed = shared.people.ask(move |accounts| {
            let is_unclaimed = |(id, key): (WorkerId, WorkerKey)| {
                accounts.worker_owner(key).map(|owner| owner.is_none().then_some(id)).transpose()
            };
            paid.into_iter().filter_map(is_unclaimed).collect::<Result<Vec<_>, _>>()
        });
        mine.extend(unclaimed.await?);
        from = rest;
    }
    Ok(mine)
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
