//! The order: its id, its signature, and that it is about this job.
use gleaner_chain::order::{Domain, Order};
use gleaner_wire::Hash;
use gleaner_wire::receipt::{Facts, Ordered};

use super::Check;
use crate::fault::money;

/// Signatures of ordinary keys have this length; those of contracts have to be asked of the chain.
const KEY_SIGNATURE_BYTES: usize = 65;

impl Check<'_> {
    pub(super) fn order(&mut self, facts: &Facts) {
        let Some(ordered) = &facts.order else {
            return self.believe("the hub moved credit in its own books: there is no order on a chain");
        };
        let Ordered { signed, chain_id, escrow, id, stake: _ } = ordered;
        let domain = Domain { chain_id: *chain_id, escrow: escrow.0.into() };
        let order = Order::from(&signed.order);
        let reckoned = order.id(&domain);
        self.faults.same("the order's id", id, &Hash(reckoned.0), || {
            format!("the order on chain {chain_id} with the escrow {escrow}")
        });
        if signed.signature.len() != KEY_SIGNATURE_BYTES {
            let length = signed.signature.len();
            self.believe(format!(
                "the order's signature of {length} bytes is a contract's, which only the chain can check"
            ));
        } else if self.is_signed(&order, &domain, reckoned.as_slice(), &signed.signature) {
            self.checked.signatures += 1;
        } else {
            let hex = gleaner_wire::receipt::Bytes(signed.signature.clone()).to_string();
            self.signature("the order", &hex, format!("its requester {}", signed.order.requester));
        }
        self.faults.same("the job's hash", &facts.job, &signed.order.job, || "the order".to_owned());
        let (sum, cap) = (facts.price.sum_after, signed.order.cap);
        if sum > cap {
            let rule = format!("at most the order's cap of {}", money(cap));
            self.faults.impossible("what this worker was paid for the job", money(sum), rule);
        }
        if facts.placement.provider.is_none() {
            self.faults.impossible(
                "the account of the worker's owner",
                "nothing",
                "there, because the order pays to it",
            );
        }
    }

    fn is_signed(&mut self, order: &Order, domain: &Domain, id: &[u8], signature: &[u8]) -> bool {
        let parts = [id, signature, order.requester.as_slice()];
        self.signatures.holds(b"order", &parts, || order.is_signed_by_requester(domain, signature))
    }
}
