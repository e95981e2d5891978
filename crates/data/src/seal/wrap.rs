//! Wrapping keys for the one machine that may read what they open.
//!
//! The receiver's ed25519 identity is turned into an X25519 key; each wrapping draws a fresh key of its own for the
//! exchange, so that nobody but the receiver, not even the sender later, can open it. It is bound to what it is for
//! (the root of a dataset, or the task of a job) and to the receiver.
use curve25519_dalek::montgomery::MontgomeryPoint;
use ed25519_dalek::{SigningKey, VerifyingKey};
use gleaner_wire::{Hash, WorkerKey};
use zeroize::Zeroizing;

use super::{DatasetKey, Error, open_in_place, seal_in_place};

const EXCHANGE_BYTES: usize = 32;
const PROOF_BYTES: usize = 16;
/// What wrapping adds to the size of a secret.
pub const WRAPPING_BYTES: usize = EXCHANGE_BYTES + PROOF_BYTES;
/// The size of a wrapped key.
pub const WRAPPED_BYTES: usize = WRAPPING_BYTES + 32;

/// A dataset key that only its receiver can open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapped(pub [u8; WRAPPED_BYTES]);

/// Wraps a secret, which is for `purpose`, for a receiver.
pub fn wrap(secret: &[u8], purpose: Hash, to: WorkerKey) -> Result<Vec<u8>, Error> {
    let receiver = VerifyingKey::from_bytes(&to.0).map_err(|_| Error::PublicKey(to))?;
    if receiver.is_weak() {
        return Err(Error::PublicKey(to));
    }
    let mut once = Zeroizing::new([0; 32]);
    getrandom::fill(&mut once[..]).map_err(Error::Random)?;
    let public = MontgomeryPoint::mul_base_clamped(*once);
    let shared = receiver.to_montgomery().mul_clamped(*once);
    let mut sealed = Vec::with_capacity(secret.len() + PROOF_BYTES);
    sealed.extend_from_slice(secret);
    seal_in_place(&agreed(shared, public, to), &purpose.0, &mut sealed);
    Ok([public.as_bytes(), &sealed[..]].concat())
}

/// Opens what was wrapped for the owner of `key`.
pub fn unwrap(wrapped: &[u8], purpose: Hash, key: &SigningKey) -> Result<Zeroizing<Vec<u8>>, Error> {
    let what = "a wrapped key";
    let (public, sealed) = wrapped.split_first_chunk().ok_or(Error::Shut { what })?;
    let public = MontgomeryPoint(*public);
    let scalar = Zeroizing::new(key.to_scalar_bytes());
    let shared = public.mul_clamped(*scalar);
    let agreed = agreed(shared, public, WorkerKey(key.verifying_key().to_bytes()));
    let mut sealed = Zeroizing::new(sealed.to_vec());
    let length = open_in_place(&agreed, &purpose.0, &mut sealed, what)?.len();
    sealed.truncate(length);
    Ok(sealed)
}

impl DatasetKey {
    /// Wraps the key of the dataset whose sealed root is `root` for a receiver.
    pub fn wrap(&self, root: Hash, to: WorkerKey) -> Result<Wrapped, Error> {
        let wrapped = wrap(&self.0[..], root, to)?;
        Ok(Wrapped(wrapped.try_into().expect("a key has 32 bytes")))
    }

    /// Opens a key that was wrapped for the owner of `secret`.
    pub fn unwrap(wrapped: &Wrapped, root: Hash, secret: &SigningKey) -> Result<Self, Error> {
        let opened = unwrap(&wrapped.0, root, secret)?;
        let key = <[u8; 32]>::try_from(&opened[..]).map_err(|_| Error::Content("a key of another size"))?;
        Ok(Self(Zeroizing::new(key)))
    }
}

fn agreed(shared: MontgomeryPoint, public: MontgomeryPoint, receiver: WorkerKey) -> Zeroizing<[u8; 32]> {
    let mut hasher = blake3::Hasher::new_derive_key("gleaner 2026 data wrap");
    hasher.update(shared.as_bytes()).update(public.as_bytes()).update(&receiver.0);
    Zeroizing::new(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::AccountSecret;

    fn worker(number: u8) -> (SigningKey, WorkerKey) {
        let secret = SigningKey::from_bytes(&[number; 32]);
        let public = WorkerKey(secret.verifying_key().to_bytes());
        (secret, public)
    }

    fn dataset() -> (DatasetKey, Hash) {
        let (key, sealed) = AccountSecret::from_bytes([1; 32]).keys().seal_root(b"root".to_vec());
        (key, Hash::of(&sealed))
    }

    #[test]
    fn exactly_the_receiver_opens_it() {
        let (key, root) = dataset();
        for number in 0..20 {
            let (secret, public) = worker(number);
            let wrapped = key.wrap(root, public).expect("wrapped");
            assert_eq!(DatasetKey::unwrap(&wrapped, root, &secret).expect("opened"), key);
            assert!(DatasetKey::unwrap(&wrapped, root, &worker(number + 1).0).is_err());
        }
    }

    #[test]
    fn it_is_bound_to_its_root_and_comes_out_otherwise_each_time() {
        let (key, root) = dataset();
        let (secret, public) = worker(1);
        let wrapped = key.wrap(root, public).expect("wrapped");
        assert_ne!(wrapped, key.wrap(root, public).expect("wrapped"));
        assert!(DatasetKey::unwrap(&wrapped, Hash::of(b"other"), &secret).is_err());
    }

    #[test]
    fn a_flipped_bit_shuts_it() {
        let (key, root) = dataset();
        let (secret, public) = worker(1);
        let wrapped = key.wrap(root, public).expect("wrapped");
        for at in 0..WRAPPED_BYTES {
            let mut damaged = wrapped;
            damaged.0[at] ^= 1;
            assert!(DatasetKey::unwrap(&damaged, root, &secret).is_err(), "byte {at}");
        }
    }

    #[test]
    fn keys_that_nobody_can_have_are_refused() {
        let (key, root) = dataset();
        let mut small_order = [0; 32];
        small_order[0] = 1;
        for bad in [small_order, [0; 32], [2; 32]] {
            assert!(matches!(key.wrap(root, WorkerKey(bad)), Err(Error::PublicKey(_))), "{bad:?}");
        }
    }
}
