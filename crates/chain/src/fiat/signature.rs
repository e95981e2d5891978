//! The signature header of a message: `t=SECONDS,v1=HEX`, an HMAC-SHA256 over `SECONDS.BODY`.
use std::fmt;

use alloy_primitives::hex;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// How old or how far ahead a message may be. Within it a message may be repeated, and is booked once all the same.
pub const TOLERANCE_SECONDS: u64 = 300;
/// The most signatures that are looked at in one header.
const SIGNATURES_MAX: usize = 16;

/// A signing secret of the payment provider. It is never printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// A secret as the payment provider shows it.
    pub fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.trim().to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Why a message is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is no time or no signature in the header.
    #[error("the signature header is not of the form t=SECONDS,v1=HEX")]
    Header,
    /// It was signed long ago, or will be.
    #[error("the message was signed at {signed}, and it is {now}: more than {TOLERANCE_SECONDS} seconds apart")]
    Time {
        /// Unix seconds in the header.
        signed: u64,
        /// Unix seconds here.
        now: u64,
    },
    /// None of the signatures fits any of the secrets.
    #[error("the message is not signed with our secret")]
    Wrong,
}

fn mac(secret: &Secret, time: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.0.as_bytes()).expect("a key may have any length");
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac
}

/// The header that a payment provider would send, for tests and rehearsals.
pub fn sign(secret: &Secret, time: u64, body: &[u8]) -> String {
    let time = time.to_string();
    format!("t={time},v1={}", hex::encode(mac(secret, &time, body).finalize().into_bytes()))
}

/// Whether one of our secrets signed the message within the tolerance. There may be several secrets and several
/// signatures while a secret is being changed.
pub fn verify(secrets: &[Secret], header: &str, body: &[u8], now: u64) -> Result<(), SignatureError> {
    let mut time = None;
    let mut signatures = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=') {
            Some(("t", value)) if time.is_none() => time = Some(value),
            Some(("t", _)) => return Err(SignatureError::Header),
            Some(("v1", value)) if signatures.len() < SIGNATURES_MAX => signatures.extend(hex::decode(value).ok()),
            Some(_) | None => {}
        }
    }
    let time = time.filter(|time| !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit()));
    let time = time.ok_or(SignatureError::Header)?;
    if signatures.is_empty() {
        return Err(SignatureError::Header);
    }
    // The comparison takes the same time wherever the first difference is.
    let fits = |secret: &Secret| signatures.iter().any(|given| mac(secret, time, body).verify_slice(given).is_ok());
    if !secrets.iter().any(fits) {
        return Err(SignatureError::Wrong);
    }
    let signed = time.parse().map_err(|_| SignatureError::Header)?;
    match now.abs_diff(signed) <= TOLERANCE_SECONDS {
        true => Ok(()),
        false => Err(SignatureError::Time { signed, now }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"id":"evt_1"}"#;

    fn ours() -> [Secret; 2] {
        [Secret::new("whsec_old"), Secret::new("whsec_new")]
    }

    #[test]
    fn the_signature_of_a_message_is_pinned() {
        // HMAC-SHA256 with key "whsec_new" over `1492774577.{"id":"evt_1"}`.
        assert_eq!(sign(&ours()[1], 1_492_774_577, BODY), PINNED);
    }

    const PINNED: &str = "t=1492774577,v1=0ff2f5a68c790e641710ef579f8bab873bd43994ccf50908722ddbee71686a50";

    #[test]
    fn any_of_our_secrets_and_any_of_the_signatures_may_fit() {
        for secret in &ours() {
            let header = sign(secret, 1_000, BODY);
            assert_eq!(verify(&ours(), &header, BODY, 1_000), Ok(()));
            let several = header.replace(",v1=", &format!(",v1={},v0=00,v1=", "00".repeat(32)));
            assert_eq!(verify(&ours(), &several, BODY, 1_000), Ok(()));
        }
    }

    #[test]
    fn forged_and_changed_messages_are_refused() {
        let header = sign(&ours()[0], 1_000, BODY);
        assert_eq!(verify(&ours(), &header, b"{}", 1_000), Err(SignatureError::Wrong));
        assert_eq!(verify(&ours()[1..], &header, BODY, 1_000), Err(SignatureError::Wrong));
        assert_eq!(verify(&[], &header, BODY, 1_000), Err(SignatureError::Wrong));
        let later = header.replace("t=1000", "t=1001");
        assert_eq!(verify(&ours(), &later, BODY, 1_000), Err(SignatureError::Wrong));
        let short = &header[..header.len() - 2];
        assert_eq!(verify(&ours(), short, BODY, 1_000), Err(SignatureError::Wrong));
        let old_scheme = header.replace("v1=", "v0=");
        assert_eq!(verify(&ours(), &old_scheme, BODY, 1_000), Err(SignatureError::Header));
    }

    #[test]
    fn a_message_counts_for_five_minutes_before_and_after() {
        let header = sign(&ours()[0], 1_000, BODY);
        assert!([700, 1_000, 1_300].iter().all(|now| verify(&ours(), &header, BODY, *now).is_ok()));
        for now in [0, 699, 1_301, u64::MAX] {
            assert_eq!(verify(&ours(), &header, BODY, now), Err(SignatureError::Time { signed: 1_000, now }));
        }
    }

    #[test]
    fn headers_of_another_form_are_refused() {
        for header in ["", "t=1", "v1=00", "t=,v1=00", "t=-1,v1=00", "t=1,v1=xyz", "t=1,t=2,v1=00", "t=+1,v1=00"] {
            assert_eq!(verify(&ours(), header, BODY, 1), Err(SignatureError::Header), "{header}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", ours()[0]), "[redacted]");
    }
}
