//! API tokens of an account.
use super::{Page, Said};
use crate::http::access::Me;
use crate::http::problem::Problem;
use crate::http::{Shared, spending};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use gleaner_accounts::token::{Asked, Scopes, Token, TokenId};
use gleaner_accounts::{Secret, Visit};
use gleaner_wire::{Amount, Millis};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a token is good for.
#[derive(Clone, Copy, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ScopesView {
    /// Looking at what is the account's.
    #[serde(default)]
    read: bool,
    /// Submitting and cancelling jobs, and what they need.
    #[serde(default)]
    submit: bool,
    /// Sharing machines.
    #[serde(default)]
    provide: bool,
    /// Spending up to so much over its whole life; nothing, if it is left out.
    spend: Option<Amount>,
}

impl From<Scopes> for ScopesView {
    fn from(Scopes { read, submit, provide, spend_max }: Scopes) -> Self {
        Self { read, submit, provide, spend: spend_max }
    }
}

impl From<ScopesView> for Scopes {
    fn from(ScopesView { read, submit, provide, spend }: ScopesView) -> Self {
        Self { read, submit, provide, spend_max: spend }
    }
}

/// A token that is wanted.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct WantedToken {
    label: String,
    scopes: ScopesView,
    /// When it ends: within 366 days.
    ends_at: Millis,
}

/// A token, without its text.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct TokenView {
    #[schema(value_type = u64)]
    id: TokenId,
    label: String,
    /// How it begins.
    hint: String,
    scopes: ScopesView,
    /// What it has spent, and reserved to spend.
    spent: Amount,
    made_at: Millis,
    ends_at: Millis,
    used_at: Option<Millis>,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        let Token { id, label, hint, scopes, spent, made_at, ends_at, used_at } = token;
        Self { id, label, hint, scopes: scopes.into(), spent, made_at, ends_at, used_at }
    }
}

/// A token that was just made.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct MadeToken {
    token: TokenView,
    /// The token itself. It is shown here and never again.
    #[schema(value_type = String)]
    text: Secret,
}

/// `GET /api/v1/account/tokens`.
#[utoipa::path(
    get,
    path = "/api/v1/account/tokens",
    operation_id = "list_tokens",
    tag = "accounts",
    summary = "The account's API tokens, the newest first",
    responses((status = 200, description = "All of them", body = Page<TokenView>))
)]
pub(in crate::http) async fn list(
    State(shared): State<Arc<Shared>>,
    Me(person): Me,
) -> Result<Json<Page<TokenView>>, Problem> {
    let id = person.account.id;
    let tokens = shared.people.ask(move |accounts| accounts.tokens(id)).await?;
    for token in tokens.iter().filter(|token| token.scopes.spend_max.is_some()) {
        spending::settle(&shared, token.id).await?;
    }
    let tokens = shared.people.ask(move |accounts| accounts.tokens(id)).await?;
    Ok(Json(Page::whole(tokens.into_iter().map(TokenView::from).collect())))
}

/// `POST /api/v1/account/tokens`.
#[utoipa::path(
    post,
    path = "/api/v1/account/tokens",
    operation_id = "make_token",
    tag = "accounts",
    summary = "Makes an API token, which is shown once",
    request_body = WantedToken,
    responses(
        (status = 201, description = "The token", body = MadeToken),
        (status = 409, description = "`too-many`"),
        (status = 422, description = "`token`: what is asked for cannot be")
    )
)]
pub(in crate::http) async fn make(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Said(wanted): Said<WantedToken>,
) -> Result<(StatusCode, Json<MadeToken>), Problem> {
    let id = person.account.id;
    let asked = Asked { label: wanted.label, scopes: wanted.scopes.into(), ends_at: wanted.ends_at };
    let made = shared.people.ask(move |accounts| accounts.make_token(visit, id, &asked)).await?;
    Ok((StatusCode::CREATED, Json(MadeToken { token: made.token.into(), text: made.text })))
}

/// `DELETE /api/v1/account/tokens/{id}`.
#[utoipa::path(
    delete,
    path = "/api/v1/account/tokens/{id}",
    operation_id = "revoke_token",
    tag = "accounts",
    summary = "Makes a token worthless, and removes webhooks that were made with it",
    responses((status = 204, description = "It is"), (status = 404, description = "`not-found`"))
)]
pub(in crate::http) async fn revoke(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let missing = || Problem::not_found("there is no such token");
    let id = id.parse().ok().filter(|id| i64::try_from(*id).is_ok()).map(TokenId).ok_or_else(missing)?;
    let account = person.account.id;
    shared.people.ask(move |accounts| accounts.revoke_token(visit, account, id)).await?;
    shared.webhooks.look_again();
    Ok(StatusCode::NO_CONTENT)
}
