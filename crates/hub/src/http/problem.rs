//! Errors as RFC 9457 has them.
use crate::clock::wall_ms;
use crate::journal;
use crate::keeper::Unavailable;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use gleaner_wire::{Millis, api};

/// An error on its way to the client.
#[derive(Debug)]
pub(crate) struct Problem(Box<api::Problem>, Option<u64>);

impl Problem {
    /// A problem with a stable word for programs, a title, and a detail that says what to do.
    pub(crate) fn new(status: StatusCode, kind: &str, title: &str, detail: impl Into<String>) -> Self {
        let (code, title, detail) = (kind.to_owned(), title.to_owned(), detail.into());
        let (kind, status) = (code.clone(), status.as_u16());
        Self(Box::new(api::Problem { kind, code, title, status, detail, at: None, line: None }), None)
    }

    /// A parameter that makes no sense.
    pub(super) fn bad_parameter(name: &str, detail: impl Into<String>) -> Self {
        Self::bad_request(detail).at(name, None)
    }

    /// Names the place in the job file, or the parameter.
    pub(super) fn at(mut self, at: impl Into<String>, line: Option<usize>) -> Self {
        self.0.at = Some(at.into());
        self.0.line = line;
        self
    }

    /// Names the line of the job file.
    pub(super) fn on_line(mut self, line: usize) -> Self {
        self.0.line = Some(line);
        self
    }

    /// Says when to try again.
    pub(super) fn retry_at(mut self, until: Millis) -> Self {
        self.1 = Some(until.since(Millis(wall_ms())).0.div_ceil(1000).max(1));
        self
    }

    /// A request that makes no sense.
    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "the request makes no sense", detail)
    }

    /// A request that should have asked for a WebSocket.
    #[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
    pub(crate) fn no_web_socket(rejection: WebSocketUpgradeRejection) -> Self {
        Self::bad_request(format!("this path speaks WebSocket: {}", rejection.body_text()))
    }

    /// Whether the same request may succeed later.
    pub(super) fn is_temporary(&self) -> bool {
        self.0.status >= 500
    }

    /// Something that is not there.
    pub(super) fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "not found", what)
    }
}

impl From<Unavailable> for Problem {
    fn from(reason: Unavailable) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the hub takes nothing now", reason.to_string())
    }
}

impl From<journal::Error> for Problem {
    fn from(error: journal::Error) -> Self {
        let detail = format!("the archive of ended jobs could not be read: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "archive", "the hub could not read its archive", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).expect("a problem is plain data");
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if let Some(seconds) = self.1 {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// What answers a path that is none.
pub(super) async fn no_such_page(uri: Uri) -> Problem {
    Problem::not_found(format!("there is no {} on this hub; its paths start with /api/v1/", uri.path()))
}

/// What answers a method that a path does not have.
pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    let detail = format!("{} does not take {method}", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "this path does not take this method", detail)
}
