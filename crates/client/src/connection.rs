//! Requests to one hub: address, token, retries, and the reading of answers and refusals.
//!
//! Every request of the API may be repeated (submissions carry a key), so all of them are tried again here.
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gleaner_wire::api::Problem;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;

use crate::{Error, HubAddress, Token, backoff};

/// How often a request is tried when nobody answers; with the growing waits this is about 20 seconds.
pub(crate) const TRIES_MAX: u32 = 15;
/// The longest answer that is read into memory.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How long a connection may say nothing before it counts as dead.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(30);
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// Chooses what encrypts, which has to be done before the first client is made.
pub(crate) fn choose_tls() {
    // Fails when somebody chose a provider before, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A hub, as a client reaches it. Clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    http: reqwest::Client,
    hub: HubAddress,
    token: Token,
}

impl Connection {
    pub(crate) fn new(hub: &HubAddress, token: Token) -> Result<Self, Error> {
        choose_tls();
        let http = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT_TIME_MAX).tcp_keepalive(SILENCE_MAX);
        let http = match hub.tls() {
            Some(tls) => http.tls_backend_preconfigured((**tls).clone()).https_only(true),
            None => http,
        };
        let http = http.build().map_err(|source| Error::unreachable(hub.url(), source))?;
        Ok(Self { http, hub: hub.clone(), token })
    }

    pub(crate) fn with_token(&self, token: Token) -> Self {
        Self { token, ..self.clone() }
    }

    pub(crate) fn url(&self) -> &str {
        self.hub.url()
    }

    pub(crate) fn hub(&self) -> &HubAddress {
        &self.hub
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// A request to a path of the API, such as `/jobs`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/api/v1{path}", self.url())).bearer_auth(self.token.reveal())
    }

    /// Sends once and returns the response, whatever its status.
    pub(crate) async fn send_once(&self, request: RequestBuilder) -> Result<Response, Error> {
        let sent = tokio::time::timeout(SILENCE_MAX, request.send()).await;
        sent.map_err(|silence| Error::unreachable(self.url(), silence))?
            .map_err(|source| Error::unreachable(self.url(), source.without_url()))
    }

    /// The next piece of a response's body.
    pub(crate) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, Error> {
        let chunk = tokio::time::timeout(SILENCE_MAX, response.chunk()).await;
        chunk
            .map_err(|silence| Error::unreachable(self.url(), silence))?
            .map_err(|source| Error::unreachable(self.url(), source.without_url()))
    }

    /// The response if the hub agreed, its reason if it did not.
    pub(crate) async fn agreed(&self, response: Response) -> Result<Response, Error> {
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, path) = (response.status(), response.url().path().to_owned());
        let body = self.body(response).await?;
        let problem = serde_json::from_slice(&body).unwrap_or_else(|_| plain_problem(status, &path, &body));
        Err(Error::Refused(Box::new(problem)))
    }

    async fn body(&self, mut response: Response) -> Result<Bytes, Error> {
        let mut body = BytesMut::new();
        while let Some(piece) = self.chunk(&mut response).await? {
            if body.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(Error::answer(self.url(), "it is too long"));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    /// Sends once and reads the whole answer.
    pub(crate) async fn answer_once(&self, request: RequestBuilder) -> Result<Bytes, Error> {
        let response = self.send_once(request).await?;
        self.body(self.agreed(response).await?).await
    }

    /// Sends, again if nobody answers, and reads the whole answer.
    pub(crate) async fn answer(&self, request: RequestBuilder) -> Result<Bytes, Error> {
        let mut tried = 0;
        loop {
            let again = request.try_clone().expect("bodies of these requests are in memory");
            match self.answer_once(again).await {
                Err(error) if error.is_transient() && tried + 1 < TRIES_MAX => {
                    tracing::debug!(%error, tried, "trying again");
                    tokio::time::sleep(backoff::delay(tried)).await;
                    tried += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Sends, again if nobody answers, and reads the answer as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let body = self.answer(request).await?;
        self.read_json(&body)
    }

    /// Sends once and waits for an answer however long it takes.
    pub(crate) async fn json_slowly<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let response = request.send().await.map_err(|source| Error::unreachable(self.url(), source.without_url()))?;
        let body = self.body(self.agreed(response).await?).await?;
        self.read_json(&body)
    }

    pub(crate) fn read_json<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(body).map_err(|error| Error::answer(self.url(), error))
    }
}

/// A refusal that is not problem+json comes from something in between; it is passed on as it is.
fn plain_problem(status: StatusCode, path: &str, body: &[u8]) -> Problem {
    let title = status.canonical_reason().unwrap_or("an error").to_owned();
    let text: String = String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).take(200).collect();
    let detail = format!("{path}: {} {title}{}{text}", status.as_u16(), if text.is_empty() { "" } else { ": " });
    Problem {
        kind: "about:blank".to_owned(),
        code: String::new(),
        title,
        status: status.as_u16(),
        detail,
        at: None,
        line: None,
    }
}
