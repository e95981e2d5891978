//! Wrapped keys: left by who may read the data, fetched by who got the task. The hub can open none of them.
use super::Shared;
use super::data::{blocking, unhex};
use super::jobs::job_id;
use super::parameters::Parameters;
use super::problem::Problem;
use crate::data::{Found, LEFT_AT_A_TIME_MAX, Wrapped};
use crate::screen;
use crate::token::Caller;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use gleaner_wire::api::{KeysLeft, KeysView, KeysWanted};
use gleaner_wire::{JobId, WorkerId, WorkerKey};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The longest that an answer may be waited for.
const WAIT_MAX: Duration = Duration::from_secs(25);

/// How long to wait for an answer that is not there yet, and for whom keys are asked.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// Seconds to wait for an answer that is not there yet; 25 at most.
    wait: Option<u64>,
    /// Whose keys; a worker asks for its own.
    receiver: Option<WorkerKey>,
}

impl Asked {
    fn until(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.wait.unwrap_or(0)).min(WAIT_MAX)
    }
}

/// Who leaves keys, if it is not a worker.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Giver {
    /// Whose keys these are; a worker leaves its own.
    giver: Option<WorkerKey>,
}

/// `POST /api/v1/keys/{submission}`: by the owner of a job, or by a worker that has some of its keys.
#[utoipa::path(
    post,
    path = "/api/v1/keys/{submission}",
    operation_id = "leave_keys",
    tag = "data",
    summary = "Leaves wrapped keys of tasks for machines",
    params(Giver),
    request_body = Vec<KeysLeft>,
    responses((status = 204, description = "Left")),
    security(("operator" = []), ("worker" = []))
)]
pub(super) async fn leave(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(submission): Path<String>,
    Parameters(said): Parameters<Giver>,
    Json(left): Json<Vec<KeysLeft>>,
) -> Result<StatusCode, Problem> {
    let refuse = || Problem::bad_request("a submission is 32 hexadecimal digits");
    let number = u128::from_str_radix(&submission, 16).ok().filter(|_| submission.len() == 32).ok_or_else(refuse)?;
    let wrapped: Option<Vec<Wrapped>> = left
        .into_iter()
        .take(LEFT_AT_A_TIME_MAX + 1)
        .map(|one| Some(Wrapped { group: one.group, receiver: one.receiver, keys: unhex(&one.keys)? }))
        .collect();
    let wrapped = wrapped.ok_or_else(|| Problem::bad_request("wrapped keys are hexadecimal digits"))?;
    let giver = match caller {
        Caller::Operator | Caller::Account(_) => {
            said.giver.ok_or_else(|| Problem::bad_request("name whose keys these are: ?giver=KEY"))?
        }
        Caller::Worker(_, key) => key,
    };
    let data = Arc::clone(&shared.data);
    let is_worker = matches!(caller, Caller::Worker(..));
    let left = blocking(move || {
        if is_worker && !data.catalog.has_keys(number, &giver)? {
            return Ok(Err("a worker hands on keys that it has got"));
        }
        data.desk.leave(number, &giver, &wrapped)
    });
    left.await?.map_err(Problem::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /api/v1/jobs/{job}/keys/{group}`: a worker's own keys, or for the operator those of the `receiver` it names.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/keys/{group}",
    operation_id = "fetch_keys",
    tag = "data",
    summary = "Wrapped keys of a task, for the machine that asks",
    params(Asked),
    responses(
        (status = 200, description = "The keys", body = KeysView),
        (status = 404, description = "`no-keys`: nobody has left any yet; `not-found`: there is no such group")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) async fn fetch(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((job, group)): Path<(String, String)>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<KeysView>, Problem> {
    let (job, until) = (job_id(&job)?, asked.until());
    let group: u16 = group.parse().map_err(|_| Problem::not_found(format!("job {job} has no group {group}")))?;
    let receiver = match caller {
        Caller::Operator | Caller::Account(_) => {
            asked.receiver.ok_or_else(|| Problem::bad_request("name whose keys you ask for: ?receiver=KEY"))?
        }
        Caller::Worker(worker, key) if screen::is_test(job) => {
            // The hub is the requester of its own tests, and always there.
            return shared.screener.keys((worker, key), job, group).map(Json).ok_or_else(|| not_its_job(job));
        }
        Caller::Worker(worker, key) => {
            check_works_on(&shared, worker, job).await?;
            key
        }
    };
    let mut changes = shared.data.desk.changes();
    loop {
        changes.borrow_and_update();
        let data = Arc::clone(&shared.data);
        let found = blocking(move || data.desk.fetch(job, group, receiver)).await?;
        if let Some(Found { submission, owner, keys, attended }) = found {
            let hex = |keys: Vec<u8>| keys.iter().map(|byte| format!("{byte:02x}")).collect();
            let keys = keys.into_iter().map(hex).collect();
            return Ok(Json(KeysView { submission: format!("{submission:032x}"), owner, keys, attended }));
        }
        if !changed(&shared, &mut changes, until).await {
            let detail = "nobody has left keys for this machine: whoever submitted the job must be online to give them";
            return Err(Problem::new(StatusCode::NOT_FOUND, "no-keys", "the keys are not here yet", detail));
        }
    }
}

/// `GET /api/v1/jobs/{job}/keys`: who waits for keys of this job.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/keys",
    operation_id = "list_keys_wanted",
    tag = "data",
    summary = "Who waits for keys of a job",
    params(Asked),
    responses((status = 200, description = "Who waits", body = Vec<KeysWanted>)),
    security(("operator" = []), ("worker" = []))
)]
pub(super) async fn wanted(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(job): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<Vec<KeysWanted>>, Problem> {
    let (job, until) = (job_id(&job)?, asked.until());
    match caller {
        Caller::Operator | Caller::Account(_) => shared.data.desk.attend(job),
        Caller::Worker(worker, _) => check_works_on(&shared, worker, job).await?,
    }
    let mut changes = shared.data.desk.changes();
    loop {
        changes.borrow_and_update();
        let wanted = shared.data.desk.wanted(job);
        if !wanted.is_empty() || !changed(&shared, &mut changes, until).await {
            let view = |(group, worker)| KeysWanted { group, worker };
            return Ok(Json(wanted.into_iter().map(view).collect()));
        }
    }
}

async fn check_works_on(shared: &Shared, worker: WorkerId, job: JobId) -> Result<(), Problem> {
    if shared.keeper.ask(move |core| core.works_on(worker, job)).await? {
        return Ok(());
    }
    Err(not_its_job(job))
}

fn not_its_job(job: JobId) -> Problem {
    let detail = format!("a worker has to do with keys of tasks that it works on, and it holds none of job {job}");
    Problem::new(StatusCode::FORBIDDEN, "forbidden", "not this worker's job", detail)
}

/// Waits for a change; false when it is too late for one.
async fn changed(shared: &Shared, changes: &mut tokio::sync::watch::Receiver<u64>, until: Instant) -> bool {
    let mut stopping = shared.stopping.clone();
    tokio::select! {
        changed = changes.changed() => changed.is_ok(),
        () = tokio::time::sleep_until(until) => false,
        _ = stopping.changed() => false,
    }
}
