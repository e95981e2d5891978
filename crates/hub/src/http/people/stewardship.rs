//! What the operator does with somebody else's account: its roles, stopping it, and letting its owner in again.
use super::Said;
use super::operator::{AccountEntry, number};
use crate::http::Shared;
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::{Extension, Path, State};
use gleaner_accounts::{Account, AccountId, Accounts, Error, Refusal, Role, Roles, Secret, Visit};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The roles that an account is to have.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct WantedRoles {
    /// `requester`, `provider`, `operator`; all others are taken away.
    #[schema(value_type = Vec<String>)]
    roles: Roles,
}

/// A passphrase for somebody who has lost theirs.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct NewPassphrase {
    /// Shown here and never again. Its owner signs in with it and then chooses another one.
    #[schema(value_type = String)]
    passphrase: Secret,
}

fn account_id(text: &str) -> Result<AccountId, Problem> {
    number(text).map(AccountId).ok_or_else(|| Problem::not_found("there is no such account"))
}

/// Changes an account, and shows it as it is then.
async fn change(
    shared: &Shared,
    id: AccountId,
    how: impl FnOnce(&Accounts) -> Result<(), Error> + Send + 'static,
) -> Result<Json<AccountEntry>, Problem> {
    let changed: Account = shared
        .people
        .ask(move |accounts| {
            how(accounts)?;
            accounts.account(id)?.ok_or_else(|| Refusal::NotFound("account").into())
        })
        .await?;
    Ok(Json(changed.into()))
}

/// `PUT /api/v1/accounts/{account}/roles`.
#[utoipa::path(
    put,
    path = "/api/v1/accounts/{account}/roles",
    operation_id = "set_roles",
    tag = "accounts",
    summary = "Says which roles an account has; its sessions end if they change",
    request_body = WantedRoles,
    responses(
        (status = 200, description = "The account", body = AccountEntry),
        (status = 404, description = "`not-found`: there is no such account")
    )
)]
pub(in crate::http) async fn set_roles(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Path(account): Path<String>,
    Said(wanted): Said<WantedRoles>,
) -> Result<Json<AccountEntry>, Problem> {
    let id = account_id(&account)?;
    change(&shared, id, move |accounts| {
        Role::ALL.into_iter().try_for_each(|role| {
            let changed = if wanted.roles.has(role) {
                accounts.grant(visit, id, role)
            } else {
                accounts.withdraw(visit, id, role)
            };
            changed.map(|_| ())
        })
    })
    .await
}

/// `POST /api/v1/accounts/{account}/suspend`.
#[utoipa::path(
    post,
    path = "/api/v1/accounts/{account}/suspend",
    operation_id = "suspend_account",
    tag = "accounts",
    summary = "Stops an account: nobody signs in to it, and its sessions and tokens are good for nothing",
    responses(
        (status = 200, description = "The account", body = AccountEntry),
        (status = 404, description = "`not-found`: there is no such account")
    )
)]
pub(in crate::http) async fn suspend(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Path(account): Path<String>,
) -> Result<Json<AccountEntry>, Problem> {
    let id = account_id(&account)?;
    let changed = change(&shared, id, move |accounts| accounts.suspend(visit, id)).await;
    shared.webhooks.look_again();
    changed
}

/// `POST /api/v1/accounts/{account}/readmit`.
#[utoipa::path(
    post,
    path = "/api/v1/accounts/{account}/readmit",
    operation_id = "readmit_account",
    tag = "accounts",
    summary = "Takes a suspension back, and forgets wrong tries for which its owner would have to wait",
    responses(
        (status = 200, description = "The account", body = AccountEntry),
        (status = 404, description = "`not-found`: there is no such account")
    )
)]
pub(in crate::http) async fn readmit(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Path(account): Path<String>,
) -> Result<Json<AccountEntry>, Problem> {
    let id = account_id(&account)?;
    let changed = change(&shared, id, move |accounts| accounts.readmit(visit, id)).await;
    shared.webhooks.look_again();
    changed
}

/// `POST /api/v1/accounts/{account}/passphrase`.
#[utoipa::path(
    post,
    path = "/api/v1/accounts/{account}/passphrase",
    operation_id = "reset_passphrase",
    tag = "accounts",
    summary = "Gives an account a new passphrase, which is its only way in from then on",
    description = "The second factor is off, sessions have ended, tokens, passkeys and webhooks are gone, and wallets do not sign in \
                   until they are linked again. What they have paid for stays the account's.",
    responses(
        (status = 200, description = "The passphrase, which is shown once", body = NewPassphrase),
        (status = 404, description = "`not-found`: there is no such account")
    )
)]
pub(in crate::http) async fn reset_passphrase(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Path(account): Path<String>,
) -> Result<Json<NewPassphrase>, Problem> {
    let id = account_id(&account)?;
    let passphrase = shared.people.hash(move |accounts| accounts.reset_passphrase(visit, id)).await?;
    // Whoever was in may have had one made.
    shared.webhooks.remove_of(&crate::webhooks::account_owner(id)).await?;
    Ok(Json(NewPassphrase { passphrase }))
}
