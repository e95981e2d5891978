//! What the browser says of a ceremony: its kind, the challenge, and the page that asked.
use super::Fault;
use crate::Site;
use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;

/// The longest that is read.
pub(super) const CLIENT_DATA_BYTES_MAX: usize = 8192;

/// Which ceremony.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ceremony {
    /// A passkey is made.
    Create,
    /// A passkey is used.
    Get,
}

impl Ceremony {
    fn kind(self) -> &'static str {
        match self {
            Self::Create => "webauthn.create",
            Self::Get => "webauthn.get",
        }
    }
}

/// The parts that count. Browsers add others, on purpose, so that nobody relies on there being none.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<String>,
}

/// Reads what the browser said, and gives the challenge that it answers.
pub(super) fn check(json: &[u8], ceremony: Ceremony, site: &Site) -> Result<Vec<u8>, Fault> {
    if json.len() > CLIENT_DATA_BYTES_MAX {
        return Err(Fault::Form("client data"));
    }
    let data: ClientData = serde_json::from_slice(json).map_err(|_| Fault::Form("client data"))?;
    if data.r#type != ceremony.kind() {
        return Err(Fault::Ceremony);
    }
    if data.origin != site.origin() || data.cross_origin || data.top_origin.is_some() {
        return Err(Fault::Origin);
    }
    BASE64URL_NOPAD.decode(data.challenge.as_bytes()).map_err(|_| Fault::Form("challenge"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn site() -> Site {
        Site::parse("https://hub.example").expect("an origin")
    }

    fn get(json: &str) -> Result<Vec<u8>, Fault> {
        check(json.as_bytes(), Ceremony::Get, &site())
    }

    #[test]
    fn what_browsers_say_is_read() {
        let chromium = r#"{"type":"webauthn.get","challenge":"AAEC","origin":"https://hub.example","crossOrigin":false,
            "other_keys_can_be_added_here":"do not compare clientDataJSON against a template"}"#;
        assert_eq!(get(chromium), Ok(vec![0, 1, 2]));
        assert_eq!(
            get(r#"{"type":"webauthn.get","challenge":"AAEC","origin":"https://hub.example"}"#),
            Ok(vec![0, 1, 2])
        );
    }

    #[test]
    fn another_page_or_ceremony_is_refused() {
        for (json, fault) in [
            (r#"{"type":"webauthn.create","challenge":"AAEC","origin":"https://hub.example"}"#, Fault::Ceremony),
            (r#"{"type":"webauthn.get","challenge":"AAEC","origin":"https://evil.example"}"#, Fault::Origin),
            (r#"{"type":"webauthn.get","challenge":"AAEC","origin":"https://hub.example:444"}"#, Fault::Origin),
            (
                r#"{"type":"webauthn.get","challenge":"AAEC","origin":"https://hub.example","crossOrigin":true}"#,
                Fault::Origin,
            ),
            (
                r#"{"type":"webauthn.get","challenge":"AAEC","origin":"https://hub.example","topOrigin":"https://evil.example"}"#,
                Fault::Origin,
            ),
            (r#"{"type":"webauthn.get","challenge":"AA+C","origin":"https://hub.example"}"#, Fault::Form("challenge")),
            (r#"{"type":"webauthn.get","origin":"https://hub.example"}"#, Fault::Form("client data")),
            ("", Fault::Form("client data")),
        ] {
            assert_eq!(get(json), Err(fault), "{json}");
        }
        let long = format!("{}{}", " ".repeat(CLIENT_DATA_BYTES_MAX), r#"{"type":"webauthn.get"}"#);
        assert_eq!(get(&long), Err(Fault::Form("client data")));
    }

    proptest! {
        #[test]
        fn anything_may_come_and_only_the_right_page_passes(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            origin in "https?://(hub|evil)\\.example(:[0-9]{1,5})?",
            challenge in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let _ = check(&bytes, Ceremony::Create, &site());
            let text = BASE64URL_NOPAD.encode(&challenge);
            let json = serde_json::json!({ "type": "webauthn.get", "challenge": text, "origin": origin }).to_string();
            let expected = if origin == "https://hub.example" { Ok(challenge) } else { Err(Fault::Origin) };
            prop_assert_eq!(get(&json), expected);
        }
    }
}
