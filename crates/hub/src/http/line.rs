//! How fast this hub is reached: bytes to fetch and bytes to leave, so that a machine can measure its line before it joins.
//! No token is asked for, so little is given at a time and to few at once.
use super::patience::silence;
use super::problem::Problem;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::StatusCode;
use gleaner_wire::LINE_PIECE_BYTES;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::{Semaphore, TryAcquireError};

/// Measurements at a time.
const AT_A_TIME: usize = 8;
/// How long one may take: a line on which a piece takes longer carries no work.
const TURN_MAX: Duration = Duration::from_secs(60);
static TURNS: Semaphore = Semaphore::const_new(AT_A_TIME);
/// Bytes that no machine on the way makes smaller.
static PIECE: LazyLock<Bytes> = LazyLock::new(|| {
    let mut bytes = vec![0; LINE_PIECE_BYTES];
    blake3::Hasher::new().update(b"gleaner line").finalize_xof().fill(&mut bytes);
    bytes.into()
});

/// `GET /api/v1/line`: a piece of noise.
#[utoipa::path(
    get,
    path = "/api/v1/line",
    operation_id = "fetch_line_piece",
    tag = "machines",
    summary = "A piece of noise, to measure a line with",
    responses(
        (status = 200, description = "One mebibyte", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 429, description = "`busy`: others measure their lines")
    )
)]
pub(super) async fn fetch() -> Result<Bytes, Problem> {
    let _turn = TURNS.try_acquire().map_err(busy)?;
    Ok(PIECE.clone())
}

/// `POST /api/v1/line`: takes a piece, and forgets it.
#[utoipa::path(
    post,
    path = "/api/v1/line",
    operation_id = "leave_line_piece",
    tag = "machines",
    summary = "Takes a piece of at most one mebibyte, and forgets it",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 204, description = "Taken"),
        (status = 429, description = "`busy`: others measure their lines")
    )
)]
pub(super) async fn leave(body: Body) -> Result<StatusCode, Problem> {
    let _turn = TURNS.try_acquire().map_err(busy)?;
    // Others wait for this turn.
    let taken = tokio::time::timeout(TURN_MAX, to_bytes(body, LINE_PIECE_BYTES)).await.map_err(|_| silence())?;
    taken.map_err(|_| Problem::bad_request(format!("at most {LINE_PIECE_BYTES} bytes are taken")))?;
    Ok(StatusCode::NO_CONTENT)
}

fn busy(_: TryAcquireError) -> Problem {
    let title = "others measure their lines";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", title, "try again in a few seconds")
}
