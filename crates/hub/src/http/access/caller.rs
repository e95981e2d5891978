//! Who asks: found out from the token or the cookie of a request, once, before anything else.
use super::cookie;
use super::rule::Standing;
use crate::http::Shared;
use crate::http::problem::Problem;
use crate::token::Caller;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use gleaner_accounts::session::Session;
use gleaner_accounts::token::{PREFIX, Scope, Token, TokenId};
use gleaner_accounts::{Account, Role, Visit};
use gleaner_wire::Amount;
use std::sync::Arc;

/// The header against requests that other pages forge.
pub(crate) const CSRF: &str = "x-gleaner-csrf";

/// How an account came.
#[derive(Clone, Debug)]
pub(crate) enum Via {
    /// By a browser's session, with the token of its cookie.
    Session(Session, String),
    /// By an API token.
    Token(Token),
}

/// An account that asks.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) account: Account,
    pub(crate) via: Via,
}

impl Person {
    fn standing(&self) -> Standing {
        match &self.via {
            // What an operator does by hand, no leaked token of theirs does.
            Via::Session(..) if self.account.roles.has(Role::Operator) => Standing::Operator,
            Via::Session(..) => Standing::Session(self.account.roles),
            Via::Token(token) => Standing::Token(self.account.roles.without(Role::Operator), token.scopes),
        }
    }

    /// Whether it may look at what is its own in this way.
    pub(crate) fn reads(&self) -> bool {
        match &self.via {
            Via::Session(..) => true,
            Via::Token(token) => token.scopes.has(Scope::Read),
        }
    }

    /// What its session is listed as, if that is how it came.
    pub(crate) fn session_id(&self) -> Option<String> {
        self.session().map(|(session, _)| session.id.clone())
    }

    /// What it may spend in this way, if that is limited: the token, and how much in all.
    pub(crate) fn spend_limit(&self) -> Option<(TokenId, Amount)> {
        match &self.via {
            Via::Session(..) => None,
            Via::Token(token) => Some((token.id, token.scopes.spend_max.unwrap_or(Amount::ZERO))),
        }
    }

    /// The session, if that is how it came: what it is listed as, and its token.
    pub(crate) fn session(&self) -> Option<(&Session, &str)> {
        match &self.via {
            Via::Session(session, token) => Some((session, token)),
            Via::Token(_) => None,
        }
    }
}

/// Somebody who asks.
#[derive(Clone, Debug)]
pub(crate) enum Asking {
    /// Nobody known.
    Nobody,
    /// The token in the hub's folder.
    Operator,
    /// A connected worker.
    Worker(Caller),
    /// An account.
    Person(Arc<Person>),
    /// An account whose cookie came without what proves that its own page sent it.
    Forged,
}

impl Asking {
    /// How they stand to rules.
    pub(crate) fn standing(&self) -> Standing {
        match self {
            Self::Nobody | Self::Forged => Standing::Nobody,
            Self::Operator => Standing::Operator,
            Self::Worker(_) => Standing::Worker,
            Self::Person(person) => person.standing(),
        }
    }

    /// As handlers see them; nobody, where nobody is known.
    pub(crate) fn caller(&self) -> Option<Caller> {
        match self {
            Self::Nobody | Self::Forged => None,
            Self::Operator => Some(Caller::Operator),
            Self::Worker(caller) => Some(*caller),
            Self::Person(person) if person.standing() == Standing::Operator => Some(Caller::Operator),
            Self::Person(person) => Some(Caller::Account(person.account.id)),
        }
    }

    /// Whose keys of requests they use: nobody else's are in the way of theirs.
    pub(crate) fn keyring(&self) -> String {
        match self {
            Self::Nobody | Self::Forged => "nobody".to_owned(),
            Self::Operator => "operator".to_owned(),
            Self::Worker(Caller::Worker(worker, _)) => format!("worker {worker}"),
            Self::Worker(Caller::Operator | Caller::Account(_)) => "worker".to_owned(),
            Self::Person(person) => format!("account {}", person.account.id),
        }
    }

    /// The account, if it is one.
    pub(crate) fn person(&self) -> Option<&Arc<Person>> {
        match self {
            Self::Person(person) => Some(person),
            Self::Nobody | Self::Operator | Self::Worker(_) | Self::Forged => None,
        }
    }
}

/// Whose token or cookie a request carries. A token that is wrong is refused; a cookie that has ended counts for nothing.
pub(super) async fn identify(
    shared: &Shared,
    method: &Method,
    headers: &HeaderMap,
    https: bool,
    visit: Visit,
) -> Result<Asking, Problem> {
    if headers.contains_key(header::AUTHORIZATION) {
        return by_token(shared, headers, visit).await;
    }
    let Some(token) = cookie::read(headers, https) else { return Ok(Asking::Nobody) };
    let people = &shared.people;
    let signed = match people.recall(|accounts| accounts.recall_session(visit, &token)) {
        Some(signed) => Some(signed),
        None => {
            let token = token.clone();
            people.ask(move |accounts| accounts.session(visit, &token)).await?
        }
    };
    let Some(signed) = signed else { return Ok(Asking::Nobody) };
    let csrf = headers.get(CSRF).and_then(|value| value.to_str().ok());
    if !method.is_safe() && !csrf.is_some_and(|csrf| people.is_csrf(&token, csrf)) {
        return Ok(Asking::Forged);
    }
    let via = Via::Session(signed.session, token);
    Ok(Asking::Person(Arc::new(Person { account: signed.account, via })))
}

async fn by_token(shared: &Shared, headers: &HeaderMap, visit: Visit) -> Result<Asking, Problem> {
    let text = bearer(headers).ok_or_else(unauthorized)?;
    if !text.starts_with(PREFIX) {
        return match shared.tokens.caller(text).ok_or_else(unauthorized)? {
            Caller::Operator => Ok(Asking::Operator),
            caller @ Caller::Worker(..) => Ok(Asking::Worker(caller)),
            Caller::Account(_) => Err(unauthorized()),
        };
    }
    let shown = match shared.people.recall(|accounts| accounts.recall_token(visit, text)) {
        Some(shown) => shown,
        None => {
            let text = text.to_owned();
            shared.people.ask(move |accounts| accounts.token(visit, &text)).await?.ok_or_else(unauthorized)?
        }
    };
    Ok(Asking::Person(Arc::new(Person { account: shown.account, via: Via::Token(shown.token) })))
}

/// The token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// No credentials, or wrong ones.
pub(crate) fn unauthorized() -> Problem {
    let detail = "sign in, or send a token as `Authorization: Bearer TOKEN`: one of your account, or on the hub's own \
                  machine the one in the file api.token of its folder";
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "who are you?", detail)
}

/// An account, for handlers of routes that only accounts may use.
pub(crate) struct Me(pub(crate) Arc<Person>);

impl<S: Sync> FromRequestParts<S> for Me {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let asking = parts.extensions.get::<Asking>().cloned().unwrap_or(Asking::Nobody);
        let detail = "the token in the hub's folder is no account: sign in to one";
        let refuse = || Problem::new(StatusCode::FORBIDDEN, "no-account", "only accounts have this", detail);
        asking.person().cloned().map(Self).ok_or_else(refuse)
    }
}

/// Whoever asks, known or not.
pub(crate) struct Anyone(pub(crate) Asking);

impl<S: Sync> FromRequestParts<S> for Anyone {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.extensions.get::<Asking>().cloned().unwrap_or(Asking::Nobody)))
    }
}
