//! Passkeys: signing in with one, and those of an account.
use super::session::{SessionView, let_in};
use super::{Page, Said, check_fresh};
use crate::http::Shared;
use crate::http::access::{Anyone, Me};
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use gleaner_accounts::Visit;
use gleaner_accounts::passkey::{Created, Passkey, Used};
use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// A passkey that was used.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct UsedPasskey {
    /// What `navigator.credentials.get` gave, as its `toJSON` writes it.
    #[schema(value_type = Object)]
    credential: Used,
}

/// A passkey that was made.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct MadePasskey {
    /// What its owner calls it.
    label: String,
    /// What `navigator.credentials.create` gave, as its `toJSON` writes it.
    #[schema(value_type = Object)]
    credential: Created,
}

/// A passkey of the account.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct PasskeyView {
    id: String,
    label: String,
    made_at: Millis,
    used_at: Option<Millis>,
}

impl From<Passkey> for PasskeyView {
    fn from(Passkey { id, label, made_at, used_at }: Passkey) -> Self {
        Self { id, label, made_at, used_at }
    }
}

/// `POST /api/v1/session/passkey/challenge`.
#[utoipa::path(
    post,
    path = "/api/v1/session/passkey/challenge",
    operation_id = "ask_passkey_challenge",
    tag = "accounts",
    summary = "Options for `navigator.credentials.get`",
    responses(
        (status = 200, description = "The options, as `parseRequestOptionsFromJSON` reads them", body = Object),
        (status = 422, description = "`no-address`, `no-passkey-domain`: passkeys need a page with a name")
    )
)]
pub(in crate::http) async fn challenge(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let site = shared.origin.site(&headers)?;
    Ok(Json(shared.people.ask(move |accounts| accounts.passkey_options(visit.now, &site)).await?))
}

/// `POST /api/v1/session/passkey`.
#[utoipa::path(
    post,
    path = "/api/v1/session/passkey",
    operation_id = "sign_in_with_passkey",
    tag = "accounts",
    summary = "Signs in with a passkey",
    request_body = UsedPasskey,
    responses(
        (status = 200, description = "Who is signed in, with a session's cookie", body = SessionView),
        (status = 403, description = "`suspended`"),
        (status = 422, description = "`passkey`, `challenge`: what the passkey said is not taken")
    )
)]
pub(in crate::http) async fn sign_in(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    headers: HeaderMap,
    Said(said): Said<UsedPasskey>,
) -> Result<Response, Problem> {
    let site = shared.origin.site(&headers)?;
    let signed = shared.people.ask(move |accounts| accounts.sign_in_with_passkey(visit, &site, &said.credential));
    let signed = signed.await?;
    let_in(&shared, visit, &asking, signed, StatusCode::OK).await
}

/// `POST /api/v1/account/passkeys/challenge`.
#[utoipa::path(
    post,
    path = "/api/v1/account/passkeys/challenge",
    operation_id = "ask_new_passkey_challenge",
    tag = "accounts",
    summary = "Options for `navigator.credentials.create`",
    responses(
        (status = 200, description = "The options, as `parseCreationOptionsFromJSON` reads them", body = Object),
        (status = 403, description = "`fresh-sign-in`: sign in again first"),
        (status = 422, description = "`no-address`, `no-passkey-domain`: passkeys need a page with a name")
    )
)]
pub(in crate::http) async fn new_challenge(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    check_fresh(&person, visit)?;
    let (site, id) = (shared.origin.site(&headers)?, person.account.id);
    Ok(Json(shared.people.ask(move |accounts| accounts.new_passkey_options(visit.now, id, &site)).await?))
}

/// `GET /api/v1/account/passkeys`.
#[utoipa::path(
    get,
    path = "/api/v1/account/passkeys",
    operation_id = "list_passkeys",
    tag = "accounts",
    summary = "Passkeys of the account",
    responses((status = 200, description = "All of them", body = Page<PasskeyView>))
)]
pub(in crate::http) async fn list(
    State(shared): State<Arc<Shared>>,
    Me(person): Me,
) -> Result<Json<Page<PasskeyView>>, Problem> {
    let id = person.account.id;
    let passkeys = shared.people.ask(move |accounts| accounts.passkeys(id)).await?;
    Ok(Json(Page::whole(passkeys.into_iter().map(PasskeyView::from).collect())))
}

/// `POST /api/v1/account/passkeys`.
#[utoipa::path(
    post,
    path = "/api/v1/account/passkeys",
    operation_id = "add_passkey",
    tag = "accounts",
    summary = "Adds a passkey",
    request_body = MadePasskey,
    responses(
        (status = 201, description = "It is added", body = PasskeyView),
        (status = 403, description = "`fresh-sign-in`: sign in again first"),
        (status = 409, description = "`too-many`"),
        (status = 422, description = "`passkey`, `challenge`: what the passkey said is not taken")
    )
)]
pub(in crate::http) async fn add(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    headers: HeaderMap,
    Said(said): Said<MadePasskey>,
) -> Result<(StatusCode, Json<PasskeyView>), Problem> {
    check_fresh(&person, visit)?;
    let (site, id) = (shared.origin.site(&headers)?, person.account.id);
    let added =
        shared.people.ask(move |accounts| accounts.add_passkey(visit, id, &site, &said.credential, &said.label));
    Ok((StatusCode::CREATED, Json(added.await?.into())))
}

/// `DELETE /api/v1/account/passkeys/{id}`.
#[utoipa::path(
    delete,
    path = "/api/v1/account/passkeys/{id}",
    operation_id = "remove_passkey",
    tag = "accounts",
    summary = "Removes a passkey",
    responses(
        (status = 204, description = "It is removed"),
        (status = 404, description = "`not-found`"),
        (status = 409, description = "`last-way`: it is the last way in")
    )
)]
pub(in crate::http) async fn remove(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let account = person.account.id;
    shared.people.ask(move |accounts| accounts.remove_passkey(visit, account, &id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
