//! The plain port beside an encrypted one. It sends browsers on and answers nothing else.
use crate::config::Site;
use crate::http::Problem;
use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};

/// Sends whoever asks for a page to the encrypted one: at the address that the hub was told, or at the name that was asked
/// for and this port.
pub(crate) fn router(said: Option<Site>, port: u16) -> Router {
    Router::new().fallback(move |method: Method, uri: Uri, headers: HeaderMap| {
        let target = if method.is_safe() { target(said.as_ref(), port, &uri, &headers) } else { None };
        std::future::ready(target.map_or_else(refuse, |target| Redirect::permanent(&target).into_response()))
    })
}

fn target(said: Option<&Site>, port: u16, uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let origin = match said {
        Some(site) => site.origin().to_owned(),
        None => {
            let host = headers.get(header::HOST)?.to_str().ok()?;
            let host = url::Url::parse(&format!("http://{host}/")).ok()?.host()?.to_owned();
            Site::parse(&format!("https://{host}:{port}")).ok()?.origin().to_owned()
        }
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Some(format!("{origin}{path}"))
}

/// What was sent has been seen by everybody on the way already: to send it on would hide that.
fn refuse() -> Response {
    let detail = "this port is not encrypted and only sends pages on: write https:// instead of http://";
    Problem::new(StatusCode::BAD_REQUEST, "encrypted-only", "encrypted connections only", detail).into_response()
}
