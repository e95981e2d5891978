//! How a file that is opened introduces itself to a browser: by a name that does no harm, and with no rights.
use axum::http::{HeaderMap, HeaderValue, header};

use crate::results::{ResultKind, by_head, by_name, image_type};

/// The longest name that is told.
const NAME_CHARS_MAX: usize = 150;

/// Whether a file is shown or saved.
fn disposition(name: &str, shown: bool) -> HeaderValue {
    let name: String =
        name.chars().map(|c| if c.is_control() || "/\\".contains(c) { '_' } else { c }).take(NAME_CHARS_MAX).collect();
    let plain: String = name.chars().map(|c| if c.is_ascii() && c != '"' && c != '%' { c } else { '_' }).collect();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let escaped: String = name
        .bytes()
        .map(|byte| if is_token(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    let how = if shown { "inline" } else { "attachment" };
    let value = format!("{how}; filename=\"{plain}\"; filename*=UTF-8''{escaped}");
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

/// The headers of something that a stranger's program made: no browser runs any of it.
pub(super) fn harmless(kind: &'static str, name: &str, shown: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert(header::CONTENT_DISPOSITION, disposition(name, shown));
    headers
}

/// The headers of a file, by how it begins: what it really is counts, not what it is called.
pub(super) fn of_file(path: &str, bytes: u64, head: &[u8], saved: bool) -> HeaderMap {
    let kind = by_head(head, head.len() as u64 == bytes);
    let media = match kind {
        ResultKind::Image => image_type(head).unwrap_or("application/octet-stream"),
        ResultKind::Table
            if by_name(path) == Some(ResultKind::Table) && path.to_ascii_lowercase().ends_with(".csv") =>
        {
            "text/csv; charset=utf-8"
        }
        ResultKind::Table | ResultKind::Text => "text/plain; charset=utf-8",
        ResultKind::Other => "application/octet-stream",
    };
    let shown = !saved && kind != ResultKind::Other;
    let mut headers = harmless(media, path.rsplit('/').next().unwrap_or(path), shown);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &HeaderValue) -> &str {
        value.to_str().expect("plain")
    }

    #[test]
    fn a_name_cannot_become_a_header_or_a_path() {
        let value = disposition("a\"b\r\nx: y/..\\ü%.png", false);
        assert_eq!(
            text(&value),
            "attachment; filename=\"a_b__x: y_..___.png\"; filename*=UTF-8''a%22b__x%3A%20y_.._%C3%BC%25.png"
        );
        assert!(text(&disposition(&"x".repeat(1000), true)).len() < 400);
    }

    #[test]
    fn a_page_is_shown_as_text_whatever_it_is_called() {
        let page = b"<html><script>alert(1)</script>";
        let headers = of_file("a/evil.png", page.len() as u64, page, false);
        assert_eq!(text(&headers[header::CONTENT_TYPE]), "text/plain; charset=utf-8");
        assert_eq!(text(&headers[header::CONTENT_SECURITY_POLICY]), "sandbox; default-src 'none'");
        assert_eq!(text(&headers[header::X_CONTENT_TYPE_OPTIONS]), "nosniff");
        let headers = of_file("a/evil.html", 4, &[0, 1, 2, 3], false);
        assert_eq!(text(&headers[header::CONTENT_TYPE]), "application/octet-stream");
        assert!(text(&headers[header::CONTENT_DISPOSITION]).starts_with("attachment;"));
    }
}
