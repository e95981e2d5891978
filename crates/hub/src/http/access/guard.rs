//! Who may ask for what: the operator everything, a connected worker chunks, outputs and its keys.
use super::Shared;
use super::problem::Problem;
use crate::token::Caller;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use gleaner_wire::Asker;
use std::sync::Arc;

/// Lets the operator through.
pub(super) async fn operator_only(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.tokens.bearer(request.headers()) {
        Some(Caller::Operator) => next.run(request).await,
        Some(Caller::Worker(..)) => not_for_workers(),
        None => unauthorized(),
    }
}

/// Lets the operator and connected workers through.
pub(super) async fn workers_too(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let Some(caller) = shared.tokens.bearer(request.headers()) else { return unauthorized() };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Lets the operator through, in the name of the requester that it names, and says so to a room beside the hub.
pub(super) async fn introduced(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    match shared.tokens.bearer(request.headers()) {
        Some(Caller::Operator) => {}
        Some(Caller::Worker(..)) => return not_for_workers(),
        None => return unauthorized(),
    }
    let name = match super::submit::requester(request.headers()) {
        Ok(name) => name,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(Asker { account: name.clone(), name, limit: None });
    next.run(request).await
}

fn not_for_workers() -> Response {
    let detail = "a worker's token is good for chunks, outputs and its own keys only";
    Problem::new(StatusCode::FORBIDDEN, "forbidden", "not for workers", detail).into_response()
}

fn unauthorized() -> Response {
    let detail = "send the token in the file api.token of the hub's folder as `Authorization: Bearer TOKEN`";
    let problem = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "no valid token", detail);
    let mut response = problem.into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
