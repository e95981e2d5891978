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
pub(super) async fn show(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<axum::Json<WalletView>, Refusal> {
    Ok(axum::Json(desk.wallet(&asker).await?))
}

/// How many lines are wanted.
#[derive(Deserialize)]
pub(super) struct Lines {
    limit: Option<usize>,
}

/// Some lines, newest first.
#[derive(Serialize)]
pub(super) struct History {
    items: Vec<HistoryLine>,
    next: Option<String>,
}

/// `GET /api/v1/desk/wallet/history`.
pub(super) async fn history(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Parameters(lines): Parameters<Lines>,
) -> Result<axum::Json<History>, Refusal> {
    let limit = lines.limit.unwrap_or(LINES_DEFAULT).clamp(1, LINES_MAX);
    Ok(axum::Json(History { items: desk.history(&asker, limit).await?, next: None }))
}

/// `POST /api/v1/desk/wallet/faucet`.
pub(super) async fn faucet(State(desk): State<Arc<Desk>>, Who(asker): Who) -> Result<axum::Json<Moved>, Refusal> {
    Ok(axum::Json(desk.faucet(&asker).await?))
}

/// `POST /api/v1/desk/wallet/deposit`.
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
