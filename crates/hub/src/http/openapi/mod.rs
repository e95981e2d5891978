//! The OpenAPI document: what each route takes, answers and refuses, from the attributes above the handlers.
//!
//! `docs/openapi.json` is this document; a test compares the two, and every route of the router with it.
mod elsewhere;
mod finish;
#[cfg(test)]
mod tests;

use super::{data, disputes, events, health, inbox, jobs, keys, line, logs, money, prices, quote, results, seeding};
use super::{figures, live, machines, people, progress, submit, webhooks, workers};
use crate::session;
use axum::http::header;
use axum::response::IntoResponse;
use gleaner_wire::live::{Numbered, WatchRequest};
use gleaner_wire::webhook::WebhookMessage;
use gleaner_wire::{SignedOrder, api};
use serde_json::Value;
use std::sync::LazyLock;
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
        people::operator::list, people::operator::add_desk_wallet, people::operator::reserve, people::operator::give_back,
        health::health, health::alive, health::ready, health::metrics
    ),
    components(schemas(api::Problem, api::Live, SignedOrder, Numbered, WatchRequest, WebhookMessage))
)]
struct Document;

/// The document as it is served and checked in.
pub(crate) fn document() -> Value {
    let mut document = Document::openapi();
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
    finish::finish(&mut document);
    document
}

/// The document as text that ends with its line.
pub(crate) fn text() -> String {
    let mut text = serde_json::to_string_pretty(&document()).expect("a document is plain data");
    text.push('\n');
    text
}

static TEXT: LazyLock<String> = LazyLock::new(text);

/// `GET /api/v1/openapi.json`: this document.
#[utoipa::path(
    get,
    path = "/api/v1/openapi.json",
    operation_id = "show_openapi",
    tag = "hub",
    summary = "This document",
    responses((status = 200, description = "OpenAPI 3.1", body = Object))
)]
pub(super) async fn show() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
}
