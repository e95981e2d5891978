//! Money: where the chain is, what an ended job's settlement pays and why, and the requester's word on it.
use super::Shared;
use super::jobs::job_id;
use super::parameters::Parameters;
use super::problem::Problem;
use crate::money::{
    ApprovalView, Approved, ChainView, Gift, Money, ReceiptsPage, ReconcileView, SettlementView, Trouble,
};
use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use gleaner_chain::fiat;
use gleaner_wire::{Address, Amount, JobId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The header with the payment provider's signature.
const SIGNATURE: &str = "stripe-signature";

/// What a page of receipts may be asked.
#[derive(Deserialize)]
pub(super) struct Asked {
    from: Option<u64>,
}

/// Who wants tokens.
#[derive(Deserialize)]
pub(super) struct Newcomer {
    account: Address,
}

/// What a newcomer was given.
#[derive(Serialize)]
pub(super) struct Given {
    amount: Amount,
}

/// `GET /api/v1/chain`: where money is, and what must be known to sign an order for this hub.
pub(super) async fn chain(State(shared): State<Arc<Shared>>) -> Result<Json<ChainView>, Problem> {
    let price_max_default = shared.keeper.ask(|core| core.params().price_max_default).await?;
    Ok(Json(money(&shared)?.view(price_max_default).await?))
}

/// `POST /api/v1/faucet`: tokens for an account that has none, where the chain is the hub's own.
pub(super) async fn faucet(
    State(shared): State<Arc<Shared>>,
    Json(newcomer): Json<Newcomer>,
) -> Result<Json<Given>, Problem> {
    match money(&shared)?.gift(newcomer.account).await? {
        Gift::Given(amount) => Ok(Json(Given { amount })),
        Gift::NotNew => {
            let detail = format!("{} has tokens, or has had its gift", newcomer.account);
            Err(Problem::new(StatusCode::CONFLICT, "not-new", "the faucet is for newcomers", detail))
        }
        Gift::Closed => Err(Problem::not_found("this hub has no faucet: its tokens are worth something")),
    }
}

/// `GET /api/v1/jobs/{job}/settlement`: how an ended job is paid for.
pub(super) async fn settlement(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
) -> Result<Json<SettlementView>, Problem> {
    let job = job_id(&job)?;
    money(&shared)?.settlement(job).await?.map(Json).ok_or_else(|| no_order(job))
}

/// `GET /api/v1/jobs/{job}/receipts`: what was paid for, attempt by attempt.
pub(super) async fn receipts(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<ReceiptsPage>, Problem> {
    let job = job_id(&job)?;
    let page = money(&shared)?.receipts_page(job, asked.from.unwrap_or(0)).await?;
    page.map(Json).ok_or_else(|| no_order(job))
}

/// `POST /api/v1/jobs/{job}/approval`: the requester's signature under the settlement, which makes it final at once.
pub(super) async fn approve(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Json(approval): Json<ApprovalView>,
) -> Result<Json<()>, Problem> {
    let job = job_id(&job)?;
    match money(&shared)?.approve(job, approval.signature).await? {
        Approved::Taken => Ok(Json(())),
        Approved::NoOrder => Err(no_order(job)),
        Approved::WrongSignature => {
            let detail = "the signature is not the requester's under this settlement";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "signature", "the approval is refused", detail))
        }
    }
}

/// `GET /api/v1/reconcile`: whether the books and the chain agree.
pub(super) async fn reconcile(State(shared): State<Arc<Shared>>) -> Result<Json<ReconcileView>, Problem> {
    Ok(Json(money(&shared)?.reconcile(&shared.keeper).await?))
}

/// `POST /api/v1/fiat/webhook`: a payment provider's signed message.
pub(super) async fn fiat_webhook(State(shared): State<Arc<Shared>>, request: Request) -> Result<StatusCode, Problem> {
    let header = request.headers().get(SIGNATURE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body = to_bytes(request.into_body(), fiat::BODY_BYTES_MAX).await;
    let body = body.map_err(|_| Problem::bad_request("the message is too long"))?;
    let money = Arc::clone(money(&shared)?);
    let taken = tokio::task::spawn_blocking(move || money.fiat_message(&header, &body)).await;
    answer(taken.unwrap_or(None))
}

/// `POST /api/v1/fiat/payments/{payment}/release`: books a payment that waits for the operator.
pub(super) async fn fiat_release(
    State(shared): State<Arc<Shared>>,
    Path(payment): Path<String>,
) -> Result<StatusCode, Problem> {
    let money = Arc::clone(money(&shared)?);
    let released = tokio::task::spawn_blocking(move || money.fiat_release(&payment)).await;
    answer(released.unwrap_or(None))
}

/// A message that is not believed is refused for good; one that could not be booked is to be sent again.
fn answer(taken: Option<Result<fiat::Outcome, fiat::Error>>) -> Result<StatusCode, Problem> {
    match taken {
        None => Err(Problem::not_found("this hub sells no credits")),
        Some(Ok(_)) => Ok(StatusCode::OK),
        Some(Err(error)) if error.is_temporary() => {
            let title = "the message could not be booked";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", title, error.to_string()))
        }
        Some(Err(error)) => Err(Problem::bad_request(error.to_string())),
    }
}

pub(super) fn money(shared: &Shared) -> Result<&Arc<Money>, Problem> {
    shared.money.as_ref().ok_or_else(|| Problem::not_found("this hub's money is on no chain"))
}

fn no_order(job: JobId) -> Problem {
    Problem::not_found(format!("job {job} has no order that waits to be settled"))
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        let detail = format!("{trouble}; nothing is lost, try again later");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "chain", "the chain does not answer", detail)
    }
}
