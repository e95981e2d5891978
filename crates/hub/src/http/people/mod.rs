//! Accounts over HTTP: coming in, going out, and what belongs to an account itself.
mod body;
pub(super) mod events;
pub(super) mod link;
pub(super) mod operator;
pub(super) mod passkey;
pub(super) mod session;
pub(super) mod sessions;
pub(super) mod stewardship;
pub(super) mod tokens;
pub(super) mod totp;
pub(super) mod wallet;

pub(super) use body::Said;

use super::access::Person;
use super::problem::Problem;
use crate::people::Trouble;
use axum::http::StatusCode;
use gleaner_accounts::{Error, Refusal, Visit};
use serde::Serialize;

/// A page of a list.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct Page<T> {
    items: Vec<T>,
    /// Where the next page starts, if there may be more.
    next: Option<String>,
}

impl<T> Page<T> {
    /// A list that is short enough for one page.
    fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// Why an account could not be asked, in the words of the API.
pub(super) fn problem(trouble: Trouble) -> Problem {
    match trouble {
        Trouble::Accounts(Error::Refused(refusal)) => refused(&refusal),
        Trouble::Accounts(error) => {
            tracing::error!(%error, "the accounts do not answer");
            let detail = "the hub could not read or write its accounts; its operator finds the reason in its log";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "accounts", "the accounts do not answer", detail)
        }
        Trouble::Busy => {
            let detail = "many others are signing in: try again in a few seconds";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the hub is busy", detail)
        }
        Trouble::Defect => Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "defect",
            "the hub could not answer",
            "this is a defect of the hub",
        ),
    }
}

/// Refuses what changes how somebody signs in, if they did so too long ago.
fn check_fresh(person: &Person, visit: Visit) -> Result<(), Problem> {
    match person.session() {
        Some((session, _)) => session.check_fresh(visit.now).map_err(|refusal| refused(&refusal)),
        // Only sessions get here.
        None => Err(refused(&Refusal::NotFresh)),
    }
}

fn refused(refusal: &Refusal) -> Problem {
    let status = match refusal {
        Refusal::WrongCredentials | Refusal::SecondFactorNeeded | Refusal::WrongCode => StatusCode::UNAUTHORIZED,
        Refusal::Challenge(_) | Refusal::Wallet(_) | Refusal::Passkey(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::LockedOut { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Suspended | Refusal::NoNewcomers | Refusal::NotFresh => StatusCode::FORBIDDEN,
        Refusal::NotFound(_) => StatusCode::NOT_FOUND,
        Refusal::NameTaken
        | Refusal::WalletTaken
        | Refusal::LastWay
        | Refusal::TotpOn
        | Refusal::TotpOff
        | Refusal::TooMany { .. }
        | Refusal::Owned(_) => StatusCode::CONFLICT,
        Refusal::Name(_)
        | Refusal::Passphrase(_)
        | Refusal::Token(_)
        | Refusal::OverLimit { .. }
        | Refusal::NoPasskeyDomain => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let problem = Problem::new(status, refusal.code(), "the accounts say no", refusal.to_string());
    match refusal {
        Refusal::LockedOut { until } => problem.retry_at(*until),
        Refusal::Name(_) | Refusal::NameTaken => problem.at("name", None),
        Refusal::Passphrase(_) => problem.at("passphrase", None),
        _ => problem,
    }
}
