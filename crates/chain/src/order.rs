//! What a requester signs: orders and approvals of settlements, as EIP-712 typed data.
//!
//! The ids reckoned here are the ones the Escrow contract reckons; the suite compares them on every chain.
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{Eip712Domain, SolStruct, SolValue};
use gleaner_wire::Amount;
use serde::{Deserialize, Serialize};

use crate::account::{self, Account};

mod typed {
    //! The structures as the contract names them; their names and fields are part of what is signed.
    alloy_sol_types::sol! {
        #[derive(Debug)]
        struct Order {
            address requester;
            address hub;
            bytes32 job;
            uint256 cap;
            uint256 bond;
            uint64 deadline;
            bytes32 policy;
            uint256 nonce;
        }
        struct Approval { bytes32 order; bytes32 settlement; }
        struct Payout { address provider; uint256 gross; }
        struct Settlement { bytes32 order; bytes32 receiptsRoot; Payout[] payouts; }
    }
}

/// The contract that orders are written for: a signature counts for this chain and this contract only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// The chain.
    pub chain_id: u64,
    /// The Escrow contract on it.
    pub escrow: Address,
}

impl Domain {
    fn typed(&self) -> Eip712Domain {
        Eip712Domain::new(
            Some("Gleaner Escrow".into()),
            Some("1".into()),
            Some(U256::from(self.chain_id)),
            Some(self.escrow),
            None,
        )
    }
}

/// A requester's word that a hub may lock its money for one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Who pays.
    pub requester: Address,
    /// The only account that may lock and settle it.
    pub hub: Address,
    /// What is to be done: the hash of the job as the requester wrote it.
    pub job: B256,
    /// The most that the job may cost.
    pub cap: Amount,
    /// What the requester stands to lose by a false challenge.
    pub bond: Amount,
    /// Unix seconds after which anyone may give the money back.
    pub deadline: u64,
    /// The hash of the rules by which results are checked.
    pub policy: B256,
    /// Any number the requester has not used before.
    pub nonce: U256,
}

impl From<&gleaner_wire::Order> for Order {
    fn from(order: &gleaner_wire::Order) -> Self {
        Self {
            requester: order.requester.0.into(),
            hub: order.hub.0.into(),
            job: B256::from(order.job.0),
            cap: order.cap,
            bond: order.bond,
            deadline: order.deadline,
            policy: B256::from(order.policy.0),
            nonce: U256::from(order.nonce),
        }
    }
}

impl Order {
    fn typed(&self) -> typed::Order {
        typed::Order {
            requester: self.requester,
            hub: self.hub,
            job: self.job,
            cap: U256::from(self.cap.0),
            bond: U256::from(self.bond.0),
            deadline: self.deadline,
            policy: self.policy,
            nonce: self.nonce,
        }
    }

    /// The order's id on chain: the digest that is signed.
    pub fn id(&self, domain: &Domain) -> B256 {
        self.typed().eip712_signing_hash(&domain.typed())
    }

    /// The requester's signature.
    pub fn sign(&self, domain: &Domain, requester: &Account) -> Bytes {
        requester.sign_digest(self.id(domain))
    }

    /// Whether the order's requester signed it with an ordinary key. A contract's signature has to be asked of the chain.
    pub fn is_signed_by_requester(&self, domain: &Domain, signature: &[u8]) -> bool {
        account::recover(self.id(domain), signature) == Ok(self.requester)
    }
}

/// What one provider is paid, before the platform's share is taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementPayout))]
pub struct Payout {
    /// Who did the work.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-fA-F]{40}$"))]
    pub provider: Address,
    /// What the requester pays for it.
    pub gross: Amount,
}

/// How an order's money is split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OrderSettlement))]
pub struct Settlement {
    /// The order's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-f]{64}$"))]
    pub order: B256,
    /// The root of the receipts that say what was paid for.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^0x[0-9a-f]{64}$"))]
    pub receipts_root: B256,
    /// Totals for each provider.
    pub payouts: Vec<Payout>,
}

impl Settlement {
    /// Most payouts that the contract takes in one settlement.
    pub const PAYOUTS_MAX: usize = 400;

    fn typed(&self) -> typed::Settlement {
        let payouts = self.payouts.iter();
        typed::Settlement {
            order: self.order,
            receiptsRoot: self.receipts_root,
            payouts: payouts
                .map(|payout| typed::Payout { provider: payout.provider, gross: U256::from(payout.gross.0) })
                .collect(),
        }
    }

    /// What the contract remembers of it while it waits.
    pub fn hash(&self) -> B256 {
        keccak256(self.typed().abi_encode())
    }

    /// What the requester pays in all, or nothing if that is beyond any amount.
    pub fn gross(&self) -> Option<Amount> {
        self.payouts.iter().try_fold(Amount::ZERO, |sum, payout| sum.checked_add(payout.gross))
    }

    /// The digest by which a requester approves it.
    pub fn approval_digest(&self, domain: &Domain) -> B256 {
        let approval = typed::Approval { order: self.order, settlement: self.hash() };
        approval.eip712_signing_hash(&domain.typed())
    }

    /// The requester's approval: with it, the settlement is final at once.
    pub fn approve(&self, domain: &Domain, requester: &Account) -> Bytes {
        requester.sign_digest(self.approval_digest(domain))
    }

    /// Whether `requester` approved it with an ordinary key.
    pub fn is_approved_by(&self, domain: &Domain, requester: Address, approval: &[u8]) -> bool {
        account::recover(self.approval_digest(domain), approval) == Ok(requester)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        Domain { chain_id: 6_777_966, escrow: Address::repeat_byte(0xE5) }
    }

    fn order(requester: Address) -> Order {
        Order {
            requester,
            hub: Address::repeat_byte(2),
            job: B256::repeat_byte(3),
            cap: Amount(4),
            bond: Amount(5),
            deadline: 6,
            policy: B256::repeat_byte(7),
            nonce: U256::from(8),
        }
    }

    #[test]
    fn the_type_of_an_order_reads_as_the_contract_has_it() {
        let text = "Order(address requester,address hub,bytes32 job,uint256 cap,uint256 bond,uint64 deadline,\
                    bytes32 policy,uint256 nonce)";
        assert_eq!(typed::Order::eip712_encode_type(), text);
        assert_eq!(typed::Approval::eip712_encode_type(), "Approval(bytes32 order,bytes32 settlement)");
    }

    #[test]
    fn the_id_of_an_order_is_pinned() {
        let requester = Account::from_words("a requester").address();
        let id = order(requester).id(&domain());
        assert_eq!(id.to_string(), "0x7fc0688d18747defa63bfe37874960ba560e62ed3b10ab15fc9d2e9e5496823f");
    }

    #[test]
    fn a_signature_counts_for_one_chain_one_contract_and_one_order() {
        let requester = Account::from_words("a requester");
        let order = order(requester.address());
        let signature = order.sign(&domain(), &requester);
        assert!(order.is_signed_by_requester(&domain(), &signature));
        let elsewhere = [Domain { chain_id: 1, ..domain() }, Domain { escrow: Address::ZERO, ..domain() }];
        assert!(elsewhere.iter().all(|domain| !order.is_signed_by_requester(domain, &signature)));
        let dearer = Order { cap: Amount(9), ..order };
        assert!(!dearer.is_signed_by_requester(&domain(), &signature));
    }

    #[test]
    fn an_approval_counts_for_one_settlement() {
        let requester = Account::from_words("a requester");
        let payout = |gross| Payout { provider: Address::repeat_byte(9), gross: Amount(gross) };
        let settlement =
            Settlement { order: B256::repeat_byte(1), receipts_root: B256::ZERO, payouts: vec![payout(1), payout(2)] };
        let approval = settlement.approve(&domain(), &requester);
        assert!(settlement.is_approved_by(&domain(), requester.address(), &approval));
        let other = Settlement { payouts: vec![payout(2), payout(1)], ..settlement };
        assert!(!other.is_approved_by(&domain(), requester.address(), &approval));
        assert_eq!(settlement.gross(), Some(Amount(3)));
        let endless = Settlement { payouts: vec![payout(u64::MAX), payout(1)], ..settlement };
        assert_eq!(endless.gross(), None);
    }
}
