//! What the operator, and rooms beside the hub in its name, do with accounts.
use super::{Page, Said};
use crate::http::parameters::Parameters;
use crate::http::problem::Problem;
use crate::http::{Shared, spending};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use gleaner_accounts::account::LISTED_MAX;
use gleaner_accounts::token::TokenId;
use gleaner_accounts::{Account, AccountId, Roles};
use gleaner_wire::{Address, Amount, Millis};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which accounts are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Asked {
    /// The `next` of the page before.
    cursor: Option<String>,
    /// How many on a page: 500 if not said, and at most.
    limit: Option<u32>,
    /// Only the account with this name.
    name: Option<String>,
}

/// An account, as the operator sees it.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct AccountEntry {
    #[schema(value_type = u64)]
    id: AccountId,
    name: String,
    #[schema(value_type = Vec<String>)]
    roles: Roles,
    made_at: Millis,
    suspended: bool,
}

impl From<Account> for AccountEntry {
    fn from(account: Account) -> Self {
        let Account { id, name, roles, made_at, suspended } = account;
        Self { id, name: name.to_string(), roles, made_at, suspended }
    }
}

/// What is reserved.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Reservation {
    amount: Amount,
}

/// `GET /api/v1/accounts`.
#[utoipa::path(
    get,
    path = "/api/v1/accounts",
    operation_id = "list_accounts",
    tag = "accounts",
    summary = "All accounts, the oldest first",
    params(Asked),
    responses((status = 200, description = "A page", body = Page<AccountEntry>))
)]
pub(in crate::http) async fn list(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<Page<AccountEntry>>, Problem> {
    let after = asked.cursor.as_deref().map(str::parse).transpose();
    let detail = "this is no place in a list of accounts: use the `next` of the page before";
    let after = after.map_err(|_| Problem::bad_parameter("cursor", detail))?;
    let limit = asked.limit.unwrap_or(LISTED_MAX);
    if !(1..=LISTED_MAX).contains(&limit) {
        return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {LISTED_MAX}")));
    }
    if let Some(name) = asked.name {
        let found = shared.people.ask(move |accounts| accounts.account_named(&name)).await?;
        return Ok(Json(Page::whole(found.into_iter().map(AccountEntry::from).collect())));
    }
    let found = shared.people.ask(move |accounts| accounts.list(after.map(AccountId), limit)).await?;
    let next = (found.len() == limit as usize).then(|| found.last().map(|account| account.id.to_string())).flatten();
    Ok(Json(Page { items: found.into_iter().map(AccountEntry::from).collect(), next }))
}

/// `PUT /api/v1/accounts/{account}/wallets/{address}`: the desk keeps this wallet for the account.
#[utoipa::path(
    put,
    path = "/api/v1/accounts/{account}/wallets/{address}",
    operation_id = "add_desk_wallet",
    tag = "accounts",
    summary = "Makes a wallet that the desk keeps an account's",
    responses(
        (status = 204, description = "Jobs of its address are the account's"),
        (status = 404, description = "`not-found`: there is no such account"),
        (status = 409, description = "`owned`, `too-many`")
    )
)]
pub(in crate::http) async fn add_desk_wallet(
    State(shared): State<Arc<Shared>>,
    Path((account, address)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let missing = || Problem::not_found("there is no such account");
    let id = number(&account).map(AccountId).ok_or_else(missing)?;
    let address: Address = address.parse().map_err(|_| Problem::bad_request("this is no address"))?;
    let added = shared.people.ask(move |accounts| match accounts.account(id)? {
        None => Ok(false),
        Some(_) => accounts.add_desk_wallet(id, address).map(|()| true),
    });
    if added.await? { Ok(StatusCode::NO_CONTENT) } else { Err(missing()) }
}

/// `PUT /api/v1/tokens/{token}/spending/{purpose}`.
#[utoipa::path(
    put,
    path = "/api/v1/tokens/{token}/spending/{purpose}",
    operation_id = "reserve_spending",
    tag = "accounts",
    summary = "Reserves what a submission may cost of what a token may spend; again, only what it may cost more",
    request_body = Reservation,
    responses(
        (status = 204, description = "It counts"),
        (status = 404, description = "`not-found`: there is no such token"),
        (status = 409, description = "`too-many`"),
        (status = 422, description = "`over-limit`: the token may not spend so much")
    )
)]
pub(in crate::http) async fn reserve(
    State(shared): State<Arc<Shared>>,
    Path((token, purpose)): Path<(String, String)>,
    Said(said): Said<Reservation>,
) -> Result<StatusCode, Problem> {
    let token = token_id(&token)?;
    spending::reserve(&shared, token, &purpose, said.amount).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /api/v1/tokens/{token}/spending/{purpose}`.
#[utoipa::path(
    delete,
    path = "/api/v1/tokens/{token}/spending/{purpose}",
    operation_id = "give_back_spending",
    tag = "accounts",
    summary = "Gives back what was reserved for something that was refused; what became a job stays counted",
    responses((status = 204, description = "It does not count any more"), (status = 404, description = "`not-found`: there is no such token"))
)]
pub(in crate::http) async fn give_back(
    State(shared): State<Arc<Shared>>,
    Path((token, purpose)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let token = token_id(&token)?;
    spending::give_back(&shared, token, purpose).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn token_id(text: &str) -> Result<TokenId, Problem> {
    number(text).map(TokenId).ok_or_else(|| Problem::not_found("there is no such token"))
}

/// A number that the database can count to.
pub(super) fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| i64::try_from(*number).is_ok())
}
