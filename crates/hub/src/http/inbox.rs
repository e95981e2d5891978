//! Uploads from a page: the page, the files in pieces, what became of them, and what opens the result.
use super::Shared;
use super::data::{blocking, root_of};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::inbox::{Arrived, PAGE, PLAIN, Piece, Spot, Stage, Taken, part_name};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use gleaner_uploads::Error;
use gleaner_wire::DataRef;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How far a file is.
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
/// When a file that is here was changed, in milliseconds since 1970.
const MODIFIED: HeaderName = HeaderName::from_static("upload-modified");

/// Which version of a file is meant.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Version {
    /// When it was changed, in milliseconds since 1970. It is kept with the file.
    modified: Option<u64>,
}

/// What opens a dataset that the hub has sealed.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct KeyView {
    /// In hexadecimal digits.
    key: String,
}

/// What became of an upload.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct StageView {
    /// `waiting`, `sealing`, `ready` or `failed`.
    stage: &'static str,
    /// The dataset that it became.
    data: Option<DataRef>,
    /// Why it failed.
    reason: Option<String>,
}

/// `GET /upload`.
#[utoipa::path(
    get,
    path = "/upload",
    operation_id = "show_upload_page",
    tag = "data",
    summary = "A page for people who bring data without the program",
    responses((status = 200, description = "The page", body = String, content_type = "text/html"))
)]
pub(super) async fn page() -> Result<Response, Problem> {
    let random = crate::token::random_bytes().map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "random", "no random numbers", error.to_string())
    })?;
    let nonce: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::from_str(&policy).map_err(|_| Problem::bad_request("no page can be made"))?;
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Html(PAGE.replace("NONCE", &nonce))).into_response())
}

/// `GET /api/v1/datasets/{root}/key`.
#[utoipa::path(
    get,
    path = "/api/v1/datasets/{root}/key",
    operation_id = "show_dataset_key",
    tag = "data",
    summary = "What opens a dataset that the hub sealed itself",
    responses(
        (status = 200, description = "The key", body = KeyView),
        (status = 404, description = "`not-found`: the hub has not sealed it, and cannot open it")
    ),
    security(("operator" = []))
)]
pub(super) async fn key(State(shared): State<Arc<Shared>>, Path(root): Path<String>) -> Result<Json<KeyView>, Problem> {
    let (root, data) = (root_of(&root)?, Arc::clone(&shared.data));
    let key = blocking(move || data.catalog.opened(&root)).await?;
    let missing = || Problem::not_found(format!("the hub has not sealed {root} itself, and cannot open it"));
    let key = key.ok_or_else(missing)?;
    Ok(Json(KeyView { key: key.iter().map(|byte| format!("{byte:02x}")).collect() }))
}

fn spot(user: &str, path: &str) -> Result<Spot, Problem> {
    Spot::parse(user, path).map_err(Problem::bad_request)
}

/// `GET /api/v1/inbox/{user}/{name}`: what became of an upload.
#[utoipa::path(
    get,
    path = "/api/v1/inbox/{user}/{path}",
    operation_id = "show_upload",
    tag = "data",
    summary = "What became of an upload",
    responses(
        (status = 200, description = "How far it is", body = StageView),
        (status = 404, description = "`not-found`: there is no such upload")
    ),
    security(("operator" = []))
)]
pub(super) async fn stage(
    State(shared): State<Arc<Shared>>,
    Path((user, path)): Path<(String, String)>,
) -> Result<Json<StageView>, Problem> {
    let top = spot(&user, &path)?.top;
    let stage = match shared.inbox.stage(&top) {
        Some(stage) => stage,
        None => {
            let (data, label) = (Arc::clone(&shared.data), [PLAIN, top.name.as_bytes()].concat());
            let found = blocking(move || data.catalog.labelled(&user, &label)).await?;
            let missing = || Problem::not_found(format!("there is no upload `{path}`"));
            Stage::Ready(found.ok_or_else(missing)?.data)
        }
    };
    let (stage, data, reason) = match stage {
        Stage::Waiting => ("waiting", None, None),
        Stage::Sealing => ("sealing", None, None),
        Stage::Ready(data) => ("ready", Some(data), None),
        Stage::Failed(reason) => ("failed", None, Some(reason)),
    };
    Ok(Json(StageView { stage, data, reason }))
}

/// `HEAD /api/v1/inbox/{user}/{path}`: 200 if the file is here, 404 if not; in `upload-offset` how much of it is.
#[utoipa::path(
    head,
    path = "/api/v1/inbox/{user}/{path}",
    operation_id = "look_for_upload",
    tag = "data",
    summary = "Whether a file of an upload is here, and how much of it",
    params(Version),
    responses(
        (status = 200, description = "The file is here", headers(("upload-offset" = u64, description = "How many bytes of it are here"), ("upload-modified" = Option<u64>, description = "When it was changed, in milliseconds since 1970"))),
        (status = 404, description = "It is not whole", headers(("upload-offset" = u64, description = "How many bytes of it are here")))
    ),
    security(("operator" = []))
)]
pub(super) async fn arrived(
    State(shared): State<Arc<Shared>>,
    Path((user, path)): Path<(String, String)>,
    Parameters(version): Parameters<Version>,
) -> Result<Response, Problem> {
    let arriving = shared.inbox.arriving(spot(&user, &path)?, version.modified);
    Ok(match arriving.arrived().await.map_err(|error| unwritten(&error.to_string()))? {
        Arrived::Whole { bytes, modified_ms } => {
            (StatusCode::OK, [(OFFSET, number(bytes)), (MODIFIED, number(modified_ms))]).into_response()
        }
        Arrived::Some(bytes) => (StatusCode::NOT_FOUND, [(OFFSET, number(bytes))]).into_response(),
    })
}

fn number(number: u64) -> HeaderValue {
    HeaderValue::from(number)
}

/// `PUT /api/v1/inbox/{user}/{path}`: a file, whole or a piece of it that follows the last one.
#[utoipa::path(
    put,
    path = "/api/v1/inbox/{user}/{path}",
    operation_id = "bring_upload",
    tag = "data",
    summary = "Brings a file, whole or in pieces",
    params(
        Version,
        ("content-range" = Option<String>, Header, description = "`bytes FIRST-LAST/TOTAL`, if it is a piece")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "The file is whole", headers(("upload-offset" = u64, description = "How many bytes of it are here"))),
        (status = 202, description = "The piece is here, others are missing", headers(("upload-offset" = u64, description = "How many bytes of it are here"))),
        (status = 408, description = "`silence`: nothing arrives"),
        (status = 409, description = "`offset`: the piece does not follow what is here; `in-the-way`: something else has its name", headers(("upload-offset" = u64, description = "How many bytes of it are here"))),
        (status = 507, description = "`storage`: there is no room")
    ),
    security(("operator" = []))
)]
pub(super) async fn bring(
    State(shared): State<Arc<Shared>>,
    Path((user, path)): Path<(String, String)>,
    Parameters(version): Parameters<Version>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let spot = spot(&user, &path)?;
    let piece = match headers.get(header::CONTENT_RANGE) {
        None => None,
        Some(value) => {
            let piece = value.to_str().ok().and_then(Piece::parse);
            let wrong = || Problem::bad_request("a piece is named as `content-range: bytes FIRST-LAST/TOTAL`");
            Some(piece.ok_or_else(wrong)?)
        }
    };
    let Some(_writing) = shared.inbox.tops.write(&spot.top, part_name(&spot, version.modified)) else {
        let detail = "another request writes this file, or too many uploads wait: try again in a moment";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the file is being written", detail));
    };
    let arriving = shared.inbox.arriving(spot, version.modified);
    match arriving.take(piece, body.into_data_stream()).await {
        Ok(Taken::Some(end)) => Ok((StatusCode::ACCEPTED, [(OFFSET, number(end))]).into_response()),
        Ok(Taken::Whole(end)) => Ok((StatusCode::CREATED, [(OFFSET, number(end))]).into_response()),
        Err(Error::Offset(offset)) => {
            let detail = Error::Offset(offset).to_string();
            let problem = Problem::new(StatusCode::CONFLICT, "offset", "a piece is missing or twice here", detail);
            Ok(([(OFFSET, number(offset))], problem).into_response())
        }
        Err(error) => Err(untaken(&error)),
    }
}

fn untaken(error: &Error) -> Problem {
    match error {
        Error::Full => full(),
        Error::Silence => Problem::new(StatusCode::REQUEST_TIMEOUT, "silence", "nothing arrives", "send it again"),
        Error::Offset(_) | Error::Broken(_) | Error::TooMuch => Problem::bad_request(error.to_string()),
        Error::Write(error) => unwritten(&error.to_string()),
        Error::InTheWay(_) => {
            let title = "the file cannot be put in its place";
            Problem::new(StatusCode::CONFLICT, "in-the-way", title, error.to_string())
        }
    }
}

fn full() -> Problem {
    let detail = "the inbox is full: remove datasets that were uploaded before, or raise the hub's limit";
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "no room for the upload", detail)
}

fn unwritten(error: &str) -> Problem {
    let detail = format!("the hub could not write the file: {error}");
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "the upload could not be kept", detail)
}
