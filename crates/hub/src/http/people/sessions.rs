//! Where an account is signed in.
use super::Page;
use crate::http::Shared;
use crate::http::access::Me;
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use gleaner_accounts::Visit;
use gleaner_accounts::session::Session;
use gleaner_wire::Millis;
use serde::Serialize;
use std::sync::Arc;

/// A session of the account.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct SessionEntry {
    id: String,
    /// How it began: `passphrase`, `second-factor`, `wallet` or `passkey`.
    via: String,
    /// Where from.
    address: Option<String>,
    made_at: Millis,
    seen_at: Millis,
    /// When it ends if it is not used again, and at the latest.
    ends_at: Millis,
    /// Whether it is the one that asks.
    current: bool,
}

impl SessionEntry {
    fn new(session: Session, current: Option<&str>) -> Self {
        let current = current == Some(session.id.as_str());
        let Session { id, via, address, made_at, seen_at, ends_at } = session;
        Self { id, via: via.name().to_owned(), address, made_at, seen_at, ends_at, current }
    }
}

/// `GET /api/v1/account/sessions`.
#[utoipa::path(
    get,
    path = "/api/v1/account/sessions",
    operation_id = "list_sessions",
    tag = "accounts",
    summary = "Where the account is signed in, the last used first",
    responses((status = 200, description = "All of them", body = Page<SessionEntry>))
)]
pub(in crate::http) async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
) -> Result<Json<Page<SessionEntry>>, Problem> {
    let id = person.account.id;
    let sessions = shared.people.ask(move |accounts| accounts.sessions(visit.now, id)).await?;
    let current = person.session_id();
    let entries = sessions.into_iter().map(|session| SessionEntry::new(session, current.as_deref()));
    Ok(Json(Page::whole(entries.collect())))
}

/// `DELETE /api/v1/account/sessions`.
#[utoipa::path(
    delete,
    path = "/api/v1/account/sessions",
    operation_id = "end_other_sessions",
    tag = "accounts",
    summary = "Signs out everywhere else",
    responses((status = 204, description = "Only the session that asks is left"))
)]
pub(in crate::http) async fn end_others(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
) -> Result<StatusCode, Problem> {
    let (id, keep) = (person.account.id, person.session_id());
    shared.people.ask(move |accounts| accounts.sign_out_everywhere(visit, id, keep.as_deref())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /api/v1/account/sessions/{id}`.
#[utoipa::path(
    delete,
    path = "/api/v1/account/sessions/{id}",
    operation_id = "end_session",
    tag = "accounts",
    summary = "Ends one session",
    responses((status = 204, description = "It has ended"), (status = 404, description = "`not-found`"))
)]
pub(in crate::http) async fn end(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let account = person.account.id;
    shared.people.ask(move |accounts| accounts.end_session(visit, account, &id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
