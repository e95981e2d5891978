//! Links that sign in once, on hubs that are seen on their own machine only.
//!
//! Under a name of its own a hub has none of it: what lets in by being opened is too easily opened by somebody else.
use super::Said;
use super::operator::number;
use super::session::{SessionView, let_in};
use crate::http::Shared;
use crate::http::access::Anyone;
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use gleaner_accounts::{AccountId, Secret, Visit};
use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A link that signs in once.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct LinkView {
    /// Shown once. The page takes it behind `/welcome#`, where no log sees it.
    #[schema(value_type = String)]
    code: Secret,
    /// Until when it is good.
    ends_at: Millis,
}

/// Who comes by a link.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ShownLink {
    #[schema(value_type = String)]
    code: Secret,
}

fn check_here(shared: &Shared, headers: &HeaderMap) -> Result<(), Problem> {
    if shared.origin.is_here(headers) {
        return Ok(());
    }
    let detail = "links sign in on the hub's own machine only: use a passphrase, a passkey or a wallet";
    Err(Problem::new(StatusCode::FORBIDDEN, "not-here", "no links here", detail))
}

/// `POST /api/v1/accounts/{account}/link`.
#[utoipa::path(
    post,
    path = "/api/v1/accounts/{account}/link",
    operation_id = "make_link",
    tag = "accounts",
    summary = "Makes a link that signs in to an account, once, on the hub's own machine",
    responses(
        (status = 201, description = "The link, which is good for five minutes", body = LinkView),
        (status = 403, description = "`not-here`: the hub is seen by others"),
        (status = 404, description = "`not-found`: there is no such account")
    )
)]
pub(in crate::http) async fn make(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    Path(account): Path<String>,
) -> Result<(StatusCode, Json<LinkView>), Problem> {
    check_here(&shared, &headers)?;
    let id = number(&account).map(AccountId).ok_or_else(|| Problem::not_found("there is no such account"))?;
    let link = shared.people.ask(move |accounts| accounts.link(visit, id)).await?;
    Ok((StatusCode::CREATED, Json(LinkView { code: link.code, ends_at: link.ends_at })))
}

/// `POST /api/v1/session/link`.
#[utoipa::path(
    post,
    path = "/api/v1/session/link",
    operation_id = "sign_in_by_link",
    tag = "accounts",
    summary = "Signs in by a link",
    request_body = ShownLink,
    responses(
        (status = 200, description = "Who is signed in, with a session's cookie", body = SessionView),
        (status = 401, description = "`second-factor-needed`: the account asks for more"),
        (status = 403, description = "`not-here`: the hub is seen by others; `suspended`"),
        (status = 404, description = "`not-found`: the account is gone"),
        (status = 422, description = "`challenge`: the link was used, has ended or is of another hub")
    )
)]
pub(in crate::http) async fn sign_in(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    headers: HeaderMap,
    Said(said): Said<ShownLink>,
) -> Result<Response, Problem> {
    check_here(&shared, &headers)?;
    let signed = shared.people.ask(move |accounts| accounts.sign_in_by_link(visit, &said.code)).await?;
    let_in(&shared, visit, &asking, signed, StatusCode::OK).await
}
