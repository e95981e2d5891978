//! Votes with an account's tokens.
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;

use super::asker::Who;
use super::body::{Json, idempotency_key};
use super::problem::Refusal;
use crate::votes::{Delegation, Vote, Voted, VotesView};
use crate::{Desk, Error};

/// `GET /api/v1/desk/votes`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/votes",
    operation_id = "list_votes",
    tag = "desk",
    summary = "What there is to vote on, newest first, and the votes that an account has",
    responses(
        (status = 200, description = "Its votes and the proposals", body = VotesView),
        (status = 404, description = "`no-chain`: there is no chain here")
    )
)]
pub(super) async fn list(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<axum::Json<VotesView>, Refusal> {
    Ok(axum::Json(desk.votes(&asker).await?))
}

/// `POST /api/v1/desk/votes/cast`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/votes/cast",
    operation_id = "cast_vote",
    tag = "desk",
    summary = "Votes on a proposal",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    request_body = Vote,
    responses(
        (status = 200, description = "The votes that counted", body = Voted),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here; `not-found`: there is no such proposal"),
        (status = 409, description = "`not-now`: there is no vote now, or none left to cast; `chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else")
    )
)]
pub(super) async fn cast(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
    Json(wanted): Json<Vote>,
) -> Result<axum::Json<Voted>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile must not leave half of it.
    let moving = tokio::spawn(async move { desk.cast(&asker, &key, &wanted).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}

/// `POST /api/v1/desk/votes/delegate`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/votes/delegate",
    operation_id = "delegate_votes",
    tag = "desk",
    summary = "Makes votes of the wallet's tokens, or gives them to somebody",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    request_body = Delegation,
    responses(
        (status = 200, description = "The votes that were given", body = Voted),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`not-now`: they are there already; `chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else")
    )
)]
pub(super) async fn delegate(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
    Json(wanted): Json<Delegation>,
) -> Result<axum::Json<Voted>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile must not leave half of it.
    let moving = tokio::spawn(async move { desk.delegate(&asker, &key, &wanted).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}
