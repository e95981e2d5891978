//! The dashboard: files of the built page that are in this binary, or how to get it where it was not built in.
//!
//! It answers what no route does. Programs that ask for a path below `/api` get a problem, never a page.
use super::problem;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    /// Changes with the content.
    tag: &'static str,
    /// Whether the path changes with the content, so that it never has to be asked for again.
    lasting: bool,
    bytes: &'static [u8],
    gzip: Option<&'static [u8]>,
}

/// The files; none if the page was not built before this program was.
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/dashboard.rs"));

/// What the page may load: its own files from this hub. Nothing within the page runs, and nobody frames it.
const POLICY: &str =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// The paths under which there are no pages.
const NOT_PAGES: [&str; 4] = ["/api", "/worker", "/metrics", "/upload"];

/// What is shown where the page was not built in.
const HOW_TO: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Gleaner</title>
<h1>This hub runs, without its dashboard</h1>
<p>The program was built before the page was. With Node.js 20 or newer, in the folder of the source:</p>
<pre>npm --prefix web ci
npm --prefix web run build
cargo build --release</pre>
<p>Then start it again. Until then the command line does everything: <code>gleaner --help</code>. The API is under <a href=\"/api/v1/health\">/api/v1</a>.</p>
</html>
";

/// Answers what no route does.
pub(super) async fn fallback(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    match answer(FILES, &method, uri.path(), &headers) {
        Some(response) => response,
        None => problem::no_such_page(uri).await.into_response(),
    }
}

/// A file, or the page itself for paths that only the page knows; nothing where there is no page.
fn answer(files: &[File], method: &Method, path: &str, headers: &HeaderMap) -> Option<Response> {
    let below = |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if (method != Method::GET && method != Method::HEAD) || NOT_PAGES.iter().any(|root| below(root)) {
        return None;
    }
    if let Some(file) = files.iter().find(|file| file.path == path) {
        return Some(send(file, method, headers));
    }
    // A name with an ending is a file, and there is none.
    if path.rsplit('/').next().is_some_and(|name| name.contains('.')) {
        return None;
    }
    match files.iter().find(|file| file.path == "/index.html") {
        Some(index) => Some(send(index, method, headers)),
        None => Some(how_to(method)),
    }
}

fn how_to(method: &Method) -> Response {
    let page = File {
        path: "/",
        kind: "text/html; charset=utf-8",
        tag: "\"none\"",
        lasting: false,
        bytes: HOW_TO.as_bytes(),
        gzip: None,
    };
    send(&page, method, &HeaderMap::new())
}

fn send(file: &File, method: &Method, asked: &HeaderMap) -> Response {
    let caching = if file.lasting { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut headers = HeaderMap::new();
    let mut say = |name, value: &'static str| headers.insert(name, HeaderValue::from_static(value));
    say(header::CONTENT_TYPE, file.kind);
    say(header::CACHE_CONTROL, caching);
    say(header::ETAG, file.tag);
    say(header::CONTENT_SECURITY_POLICY, POLICY);
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    say(header::REFERRER_POLICY, "no-referrer");
    say(header::VARY, "accept-encoding");
    if is_known(asked, file.tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    let squeezed = file.gzip.filter(|_| takes_gzip(asked));
    if squeezed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let bytes = squeezed.unwrap_or(file.bytes);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    let body = if method == Method::HEAD { Body::empty() } else { Body::from(bytes) };
    (headers, body).into_response()
}

/// Whether the client has this version already.
fn is_known(asked: &HeaderMap, tag: &str) -> bool {
    let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag)
}

/// Whether the client reads gzip.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let takes = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    takes.split(',').any(|one| {
        let (name, quality) = one.split_once(';').unwrap_or((one, "q=1"));
        let refused = quality.trim().strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q == 0.0));
        name.trim() == "gzip" && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    const BUILT: &[File] = &[
        File {
            path: "/assets/index-1.js",
            kind: "text/javascript; charset=utf-8",
            tag: "\"a\"",
            lasting: true,
            bytes: b"plain",
            gzip: Some(b"gz"),
        },
        File {
            path: "/index.html",
            kind: "text/html; charset=utf-8",
            tag: "\"b\"",
            lasting: false,
            bytes: b"<html>",
            gzip: None,
        },
    ];

    fn asked(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (name.parse::<header::HeaderName>().expect("a name"), value.parse::<HeaderValue>().expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    fn get(files: &[File], path: &str, headers: &[(&str, &str)]) -> Option<Response> {
        answer(files, &Method::GET, path, &asked(headers))
    }

    async fn body(response: Response) -> Vec<u8> {
        to_bytes(response.into_body(), 1 << 20).await.expect("a short body").to_vec()
    }

    #[tokio::test]
    async fn files_come_with_their_type_squeezed_for_those_who_read_that() {
        let plain = get(BUILT, "/assets/index-1.js", &[]).expect("there");
        assert_eq!(plain.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert!(plain.headers()[header::CACHE_CONTROL].to_str().expect("text").contains("immutable"));
        assert_eq!(body(plain).await, b"plain");
        let squeezed = get(BUILT, "/assets/index-1.js", &[("accept-encoding", "br, gzip;q=0.5")]).expect("there");
        assert_eq!(squeezed.headers()[header::CONTENT_ENCODING], "gzip");
        assert_eq!(body(squeezed).await, b"gz");
        let refused = get(BUILT, "/assets/index-1.js", &[("accept-encoding", "gzip;q=0")]).expect("there");
        assert_eq!(body(refused).await, b"plain");
    }

    #[tokio::test]
    async fn paths_that_only_the_page_knows_are_the_page() {
        for path in ["/", "/jobs/7/timeline", "/sign-in"] {
            let page = get(BUILT, path, &[]).expect(path);
            assert_eq!(page.headers()[header::CACHE_CONTROL], "no-cache");
            assert_eq!(page.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
            assert_eq!(body(page).await, b"<html>");
        }
    }

    #[test]
    fn programs_never_get_a_page() {
        for path in ["/api", "/api/v1/nothing", "/worker/v2", "/metrics/x", "/assets/gone.js", "/favicon.ico"] {
            assert!(get(BUILT, path, &[]).is_none(), "{path}");
        }
        assert!(answer(BUILT, &Method::POST, "/jobs", &HeaderMap::new()).is_none());
        assert!(get(BUILT, "/apiary", &[]).is_some(), "only whole names count");
    }

    #[tokio::test]
    async fn what_a_browser_has_is_not_sent_again() {
        let known = get(BUILT, "/", &[("if-none-match", "\"x\", W/\"b\"")]).expect("there");
        assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
        let head = answer(BUILT, &Method::HEAD, "/", &HeaderMap::new()).expect("there");
        assert_eq!(head.headers()[header::CONTENT_LENGTH], "6");
        assert_eq!(body(head).await, b"");
    }

    #[tokio::test]
    async fn without_a_built_page_it_says_how_to_get_one() {
        let page = get(&[], "/jobs", &[]).expect("a page");
        assert_eq!(page.status(), StatusCode::OK);
        let text = String::from_utf8(body(page).await).expect("text");
        assert!(text.contains("npm --prefix web run build"), "{text}");
    }
}
