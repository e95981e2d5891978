//! Who may fetch or give which dataset: a note signed by the hub, shown with every request.
//!
//! Chunks are sealed and named by hashes that nobody can guess, so a grant keeps strangers from using up a line or a
//! disk; it is not what keeps data secret.
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use gleaner_wire::{Hash, Millis, WorkerKey};
use serde::{Deserialize, Serialize};

const CONTEXT: &[u8] = b"gleaner 2026 data grant";

/// What a grant allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Right {
    /// To fetch chunks.
    Fetch,
    /// To bring chunks.
    Give,
}

/// What is allowed to whom, until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The root of the dataset.
    pub root: Hash,
    /// Who may.
    pub peer: WorkerKey,
    /// What.
    pub right: Right,
    /// Until when, in milliseconds since 1970.
    pub until: Millis,
}

/// An ed25519 signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed([[u8; 32]; 2]);

impl Signed {
    /// Signs a message under a context, so that it means nothing anywhere else.
    pub(super) fn sign(key: &SigningKey, context: &[u8], message: &[u8]) -> Self {
        let bytes = key.sign(&[context, message].concat()).to_bytes();
        let (halves, _) = bytes.as_chunks::<32>();
        Self([halves[0], halves[1]])
    }

    /// Whether this key signed that.
    pub(super) fn is_by(&self, key: &WorkerKey, context: &[u8], message: &[u8]) -> bool {
        let signature = Signature::from_components(self.0[0], self.0[1]);
        let key = VerifyingKey::from_bytes(&key.0);
        key.is_ok_and(|key| key.verify_strict(&[context, message].concat(), &signature).is_ok())
    }
}

/// A grant with the hub's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedGrant {
    /// What is granted.
    pub grant: Grant,
    signature: Signed,
}

/// Why a grant does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Signed by somebody else, or not at all.
    #[error("the grant is not signed by the hub that this machine works for: ask that hub for one")]
    Signature,
    /// For somebody else.
    #[error("the grant is for another machine: ask the hub for one of your own")]
    Peer,
    /// For something else.
    #[error("the grant is not for this: ask the hub for one that is")]
    Right,
    /// Too old.
    #[error("the grant has run out: ask the hub for a new one, and check the clock if it is new")]
    Late,
}

impl Grant {
    /// Signs it with the hub's key.
    pub fn sign(self, hub: &SigningKey) -> SignedGrant {
        SignedGrant { grant: self, signature: Signed::sign(hub, CONTEXT, &self.message()) }
    }

    fn message(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a grant can be encoded")
    }
}

/// Whose grants hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority {
    hub: WorkerKey,
}

impl Authority {
    /// The hub with this key.
    pub fn new(hub: WorkerKey) -> Self {
        Self { hub }
    }

    /// Whether a grant allows this to `peer` at this moment.
    pub fn check(&self, signed: &SignedGrant, peer: &WorkerKey, right: Right, now: Millis) -> Result<(), Refused> {
        let SignedGrant { grant, signature } = signed;
        if grant.peer != *peer {
            return Err(Refused::Peer);
        }
        if grant.right != right {
            return Err(Refused::Right);
        }
        if now > grant.until {
            return Err(Refused::Late);
        }
        if !signature.is_by(&self.hub, CONTEXT, &grant.message()) {
            return Err(Refused::Signature);
        }
        Ok(())
    }
}

/// The public half of a key, as keys are named on the wire.
pub fn public(key: &SigningKey) -> WorkerKey {
    WorkerKey(key.verifying_key().to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_holds_for_its_peer_its_right_and_its_time_only() {
        let (hub, peer) = (SigningKey::from_bytes(&[1; 32]), WorkerKey([2; 32]));
        let grant = Grant { root: Hash([3; 32]), peer, right: Right::Fetch, until: Millis(1000) };
        let signed = grant.sign(&hub);
        let authority = Authority::new(public(&hub));
        let check = |signed: &SignedGrant, peer, right, now| authority.check(signed, &peer, right, Millis(now));
        assert_eq!(check(&signed, peer, Right::Fetch, 1000), Ok(()));
        assert_eq!(check(&signed, peer, Right::Fetch, 1001), Err(Refused::Late));
        assert_eq!(check(&signed, peer, Right::Give, 0), Err(Refused::Right));
        assert_eq!(check(&signed, WorkerKey([9; 32]), Right::Fetch, 0), Err(Refused::Peer));
        let longer = SignedGrant { grant: Grant { until: Millis(9000), ..grant }, ..signed };
        assert_eq!(check(&longer, peer, Right::Fetch, 5000), Err(Refused::Signature));
        let own = grant.sign(&SigningKey::from_bytes(&[4; 32]));
        assert_eq!(check(&own, peer, Right::Fetch, 0), Err(Refused::Signature));
    }
}
