//! Wallets: signing in with one, and those that an account has proved.
use super::session::{SessionView, let_in};
use super::{Page, Said, check_fresh};
use crate::http::Shared;
use crate::http::access::{Anyone, Me};
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use gleaner_accounts::wallet::{Place, ToSign, Wallet};
use gleaner_accounts::{Secret, Visit};
use gleaner_wire::{Address, Millis};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The chain that messages name on a hub without one: what test chains are called.
const CHAIN_DEFAULT: u64 = 31_337;

/// Whose wallet is to sign.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Wanted {
    address: Address,
}

/// What a wallet is to sign.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct ToSignView {
    /// The whole message, as EIP-4361 has it.
    message: String,
    nonce: String,
}

/// What a wallet has signed.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct SignedMessage {
    message: String,
    /// In hexadecimal digits, as `personal_sign` gives it.
    signature: String,
    /// Of the second factor, if the account has one.
    #[schema(value_type = Option<String>)]
    code: Option<Secret>,
}

/// A wallet that an account has proved.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct WalletView {
    address: Address,
    made_at: Millis,
}

impl From<Wallet> for WalletView {
    fn from(wallet: Wallet) -> Self {
        Self { address: wallet.address, made_at: wallet.made_at }
    }
}

/// Which chain messages have to name.
fn chain_id(shared: &Shared) -> u64 {
    shared.money.as_ref().map_or(CHAIN_DEFAULT, |money| money.chain_id())
}

/// `POST /api/v1/session/wallet/challenge`.
#[utoipa::path(
    post,
    path = "/api/v1/session/wallet/challenge",
    operation_id = "ask_wallet_challenge",
    tag = "accounts",
    summary = "What the owner of an address is to sign, to sign in or to link it",
    request_body = Wanted,
    responses(
        (status = 200, description = "The message", body = ToSignView),
        (status = 422, description = "`no-address`: the hub does not know under which address it is seen")
    )
)]
pub(in crate::http) async fn challenge(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    Said(wanted): Said<Wanted>,
) -> Result<Json<ToSignView>, Problem> {
    let (site, chain_id) = (shared.origin.site(&headers)?, chain_id(&shared));
    let asked = shared
        .people
        .ask(move |accounts| accounts.wallet_challenge(visit.now, Place { site: &site, chain_id }, wanted.address));
    let ToSign { message, nonce } = asked.await?;
    Ok(Json(ToSignView { message, nonce }))
}

/// `POST /api/v1/session/wallet`.
#[utoipa::path(
    post,
    path = "/api/v1/session/wallet",
    operation_id = "sign_in_with_wallet",
    tag = "accounts",
    summary = "Signs in with a wallet; an address that no account has gets one",
    request_body = SignedMessage,
    responses(
        (status = 200, description = "Who is signed in, with a session's cookie", body = SessionView),
        (status = 401, description = "`second-factor-needed`, `wrong-code`"),
        (status = 403, description = "`suspended`, `sign-up-closed`"),
        (status = 409, description = "`name-taken`"),
        (status = 422, description = "`wallet`, `challenge`: the message or its signature is not taken"),
        (status = 429, description = "`locked-out`, `too-often`")
    )
)]
pub(in crate::http) async fn sign_in(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Anyone(asking): Anyone,
    headers: HeaderMap,
    Said(said): Said<SignedMessage>,
) -> Result<Response, Problem> {
    let (site, chain_id) = (shared.origin.site(&headers)?, chain_id(&shared));
    let newcomers = shared.people.newcomers();
    let signed = shared.people.ask(move |accounts| {
        let (place, code) = (Place { site: &site, chain_id }, said.code.as_ref().map(Secret::expose));
        accounts.sign_in_with_wallet(visit, place, &said.message, &said.signature, code, newcomers)
    });
    let signed = signed.await?;
    let_in(&shared, visit, &asking, signed, StatusCode::OK).await
}

/// `GET /api/v1/account/wallets`.
#[utoipa::path(
    get,
    path = "/api/v1/account/wallets",
    operation_id = "list_wallets",
    tag = "accounts",
    summary = "Wallets that the account has proved",
    responses((status = 200, description = "All of them", body = Page<WalletView>))
)]
pub(in crate::http) async fn list(
    State(shared): State<Arc<Shared>>,
    Me(person): Me,
) -> Result<Json<Page<WalletView>>, Problem> {
    let id = person.account.id;
    let wallets = shared.people.ask(move |accounts| accounts.wallets(id)).await?;
    Ok(Json(Page::whole(wallets.into_iter().map(WalletView::from).collect())))
}

/// `POST /api/v1/account/wallets`.
#[utoipa::path(
    post,
    path = "/api/v1/account/wallets",
    operation_id = "link_wallet",
    tag = "accounts",
    summary = "Links a wallet: jobs and machines of its address are the account's",
    request_body = SignedMessage,
    responses(
        (status = 204, description = "It is linked"),
        (status = 403, description = "`fresh-sign-in`: sign in again first"),
        (status = 409, description = "`wallet-taken`, `owned`, `too-many`"),
        (status = 422, description = "`wallet`, `challenge`: the message or its signature is not taken")
    )
)]
pub(in crate::http) async fn link(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    headers: HeaderMap,
    Said(said): Said<SignedMessage>,
) -> Result<StatusCode, Problem> {
    check_fresh(&person, visit)?;
    let (site, chain_id) = (shared.origin.site(&headers)?, chain_id(&shared));
    let id = person.account.id;
    let linked = shared.people.ask(move |accounts| {
        accounts.link_wallet(visit, id, Place { site: &site, chain_id }, &said.message, &said.signature)
    });
    linked.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /api/v1/account/wallets/{address}`.
#[utoipa::path(
    delete,
    path = "/api/v1/account/wallets/{address}",
    operation_id = "unlink_wallet",
    tag = "accounts",
    summary = "Unlinks a wallet",
    responses(
        (status = 204, description = "It is not the account's any more"),
        (status = 404, description = "`not-found`"),
        (status = 409, description = "`last-way`: it is the last way in")
    )
)]
pub(in crate::http) async fn unlink(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Path(address): Path<String>,
) -> Result<StatusCode, Problem> {
    let missing = || Problem::not_found("there is no such wallet");
    let address: Address = address.to_ascii_lowercase().parse().map_err(|_| missing())?;
    let id = person.account.id;
    shared.people.ask(move |accounts| accounts.unlink_wallet(visit, id, address)).await?;
    Ok(StatusCode::NO_CONTENT)
}
