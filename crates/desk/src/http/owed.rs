//! What an account is owed.
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;

use super::asker::Who;
use super::body::idempotency_key;
use super::problem::Refusal;
use crate::owed::{Overdue, RewardsView};
use crate::wallet::Moved;
use crate::{Desk, Error};

/// `GET /api/v1/desk/wallet/overdue`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/wallet/overdue",
    operation_id = "show_overdue_orders",
    tag = "desk",
    summary = "What is locked by orders that nobody settled before their deadline",
    responses(
        (status = 200, description = "What can be released", body = Overdue),
        (status = 404, description = "`no-chain`: there is no chain here")
    )
)]
pub(super) async fn overdue(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<axum::Json<Overdue>, Refusal> {
    Ok(axum::Json(desk.overdue(&asker).await?))
}

/// `POST /api/v1/desk/wallet/release`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/wallet/release",
    operation_id = "release_overdue_orders",
    tag = "desk",
    summary = "Gives the money of overdue orders back, of at most 20 at a time",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    responses(
        (status = 200, description = "What is free again", body = Moved),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`not-now`: no order is overdue; `chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else")
    )
)]
pub(super) async fn release(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
) -> Result<axum::Json<Moved>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile must not leave half of it.
    let moving = tokio::spawn(async move { desk.release(&asker, &key).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}

/// `GET /api/v1/desk/rewards`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/rewards",
    operation_id = "list_rewards",
    tag = "desk",
    summary = "An account's shares of the node rewards, newest first",
    responses(
        (status = 200, description = "Its shares", body = RewardsView),
        (status = 404, description = "`no-chain`: there is no chain here")
    )
)]
pub(super) async fn rewards(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
) -> Result<axum::Json<RewardsView>, Refusal> {
    Ok(axum::Json(desk.rewards(&asker).await?))
}

/// `POST /api/v1/desk/rewards/claim`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/rewards/claim",
    operation_id = "claim_rewards",
    tag = "desk",
    summary = "Claims the shares that are due, of at most 20 epochs at a time",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    responses(
        (status = 200, description = "What came into the wallet", body = Moved),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`not-now`: nothing is due; `chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else")
    )
)]
pub(super) async fn claim(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
) -> Result<axum::Json<Moved>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile must not leave half of it.
    let moving = tokio::spawn(async move { desk.claim_rewards(&asker, &key).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}
