//! Receipts for what workers sent each other: handed in by who sent, shown to whoever wants to know.
use super::Shared;
use super::data::blocking;
use super::parameters::{Parameters, countable};
use super::problem::Problem;
use crate::clock::wall_ms;
use crate::data::About;
use crate::token::Caller;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use gleaner_data::net::{Authority, Claim, public};
use gleaner_wire::api::{SeedingTaken, SeedingView};
use gleaner_wire::{Hash, JobId, Millis, WorkerKey};
use serde::Deserialize;
use std::sync::Arc;

/// Receipts in one request.
const CLAIMS_MAX: usize = 256;

/// What is asked for: a worker, a job, a dataset, or several of them.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Only what this one sent.
    worker: Option<WorkerKey>,
    /// Only what was read for this job.
    job: Option<u64>,
    /// Only of this dataset.
    root: Option<Hash>,
}

/// `POST /api/v1/seeding`: a worker hands in receipts of what it sent.
#[utoipa::path(
    post,
    path = "/api/v1/seeding",
    operation_id = "hand_in_receipts",
    tag = "machines",
    summary = "A worker hands in receipts for what it sent to others",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "At most 256 claims, as postcard"),
    responses((status = 200, description = "What became of them", body = SeedingTaken)),
    security(("worker" = []))
)]
pub(super) async fn hand_in(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Json<SeedingTaken>, Problem> {
    let Caller::Worker(_, sender) = caller else {
        let detail = "receipts are handed in by the worker that they name, with its own token";
        return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", "only for workers", detail));
    };
    let claims: Vec<Claim> = postcard::from_bytes(&body).map_err(|_| Problem::bad_request("these are no receipts"))?;
    if claims.len() > CLAIMS_MAX {
        return Err(Problem::bad_request(format!("at most {CLAIMS_MAX} receipts can be handed in at a time")));
    }
    let data = Arc::clone(&shared.data);
    let taken = blocking(move || {
        let (authority, now) = (Authority::new(public(&data.signer)), wall_ms());
        let is_good = |claim: &Claim| {
            let checked = claim.check(&authority, &sender, Millis(now));
            if let Err(reason) = &checked {
                tracing::warn!(%sender, %reason, "a receipt for seeding is refused");
            }
            checked.is_ok()
        };
        let handed = claims.len();
        let good: Vec<Claim> = claims.into_iter().filter(is_good).collect();
        let taken = data.catalog.count(&good, now)?;
        Ok(SeedingTaken { refused: taken.refused + (handed - good.len()) as u64, ..taken })
    });
    taken.await.map(Json)
}

/// `GET /api/v1/seeding`: what was counted.
#[utoipa::path(
    get,
    path = "/api/v1/seeding",
    operation_id = "list_seeding",
    tag = "machines",
    summary = "What workers have sent each other",
    params(Asked),
    responses((status = 200, description = "What was counted", body = SeedingView)),
    security(("operator" = []))
)]
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<SeedingView>, Problem> {
    let (data, Asked { worker, job, root }) = (Arc::clone(&shared.data), asked);
    let job = job.map(|job| countable("job", job)).transpose()?.map(JobId);
    let about = About { worker, job, root };
    blocking(move || data.catalog.seeding(about)).await.map(Json)
}
