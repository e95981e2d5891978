//! The HTTP API: one module for each thing it serves. Errors are problem+json with a reason a person can act on.
mod access;
mod data;
mod defects;
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
mod machines;
mod money;
mod openapi;
mod page;
mod parameters;
mod patience;
mod people;
mod prices;
mod problem;
mod progress;
mod quote;
mod rejections;
mod results;
mod seeding;
mod server;
mod spending;
mod submit;
mod webhooks;
mod workers;

pub(crate) use access::{Asking, By, Origin, Owned, Person, Via, bearer, table, unauthorized};
pub(crate) use openapi::text as openapi_text;
pub(crate) use prices::Prices;
pub(crate) use problem::Problem;
pub(crate) use server::serve;

use crate::answers::Answers;
use crate::attempts;
use crate::data::{ChunkDoor, Data};
use crate::extra::Routes;
use crate::figures::Figures;
use crate::inbox::Inbox;
use crate::journal::Archive;
use crate::keeper::Handle;
use crate::live::Live;
use crate::logs::LogReader;
use crate::machines::Machines;
use crate::metrics::Metrics;
use crate::money::Money;
use crate::people::People;
use crate::proof::{Receipts, Rounds};
use crate::screen::Screener;
use crate::token::Tokens;
use crate::traces::Traces;
use crate::webhooks::Webhooks;
use axum::middleware::{from_fn, from_fn_with_state, map_response, map_response_with_state};
use axum::{Extension, Router};
use gleaner_data::net::http as net;
use gleaner_wire::Millis;
use std::sync::Arc;
use tokio::sync::watch;

/// What every request may use.
pub(crate) struct Shared {
    pub(crate) keeper: Handle,
    pub(crate) tokens: Arc<Tokens>,
    /// Who people are to this hub.
    pub(crate) people: Arc<People>,
    /// Under which address people see this hub.
    pub(crate) origin: Origin,
    /// Whether a proxy before this hub says for whom it asks.
    pub(crate) behind_proxy: bool,
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
    /// What machines tell of themselves for their owners.
    pub(crate) machines: Arc<Machines>,
    /// The network in figures.
    pub(crate) figures: Arc<Figures>,
    /// Requests to whom people name when something happens to jobs.
    pub(crate) webhooks: Webhooks,
    /// Answers to requests that spend something.
    pub(crate) answers: Answers,
    /// Money on a chain, if that is where it is.
    pub(crate) money: Option<Arc<Money>>,
    pub(crate) metrics: Arc<Metrics>,
    /// What is told of jobs to a collector.
    pub(crate) traces: Traces,
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
fn chunks(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let (store, swarm) = (Arc::clone(&shared.data.store), Arc::clone(&shared.data.swarm));
    let (tokens, quota) = (Arc::clone(&shared.tokens), Arc::clone(&shared.data.quota));
    let door = Arc::new(ChunkDoor { tokens, quota });
    let meeting = net::swarm_router(swarm, shared.data.signer.clone(), Arc::clone(&door) as Arc<dyn net::Door>);
    access::guard_chunks(shared, net::router(store, door).merge(meeting)).with_state(())
}

/// Every route behind the guard of its row; `beside` has those of other rooms, which hear in whose name they are asked.
pub(crate) fn router(shared: &Arc<Shared>, beside: Option<Routes>) -> Router {
    let told = openapi::Told::of(beside.as_ref().map(|routes| routes.description.clone()));
    let beside = beside.map(|routes| access::guard_beside(shared, routes)).unwrap_or_default();
    let https = shared.origin.is_https();
    access::router(shared)
        .merge(beside.with_state(()))
        .nest("/api/v1", chunks(shared))
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(page::fallback)
        .layer(from_fn(patience::patient))
        .layer(from_fn(defects::explain))
        .layer(Extension(told))
        .layer(map_response(rejections::explain))
        .layer(map_response_with_state(Arc::clone(shared), health::count))
        .layer(from_fn_with_state(https, access::add_headers))
        .with_state(Arc::clone(shared))
}
