//! Which image a tag stands for now. Jobs name images by digest, so that every machine runs the same bytes.
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Client, Method, Response, StatusCode};
use serde::Deserialize;
use std::time::Duration;

use crate::connection;

const TIME_MAX: Duration = Duration::from_secs(30);
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
    let name = Name::parse(reference).ok_or_else(|| RegistryError::Name(reference.to_owned()))?;
    let exact = |digest: &str| format!("{}/{}@{digest}", name.host, name.path);
    if let Some(digest) = &name.digest {
        return Ok(exact(digest));
    }
    let unreachable = |source| RegistryError::Unreachable { host: name.host.clone(), source };
    connection::choose_tls();
    let client = Client::builder().timeout(TIME_MAX).build().map_err(unreachable)?;
    let mut answer = ask(&client, &name, None).await.map_err(unreachable)?;
    if answer.status() == StatusCode::UNAUTHORIZED
        && let Some(at) = bearer_url(answer.headers())
    {
        let bearer: Bearer = client.get(at).send().await.map_err(unreachable)?.json().await.map_err(unreachable)?;
        answer = ask(&client, &name, Some(&bearer.token)).await.map_err(unreachable)?;
    }
    if !answer.status().is_success() {
        let (host, status) = (name.host.clone(), answer.status());
        return Err(RegistryError::Refused { host, name: name.path.clone(), tag: name.tag.clone(), status });
    }
    let digest = answer.headers().get(DIGEST).and_then(|digest| digest.to_str().ok());
    digest.map(exact).ok_or_else(|| RegistryError::NoDigest(name.host.clone()))
}

async fn ask(client: &Client, name: &Name, token: Option<&str>) -> Result<Response, reqwest::Error> {
    let request = client.request(Method::HEAD, name.url()).header(ACCEPT, KINDS);
    match token {
        Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")).send().await,
        None => request.send().await,
    }
}

/// Where a registry gives strangers a token, out of its refusal.
fn bearer_url(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(WWW_AUTHENTICATE)?.to_str().ok()?.strip_prefix("Bearer ")?;
    let part = |name: &str| {
        let rest = &text[text.find(&format!("{name}=\""))? + name.len() + 2..];
        rest.split('"').next()
    };
    let realm = part("realm").filter(|realm| realm.starts_with("https://") || realm.starts_with("http://127.0.0.1"))?;
    let mut url = reqwest::Url::parse(realm).ok()?;
    for name in ["service", "scope"] {
        if let Some(value) = part(name) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    Some(url.into())
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
        assert_eq!(url, "https://auth.example.org/token?service=registry&scope=repository%3Aa%3Apull");
        headers.insert(WWW_AUTHENTICATE, "Bearer realm=\"http://evil.example/\"".parse().expect("a header"));
        assert_eq!(bearer_url(&headers), None, "tokens are not asked for in the open");
    }

    #[tokio::test]
    async fn a_digest_is_taken_as_it_is() {
        let exact = resolve("python@sha256:00").await.expect("no need to ask");
        assert_eq!(exact, "docker.io/library/python@sha256:00");
    }
}
