//! What tasks delivered: pages for requesters, whole groups for workers that gather them.
use super::Shared;
use super::jobs::{job_id, no_job, view};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::token::Caller;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use gleaner_core::Core;
use gleaner_wire::api::{ResultView, ResultsPage};
use gleaner_wire::{JobId, Output};
use serde::Deserialize;
use std::io;
use std::sync::Arc;

/// Elements that one page covers.
const PAGE_ELEMENTS_MAX: u32 = 10_000;
const PAGE_ELEMENTS_DEFAULT: u32 = 1000;
/// Outputs that are taken from the core at a time.
const GATHERED_TOGETHER: u32 = 8192;

/// What a page may be asked.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Only results of this `[[task]]`.
    task: Option<String>,
    /// The `next` of the page before.
    from: Option<u64>,
    /// How many elements a page covers: 1,000 if not said, 10,000 at most.
    limit: Option<u32>,
}

/// A group as far as paging needs it.
struct Group {
    number: u16,
    name: String,
    count: u32,
}

/// A run of elements of one group.
#[derive(Debug, PartialEq, Eq)]
struct Window {
    group: u16,
    name: String,
    first: u32,
    count: u32,
}

/// `GET /api/v1/jobs/{job}/results`: each page covers `limit` elements, done or not.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/results",
    operation_id = "list_results",
    tag = "jobs",
    summary = "What its tasks delivered; each page covers so many elements, done or not",
    params(Asked),
    responses(
        (status = 200, description = "A page", body = ResultsPage),
        (status = 404, description = "`not-found`: there is no such job or task")
    ),
    security(("operator" = []))
)]
pub(super) async fn results(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<ResultsPage>, Problem> {
    let job = job_id(&job)?;
    let limit = asked.limit.unwrap_or(PAGE_ELEMENTS_DEFAULT).clamp(1, PAGE_ELEMENTS_MAX);
    let (from, task) = (asked.from.unwrap_or(0), asked.task);
    let only = task.clone();
    let page = shared.keeper.ask(move |core| live_page(core, job, from, limit, only.as_deref())).await?;
    if let Some(page) = page {
        return page.map(Json).ok_or_else(|| no_task(job, task.as_deref()));
    }
    archived_page(&shared, job, from, limit, task.as_deref()).await.map(Json)
}

/// `None` if the core does not know the job, `Some(None)` if the job has no such task.
fn live_page(core: &Core, job: JobId, from: u64, limit: u32, only: Option<&str>) -> Option<Option<ResultsPage>> {
    let groups = (0..core.group_count(job)?).filter_map(|number| {
        let count = core.spec(job, number)?.extent.count();
        Some(Group { number, name: core.group_name(job, number)?.to_owned(), count: u32::try_from(count).ok()? })
    });
    let Some((windows, next)) = windows(groups, from, limit, only) else { return Some(None) };
    let results = windows.into_iter().flat_map(|window| {
        let outputs = core.outputs(job, window.group, window.first, window.count);
        outputs.into_iter().map(move |(index, output)| ResultView { task: window.name.clone(), index, output })
    });
    Some(Some(ResultsPage { results: results.collect(), next }))
}

async fn archived_page(
    shared: &Shared,
    job: JobId,
    from: u64,
    limit: u32,
    only: Option<&str>,
) -> Result<ResultsPage, Problem> {
    let view = shared.archive.view(job).await?.ok_or_else(|| no_job(&job.to_string()))?;
    let groups = (0..).zip(view.groups).map(|(number, group)| {
        let count = u32::try_from(group.tasks).unwrap_or(u32::MAX);
        Group { number, name: group.name, count }
    });
    let (windows, next) = windows(groups, from, limit, only).ok_or_else(|| no_task(job, only))?;
    let mut results = Vec::new();
    for window in windows {
        let outputs = shared.archive.outputs(job, window.group, window.first, window.count).await?;
        let name = &window.name;
        results.extend(outputs.into_iter().map(|(index, output)| ResultView { task: name.clone(), index, output }));
    }
    Ok(ResultsPage { results, next })
}

/// The elements of a page that starts at the cursor `from`, and where the next one starts. `None` if no group has the
/// name that is asked for. A cursor is the group's number and the element's index in one number.
fn windows(
    groups: impl Iterator<Item = Group>,
    from: u64,
    limit: u32,
    only: Option<&str>,
) -> Option<(Vec<Window>, Option<u64>)> {
    let (mut windows, mut room, mut known) = (Vec::new(), limit, only.is_none());
    for group in groups {
        if only.is_some_and(|name| name != group.name) {
            continue;
        }
        known = true;
        let start = from.saturating_sub(cursor(group.number, 0)).min(u64::from(group.count));
        let first = u32::try_from(start).expect("at most the count, which fits");
        let count = (group.count - first).min(room);
        if count == 0 && first < group.count {
            return Some((windows, Some(cursor(group.number, first))));
        }
        if count > 0 {
            room -= count;
            windows.push(Window { group: group.number, name: group.name, first, count });
        }
        if first + count < group.count {
            return Some((windows, Some(cursor(group.number, first + count))));
        }
    }
    known.then_some((windows, None))
}

fn cursor(group: u16, index: u32) -> u64 {
    u64::from(group) << 32 | u64::from(index)
}

/// `GET /api/v1/jobs/{job}/outputs/{group}`: the postcard encoding of every output of a group, in order.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/outputs/{group}",
    operation_id = "fetch_outputs",
    tag = "jobs",
    summary = "All outputs of a group",
    responses(
        (status = 200, description = "Postcard: a list of outputs", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 404, description = "`not-found`: there is no such job or group"),
        (status = 409, description = "`not-done`: some of its elements are not done")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) async fn outputs(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((job, group)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let job = job_id(&job)?;
    check_reader(&shared, caller, job).await?;
    let missing = || Problem::not_found(format!("job {job} has no group {group}"));
    let number: u16 = group.parse().map_err(|_| missing())?;
    let view = view(&shared, job).await?;
    let group = view.groups.get(usize::from(number)).ok_or_else(missing)?;
    if group.done != group.tasks {
        let detail =
            format!("{} of {} elements of `{}` are done; ask once all are", group.done, group.tasks, group.name);
        return Err(Problem::new(StatusCode::CONFLICT, "not-done", "the group is not done", detail));
    }
    let count = u32::try_from(group.tasks).map_err(|_| missing())?;
    let length = postcard::to_allocvec(&count).expect("a number can be encoded");
    let gathered = stream::try_unfold((shared, 0_u32), move |(shared, first)| async move {
        if first >= count {
            return Ok(None);
        }
        let piece = gather(&shared, job, number, first, GATHERED_TOGETHER.min(count - first)).await?;
        Ok::<_, io::Error>(Some((piece, (shared, first.saturating_add(GATHERED_TOGETHER)))))
    });
    let head = stream::iter([Ok(Bytes::from(length))]);
    let body = Body::from_stream(futures_util::StreamExt::chain(head, gathered));
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// A worker reads what its own work needs, and nothing of other jobs; it does not even learn whether they are there.
async fn check_reader(shared: &Shared, caller: Caller, job: JobId) -> Result<(), Problem> {
    let allowed = match caller {
        // The guard has made sure that the job is the account's.
        Caller::Operator | Caller::Account(_) => true,
        Caller::Worker(worker, _) => shared.keeper.ask(move |core| core.works_on(worker, job)).await?,
    };
    if allowed {
        return Ok(());
    }
    let detail = format!("a worker reads outputs of jobs that it works on, and it holds no attempt of job {job}");
    Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", "not this worker's job", detail))
}

/// The encodings of some outputs, one after the other. The job may end meanwhile; then the archive has them.
async fn gather(shared: &Shared, job: JobId, group: u16, first: u32, count: u32) -> io::Result<Bytes> {
    let live = shared.keeper.ask(move |core| core.outputs(job, group, first, count)).await.map_err(io::Error::other)?;
    let outputs = if live.is_empty() {
        shared.archive.outputs(job, group, first, count).await.map_err(io::Error::other)?
    } else {
        live
    };
    if outputs.len() != count as usize {
        return Err(io::Error::other("an output has gone"));
    }
    let mut bytes = Vec::with_capacity(outputs.len() * 8);
    for (_, output) in &outputs {
        bytes.extend(encode_output(output));
    }
    Ok(bytes.into())
}

fn encode_output(output: &Output) -> Vec<u8> {
    postcard::to_allocvec(output).expect("outputs hold nothing that postcard cannot encode")
}

fn no_task(job: JobId, task: Option<&str>) -> Problem {
    Problem::not_found(format!("job {job} has no task `{}`", task.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> impl Iterator<Item = Group> {
        [("a", 3), ("b", 1), ("c", 5)].into_iter().zip(0..).map(|((name, count), number)| Group {
            number,
            name: name.to_owned(),
            count,
        })
    }

    fn elements(limit: u32, only: Option<&str>) -> Vec<(u16, u32)> {
        let (mut all, mut from) = (Vec::new(), Some(0));
        while let Some(at) = from {
            let (page, next) = windows(groups(), at, limit, only).expect("a known task");
            assert!(page.iter().map(|window| window.count).sum::<u32>() <= limit);
            all.extend(page.iter().flat_map(|of| (of.first..of.first + of.count).map(|index| (of.group, index))));
            from = next;
        }
        all
    }

    #[test]
    fn pages_of_any_size_cover_every_element_once() {
        let whole = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4)];
        for limit in 1..12 {
            assert_eq!(elements(limit, None), whole, "limit {limit}");
            assert_eq!(elements(limit, Some("c")), whole[4..], "limit {limit}");
        }
        assert!(windows(groups(), 0, 5, Some("d")).is_none());
        assert_eq!(windows(groups(), u64::MAX, 5, None).expect("a page"), (Vec::new(), None));
    }
}
