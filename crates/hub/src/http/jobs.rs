//! Jobs: listing, showing, explaining and cancelling them. Ended ones come from the archive.
use super::Shared;
use super::access::payers;
use super::parameters::Parameters;
use super::problem::Problem;
use crate::journal::JobFilter;
use crate::proof::{RECEIPTS_MAX, Unmade};
use crate::token::Caller;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use gleaner_core::{Core, Event};
use gleaner_wire::JobId;
use gleaner_wire::api::{ExplainView, JobState, JobSummary, JobView, JobsPage};
use gleaner_wire::progress::TracedJob;
use gleaner_wire::receipt::TaskReceipt;
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;

/// Jobs on one page.
const PAGE_MAX: u32 = 1000;
const PAGE_DEFAULT: u32 = 100;

/// What is asked of the list of jobs.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// Only jobs that stand so: `ordered`, `running`, `done`, `cancelled` or `failed`.
    state: Option<String>,
    /// Only jobs of this requester.
    requester: Option<String>,
    /// How many on a page: 100 if not said, 1,000 at most.
    limit: Option<u32>,
    /// The `next` of the page before, asked with the same conditions.
    cursor: Option<String>,
}

/// `GET /api/v1/jobs`: newest first.
#[utoipa::path(
    get,
    path = "/api/v1/jobs",
    operation_id = "list_jobs",
    tag = "jobs",
    summary = "Jobs, newest first, live and ended",
    params(Listing),
    responses((status = 200, description = "A page", body = JobsPage)),
    security(("operator" = []))
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Parameters(listing): Parameters<Listing>,
) -> Result<Json<JobsPage>, Problem> {
    let limit = listing.limit.unwrap_or(PAGE_DEFAULT);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {PAGE_MAX}")));
    }
    if let Some(state) = listing.state.as_deref().filter(|state| !JobState::WORDS.contains(state)) {
        let detail = format!("`{state}` is no state of a job: write one of {}", JobState::WORDS.join(", "));
        return Err(Problem::bad_parameter("state", detail));
    }
    let before = listing.cursor.as_deref().map(str::parse::<u64>).transpose();
    let detail = "this is no place in a list of jobs: use the `next` of the page before";
    let before = before.map_err(|_| Problem::bad_parameter("cursor", detail))?;
    let requesters = match caller {
        Caller::Account(account) => {
            let own = payers(&shared, account).await?;
            Some(own.into_iter().filter(|name| listing.requester.as_ref().is_none_or(|asked| asked == name)).collect())
        }
        Caller::Operator | Caller::Worker(..) => listing.requester.map(|requester| vec![requester]),
    };
    let filter = JobFilter { state: listing.state, requesters, before: before.map(JobId) };
    page(&shared, filter, limit).await.map(Json)
}

/// A page of the jobs that a filter leaves.
pub(super) async fn page(shared: &Shared, filter: JobFilter, limit: u32) -> Result<JobsPage, Problem> {
    let wanted = filter.clone();
    let live = move |core: &Core| {
        let jobs = core.jobs();
        let all: HashSet<JobId> = jobs.iter().map(|job| job.id).collect();
        (jobs.into_iter().filter(|job| wanted.takes(job)).collect::<Vec<_>>(), all)
    };
    let (mut items, live) = shared.keeper.ask(live).await?;
    // One more than fits says whether there is another page.
    let ended = shared.archive.page(filter, limit + 1).await?;
    // A job may end between the two looks; the live view was true when it was asked for.
    items.extend(ended.into_iter().filter(|job| !live.contains(&job.id)));
    items.sort_by_key(|job| std::cmp::Reverse(job.id));
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| more).map(|last| last.id.to_string());
    Ok(JobsPage { items, next })
}

/// `GET /api/v1/jobs/{job}`.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}",
    operation_id = "show_job",
    tag = "jobs",
    summary = "One job, live or ended",
    responses(
        (status = 200, description = "The job", body = TracedJob),
        (status = 404, description = "`not-found`: there is no such job")
    ),
    security(("operator" = []))
)]
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
) -> Result<Json<TracedJob>, Problem> {
    let job = job_id(&job)?;
    let view = view(&shared, job).await?;
    Ok(Json(TracedJob { view, trace_id: shared.traces.shown(job) }))
}

/// `GET /api/v1/jobs/{job}/explain`.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/explain",
    operation_id = "explain_job",
    tag = "jobs",
    summary = "Why its tasks wait, or run where they run",
    responses(
        (status = 200, description = "The reasons", body = ExplainView),
        (status = 404, description = "`not-found`: there is no such job")
    ),
    security(("operator" = []))
)]
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
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The number of the first one.
    first: Option<usize>,
    /// How many; 256 at most.
    count: Option<usize>,
}

/// `GET /api/v1/jobs/{job}/proofs`: the receipts of its judged results, in order.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/proofs",
    operation_id = "list_proofs",
    tag = "proofs",
    summary = "The receipts of a job's judged results, in order",
    params(Wanted),
    responses(
        (status = 200, description = "The receipts, at most 256", body = Vec<TaskReceipt>),
        (status = 404, description = "`not-found`: there is no such job"),
        (status = 503, description = "`receipts-not-made`: they cannot be made now; `unavailable`: the hub takes nothing now")
    ),
    security(("operator" = []))
)]
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
#[utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/cancel",
    operation_id = "cancel_job",
    tag = "jobs",
    summary = "Stops a job",
    responses(
        (status = 200, description = "The job as it is now", body = JobSummary),
        (status = 404, description = "`not-found`: there is no such job"),
        (status = 409, description = "`ended`: it has ended already")
    ),
    security(("operator" = []))
)]
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
