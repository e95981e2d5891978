//! Wrapped keys: left by who may read the data, fetched by who got the task. The hub can open none of them.
use super::Shared;
use super::data::{blocking, unhex};
use super::jobs::job_id;
use super::parameters::Parameters;
use super::problem::Problem;
use crate::data::{LEFT_AT_A_TIME_MAX, Wrapped};
use crate::token::Caller;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use gleaner_wire::WorkerKey;
use gleaner_wire::api::{KeysLeft, KeysView, KeysWanted};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The longest that an answer may be waited for.
const WAIT_MAX: Duration = Duration::from_secs(25);

/// How long to wait for an answer that is not there yet, and for whom keys are asked.
#[derive(Deserialize)]
pub(super) struct Asked {
    wait: Option<u64>,
    receiver: Option<WorkerKey>,
}

impl Asked {
    fn until(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.wait.unwrap_or(0)).min(WAIT_MAX)
    }
}

/// `POST /api/v1/keys/{submission}`.
pub(super) async fn leave(
    State(shared): State<Arc<Shared>>,
    Path(submission): Path<String>,
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
    let data = Arc::clone(&shared.data);
    blocking(move || data.desk.leave(number, &wrapped)).await?.map_err(Problem::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /api/v1/jobs/{job}/keys/{group}`: a worker's own keys, or for the operator those of the `receiver` it names.
pub(super) async fn fetch(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((job, group)): Path<(String, String)>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<KeysView>, Problem> {
    let (job, until) = (job_id(&job)?, asked.until());
    let group: u16 = group.parse().map_err(|_| Problem::not_found(format!("job {job} has no group {group}")))?;
    let receiver = match caller {
        Caller::Operator => {
            asked.receiver.ok_or_else(|| Problem::bad_request("name whose keys you ask for: ?receiver=KEY"))?
        }
        Caller::Worker(worker, key) => {
            if !shared.keeper.ask(move |core| core.works_on(worker, job)).await? {
                let detail = format!("a worker gets keys of tasks that it works on, and it holds none of job {job}");
                return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", "not this worker's job", detail));
            }
            key
        }
    };
    let mut changes = shared.data.desk.changes();
    loop {
        changes.borrow_and_update();
        let data = Arc::clone(&shared.data);
        let found = blocking(move || data.desk.fetch(job, group, receiver)).await?;
        if let Some((submission, keys)) = found {
            let keys = keys.iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok(Json(KeysView { submission: format!("{submission:032x}"), keys }));
        }
        if !changed(&shared, &mut changes, until).await {
            let detail = "nobody has left keys for this machine: whoever submitted the job must be online to give them";
            return Err(Problem::new(StatusCode::NOT_FOUND, "no-keys", "the keys are not here yet", detail));
        }
    }
}

/// `GET /api/v1/jobs/{job}/keys`: who waits for keys of this job.
pub(super) async fn wanted(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<Vec<KeysWanted>>, Problem> {
    let (job, until) = (job_id(&job)?, asked.until());
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

/// Waits for a change; false when it is too late for one.
async fn changed(shared: &Shared, changes: &mut tokio::sync::watch::Receiver<u64>, until: Instant) -> bool {
    let mut stopping = shared.stopping.clone();
    tokio::select! {
        changed = changes.changed() => changed.is_ok(),
        () = tokio::time::sleep_until(until) => false,
        _ = stopping.changed() => false,
    }
}
