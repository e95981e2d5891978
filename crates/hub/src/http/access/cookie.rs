//! The cookie of a session: no script reads it, no other page sends it.
use axum::http::{HeaderMap, HeaderValue, header};
use gleaner_accounts::Secret;
use gleaner_accounts::session::LIFE_MS;

/// Its name on encrypted pages; browsers take it from the page's own host alone.
const SECURE: &str = "__Host-gleaner";
/// Its name on pages of this machine.
const PLAIN: &str = "gleaner";

fn name(https: bool) -> &'static str {
    if https { SECURE } else { PLAIN }
}

/// The session's token that a browser sends.
pub(super) fn read(headers: &HeaderMap, https: bool) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(given, _)| *given == name(https)).map(|(_, token)| token.to_owned());
    // Two of the same name: somebody planted one.
    let token = found.next()?;
    found.next().is_none().then_some(token)
}

/// The header that gives a browser its cookie.
pub(crate) fn give(token: &Secret, https: bool) -> HeaderValue {
    let seconds = LIFE_MS / 1000;
    write(token.expose(), https, seconds)
}

/// The header that takes the cookie away.
pub(crate) fn take(https: bool) -> HeaderValue {
    write("", https, 0)
}

fn write(token: &str, https: bool, seconds: u64) -> HeaderValue {
    let secure = if https { "; Secure" } else { "" };
    let name = name(https);
    let text = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    let mut value = HeaderValue::from_str(&text).expect("tokens are hexadecimal digits");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookies: &[&str]) -> HeaderMap {
        cookies.iter().map(|cookie| (header::COOKIE, HeaderValue::from_str(cookie).expect("a header"))).collect()
    }

    #[test]
    fn a_cookie_is_found_among_others_and_only_under_its_name() {
        assert_eq!(read(&headers(&["a=b; gleaner=token; c=d"]), false).as_deref(), Some("token"));
        assert_eq!(read(&headers(&["a=b; gleaner=token"]), true), None);
        assert_eq!(read(&headers(&["a=b", "__Host-gleaner=token"]), true).as_deref(), Some("token"));
        assert_eq!(read(&headers(&["xgleaner=token; gleaner"]), false), None);
        assert_eq!(read(&headers(&["gleaner=one; gleaner=two"]), false), None, "one of them was planted");
    }

    #[test]
    fn no_script_and_no_other_page_gets_it() {
        let given = give(&Secret::new("00ff"), true);
        let text = given.to_str().expect("text");
        assert!(given.is_sensitive());
        assert!(
            text.starts_with("__Host-gleaner=00ff; Path=/; HttpOnly; SameSite=Strict;") && text.ends_with("; Secure")
        );
        assert!(!text.contains("Domain"));
        assert!(take(false).to_str().expect("text").starts_with("gleaner=; Path=/"));
    }
}
