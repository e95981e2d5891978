//! Money: where the chain is, what an ended job's settlement pays and why, and the requester's word on it.
use super::Shared;
use super::access::Anyone;
use super::idempotency;
use super::jobs::job_id;
use super::parameters::{Parameters, countable};
use super::problem::Problem;
use crate::money::{
    ApprovalView, Approved, ChainView, Gift, Money, ReceiptsPage, ReconcileView, SettlementView, Trouble,
};
use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use gleaner_chain::fiat;
use gleaner_wire::{Address, Amount, JobId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The header with the payment provider's signature.
const SIGNATURE: &str = "stripe-signature";

/// What a page of receipts may be asked.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The number of the first receipt.
    from: Option<u64>,
}

/// Who wants tokens.
#[derive(Deserialize, utoipa::ToSchema)]
pub(super) struct Newcomer {
    /// Who gets them.
    account: Address,
}

/// What a newcomer was given.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct Given {
    /// How much.
    amount: Amount,
}

/// `GET /api/v1/chain`: where money is, and what must be known to sign an order for this hub.
#[utoipa::path(
    get,
    path = "/api/v1/chain",
    operation_id = "show_chain",
    tag = "money",
    summary = "Where money is, and what must be known to sign an order for this hub",
    responses(
        (status = 200, description = "The chain", body = ChainView),
        (status = 404, description = "`not-found`: this hub's money is on no chain")
    )
)]
pub(super) async fn chain(State(shared): State<Arc<Shared>>) -> Result<Json<ChainView>, Problem> {
    let price_max_default = shared.keeper.ask(|core| core.params().price_max_default).await?;
    Ok(Json(money(&shared)?.view(price_max_default).await?))
}

/// `POST /api/v1/faucet`: tokens for an account that has none, where the chain is the hub's own.
#[utoipa::path(
    post,
    path = "/api/v1/faucet",
    operation_id = "ask_faucet",
    tag = "money",
    summary = "Tokens for an account that has none, where the chain is the hub's own",
    request_body = Newcomer,
    params(
        ("idempotency-key" = Option<String>, Header, description = "1 to 64 printable characters: a request sent again with the same key gets the same answer")
    ),
    responses(
        (status = 200, description = "Given", body = Given),
        (status = 404, description = "`not-found`: there is no faucet here"),
        (status = 409, description = "`not-new`: the account has tokens, or has had its gift; `idempotency-key-in-use`: a request with this key is being carried out"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for another request")
    )
)]
pub(super) async fn faucet(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    headers: HeaderMap,
    Json(newcomer): Json<Newcomer>,
) -> Result<Response, Problem> {
    let (key, account) = (idempotency::key(&headers)?, newcomer.account);
    let work = async { give(&shared, newcomer).await.map(IntoResponse::into_response) };
    // Strangers are told apart by whom they ask for: there is nothing else to know them by.
    let scope = format!("faucet {} {account}", asking.keyring());
    idempotency::once(&shared, scope, key, idempotency::hash(&[&account.0]), work).await
}

async fn give(shared: &Shared, newcomer: Newcomer) -> Result<Json<Given>, Problem> {
    if newcomer.account == Address([0; 20]) {
        return Err(Problem::bad_parameter("account", "this is nobody's address"));
    }
    match money(shared)?.gift(newcomer.account).await? {
        Gift::Given(amount) => Ok(Json(Given { amount })),
        Gift::NotNew => {
            let detail = format!("{} has tokens, or has had its gift", newcomer.account);
            Err(Problem::new(StatusCode::CONFLICT, "not-new", "the faucet is for newcomers", detail))
        }
        Gift::Closed => Err(Problem::not_found("this hub has no faucet: its tokens are worth something")),
    }
}

/// `GET /api/v1/jobs/{job}/settlement`: how an ended job is paid for.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/settlement",
    operation_id = "show_settlement",
    tag = "money",
    summary = "How an ended job is paid for",
    responses(
        (status = 200, description = "The settlement", body = SettlementView),
        (status = 404, description = "`not-found`: the job has no order that waits to be settled")
    ),
    security(("operator" = []))
)]
pub(super) async fn settlement(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
) -> Result<Json<SettlementView>, Problem> {
    let job = job_id(&job)?;
    money(&shared)?.settlement(job).await?.map(Json).ok_or_else(|| no_order(job))
}

/// `GET /api/v1/jobs/{job}/receipts`: what was paid for, attempt by attempt.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{job}/receipts",
    operation_id = "list_receipts",
    tag = "money",
    summary = "What was paid for, attempt by attempt",
    params(Asked),
    responses(
        (status = 200, description = "A page of receipts", body = ReceiptsPage),
        (status = 404, description = "`not-found`: the job has no order that waits to be settled")
    ),
    security(("operator" = []))
)]
pub(super) async fn receipts(
    State(shared): State<Arc<Shared>>,
    Path(job): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<ReceiptsPage>, Problem> {
    let job = job_id(&job)?;
    let from = countable("from", asked.from.unwrap_or(0))?;
    let page = money(&shared)?.receipts_page(job, from).await?;
    page.map(Json).ok_or_else(|| no_order(job))
}

/// `POST /api/v1/jobs/{job}/approval`: the requester's signature under the settlement, which makes it final at once.
#[utoipa::path(
    post,
    path = "/api/v1/jobs/{job}/approval",
    operation_id = "approve_settlement",
    tag = "money",
    summary = "The requester's signature under the settlement, which makes it final at once",
    request_body = ApprovalView,
    params(
        ("idempotency-key" = Option<String>, Header, description = "1 to 64 printable characters: a request sent again with the same key gets the same answer")
    ),
    responses(
        (status = 200, description = "Taken", body = Option<()>),
        (status = 404, description = "`not-found`: the job has no order that waits to be settled"),
        (status = 409, description = "`idempotency-key-in-use`: a request with this key is being carried out"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for another request; `signature`: it is not the requester's")
    ),
    security(("operator" = []))
)]
pub(super) async fn approve(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Path(job): Path<String>,
    headers: HeaderMap,
    Json(approval): Json<ApprovalView>,
) -> Result<Response, Problem> {
    let (key, job) = (idempotency::key(&headers)?, job_id(&job)?);
    let hash = idempotency::hash(&[&job.0.to_le_bytes(), &approval.signature]);
    let work = async { take_approval(&shared, job, approval).await.map(IntoResponse::into_response) };
    idempotency::once(&shared, format!("approval {}", asking.keyring()), key, hash, work).await
}

async fn take_approval(shared: &Shared, job: JobId, approval: ApprovalView) -> Result<Json<()>, Problem> {
    match money(shared)?.approve(job, approval.signature).await? {
        Approved::Taken => Ok(Json(())),
        Approved::NoOrder => Err(no_order(job)),
        Approved::WrongSignature => {
            let detail = "the signature is not the requester's under this settlement";
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "signature", "the approval is refused", detail))
        }
    }
}

/// `GET /api/v1/reconcile`: whether the books and the chain agree.
#[utoipa::path(
    get,
    path = "/api/v1/reconcile",
    operation_id = "reconcile",
    tag = "money",
    summary = "Whether the books and the chain agree",
    responses(
        (status = 200, description = "What comparing them gave", body = ReconcileView),
        (status = 404, description = "`not-found`: this hub's money is on no chain")
    ),
    security(("operator" = []))
)]
pub(super) async fn reconcile(State(shared): State<Arc<Shared>>) -> Result<Json<ReconcileView>, Problem> {
    Ok(Json(money(&shared)?.reconcile(&shared.keeper).await?))
}

/// `POST /api/v1/fiat/webhook`: a payment provider's signed message.
#[utoipa::path(
    post,
    path = "/api/v1/fiat/webhook",
    operation_id = "take_payment_message",
    tag = "money",
    summary = "A payment provider's signed message",
    params(("stripe-signature" = String, Header, description = "The provider's signature of the body")),
    request_body(content = String, content_type = "application/json"),
    responses(
        (status = 200, description = "Booked, or was before"),
        (status = 404, description = "`not-found`: this hub sells no credits")
    )
)]
pub(super) async fn fiat_webhook(State(shared): State<Arc<Shared>>, request: Request) -> Result<StatusCode, Problem> {
    let header = request.headers().get(SIGNATURE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body = to_bytes(request.into_body(), fiat::BODY_BYTES_MAX).await;
    let body = body.map_err(|_| Problem::bad_request("the message is too long"))?;
    let money = Arc::clone(money(&shared)?);
    let taken = tokio::task::spawn_blocking(move || money.fiat_message(&header, &body)).await;
    answer(taken.unwrap_or(None))
}

/// `POST /api/v1/fiat/payments/{payment}/release`: books a payment that waits for the operator.
#[utoipa::path(
    post,
    path = "/api/v1/fiat/payments/{payment}/release",
    operation_id = "release_payment",
    tag = "money",
    summary = "Books a payment that waits for the operator",
    params(
        ("idempotency-key" = Option<String>, Header, description = "1 to 64 printable characters: a request sent again with the same key gets the same answer")
    ),
    responses(
        (status = 200, description = "Booked"),
        (status = 404, description = "`not-found`: this hub sells no credits"),
        (status = 409, description = "`idempotency-key-in-use`: a request with this key is being carried out"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for another request")
    ),
    security(("operator" = []))
)]
pub(super) async fn fiat_release(
    State(shared): State<Arc<Shared>>,
    Path(payment): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (key, hash) = (idempotency::key(&headers)?, idempotency::hash(&[payment.as_bytes()]));
    let money = Arc::clone(money(&shared)?);
    let work = async {
        let released = tokio::task::spawn_blocking(move || money.fiat_release(&payment)).await;
        answer(released.unwrap_or(None)).map(IntoResponse::into_response)
    };
    idempotency::once(&shared, "fiat release".to_owned(), key, hash, work).await
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
