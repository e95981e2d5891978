//! The guard before every route: who asks, how often, whether they may, and whether it is theirs.
use super::caller::{Asking, identify, unauthorized};
use super::owner;
use super::rule::{Judgement, Rule};
use crate::http::Shared;
use crate::http::problem::Problem;
use crate::people::{Kind, visit};
use crate::token::Caller;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use gleaner_accounts::Visit;
use gleaner_accounts::audit;
use gleaner_accounts::rate::Wait;
use gleaner_wire::Asker;
use gleaner_wire::SpendLimit;
use std::net::IpAddr;
use std::sync::Arc;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// One route's guard.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) shared: Arc<Shared>,
    pub(super) rule: Rule,
}

/// Lets through who may.
pub(super) async fn guard(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    match admit(&gate, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => explain(*problem),
    }
}

/// Why somebody is not let through, and what the answer says beside that.
pub(super) enum Refused {
    Plain(Problem),
    Wait(Wait),
}

impl From<Problem> for Box<Refused> {
    fn from(problem: Problem) -> Self {
        Self::new(Refused::Plain(problem))
    }
}

pub(super) fn explain(refused: Refused) -> Response {
    match refused {
        Refused::Plain(problem) => problem.into_response(),
        Refused::Wait(wait) => too_often(wait),
    }
}

/// Finds out who asks and whether they may, and writes that into the request.
pub(super) async fn admit(gate: &Gate, request: &mut Request) -> Result<(), Box<Refused>> {
    let Gate { shared, rule } = gate;
    shared.origin.check(request.method(), request.headers())?;
    let visit = visit(address(shared, request));
    let asking = identify(shared, request.method(), request.headers(), shared.origin.is_https(), visit).await;
    let asking = match asking {
        Ok(asking) => asking,
        // What everybody may see is shown to holders of old tokens too.
        Err(_) if rule.anyone => Asking::Nobody,
        Err(problem) => {
            count(shared, &Asking::Nobody, rule, visit)?;
            return Err(problem.into());
        }
    };
    count(shared, &asking, rule, visit)?;
    if matches!(asking, Asking::Forged) && !rule.anyone {
        note_denied(shared, &asking, visit, "a request without the page's token").await;
        return Err(forged().into());
    }
    judge(shared, rule, &asking, visit, request).await?;
    let caller = asking.caller();
    let extensions = request.extensions_mut();
    extensions.insert(visit);
    extensions.insert(asking);
    if let Some(caller) = caller {
        extensions.insert(caller);
    }
    Ok(())
}

/// Where a request comes from, also through a proxy if the hub knows that there is one.
fn address(shared: &Shared, request: &Request) -> Option<IpAddr> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    if shared.behind_proxy { forwarded(request.headers()).or(peer) } else { peer }
}

/// Whom the nearest proxy speaks for: the last that it has added.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    last.rsplit(',').next()?.trim().parse().ok()
}

fn count(shared: &Shared, asking: &Asking, rule: &Rule, visit: Visit) -> Result<(), Box<Refused>> {
    let limits = &shared.people.limits;
    let wait = |wait| Box::new(Refused::Wait(wait));
    match asking {
        Asking::Operator | Asking::Worker(_) => return Ok(()),
        Asking::Nobody | Asking::Forged => limits.take(Kind::Stranger(visit.address), visit.now).map_err(wait)?,
        Asking::Person(person) => limits.take(Kind::Account(person.account.id), visit.now).map_err(wait)?,
    }
    if rule.entry { limits.take(Kind::Entry(visit.address), visit.now).map_err(wait) } else { Ok(()) }
}

async fn judge(
    shared: &Shared,
    rule: &Rule,
    asking: &Asking,
    visit: Visit,
    request: &mut Request,
) -> Result<(), Box<Refused>> {
    let judgement = rule.judge(asking.standing());
    let (code, title, detail) = match judgement {
        Judgement::Allowed => return Ok(()),
        Judgement::Owner(owned) => {
            let person = asking.person().ok_or_else(unauthorized)?;
            let (mut parts, body) = std::mem::take(request).into_parts();
            let params = RawPathParams::from_request_parts(&mut parts, &()).await;
            *request = Request::from_parts(parts, body);
            let params = params.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
            let named = |name: &str| params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
            owner::check(shared, person.account.id, owned, named).await?;
            return Ok(());
        }
        Judgement::Unauthorized => return Err(unauthorized().into()),
        Judgement::SessionNeeded => {
            ("session", "a session is needed", "tokens do not change the account itself: sign in to do that".to_owned())
        }
        Judgement::ScopeNeeded(scope) => {
            let detail = format!("this needs a token with the scope `{scope}`: make one, and use it here");
            ("scope", "the token is not good for this", detail)
        }
        Judgement::RoleNeeded(role) => {
            ("role", "not for this account", format!("this needs the role `{role}`, which the hub's operator grants"))
        }
        Judgement::Forbidden => {
            let detail = match asking {
                Asking::Worker(_) => "a worker's token is good for chunks, outputs and its own keys only",
                _ => "only the hub's operator may do this",
            };
            ("forbidden", "not for you", detail.to_owned())
        }
    };
    note_denied(shared, asking, visit, &format!("{} {}: {code}", request.method(), request.uri().path())).await;
    Err(Problem::new(StatusCode::FORBIDDEN, code, title, detail).into())
}

/// Writes down that an account asked for what it may not have; not more often than somebody could read.
async fn note_denied(shared: &Shared, asking: &Asking, visit: Visit, what: &str) {
    let Some(person) = asking.person() else { return };
    let account = person.account.id;
    if shared.people.limits.take(Kind::Denied(account), visit.now).is_err() {
        return;
    }
    let what = what.to_owned();
    let noted = shared.people.ask(move |accounts| accounts.note(visit, Some(account), audit::Kind::Denied, &what));
    if let Err(trouble) = noted.await {
        tracing::warn!(?trouble, "a refusal could not be written down");
    }
}

fn forged() -> Problem {
    let detail = "send what `GET /api/v1/session` says as `csrf` in the header X-Gleaner-CSRF";
    Problem::new(StatusCode::FORBIDDEN, "csrf", "the page's token is missing", detail)
}

/// Somebody has to wait.
pub(crate) fn too_often(Wait(wait): Wait) -> Response {
    let seconds = wait.0.div_ceil(1000).max(1);
    let detail = format!("ask again in {seconds} s");
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-often", "too many requests", detail);
    let mut response = problem.into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Tells a room beside the hub in whose name it is asked.
pub(super) fn introduce(request: &mut Request) -> Result<(), Box<Refused>> {
    let asking = request.extensions().get::<Asking>().cloned().unwrap_or(Asking::Nobody);
    let asker = match &asking {
        Asking::Person(person) => {
            let limit = person.spend_limit().map(|(token, max)| SpendLimit { token: token.to_string(), max });
            Asker { account: person.account.id.to_string(), name: person.account.name.to_string(), limit }
        }
        Asking::Operator => {
            let name = crate::http::submit::requester(request.headers())?;
            Asker { account: name.clone(), name, limit: None }
        }
        Asking::Nobody | Asking::Worker(_) | Asking::Forged => return Ok(()),
    };
    request.extensions_mut().insert(asker);
    Ok(())
}

/// Tells the door of chunks which account asks, and how much of its room it uses if it brings something.
pub(super) async fn introduce_to_chunks(shared: &Arc<Shared>, request: &mut Request) -> Result<(), Box<Refused>> {
    let account = match request.extensions().get::<Caller>() {
        Some(Caller::Account(account)) => Some(*account),
        Some(Caller::Operator | Caller::Worker(..)) | None => None,
    };
    crate::data::introduce(request.headers_mut(), account);
    let Some(account) = account.filter(|_| request.uri().path().ends_with("/chunks")) else { return Ok(()) };
    let (owners, data) = (shared.people.payers(account).await.map_err(Problem::from)?, Arc::clone(&shared.data));
    let keeps = crate::http::data::blocking(move || data.catalog.kept_by(&owners)).await?;
    shared.data.quota.note(account, keeps.bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_proxy_is_believed_and_no_other() {
        let headers = |values: &[&'static str]| -> HeaderMap {
            let name = header::HeaderName::from_static("x-forwarded-for");
            values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
        };
        let address = |text: &str| text.parse::<IpAddr>().ok();
        assert_eq!(forwarded(&headers(&["198.51.100.1, 192.0.2.7"])), address("192.0.2.7"));
        assert_eq!(forwarded(&headers(&["198.51.100.1", "2001:db8::1"])), address("2001:db8::1"));
        assert_eq!(forwarded(&headers(&["nonsense"])), None);
        assert_eq!(forwarded(&headers(&[])), None);
    }
}
