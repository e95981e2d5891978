//! Signatures: making them, and checking each of them once.
use std::collections::BTreeSet;

use ed25519_dalek::{Signature as Ed25519, Signer, SigningKey, VerifyingKey};
use gleaner_chain::order::{Domain, Order};
use gleaner_chain::ownership::Ownership;
use gleaner_wire::commit::Tree;
use gleaner_wire::receipt::{
    Batch, Claim, Facts, Ordered, Signature, TaskReceipt, batch_message, claim_hash, receipt_message,
};
use gleaner_wire::{Address, Hash, SignedOrder, WorkerKey};

/// Signs what a receipt says.
pub fn seal(facts: Facts, hub: &SigningKey) -> TaskReceipt {
    let hash = facts.hash();
    let signature = Signature(hub.sign(&receipt_message(&hash)).to_bytes());
    TaskReceipt { facts, hash, signature }
}

/// Signs all claims that a worker sends together, and says where each of them stands.
pub fn sign_batch(claims: &[Claim], hub: &WorkerKey, worker: &SigningKey) -> Vec<Batch> {
    let tree = Tree::of(claims.iter().map(claim_hash).collect());
    let (root, count) = (tree.root(), u32::try_from(claims.len()).expect("fewer claims than a message can hold"));
    let signature = Signature(worker.sign(&batch_message(&root, count, hub)).to_bytes());
    let path = |place| tree.path(place).expect("every claim is in the tree");
    (0..count).map(|place| Batch { root, count, place, path: path(place), signature }).collect()
}

/// An order with its id on the chain, and the Stake contract there.
pub fn ordered(signed: SignedOrder, domain: &Domain, stake: Address) -> Ordered {
    let id = Hash(Order::from(&signed.order).id(domain).0);
    Ordered { signed, chain_id: domain.chain_id, escrow: Address(domain.escrow.into_array()), stake, id }
}

/// What the owner of a worker has signed on the hub of an order.
pub(crate) fn ownership(ordered: &Ordered, worker: WorkerKey, owner: Address) -> Ownership {
    let Ordered { signed, chain_id, stake, .. } = ordered;
    let (stake, owner, hub) = (stake.0.into(), owner.0.into(), signed.order.hub.0.into());
    Ownership { chain_id: *chain_id, stake, owner, worker, hub }
}

/// Checks signatures, each of them once: a batch, an order and an anchored round stand in many receipts of a job.
#[derive(Clone, Debug, Default)]
pub struct Signatures {
    good: BTreeSet<[u8; 32]>,
}

impl Signatures {
    /// The most that is remembered.
    const GOOD_MAX: usize = 1 << 20;

    /// Whether an ed25519 key signed this.
    pub(crate) fn is_by(&mut self, key: &WorkerKey, message: &[u8], signature: &Signature) -> bool {
        let parts = [&key.0[..], &signature.0, message];
        self.holds(b"ed25519", &parts, || {
            let key = VerifyingKey::from_bytes(&key.0);
            key.is_ok_and(|key| key.verify_strict(message, &Ed25519::from_bytes(&signature.0)).is_ok())
        })
    }

    /// Whether something holds, of which it is known what it depends on.
    pub(crate) fn holds(&mut self, kind: &[u8], parts: &[&[u8]], check: impl FnOnce() -> bool) -> bool {
        let mut hasher = blake3::Hasher::new();
        for part in [&[kind], parts].concat() {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        let name = *hasher.finalize().as_bytes();
        if self.good.contains(&name) {
            return true;
        }
        let holds = check();
        if holds && self.good.len() < Self::GOOD_MAX {
            self.good.insert(name);
        }
        holds
    }
}

/// The key that others know a signer by.
pub fn public(key: &SigningKey) -> WorkerKey {
    WorkerKey(key.verifying_key().to_bytes())
}
