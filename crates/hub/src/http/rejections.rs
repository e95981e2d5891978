//! Requests that are refused before a handler sees them: a body that is no JSON, a path that is no text. The framework says
//! so in plain text; here it becomes a problem like any other.
use super::problem::Problem;
use axum::body::to_bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_data::net::http::CODE;

/// What is read of a refusal.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Turns a refusal in plain text into a problem. Those of chunks stay, since machines read their code.
pub(super) async fn explain(response: Response) -> Response {
    if !response.status().is_client_error() || !is_plain(response.headers()) || response.headers().contains_key(CODE) {
        return response;
    }
    let status = response.status();
    let Ok(text) = to_bytes(response.into_body(), TEXT_BYTES_MAX).await else {
        return status.into_response();
    };
    let detail = String::from_utf8_lossy(&text);
    let (kind, title) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ("too-large", "the request is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ("media-type", "unknown kind of content"),
        _ => ("bad-request", "the request makes no sense"),
    };
    Problem::new(status, kind, title, detail).into_response()
}

fn is_plain(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/plain"))
}
