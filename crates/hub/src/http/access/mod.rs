//! Who may use what: the table of all routes, the guard that goes by it, and the router that is made of it.
mod caller;
pub(crate) mod cookie;
mod guard;
mod headers;
mod origin;
mod owner;
mod rule;
mod table;

pub(crate) use caller::{Anyone, Asking, Me, Person, Via, bearer, unauthorized};
pub(crate) use guard::Peer;
pub(crate) use headers::add as add_headers;
pub(crate) use origin::Origin;
pub(crate) use owner::{Mine, is_anothers, machines_of, mine, payers, requester_for, requester_of};
pub(crate) use rule::{By, Owned, Rule};
pub(crate) use table::table;

use super::Shared;
use super::problem::{Problem, no_such_page};
use crate::extra::{Description, Need, Routes};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use gleaner_accounts::Role;
use gleaner_accounts::token::Scope;
use guard::{Gate, admit, explain, guard, introduce, introduce_to_chunks};
use std::collections::HashMap;
use std::sync::Arc;

/// Routes with the guard of their row before each.
pub(super) fn router(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let mut router = Router::new();
    for row in table() {
        let gate = Gate { shared: Arc::clone(shared), rule: row.rule };
        if let Some(served) = row.served {
            router = router.route(row.path, served.layer(from_fn_with_state(gate, guard)));
        }
    }
    router
}

/// Rules of routes that other rooms serve, by method and path.
type Rules = HashMap<(Method, String), Rule>;

#[derive(Clone)]
struct Elsewhere {
    shared: Arc<Shared>,
    rules: Arc<Rules>,
    /// Whether the room is told in whose name it is asked, as rooms beside the hub are; chunks hear of the account only.
    introduced: bool,
}

/// The routes of the room of data, by the rows that they have in the table.
pub(super) fn guard_chunks<S: Clone + Send + Sync + 'static>(shared: &Arc<Shared>, router: Router<S>) -> Router<S> {
    let foreign = table().into_iter().filter(|row| row.served.is_none());
    let rules = foreign.map(|row| ((row.method, row.path.to_owned()), row.rule)).collect();
    guard_elsewhere(shared, router, rules, false)
}

/// The routes of rooms beside the hub, by what they say that it takes.
pub(super) fn guard_beside(shared: &Arc<Shared>, routes: Routes) -> Router {
    let Routes { router, description } = routes;
    let rules = rules_beside(&description).map(|(method, path, rule)| ((method, path.to_owned()), rule)).collect();
    guard_elsewhere(shared, router, rules, true)
}

/// The rules of the routes of a room beside the hub.
pub(crate) fn rules_beside(description: &Description) -> impl Iterator<Item = (Method, &'static str, Rule)> {
    let needs = description.needs.iter();
    needs.filter_map(|(method, path, need)| Some((method.parse().ok()?, *path, rule_of(*need))))
}

fn guard_elsewhere<S: Clone + Send + Sync + 'static>(
    shared: &Arc<Shared>,
    router: Router<S>,
    rules: Rules,
    introduced: bool,
) -> Router<S> {
    let elsewhere = Elsewhere { shared: Arc::clone(shared), rules: Arc::new(rules), introduced };
    router.route_layer(from_fn_with_state(elsewhere, guard_by_path))
}

/// What a room beside the hub asks of its callers. What is whose it knows itself: it is told who asks.
pub(crate) fn rule_of(need: Need) -> Rule {
    match need {
        Need::Nothing => Rule::ANYONE,
        Need::Read => Rule::account(Scope::Read),
        Need::Submit => Rule::account(Scope::Submit),
        Need::Spend => Rule::account(Scope::Spend),
        Need::Order => Rule::account(Scope::Spend).with(Role::Requester),
    }
}

/// Lets through who may, by the row of the route. A route without one is none.
async fn guard_by_path(State(elsewhere): State<Elsewhere>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let key = (request.method().clone(), path.unwrap_or_default());
    let Some(rule) = elsewhere.rules.get(&key).copied() else {
        return no_such_page(request.uri().clone()).await.into_response();
    };
    let gate = Gate { shared: Arc::clone(&elsewhere.shared), rule };
    if let Err(refused) = admit(&gate, &mut request).await {
        return explain(*refused);
    }
    let introduced = match elsewhere.introduced {
        true => introduce(&mut request),
        false => introduce_to_chunks(&elsewhere.shared, &mut request).await,
    };
    match introduced {
        Ok(()) => next.run(request).await,
        Err(refused) => explain(*refused),
    }
}

impl From<crate::people::Trouble> for Problem {
    fn from(trouble: crate::people::Trouble) -> Self {
        super::people::problem(trouble)
    }
}
