//! Whether the hub is well, for people and for Prometheus. No token is asked for, so nothing private is shown.
use super::Shared;
use super::problem::Problem;
use crate::metrics::Text;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_core::ledger::Account;
use gleaner_core::{ERROR_BOUNDS, Errors, Totals};
use gleaner_wire::api::Health;
use gleaner_wire::{Amount, Cause};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// How long a hub that is ready may take to say so.
const READY_TIME_MAX: Duration = Duration::from_secs(2);

/// `GET /api/v1/health`.
#[utoipa::path(
    get,
    path = "/api/v1/health",
    operation_id = "show_health",
    tag = "hub",
    summary = "Whether the hub is well",
    responses((status = 200, description = "How it is; it answers also while it takes nothing", body = Health))
)]
pub(super) async fn health(State(shared): State<Arc<Shared>>) -> Result<Json<Health>, Problem> {
    let numbers = shared.keeper.ask(|core| core.totals()).await;
    let refusing = shared.keeper.refusing();
    let reason = refusing.or_else(|| numbers.as_ref().err().map(ToString::to_string));
    let (workers_online, jobs_running) = numbers.map_or((0, 0), |totals| (totals.workers_online, totals.jobs_running));
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Json(Health { accepting: reason.is_none(), reason, version, workers_online, jobs_running }))
}

/// Whether a hub can be sent work.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct Readiness {
    /// Whether it can.
    ready: bool,
    /// If not, why and what to do.
    reason: Option<String>,
}

/// `GET /healthz`: the process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "check_alive",
    tag = "hub",
    summary = "Whether the hub's process is alive",
    responses((status = 200, description = "It is", body = String, content_type = "text/plain; charset=utf-8"))
)]
pub(super) async fn alive() -> &'static str {
    "alive\n"
}

/// `GET /readyz`: the thread that owns the state answers in time, and takes what is new.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "check_ready",
    tag = "hub",
    summary = "Whether the hub answers and takes jobs",
    responses(
        (status = 200, description = "It does", body = Readiness),
        (status = 503, description = "It does not", body = Readiness, content_type = "application/json")
    )
)]
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    let asked = tokio::time::timeout(READY_TIME_MAX, shared.keeper.ask(|core| core.totals().workers_online)).await;
    let reason = match asked {
        Ok(Ok(_)) => shared.keeper.refusing(),
        Ok(Err(unavailable)) => Some(unavailable.to_string()),
        Err(_) => Some("the hub is too busy to answer in time".to_owned()),
    };
    let status = if reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready: reason.is_none(), reason }))
}

/// Counts answers by their class.
pub(super) async fn count(State(shared): State<Arc<Shared>>, response: Response) -> Response {
    shared.metrics.answered(response.status().as_u16());
    response
}

/// `GET /metrics`.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "show_metrics",
    tag = "hub",
    summary = "Counters for Prometheus",
    responses(
        (status = 200, description = "The text format of Prometheus", body = String, content_type = "text/plain; version=0.0.4")
    )
)]
pub(super) async fn metrics(State(shared): State<Arc<Shared>>) -> Result<impl IntoResponse, Problem> {
    let (mut totals, platform) = shared.keeper.ask(|core| (core.totals(), core.balance(&Account::Platform))).await?;
    // The core counts those that were overtaken in the turn in which they came.
    totals.results_late += shared.metrics.results_late();
    let mut text = Text::default();
    write_totals(&mut text, &totals);
    let stuck = shared.money.as_ref().is_some_and(|money| money.trouble().is_some());
    text.gauge("gleaner_money_stuck", "Whether money on the chain does not move.", f64::from(u8::from(stuck)));
    text.gauge("gleaner_platform_gln", "What the platform has in the books, in GLN.", super::prices::gln(platform));
    super::prices::write_metrics(&shared, &mut text).await?;
    let (commands, questions) = shared.keeper.waiting();
    text.gauge("gleaner_keeper_commands_waiting", "Commands that wait for the keeper.", commands as f64);
    text.gauge("gleaner_keeper_questions_waiting", "Questions that wait for the keeper.", questions as f64);
    let usage = shared.data.store.usage();
    text.gauge("gleaner_chunk_bytes", "Bytes of sealed chunks that are kept.", usage.bytes as f64);
    text.gauge("gleaner_chunks_pinned_bytes", "Bytes of them that are in use.", usage.pinned as f64);
    text.gauge("gleaner_live_listeners", "Listeners of all live events.", shared.live.listeners() as f64);
    text.gauge("gleaner_live_watchers", "Pages that watch something.", shared.live.watchers() as f64);
    let waiting = shared.webhooks.waiting().await?;
    text.gauge("gleaner_webhook_deliveries_waiting", "Events that wait for webhooks.", waiting as f64);
    let accepting = if shared.keeper.refusing().is_none() { 1.0 } else { 0.0 };
    text.gauge("gleaner_accepting", "Whether the hub takes jobs.", accepting);
    let (sent, dropped) = shared.traces.counts();
    text.counter("gleaner_trace_spans_total", "Spans that a collector took.", sent);
    text.counter("gleaner_trace_spans_dropped_total", "Spans that were lost.", dropped);
    shared.metrics.write(&mut text);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text.0))
}

fn write_totals(text: &mut Text, totals: &Totals) {
    text.counter("gleaner_jobs_submitted_total", "Jobs taken.", totals.jobs_submitted);
    text.counter("gleaner_jobs_done_total", "Jobs done.", totals.jobs_done);
    text.counter("gleaner_jobs_failed_total", "Jobs failed.", totals.jobs_failed);
    text.counter("gleaner_jobs_cancelled_total", "Jobs cancelled.", totals.jobs_cancelled);
    text.gauge("gleaner_jobs_running", "Jobs that run.", totals.jobs_running as f64);
    text.counter("gleaner_tasks_done_total", "Tasks done.", totals.tasks_done);
    text.counter("gleaner_tasks_known_total", "Tasks done without running, by a known result.", totals.tasks_known);
    text.counter("gleaner_attempts_started_total", "Attempts placed on workers.", totals.attempts_started);
    text.head("gleaner_attempts_failed_total", "Attempts that failed, by cause.", "counter");
    for (cause, count) in Cause::ALL.iter().zip(totals.attempts_failed) {
        let cause = cause.to_string().replace(' ', "_");
        text.line(format_args!("gleaner_attempts_failed_total{{cause=\"{cause}\"}} {count}"));
    }
    text.counter("gleaner_results_late_total", "Results of attempts that did not run any more.", totals.results_late);
    text.counter("gleaner_second_attempts_total", "Attempts beside slow ones.", totals.second_attempts);
    text.counter("gleaner_auctions_total", "Auctions opened.", totals.auctions_opened);
    text.counter("gleaner_auctions_without_bids_total", "Auctions that nobody won.", totals.auctions_without_bids);
    text.counter("gleaner_tasks_auctioned_total", "Tasks that went to winners.", totals.tasks_auctioned);
    text.gauge("gleaner_workers_online", "Workers that are connected.", totals.workers_online as f64);
    text.gauge("gleaner_attempts_running", "Attempts on workers.", totals.attempts_running as f64);
    text.gauge("gleaner_tasks_queued", "Tasks that wait.", totals.tasks_queued as f64);
    write_market(text, totals);
    write_checks(text, totals);
}

/// How results were checked, and what became of orders.
fn write_checks(text: &mut Text, totals: &Totals) {
    text.counter("gleaner_claims_drawn_total", "Claims that lots were drawn for.", totals.claims_drawn);
    text.counter("gleaner_claims_audited_total", "Claims that were computed again.", totals.claims_audited);
    text.counter("gleaner_claims_contested_total", "Claims with answers that differ.", totals.claims_contested);
    text.counter("gleaner_claims_refuted_total", "Claims that were found wrong.", totals.claims_refuted);
    text.counter("gleaner_answers_wrong_total", "Answers that were found wrong.", totals.answers_wrong);
    text.counter("gleaner_orders_closed_total", "Orders that the chain has closed.", totals.orders_closed);
    let wrong = "Amounts of closed orders that the books did not hold.";
    text.counter("gleaner_closings_wrong_total", wrong, totals.closings_wrong);
    let bonds = super::prices::gln(Amount(totals.bonds_lost));
    text.counter("gleaner_bonds_lost_gln_total", "Bonds that workers lost, in GLN.", bonds);
}

/// How good quotes were, and what races and firm places cost.
fn write_market(text: &mut Text, totals: &Totals) {
    let price = "How far the cost of quoted jobs was from what was expected, as a part of it.";
    write_errors(text, "gleaner_quote_price_error", price, &totals.quote_price_errors);
    let time = "How far the time of quoted jobs was from what was expected, as a part of it.";
    write_errors(text, "gleaner_quote_time_error", time, &totals.quote_time_errors);
    text.counter("gleaner_quotes_backed_total", "Quoted jobs that the platform paid a part of.", totals.quotes_backed);
    let backing = totals.quote_backing;
    text.counter("gleaner_quote_backing_gln_total", "What the platform paid beyond quotes, in GLN.", backing);
    text.counter("gleaner_race_hedges_total", "Attempts beside others in races.", totals.hedges);
    let seconds = |micros: u64| micros as f64 * 1e-6;
    let paid = seconds(totals.race_paid_micros);
    text.counter("gleaner_race_paid_seconds_total", "Device time of paid answers in races.", paid);
    let wasted = seconds(totals.race_wasted_micros);
    text.counter("gleaner_race_wasted_seconds_total", "Device time of attempts that lost a race.", wasted);
    let moved = "Attempts moved for somebody who pays more.";
    text.counter("gleaner_attempts_moved_total", moved, totals.attempts_moved);
}

fn write_errors(text: &mut Text, name: &str, help: &str, errors: &Errors) {
    text.head(name, help, "histogram");
    let mut below = 0;
    for (bound, count) in ERROR_BOUNDS.iter().zip(errors.counts) {
        below += count;
        text.line(format_args!("{name}_bucket{{le=\"{}\"}} {below}", *bound as f64 / 1000.0));
    }
    text.line(format_args!("{name}_bucket{{le=\"+Inf\"}} {}", errors.count));
    text.line(format_args!("{name}_sum {}", errors.sum_mille as f64 / 1000.0));
    text.line(format_args!("{name}_count {}", errors.count));
}
