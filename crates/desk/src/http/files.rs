//! An account's files: trees by name, brought file by file, whole or in pieces.
use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_uploads::{Arrived, Arriving, Piece, Spot, Taken, discard, part_name};
use serde::{Deserialize, Serialize};

use super::asker::Who;
use super::body::Parameters;
use super::problem::{OFFSET, Refusal};
use crate::account::Account;
use crate::desk::Inner;
use crate::{Desk, Error, trees};

/// When a file that is here was changed, in milliseconds since 1970.
const MODIFIED: HeaderName = HeaderName::from_static("upload-modified");

/// Which version of a file is meant.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Version {
    /// When it was changed, in milliseconds since 1970. It is kept with the file.
    modified: Option<u64>,
}

/// The trees of an account, which are all of them.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = FileTrees)]
pub(super) struct Trees {
    items: Vec<trees::Tree>,
    next: Option<String>,
}

/// The files of a tree, which are all of them.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = TreeFiles)]
pub(super) struct Files {
    items: Vec<trees::File>,
    next: Option<String>,
}

/// `GET /api/v1/files`: the account's file trees.
#[utoipa::path(
    get,
    path = "/api/v1/files",
    operation_id = "list_files",
    tag = "files",
    summary = "The account's file trees",
    responses(
        (status = 200, description = "All of them, by name", body = Trees)
    )
)]
pub(super) async fn list(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<Json<Trees>, Refusal> {
    let account = desk.account(&asker).await?;
    let listing = tokio::task::spawn_blocking(move || trees::list(&account.files));
    let items = listing.await.map_err(|_| Error::Defect)??;
    Ok(Json(Trees { items, next: None }))
}

/// `GET /api/v1/files/{name}`: the files of one tree.
#[utoipa::path(
    get,
    path = "/api/v1/files/{name}",
    operation_id = "show_files",
    tag = "files",
    summary = "The files of one tree",
    params(("name" = String, Path, description = "The tree's name")),
    responses(
        (status = 200, description = "All of them, by path", body = Files),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's")
    )
)]
pub(super) async fn show(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(name): Path<String>,
) -> Result<Json<Files>, Refusal> {
    let account = desk.account(&asker).await?;
    let folder = account.base(Some(&name))?;
    let listing = tokio::task::spawn_blocking(move || trees::files(&folder));
    let items = listing.await.map_err(|_| Error::Defect)??;
    Ok(Json(Files { items, next: None }))
}

/// `DELETE /api/v1/files/{name}`.
#[utoipa::path(
    delete,
    path = "/api/v1/files/{name}",
    operation_id = "remove_files",
    tag = "files",
    summary = "Removes a tree with all its files",
    params(("name" = String, Path, description = "The tree's name")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's")
    )
)]
pub(super) async fn remove(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(name): Path<String>,
) -> Result<StatusCode, Refusal> {
    let account = desk.account(&asker).await?;
    account.base(Some(&name))?;
    let top = spot(&account, &name)?.top;
    let (all, uploads) = (desk.inner.files_dir(), Arc::clone(&desk.inner.uploads));
    let removing = tokio::task::spawn_blocking(move || {
        discard(&all, &top)?;
        uploads.recount(&top.user)
    });
    removing.await.map_err(|_| Error::Defect)?.map_err(Error::file("remove", &account.files))?;
    Ok(StatusCode::NO_CONTENT)
}

fn spot(account: &Account, path: &str) -> Result<Spot, Error> {
    Spot::parse(account.user.as_str(), path).map_err(Error::Wrong)
}

fn arriving(inner: &Inner, spot: Spot, modified: Option<u64>) -> Arriving {
    Arriving { dir: inner.files_dir(), books: Arc::clone(&inner.uploads), spot, modified }
}

/// `HEAD /api/v1/files/{name}/{path}`: 200 if the file is here, 404 if not; in `upload-offset` how much of it is.
#[utoipa::path(
    head,
    path = "/api/v1/files/{name}/{path}",
    operation_id = "look_for_file",
    tag = "files",
    summary = "Whether a file is here, and how much of it",
    params(("name" = String, Path, description = "The tree's name"), ("path" = String, Path, description = "The file's path in it, with slashes"), Version),
    responses(
        (status = 200, description = "It is here", headers(("upload-offset" = u64, description = "How long it is"), ("upload-modified" = u64, description = "When it was changed, in milliseconds since 1970"))),
        (status = 404, description = "It is not here, or not all of it", headers(("upload-offset" = u64, description = "How many bytes are here")))
    )
)]
pub(super) async fn arrived(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path((name, path)): Path<(String, String)>,
    Parameters(version): Parameters<Version>,
) -> Result<Response, Refusal> {
    let account = desk.account(&asker).await?;
    let arriving = arriving(&desk.inner, spot(&account, &format!("{name}/{path}"))?, version.modified);
    Ok(match arriving.arrived().await.map_err(Error::file("look at", &account.files))? {
        Arrived::Whole { bytes, modified_ms } => {
            let headers = [(OFFSET, HeaderValue::from(bytes)), (MODIFIED, HeaderValue::from(modified_ms))];
            (StatusCode::OK, headers).into_response()
        }
        Arrived::Some(bytes) => (StatusCode::NOT_FOUND, [(OFFSET, HeaderValue::from(bytes))]).into_response(),
    })
}

/// `PUT /api/v1/files/{name}/{path}`: a file, whole or a piece of it that follows the last one.
#[utoipa::path(
    put,
    path = "/api/v1/files/{name}/{path}",
    operation_id = "bring_file",
    tag = "files",
    summary = "Brings a file, whole or a piece of it that follows the last one",
    params(("name" = String, Path, description = "The tree's name"), ("path" = String, Path, description = "The file's path in it, with slashes"), Version, ("content-range" = Option<String>, Header, description = "`bytes FIRST-LAST/TOTAL`, if it is a piece")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The bytes"),
    responses(
        (status = 201, description = "It is here, all of it", headers(("upload-offset" = u64, description = "How many bytes are here"))),
        (status = 202, description = "The piece is here, and more is missing", headers(("upload-offset" = u64, description = "How many bytes are here"))),
        (status = 408, description = "`silence`: nothing arrives"),
        (status = 409, description = "`offset`: a piece is missing or twice here, and `upload-offset` says what is; `in-the-way`: something of that name is there"),
        (status = 507, description = "`storage`: no room")
    )
)]
pub(super) async fn bring(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path((name, path)): Path<(String, String)>,
    Parameters(version): Parameters<Version>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let account = desk.account(&asker).await?;
    let spot = spot(&account, &format!("{name}/{path}"))?;
    let piece = match headers.get(header::CONTENT_RANGE) {
        None => None,
        Some(value) => {
            let piece = value.to_str().ok().and_then(Piece::parse);
            let wrong = || Error::Wrong("a piece is named as `content-range: bytes FIRST-LAST/TOTAL`".into());
            Some(piece.ok_or_else(wrong)?)
        }
    };
    let _writing = Writing::begin(&desk.inner, part_name(&spot, version.modified)).ok_or(Error::Busy)?;
    let arriving = arriving(&desk.inner, spot, version.modified);
    let taken = arriving.take(piece, body.into_data_stream()).await.map_err(Error::from)?;
    Ok(match taken {
        Taken::Some(end) => (StatusCode::ACCEPTED, [(OFFSET, HeaderValue::from(end))]).into_response(),
        Taken::Whole(end) => (StatusCode::CREATED, [(OFFSET, HeaderValue::from(end))]).into_response(),
    })
}

/// One file is written, and nobody else writes the same.
struct Writing<'a> {
    inner: &'a Inner,
    part: String,
}

impl<'a> Writing<'a> {
    fn begin(inner: &'a Inner, part: String) -> Option<Self> {
        let is_new = inner.writing.lock().unwrap_or_else(PoisonError::into_inner).insert(part.clone());
        is_new.then_some(Self { inner, part })
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.inner.writing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.part);
    }
}
