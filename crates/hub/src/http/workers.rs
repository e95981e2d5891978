//! Workers and the books.
use super::Shared;
use super::problem::Problem;
use axum::Json;
use axum::extract::{Path, State};
use gleaner_core::Event;
use gleaner_wire::WorkerId;
use gleaner_wire::api::{LedgerView, PriceView, WorkerView};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How old the prices may be that are told.
const PRICES_AGE_MAX: Duration = Duration::from_secs(5);

/// `GET /api/v1/workers`.
pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Result<Json<Vec<WorkerView>>, Problem> {
    Ok(Json(shared.keeper.ask(|core| core.workers()).await?))
}

/// What workers ask, as it was when somebody last wanted to know: every worker does now and then, and to look at a million
/// devices takes a while.
#[derive(Default)]
pub(crate) struct Prices(Mutex<Option<(Instant, Vec<PriceView>)>>);

/// `GET /api/v1/prices`: for everybody.
pub(super) async fn prices(State(shared): State<Arc<Shared>>) -> Result<Json<Vec<PriceView>>, Problem> {
    let mut known = shared.prices.0.lock().await;
    if let Some((_, prices)) = known.as_ref().filter(|(at, _)| at.elapsed() < PRICES_AGE_MAX) {
        return Ok(Json(prices.clone()));
    }
    let prices = shared.keeper.ask(|core| core.prices()).await?;
    *known = Some((Instant::now(), prices.clone()));
    Ok(Json(prices))
}

/// `GET /api/v1/workers/{worker}`.
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(worker): Path<String>,
) -> Result<Json<WorkerView>, Problem> {
    view(&shared, &worker).await.map(Json)
}

/// `POST /api/v1/workers/{worker}/pause|resume|readmit`.
pub(super) async fn act(
    State(shared): State<Arc<Shared>>,
    Path((text, action)): Path<(String, String)>,
) -> Result<Json<WorkerView>, Problem> {
    let worker = view(&shared, &text).await?.id;
    let event = match action.as_str() {
        "pause" => Event::WorkerPaused { worker },
        "resume" => Event::WorkerResumed { worker },
        "readmit" => Event::WorkerReadmitted { worker },
        other => {
            let detail = format!("a worker can be told to pause, resume or readmit, not to `{other}`");
            return Err(Problem::not_found(detail));
        }
    };
    shared.keeper.tell(event).await?;
    view(&shared, &text).await.map(Json)
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
