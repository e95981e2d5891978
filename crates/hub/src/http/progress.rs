//! How a job goes: its attempts over time, and its graph.
use super::Shared;
use super::jobs::{job_id, view};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::attempts::{Listed, PER_JOB_MAX, Record};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use gleaner_wire::WorkerId;
use gleaner_wire::api::{GroupView, JobView};
use gleaner_wire::progress::{AttemptView, AttemptsView, GraphView};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is asked of the attempts of a job.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// How many of the newest: 2,000 at most, and if not said.
    limit: Option<u64>,
}

/// `GET /api/v1/jobs/{job}/attempts`.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/attempts",
    operation_id = "list_attempts",
    tag = "jobs",
    summary = "The newest attempts of a job: who tried which task when, what became of it, and why there",
    params(Asked),
    responses(
        (status = 200, description = "The attempts", body = AttemptsView),
        (status = 404, description = "`not-found`: there is no such job")
    ),
    security(("operator" = []))
)]
pub(super) async fn attempts(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<AttemptsView>, Problem> {
    let limit = asked.limit.unwrap_or(PER_JOB_MAX);
    if !(1..=PER_JOB_MAX).contains(&limit) {
        return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {PER_JOB_MAX}")));
    }
    let job = job_id(&job)?;
    let view = view(&shared, job).await?;
    let Listed { mut records, mut not_listed } = shared.attempts.of(job).await.map_err(|error| {
        let detail = format!("the list of attempts could not be read: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "archive", "the hub could not read its archive", detail)
    })?;
    let over = records.len().saturating_sub(limit as usize);
    records.drain(..over);
    not_listed += over as u64;
    let names = names(&shared, &records).await?;
    let items = records.into_iter().map(|record| shown(&view, &names, record)).collect();
    Ok(Json(AttemptsView { job, items, not_listed }))
}

/// The names of the workers of some attempts.
async fn names(shared: &Shared, records: &[Record]) -> Result<BTreeMap<WorkerId, String>, Problem> {
    let workers: BTreeSet<WorkerId> = records.iter().map(|record| record.worker).collect();
    let names = shared.keeper.ask(move |core| {
        let named = workers.into_iter().filter_map(|id| Some((id, core.worker_name(id)?.to_owned())));
        named.collect()
    });
    Ok(names.await?)
}

fn shown(view: &JobView, names: &BTreeMap<WorkerId, String>, record: Record) -> AttemptView {
    let (state, cause) = record.state();
    let group = view.groups.get(usize::from(record.group));
    AttemptView {
        attempt: record.attempt,
        task: group.map_or_else(String::new, |group| task_name(group, record.index)),
        group: record.group,
        index: record.index,
        worker: record.worker,
        worker_name: names.get(&record.worker).cloned().unwrap_or_default(),
        started_at: record.started,
        ended_at: record.ended.map(|(at, _)| at),
        state,
        cause,
        why: record.why,
        second: record.second,
    }
}

/// `name[value]` of an element, or the name alone of a single task.
fn task_name(group: &GroupView, index: u32) -> String {
    match group.tasks {
        1 => group.name.clone(),
        _ => format!("{}[{}]", group.name, group.extent.value(index)),
    }
}

/// `GET /api/v1/jobs/{job}/graph`.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/graph",
    operation_id = "show_graph",
    tag = "jobs",
    summary = "A job as a graph: its `[[task]]`s, how far each is, and what reads what",
    responses(
        (status = 200, description = "The graph", body = GraphView),
        (status = 404, description = "`not-found`: there is no such job")
    ),
    security(("operator" = []))
)]
pub(super) async fn graph(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
) -> Result<Json<GraphView>, Problem> {
    let view = view(&shared, job_id(&job)?).await?;
    Ok(Json(GraphView::of(&view)))
}
