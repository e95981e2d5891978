//! Jobs: listing, showing, explaining and cancelling them. Ended ones come from the archive.
use super::Shared;
use super::parameters::Parameters;
use super::problem::Problem;
use crate::proof::{RECEIPTS_MAX, Unmade};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use gleaner_core::Event;
use gleaner_wire::JobId;
use gleaner_wire::api::{ExplainView, JobSummary, JobView};
use gleaner_wire::receipt::TaskReceipt;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// Jobs in one listing.
const LISTED_MAX: u32 = 1000;

/// What a listing may be asked.
#[derive(Deserialize)]
pub(super) struct Listing {
    limit: Option<u32>,
}

/// `GET /api/v1/jobs`: newest first.
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Parameters(listing): Parameters<Listing>,
) -> Result<Json<Vec<JobSummary>>, Problem> {
    let limit = listing.limit.unwrap_or(LISTED_MAX).min(LISTED_MAX);
    let mut jobs = shared.keeper.ask(|core| core.jobs()).await?;
    let live: HashSet<JobId> = jobs.iter().map(|job| job.id).collect();
    let ended = shared.archive.newest(limit).await?;
    // A job may end between the two looks; the live view was true when it was asked for.
    jobs.extend(ended.into_iter().filter(|job| !live.contains(&job.id)));
    jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
    jobs.truncate(limit as usize);
    Ok(Json(jobs))
}

/// `GET /api/v1/jobs/{job}`.
pub(super) async fn show(State(shared): State<Arc<Shared>>, Path(job): Path<String>) -> Result<Json<JobView>, Problem> {
    let job = job_id(&job)?;
    view(&shared, job).await.map(Json)
}

/// `GET /api/v1/jobs/{job}/explain`.
pub(super) async fn explain(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
) -> Result<Json<ExplainView>, Problem> {
    let job = job_id(&job)?;
    if let Some(view) = shared.keeper.ask(move |core| core.explain(job)).await? {
        return Ok(Json(view));
    }
    let view = view(&shared, job).await?;
    let (state, contests) = (view.summary.state, view.contests);
    Ok(Json(ExplainView { job, state, waiting: Vec::new(), running: Vec::new(), running_more: 0, contests }))
}

/// Which receipts are wanted.
#[derive(Deserialize)]
pub(super) struct Wanted {
    first: Option<usize>,
    count: Option<usize>,
}

/// `GET /api/v1/jobs/{job}/proofs`: the receipts of its judged results, in order.
pub(super) async fn proofs(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Parameters(wanted): Parameters<Wanted>,
) -> Result<Json<Vec<TaskReceipt>>, Problem> {
    let job = job_id(&job)?;
    view(&shared, job).await?;
    let (first, count) = (wanted.first.unwrap_or(0), wanted.count.unwrap_or(RECEIPTS_MAX));
    let receipts = shared.receipts().of(job, first, count).await;
    let problem = |unmade: Unmade| {
        let (status, title) = (StatusCode::SERVICE_UNAVAILABLE, "the receipts cannot be made now");
        Problem::new(status, "receipts-not-made", title, unmade.to_string())
    };
    receipts.map(Json).map_err(problem)
}

/// `POST /api/v1/jobs/{job}/cancel`.
pub(super) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
) -> Result<Json<JobSummary>, Problem> {
    let job = job_id(&job)?;
    let before = view(&shared, job).await?.summary;
    if before.state.has_ended() {
        let detail = format!("job {job} has ended already");
        return Err(Problem::new(StatusCode::CONFLICT, "ended", "the job has ended", detail));
    }
    shared.keeper.tell(Event::JobCancelled { job }).await?;
    view(&shared, job).await.map(|view| Json(view.summary))
}

/// A job, live or ended.
pub(super) async fn view(shared: &Shared, job: JobId) -> Result<JobView, Problem> {
    // In this order: a job is in the archive before it leaves the core.
    if let Some(view) = shared.keeper.ask(move |core| core.job_view(job)).await? {
        return Ok(view);
    }
    shared.archive.view(job).await?.ok_or_else(|| no_job(&job.to_string()))
}

/// Reads a job's number.
pub(super) fn job_id(text: &str) -> Result<JobId, Problem> {
    let number = text.parse().ok().filter(|number| i64::try_from(*number).is_ok());
    number.map(JobId).ok_or_else(|| no_job(text))
}

/// There is no such job.
pub(super) fn no_job(job: &str) -> Problem {
    Problem::not_found(format!("there is no job {job} on this hub; `gleaner job list` shows those that are"))
}
