//! An account's stake.
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;

use super::asker::Who;
use super::body::{Json, idempotency_key};
use super::problem::Refusal;
use crate::stake::{Added, StakeView, Unbonded};
use crate::wallet::Moved;
use crate::{Desk, Error};

/// `GET /api/v1/desk/stake`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/stake",
    operation_id = "show_stake",
    tag = "desk",
    summary = "What an account has staked, and what of it can be lost",
    responses(
        (status = 200, description = "Its stake", body = StakeView),
        (status = 404, description = "`no-chain`: there is no chain here")
    )
)]
pub(super) async fn show(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<axum::Json<StakeView>, Refusal> {
    Ok(axum::Json(desk.stake(&asker).await?))
}

/// `POST /api/v1/desk/stake/add`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/stake/add",
    operation_id = "add_stake",
    tag = "desk",
    summary = "Stakes tokens of the wallet, and lets the hub lock them while work depends on them",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    request_body = Added,
    responses(
        (status = 200, description = "What was staked", body = Moved),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else")
    )
)]
pub(super) async fn add(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
    Json(wanted): Json<Added>,
) -> Result<axum::Json<Moved>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile must not leave half of it.
    let moving = tokio::spawn(async move { desk.add_stake(&asker, &key, &wanted).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}

/// `POST /api/v1/desk/stake/unbond`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/stake/unbond",
    operation_id = "unbond_stake",
    tag = "desk",
    summary = "Begins to take free stake out",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    request_body = Unbonded,
    responses(
        (status = 200, description = "What is on its way out", body = Moved),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else")
    )
)]
pub(super) async fn unbond(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
    Json(wanted): Json<Unbonded>,
) -> Result<axum::Json<Moved>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile must not leave half of it.
    let moving = tokio::spawn(async move { desk.unbond_stake(&asker, &key, &wanted).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}

/// `POST /api/v1/desk/stake/claim`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/stake/claim",
    operation_id = "claim_stake",
    tag = "desk",
    summary = "Takes out what has been on its way out long enough",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    responses(
        (status = 200, description = "What came into the wallet", body = Moved),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`not-now`: nothing is on its way out, or not for long enough; `chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
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
    let moving = tokio::spawn(async move { desk.claim_stake(&asker, &key).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}
