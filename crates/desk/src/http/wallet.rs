//! An account's money.
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::asker::Who;
use super::body::{Json, Parameters, idempotency_key};
use super::problem::Refusal;
use crate::wallet::{Deposit, HistoryLine, Moved, Withdrawal};
use crate::{Desk, Error, WalletView};

/// Lines of a history.
const LINES_MAX: usize = 1000;
const LINES_DEFAULT: usize = 100;

/// `GET /api/v1/desk/wallet`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/wallet",
    operation_id = "show_wallet",
    tag = "desk",
    summary = "What an account has",
    responses(
        (status = 200, description = "Its wallet", body = WalletView)
    )
)]
pub(super) async fn show(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<axum::Json<WalletView>, Refusal> {
    Ok(axum::Json(desk.wallet(&asker).await?))
}

/// Which lines are wanted.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    /// What `next` said.
    cursor: Option<String>,
    /// At most 1000.
    limit: Option<usize>,
}

/// Some lines, newest first.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = WalletHistory)]
pub(super) struct History {
    items: Vec<HistoryLine>,
    /// Where to go on, if there are earlier ones.
    next: Option<String>,
}

/// `GET /api/v1/desk/wallet/history`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/wallet/history",
    operation_id = "list_wallet_history",
    tag = "desk",
    summary = "What happened to an account's money, newest first",
    params(Lines),
    responses(
        (status = 200, description = "The newest lines, or those before the cursor", body = History),
        (status = 404, description = "`no-chain`: there is no chain here")
    )
)]
pub(super) async fn history(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Parameters(lines): Parameters<Lines>,
) -> Result<axum::Json<History>, Refusal> {
    let limit = lines.limit.unwrap_or(LINES_DEFAULT).clamp(1, LINES_MAX);
    let before = lines.cursor.as_deref().map(str::parse).transpose()?;
    let (items, next) = desk.history(&asker, before, limit).await?;
    Ok(axum::Json(History { items, next: next.map(|line| line.to_string()) }))
}

/// `POST /api/v1/desk/wallet/faucet`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/wallet/faucet",
    operation_id = "ask_faucet_at_desk",
    tag = "desk",
    summary = "Asks for the tokens that newcomers get",
    responses(
        (status = 200, description = "What came", body = Moved),
        (status = 404, description = "`no-chain`: there is no chain here; `not-found`: it gives nothing"),
        (status = 409, description = "`not-new`: the account has had some; `chain-refused`: the contracts refuse")
    )
)]
pub(super) async fn faucet(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<axum::Json<Moved>, Refusal> {
    Ok(axum::Json(desk.faucet(&asker).await?))
}

/// `POST /api/v1/desk/wallet/deposit`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/wallet/deposit",
    operation_id = "deposit",
    tag = "desk",
    summary = "Moves money from the wallet to where orders are paid from",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    request_body = Deposit,
    responses(
        (status = 200, description = "What moved", body = Moved),
        (status = 402, description = "`too-poor`: there is not enough money"),
        (status = 403, description = "`spend-limit`: the token may not spend as much; `scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else; `too-much`: no amount is as large")
    )
)]
pub(super) async fn deposit(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
    Json(deposit): Json<Deposit>,
) -> Result<axum::Json<Moved>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    // Who goes away meanwhile must not leave half of it.
    let moving = tokio::spawn(async move { desk.deposit(&asker, &key, &deposit).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}

/// `POST /api/v1/desk/wallet/withdraw`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/wallet/withdraw",
    operation_id = "withdraw",
    tag = "desk",
    summary = "Takes money out again",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    request_body = Withdrawal,
    responses(
        (status = 200, description = "What moved", body = Moved),
        (status = 402, description = "`too-poor`: there is not enough money"),
        (status = 403, description = "`spend-limit`: the token may not spend as much; `scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`no-chain`: there is no chain here"),
        (status = 409, description = "`chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else; `too-much`: no amount is as large")
    )
)]
pub(super) async fn withdraw(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    headers: HeaderMap,
    Json(wanted): Json<Withdrawal>,
) -> Result<axum::Json<Moved>, Refusal> {
    let key = idempotency_key(&headers)?.to_owned();
    let moving = tokio::spawn(async move { desk.withdraw(&asker, &key, &wanted).await });
    Ok(axum::Json(moving.await.map_err(|_| Error::Defect)??))
}
