//! Owners: that whoever is paid or loses stake for a worker has said that the worker is its own.
use gleaner_wire::receipt::{Facts, Ordered, Owned};
use gleaner_wire::{Address, WorkerKey};

use super::Check;
use super::audit::names;
use crate::reckon;
use crate::sign::ownership;

impl Check<'_> {
    /// Everybody who has an owner has that owner's word, and nobody's word is there beside.
    pub(super) fn owners(&mut self, facts: &Facts) {
        let owned = reckon::owned(&facts.placement, facts.audit.as_ref());
        let workers: Vec<WorkerKey> = owned.iter().map(|(worker, _)| *worker).collect();
        let says: Vec<WorkerKey> = facts.owners.iter().map(|owned| owned.worker).collect();
        if says != workers {
            let reason = "the accounts beside the workers' keys";
            return self.faults.differs("whose owners have signed", names(&says), names(&workers), reason);
        }
        let Some(ordered) = &facts.order else {
            for (worker, provider) in &owned {
                let rule = "left out, because it signs for a hub on a chain, and the receipt names none";
                self.faults.impossible(format!("the owner of {worker}"), provider, rule);
            }
            return;
        };
        for ((worker, provider), Owned { signature, .. }) in owned.iter().zip(&facts.owners) {
            if self.is_owned(ordered, worker, provider, &signature.0) {
                self.checked.signatures += 1;
            } else {
                let what = format!("the statement that {worker} is its own");
                self.signature(what, &signature.to_string(), format!("the account {provider}"));
            }
        }
    }

    fn is_owned(&mut self, ordered: &Ordered, worker: &WorkerKey, provider: &Address, signature: &[u8]) -> bool {
        let statement = ownership(ordered, *worker, *provider);
        let digest = statement.digest();
        let parts = [digest.as_slice(), &provider.0, signature];
        self.signatures.holds(b"owner", &parts, || statement.is_signed_by_owner(signature))
    }
}
