//! Results: lists, opened files, pictures as far as they have come, archives.
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::asker::Who;
use super::body::Parameters;
use super::disposition::{harmless, of_file};
use super::jobs::job_id;
use super::problem::Refusal;
use crate::results::ResultItems;
use crate::{Desk, Error};

/// Elements that one page covers.
const ELEMENTS_MAX: u32 = 200;
const ELEMENTS_DEFAULT: u32 = 100;

/// Which results are wanted.
#[derive(Deserialize)]
pub(super) struct Listing {
    task: Option<String>,
    cursor: Option<u64>,
    limit: Option<u32>,
}

/// How a file is wanted.
#[derive(Deserialize)]
pub(super) struct Opening {
    /// Whether it is to be saved rather than shown.
    download: Option<bool>,
}

/// `GET /api/v1/desk/jobs/{job}/results`.
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(job): Path<String>,
    Parameters(listing): Parameters<Listing>,
) -> Result<axum::Json<ResultItems>, Refusal> {
    let limit = listing.limit.unwrap_or(ELEMENTS_DEFAULT).clamp(1, ELEMENTS_MAX);
    let results = desk.results(&asker, job_id(&job)?, listing.task.as_deref(), listing.cursor, limit);
    Ok(axum::Json(results.await?))
}

/// `GET /api/v1/desk/jobs/{job}/results/{task}/{index}/{path}`.
pub(super) async fn open(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path((job, task, index, path)): Path<(String, String, String, String)>,
    Parameters(opening): Parameters<Opening>,
) -> Result<Response, Refusal> {
    let missing = || Error::NotFound("there is no such result".into());
    let index: u32 = index.parse().map_err(|_| missing())?;
    let file = desk.open_result(&asker, job_id(&job)?, &task, index, &path).await?;
    let headers = of_file(&file.path, file.bytes, &file.head, opening.download.unwrap_or(false));
    let body = stream::iter([Ok(file.head)]).chain(file.rest);
    Ok((headers, Body::from_stream(body)).into_response())
}

/// `GET /api/v1/desk/jobs/{job}/preview/{task}`: the picture that the tiles of a task make up, as far as they have come.
pub(super) async fn preview(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path((job, task)): Path<(String, String)>,
    request: HeaderMap,
) -> Result<Response, Refusal> {
    let preview = desk.preview(&asker, job_id(&job)?, &task).await?;
    let tag = HeaderValue::from_str(&format!("\"{}\"", preview.tag)).map_err(|_| Error::Defect)?;
    let tiles = HeaderValue::from_str(&format!("{}/{}", preview.done, preview.tiles)).map_err(|_| Error::Defect)?;
    let is_same = request.get(header::IF_NONE_MATCH) == Some(&tag);
    let mut headers = harmless("image/png", &format!("{task}.png"), true);
    headers.insert(header::ETAG, tag);
    headers.insert("gleaner-tiles", tiles);
    if is_same {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    Ok((headers, preview.png).into_response())
}

/// `GET /api/v1/desk/jobs/{job}/archive`: everything, as a tar archive.
pub(super) async fn archive(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(job): Path<String>,
) -> Result<Response, Refusal> {
    let job = job_id(&job)?;
    let (name, stream) = desk.archive(&asker, job).await?;
    let headers = harmless("application/x-tar", &format!("{name}-{job}.tar"), false);
    Ok((headers, Body::from_stream(stream)).into_response())
}
