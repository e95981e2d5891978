//! Who is let in to chunks: whoever has a token of this hub.
use crate::token::{Caller, Tokens};
use axum::http::{HeaderMap, header};
use gleaner_data::net::Right;
use gleaner_data::net::http::{Admitted, Door, Refusal};

impl Door for Tokens {
    fn admits(&self, headers: &HeaderMap, _right: Right) -> Result<Admitted, Refusal> {
        match self.bearer(headers) {
            None => Err(Refusal::Unknown),
            // Requesters bring and fetch for whichever of their machines they like.
            Some(Caller::Operator) => Ok(Admitted::default()),
            Some(Caller::Worker(_, key)) => Ok(Admitted { key: Some(key), allowance: None }),
        }
    }
}

impl Tokens {
    /// Whose token a request shows.
    pub(crate) fn bearer(&self, headers: &HeaderMap) -> Option<Caller> {
        let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        self.caller(token.trim())
    }
}
