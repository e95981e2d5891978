//! Blobs over HTTP: whole or by range, both ways.
use super::Shared;
use super::problem::Problem;
use crate::blobs::{BLOB_BYTES_MAX, Refusal, Store, Upload};
use crate::token::Caller;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use gleaner_wire::Hash;
use std::io::SeekFrom;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

/// Bytes that are written or read at a time.
const PIECE_BYTES: usize = 256 * 1024;
/// Where an unfinished upload stands.
const UPLOAD_OFFSET: &str = "upload-offset";

/// `GET` and `HEAD /api/v1/blobs/{hash}`.
pub(super) async fn read(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(hash): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = parse(&hash)?;
    let blobs = Arc::clone(&shared.blobs);
    let found = blocking(move || match blobs.length(&id) {
        Some(length) => Ok((length, blobs.read(&id)?)),
        None => Err(Refusal::Offset(blobs.offset(&id, caller))),
    });
    let (length, file) = match found.await {
        Ok(found) => found,
        Err(Refusal::Offset(offset)) => return Ok(missing(id, offset)),
        Err(refusal) => return Err(problem(&refusal)),
    };
    let tag = format!("\"{id}\"");
    if headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let Some((first, count)) = span(range, length) else {
        let whole = [(header::CONTENT_RANGE, format!("bytes */{length}"))];
        return Ok((StatusCode::RANGE_NOT_SATISFIABLE, whole).into_response());
    };
    let partial = range.is_some() && (first, count) != (0, length);
    let status = if partial { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let body = if method == Method::HEAD { Body::empty() } else { content(file, first, count).await? };
    let mut response =
        (status, [(header::ETAG, tag), (header::ACCEPT_RANGES, "bytes".to_owned())], body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, count.into());
    if partial {
        let text = format!("bytes {first}-{}/{length}", first + count - 1);
        headers.insert(header::CONTENT_RANGE, text.parse().expect("digits make a header"));
    }
    Ok(response)
}

/// `PUT /api/v1/blobs/{hash}`: whole, or a piece named by `content-range`.
pub(super) async fn store(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    Path(hash): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let id = parse(&hash)?;
    let blobs = Arc::clone(&shared.blobs);
    let held = Arc::clone(&blobs);
    if blocking(move || Ok(held.length(&id))).await.map_err(|refusal| problem(&refusal))?.is_some() {
        drain(request.into_body()).await;
        return Ok(StatusCode::OK.into_response());
    }
    let piece = request.headers().get(header::CONTENT_RANGE).map(|value| piece(value.to_str().unwrap_or_default()));
    let stored = match piece {
        Some(Some((first, last, total))) => {
            let begin = move |blobs: &Arc<Store>| blobs.resume(id, caller, first, total);
            receive(blobs, begin, request.into_body(), last - first + 1, total).await
        }
        Some(None) => {
            return Err(Problem::bad_request(
                "content-range must be `bytes FIRST-LAST/TOTAL`, with FIRST ≤ LAST < TOTAL",
            ));
        }
        None => {
            let length =
                request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
            let begin = move |blobs: &Arc<Store>| blobs.upload(id, caller, length);
            receive(blobs, begin, request.into_body(), length.unwrap_or(BLOB_BYTES_MAX), 0).await
        }
    };
    match stored {
        Ok(Received::Whole) => Ok(StatusCode::CREATED.into_response()),
        Ok(Received::Part(offset)) => Ok((StatusCode::ACCEPTED, [(UPLOAD_OFFSET, offset.to_string())]).into_response()),
        Err(Refusal::Offset(offset)) => {
            let mut response = problem(&Refusal::Offset(offset)).into_response();
            response.headers_mut().insert(UPLOAD_OFFSET, offset.into());
            Ok(response)
        }
        Err(refusal) => Err(problem(&refusal)),
    }
}

enum Received {
    Whole,
    Part(u64),
}

/// Takes in a body of at most `most` bytes. The blob is complete at `total` bytes, or with the body if that is 0.
async fn receive(
    blobs: Arc<Store>,
    begin: impl FnOnce(&Arc<Store>) -> Result<Upload, Refusal> + Send + 'static,
    body: Body,
    most: u64,
    total: u64,
) -> Result<Received, Refusal> {
    let mut upload = blocking(move || begin(&blobs)).await?;
    let mut data = body.into_data_stream();
    let (mut piece, mut room) = (Vec::new(), most);
    while let Some(bytes) = data.next().await {
        let bytes = bytes.map_err(|error| Refusal::Io(std::io::Error::other(error)))?;
        room = room.checked_sub(bytes.len() as u64).ok_or(Refusal::TooLarge)?;
        piece.extend_from_slice(&bytes);
        if piece.len() >= PIECE_BYTES {
            let full = std::mem::take(&mut piece);
            upload = blocking(move || upload.write(&full).map(|()| upload)).await?;
        }
    }
    blocking(move || {
        upload.write(&piece)?;
        if total > 0 && upload.written() < total {
            return Ok(Received::Part(upload.written()));
        }
        upload.finish().map(|()| Received::Whole)
    })
    .await
}

/// Reads and drops a body, so that the client can finish sending before it reads the answer.
async fn drain(body: Body) {
    let mut data = body.into_data_stream();
    let mut seen = 0;
    while let Some(Ok(bytes)) = data.next().await {
        seen += bytes.len() as u64;
        if seen > BLOB_BYTES_MAX {
            return;
        }
    }
}

async fn content(file: std::fs::File, first: u64, count: u64) -> Result<Body, Problem> {
    let mut file = tokio::fs::File::from_std(file);
    file.seek(SeekFrom::Start(first)).await.map_err(|error| problem(&Refusal::Io(error)))?;
    Ok(Body::from_stream(ReaderStream::with_capacity(file.take(count), PIECE_BYTES)))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Refusal> + Send + 'static) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Refusal::Io(std::io::Error::other(error))))
}

fn parse(hash: &str) -> Result<Hash, Problem> {
    hash.parse().map_err(|error: gleaner_wire::HashError| Problem::bad_request(error.to_string()))
}

fn missing(id: Hash, offset: u64) -> Response {
    let mut response = Problem::not_found(format!("the hub does not hold the blob {id}")).into_response();
    response.headers_mut().insert(UPLOAD_OFFSET, offset.into());
    response
}

fn problem(refusal: &Refusal) -> Problem {
    let (status, kind) = match refusal {
        Refusal::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
        Refusal::StoreFull(_) | Refusal::WorkersFull(_) => (StatusCode::INSUFFICIENT_STORAGE, "store-full"),
        Refusal::DiskFull => (StatusCode::INSUFFICIENT_STORAGE, "disk-full"),
        Refusal::Mismatch => (StatusCode::UNPROCESSABLE_ENTITY, "hash-mismatch"),
        Refusal::Offset(_) => (StatusCode::CONFLICT, "upload-offset"),
        Refusal::Busy => (StatusCode::CONFLICT, "upload-busy"),
        Refusal::Io(_) => (StatusCode::INTERNAL_SERVER_ERROR, "blob"),
    };
    Problem::new(status, kind, "the blob is not stored or read", refusal.to_string())
}

/// The first byte and the count of bytes that a range header asks for; `None` if there are no such bytes. A header that
/// is not understood asks for everything, as RFC 9110 has it.
fn span(range: Option<&str>, length: u64) -> Option<(u64, u64)> {
    let parse = |text: &str| text.trim().parse::<u64>().ok();
    let Some((first, last)) = range.and_then(|text| text.strip_prefix("bytes=")?.split_once('-')) else {
        return Some((0, length));
    };
    let (first, last) = match (parse(first), parse(last)) {
        (Some(first), Some(last)) if first <= last => (first, last.min(length.saturating_sub(1))),
        (Some(first), None) if last.is_empty() => (first, length.saturating_sub(1)),
        (None, Some(count)) if first.is_empty() && count > 0 => {
            (length.saturating_sub(count), length.saturating_sub(1))
        }
        (Some(_) | None, Some(_) | None) => return Some((0, length)),
    };
    (first < length).then(|| (first, last - first + 1))
}

/// The first and last byte and the total of a content-range header.
fn piece(text: &str) -> Option<(u64, u64, u64)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, total) = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
    (first <= last && last < total).then_some((first, last, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_has_them() {
        assert_eq!(span(None, 10), Some((0, 10)));
        assert_eq!(span(Some("bytes=0-3"), 10), Some((0, 4)));
        assert_eq!(span(Some("bytes=4-"), 10), Some((4, 6)));
        assert_eq!(span(Some("bytes=-3"), 10), Some((7, 3)));
        assert_eq!(span(Some("bytes=8-99"), 10), Some((8, 2)));
        assert_eq!(span(Some("bytes=10-"), 10), None);
        assert_eq!(span(Some("bytes=5-2"), 10), Some((0, 10)), "makes no sense, so everything");
        assert_eq!(span(Some("lines=1-2"), 10), Some((0, 10)));
        assert_eq!(span(Some("bytes=0-"), 0), None);
        assert_eq!(span(None, 0), Some((0, 0)));
    }

    #[test]
    fn pieces_outside_their_total_are_refused() {
        assert_eq!(piece("bytes 0-4/10"), Some((0, 4, 10)));
        for text in ["bytes 4-0/10", "bytes 0-10/10", "bytes 0-4/*", "0-4/10", "bytes */10", ""] {
            assert_eq!(piece(text), None, "{text}");
        }
    }
}
