//! Headers of every answer: what browsers must not do with it.
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// What the page may load: its own files, and pictures that it made. No script within the page, no frame around it.
const PAGE: &str = "default-src 'self'; img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; \
                    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// Answers of the API are no pages.
const DATA: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ALWAYS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=(), payment=()"),
];

/// For a year, browsers do not come back unencrypted.
const ENCRYPTED_ONLY: &str = "max-age=31536000";

/// Adds what an answer does not say itself.
pub(crate) async fn add(State(https): State<bool>, request: Request, next: Next) -> Response {
    let is_data = request.uri().path().starts_with("/api/");
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut say = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    ALWAYS.into_iter().for_each(|(name, value)| say(name, value));
    say(header::CONTENT_SECURITY_POLICY, if is_data { DATA } else { PAGE });
    if is_data {
        say(header::CACHE_CONTROL, "no-store");
    }
    if https {
        say(header::STRICT_TRANSPORT_SECURITY, ENCRYPTED_ONLY);
    }
    response
}
