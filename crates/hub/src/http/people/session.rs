//! Signing up, in and out with a passphrase, and who is signed in.
use super::Said;
use crate::SignUp;
use crate::http::Shared;
use crate::http::access::{Anyone, Asking, Me, Via, cookie, unauthorized};
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gleaner_accounts::sign_in::SignedIn;
use gleaner_accounts::{Account, AccountId, Role, Roles, Secret, Visit};
use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who an account is.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct AccountView {
    #[schema(value_type = u64)]
    id: AccountId,
    name: String,
}

/// Who is signed in.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct SessionView {
    account: AccountView,
    #[schema(value_type = Vec<String>)]
    roles: Roles,
    /// What everything that changes something has to carry in the header `X-Gleaner-CSRF`; nothing for tokens.
    #[schema(value_type = Option<String>)]
    csrf: Option<Secret>,
    /// When the session or token ends at the latest.
    expires_at: Millis,
    /// Whether the account asks for a code beside the passphrase.
    second_factor: bool,
    /// How it was signed in: `passphrase`, `second-factor`, `wallet`, `passkey`, `link` or `token`.
    via: String,
}

impl SessionView {
    fn new(account: &Account, csrf: Option<Secret>, expires_at: Millis, second_factor: bool, via: &str) -> Self {
        let roles = account.roles;
        let account = AccountView { id: account.id, name: account.name.to_string() };
        Self { account, roles, csrf, expires_at, second_factor, via: via.to_owned() }
    }
}

/// A new account.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SigningUp {
    name: String,
    #[schema(value_type = String)]
    passphrase: Secret,
    /// `requester`, `provider`, or both, which it is if nothing is said; `operator` by the operator's word only.
    #[schema(value_type = Option<Vec<String>>)]
    roles: Option<Roles>,
}

/// Who comes in.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SigningIn {
    name: String,
    #[schema(value_type = String)]
    passphrase: Secret,
    /// Of the second factor, if the account has one.
    #[schema(value_type = Option<String>)]
    code: Option<Secret>,
}

/// Another passphrase.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewPassphrase {
    /// The one until now, if there is one.
    #[schema(value_type = Option<String>)]
    old: Option<Secret>,
    #[schema(value_type = String)]
    new: Secret,
}

/// Lets a browser in: the cookie, and what it needs to know. A session that it had before ends.
pub(super) async fn let_in(
    shared: &Shared,
    visit: Visit,
    before: &Asking,
    signed: SignedIn,
    status: StatusCode,
) -> Result<Response, Problem> {
    let https = shared.origin.is_https();
    let old = before.person().and_then(|person| person.session().map(|(_, token)| token.to_owned()));
    let id = signed.account.id;
    let asked = shared.people.ask(move |accounts| {
        old.map_or(Ok(()), |old| accounts.sign_out(visit, &old))?;
        accounts.totp(id)
    });
    let second_factor = asked.await?.is_some();
    let session = signed.session;
    let given = cookie::give(&session.token, https);
    let via = session.via.name();
    let view = SessionView::new(&signed.account, Some(session.csrf), session.ends_at, second_factor, via);
    Ok((status, [(header::SET_COOKIE, given)], Json(view)).into_response())
}

/// `POST /api/v1/accounts`.
#[utoipa::path(
    post,
    path = "/api/v1/accounts",
    operation_id = "sign_up",
    tag = "accounts",
    summary = "Makes an account and signs in to it",
    request_body = SigningUp,
    responses(
        (status = 201, description = "The account, with a session's cookie", body = SessionView),
        (status = 403, description = "`sign-up-closed`: the operator makes accounts here; `role`: not for yourself"),
        (status = 409, description = "`name-taken`"),
        (status = 422, description = "`name`, `weak-passphrase`")
    )
)]
pub(in crate::http) async fn sign_up(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    Said(said): Said<SigningUp>,
) -> Result<Response, Problem> {
    let is_operator = asking.caller() == Some(crate::token::Caller::Operator);
    if shared.people.sign_up == SignUp::Closed && !is_operator {
        let detail = "this hub's operator makes its accounts: ask for one";
        return Err(Problem::new(StatusCode::FORBIDDEN, "sign-up-closed", "no new accounts", detail));
    }
    let mut roles = said.roles.unwrap_or_default();
    if roles.has(Role::Operator) && !is_operator {
        let detail = "only an operator makes operators";
        return Err(Problem::new(StatusCode::FORBIDDEN, "role", "not for yourself", detail));
    }
    let signed = shared.people.hash(move |accounts| {
        // The first account that somebody makes who has the operator's token is the operator's.
        if is_operator && said.roles.is_none() && accounts.is_empty()? {
            roles = roles.with(Role::Operator);
        }
        accounts.sign_up(visit, &said.name, &said.passphrase, roles)
    });
    let signed = signed.await?;
    let_in(&shared, visit, &asking, signed, StatusCode::CREATED).await
}

/// `POST /api/v1/session`.
#[utoipa::path(
    post,
    path = "/api/v1/session",
    operation_id = "sign_in",
    tag = "accounts",
    summary = "Signs in with a passphrase, and a code if the account has a second factor",
    request_body = SigningIn,
    responses(
        (status = 200, description = "Who is signed in, with a session's cookie", body = SessionView),
        (status = 401, description = "`wrong-credentials`, `second-factor-needed`, `wrong-code`"),
        (status = 403, description = "`suspended`"),
        (status = 429, description = "`locked-out`, `too-often`: wait as long as `Retry-After` says")
    )
)]
pub(in crate::http) async fn sign_in(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    Said(said): Said<SigningIn>,
) -> Result<Response, Problem> {
    let signed = shared.people.hash(move |accounts| {
        accounts.sign_in(visit, &said.name, &said.passphrase, said.code.as_ref().map(Secret::expose))
    });
    let signed = signed.await?;
    let_in(&shared, visit, &asking, signed, StatusCode::OK).await
}

/// `GET /api/v1/session`.
#[utoipa::path(
    get,
    path = "/api/v1/session",
    operation_id = "show_session",
    tag = "accounts",
    summary = "Who is signed in",
    responses(
        (status = 200, description = "Who", body = SessionView),
        (status = 401, description = "`unauthorized`: nobody is")
    )
)]
pub(in crate::http) async fn show(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
) -> Result<Json<SessionView>, Problem> {
    let person = asking.person().cloned().ok_or_else(unauthorized)?;
    let id = person.account.id;
    let (csrf, expires_at, via) = match &person.via {
        Via::Session(session, token) => {
            let token = token.clone();
            let csrf = shared.people.ask(move |accounts| Ok(accounts.csrf(&token))).await?;
            (Some(csrf), session.ends_at, session.via.name())
        }
        Via::Token(token) => (None, token.ends_at, "token"),
    };
    let second_factor = shared.people.ask(move |accounts| accounts.totp(id)).await?.is_some();
    Ok(Json(SessionView::new(&person.account, csrf, expires_at, second_factor, via)))
}

/// `DELETE /api/v1/session`.
#[utoipa::path(
    delete,
    path = "/api/v1/session",
    operation_id = "sign_out",
    tag = "accounts",
    summary = "Signs out",
    responses((status = 204, description = "The session has ended"))
)]
pub(in crate::http) async fn sign_out(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
) -> Result<(StatusCode, HeaderMap), Problem> {
    if let Some(token) = person.session().map(|(_, token)| token.to_owned()) {
        shared.people.ask(move |accounts| accounts.sign_out(visit, &token)).await?;
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::SET_COOKIE, cookie::take(shared.origin.is_https()));
    headers.insert("clear-site-data", HeaderValue::from_static("\"cache\", \"storage\""));
    Ok((StatusCode::NO_CONTENT, headers))
}

/// `PUT /api/v1/account/passphrase`.
#[utoipa::path(
    put,
    path = "/api/v1/account/passphrase",
    operation_id = "change_passphrase",
    tag = "accounts",
    summary = "Gives the account another passphrase, and ends its other sessions",
    request_body = NewPassphrase,
    responses(
        (status = 204, description = "It counts from now on"),
        (status = 401, description = "`wrong-credentials`: the old one is another"),
        (status = 403, description = "`fresh-sign-in`: there was none, and a first one needs a fresh sign-in"),
        (status = 422, description = "`weak-passphrase`"),
        (status = 429, description = "`locked-out`, `too-often`")
    )
)]
pub(in crate::http) async fn change_passphrase(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Said(said): Said<NewPassphrase>,
) -> Result<StatusCode, Problem> {
    let (id, keep) = (person.account.id, person.session_id());
    let change = shared
        .people
        .hash(move |accounts| accounts.change_passphrase(visit, id, said.old.as_ref(), &said.new, keep.as_deref()));
    change.await?;
    Ok(StatusCode::NO_CONTENT)
}
