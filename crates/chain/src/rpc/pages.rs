//! Which pages in a browser may ask. None may unless it was named: whatever somebody visits could read their accounts and
//! watch them otherwise. Programs and wallets send no origin, or one that no site can have.
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Schemes of wallets that are extensions of a browser. No site has one of them.
const EXTENSIONS: [&str; 3] = ["chrome-extension://", "moz-extension://", "safari-web-extension://"];

/// Origins of pages that may ask, such as `http://localhost:5173`.
pub(super) type Pages = Arc<[String]>;

/// Lets in only who asks for this machine by a loopback name, and no page that was not named.
pub(super) async fn guard(State(pages): State<Pages>, request: Request, next: Next) -> Response {
    if !names_loopback(request.headers()) {
        return (StatusCode::FORBIDDEN, "ask for localhost or 127.0.0.1").into_response();
    }
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else { return next.run(request).await };
    if !may_ask(&pages, &origin) {
        return (StatusCode::FORBIDDEN, "pages of this origin may not ask: see --rpc-origin").into_response();
    }
    let is_preflight = request.method() == Method::OPTIONS;
    let mut response = next.run(request).await;
    allow(response.headers_mut(), origin, is_preflight);
    response
}

fn may_ask(pages: &[String], origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else { return false };
    pages.iter().any(|page| page == origin) || EXTENSIONS.iter().any(|scheme| origin.starts_with(scheme))
}

fn allow(headers: &mut HeaderMap, origin: HeaderValue, is_preflight: bool) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    if is_preflight {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, OPTIONS"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("content-type"));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        let private = HeaderName::from_static("access-control-allow-private-network");
        headers.insert(private, HeaderValue::from_static("true"));
    }
}

fn names_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
