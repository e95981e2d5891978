//! Webhooks: making, listing and removing them, and what was sent.
use super::Shared;
use super::access::{Anyone, Asking, Via};
use super::parameters::Parameters;
use super::problem::Problem;
use crate::webhooks::{Trouble, read_url};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use gleaner_accounts::token::TokenId;
use gleaner_wire::webhook::{DeliveriesPage, NewWebhook, WebhookMade, WebhooksPage};
use serde::Deserialize;
use std::sync::Arc;

/// Whose webhooks these are: an account's see its own jobs. Those that see every job are made with the token in the hub's folder,
/// and by nobody's session: a webhook outlives a role.
fn owner(asking: &Asking) -> String {
    match asking.person() {
        Some(person) => crate::webhooks::account_owner(person.account.id),
        None => crate::webhooks::OPERATOR.to_owned(),
    }
}

/// The token that a webhook is made with: it goes when that does.
fn token(asking: &Asking) -> Option<TokenId> {
    match &asking.person()?.via {
        Via::Token(token) => Some(token.id),
        Via::Session(..) => None,
    }
}

/// Entries on one page.
const PAGE_MAX: u32 = 200;
const PAGE_DEFAULT: u32 = 50;

/// Which page is asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// How many on a page: 50 if not said, 200 at most.
    limit: Option<u32>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

impl Asked {
    fn limit(&self) -> Result<u32, Problem> {
        let limit = self.limit.unwrap_or(PAGE_DEFAULT);
        let wrong = || Problem::bad_parameter("limit", format!("limit must be 1 to {PAGE_MAX}"));
        Some(limit).filter(|limit| (1..=PAGE_MAX).contains(limit)).ok_or_else(wrong)
    }

    fn cursor(&self) -> Result<Option<u64>, Problem> {
        let detail = "this is no place in this list: use the `next` of the page before";
        let cursor = self.cursor.as_deref().map(str::parse).transpose();
        cursor.map_err(|_| Problem::bad_parameter("cursor", detail))
    }
}

/// `GET /api/v1/webhooks`.
#[utoipa::path(
    get,
    path = "/api/v1/webhooks",
    operation_id = "list_webhooks",
    tag = "webhooks",
    summary = "Webhooks, oldest first",
    params(Asked),
    responses((status = 200, description = "A page", body = WebhooksPage)),
    security(("operator" = []))
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<WebhooksPage>, Problem> {
    let limit = asked.limit()?;
    let mut items = shared.webhooks.list(&owner(&asking), asked.cursor()?.unwrap_or(0), limit + 1).await?;
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| more).map(|last| last.id.to_string());
    Ok(Json(WebhooksPage { items, next }))
}

/// `POST /api/v1/webhooks`.
#[utoipa::path(
    post,
    path = "/api/v1/webhooks",
    operation_id = "make_webhook",
    tag = "webhooks",
    summary = "Has requests sent to an address whenever something happens to a job",
    description = "Each request is a POST of a `WebhookMessage`, with `gleaner-signature: t=SECONDS,v1=HMAC`: HMAC-SHA256 with the \
                   secret over the seconds, a full stop and the body, in hexadecimal digits. An answer of 200 to 299 within ten \
                   seconds counts; otherwise it is tried again, for about a day. An account's webhooks hear of its own jobs; one that \
                   was made with an API token, which needs the scopes `read` and `submit`, goes when the token does.",
    request_body = NewWebhook,
    responses(
        (status = 201, description = "The webhook, with its secret", body = WebhookMade, headers(("location" = String, description = "Where it is"))),
        (status = 409, description = "`too-many`: there are too many webhooks"),
        (status = 422, description = "`webhook-refused`: requests may not go there; `bad-request`: the body is JSON of another form")
    ),
    security(("operator" = []))
)]
pub(super) async fn make(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Json(new): Json<NewWebhook>,
) -> Result<impl IntoResponse, Problem> {
    let refused = |at: &str, reason: String| {
        let (status, title) = (StatusCode::UNPROCESSABLE_ENTITY, "the webhook is refused");
        Problem::new(status, "webhook-refused", title, reason).at(at, None)
    };
    read_url(&new.url, shared.webhooks.private()).map_err(|reason| refused("url", reason))?;
    if new.events.as_ref().is_some_and(Vec::is_empty) {
        return Err(refused("events", "name at least one event, or leave `events` out for all of them".to_owned()));
    }
    let made = shared.webhooks.make(&owner(&asking), token(&asking), new).await?;
    let (webhook, secret) = made.ok_or_else(|| {
        let detail = "remove one that is not needed any more first";
        Problem::new(StatusCode::CONFLICT, "too-many", "there are too many webhooks", detail)
    })?;
    let location = format!("/api/v1/webhooks/{}", webhook.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(WebhookMade { webhook, secret })))
}

/// `DELETE /api/v1/webhooks/{id}`.
#[utoipa::path(
    delete,
    path = "/api/v1/webhooks/{id}",
    operation_id = "remove_webhook",
    tag = "webhooks",
    summary = "Removes a webhook with everything that waits for it",
    responses((status = 204, description = "Removed"), (status = 404, description = "`not-found`: there is none")),
    security(("operator" = []))
)]
pub(super) async fn remove(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let removed = shared.webhooks.remove(&owner(&asking), number(&id)?).await?;
    if removed { Ok(StatusCode::NO_CONTENT) } else { Err(missing(&id)) }
}

/// `GET /api/v1/webhooks/{id}/deliveries`.
#[utoipa::path(
    get,
    path = "/api/v1/webhooks/{id}/deliveries",
    operation_id = "list_deliveries",
    tag = "webhooks",
    summary = "What was sent to a webhook, newest first",
    params(Asked),
    responses(
        (status = 200, description = "A page", body = DeliveriesPage),
        (status = 404, description = "`not-found`: there is no such webhook")
    ),
    security(("operator" = []))
)]
pub(super) async fn deliveries(
    State(shared): State<Arc<Shared>>,
    Anyone(asking): Anyone,
    Path(id): Path<String>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<DeliveriesPage>, Problem> {
    let (limit, before) = (asked.limit()?, asked.cursor()?.unwrap_or(u64::MAX));
    let log = shared.webhooks.log(&owner(&asking), number(&id)?, before, limit + 1).await?;
    let mut items = log.ok_or_else(|| missing(&id))?;
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| more).map(|last| last.id.to_string());
    Ok(Json(DeliveriesPage { items, next }))
}

fn number(id: &str) -> Result<u64, Problem> {
    id.parse().ok().filter(|number| i64::try_from(*number).is_ok()).ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Problem {
    Problem::not_found(format!("there is no webhook {id}"))
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        let (status, title) = (StatusCode::INTERNAL_SERVER_ERROR, "webhooks cannot be used now");
        Self::new(status, "webhooks", title, trouble.to_string())
    }
}
