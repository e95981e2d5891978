//! Codes by time (RFC 6238): six digits, another one every thirty seconds.
use data_encoding::BASE32_NOPAD;
use ring::hmac;
use subtle::ConstantTimeEq;

/// How long one code is shown.
pub const STEP_SECONDS: u64 = 30;
/// Steps before and after now whose codes are taken: clocks differ, and people are slow.
pub const STEPS_AROUND: u64 = 1;
/// Bytes of a secret: as many as the hash has.
pub const SECRET_BYTES: usize = 20;
const DIGITS: usize = 6;
const MODULUS: u32 = 1_000_000;

/// The step of a moment.
pub(crate) fn step(now_ms: u64) -> u64 {
    now_ms / 1000 / STEP_SECONDS
}

/// The code of a step.
pub(crate) fn code(secret: &[u8], step: u64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let at = usize::from(bytes[bytes.len() - 1] & 0xf);
    let number = u32::from_be_bytes([bytes[at] & 0x7f, bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    format!("{:0DIGITS$}", number % MODULUS)
}

/// The step around now, and after the last one used, whose code this is.
pub(crate) fn matching(secret: &[u8], now: u64, last: u64, given: &str) -> Option<u64> {
    let given = given.trim();
    if given.len() != DIGITS || !given.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut found = None;
    for candidate in now.saturating_sub(STEPS_AROUND)..=now + STEPS_AROUND {
        // All are compared, so that time does not tell which one it was.
        let same = bool::from(code(secret, candidate).as_bytes().ct_eq(given.as_bytes()));
        if same && candidate > last && found.is_none() {
            found = Some(candidate);
        }
    }
    found
}

/// The secret as apps take it when it is typed.
pub(crate) fn text(secret: &[u8]) -> String {
    BASE32_NOPAD.encode(secret)
}

/// The secret as apps take it from a picture.
pub(crate) fn uri(secret: &[u8], hub: &str, name: &str) -> String {
    let mut url = url::Url::parse("otpauth://totp/").expect("a constant address");
    url.set_path(&format!("/{}:{name}", hub.replace(':', " ")));
    url.query_pairs_mut().append_pair("secret", &text(secret)).append_pair("issuer", &hub.replace(':', " "));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of the examples in RFC 6238.
    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_standard() {
        // The last six of the eight digits in appendix B.
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code(SECRET, step(seconds * 1000)), expected, "{seconds}");
        }
    }

    #[test]
    fn neighbours_in_time_are_taken_and_used_ones_are_not() {
        let now = 1000;
        for at in [999, 1000, 1001] {
            assert_eq!(matching(SECRET, now, 0, &code(SECRET, at)), Some(at));
            assert_eq!(matching(SECRET, now, at, &code(SECRET, at)), None, "used before");
        }
        for at in [998, 1002] {
            assert_eq!(matching(SECRET, now, 0, &code(SECRET, at)), None);
        }
        for wrong in ["", "12345", "1234567", "abcdef", "１２３４５６"] {
            assert_eq!(matching(SECRET, now, 0, wrong), None);
        }
    }

    #[test]
    fn an_app_can_read_the_address() {
        let uri = uri(SECRET, "hub.example:7070", "orchard");
        assert_eq!(
            uri,
            "otpauth://totp/hub.example%207070:orchard?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=hub.example+7070"
        );
    }
}
