//! Workers and the books.
use super::Shared;
use super::parameters::Parameters;
use super::problem::Problem;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use gleaner_core::{Cursor, Event, FOUND_MAX};
use gleaner_wire::api::{LedgerView, WorkerView};
use gleaner_wire::query::{Query, QueryError, WorkersPage};
use gleaner_wire::{WorkerId, WorkerKey};
use serde::Deserialize;
use std::sync::Arc;

/// Workers on one page, unless the caller says otherwise.
const LIMIT_DEFAULT: usize = 100;

/// What is asked of the list of workers.
#[derive(Deserialize)]
pub(super) struct Asked {
    query: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// `GET /api/v1/workers`: all of them, or with a query those that match, page by page.
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Response, Problem> {
    let Asked { query: None, limit: None, cursor: None } = asked else {
        return search(&shared, asked).await.map(|page| Json(page).into_response());
    };
    Ok(Json(shared.keeper.ask(|core| core.workers()).await?).into_response())
}

async fn search(shared: &Shared, asked: Asked) -> Result<WorkersPage, Problem> {
    let query: Query = asked.query.unwrap_or_default().parse().map_err(|error: QueryError| {
        let columns = error.columns();
        Problem::bad_request(error.to_string()).at(format!("query[{}..{}]", columns.start, columns.end), None)
    })?;
    let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=FOUND_MAX).contains(&limit) {
        return Err(Problem::bad_request(format!("limit must be 1 to {FOUND_MAX}")));
    }
    let after = asked.cursor.map(|cursor| cursor.parse::<Cursor>()).transpose();
    let after = after.map_err(|error| Problem::bad_request(error.to_string()))?;
    Ok(shared.keeper.ask(move |core| core.search_page(&query, limit, after)).await?)
}

/// `GET /api/v1/workers/{worker}`.
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(worker): Path<String>,
) -> Result<Json<WorkerView>, Problem> {
    view(&shared, &worker).await.map(Json)
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
pub(super) async fn act(
    State(shared): State<Arc<Shared>>,
    Path((text, action)): Path<(String, String)>,
) -> Result<Response, Problem> {
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
pub(super) async fn ledger(State(shared): State<Arc<Shared>>) -> Result<Json<LedgerView>, Problem> {
    Ok(Json(shared.keeper.ask(|core| core.ledger_view()).await?))
}

async fn view(shared: &Shared, text: &str) -> Result<WorkerView, Problem> {
    let missing = || {
        Problem::not_found(format!("there is no worker {text} on this hub; `gleaner worker list` shows those that are"))
    };
    let worker = text.parse().map(WorkerId).map_err(|_| missing())?;
    shared.keeper.ask(move |core| core.worker_view(worker)).await?.ok_or_else(missing)
}
