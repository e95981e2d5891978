//! Handlers that panic: whoever asked is told that the hub is at fault, and the connection goes on.
use super::problem::Problem;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

/// Answers for a handler that has panicked. What it said is in the log already.
pub(super) async fn explain(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    // Nothing of the request outlives its handler, so nothing half-done is seen again.
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => {
            tracing::error!(path, "a request made the hub panic");
            let detail = "this is a defect of the hub; its log says more";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "defect", "the hub could not answer", detail)
                .into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    async fn fails() -> StatusCode {
        panic!("as a defect would")
    }

    #[tokio::test]
    async fn a_panic_is_answered() {
        let router = Router::new().route("/", get(fails)).layer(from_fn(explain));
        let response =
            TowerToHyperService::new(router).call(Request::new(axum::body::Body::empty())).await.expect("answered");
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }
}
