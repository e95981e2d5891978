//! What requests bring, read with limits and refused with reasons.
use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::Refusal;
use crate::Error;

/// The longest JSON that is read: a job file within it, or a template.
const JSON_BYTES_MAX: usize = 4 << 20;

/// A body of JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let kind = request.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        // A form of another site could send text, but not this.
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            let detail = "send JSON, with `content-type: application/json`";
            return Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media-type",
                "unknown kind of content",
                detail,
            ));
        }
        let too_long = |_| {
            let detail = format!("a request has at most {JSON_BYTES_MAX} bytes of JSON");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the request is too large", detail)
        };
        let body = to_bytes(request.into_body(), JSON_BYTES_MAX).await.map_err(too_long)?;
        let wrong = |error: serde_json::Error| Error::Wrong(format!("the request is not what it should be: {error}"));
        Ok(Self(serde_json::from_slice(&body).map_err(wrong)?))
    }
}

/// What stands behind the question mark.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        let wrong = |error: axum::extract::rejection::QueryRejection| Error::Wrong(error.body_text());
        Ok(Self(query.map_err(wrong)?.0))
    }
}

/// The key under which something is asked for.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<&str, Error> {
    headers.get("idempotency-key").and_then(|key| key.to_str().ok()).ok_or(Error::NoKey)
}
