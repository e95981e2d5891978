//! Which image a tag stands for now. Jobs name images by digest, so that every machine runs the same bytes.
use reqwest::dns::{Addrs, Resolve, Resolving};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::connection;

const TIME_MAX: Duration = Duration::from_secs(30);
/// The longest name of an image, and the longest answer with a token.
const NAME_BYTES_MAX: usize = 512;
const BEARER_BYTES_MAX: usize = 64 * 1024;
const KINDS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";
const DIGEST: &str = "docker-content-digest";

/// Why a tag is not resolved.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Not the name of an image.
    #[error("`{0}` is not the name of an image: write NAME, NAME:TAG or NAME@sha256:DIGEST")]
    Name(String),
    /// The registry does not answer.
    #[error("the registry {host} does not answer")]
    Unreachable {
        /// Which.
        host: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// It leads where this program may not ask.
    #[error("the registry {0} is at no public address, and tags are asked for at public ones only")]
    NotPublic(String),
    /// The registry does not give it.
    #[error("the registry {host} does not give {name}:{tag}: {status}")]
    Refused {
        /// Which.
        host: String,
        /// The image.
        name: String,
        /// Its tag.
        tag: String,
        /// What it answered.
        status: StatusCode,
    },
    /// An answer that names no digest.
    #[error("the registry {0} does not say which image that is")]
    NoDigest(String),
}

/// Which addresses are asked about tags.
#[derive(Clone, Copy, Debug)]
pub enum Reach {
    /// Whichever the user names, as programs of this machine reach them.
    Anywhere,
    /// Those that fit. For programs that ask on behalf of strangers, who would choose what only this machine reaches.
    Only(fn(IpAddr) -> bool),
}

impl Reach {
    fn client(self) -> Result<Client, reqwest::Error> {
        connection::choose_tls();
        let client = Client::builder().timeout(TIME_MAX);
        match self {
            Self::Anywhere => client.build(),
            // Another address could be named by a redirect, and be reached by a proxy.
            Self::Only(fits) => client
                .dns_resolver(Arc::new(Guard(fits)))
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .build(),
        }
    }

    /// Names are looked at when they are resolved, numbers here.
    fn admits(self, url: &Url) -> bool {
        let Self::Only(fits) = self else { return true };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        match host.parse::<IpAddr>() {
            Ok(address) => fits(address),
            Err(_) => url.scheme() == "https",
        }
    }
}

/// Finds the addresses of names, and leaves those out that do not fit.
struct Guard(fn(IpAddr) -> bool);

impl Resolve for Guard {
    fn resolve(&self, name: reqwest::dns::Name) -> Resolving {
        let fits = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| fits(address.ip())).collect();
            if allowed.is_empty() {
                return Err(format!("{} leads to no public address", name.as_str()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// A name, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    /// The registry, as people write it.
    host: String,
    path: String,
    tag: String,
    digest: Option<String>,
}

impl Name {
    fn parse(text: &str) -> Option<Self> {
        let (name, digest) = text.split_once('@').map_or((text, None), |(name, digest)| (name, Some(digest)));
        let first = name.split('/').next()?;
        let is_host = name.contains('/') && (first.contains(['.', ':']) || first == "localhost");
        let (host, path) = if is_host { name.split_once('/')? } else { ("docker.io", name) };
        let last = path.rsplit('/').next()?;
        let (path, tag) = match last.rsplit_once(':') {
            Some((_, tag)) => (&path[..path.len() - tag.len() - 1], tag),
            None => (path, "latest"),
        };
        let path = if host == "docker.io" && !path.contains('/') { format!("library/{path}") } else { path.to_owned() };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        // No part is empty or leads upwards.
        let part =
            |part: &str| part.starts_with(|first: char| first.is_ascii_alphanumeric()) && part.bytes().all(plain);
        let fits = path.split('/').all(part) && !tag.is_empty() && tag.bytes().all(plain);
        let digest = digest.map(str::to_owned);
        fits.then(|| Self { host: host.to_owned(), path, tag: tag.to_owned(), digest })
    }

    /// Where the registry answers. On this machine it need not be encrypted.
    fn url(&self) -> String {
        let host = if self.host == "docker.io" { "registry-1.docker.io" } else { &self.host };
        let bare = host.rsplit_once(':').map_or(host, |(bare, _)| bare);
        let scheme = if matches!(bare, "localhost" | "127.0.0.1" | "[::1]") { "http" } else { "https" };
        format!("{scheme}://{host}/v2/{}/manifests/{}", self.path, self.tag)
    }
}

#[derive(Deserialize)]
struct Bearer {
    #[serde(alias = "access_token")]
    token: String,
}

/// The exact name of an image, `HOST/NAME@sha256:DIGEST`: as it is if it has a digest, else by asking its registry.
pub async fn resolve(reference: &str) -> Result<String, RegistryError> {
    resolve_within(reference, Reach::Anywhere).await
}

/// The same, where only some registries may be asked.
pub async fn resolve_within(reference: &str, reach: Reach) -> Result<String, RegistryError> {
    let wrong = || RegistryError::Name(reference.chars().take(NAME_BYTES_MAX).collect());
    let name = Name::parse(reference).filter(|_| reference.len() <= NAME_BYTES_MAX).ok_or_else(wrong)?;
    let exact = |digest: &str| format!("{}/{}@{digest}", name.host, name.path);
    if let Some(digest) = &name.digest {
        return Ok(exact(digest));
    }
    let not_public = || RegistryError::NotPublic(name.host.clone());
    let url = Url::parse(&name.url()).map_err(|_| wrong())?;
    if !reach.admits(&url) {
        return Err(not_public());
    }
    let unreachable = |source| RegistryError::Unreachable { host: name.host.clone(), source };
    let client = reach.client().map_err(unreachable)?;
    let mut answer = ask(&client, &url, None).await.map_err(unreachable)?;
    if answer.status() == StatusCode::UNAUTHORIZED
        && let Some(at) = bearer_url(answer.headers())
    {
        if !reach.admits(&at) {
            return Err(not_public());
        }
        let given = client.get(at).send().await.map_err(unreachable)?;
        let token = bearer(given).await.map_err(unreachable)?;
        answer = ask(&client, &url, token.as_deref()).await.map_err(unreachable)?;
    }
    if !answer.status().is_success() {
        let (host, status) = (name.host.clone(), answer.status());
        return Err(RegistryError::Refused { host, name: name.path.clone(), tag: name.tag.clone(), status });
    }
    let digest = answer.headers().get(DIGEST).and_then(|digest| digest.to_str().ok());
    digest.map(exact).ok_or_else(|| RegistryError::NoDigest(name.host.clone()))
}

async fn ask(client: &Client, url: &Url, token: Option<&str>) -> Result<Response, reqwest::Error> {
    let request = client.request(Method::HEAD, url.clone()).header(ACCEPT, KINDS);
    match token {
        Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")).send().await,
        None => request.send().await,
    }
}

/// The token in an answer, if there is one of a length that makes sense.
async fn bearer(mut answer: Response) -> Result<Option<String>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if body.len() + piece.len() > BEARER_BYTES_MAX {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(serde_json::from_slice::<Bearer>(&body).ok().map(|bearer| bearer.token))
}

/// Where a registry gives strangers a token, out of its refusal.
fn bearer_url(headers: &HeaderMap) -> Option<Url> {
    let text = headers.get(WWW_AUTHENTICATE)?.to_str().ok()?.strip_prefix("Bearer ")?;
    let part = |name: &str| {
        let rest = &text[text.find(&format!("{name}=\""))? + name.len() + 2..];
        rest.split('"').next()
    };
    let realm = part("realm").filter(|realm| realm.starts_with("https://") || realm.starts_with("http://127.0.0.1"))?;
    let mut url = Url::parse(realm).ok()?;
    for name in ["service", "scope"] {
        if let Some(value) = part(name) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, String, String) {
        let name = Name::parse(text).expect("a name");
        (name.host, name.path, name.tag)
    }

    #[test]
    fn names_are_read_as_people_write_them() {
        let is = |host: &str, path: &str, tag: &str| (host.to_owned(), path.to_owned(), tag.to_owned());
        assert_eq!(parsed("python"), is("docker.io", "library/python", "latest"));
        assert_eq!(parsed("python:3.12"), is("docker.io", "library/python", "3.12"));
        assert_eq!(parsed("someone/thing:1"), is("docker.io", "someone/thing", "1"));
        assert_eq!(parsed("ghcr.io/a/b/c"), is("ghcr.io", "a/b/c", "latest"));
        assert_eq!(parsed("localhost:5000/a:2"), is("localhost:5000", "a", "2"));
        for wrong in ["", "a b", "a/", "a:", "a?b", "../x\n"] {
            assert_eq!(Name::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_this_machine_may_go_unencrypted() {
        let url = |text| Name::parse(text).expect("a name").url();
        assert!(url("localhost:5000/a").starts_with("http://localhost:5000/v2/a/"));
        assert!(url("example.org:5000/a").starts_with("https://"));
        assert_eq!(url("python:3"), "https://registry-1.docker.io/v2/library/python/manifests/3");
    }

    #[test]
    fn a_refusal_says_where_a_token_is_given() {
        let mut headers = HeaderMap::new();
        let text = r#"Bearer realm="https://auth.example.org/token",service="registry",scope="repository:a:pull""#;
        headers.insert(WWW_AUTHENTICATE, text.parse().expect("a header"));
        let url = bearer_url(&headers).expect("an address");
        assert_eq!(url.as_str(), "https://auth.example.org/token?service=registry&scope=repository%3Aa%3Apull");
        headers.insert(WWW_AUTHENTICATE, "Bearer realm=\"http://evil.example/\"".parse().expect("a header"));
        assert_eq!(bearer_url(&headers), None, "tokens are not asked for in the open");
    }

    #[tokio::test]
    async fn who_asks_for_strangers_asks_no_neighbours() {
        let far = Reach::Only(|address| !address.is_loopback());
        for near in ["localhost:5000/a", "127.0.0.1:5000/a:1", "127.0.0.1/a"] {
            let refused = resolve_within(near, far).await.expect_err(near).to_string();
            assert!(refused.contains("no public address"), "{near}: {refused}");
        }
        let named = Guard(|address| !address.is_loopback()).resolve("localhost".parse().expect("a name")).await;
        assert!(named.is_err_and(|error| error.to_string().contains("no public address")));
        let realm = Url::parse("http://127.0.0.1:5000/token").expect("an address");
        assert!(!far.admits(&realm) && Reach::Anywhere.admits(&realm));
        assert!(far.admits(&Url::parse("https://ghcr.io/v2/").expect("an address")));
    }

    #[tokio::test]
    async fn a_digest_is_taken_as_it_is() {
        let exact = resolve("python@sha256:00").await.expect("no need to ask");
        assert_eq!(exact, "docker.io/library/python@sha256:00");
    }
}
