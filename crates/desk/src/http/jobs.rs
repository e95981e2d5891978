//! Jobs: what they would cost, their submission, and what they did cost.
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_wire::JobId;
use serde::{Deserialize, Serialize};

use super::asker::Who;
use super::body::{Json, Parameters, idempotency_key};
use super::problem::Refusal;
use crate::{Desk, Error, Invoice, Quoted, Wanted};

/// Invoices on one page.
const LISTED_MAX: u32 = 200;

/// Reads a job's number.
pub(super) fn job_id(text: &str) -> Result<JobId, Error> {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(20).collect();
    text.parse().map(JobId).map_err(|_| Error::NotFound(format!("you have no job {shown} at this desk")))
}

/// `POST /api/v1/desk/quote`.
pub(super) async fn quote(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Json(wanted): Json<Wanted>,
) -> Result<axum::Json<Quoted>, Refusal> {
    Ok(axum::Json(desk.quote(&asker, &wanted).await?))
}

/// `POST /api/v1/desk/jobs`.
pub(super) async fn submit(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
    Json(wanted): Json<Wanted>,
) -> Result<Response, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile still gets what it asked for, once.
    let ordering = tokio::spawn(async move { desk.submit(&asker, &key, &wanted).await });
    let ordered = ordering.await.map_err(|_| Error::Defect)??;
    let location = format!("/api/v1/jobs/{}", ordered.job);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], axum::Json(ordered)).into_response())
}

/// `GET /api/v1/desk/jobs/{job}/invoice`.
pub(super) async fn invoice(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(job): Path<String>,
) -> Result<axum::Json<Invoice>, Refusal> {
    Ok(axum::Json(desk.invoice(&asker, job_id(&job)?).await?))
}

/// Where a list goes on.
#[derive(Deserialize)]
pub(super) struct Page {
    cursor: Option<u64>,
    limit: Option<u32>,
}

/// Some invoices.
#[derive(Serialize)]
pub(super) struct Invoices {
    items: Vec<Invoice>,
    next: Option<String>,
}

/// `GET /api/v1/desk/invoices`: newest first.
pub(super) async fn invoices(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Parameters(page): Parameters<Page>,
) -> Result<axum::Json<Invoices>, Refusal> {
    let limit = page.limit.unwrap_or(LISTED_MAX).clamp(1, LISTED_MAX);
    let items = desk.invoices(&asker, page.cursor, limit).await?;
    let next = items.last().filter(|_| items.len() as u32 == limit).map(|last| last.job.to_string());
    Ok(axum::Json(Invoices { items, next }))
}

/// `GET /api/v1/desk/invoices.csv`.
pub(super) async fn invoices_csv(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<Response, Refusal> {
    let csv = desk.invoices_csv(&asker).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"invoices.csv\"")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, csv).into_response())
}
