//! What people send: a little JSON, soon.
use crate::http::patience::silence;
use crate::http::problem::Problem;
use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The longest body.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long it may take to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(20);

/// A body of JSON.
pub(crate) struct Said<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Said<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().unwrap_or_default().trim() != "application/json" {
            let detail = "send application/json";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Problem::new(status, "media-type", "unknown kind of content", detail));
        }
        let read = tokio::time::timeout(BODY_TIME_MAX, to_bytes(request.into_body(), BODY_BYTES_MAX)).await;
        let large = |_| {
            let detail = format!("at most {BODY_BYTES_MAX} bytes are taken");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "the request is too large", detail)
        };
        let bytes = read.map_err(|_| silence())?.map_err(large)?;
        let said = serde_json::from_slice(&bytes);
        // What was sent may be a secret, so it is not repeated.
        said.map(Self).map_err(|error| {
            let detail = format!("the JSON is not as it should be (line {}, column {})", error.line(), error.column());
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-request", "the request makes no sense", detail)
        })
    }
}
