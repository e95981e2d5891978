//! Who may ask for what: the operator everything, a connected worker chunks, outputs and its keys.
use super::Shared;
use super::problem::Problem;
use crate::token::Caller;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Lets the operator through.
pub(super) async fn operator_only(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match caller(&shared, request.headers()) {
        Some(Caller::Operator) => next.run(request).await,
        Some(Caller::Worker(..)) => {
            let detail = "a worker's token is good for chunks, outputs and its own keys only";
            Problem::new(StatusCode::FORBIDDEN, "forbidden", "not for workers", detail).into_response()
        }
        None => unauthorized(),
    }
}

/// Lets the operator and connected workers through.
pub(super) async fn workers_too(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let Some(caller) = caller(&shared, request.headers()) else { return unauthorized() };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

fn caller(shared: &Shared, headers: &HeaderMap) -> Option<Caller> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    shared.tokens.caller(token.trim())
}

fn unauthorized() -> Response {
    let detail = "send the token in the file api.token of the hub's folder as `Authorization: Bearer TOKEN`";
    let problem = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "no valid token", detail);
    let mut response = problem.into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
