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
use crate::{Desk, Error, Invoice, Ordered, Quoted, Wanted};

/// Invoices on one page.
const LISTED_MAX: u32 = 200;

/// Reads a job's number.
pub(super) fn job_id(text: &str) -> Result<JobId, Error> {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(20).collect();
    text.parse().map(JobId).map_err(|_| Error::NotFound(format!("you have no job {shown} at this desk")))
}

/// `POST /api/v1/desk/quote`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/quote",
    operation_id = "quote_at_desk",
    tag = "desk",
    summary = "What a job would cost, with binding prices",
    request_body = Wanted,
    responses(
        (status = 200, description = "Three choices; the binding ones hold for ten minutes", body = Quoted),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's"),
        (status = 422, description = "`job-refused`: what is wrong with it, with its line; `image-unknown`: its registry does not have the image"),
        (status = 503, description = "`registry`: the registry of an image does not answer; `hub`, `chain`, `unavailable`: not now")
    )
)]
pub(super) async fn quote(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Json(wanted): Json<Wanted>,
) -> Result<axum::Json<Quoted>, Refusal> {
    Ok(axum::Json(desk.quote(&asker, &wanted).await?))
}

/// `POST /api/v1/desk/jobs`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/jobs",
    operation_id = "order_job",
    tag = "desk",
    summary = "Orders a job and sees to it from then on",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    request_body = Wanted,
    responses(
        (status = 201, description = "The new job; with a key that was used before, that one's", body = Ordered, headers(("location" = String, description = "Where the job is"))),
        (status = 402, description = "`too-poor`: there is not enough money"),
        (status = 403, description = "`spend-limit`: the token may not spend as much; `scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's"),
        (status = 409, description = "`quote-expired`: the quote has run out; `other-quote`: it is for another job; `chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`job-refused`: what is wrong with it, with its line; `image-unknown`: its registry does not have the image; `idempotency-key-reused`: the key was used for another job"),
        (status = 429, description = "`too-many`: too many jobs have not ended; `too-often`: wait as long as `Retry-After` says"),
        (status = 503, description = "`registry`: the registry of an image does not answer; `hub`, `chain`, `unavailable`: not now")
    )
)]
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
#[utoipa::path(
    get,
    path = "/api/v1/desk/jobs/{job}/invoice",
    operation_id = "show_invoice",
    tag = "desk",
    summary = "What a job cost",
    responses(
        (status = 200, description = "Its invoice", body = Invoice),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's")
    )
)]
pub(super) async fn invoice(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(job): Path<String>,
) -> Result<axum::Json<Invoice>, Refusal> {
    Ok(axum::Json(desk.invoice(&asker, job_id(&job)?).await?))
}

/// Where a list goes on.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    /// What `next` said.
    cursor: Option<u64>,
    /// At most 200.
    limit: Option<u32>,
}

/// Some invoices.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = InvoicesPage)]
pub(super) struct Invoices {
    items: Vec<Invoice>,
    /// Where to go on.
    next: Option<String>,
}

/// `GET /api/v1/desk/invoices`: newest first.
#[utoipa::path(
    get,
    path = "/api/v1/desk/invoices",
    operation_id = "list_invoices",
    tag = "desk",
    summary = "What jobs cost, newest first",
    params(Page),
    responses(
        (status = 200, description = "Some of them", body = Invoices)
    )
)]
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
#[utoipa::path(
    get,
    path = "/api/v1/desk/invoices.csv",
    operation_id = "list_invoices_csv",
    tag = "desk",
    summary = "What all jobs cost, as a table",
    responses(
        (status = 200, description = "All of them, newest first", body = String, content_type = "text/csv")
    )
)]
pub(super) async fn invoices_csv(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<Response, Refusal> {
    let csv = desk.invoices_csv(&asker).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"invoices.csv\"")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, csv).into_response())
}
