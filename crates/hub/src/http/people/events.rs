//! The log of security events: each account's own, and all of it for the operator.
use super::Page;
use crate::http::Shared;
use crate::http::access::Me;
use crate::http::parameters::Parameters;
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::State;
use gleaner_accounts::AccountId;
use gleaner_accounts::audit::{EVENTS_LISTED_MAX, Event};
use gleaner_wire::Millis;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Events on a page, unless the caller says otherwise.
const LIMIT_DEFAULT: u32 = 50;

/// Which events are asked for.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct Asked {
    /// The `next` of the page before.
    cursor: Option<String>,
    /// How many on a page: 50 if not said, 200 at most.
    limit: Option<u32>,
}

/// A security event.
#[derive(Serialize, utoipa::ToSchema)]
pub(in crate::http) struct EventView {
    id: u64,
    at: Millis,
    /// Whose account it is about, if anybody's.
    #[schema(value_type = Option<u64>)]
    account: Option<AccountId>,
    /// What happened, such as `signed-in`.
    kind: String,
    /// Where from, if not from the hub's own machine.
    address: Option<String>,
    detail: String,
}

impl From<Event> for EventView {
    fn from(event: Event) -> Self {
        let Event { id, at, account, kind, address, detail } = event;
        Self { id, at, account, kind: kind.name().to_owned(), address, detail }
    }
}

impl Asked {
    fn read(&self) -> Result<(Option<u64>, u32), Problem> {
        let before = self.cursor.as_deref().map(str::parse).transpose();
        let detail = "this is no place in a list of events: use the `next` of the page before";
        let before = before.map_err(|_| Problem::bad_parameter("cursor", detail))?;
        let limit = self.limit.unwrap_or(LIMIT_DEFAULT);
        if !(1..=EVENTS_LISTED_MAX).contains(&limit) {
            return Err(Problem::bad_parameter("limit", format!("limit must be 1 to {EVENTS_LISTED_MAX}")));
        }
        Ok((before, limit))
    }
}

fn page(events: Vec<Event>, limit: u32) -> Json<Page<EventView>> {
    let next = (events.len() == limit as usize).then(|| events.last().map(|event| event.id.to_string())).flatten();
    Json(Page { items: events.into_iter().map(EventView::from).collect(), next })
}

/// `GET /api/v1/account/events`.
#[utoipa::path(
    get,
    path = "/api/v1/account/events",
    operation_id = "list_security_events",
    tag = "accounts",
    summary = "What happened to the account, the newest first",
    params(Asked),
    responses((status = 200, description = "A page", body = Page<EventView>))
)]
pub(in crate::http) async fn mine(
    State(shared): State<Arc<Shared>>,
    Me(person): Me,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<Page<EventView>>, Problem> {
    let ((before, limit), id) = (asked.read()?, person.account.id);
    let events = shared.people.ask(move |accounts| accounts.events_of(id, before, limit)).await?;
    Ok(page(events, limit))
}

/// `GET /api/v1/accounts/events`.
#[utoipa::path(
    get,
    path = "/api/v1/accounts/events",
    operation_id = "list_all_security_events",
    tag = "accounts",
    summary = "What happened to all accounts, the newest first",
    params(Asked),
    responses((status = 200, description = "A page", body = Page<EventView>))
)]
pub(in crate::http) async fn all(
    State(shared): State<Arc<Shared>>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<Page<EventView>>, Problem> {
    let (before, limit) = asked.read()?;
    let events = shared.people.ask(move |accounts| accounts.events(before, limit)).await?;
    Ok(page(events, limit))
}
