//! The address under which people see a hub: what wallets and passkeys are told to sign for.
use url::{Host, Url};

/// The origin of a hub's page, such as `https://hub.example` or `http://localhost:7070`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    origin: String,
    authority: String,
    host: Host<String>,
}

/// Why a text is not an origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the address of a page: write https:// or http://, a host and perhaps a port, and nothing else")]
pub struct SiteError(String);

impl Site {
    /// Reads an origin.
    pub fn parse(text: &str) -> Result<Self, SiteError> {
        let refuse = || SiteError(text.to_owned());
        let url = Url::parse(text).map_err(|_| refuse())?;
        let plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let anonymous = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !plain || !anonymous {
            return Err(refuse());
        }
        let host = url.host().ok_or_else(refuse)?.to_owned();
        let authority = url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        Ok(Self { origin: format!("{}://{authority}", url.scheme()), authority, host })
    }

    /// Scheme, host and port, as a browser writes them.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether what is sent is encrypted.
    pub fn is_https(&self) -> bool {
        self.origin.starts_with("https:")
    }

    /// What passkeys are bound to; an address in numbers cannot have any.
    pub fn passkey_domain(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(domain) => Some(domain),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        let site = Site::parse("HTTPS://Hub.Example:443/").expect("an origin");
        assert_eq!((site.origin(), site.authority()), ("https://hub.example", "hub.example"));
        assert_eq!(site.passkey_domain(), Some("hub.example"));
        assert!(site.is_https());
        let site = Site::parse("http://127.0.0.1:7070").expect("an origin");
        assert_eq!((site.origin(), site.authority()), ("http://127.0.0.1:7070", "127.0.0.1:7070"));
        assert_eq!(site.passkey_domain(), None);
    }

    #[test]
    fn more_or_less_than_an_origin_is_refused() {
        for text in [
            "",
            "hub.example",
            "ftp://hub.example",
            "https://hub.example/page",
            "https://a:b@hub.example",
            "https://hub.example/?a",
        ] {
            assert!(Site::parse(text).is_err(), "{text}");
        }
    }
}
