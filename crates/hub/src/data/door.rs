//! Who is let in to chunks: whoever has a token of this hub. The guard before these routes has looked at scopes already.
use crate::http::bearer;
use crate::token::{Caller, Tokens};
use axum::http::HeaderMap;
use gleaner_accounts::token::PREFIX;
use gleaner_data::net::Right;
use gleaner_data::net::http::{Admitted, Door, Refusal};

impl Door for Tokens {
    fn admits(&self, headers: &HeaderMap, _right: Right) -> Result<Admitted, Refusal> {
        let token = bearer(headers).ok_or(Refusal::Unknown)?;
        // Requesters bring and fetch for whichever of their machines they like.
        if token.starts_with(PREFIX) {
            return Ok(Admitted::default());
        }
        match self.caller(token) {
            None => Err(Refusal::Unknown),
            Some(Caller::Operator | Caller::Account(_)) => Ok(Admitted::default()),
            Some(Caller::Worker(_, key)) => Ok(Admitted { key: Some(key), allowance: None }),
        }
    }
}
