//! What a worker has signed: the claims of one message, under one signature.
use ed25519_dalek::{Signature, VerifyingKey};
use gleaner_wire::commit::Tree;
use gleaner_wire::receipt::{self, Claim};
use gleaner_wire::{AttemptId, Finished, Hash, Signed, TaskId, WorkerKey};
use serde::{Deserialize, Serialize};

/// Claims with the signature under them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignedClaims {
    /// Whose attempts, of which tasks, in order.
    pub(crate) claims: Vec<(AttemptId, TaskId)>,
    /// What stands for each claim.
    pub(crate) leaves: Vec<Hash>,
    /// The signature of their root.
    pub(crate) signature: Vec<u8>,
}

impl SignedClaims {
    /// The claims of some results, if the signature is the worker's.
    pub(crate) fn verified(key: &WorkerKey, results: &[Finished], signed: Signed, hub: &WorkerKey) -> Option<Self> {
        let claims = receipt::claims(results, &signed.tasks)?;
        let leaves: Vec<Hash> = claims.iter().map(receipt::claim_hash).collect();
        let root = Tree::of(leaves.clone()).root();
        let message = receipt::batch_message(&root, leaves.len() as u32, hub);
        let signature = Signature::from_slice(&signed.signature).ok()?;
        VerifyingKey::from_bytes(&key.0).ok()?.verify_strict(&message, &signature).ok()?;
        let claims = claims.iter().map(|Claim { attempt, task, .. }| (*attempt, *task)).collect();
        Some(Self { claims, leaves, signature: signed.signature })
    }

    /// Whether a result is what was signed, of the task that the hub has in mind.
    pub(crate) fn fits(&self, result: &Finished, task: Option<TaskId>) -> bool {
        if !receipt::is_claim(&result.outcome) {
            return true;
        }
        self.claims.iter().any(|(attempt, of)| *attempt == result.attempt && Some(*of) == task)
    }
}
