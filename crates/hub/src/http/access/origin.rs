//! Which page a browser is on, as far as this hub believes it.
use crate::http::problem::Problem;
use axum::http::{HeaderMap, Method, StatusCode, header};
use gleaner_accounts::Site;
use std::net::IpAddr;

/// What a hub knows of its own addresses.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The one that it was told, under which people see it.
    said: Option<Site>,
    /// Whether connections to this hub are encrypted.
    encrypted: bool,
}

impl Origin {
    pub(crate) fn new(said: Option<Site>, encrypted: bool) -> Self {
        Self { said, encrypted }
    }

    /// Whether browsers see this hub encrypted.
    pub(crate) fn is_https(&self) -> bool {
        self.said.as_ref().map_or(self.encrypted, Site::is_https)
    }

    /// The page that wallets and passkeys sign for: the one that the hub was told, or one of this machine. Any other name
    /// in a request may be somebody's who leads people here under a name of their own.
    pub(crate) fn site(&self, headers: &HeaderMap) -> Result<Site, Problem> {
        if let Some(said) = &self.said {
            return Ok(said.clone());
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let scheme = if self.encrypted { "https" } else { "http" };
        let site = Site::parse(&format!("{scheme}://{host}")).ok().filter(|site| is_local(site.authority()));
        let detail =
            "the hub does not know the address that you see it under: its operator starts it with --url ADDRESS";
        site.ok_or_else(|| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no-address", "where is this hub?", detail))
    }

    /// Whether this hub is seen on its own machine only, as far as it and the request say.
    pub(crate) fn is_here(&self, headers: &HeaderMap) -> bool {
        self.site(headers).is_ok_and(|site| is_local(site.authority()))
    }

    /// Refuses changes that a page of somebody else asks for. Programs that are no browsers say nothing of pages.
    pub(crate) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        // Pages may open WebSockets anywhere, and no browser keeps what they hear from them.
        if method.is_safe() && !headers.contains_key(header::UPGRADE) {
            return Ok(());
        }
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let sent_here = match text("sec-fetch-site") {
            Some(from) => matches!(from, "same-origin" | "none"),
            None => true,
        };
        let host = text("host").unwrap_or_default();
        let same_page = match text("origin") {
            None => true,
            Some(origin) => origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host)),
        };
        if sent_here && same_page {
            return Ok(());
        }
        let detail = "another page than this hub's asked for this";
        Err(Problem::new(StatusCode::FORBIDDEN, "cross-site", "not from another page", detail))
    }
}

/// Whether a host is this machine, to whoever names it.
fn is_local(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => authority,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.ends_with(".localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (axum::http::HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn a_hub_that_was_told_its_address_believes_no_other() {
        let said = Site::parse("https://hub.example").expect("an origin");
        let origin = Origin::new(Some(said.clone()), false);
        assert_eq!(origin.site(&headers(&[("host", "evil.example")])).expect("a page"), said);
        assert!(origin.is_https(), "somebody encrypts for it");
        assert!(!origin.is_here(&headers(&[("host", "localhost:7700")])), "whoever asks may be anybody");
    }

    #[test]
    fn without_one_only_this_machine_is_believed() {
        let origin = Origin::new(None, false);
        for host in ["localhost:7700", "127.0.0.1:7700", "[::1]:7700", "gleaner.localhost:7700"] {
            let site = origin.site(&headers(&[("host", host)])).expect("a page");
            assert_eq!(site.authority(), host);
            assert!(origin.is_here(&headers(&[("host", host)])));
        }
        for host in ["evil.example", "192.0.2.7:7700", "127.0.0.1.evil.example", "localhost.evil.example", ""] {
            assert!(origin.site(&headers(&[("host", host)])).is_err(), "{host}");
            assert!(!origin.is_here(&headers(&[("host", host)])), "{host}");
        }
    }

    #[test]
    fn changes_that_other_pages_ask_for_are_refused() {
        let origin = Origin::new(None, false);
        let check = |pairs| origin.check(&Method::POST, &headers(pairs)).is_ok();
        assert!(check(&[("host", "localhost:7700")]));
        assert!(check(&[
            ("host", "localhost:7700"),
            ("origin", "http://localhost:7700"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(!check(&[("host", "localhost:7700"), ("origin", "http://localhost:7701")]));
        assert!(!check(&[("host", "localhost:7700"), ("origin", "null")]));
        assert!(!check(&[("host", "localhost:7700"), ("sec-fetch-site", "cross-site")]));
        assert!(!check(&[("host", "localhost:7700"), ("sec-fetch-site", "same-site")]));
        assert!(origin.check(&Method::GET, &headers(&[("sec-fetch-site", "cross-site")])).is_ok());
    }

    #[test]
    fn other_pages_open_no_web_socket() {
        let origin = Origin::new(None, false);
        let check = |page| {
            let pairs = [("host", "localhost:7700"), ("upgrade", "websocket"), ("origin", page)];
            origin.check(&Method::GET, &headers(&pairs)).is_ok()
        };
        assert!(check("http://localhost:7700"));
        assert!(!check("http://localhost:7701"), "the same site, but another page");
        assert!(!check("https://evil.example"));
        assert!(origin.check(&Method::GET, &headers(&[("upgrade", "websocket")])).is_ok(), "a program");
    }
}
