//! Proofs: where seeds come from, what auditors judge, and their votes. Anybody may look; a vote counts by its signature.
use super::Shared;
use super::money::money;
use super::parameters::{Parameters, countable};
use super::problem::Problem;
use crate::money::{DisputeView, Money, Trouble, Voted};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_chain::beacon::Beacon;
use gleaner_chain::market::Vote;
use gleaner_wire::api::CaseView;
use gleaner_wire::{Address, Hash, JobId};
use serde::Deserialize;
use std::sync::Arc;

/// `GET /api/v1/disputes`: the open ones, with who sits on their committees.
#[utoipa::path(
    get,
    path = "/api/v1/disputes",
    operation_id = "list_disputes",
    tag = "proofs",
    summary = "The hub's open accusations, with who sits on their committees",
    responses(
        (status = 200, description = "The disputes", body = Vec<DisputeView>),
        (status = 404, description = "`not-found`: this hub's money is on no chain")
    )
)]
pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Result<Json<Vec<DisputeView>>, Problem> {
    ask(&shared, Money::disputes).await.map(Json)
}

/// Whose cases are wanted.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Those of one job.
    job: Option<u64>,
    /// Those of one provider, by its address.
    provider: Option<String>,
}

/// `GET /api/v1/cases?job=JOB&provider=ADDRESS`: those who were found wrong, and what the court made of it; newest first. A
/// hub without a chain has none.
#[utoipa::path(
    get,
    path = "/api/v1/cases",
    operation_id = "list_cases",
    tag = "proofs",
    summary = "Providers that were found wrong, and what the court made of it; newest first",
    params(Wanted),
    responses((status = 200, description = "The cases; none on a hub without a chain", body = Vec<CaseView>))
)]
pub(super) async fn cases(
    State(shared): State<Arc<Shared>>,
    Parameters(wanted): Parameters<Wanted>,
) -> Result<Json<Vec<CaseView>>, Problem> {
    if shared.money.is_none() {
        return Ok(Json(Vec::new()));
    }
    let provider = wanted.provider.map(|text| text.parse::<Address>()).transpose();
    let provider = provider.map_err(|error| Problem::bad_request(error.to_string()))?;
    let job = wanted.job.map(|job| countable("job", job)).transpose()?.map(JobId);
    ask(&shared, move |money| money.cases(job, provider)).await.map(Json)
}

/// `GET /api/v1/evidence/{hash}`: a document that shows a fault.
#[utoipa::path(
    get,
    path = "/api/v1/evidence/{hash}",
    operation_id = "fetch_evidence",
    tag = "proofs",
    summary = "A document that shows a fault",
    responses(
        (status = 200, description = "The document", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 404, description = "`not-found`: there is none with this hash")
    )
)]
pub(super) async fn evidence(State(shared): State<Arc<Shared>>, Path(hash): Path<String>) -> Result<Response, Problem> {
    let hash: Hash = hash.parse().map_err(|_| Problem::bad_request("a hash has 64 hexadecimal digits"))?;
    let document = ask(&shared, move |money| money.evidence(hash)).await?;
    let document = document.ok_or_else(|| Problem::not_found(format!("there is no evidence {hash}")))?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], document).into_response())
}

/// `GET /api/v1/rounds/{round}/beacon`: where the seed of a round of checks comes from.
#[utoipa::path(
    get,
    path = "/api/v1/rounds/{round}/beacon",
    operation_id = "show_beacon",
    tag = "proofs",
    summary = "Where the seed of a round of checks comes from",
    responses(
        (status = 200, description = "The proof", body = Beacon),
        (status = 404, description = "`not-found`: the round has no seed from the chain")
    )
)]
pub(super) async fn beacon(
    State(shared): State<Arc<Shared>>,
    Path(round): Path<String>,
) -> Result<Json<Beacon>, Problem> {
    let round: u64 = round.parse().map_err(|_| Problem::bad_request("a round has a number"))?;
    let round = countable("round", round)?;
    let found = ask(&shared, move |money| money.beacon(round)).await?;
    found.map(Json).ok_or_else(|| Problem::not_found(format!("round {round} has no seed from the chain")))
}

/// `POST /api/v1/disputes/{dispute}/votes`: the signed vote of a member of the committee.
#[utoipa::path(
    post,
    path = "/api/v1/disputes/{dispute}/votes",
    operation_id = "leave_vote",
    tag = "proofs",
    summary = "The signed vote of a member of a committee",
    request_body = Vote,
    responses(
        (status = 200, description = "Taken", body = Option<()>),
        (status = 404, description = "`not-found`: no such dispute is open"),
        (status = 422, description = "`vote`: it is not a member's, or not signed by it")
    )
)]
pub(super) async fn vote(
    State(shared): State<Arc<Shared>>,
    Path(dispute): Path<String>,
    Json(vote): Json<Vote>,
) -> Result<Json<()>, Problem> {
    let dispute: u64 = dispute.parse().map_err(|_| Problem::bad_request("a dispute has a number"))?;
    let account = vote.account;
    match ask(&shared, move |money| money.take_vote(dispute, &vote)).await? {
        Voted::Taken => Ok(Json(())),
        Voted::NoDispute => Err(Problem::not_found(format!("dispute {dispute} is none of this hub's open ones"))),
        Voted::NotAMember => Err(refused(format!("{account} does not sit on the committee of dispute {dispute}"))),
        Voted::WrongSignature => Err(refused(format!("the signature is not {account}'s under this vote"))),
    }
}

/// Asks what waits for the disk.
async fn ask<T: Send + 'static>(
    shared: &Shared,
    question: impl FnOnce(&Money) -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Problem> {
    let money = Arc::clone(money(shared)?);
    let asked = tokio::task::spawn_blocking(move || question(&money)).await;
    Ok(asked.map_err(|_| Problem::bad_request("the request could not be carried out"))??)
}

fn refused(detail: String) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "vote", "the vote is refused", detail)
}
