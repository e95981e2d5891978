//! The keys of a task: what a worker that got it must be able to open and to seal, and nothing else.
use gleaner_wire::{Hash, WorkerKey};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{AccountSecret, DatasetKey, Error, unwrap, wrap};

/// The longest list of a task's keys, as bytes.
pub const TASK_KEYS_BYTES_MAX: usize = 64 * 1024;

/// What one task of a job needs. Whoever has it can read what the task reads and what it delivers.
#[derive(Clone, Default, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct TaskKeys {
    /// Opens the program.
    pub program: [u8; 32],
    /// Seals what the task delivers; derived from what the task is, so that equal work is sealed alike.
    pub output: [u8; 32],
    /// For each input the key of the dataset, or the secret that the other task's output is sealed with.
    pub inputs: Vec<[u8; 32]>,
}

impl std::fmt::Debug for TaskKeys {
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

    /// Wraps them for a worker that got an element of the group, in the job of this submission.
    pub fn wrap(&self, submission: u128, group: u16, to: WorkerKey) -> Result<Vec<u8>, Error> {
        let flat: Zeroizing<Vec<u8>> =
            Zeroizing::new([&self.program, &self.output].into_iter().chain(&self.inputs).flatten().copied().collect());
        wrap(&flat, purpose(submission, group), to)
    }

    /// Opens what was wrapped for the owner of `key`.
    pub fn unwrap(
        wrapped: &[u8],
        submission: u128,
        group: u16,
        key: &ed25519_dalek::SigningKey,
    ) -> Result<Self, Error> {
        let flat = unwrap(wrapped, purpose(submission, group), key)?;
        let (keys, rest) = flat.as_chunks::<32>();
        match keys {
            [program, output, inputs @ ..] if rest.is_empty() => {
                Ok(Self { program: *program, output: *output, inputs: inputs.to_vec() })
            }
            _ => Err(Error::Content("the keys of a task are incomplete")),
        }
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
    use ed25519_dalek::SigningKey;

    #[test]
    fn keys_open_for_their_worker_and_task_only() {
        let keys = TaskKeys { program: [1; 32], output: [2; 32], inputs: vec![[3; 32], [4; 32]] };
        let worker = SigningKey::from_bytes(&[9; 32]);
        let to = WorkerKey(worker.verifying_key().to_bytes());
        let wrapped = keys.wrap(5, 1, to).expect("wrapped");
        assert_eq!(TaskKeys::unwrap(&wrapped, 5, 1, &worker).expect("opens"), keys);
        assert!(TaskKeys::unwrap(&wrapped, 5, 2, &worker).is_err());
        assert!(TaskKeys::unwrap(&wrapped, 6, 1, &worker).is_err());
        assert!(TaskKeys::unwrap(&wrapped, 5, 1, &SigningKey::from_bytes(&[8; 32])).is_err());
        assert!(TaskKeys::unwrap(&wrapped[..40], 5, 1, &worker).is_err());
        assert!(TaskKeys::unwrap(&[], 5, 1, &worker).is_err());
        assert_eq!(format!("{keys:?}"), "[redacted]");
    }
}
