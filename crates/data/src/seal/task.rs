//! The keys of a task: what a worker that got it must be able to open and to seal, and nothing else.
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use gleaner_wire::{Hash, WorkerKey};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{AccountSecret, DatasetKey, Error, unwrap, wrap};

/// The longest list of a task's keys, as bytes.
pub const TASK_KEYS_BYTES_MAX: usize = 64 * 1024;

/// What one task of a job needs. Whoever has it can read what the task reads and what it delivers.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct TaskKeys {
    /// Opens the program.
    pub program: [u8; 32],
    /// Seals what the task delivers; derived from what the task is, so that equal work is sealed alike.
    pub output: [u8; 32],
    /// For each input the key of the dataset, or the secret that the other task's output is sealed with.
    pub inputs: Vec<[u8; 32]>,
}

/// The keys of a task with their owner's word for them. Workers hand them on to others who got the task, and none of
/// them can hand on other keys than these.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedTaskKeys {
    /// The keys.
    pub keys: TaskKeys,
    signature: [u8; SIGNATURE_BYTES],
}

const SIGNATURE_BYTES: usize = 64;

impl std::fmt::Debug for TaskKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl std::fmt::Debug for SignedTaskKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl TaskKeys {
    /// The key of the program.
    pub fn program_key(&self) -> DatasetKey {
        DatasetKey::from_bytes(self.program)
    }

    /// The key of an input that is a dataset.
    pub fn input_key(&self, position: usize) -> Option<DatasetKey> {
        self.inputs.get(position).copied().map(DatasetKey::from_bytes)
    }

    /// What an input that is another task's output is sealed with.
    pub fn input_secret(&self, position: usize) -> Option<AccountSecret> {
        self.inputs.get(position).copied().map(AccountSecret::from_bytes)
    }

    /// What the output is sealed with.
    pub fn output_secret(&self) -> AccountSecret {
        AccountSecret::from_bytes(self.output)
    }

    /// Their owner's word that these are the keys of a group, in the job of this submission.
    pub fn sign(self, submission: u128, group: u16, owner: &SigningKey) -> SignedTaskKeys {
        let signature = owner.sign(&self.message(submission, group).0).to_bytes();
        SignedTaskKeys { keys: self, signature }
    }

    fn flat(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new([&self.program, &self.output].into_iter().chain(&self.inputs).flatten().copied().collect())
    }

    fn message(&self, submission: u128, group: u16) -> Hash {
        let mut hasher = blake3::Hasher::new_derive_key("gleaner 2026 task keys signed");
        hasher.update(&purpose(submission, group).0).update(&self.flat());
        Hash(*hasher.finalize().as_bytes())
    }
}

impl SignedTaskKeys {
    /// Wraps them for a worker that got an element of the group.
    pub fn wrap(&self, submission: u128, group: u16, to: WorkerKey) -> Result<Vec<u8>, Error> {
        let mut flat = self.keys.flat();
        flat.extend_from_slice(&self.signature);
        wrap(&flat, purpose(submission, group), to)
    }

    /// Opens what was wrapped for the owner of `key`, if the owner of the job has signed it.
    pub fn unwrap(
        wrapped: &[u8],
        submission: u128,
        group: u16,
        key: &SigningKey,
        owner: WorkerKey,
    ) -> Result<Self, Error> {
        let flat = unwrap(wrapped, purpose(submission, group), key)?;
        let (flat, signature) = flat.split_last_chunk().ok_or(Error::Content("the keys of a task are incomplete"))?;
        let (keys, rest) = flat.as_chunks::<32>();
        let keys = match keys {
            [program, output, inputs @ ..] if rest.is_empty() => {
                TaskKeys { program: *program, output: *output, inputs: inputs.to_vec() }
            }
            _ => return Err(Error::Content("the keys of a task are incomplete")),
        };
        let signed = VerifyingKey::from_bytes(&owner.0).and_then(|owner| {
            owner.verify_strict(&keys.message(submission, group).0, &Signature::from_bytes(signature))
        });
        signed.map_err(|_| Error::Content("the keys of a task are not signed by the job's owner"))?;
        Ok(Self { keys, signature: *signature })
    }
}

/// Keys of one task of one job do not open as those of another.
fn purpose(submission: u128, group: u16) -> Hash {
    let mut hasher = blake3::Hasher::new_derive_key("gleaner 2026 task keys");
    hasher.update(&submission.to_le_bytes()).update(&group.to_le_bytes());
    Hash(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> (SigningKey, WorkerKey) {
        let key = SigningKey::from_bytes(&[number; 32]);
        let public = WorkerKey(key.verifying_key().to_bytes());
        (key, public)
    }

    #[test]
    fn keys_open_for_their_worker_and_task_only() {
        let keys = TaskKeys { program: [1; 32], output: [2; 32], inputs: vec![[3; 32], [4; 32]] };
        let ((owner, owner_public), (worker, to)) = (key(7), key(9));
        assert_eq!(format!("{keys:?}"), "[redacted]");
        let wrapped = keys.clone().sign(5, 1, &owner).wrap(5, 1, to).expect("wrapped");
        let open = |wrapped: &[u8], submission, group, with: &SigningKey, owner| {
            SignedTaskKeys::unwrap(wrapped, submission, group, with, owner)
        };
        assert_eq!(open(&wrapped, 5, 1, &worker, owner_public).expect("opens").keys, keys);
        assert!(open(&wrapped, 5, 2, &worker, owner_public).is_err());
        assert!(open(&wrapped, 6, 1, &worker, owner_public).is_err());
        assert!(open(&wrapped, 5, 1, &key(8).0, owner_public).is_err());
        assert!(open(&wrapped[..40], 5, 1, &worker, owner_public).is_err());
        assert!(open(&[], 5, 1, &worker, owner_public).is_err());
    }

    #[test]
    fn keys_are_handed_on_as_they_are_or_not_at_all() {
        let keys = TaskKeys { program: [1; 32], output: [2; 32], inputs: Vec::new() };
        let ((owner, owner_public), (worker, to), (other, next)) = (key(7), key(9), key(10));
        let wrapped = keys.clone().sign(5, 1, &owner).wrap(5, 1, to).expect("wrapped");
        let got = SignedTaskKeys::unwrap(&wrapped, 5, 1, &worker, owner_public).expect("opens");
        let handed_on = got.wrap(5, 1, next).expect("wrapped");
        assert_eq!(SignedTaskKeys::unwrap(&handed_on, 5, 1, &other, owner_public).expect("opens").keys, keys);
        let forged = TaskKeys { program: [1; 32], output: [9; 32], inputs: Vec::new() }
            .sign(5, 1, &worker)
            .wrap(5, 1, next)
            .expect("wrapped");
        assert!(SignedTaskKeys::unwrap(&forged, 5, 1, &other, owner_public).is_err());
        let other_task = keys.sign(5, 2, &owner).wrap(5, 1, next).expect("wrapped");
        assert!(SignedTaskKeys::unwrap(&other_task, 5, 1, &other, owner_public).is_err());
    }
}
