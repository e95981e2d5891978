//! Sealing: what makes a chunk unreadable for everybody but those who were given its key.
//!
//! One secret of the account is the root of all keys. The same content sealed twice by the same account gives the
//! same bytes, so that it is stored and sent once; another account's are unrelated. No key ever seals two different
//! texts: it is derived from what it seals, so the fixed nonce is safe. The secret itself never leaves the machine.
mod account;
mod chunk;
mod dataset;
mod short;
mod task;
mod wrap;

pub use account::{AccountSecret, Keys, Tag};
pub use chunk::{ChunkKey, Opener, Sealed};
pub use dataset::DatasetKey;
pub use short::SHORT_BYTES_MAX;
pub use task::{SignedTaskKeys, TASK_KEYS_BYTES_MAX, TaskKeys};
pub use wrap::{WRAPPED_BYTES, WRAPPING_BYTES, Wrapped, unwrap, wrap};

/// Why something cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not those that were sealed, or the key is another's.
    #[error("{what} does not open: it is damaged, or sealed for somebody else")]
    Shut {
        /// What was to be opened.
        what: &'static str,
    },
    /// The sealed bytes open, but what is inside is not what was promised.
    #[error("a sealed chunk holds something else than it should: {0}")]
    Content(&'static str),
    /// A public key that nobody can have.
    #[error("{0} is not a usable public key")]
    PublicKey(gleaner_wire::WorkerKey),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    Random(#[source] getrandom::Error),
    /// The decompressor cannot be set up.
    #[error("the decompressor cannot be set up")]
    Decompressor(#[source] std::io::Error),
}

/// AES-256-GCM with the nonce zero: every key here seals one text only.
fn aead(key: &[u8; 32]) -> ring::aead::LessSafeKey {
    let key = ring::aead::UnboundKey::new(&ring::aead::AES_256_GCM, key).expect("the key has the length of the cipher");
    ring::aead::LessSafeKey::new(key)
}

fn nonce() -> ring::aead::Nonce {
    ring::aead::Nonce::assume_unique_for_key([0; ring::aead::NONCE_LEN])
}

/// Seals `text` in place; the proof of wholeness comes at its end.
fn seal_in_place(key: &[u8; 32], bound_to: &[u8], text: &mut Vec<u8>) {
    let proof = aead(key)
        .seal_in_place_separate_tag(nonce(), ring::aead::Aad::from(bound_to), text)
        .expect("a text of this size can be sealed");
    text.extend_from_slice(proof.as_ref());
}

fn open_in_place<'a>(
    key: &[u8; 32],
    bound_to: &[u8],
    sealed: &'a mut [u8],
    what: &'static str,
) -> Result<&'a mut [u8], Error> {
    aead(key).open_in_place(nonce(), ring::aead::Aad::from(bound_to), sealed).map_err(|_| Error::Shut { what })
}
