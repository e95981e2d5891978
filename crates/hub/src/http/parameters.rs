//! The parameters after the question mark of a URL, or a problem that names the one that is wrong.
use super::problem::Problem;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// What the framework writes before the reason.
const PREFACE: &str = "Failed to deserialize query string: ";

/// The parameters of a request.
pub(super) struct Parameters<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(value)| Self(value)).map_err(|rejection| refused(&rejection.body_text()))
    }
}

/// A number that the hub's databases can count to; no other is in them.
pub(super) fn countable(name: &str, number: u64) -> Result<u64, Problem> {
    let refuse = || Problem::bad_parameter(name, format!("{name} cannot be {number}"));
    i64::try_from(number).map(|_| number).map_err(|_| refuse())
}

fn refused(text: &str) -> Problem {
    let reason = text.strip_prefix(PREFACE).unwrap_or(text);
    let problem = Problem::bad_request(format!("the parameters make no sense: {reason}"));
    match parameter(reason) {
        Some(name) => problem.at(name, None),
        None => problem,
    }
}

/// The name of a parameter in a reason: before its colon, or in the quotes of one that is not known or missing.
fn parameter(reason: &str) -> Option<&str> {
    let is_name =
        |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let unknown = ["unknown field `", "missing field `", "duplicate field `"];
    let quoted = unknown.iter().find_map(|start| reason.strip_prefix(start)?.split('`').next());
    quoted.or_else(|| reason.split_once(": ").map(|(name, _)| name)).filter(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrong_parameter_is_named() {
        assert_eq!(parameter("limit: invalid digit found in string"), Some("limit"));
        assert_eq!(parameter("unknown field `devise`, expected one of `query`, `limit`"), Some("devise"));
        assert_eq!(parameter("something else"), None);
    }
}
