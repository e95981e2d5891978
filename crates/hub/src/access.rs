//! The table of all routes for people and tests: which there are, and who may use them.
use crate::http::{By, Owned, table};
pub use gleaner_accounts::Role;
pub use gleaner_accounts::token::Scope;

/// A route, and who may use it. The operator may use every route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The method.
    pub method: String,
    /// The path, with names in braces for its parts.
    pub path: &'static str,
    /// Whether everybody may.
    pub anyone: bool,
    /// Whether connected workers may.
    pub worker: bool,
    /// What accounts need, if they may.
    pub account: Option<AccountAccess>,
}

/// What an account needs to use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountAccess {
    /// The scope that a token needs; without one, tokens may not.
    pub scope: Option<Scope>,
    /// The role that the account needs.
    pub role: Option<Role>,
    /// What in the path has to be the account's: `job`, `dataset`, `worker` or `submission`.
    pub owned: Option<&'static str>,
}

/// Every route of a hub.
pub fn access() -> Vec<Access> {
    let rows = table().into_iter().map(|row| {
        let account = row.rule.account.map(|grant| AccountAccess {
            scope: match grant.by {
                By::Session => None,
                By::Scope(scope) => Some(scope),
            },
            role: grant.role,
            owned: match grant.owned {
                Owned::Nothing => None,
                Owned::Job => Some("job"),
                Owned::Dataset => Some("dataset"),
                Owned::Worker => Some("worker"),
                Owned::Submission => Some("submission"),
            },
        });
        let (anyone, worker) = (row.rule.anyone, row.rule.worker);
        Access { method: row.method.to_string(), path: row.path, anyone, worker, account }
    });
    rows.collect()
}
