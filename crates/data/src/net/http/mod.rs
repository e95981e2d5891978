//! The hub's cache over plain HTTP: several TCP connections pass where QUIC does not, and every proxy knows them.
//!
//! The same frames as between peers. A grant or token travels in a header; over HTTP it is shown by whoever has it, so a
//! hub serves this where the line itself is encrypted. Who is let in is decided by a [`Door`]. Bodies:
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /chunks/missing` | ids, 32 bytes each | one bit for each, set if it is there |
//! | `POST /chunks/want` | ids, 32 bytes each | a frame for each |
//! | `POST /chunks` | frames, ended by length zero | nothing, once all of it would survive a crash |
//! | `POST /swarm/{root}` | an announcement of who fetches or has a dataset | a grant, and who else does |
mod access;
mod client;
mod door;
mod refused;
mod router;
mod swarm;

pub use access::Access;
pub use client::Cache;
pub use door::{Admitted, Allowance, Door, Refusal};
pub use router::router;
pub(in crate::net) use swarm::WELCOME_BYTES_MAX;
pub use swarm::{Announcement, GRANT_TIME, Other, Welcome, swarm_router};

use super::{Error, IDS_MAX, SignedGrant};
use gleaner_wire::Hash;

/// The header that carries the grant, in hexadecimal digits.
const GRANT: &str = "x-gleaner-grant";
/// The header that carries the code of a refusal.
pub const CODE: &str = "x-gleaner-code";
/// The longest gift in one request.
const GIFT_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn grant_text(grant: &SignedGrant) -> String {
    let bytes = postcard::to_allocvec(grant).expect("a grant can be encoded");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn grant_of(text: &str) -> Option<SignedGrant> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    postcard::from_bytes(&bytes?).ok()
}

fn ids_of(body: &[u8]) -> Result<Vec<Hash>, Error> {
    let (ids, rest) = body.as_chunks::<32>();
    if !rest.is_empty() {
        return Err(Error::Malformed("a list of chunks"));
    }
    if ids.len() > IDS_MAX {
        return Err(Error::TooMuch { what: "a list of chunks", max: IDS_MAX as u64 });
    }
    Ok(ids.iter().map(|id| Hash(*id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Grant, Right};
    use ed25519_dalek::SigningKey;
    use gleaner_wire::{Millis, WorkerKey};

    #[test]
    fn a_grant_passes_through_a_header_and_junk_does_not() {
        let grant = Grant { root: Hash([1; 32]), peer: WorkerKey([2; 32]), right: Right::Fetch, until: Millis(3) };
        let signed = grant.sign(&SigningKey::from_bytes(&[4; 32]));
        assert_eq!(grant_of(&grant_text(&signed)), Some(signed));
        for junk in ["", "0", "zz", "00", "é0"] {
            assert_eq!(grant_of(junk), None, "{junk}");
        }
    }

    #[test]
    fn lists_are_bounded() {
        assert_eq!(ids_of(&[7; 64]).expect("two ids"), [Hash([7; 32]); 2]);
        assert!(ids_of(&[7; 65]).is_err());
        assert!(ids_of(&vec![7; 32 * (IDS_MAX + 1)]).is_err());
    }
}
