//! The state hash: a sum of hashes over everything in the state, kept up to date change by change.
//!
//! Each account record and each non-zero storage slot is hashed with BLAKE3, and the hashes are added modulo 2²⁵⁶. The
//! order does not matter, so that a change costs one subtraction and one addition whatever the size of the state.
//!
//! It is there to notice that a replay, a snapshot or a disk gave another state than the one that was acknowledged. It is
//! no Merkle root: it proves no single balance to somebody who does not have the state, and who can write to the
//! folder can compute it as well as we can.
use alloy_primitives::{Address, B256, U256};

/// The hash of a whole state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest(U256);

impl Digest {
    /// As it stands in a block's header, in the place of the state root.
    pub(crate) fn root(self) -> B256 {
        B256::from(self.0)
    }

    /// The account has this record now.
    pub(crate) fn add_account(&mut self, address: Address, nonce: u64, balance: U256, code_hash: B256) {
        self.0 = self.0.wrapping_add(account_hash(address, nonce, balance, code_hash));
    }

    /// The account has this record no more.
    pub(crate) fn remove_account(&mut self, address: Address, nonce: u64, balance: U256, code_hash: B256) {
        self.0 = self.0.wrapping_sub(account_hash(address, nonce, balance, code_hash));
    }

    /// The slot holds this value now. Zero is the same as nothing.
    pub(crate) fn add_slot(&mut self, address: Address, slot: U256, value: U256) {
        if !value.is_zero() {
            self.0 = self.0.wrapping_add(slot_hash(address, slot, value));
        }
    }

    /// The slot holds this value no more.
    pub(crate) fn remove_slot(&mut self, address: Address, slot: U256, value: U256) {
        if !value.is_zero() {
            self.0 = self.0.wrapping_sub(slot_hash(address, slot, value));
        }
    }
}

fn account_hash(address: Address, nonce: u64, balance: U256, code_hash: B256) -> U256 {
    let mut bytes = [0u8; 93];
    bytes[0] = b'a';
    bytes[1..21].copy_from_slice(address.as_slice());
    bytes[21..29].copy_from_slice(&nonce.to_be_bytes());
    bytes[29..61].copy_from_slice(&balance.to_be_bytes::<32>());
    bytes[61..].copy_from_slice(code_hash.as_slice());
    U256::from_be_bytes(*blake3::hash(&bytes).as_bytes())
}

fn slot_hash(address: Address, slot: U256, value: U256) -> U256 {
    let mut bytes = [0u8; 85];
    bytes[0] = b's';
    bytes[1..21].copy_from_slice(address.as_slice());
    bytes[21..53].copy_from_slice(&slot.to_be_bytes::<32>());
    bytes[53..].copy_from_slice(&value.to_be_bytes::<32>());
    U256::from_be_bytes(*blake3::hash(&bytes).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_does_not_depend_on_the_order_of_changes() {
        let (a, b) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let mut first = Digest::default();
        first.add_slot(a, U256::from(1), U256::from(5));
        first.add_slot(b, U256::from(1), U256::from(6));
        let mut second = Digest::default();
        second.add_slot(b, U256::from(1), U256::from(9));
        second.add_slot(a, U256::from(1), U256::from(5));
        second.remove_slot(b, U256::from(1), U256::from(9));
        second.add_slot(b, U256::from(1), U256::from(6));
        assert_eq!(first, second);
    }

    #[test]
    fn values_swapped_between_accounts_give_another_digest() {
        let (a, b) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let mut first = Digest::default();
        first.add_slot(a, U256::ZERO, U256::from(5));
        first.add_slot(b, U256::ZERO, U256::from(6));
        let mut second = Digest::default();
        second.add_slot(a, U256::ZERO, U256::from(6));
        second.add_slot(b, U256::ZERO, U256::from(5));
        assert_ne!(first, second);
    }
}
