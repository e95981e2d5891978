//! The network in figures, for everybody; and what a machine earned over time.
use super::Shared;
use super::machines::energy_of;
use super::parameters::Parameters;
use super::problem::Problem;
use super::workers::worker_id;
use crate::figures::sum;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use gleaner_wire::Millis;
use gleaner_wire::figures::{EarningsView, StatusHistory};
use serde::Deserialize;
use std::sync::Arc;

/// Hours on one page.
const HOURS_MAX: u32 = 10_000;
const HOURS_DEFAULT: u32 = 31 * 24;

/// `GET /api/v1/status`.
#[utoipa::path(
    get,
    path = "/api/v1/status",
    operation_id = "show_status",
    tag = "market",
    summary = "The network in figures: supply, demand, throughput and checks, now and over the last day",
    responses((status = 200, description = "The figures, at most two seconds old", body = StatusHistory))
)]
pub(super) async fn status(State(shared): State<Arc<Shared>>) -> Result<impl IntoResponse, Problem> {
    let view = shared.figures.with_history().await?;
    Ok(([(header::CACHE_CONTROL, "public, max-age=2")], Json(view)))
}

/// Which hours are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The first moment, in milliseconds since 1970.
    from: Option<u64>,
    /// The moment after the last.
    to: Option<u64>,
    /// How many hours on a page: 744 if not said, 10,000 at most.
    limit: Option<u32>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// `GET /api/v1/machines/{worker}/earnings`.
#[utoipa::path(
    get,
    path = "/api/v1/machines/{worker}/earnings",
    operation_id = "list_earnings",
    tag = "workers",
    summary = "What a machine earned, hour by hour",
    params(Asked),
    responses(
        (status = 200, description = "The hours in which it earned something", body = EarningsView),
        (status = 404, description = "`not-found`: there is no such worker")
    ),
    security(("operator" = []))
)]
pub(super) async fn earnings(
    State(shared): State<Arc<Shared>>,
    Path(worker): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<EarningsView>, Problem> {
    let limit = asked.limit.unwrap_or(HOURS_DEFAULT);
    if !(1..=HOURS_MAX).contains(&limit) {
        return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {HOURS_MAX}")));
    }
    let detail = "this is no place in a list of hours: use the `next` of the page before";
    let cursor = asked.cursor.as_deref().map(str::parse::<u64>).transpose();
    let from = cursor.map_err(|_| Problem::bad_parameter("cursor", detail))?.or(asked.from).unwrap_or(0);
    let to = asked.to.unwrap_or(u64::MAX);
    if from > to {
        return Err(Problem::bad_parameter("to", "`to` lies before `from`"));
    }
    let worker = worker_id(&shared, &worker).await?;
    let mut items = shared.figures.earned(worker, (Millis(from), Millis(to)), limit + 1).await.map_err(|error| {
        let detail = format!("earnings could not be read: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "archive", "the hub could not read its archive", detail)
    })?;
    let next = (items.len() > limit as usize).then(|| items.pop()).flatten().map(|point| point.hour.0.to_string());
    let total = sum(&items);
    let energy = energy_of(&shared, worker, total.ran_micros);
    Ok(Json(EarningsView { worker, total, energy, items, next }))
}
