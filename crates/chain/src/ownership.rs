//! An owner's word that a worker is its own: without it anybody could lie under a stranger's stake.
//!
//! The owner's wallet signs EIP-712 typed data that names the worker's key, the hub's account and the contracts that hold
//! the stake, so that the signature counts for no other worker, hub or chain, and for nothing else. It has no end: whoever
//! holds the worker's key may work under that stake on that hub for as long as there is any.
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{Eip712Domain, SolStruct};
use gleaner_wire::WorkerKey;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::account::{self, Account};

const NAME: &str = "Gleaner Worker";
const VERSION: &str = "1";

mod typed {
    //! The statement as wallets show it; its names and fields are part of what is signed.
    alloy_sol_types::sol! {
        struct Ownership { address owner; bytes32 worker; address hub; }
    }
}

/// What an owner signs: that a worker is its own on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// The chain.
    pub chain_id: u64,
    /// The Stake contract on it, which holds what the owner stands to lose.
    pub stake: Address,
    /// Who is paid for the worker's results, and loses stake for wrong ones.
    pub owner: Address,
    /// The worker.
    pub worker: WorkerKey,
    /// The account by which the hub locks stake and settles.
    pub hub: Address,
}

/// An owner's signature, as it is carried from one machine to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Who signed.
    pub owner: Address,
    /// What it signed an [`Ownership`] with, 65 bytes.
    pub signature: Bytes,
}

/// Why a text is not a statement to sign.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not JSON, or something is missing in it.
    #[error("it is not the typed data of a worker's owner")]
    Malformed(#[from] serde_json::Error),
    /// It would be a signature under something else.
    #[error("it is typed data of something else than a worker's owner")]
    Other,
}

/// The parts of typed data that differ from one statement to the next.
#[derive(Deserialize)]
struct Parts {
    domain: DomainParts,
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DomainParts {
    chain_id: u64,
    verifying_contract: Address,
}

#[derive(Deserialize)]
struct Message {
    owner: Address,
    worker: B256,
    hub: Address,
}

impl Ownership {
    /// What is signed.
    pub fn digest(&self) -> B256 {
        let statement = typed::Ownership { owner: self.owner, worker: B256::from(self.worker.0), hub: self.hub };
        let chain_id = Some(U256::from(self.chain_id));
        let domain = Eip712Domain::new(Some(NAME.into()), Some(VERSION.into()), chain_id, Some(self.stake), None);
        statement.eip712_signing_hash(&domain)
    }

    /// The owner's signature.
    pub fn sign(&self, owner: &Account) -> Bytes {
        owner.sign_digest(self.digest())
    }

    /// Whether its owner signed it with an ordinary key. Contracts sign nothing that can be checked without asking a chain.
    pub fn is_signed_by_owner(&self, signature: &[u8]) -> bool {
        account::recover(self.digest(), signature) == Ok(self.owner)
    }

    /// The statement as any wallet takes it (`eth_signTypedData_v4`).
    pub fn to_json(&self) -> Value {
        let field = |name: &str, kind: &str| json!({ "name": name, "type": kind });
        let domain = [
            field("name", "string"),
            field("version", "string"),
            field("chainId", "uint256"),
            field("verifyingContract", "address"),
        ];
        let message = [field("owner", "address"), field("worker", "bytes32"), field("hub", "address")];
        json!({
            "types": { "EIP712Domain": domain, "Ownership": message },
            "primaryType": "Ownership",
            "domain": {
                "name": NAME,
                "version": VERSION,
                "chainId": self.chain_id,
                "verifyingContract": self.stake,
            },
            "message": { "owner": self.owner, "worker": B256::from(self.worker.0), "hub": self.hub },
        })
    }

    /// Reads what [`Self::to_json`] made. What is signed is made anew from its parts, so nothing else can be slipped in.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_str(text)?;
        let Parts { domain, message } = Parts::deserialize(&value)?;
        let statement = Self {
            chain_id: domain.chain_id,
            stake: domain.verifying_contract,
            owner: message.owner,
            worker: WorkerKey(message.worker.0),
            hub: message.hub,
        };
        let wanted = statement.to_json();
        let same = |at: &str| value.pointer(at) == wanted.pointer(at);
        let all = ["/types", "/primaryType", "/domain/name", "/domain/version"].iter().all(|at| same(at));
        if all { Ok(statement) } else { Err(Error::Other) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn statement(owner: Address) -> Ownership {
        let (stake, hub) = (Address::repeat_byte(0x5A), Address::repeat_byte(2));
        Ownership { chain_id: 6_777_966, stake, owner, worker: WorkerKey([3; 32]), hub }
    }

    #[test]
    fn the_statement_and_its_digest_are_pinned() {
        assert_eq!(typed::Ownership::eip712_encode_type(), "Ownership(address owner,bytes32 worker,address hub)");
        let digest = statement(Account::from_words("an owner").address()).digest();
        assert_eq!(digest.to_string(), "0x0a107da7a37868ec1c84d91903677d61f68701bd7fd916fb5a8cd6e60e528b5e");
    }

    #[test]
    fn a_proof_counts_for_one_owner_worker_hub_contract_and_chain() {
        let owner = Account::from_words("an owner");
        let statement = statement(owner.address());
        let proof = statement.sign(&owner);
        assert!(statement.is_signed_by_owner(&proof));
        let others = [
            Ownership { chain_id: 1, ..statement },
            Ownership { stake: Address::ZERO, ..statement },
            Ownership { owner: Account::from_words("another").address(), ..statement },
            Ownership { worker: WorkerKey([4; 32]), ..statement },
            Ownership { hub: Address::repeat_byte(3), ..statement },
        ];
        assert!(others.iter().all(|other| !other.is_signed_by_owner(&proof)));
        assert!(!statement.is_signed_by_owner(&[]) && !statement.is_signed_by_owner(&[0; 65]));
    }

    #[test]
    fn a_statement_survives_its_way_as_typed_data_and_nothing_else_passes_for_one() {
        let statement = statement(Account::from_words("an owner").address());
        let text = statement.to_json().to_string();
        assert_eq!(Ownership::from_json(&text).expect("our own"), statement);
        let slipped = [
            ("\"Ownership\",", "\"Permit\","),
            ("Gleaner Worker", "Gleaner Escrow"),
            ("\"version\":\"1\"", "\"version\":\"2\""),
            ("\"bytes32\"", "\"bytes31\""),
        ];
        for (there, instead) in slipped {
            assert!(text.contains(there), "{there} in {text}");
            assert!(matches!(Ownership::from_json(&text.replace(there, instead)), Err(Error::Other)), "{there}");
        }
        for text in ["", "{}", "[]", "0x00"] {
            assert!(matches!(Ownership::from_json(text), Err(Error::Malformed(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_altered_proof_verifies(seed in any::<u64>(), at in 0_usize..65, bits in 1_u8..=255) {
            let owner = Account::from_words(&format!("owner {seed}"));
            let statement = statement(owner.address());
            let proof = statement.sign(&owner);
            prop_assert!(statement.is_signed_by_owner(&proof));
            let mut altered = proof.to_vec();
            altered[at] ^= bits;
            prop_assert!(!statement.is_signed_by_owner(&altered));
            prop_assert!(!statement.is_signed_by_owner(&proof[..at]));
            let longer = [&proof[..], &[bits]].concat();
            prop_assert!(!statement.is_signed_by_owner(&longer));
        }

        #[test]
        fn no_proof_verifies_for_another_statement(at in 0_usize..84, bits in 1_u8..=255) {
            let owner = Account::from_words("an owner");
            let statement = statement(owner.address());
            let proof = statement.sign(&owner);
            let mut other = statement;
            let alter = |bytes: &mut [u8], at: usize| bytes[at] ^= bits;
            match at {
                0..20 => alter(other.stake.as_mut_slice(), at),
                20..40 => alter(other.hub.as_mut_slice(), at - 20),
                40..72 => alter(&mut other.worker.0, at - 40),
                72..80 => other.chain_id ^= u64::from(bits) << (8 * (at - 72)),
                _ => alter(other.owner.as_mut_slice(), at - 80),
            }
            prop_assert!(!other.is_signed_by_owner(&proof));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}") {
            prop_assert!(Ownership::from_json(&text).is_err());
        }
    }
}
