//! Uploads from a page: the page, the files in pieces, what became of them, and what opens the result.
use super::Shared;
use super::data::{blocking, root_of};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::inbox::{self, Arrived, Inbox, PAGE, PLAIN, Spot, Stage, part_name};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use futures_util::StreamExt;
use gleaner_wire::DataRef;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// How far a file is.
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
/// When a file that is here was changed, in milliseconds since 1970.
const MODIFIED: HeaderName = HeaderName::from_static("upload-modified");
/// How long a sender may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(60);

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

/// Which bytes of a file a request brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    first: u64,
    end: u64,
    total: u64,
}

impl Piece {
    /// Reads `bytes FIRST-LAST/TOTAL`.
    fn parse(text: &str) -> Option<Self> {
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last, total): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
        (first <= last && last < total).then_some(Self { first, end: last + 1, total })
    }
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
    let (spot, inbox) = (spot(&user, &path)?, Arc::clone(&shared.inbox));
    let found = blocking(move || inbox::arrived(&inbox.dir, &spot, version.modified).map_err(folder(&inbox))).await?;
    Ok(match found {
        Arrived::Whole { bytes, modified_ms } => {
            (StatusCode::OK, [(OFFSET, number(bytes)), (MODIFIED, number(modified_ms))]).into_response()
        }
        Arrived::Some(bytes) => (StatusCode::NOT_FOUND, [(OFFSET, number(bytes))]).into_response(),
    })
}

fn number(number: u64) -> HeaderValue {
    HeaderValue::from(number)
}

fn folder(inbox: &Inbox) -> impl FnOnce(std::io::Error) -> crate::Error + use<> {
    let path = inbox.dir.clone();
    move |source| crate::Error::Folder { path, source }
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
    let inbox = Arc::clone(&shared.inbox);
    let Some(_writing) = inbox.tops.write(&spot.top, part_name(&spot, version.modified)) else {
        let detail = "another request writes this file, or too many uploads wait: try again in a moment";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the file is being written", detail));
    };
    let arriving = Arriving { inbox, spot, modified: version.modified };
    let (mut file, offset) = match arriving.open(piece).await? {
        Ok(opened) => opened,
        Err(offset) => {
            let detail = format!("the piece does not follow what is here: go on at byte {offset}");
            let problem = Problem::new(StatusCode::CONFLICT, "offset", "a piece is missing or twice here", detail);
            return Ok(([(OFFSET, number(offset))], problem).into_response());
        }
    };
    let end = arriving.write(&mut file, offset, piece, body).await?;
    match piece {
        Some(piece) if end < piece.total => Ok((StatusCode::ACCEPTED, [(OFFSET, number(end))]).into_response()),
        Some(_) | None => {
            arriving.finish(file.into_std().await).await?;
            Ok((StatusCode::CREATED, [(OFFSET, number(end))]).into_response())
        }
    }
}

/// A file that arrives.
struct Arriving {
    inbox: Arc<Inbox>,
    spot: Spot,
    modified: Option<u64>,
}

impl Arriving {
    /// The part to go on with; how long it is, if the piece is not the next one.
    async fn open(&self, piece: Option<Piece>) -> Result<Result<(tokio::fs::File, u64), u64>, Problem> {
        let (inbox, spot, modified) = (Arc::clone(&self.inbox), self.spot.clone(), self.modified);
        let opened = blocking(move || {
            let opened =
                inbox.prepare(&spot.top.user, piece.map_or(0, |piece| piece.total - piece.first)).and_then(|()| {
                    let part = inbox::open_part(&inbox.dir, &spot, modified)?;
                    if piece.is_none() {
                        part.file.set_len(0)?;
                    }
                    Ok(part)
                });
            opened.map_err(folder(&inbox))
        });
        let part = opened.await?;
        match piece {
            Some(piece) if piece.first != part.bytes => return Ok(Err(part.bytes)),
            Some(piece) => self.announce(part.bytes, piece.total - piece.first)?,
            None => self.announce(0, 0)?,
        }
        let bytes = if piece.is_some() { part.bytes } else { 0 };
        Ok(Ok((tokio::fs::File::from_std(part.file), bytes)))
    }

    /// A file that will not find room is refused before any of it is sent.
    fn announce(&self, bytes: u64, to_come: u64) -> Result<(), Problem> {
        let (books, user) = (&self.inbox.books, &self.spot.top.user);
        let entry = if bytes == 0 { books.take_entry(user) } else { Ok(()) };
        entry.and_then(|()| if books.has_room(user, to_come) { Ok(()) } else { Err(inbox::Full) }).map_err(|_| full())
    }

    /// Writes what arrives. What has arrived before a break stays.
    async fn write(
        &self,
        file: &mut tokio::fs::File,
        offset: u64,
        piece: Option<Piece>,
        body: Body,
    ) -> Result<u64, Problem> {
        let (mut stream, mut at) = (body.into_data_stream(), offset);
        loop {
            let next = tokio::time::timeout(SILENCE_MAX, stream.next()).await;
            let silent = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "silence", "nothing arrives", "send it again");
            let Some(bytes) = next.map_err(silent)? else { break };
            let broken = |error| Problem::bad_request(format!("the upload broke off: {error}"));
            let bytes = bytes.map_err(broken)?;
            if piece.is_some_and(|piece| at + bytes.len() as u64 > piece.end) {
                return Err(Problem::bad_request("there is more than `content-range` says"));
            }
            self.inbox.books.take(&self.spot.top.user, bytes.len() as u64).map_err(|_| full())?;
            file.write_all(&bytes).await.map_err(|error| unwritten(&error))?;
            at += bytes.len() as u64;
        }
        file.flush().await.map_err(|error| unwritten(&error))?;
        file.sync_data().await.map_err(|error| unwritten(&error))?;
        Ok(at)
    }

    async fn finish(self, file: std::fs::File) -> Result<(), Problem> {
        let placing =
            tokio::task::spawn_blocking(move || inbox::finish(&self.inbox.dir, &self.spot, self.modified, &file));
        let placed = placing.await.unwrap_or_else(|_| Err(std::io::Error::other("it ended by a defect")));
        placed.map_err(|error| {
            let detail = format!("a file or folder of that name is in the way: {error}");
            Problem::new(StatusCode::CONFLICT, "in-the-way", "the file cannot be put in its place", detail)
        })
    }
}

fn full() -> Problem {
    let detail = "the inbox is full: remove datasets that were uploaded before, or raise the hub's limit";
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "no room for the upload", detail)
}

fn unwritten(error: &std::io::Error) -> Problem {
    let detail = format!("the hub could not write the file: {error}");
    Problem::new(StatusCode::INSUFFICIENT_STORAGE, "storage", "the upload could not be kept", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_as_http_writes_them() {
        assert_eq!(Piece::parse("bytes 0-9/20"), Some(Piece { first: 0, end: 10, total: 20 }));
        for wrong in ["", "bytes", "bytes 0-9", "bytes 0-20/20", "bytes 9-0/20", "bytes */20", "bytes 0-9/*", "0-9/20"]
        {
            assert_eq!(Piece::parse(wrong), None, "{wrong}");
        }
    }
}
