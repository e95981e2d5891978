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
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// Only of this `[[task]]`.
    task: Option<String>,
    /// What `next` said.
    cursor: Option<String>,
    /// How many elements a page covers: at most 200. It covers fewer if one of them has more than 200 files.
    limit: Option<u32>,
}

/// How a file is wanted.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Opening {
    /// Whether it is to be saved rather than shown.
    download: Option<bool>,
}

/// `GET /api/v1/desk/jobs/{job}/results`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/jobs/{job}/results",
    operation_id = "list_result_files",
    tag = "desk",
    summary = "Files that a job delivered, as they arrive",
    params(Listing),
    responses(
        (status = 200, description = "Some of them; the others from `next` on", body = ResultItems),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's")
    )
)]
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(job): Path<String>,
    Parameters(listing): Parameters<Listing>,
) -> Result<axum::Json<ResultItems>, Refusal> {
    let limit = listing.limit.unwrap_or(ELEMENTS_DEFAULT).clamp(1, ELEMENTS_MAX);
    let cursor = listing.cursor.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let results = desk.results(&asker, job_id(&job)?, listing.task.as_deref(), cursor, limit);
    Ok(axum::Json(results.await?))
}

/// `GET /api/v1/desk/jobs/{job}/results/{task}/{index}/{path}`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/jobs/{job}/results/{task}/{index}/{path}",
    operation_id = "open_result_file",
    tag = "desk",
    summary = "A file that a job delivered, opened",
    params(("task" = String, Path, description = "The name of the `[[task]]`"), ("index" = u32, Path, description = "Which element of it"), ("path" = String, Path, description = "The file's path in the output, with slashes"), Opening),
    responses(
        (status = 200, description = "Its bytes; no browser runs any of them", body = Vec<u8>, content_type = "*/*"),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's; `no-keys`: it cannot be opened here")
    )
)]
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
#[utoipa::path(
    get,
    path = "/api/v1/desk/jobs/{job}/preview/{task}",
    operation_id = "show_preview",
    tag = "desk",
    summary = "Tiles as one picture, as far as they have come",
    params(("task" = String, Path, description = "The name of the `[[task]]`"), ("if-none-match" = Option<String>, Header, description = "The `etag` of one that is known")),
    responses(
        (status = 200, description = "The picture", body = Vec<u8>, content_type = "image/png", headers(("etag" = String, description = "What names it"), ("gleaner-tiles" = String, description = "How many tiles are done, of how many"))),
        (status = 304, description = "It is the one that is known"),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's; `no-keys`: it cannot be opened here")
    )
)]
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
#[utoipa::path(
    get,
    path = "/api/v1/desk/jobs/{job}/archive",
    operation_id = "fetch_archive",
    tag = "desk",
    summary = "Everything that a job delivered",
    responses(
        (status = 200, description = "A tar archive", body = Vec<u8>, content_type = "application/x-tar"),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's; `no-keys`: it cannot be opened here")
    )
)]
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
