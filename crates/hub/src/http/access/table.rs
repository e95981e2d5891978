//! Every route, and what it takes to use it. The router is made of this table, so there is no route without a row.
use super::rule::{Owned, Rule};
use crate::http::{
    Shared, data, disputes, events, figures, health, inbox, jobs, keys, line, live, logs, machines, money, openapi,
    people, prices, progress, quote, results, seeding, submit, webhooks, workers,
};
use crate::session;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use gleaner_accounts::Role;
use gleaner_accounts::token::Scope::{Provide, Read, Submit};
use std::sync::Arc;

type Served = MethodRouter<Arc<Shared>>;

/// A route, and what it takes to use it.
pub(crate) struct Row {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) rule: Rule,
    /// What serves it; nothing, if another room does.
    pub(crate) served: Option<Served>,
}

/// Of whom everything about a job is.
const JOB: Rule = Rule::account(Read).of(Owned::Job);
/// Whoever may change a job.
const JOB_CHANGE: Rule = Rule::account(Submit).of(Owned::Job);

macro_rules! rows {
    ($($method:ident $path:literal $rule:expr => $handler:expr;)*) => {
        vec![$(Row {
            method: Method::$method,
            path: $path,
            rule: $rule,
            served: Some(on(MethodFilter::$method, $handler)),
        },)*]
    };
}

/// What everybody may see, and what proves itself by a signature.
fn open() -> Vec<Row> {
    rows! {
        GET "/api/v1/openapi.json" Rule::ANYONE => openapi::show;
        GET "/api/v1/health" Rule::ANYONE => health::health;
        GET "/healthz" Rule::ANYONE => health::alive;
        GET "/readyz" Rule::ANYONE => health::ready;
        GET "/metrics" Rule::ANYONE => health::metrics;
        GET "/api/v1/status" Rule::ANYONE => figures::status;
        GET "/api/v1/live" Rule::ANYONE => live::socket;
        GET "/api/v1/live/events" Rule::ANYONE => live::events;
        GET "/upload" Rule::ANYONE => inbox::page;
        GET "/api/v1/chain" Rule::ANYONE => money::chain;
        GET "/api/v1/prices" Rule::ANYONE => prices::prices;
        GET "/api/v1/line" Rule::ANYONE => line::fetch;
        POST "/api/v1/line" Rule::ANYONE => line::leave;
        POST "/api/v1/faucet" Rule::ANYONE => money::faucet;
        POST "/api/v1/fiat/webhook" Rule::ANYONE => money::fiat_webhook;
        GET "/api/v1/disputes" Rule::ANYONE => disputes::list;
        GET "/api/v1/cases" Rule::ANYONE => disputes::cases;
        POST "/api/v1/disputes/{dispute}/votes" Rule::ANYONE => disputes::vote;
        GET "/api/v1/evidence/{hash}" Rule::ANYONE => disputes::evidence;
        GET "/api/v1/rounds/{round}/beacon" Rule::ANYONE => disputes::beacon;
        GET "/worker/v1" Rule::ANYONE => session::connect;
        GET "/api/v1/workers" Rule::ANYONE => workers::list;
        GET "/api/v1/workers/{worker}" Rule::ANYONE => workers::show;
    }
}

/// Coming in, and what an account is.
fn accounts() -> Vec<Row> {
    rows! {
        POST "/api/v1/accounts" Rule::ENTRY => people::session::sign_up;
        GET "/api/v1/session" Rule::ANYONE => people::session::show;
        POST "/api/v1/session" Rule::ENTRY => people::session::sign_in;
        DELETE "/api/v1/session" Rule::SESSION => people::session::sign_out;
        POST "/api/v1/session/wallet/challenge" Rule::ENTRY => people::wallet::challenge;
        POST "/api/v1/session/wallet" Rule::ENTRY => people::wallet::sign_in;
        POST "/api/v1/session/passkey/challenge" Rule::ENTRY => people::passkey::challenge;
        POST "/api/v1/session/passkey" Rule::ENTRY => people::passkey::sign_in;
        POST "/api/v1/session/link" Rule::ENTRY => people::link::sign_in;
        PUT "/api/v1/account/passphrase" Rule::SESSION => people::session::change_passphrase;
        GET "/api/v1/account/wallets" Rule::SESSION => people::wallet::list;
        POST "/api/v1/account/wallets" Rule::SESSION => people::wallet::link;
        DELETE "/api/v1/account/wallets/{address}" Rule::SESSION => people::wallet::unlink;
        POST "/api/v1/account/passkeys/challenge" Rule::SESSION => people::passkey::new_challenge;
        GET "/api/v1/account/passkeys" Rule::SESSION => people::passkey::list;
        POST "/api/v1/account/passkeys" Rule::SESSION => people::passkey::add;
        DELETE "/api/v1/account/passkeys/{id}" Rule::SESSION => people::passkey::remove;
        POST "/api/v1/account/totp" Rule::SESSION => people::totp::begin;
        POST "/api/v1/account/totp/confirm" Rule::SESSION => people::totp::confirm;
        DELETE "/api/v1/account/totp" Rule::SESSION => people::totp::remove;
        GET "/api/v1/account/tokens" Rule::SESSION => people::tokens::list;
        POST "/api/v1/account/tokens" Rule::SESSION => people::tokens::make;
        DELETE "/api/v1/account/tokens/{id}" Rule::SESSION => people::tokens::revoke;
        GET "/api/v1/account/sessions" Rule::SESSION => people::sessions::list;
        DELETE "/api/v1/account/sessions" Rule::SESSION => people::sessions::end_others;
        DELETE "/api/v1/account/sessions/{id}" Rule::SESSION => people::sessions::end;
        GET "/api/v1/account/events" Rule::SESSION => people::events::mine;
        GET "/api/v1/accounts" Rule::OPERATOR => people::operator::list;
        GET "/api/v1/accounts/events" Rule::OPERATOR => people::events::all;
        POST "/api/v1/accounts/{account}/link" Rule::OPERATOR => people::link::make;
        PUT "/api/v1/accounts/{account}/roles" Rule::OPERATOR => people::stewardship::set_roles;
        POST "/api/v1/accounts/{account}/suspend" Rule::OPERATOR => people::stewardship::suspend;
        POST "/api/v1/accounts/{account}/readmit" Rule::OPERATOR => people::stewardship::readmit;
        POST "/api/v1/accounts/{account}/passphrase" Rule::OPERATOR => people::stewardship::reset_passphrase;
        PUT "/api/v1/accounts/{account}/wallets/{address}" Rule::OPERATOR => people::operator::add_desk_wallet;
        PUT "/api/v1/tokens/{token}/spending/{purpose}" Rule::OPERATOR => people::operator::reserve;
        DELETE "/api/v1/tokens/{token}/spending/{purpose}" Rule::OPERATOR => people::operator::give_back;
    }
}

/// What requesters do.
fn requesters() -> Vec<Row> {
    rows! {
        GET "/api/v1/jobs" Rule::account(Read) => jobs::list;
        POST "/api/v1/jobs" Rule::account(Submit).with(Role::Requester) => submit::submit;
        POST "/api/v1/quote" Rule::account(Read) => quote::quote;
        GET "/api/v1/jobs/{job}" JOB => jobs::show;
        GET "/api/v1/jobs/{job}/explain" JOB => jobs::explain;
        GET "/api/v1/jobs/{job}/attempts" JOB => progress::attempts;
        GET "/api/v1/jobs/{job}/graph" JOB => progress::graph;
        GET "/api/v1/jobs/{job}/logs" JOB => logs::logs;
        GET "/api/v1/jobs/{job}/results" JOB => results::results;
        GET "/api/v1/jobs/{job}/proofs" JOB => jobs::proofs;
        GET "/api/v1/jobs/{job}/settlement" JOB => money::settlement;
        GET "/api/v1/jobs/{job}/receipts" JOB => money::receipts;
        POST "/api/v1/jobs/{job}/cancel" JOB_CHANGE => jobs::cancel;
        POST "/api/v1/jobs/{job}/approval" JOB_CHANGE => money::approve;
        GET "/api/v1/webhooks" Rule::account(Read) => webhooks::list;
        POST "/api/v1/webhooks" Rule::account(Submit).and(Read) => webhooks::make;
        DELETE "/api/v1/webhooks/{id}" Rule::account(Submit) => webhooks::remove;
        GET "/api/v1/webhooks/{id}/deliveries" Rule::account(Read) => webhooks::deliveries;
        GET "/api/v1/datasets" Rule::account(Read) => data::list;
        POST "/api/v1/datasets/{root}/remove" Rule::account(Submit).of(Owned::Dataset) => data::remove;
        GET "/api/v1/datasets/{root}/key" Rule::account(Read).of(Owned::Dataset) => inbox::key;
    }
}

/// What machines say to the hub and fetch from it, in the name of requesters and workers.
fn exchanges() -> Vec<Row> {
    rows! {
        GET "/api/v1/datasets/{root}" Rule::WORKER.or(Read).of(Owned::Dataset) => data::show;
        PUT "/api/v1/datasets/{root}" Rule::WORKER.or(Submit) => data::register;
        GET "/api/v1/jobs/{job}/keys" Rule::WORKER.or(Submit).of(Owned::Job) => keys::wanted;
        GET "/api/v1/jobs/{job}/keys/{group}" Rule::WORKER.or(Submit).of(Owned::Job) => keys::fetch;
        POST "/api/v1/keys/{submission}" Rule::WORKER.or(Submit).of(Owned::Submission) => keys::leave;
        GET "/api/v1/jobs/{job}/outputs/{group}" Rule::WORKER.or(Read).of(Owned::Job) => results::outputs;
        GET "/api/v1/network" Rule::WORKER.or(Read) => data::network;
        POST "/api/v1/seeding" Rule::WORKER => seeding::hand_in;
    }
}

/// What providers do with their machines. What only an operator may tell a worker is checked by the handler.
fn providers() -> Vec<Row> {
    const MACHINE: Rule = Rule::account(Provide).of(Owned::Worker).with(Role::Provider);
    rows! {
        POST "/api/v1/workers/{worker}/{action}" MACHINE => workers::act;
        GET "/api/v1/machines" Rule::account(Read) => machines::list;
        GET "/api/v1/machines/{worker}" Rule::account(Read).of(Owned::Worker) => machines::show;
        DELETE "/api/v1/machines/{worker}" MACHINE => machines::release;
        PUT "/api/v1/machines/{worker}/settings" MACHINE => machines::set;
        POST "/api/v1/machines/{worker}/pause" MACHINE => machines::pause;
        POST "/api/v1/machines/{worker}/resume" MACHINE => machines::resume;
        GET "/api/v1/machines/{worker}/earnings" Rule::account(Read).of(Owned::Worker) => figures::earnings;
    }
}

/// What the operator does.
fn operators() -> Vec<Row> {
    rows! {
        POST "/api/v1/datasets/check" Rule::OPERATOR => data::check;
        GET "/api/v1/inbox/{user}/{*path}" Rule::OPERATOR => inbox::stage;
        HEAD "/api/v1/inbox/{user}/{*path}" Rule::OPERATOR => inbox::arrived;
        PUT "/api/v1/inbox/{user}/{*path}" Rule::OPERATOR => inbox::bring;
        GET "/api/v1/demand" Rule::OPERATOR => prices::demand;
        GET "/api/v1/reconcile" Rule::OPERATOR => money::reconcile;
        POST "/api/v1/fiat/payments/{payment}/release" Rule::OPERATOR => money::fiat_release;
        GET "/api/v1/seeding" Rule::OPERATOR => seeding::show;
        GET "/api/v1/ledger" Rule::OPERATOR => workers::ledger;
        GET "/api/v1/events" Rule::OPERATOR => events::events;
    }
}

/// Chunks, which the room of data serves.
fn chunks() -> Vec<Row> {
    let row = |path, rule| Row { method: Method::POST, path, rule, served: None };
    vec![
        row("/api/v1/chunks/missing", Rule::WORKER.or(Submit)),
        row("/api/v1/chunks/want", Rule::WORKER.or(Read)),
        row("/api/v1/chunks", Rule::WORKER.or(Submit)),
        row("/api/v1/swarm/{root}", Rule::WORKER.or(Read).of(Owned::Dataset)),
    ]
}

/// Every route of the hub.
pub(crate) fn table() -> Vec<Row> {
    [open(), accounts(), requesters(), exchanges(), providers(), operators(), chunks()].into_iter().flatten().collect()
}
