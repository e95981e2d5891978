//! The second factor of an account.
use super::{Said, check_fresh};
use crate::http::Shared;
use crate::http::access::Me;
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use gleaner_accounts::{Secret, Visit};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What apps call a hub whose address is not known.
const HUB: &str = "Gleaner";

/// What is typed or scanned into an app.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct EnrolmentView {
    #[schema(value_type = String)]
    secret: Secret,
    /// For a picture that apps scan.
    #[schema(value_type = String)]
    uri: Secret,
}

/// A code.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Code {
    #[schema(value_type = String)]
    code: Secret,
}

/// Codes for when the app is lost; shown once.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct RecoveryView {
    #[schema(value_type = Vec<String>)]
    recovery_codes: Vec<Secret>,
}

/// `POST /api/v1/account/totp`.
#[utoipa::path(
    post,
    path = "/api/v1/account/totp",
    operation_id = "begin_second_factor",
    tag = "accounts",
    summary = "A secret for an app that shows codes; it counts once a code of it is given",
    responses(
        (status = 200, description = "The secret", body = EnrolmentView),
        (status = 403, description = "`fresh-sign-in`: sign in again first"),
        (status = 409, description = "`totp-on`: there is a second factor already")
    )
)]
pub(in crate::http) async fn begin(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    headers: HeaderMap,
) -> Result<Json<EnrolmentView>, Problem> {
    // Whoever turns it on signs everybody else out.
    check_fresh(&person, visit)?;
    let id = person.account.id;
    let hub = shared.origin.site(&headers).map_or_else(|_| HUB.to_owned(), |site| site.authority().to_owned());
    let enrolment = shared.people.ask(move |accounts| accounts.begin_totp(id, &hub)).await?;
    Ok(Json(EnrolmentView { secret: enrolment.secret, uri: enrolment.uri }))
}

/// `POST /api/v1/account/totp/confirm`.
#[utoipa::path(
    post,
    path = "/api/v1/account/totp/confirm",
    operation_id = "confirm_second_factor",
    tag = "accounts",
    summary = "Turns the second factor on with a first code, and ends other sessions",
    request_body = Code,
    responses(
        (status = 200, description = "Recovery codes, shown once", body = RecoveryView),
        (status = 401, description = "`wrong-code`"),
        (status = 409, description = "`totp-on`, `totp-off`")
    )
)]
pub(in crate::http) async fn confirm(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Said(said): Said<Code>,
) -> Result<Json<RecoveryView>, Problem> {
    let (id, keep) = (person.account.id, person.session_id());
    let confirmed =
        shared.people.ask(move |accounts| accounts.confirm_totp(visit, id, said.code.expose(), keep.as_deref()));
    Ok(Json(RecoveryView { recovery_codes: confirmed.await? }))
}

/// `DELETE /api/v1/account/totp`.
#[utoipa::path(
    delete,
    path = "/api/v1/account/totp",
    operation_id = "remove_second_factor",
    tag = "accounts",
    summary = "Turns the second factor off with a code of it, or a recovery code",
    request_body = Code,
    responses(
        (status = 204, description = "It is off"),
        (status = 401, description = "`wrong-code`"),
        (status = 409, description = "`totp-off`"),
        (status = 429, description = "`locked-out`, `too-often`")
    )
)]
pub(in crate::http) async fn remove(
    State(shared): State<Arc<Shared>>,
    Extension(visit): Extension<Visit>,
    Me(person): Me,
    Said(said): Said<Code>,
) -> Result<StatusCode, Problem> {
    let id = person.account.id;
    shared.people.ask(move |accounts| accounts.remove_totp(visit, id, said.code.expose())).await?;
    Ok(StatusCode::NO_CONTENT)
}
