//! Claims: that they are about this task, and signed by who made them.
use gleaner_wire::receipt::{Batch, Commitment, Facts, batch_message, claim_hash};
use gleaner_wire::{WorkerKey, commit};

use super::Check;
use crate::fault::Fault;

impl Check<'_> {
    pub(super) fn claim(&mut self, facts: &Facts) {
        let task = facts.commitment.claim.task;
        self.faults.same("the task", &facts.task, &task, || "the worker's claim".to_owned());
        self.commitment("the worker's claim", facts, &facts.commitment, &facts.placement.worker);
    }

    /// A claim of the worker or of somebody who checked it.
    pub(super) fn commitment(&mut self, what: &str, facts: &Facts, made: &Commitment, maker: &WorkerKey) {
        let Commitment { claim, batch } = made;
        let Batch { root, count, place, path, signature } = batch;
        let leaf = claim_hash(claim);
        if !commit::verify(root, *count, *place, &leaf, path) {
            self.path(what, leaf.to_string(), *place, *count, root.to_string());
        }
        if self.signatures.is_by(maker, &batch_message(root, *count, &facts.hub), signature) {
            self.checked.signatures += 1;
        } else {
            self.signature(format!("the batch of {what}"), &signature.to_string(), format!("the key {maker}"));
        }
    }

    pub(super) fn path(&mut self, what: &str, leaf: String, place: u32, count: u32, root: String) {
        self.faults.push(Fault::Path { what: what.to_owned(), leaf, place, count, root });
    }
}
