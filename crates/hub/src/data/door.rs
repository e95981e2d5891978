//! Who is let in to chunks: whoever has a token of this hub. The guard before these routes has looked at scopes already, and
//! says in a header of its own which account asks.
use super::Quota;
use crate::http::bearer;
use crate::token::{Caller, Tokens};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use gleaner_accounts::AccountId;
use gleaner_data::net::Right;
use gleaner_data::net::http::{Admitted, Door, Refusal};
use std::sync::Arc;

/// The header by which the guard says who asks. What comes from outside under this name is taken away.
const ACCOUNT: HeaderName = HeaderName::from_static("x-gleaner-account");

/// Says which account asks, if one does.
pub(crate) fn introduce(headers: &mut HeaderMap, account: Option<AccountId>) {
    headers.remove(ACCOUNT);
    if let Some(account) = account {
        headers.insert(ACCOUNT, HeaderValue::from(account.0));
    }
}

/// The door to chunks.
pub(crate) struct ChunkDoor {
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) quota: Arc<Quota>,
}

impl Door for ChunkDoor {
    fn admits(&self, headers: &HeaderMap, right: Right) -> Result<Admitted, Refusal> {
        // Requesters bring and fetch for whichever of their machines they like.
        if let Some(account) = headers.get(ACCOUNT) {
            let account = account.to_str().ok().and_then(|text| text.parse().ok()).map(AccountId);
            let account = account.ok_or(Refusal::Unknown)?;
            let allowance = match right {
                Right::Give => Some(self.quota.allowance(account)),
                Right::Fetch => None,
            };
            return Ok(Admitted { key: None, allowance });
        }
        match self.tokens.caller(bearer(headers).ok_or(Refusal::Unknown)?) {
            None | Some(Caller::Account(_)) => Err(Refusal::Unknown),
            Some(Caller::Operator) => Ok(Admitted::default()),
            Some(Caller::Worker(_, key)) => Ok(Admitted { key: Some(key), allowance: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_says_from_outside_who_they_are() {
        let mut headers = HeaderMap::new();
        headers.append(ACCOUNT, HeaderValue::from_static("1"));
        headers.append(ACCOUNT, HeaderValue::from_static("2"));
        introduce(&mut headers, None);
        assert!(headers.is_empty());
        headers.append(ACCOUNT, HeaderValue::from_static("1"));
        introduce(&mut headers, Some(AccountId(7)));
        let said: Vec<_> = headers.get_all(ACCOUNT).iter().collect();
        assert_eq!(said, ["7"]);
    }
}
