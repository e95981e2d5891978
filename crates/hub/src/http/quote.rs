//! Quotes: what a job would cost, signed by the hub's own key, and whether a submission's quote is the hub's.
use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use ed25519_dalek::{Signature, Signer};
use gleaner_core::plan::Graph;
use gleaner_wire::api::QuoteView;
use gleaner_wire::job_file::{JOB_FILE_BYTES_MAX, JobFile};
use gleaner_wire::{Millis, Quote, SignedQuote};

use super::Shared;
use super::problem::Problem;
use super::submit::{form, not_planned, plan_job, refused, too_large};
use crate::clock::wall_ms;

/// The header with the quote that a job is ordered by.
pub(super) const QUOTE: &str = "gleaner-quote";

/// `POST /api/v1/quote`: what a job would cost. Nothing that it names need be here.
#[utoipa::path(
    post,
    path = "/api/v1/quote",
    operation_id = "quote_job",
    tag = "jobs",
    summary = "What a job would cost",
    description = "Nothing that the job names need be here. Each choice carries a signed offer, which `POST /api/v1/jobs` takes in the header `gleaner-quote`.",
    request_body(content((JobFile = "application/json"), (String = "application/toml")), description = "The job file, as JSON or as TOML"),
    responses((status = 200, description = "The quote", body = QuoteView), (status = 413, description = "`too-large`: a job file has at most 16 MiB"), (status = 415, description = "`media-type`: neither JSON nor TOML"), (status = 422, description = "`job-refused`: what is wrong with it")),
    security(("operator" = []))
)]
pub(super) async fn quote(State(shared): State<Arc<Shared>>, request: Request) -> Result<Json<QuoteView>, Problem> {
    let form = form(request.headers())?;
    let body = to_bytes(request.into_body(), JOB_FILE_BYTES_MAX).await.map_err(|_| too_large())?;
    let planned = tokio::task::spawn_blocking(move || plan_job(form, &body).map(|(graph, _)| graph)).await;
    let graph = planned.map_err(|_| not_planned())??;
    let quote = shared.keeper.ask(move |core| core.quote(Millis(wall_ms()), graph)).await?;
    let mut view = quote.map_err(|reason| refused(reason.to_string()))?;
    for offer in view.choices.iter_mut().filter_map(|choice| choice.offer.as_mut()) {
        offer.signature = shared.data.signer.sign(&offer.quote.bytes()).to_bytes().to_vec();
    }
    Ok(Json(view))
}

/// The quote that a job is ordered by, if this hub has signed it; whether it is for this job, the core says.
pub(super) fn ordered_by(shared: &Shared, headers: &HeaderMap) -> Result<Option<Quote>, Problem> {
    let Some(value) = headers.get(QUOTE) else { return Ok(None) };
    let signed: SignedQuote = serde_json::from_slice(value.as_bytes())
        .map_err(|error| Problem::bad_request(format!("{QUOTE} is not a signed quote as JSON: {error}")))?;
    let signature = Signature::from_slice(&signed.signature).ok();
    let key = shared.data.signer.verifying_key();
    match signature.filter(|signature| key.verify_strict(&signed.quote.bytes(), signature).is_ok()) {
        Some(_) => Ok(Some(signed.quote)),
        None => Err(refused("the quote is not of this hub: ask for a new one")),
    }
}

/// Why a quote does not hold for a job, as programs tell it apart.
#[derive(Clone, Copy)]
pub(super) enum Unfit {
    Ended,
    Other,
}

impl Unfit {
    /// Whether a quote has ended or is for another job. That alone refuses nothing: a submission that came before is the same
    /// job.
    pub(super) fn of(quote: &Quote, graph: &Graph) -> Option<Self> {
        if quote.work != graph.work() || quote.prefer != graph.prefer {
            return Some(Self::Other);
        }
        (quote.until < Millis(wall_ms())).then_some(Self::Ended)
    }

    pub(super) fn because(self, reason: &str) -> Problem {
        let (code, title) = match self {
            Self::Ended => ("quote-expired", "the quote has run out"),
            Self::Other => ("other-quote", "the quote is for another job"),
        };
        Problem::new(StatusCode::CONFLICT, code, title, reason)
    }
}
