//! Signatures under what is sent: HMAC-SHA256 over the moment and the body, so that neither can be changed or kept for later.
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The value of the header with the signature: `t=SECONDS,v1=HMAC`.
pub(super) fn signature(secret: &str, seconds: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a secret of any length will do");
    mac.update(seconds.to_string().as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_test`.
    #[test]
    fn a_signature_is_what_other_programs_make() {
        let digits = "38877139021993b830af32feea6e18a8da83eb2f6e49ee50bd9e4cf4ca4d3789";
        assert_eq!(signature("whsec_test", 1_700_000_000, "{\"a\":1}"), format!("t=1700000000,v1={digits}"));
    }
}
