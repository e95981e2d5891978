//! Jobs that have not ended, and money that has not moved: workers get their keys, receipts are checked, settlements approved.
//! What was under way when the desk ended goes on when it is opened again.
use std::sync::Arc;
use std::time::Duration;

use gleaner_chain::primitives::B256;
use gleaner_chain::views::SettlementView;
use gleaner_client::Client;
use gleaner_client::data::Attendant;
use gleaner_requester::{Purse, settle};
use gleaner_wire::api::{JobState, JobSummary, JobView};
use gleaner_wire::{Amount, JobId};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::Error;
use crate::account::Account;
use crate::books::{Job, NewJob, Paid, Stage};
use crate::desk::Inner;

/// How often a job is looked at although no bell rang.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How often a settlement is looked at that waits for its window to pass.
const WINDOW_EVERY: Duration = Duration::from_secs(10);
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// Jobs that wait to be followed.
pub(crate) const BEGUN_MAX: usize = 1024;

/// Goes on with everything that has not ended, and with what is begun, until it is aborted.
pub(crate) async fn attend(inner: Arc<Inner>, mut begun: mpsc::Receiver<Job>) {
    let mut tasks = JoinSet::new();
    let (ringing, client) = (Arc::clone(&inner), inner.client.clone());
    tasks.spawn(async move { ringing.bells.attend(&client).await });
    let mut pause = PAUSE_FIRST;
    while let Err(error) = resume(&inner, &mut tasks).await {
        tracing::warn!(%error, "the desk cannot go on with its jobs yet");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    loop {
        tokio::select! {
            Some(job) = begun.recv() => start(&inner, job, &mut tasks),
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// Jobs that were written down, and those that the hub took just before the desk ended.
async fn resume(inner: &Arc<Inner>, tasks: &mut JoinSet<()>) -> Result<(), Error> {
    for summary in inner.client.jobs().await? {
        if !summary.state.has_ended() && !inner.books.knows(summary.id).await? {
            adopt(inner, &summary).await?;
        }
    }
    for job in inner.books.open_jobs().await? {
        start(inner, job, tasks);
    }
    Ok(())
}

/// Writes down a job that is an account's and was not written down.
pub(crate) async fn adopt(inner: &Inner, summary: &JobSummary) -> Result<(), Error> {
    let Some(account) = inner.books.account_of(&summary.requester).await? else { return Ok(()) };
    let new = NewJob {
        job: summary.id,
        account,
        name: summary.name.clone(),
        prefer: None,
        template: None,
        cap: summary.price_max,
        order: None,
    };
    inner.books.add_job(&new).await
}

/// Follows a job that was just written down.
pub(crate) async fn begin(inner: &Inner, job: JobId, account: &str) -> Result<(), Error> {
    if let Some(job) = inner.books.job_of(account, job).await? {
        // A desk that ends meanwhile goes on with it when it is opened again.
        let _ = inner.begun.send(job).await;
    }
    Ok(())
}

fn start(inner: &Arc<Inner>, job: Job, tasks: &mut JoinSet<()>) {
    let Some(bell) = inner.bells.hang(job.job) else { return };
    let inner = Arc::clone(inner);
    tasks.spawn(async move {
        let mut pause = PAUSE_FIRST;
        while let Err(error) = tend(&inner, &job, &bell).await {
            tracing::info!(job = %job.job, %error, "the desk tries again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        inner.bells.take_down(job.job);
    });
}

/// Does what is left to do about a job.
async fn tend(inner: &Inner, job: &Job, bell: &Notify) -> Result<(), Error> {
    let Some(account) = Account::known(inner, &job.account).await? else { return Err(Error::Defect) };
    let client = account.client(inner)?;
    let view = match ended(&client, job.job, bell).await {
        Err(Error::Hub(error)) if error.is_not_found() => {
            inner.books.ended(job.job, "lost", crate::books::now_ms(), 0).await?;
            inner.books.note(job.job, "the hub does not know this job any more").await?;
            return inner.books.close(job, &Paid::default()).await;
        }
        view => view?,
    };
    if job.stage == Stage::Running {
        let JobSummary { ended_at, submitted_at, .. } = view.summary;
        let ended_at = ended_at.unwrap_or(submitted_at);
        let ran = ended_at.since(submitted_at);
        inner.books.ended(job.job, outcome(&view.summary.state), ended_at.0, ran.0).await?;
    }
    let paid = match account.purse(&client).await? {
        None => in_books(&view),
        Some(purse) => on_chain(inner, &client, &purse, job, &view).await?,
    };
    inner.books.close(job, &paid).await
}

/// Gives workers the keys of a job until it has ended.
async fn ended(client: &Client, job: JobId, bell: &Notify) -> Result<JobView, Error> {
    let mut view = client.job(job).await?;
    if view.summary.state.has_ended() {
        return Ok(view);
    }
    let attendant = Attendant::with_keys_only(client.data(), client.account()?, job, view.groups.len()).await?;
    let _attending = attendant.start();
    while !view.summary.state.has_ended() {
        // Without a ring it is looked at all the same.
        let _rung = tokio::time::timeout(LOOK_EVERY, bell.notified()).await;
        view = client.job(job).await?;
    }
    Ok(view)
}

fn outcome(state: &JobState) -> &'static str {
    match state {
        JobState::Done => "done",
        JobState::Cancelled => "cancelled",
        JobState::Failed { .. } => "failed",
        JobState::Ordered | JobState::Running => unreachable!("it has ended"),
    }
}

/// What was paid where the hub keeps the books.
fn in_books(view: &JobView) -> Paid {
    let sum =
        |of: fn(&gleaner_wire::api::TallyView) -> Amount| view.workers.iter().map(|tally| of(tally).0).sum::<u64>();
    let (gross, earned) = (sum(|tally| tally.gross), sum(|tally| tally.earned));
    let paid = view.summary.spent;
    let refunded = Amount(view.summary.price_max.0.saturating_sub(paid.0));
    Paid { paid, fee: Amount(gross.saturating_sub(earned)), refunded, ..Paid::default() }
}

/// Checks and approves the settlement, and says what the chain made of it.
async fn on_chain(inner: &Inner, client: &Client, purse: &Purse, job: &Job, view: &JobView) -> Result<Paid, Error> {
    let order = match settle(client, purse, job.job).await {
        Ok(settled) => settled.settlement.order,
        Err(error @ gleaner_requester::Error::NotApproved { .. }) => {
            inner.books.note(job.job, &error.to_string()).await?;
            closed(client, job.job).await?
        }
        Err(gleaner_requester::Error::Hub(error)) if error.is_not_found() => {
            let reason = match &view.summary.state {
                JobState::Failed { reason, .. } => format!("its order was not locked: {reason}"),
                JobState::Ordered | JobState::Running | JobState::Done | JobState::Cancelled => {
                    "its order was not locked".to_owned()
                }
            };
            inner.books.note(job.job, &reason).await?;
            return Ok(Paid::default());
        }
        Err(error) => return Err(error.into()),
    };
    let end = purse.market.order_end(order).await.map_err(gleaner_requester::Error::from)?;
    let end = end.ok_or_else(|| gleaner_requester::Error::NotSettled(job.job))?;
    let transaction = Some(end.transaction.to_string());
    let order = Some(order.to_string());
    Ok(Paid { paid: end.gross, fee: end.fee, refunded: end.refunded, order, transaction })
}

/// Waits until a settlement that was not approved is final all the same, and says which order that was.
async fn closed(client: &Client, job: JobId) -> Result<B256, Error> {
    loop {
        let found: SettlementView = client.get(&format!("/jobs/{job}/settlement")).await?;
        if found.closed {
            return Ok(found.settlement.order);
        }
        tokio::time::sleep(WINDOW_EVERY).await;
    }
}
