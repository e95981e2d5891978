//! The HTTP API: one module for each thing it serves. Errors are problem+json with a reason a person can act on.
mod access;
mod data;
mod disputes;
mod events;
mod figures;
mod health;
mod idempotency;
mod inbox;
mod jobs;
mod keys;
mod line;
mod live;
mod logs;
mod money;
mod openapi;
mod page;
mod parameters;
mod prices;
mod problem;
mod progress;
mod quote;
mod rejections;
mod results;
mod seeding;
mod server;
mod submit;
mod webhooks;
mod workers;

pub(crate) use openapi::text as openapi_text;
pub(crate) use prices::Prices;
pub(crate) use problem::Problem;
pub(crate) use server::serve;

use crate::answers::Answers;
use crate::attempts;
use crate::data::Data;
use crate::figures::Figures;
use crate::inbox::Inbox;
use crate::journal::Archive;
use crate::keeper::Handle;
use crate::live::Live;
use crate::logs::LogReader;
use crate::metrics::Metrics;
use crate::money::Money;
use crate::proof::{Receipts, Rounds};
use crate::screen::Screener;
use crate::session;
use crate::token::Tokens;
use crate::webhooks::Webhooks;
use axum::Router;
use axum::middleware::{from_fn_with_state, map_response, map_response_with_state};
use axum::routing::{delete, get, post};
use gleaner_data::net::http as net;
use gleaner_wire::Millis;
use std::sync::Arc;
use tokio::sync::watch;

/// What every request may use.
pub(crate) struct Shared {
    pub(crate) keeper: Handle,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) data: Arc<Data>,
    /// Tests workers before they get paid work.
    pub(crate) screener: Screener,
    /// Whether results are checked before they are paid.
    pub(crate) checks: bool,
    pub(crate) rounds: Rounds,
    /// What people bring who do not have the program.
    pub(crate) inbox: Arc<Inbox>,
    /// Where the relay listens, if there is one, and where machines learn their addresses beside it.
    pub(crate) relay_port: Option<u16>,
    pub(crate) discovery_port: Option<u16>,
    pub(crate) archive: Archive,
    pub(crate) logs: LogReader,
    /// Which attempts jobs had.
    pub(crate) attempts: attempts::Reader,
    pub(crate) live: Live,
    /// The network in figures.
    pub(crate) figures: Arc<Figures>,
    /// Requests to whom people name when something happens to jobs.
    pub(crate) webhooks: Webhooks,
    /// Answers to requests that spend something.
    pub(crate) answers: Answers,
    /// Money on a chain, if that is where it is.
    pub(crate) money: Option<Arc<Money>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) prices: Prices,
    pub(crate) heartbeat_ms: Millis,
    pub(crate) lease_ms: Millis,
    /// Changes when the hub stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// What makes receipts of judged claims.
    pub(crate) fn receipts(&self) -> Receipts {
        let (keeper, archive, rounds) = (self.keeper.clone(), self.archive.clone(), self.rounds.clone());
        Receipts::new(keeper, archive, rounds, self.data.signer.clone(), self.money.clone())
    }
}

/// Chunks, and the meeting place of those who fetch the same; they know who has which token.
fn chunks(shared: &Shared) -> Router<Arc<Shared>> {
    let (store, swarm) = (Arc::clone(&shared.data.store), Arc::clone(&shared.data.swarm));
    let tokens = Arc::clone(&shared.tokens);
    let meeting = net::swarm_router(swarm, shared.data.signer.clone(), Arc::clone(&tokens) as Arc<dyn net::Door>);
    net::router(store, tokens).merge(meeting).with_state(())
}

/// Every route, with who may use it; `beside` has those of other rooms, which hear in whose name they are asked.
pub(crate) fn router(shared: &Arc<Shared>, beside: Option<Router>) -> Router {
    let anyone = Router::new()
        .route("/api/v1/openapi.json", get(openapi::show))
        .route("/api/v1/health", get(health::health))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/upload", get(inbox::page))
        .route("/api/v1/chain", get(money::chain))
        .route("/api/v1/prices", get(prices::prices))
        .route("/api/v1/status", get(figures::status))
        .route("/api/v1/live", get(live::socket))
        .route("/api/v1/live/events", get(live::events))
        .route("/api/v1/line", get(line::fetch).post(line::leave))
        .route("/api/v1/faucet", post(money::faucet))
        .route("/api/v1/fiat/webhook", post(money::fiat_webhook))
        .route("/api/v1/disputes", get(disputes::list))
        .route("/api/v1/cases", get(disputes::cases))
        .route("/api/v1/disputes/{dispute}/votes", post(disputes::vote))
        .route("/api/v1/evidence/{hash}", get(disputes::evidence))
        .route("/api/v1/rounds/{round}/beacon", get(disputes::beacon))
        .route("/worker/v1", get(session::connect));
    let workers_too = Router::new()
        .route("/api/v1/datasets/{root}", get(data::show).put(data::register))
        .route("/api/v1/jobs/{job}/keys", get(keys::wanted))
        .route("/api/v1/jobs/{job}/keys/{group}", get(keys::fetch))
        .route("/api/v1/keys/{submission}", post(keys::leave))
        .route("/api/v1/network", get(data::network))
        .route("/api/v1/seeding", post(seeding::hand_in))
        .route("/api/v1/jobs/{job}/outputs/{group}", get(results::outputs))
        .route_layer(from_fn_with_state(Arc::clone(shared), access::workers_too));
    let operator = Router::new()
        .route("/api/v1/jobs", get(jobs::list).post(submit::submit))
        .route("/api/v1/quote", post(quote::quote))
        .route("/api/v1/jobs/{job}", get(jobs::show))
        .route("/api/v1/datasets", get(data::list))
        .route("/api/v1/datasets/check", post(data::check))
        .route("/api/v1/datasets/{root}/remove", post(data::remove))
        .route("/api/v1/datasets/{root}/key", get(inbox::key))
        .route("/api/v1/inbox/{user}/{*path}", get(inbox::stage).head(inbox::arrived).put(inbox::bring))
        .route("/api/v1/jobs/{job}/explain", get(jobs::explain))
        .route("/api/v1/jobs/{job}/attempts", get(progress::attempts))
        .route("/api/v1/jobs/{job}/graph", get(progress::graph))
        .route("/api/v1/jobs/{job}/cancel", post(jobs::cancel))
        .route("/api/v1/jobs/{job}/logs", get(logs::logs))
        .route("/api/v1/jobs/{job}/results", get(results::results))
        .route("/api/v1/workers", get(workers::list))
        .route("/api/v1/workers/{worker}", get(workers::show))
        .route("/api/v1/workers/{worker}/{action}", post(workers::act))
        .route("/api/v1/machines/{worker}/earnings", get(figures::earnings))
        .route("/api/v1/demand", get(prices::demand))
        .route("/api/v1/jobs/{job}/proofs", get(jobs::proofs))
        .route("/api/v1/jobs/{job}/settlement", get(money::settlement))
        .route("/api/v1/jobs/{job}/receipts", get(money::receipts))
        .route("/api/v1/jobs/{job}/approval", post(money::approve))
        .route("/api/v1/reconcile", get(money::reconcile))
        .route("/api/v1/fiat/payments/{payment}/release", post(money::fiat_release))
        .route("/api/v1/webhooks", get(webhooks::list).post(webhooks::make))
        .route("/api/v1/webhooks/{id}", delete(webhooks::remove))
        .route("/api/v1/webhooks/{id}/deliveries", get(webhooks::deliveries))
        .route("/api/v1/seeding", get(seeding::show))
        .route("/api/v1/ledger", get(workers::ledger))
        .route("/api/v1/events", get(events::events))
        .route_layer(from_fn_with_state(Arc::clone(shared), access::operator_only));
    let introduced = from_fn_with_state(Arc::clone(shared), access::introduced);
    let beside = beside.map(|beside| beside.with_state(()).route_layer(introduced)).unwrap_or_default();
    anyone
        .merge(beside)
        .nest("/api/v1", chunks(shared))
        .merge(workers_too)
        .merge(operator)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(page::fallback)
        .layer(map_response(rejections::explain))
        .layer(map_response_with_state(Arc::clone(shared), health::count))
        .with_state(Arc::clone(shared))
}
