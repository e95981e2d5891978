//! Workers and the books.
use super::Shared;
use super::access::{Anyone, Mine, mine};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::token::Caller;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gleaner_core::{Cursor, CursorError, Event, FOUND_MAX, SortedCursor};
use gleaner_wire::api::{LedgerView, WorkerView};
use gleaner_wire::query::{Field, Operator, Query, QueryError, Sort, Term, WorkersPage};
use gleaner_wire::{WorkerId, WorkerKey};
use serde::Deserialize;
use std::str::FromStr;
use std::sync::Arc;

/// Workers on one page, unless the caller says otherwise.
const LIMIT_DEFAULT: usize = 100;

/// What is asked of the list of workers. All conditions must hold.
#[derive(Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Conditions in one text: `memory>=24GiB device=nvidia region=eu price<0.4 score>=80`.
    query: Option<String>,
    /// The kind of device: `gpu`, `cpu`, `nvidia`, `amd`, …
    device: Option<String>,
    /// The least memory of a device, such as `24GiB`.
    memory_min: Option<String>,
    /// The region.
    region: Option<String>,
    /// The most GLN for an hour of a slot, such as `0.4`.
    price_max: Option<String>,
    /// The least score.
    score_min: Option<String>,
    /// A runtime that it has passed: `wasm`, `wgsl`, `container` or `blender`.
    runtime: Option<String>,
    /// The worker's state: `available`, `busy`, `offline`, …
    state: Option<String>,
    /// The order: `price` (if not said), `score`, `memory` or `id`, with a minus before it for the largest first.
    sort: Option<String>,
    /// How many on a page: 100 if not said, 1,000 at most.
    limit: Option<usize>,
    /// The `next` of the page before, asked with the same conditions and order.
    cursor: Option<String>,
}

impl Asked {
    /// All conditions as one query, or which of them makes no sense.
    fn conditions(&self) -> Result<Query, Problem> {
        let mut query: Query = self.query.as_deref().unwrap_or_default().parse().map_err(|error: QueryError| {
            let columns = error.columns();
            Problem::bad_request(error.to_string()).at(format!("query[{}..{}]", columns.start, columns.end), None)
        })?;
        let single = [
            ("device", Field::Device, Operator::Is, &self.device),
            ("memory_min", Field::Memory, Operator::AtLeast, &self.memory_min),
            ("region", Field::Region, Operator::Is, &self.region),
            ("price_max", Field::Price, Operator::AtMost, &self.price_max),
            ("score_min", Field::Score, Operator::AtLeast, &self.score_min),
            ("runtime", Field::Runtime, Operator::Is, &self.runtime),
            ("state", Field::State, Operator::Is, &self.state),
        ];
        for (name, field, operator, value) in single {
            let Some(value) = value else { continue };
            let term = Term::read(field, operator, value);
            query.terms.push(term.map_err(|error| Problem::bad_parameter(name, error.to_string()))?);
        }
        Ok(query)
    }
}

/// `GET /api/v1/workers`: those that match, page by page.
#[utoipa::path(
    get,
    path = "/api/v1/workers",
    operation_id = "list_workers",
    tag = "workers",
    summary = "Workers that match, page by page",
    params(Asked),
    responses(
        (status = 200, description = "A page", body = WorkersPage),
        (status = 422, description = "`too-many`: more match than can be put in another order than by price")
    ),
    security(("operator" = []))
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<WorkersPage>, Problem> {
    let query = asked.conditions()?;
    let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=FOUND_MAX).contains(&limit) {
        return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {FOUND_MAX}")));
    }
    let sort = asked.sort.as_deref().map(str::parse::<Sort>).transpose();
    let sort = sort.map_err(|error| Problem::bad_parameter("sort", error.to_string()))?.unwrap_or_default();
    if sort == Sort::default() {
        let after = place::<Cursor>(asked.cursor.as_deref())?;
        let page = shared.keeper.ask(move |core| core.search_page(&query, limit, after)).await?;
        return Ok(Json(shown(page, &mine(&shared, &asking).await?)));
    }
    let after = place::<SortedCursor>(asked.cursor.as_deref())?;
    let found = shared.keeper.ask(move |core| core.search_sorted(&query, sort, limit, after)).await?;
    let mine = mine(&shared, &asking).await?;
    found.map(|page| Json(shown(page, &mine))).map_err(|many| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Problem::new(status, "too-many", "too many match", many.to_string()).at("sort", None)
    })
}

/// A page as its reader may see it.
fn shown(page: WorkersPage, mine: &Mine) -> WorkersPage {
    WorkersPage { items: page.items.into_iter().map(|view| mine.shown(view)).collect(), ..page }
}

/// Where a page starts.
fn place<T: FromStr<Err = CursorError>>(cursor: Option<&str>) -> Result<Option<T>, Problem> {
    let place: Result<Option<T>, CursorError> = cursor.map(str::parse).transpose();
    place.map_err(|error| Problem::bad_parameter("cursor", error.to_string()))
}

/// `GET /api/v1/workers/{worker}`.
#[utoipa::path(
    get,
    path = "/api/v1/workers/{worker}",
    operation_id = "show_worker",
    tag = "workers",
    summary = "One worker",
    responses(
        (status = 200, description = "The worker", body = WorkerView),
        (status = 404, description = "`not-found`: there is no such worker")
    ),
    security(("operator" = []))
)]
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Path(worker): Path<String>,
) -> Result<Json<WorkerView>, Problem> {
    let view = view(&shared, &worker).await?;
    Ok(Json(mine(&shared, &asking).await?.shown(view)))
}

/// `POST /api/v1/workers/{worker}/manage|unmanage`: by its number, or by its key before it has ever joined.
async fn manage(shared: &Shared, text: &str, managed: bool) -> Result<Response, Problem> {
    let key = match text.parse::<WorkerKey>() {
        Ok(key) => key,
        Err(_) => view(shared, text).await?.key,
    };
    shared.keeper.tell(Event::WorkerManaged { key, managed }).await?;
    let worker = shared.keeper.ask(move |core| core.worker_by_key(&key).and_then(|id| core.worker_view(id))).await?;
    Ok(Json(worker).into_response())
}

/// `POST /api/v1/workers/{worker}/pause|resume|readmit|manage|unmanage`.
#[utoipa::path(
    post,
    path = "/api/v1/workers/{worker}/{action}",
    operation_id = "act_on_worker",
    tag = "workers",
    summary = "Pauses, resumes or readmits a worker, or says whether the platform owns it",
    description = "`{worker}` is its number; for `manage` and `unmanage` it may be the key of one that has never joined.",
    params(
        ("worker" = String, Path, description = "The worker's number; for `manage` and `unmanage` also its key"),
        ("action" = String, Path, description = "`pause`, `resume`, `readmit`, `manage` or `unmanage`")
    ),
    responses(
        (status = 200, description = "The worker as it is now; nothing if it has never joined", body = Option<WorkerView>),
        (status = 404, description = "`not-found`: there is no such worker or action")
    ),
    security(("operator" = []))
)]
pub(super) async fn act(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path((text, action)): Path<(String, String)>,
) -> Result<Response, Problem> {
    if caller != Caller::Operator && !matches!(action.as_str(), "pause" | "resume") {
        let detail = "its owner can tell a worker to pause and to resume; the rest is the hub's operator's";
        return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", "not for you", detail));
    }
    if let "manage" | "unmanage" = action.as_str() {
        return manage(&shared, &text, action == "manage").await;
    }
    let worker = view(&shared, &text).await?.id;
    let event = match action.as_str() {
        "pause" => Event::WorkerPaused { worker },
        "resume" => Event::WorkerResumed { worker },
        "readmit" => Event::WorkerReadmitted { worker },
        other => {
            let detail =
                format!("a worker can be told to pause, resume, readmit, manage or unmanage, not to `{other}`");
            return Err(Problem::not_found(detail));
        }
    };
    shared.keeper.tell(event).await?;
    view(&shared, &text).await.map(|view| Json(view).into_response())
}

/// `GET /api/v1/ledger`.
#[utoipa::path(
    get,
    path = "/api/v1/ledger",
    operation_id = "show_ledger",
    tag = "money",
    summary = "The hub's books",
    responses((status = 200, description = "The books", body = LedgerView)),
    security(("operator" = []))
)]
pub(super) async fn ledger(State(shared): State<Arc<Shared>>) -> Result<Json<LedgerView>, Problem> {
    Ok(Json(shared.keeper.ask(|core| core.ledger_view()).await?))
}

/// The number of a worker that has joined before.
pub(super) async fn worker_id(shared: &Shared, text: &str) -> Result<WorkerId, Problem> {
    let number = text.parse().ok().map(WorkerId);
    let known = shared.keeper.ask(move |core| number.filter(|worker| core.worker_name(*worker).is_some())).await?;
    known.ok_or_else(|| missing(text))
}

fn missing(text: &str) -> Problem {
    Problem::not_found(format!("there is no worker {text} on this hub; `gleaner worker list` shows those that are"))
}

async fn view(shared: &Shared, text: &str) -> Result<WorkerView, Problem> {
    let worker = text.parse().map(WorkerId).map_err(|_| missing(text))?;
    shared.keeper.ask(move |core| core.worker_view(worker)).await?.ok_or_else(|| missing(text))
}
