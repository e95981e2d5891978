//! A requester's objection to a settlement.
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;

use super::asker::Who;
use super::body::idempotency_key;
use super::jobs::job_id;
use super::problem::Refusal;
use crate::dispute::{DisputeView, Disputed};
use crate::{Desk, Error};

/// `GET /api/v1/desk/jobs/{job}/dispute`.
#[utoipa::path(
    get,
    path = "/api/v1/desk/jobs/{job}/dispute",
    operation_id = "show_dispute",
    tag = "desk",
    summary = "Whether there is something to object to in what the hub wants to be paid for a job",
    responses(
        (status = 200, description = "Where its payment stands", body = DisputeView),
        (status = 404, description = "`not-found`: there is no such job, or it is somebody else's; `no-chain`: there is no chain here")
    )
)]
pub(super) async fn show(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(job): Path<String>,
) -> Result<axum::Json<DisputeView>, Refusal> {
    Ok(axum::Json(desk.dispute(&asker, job_id(&job)?).await?))
}

/// `POST /api/v1/desk/jobs/{job}/dispute`.
#[utoipa::path(
    post,
    path = "/api/v1/desk/jobs/{job}/dispute",
    operation_id = "dispute_job",
    tag = "desk",
    summary = "Has auditors decide what a job is to be paid, or has paid what they decided",
    params(("idempotency-key" = String, Header, description = "1 to 200 printable characters, new for each thing that is wanted: sent again, it is done once")),
    responses(
        (status = 200, description = "What was done", body = Disputed),
        (status = 403, description = "`scope`, `session`, `csrf`: not for whoever asks"),
        (status = 404, description = "`not-found`: there is no such job, or it is somebody else's; `no-chain`: there is no chain here"),
        (status = 409, description = "`not-now`: there is nothing to dispute, or nothing was decided; `chain-refused`: the contracts refuse; `outcome-unknown`: whether it was done is not known"),
        (status = 422, description = "`idempotency-key-reused`: the key was used for something else")
    )
)]
pub(super) async fn object(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(job): Path<String>,
    headers: HeaderMap,
) -> Result<axum::Json<Disputed>, Refusal> {
    let job = job_id(&job)?;
    // Whoever it is not for hears that first, whatever else is missing.
    desk.check_job(&asker, job).await?;
    let key = idempotency_key(&headers)?.to_owned();
    let objecting = tokio::spawn(async move { desk.object(&asker, &key, job).await });
    Ok(axum::Json(objecting.await.map_err(|_| Error::Defect)??))
}
