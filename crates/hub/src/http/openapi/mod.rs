//! The OpenAPI document: what each route takes, answers and refuses, from the attributes above the handlers.
//!
//! `docs/openapi.json` is this document with what the rooms beside the hub add; the program's tests compare the two, and tests
//! here every route of the router with it.
mod elsewhere;
mod finish;
#[cfg(test)]
mod tests;

use super::access::{rules_beside, table};
use super::{data, disputes, events, health, inbox, jobs, keys, line, logs, money, prices, quote, results, seeding};
use super::{figures, live, machines, people, progress, submit, webhooks, workers};
use crate::extra::Description;
use crate::session;
use axum::body::Bytes;
use axum::extract::Extension;
use axum::http::header;
use axum::response::IntoResponse;
use gleaner_wire::live::{Numbered, WatchRequest};
use gleaner_wire::webhook::WebhookMessage;
use gleaner_wire::{SignedOrder, api};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};

/// Every route. What holds for all of them alike is added by [`finish`].
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Gleaner hub",
        description = "The HTTP API of a hub. Amounts are decimal GLN as text, moments are milliseconds since 1970. Every \
                       error is `application/problem+json`; `code` is a stable word for programs.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "jobs", description = "What requesters submit, and what came of it"),
        (name = "workers", description = "Machines that share their devices"),
        (name = "market", description = "What devices are worth, and what is wanted"),
        (name = "money", description = "Orders, settlements and the books"),
        (name = "proofs", description = "How results were checked"),
        (name = "data", description = "Datasets, their keys and uploads"),
        (name = "live", description = "What changes, as it changes"),
        (name = "webhooks", description = "Requests that the hub sends when something happens to jobs"),
        (name = "machines", description = "What workers and clients say to the hub among themselves"),
        (name = "accounts", description = "Who people are to this hub: signing in, tokens, and what belongs to an account itself"),
        (name = "hub", description = "The hub itself")
    ),
    paths(
        show,
        jobs::list, jobs::show, jobs::explain, jobs::cancel, jobs::proofs,
        progress::attempts, progress::graph,
        submit::submit, quote::quote, logs::logs, results::results, results::outputs,
        workers::list, workers::show, workers::act, workers::ledger,
        machines::list, machines::show, machines::release, machines::pause, machines::resume, machines::set,
        prices::prices, prices::demand, figures::status, figures::earnings,
        money::chain, money::faucet, money::settlement, money::receipts, money::approve, money::reconcile,
        money::fiat_webhook, money::fiat_release,
        disputes::list, disputes::cases, disputes::vote, disputes::evidence, disputes::beacon,
        webhooks::list, webhooks::make, webhooks::remove, webhooks::deliveries,
        data::list, data::show, data::register, data::remove, data::check, data::network,
        keys::wanted, keys::fetch, keys::leave,
        inbox::page, inbox::key, inbox::stage, inbox::arrived, inbox::bring,
        seeding::show, seeding::hand_in, line::fetch, line::leave,
        live::socket, live::events, events::events, session::connect,
        elsewhere::chunks_missing, elsewhere::chunks_want, elsewhere::chunks_give, elsewhere::swarm,
        people::session::sign_up, people::session::show, people::session::sign_in, people::session::sign_out,
        people::session::change_passphrase,
        people::wallet::challenge, people::wallet::sign_in, people::wallet::list, people::wallet::link,
        people::wallet::unlink,
        people::passkey::challenge, people::passkey::sign_in, people::passkey::new_challenge, people::passkey::list,
        people::passkey::add, people::passkey::remove,
        people::totp::begin, people::totp::confirm, people::totp::remove,
        people::tokens::list, people::tokens::make, people::tokens::revoke,
        people::sessions::list, people::sessions::end_others, people::sessions::end,
        people::events::mine, people::events::all,
        people::stewardship::set_roles, people::stewardship::suspend, people::stewardship::readmit,
        people::stewardship::reset_passphrase,
        people::operator::list, people::operator::add_desk_wallet, people::operator::reserve, people::operator::give_back,
        people::link::make, people::link::sign_in,
        health::health, health::alive, health::ready, health::metrics
    ),
    components(schemas(api::Problem, api::Live, SignedOrder, Numbered, WatchRequest, WebhookMessage))
)]
struct Document;

/// The document as it is served and checked in, with the routes of a room beside the hub.
pub(crate) fn document(beside: Option<&Description>) -> Value {
    let mut document = Document::openapi();
    if let Some(beside) = beside {
        document.merge(beside.document.clone());
    }
    let components = document.components.get_or_insert_default();
    let bearer = |what: &str| {
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some(what.to_owned());
        SecurityScheme::Http(scheme)
    };
    components.add_security_scheme("operator", bearer("The token in the file `api.token` of the hub's folder."));
    components.add_security_scheme("worker", bearer("The token that a connected worker gets with its welcome."));
    components
        .add_security_scheme("token", bearer("An API token of an account, `glt_…`, with the scope that is named."));
    let what = "The cookie of a session (`__Host-gleaner` on encrypted pages). What changes something also needs the header \
                `X-Gleaner-CSRF` with what `GET /api/v1/session` says.";
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description("gleaner", what));
    components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
    let mut document = serde_json::to_value(document).expect("a document is plain data");
    let own = table().into_iter().map(|row| (row.method, row.path, row.rule));
    let rules: Vec<_> = own.chain(beside.into_iter().flat_map(rules_beside)).collect();
    finish::finish(&mut document, &rules);
    document
}

/// The document as text that ends with its line.
pub(crate) fn text(beside: Option<&Description>) -> String {
    let mut text = serde_json::to_string_pretty(&document(beside)).expect("a document is plain data");
    text.push('\n');
    text
}

/// The document of a running hub, written when it is first asked for.
pub(super) struct Told {
    beside: Option<Description>,
    text: OnceLock<Bytes>,
}

impl Told {
    pub(super) fn of(beside: Option<Description>) -> Arc<Self> {
        Arc::new(Self { beside, text: OnceLock::new() })
    }
}

/// `GET /api/v1/openapi.json`: this document.
#[utoipa::path(
    get,
    path = "/api/v1/openapi.json",
    operation_id = "show_openapi",
    tag = "hub",
    summary = "This document",
    responses((status = 200, description = "OpenAPI 3.1", body = Object))
)]
pub(super) async fn show(Extension(told): Extension<Arc<Told>>) -> impl IntoResponse {
    let text = told.text.get_or_init(|| text(told.beside.as_ref()).into());
    ([(header::CONTENT_TYPE, "application/json")], text.clone())
}
