//! Claims: what a worker binds itself to before it can know what will be checked.
//!
//! A worker signs once for all results that it sends together: the root of a tree over the hashes of its claims.
#[cfg(feature = "openapi")]
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use super::Signature;
use crate::{AttemptId, Cause, Finished, Hash, Micros, Outcome, TaskId, WorkerKey, commit};

/// What a worker says about one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptClaim))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The attempt: no claim counts for another one.
    pub attempt: AttemptId,
    /// The task.
    pub task: TaskId,
    /// The hash of what it delivered; nothing if the program failed by its own fault.
    pub output: Option<Hash>,
    /// For how long it ran.
    pub ran: Micros,
}

/// A claim with its maker's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptCommitment))]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    /// The claim.
    pub claim: Claim,
    /// The signed batch that it came in.
    pub batch: Batch,
}

/// Where a claim stands among those that were signed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReceiptBatch))]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The root over the hashes of the claims.
    pub root: Hash,
    /// How many claims there are.
    pub count: u32,
    /// The place of this one.
    pub place: u32,
    /// What leads from it to the root.
    pub path: Vec<Hash>,
    /// The worker's signature of [`batch_message`].
    pub signature: Signature,
}

/// Whether the end of an attempt says something of its task that is claimed by a signature.
pub fn is_claim(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Done(_) | Outcome::Failed { cause: Cause::ProgramFault, .. } => true,
        Outcome::Failed { .. } | Outcome::Cancelled => false,
    }
}

/// The claims that a batch of results makes, given the task of each; nothing if those do not fit.
pub fn claims(results: &[Finished], tasks: &[TaskId]) -> Option<Vec<Claim>> {
    let claiming: Vec<&Finished> = results.iter().filter(|result| is_claim(&result.outcome)).collect();
    let claim = |(result, task): (&&Finished, &TaskId)| {
        let output = match &result.outcome {
            Outcome::Done(output) => Some(output.hash()),
            Outcome::Failed { .. } | Outcome::Cancelled => None,
        };
        Claim { attempt: result.attempt, task: *task, output, ran: result.ran }
    };
    (claiming.len() == tasks.len()).then(|| claiming.iter().zip(tasks).map(claim).collect())
}

/// The leaf that stands for a claim: in its worker's batch, in the hub's round, and as evidence.
pub fn claim_hash(claim: &Claim) -> Hash {
    let Claim { attempt, task, output, ran } = claim;
    let mut bytes = Vec::from(*b"gleaner claim 2");
    bytes.extend_from_slice(&attempt.0.to_le_bytes());
    bytes.extend_from_slice(&task.job.0.to_le_bytes());
    bytes.extend_from_slice(&task.group.to_le_bytes());
    bytes.extend_from_slice(&task.index.to_le_bytes());
    bytes.push(u8::from(output.is_some()));
    bytes.extend_from_slice(&output.unwrap_or(Hash([0; 32])).0);
    bytes.extend_from_slice(&ran.0.to_le_bytes());
    commit::leaf(&bytes)
}

/// What a worker signs for all claims that it sends together to the hub with this key.
pub fn batch_message(root: &Hash, count: u32, hub: &WorkerKey) -> Vec<u8> {
    [b"gleaner batch 1".as_slice(), &hub.0, &count.to_le_bytes(), &root.0].concat()
}
