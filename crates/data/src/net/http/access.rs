//! What a caller shows to be let in.
use super::{GRANT, grant_text};
use crate::net::{Error, SignedGrant};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use std::fmt;
use tokio::sync::watch;

/// What a caller shows to be let in.
#[derive(Clone)]
pub enum Access {
    /// A grant of the hub.
    Grant(SignedGrant),
    /// A token of the hub. Whoever holds the sender may replace it: requests that begin later show the new one.
    Token(watch::Receiver<String>),
}

impl Access {
    /// A token that stays the same.
    pub fn token(token: impl Into<String>) -> Self {
        Self::Token(watch::channel(token.into()).1)
    }

    pub(super) fn header(&self) -> Result<(HeaderName, HeaderValue), Error> {
        let (name, text) = match self {
            Self::Grant(grant) => (HeaderName::from_static(GRANT), grant_text(grant)),
            Self::Token(token) => (AUTHORIZATION, format!("Bearer {}", *token.borrow())),
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| Error::Malformed("the token"))?;
        value.set_sensitive(true);
        Ok((name, value))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant(grant) => f.debug_tuple("Grant").field(grant).finish(),
            Self::Token(_) => f.write_str("Token([redacted])"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_replaced_while_it_is_in_use_and_never_printed() {
        let (sender, receiver) = watch::channel("one".to_owned());
        let access = Access::Token(receiver);
        assert_eq!(access.header().expect("a header").1, "Bearer one");
        sender.send_replace("two".to_owned());
        assert_eq!(access.header().expect("a header").1, "Bearer two");
        assert_eq!(format!("{access:?} {:?}", access.header().expect("a header").1), "Token([redacted]) Sensitive");
        assert!(Access::token("a\nb").header().is_err());
    }
}
