//! Requests that spend something and may be sent again: the same key gets the same answer.
use super::Shared;
use super::problem::Problem;
use crate::answers::{ANSWER_BYTES_MAX, Answer, KEY_CHARS_MAX, Key, Known};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_wire::Hash;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The header with the key.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The header that says that an answer was given before.
const REPLAYED: &str = "idempotency-replayed";

/// How long a request waits for the answer to the same one.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The key of a request, if it has one.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let fits =
        |text: &&str| (1..=KEY_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    let refuse = || {
        let detail = format!("{IDEMPOTENCY_KEY} must be 1 to {KEY_CHARS_MAX} printable characters without spaces");
        Problem::bad_parameter(IDEMPOTENCY_KEY, detail)
    };
    value.to_str().ok().filter(fits).map(|text| Some(text.to_owned())).ok_or_else(refuse)
}

/// The hash of a request: whatever makes it another one if it differs.
pub(super) fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    Hash(*hasher.finalize().as_bytes())
}

/// Carries a request out, or answers as it was answered before. `scope` says whose key it is and what for.
pub(super) async fn once(
    shared: &Shared,
    scope: String,
    key: Option<String>,
    request: Hash,
    work: impl Future<Output = Result<Response, Problem>>,
) -> Result<Response, Problem> {
    let Some(key) = key else { return work.await };
    let turn = match begin(shared, Key { scope, key }, request).await? {
        Known::New(turn) => turn,
        Known::Answered(answer) => return Ok(replayed(answer)),
        Known::Other => return Err(reused()),
        Known::Busy => {
            let detail = "a request with this key is being carried out: send it again in a moment";
            let title = "the key is in use";
            return Err(Problem::new(StatusCode::CONFLICT, "idempotency-key-in-use", title, detail));
        }
    };
    let response = match work.await {
        Ok(response) => response,
        Err(problem) => {
            // What the hub could not do may have happened all the same, so the key stays with its request.
            if !problem.is_temporary() {
                let _ = tokio::task::spawn_blocking(move || turn.refused()).await;
            }
            return Err(problem);
        }
    };
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, ANSWER_BYTES_MAX).await.map_err(|_| unkept("the answer is too long"))?;
    let location = parts.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let answer = Answer { status: parts.status.as_u16(), location, body: body.to_vec() };
    let _ = tokio::task::spawn_blocking(move || turn.answered(&answer)).await;
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// Begins a request; whoever sends one again while the first is still carried out waits for its answer.
async fn begin(shared: &Shared, key: Key, request: Hash) -> Result<Known, Problem> {
    let (mut ends, until) = (shared.answers.ends(), Instant::now() + WAIT_MAX);
    loop {
        ends.borrow_and_update();
        let (answers, key) = (shared.answers.clone(), key.clone());
        let begun = tokio::task::spawn_blocking(move || answers.begin(key, request)).await;
        let known = begun.map_err(|_| unkept("it ended by a defect"))?.map_err(|error| unkept(&error.to_string()))?;
        let waits = matches!(known, Known::Busy) && matches!(timeout_at(until, ends.changed()).await, Ok(Ok(())));
        if !waits {
            return Ok(known);
        }
    }
}

fn replayed(Answer { status, location, body }: Answer) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    if let Some(location) = location.and_then(|location| HeaderValue::from_str(&location).ok()) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn reused() -> Problem {
    let detail = "the key was used for another request: send the same content, or a new key";
    let (status, title) = (StatusCode::UNPROCESSABLE_ENTITY, "the key belongs to another request");
    Problem::new(status, "idempotency-key-reused", title, detail).at(IDEMPOTENCY_KEY, None)
}

fn unkept(reason: &str) -> Problem {
    let detail = format!("the hub cannot keep the key of this request: {reason}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the hub takes nothing now", detail)
}
