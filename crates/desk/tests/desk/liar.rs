//! A hub that hides what it was delivered, as a desk sees it: it passes everything on but the results of jobs.
use std::net::{Ipv4Addr, TcpListener};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use axum::response::Response;
use serde_json::{Value, json};

/// The longest answer that is lied about.
const BYTES_MAX: usize = 1 << 20;

#[derive(Clone)]
pub struct Liar {
    http: reqwest::Client,
}

impl Liar {
    pub fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { http: reqwest::Client::builder().no_proxy().build().expect("a client") }
    }

    /// Where it listens for those who mean the hub.
    pub fn stand_before(&self, hub: &str) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let router = Router::new().fallback(pass).with_state((self.http.clone(), hub.to_owned()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }
}

async fn pass(State((http, hub)): State<(reqwest::Client, String)>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    parts.headers.remove(HOST);
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let sent = http.request(parts.method, format!("{hub}{path}")).headers(parts.headers);
    let sent = sent.body(reqwest::Body::wrap_stream(body.into_data_stream())).send().await.expect("the hub answers");
    let mut answer = Response::builder().status(sent.status());
    for (name, value) in sent.headers() {
        if name != CONTENT_LENGTH && name != TRANSFER_ENCODING {
            answer = answer.header(name, value);
        }
    }
    let body = Body::from_stream(sent.bytes_stream());
    let body = if parts.uri.path().ends_with("/results") { hidden(body).await } else { body };
    answer.body(body).expect("an answer")
}

async fn hidden(body: Body) -> Body {
    let whole = to_bytes(body, BYTES_MAX).await.expect("an answer");
    let mut page: Value = serde_json::from_slice(&whole).expect("JSON");
    page["results"] = json!([]);
    Body::from(page.to_string())
}
