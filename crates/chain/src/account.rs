//! A signing key and its address. It signs digests and transactions and never shows its key.
use std::fmt;

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use zeroize::Zeroizing;

/// Who signs: a secp256k1 key with the address it stands for.
#[derive(Clone)]
pub struct Account {
    signer: PrivateKeySigner,
}

/// Why a key or a signature is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The 32 bytes are zero or beyond the curve's order.
    #[error("these 32 bytes are not a signing key")]
    Key,
    /// Not 65 bytes, an unknown parity, or the upper of the two forms that every signature has.
    #[error("not a signature: expected 65 bytes with parity 27 or 28 and the lower s")]
    Signature,
}

/// A transaction that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// What the node is given.
    pub raw: Bytes,
    /// How the network calls it.
    pub hash: B256,
}

/// What a transaction says before it is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The chain it is meant for; worthless on every other one.
    pub chain_id: u64,
    /// The sender's running number.
    pub nonce: u64,
    /// Whom it calls; nobody if it creates a contract.
    pub to: Option<Address>,
    /// Native coin that goes with it.
    pub value: U256,
    /// The call, or the code of the new contract.
    pub data: Bytes,
    /// The most gas it may use.
    pub gas: u64,
    /// The most that is paid for a unit of gas.
    pub fee_max: u128,
    /// The part of it that goes to the block's maker.
    pub priority: u128,
}

impl Account {
    /// A fresh key from the system's randomness.
    pub fn random() -> Self {
        Self { signer: PrivateKeySigner::random() }
    }

    /// The account of these 32 bytes.
    pub fn from_key(key: &[u8; 32]) -> Result<Self, Error> {
        let signer = PrivateKeySigner::from_slice(key).map_err(|_| Error::Key)?;
        Ok(Self { signer })
    }

    /// An account that everybody can make from the same words: for tests and for chains without value only.
    pub fn from_words(words: &str) -> Self {
        let mut seed = keccak256(words);
        loop {
            match Self::from_key(&seed.0) {
                Ok(account) => return account,
                Err(_) => seed = keccak256(seed),
            }
        }
    }

    /// Where its money is.
    pub fn address(&self) -> Address {
        self.signer.address()
    }

    /// The key itself, for the keystore file alone.
    pub(crate) fn key(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.signer.to_bytes().0)
    }

    /// Signs a digest that the caller has reckoned itself.
    pub fn sign_digest(&self, digest: B256) -> Bytes {
        let signature = self.signer.sign_hash_sync(&digest).expect("a key in memory signs any digest");
        signature.normalized_s().as_bytes().into()
    }

    /// Signs a transaction.
    pub fn sign(&self, draft: &Draft) -> Signed {
        let transaction = TxEip1559 {
            chain_id: draft.chain_id,
            nonce: draft.nonce,
            gas_limit: draft.gas,
            max_fee_per_gas: draft.fee_max,
            max_priority_fee_per_gas: draft.priority,
            to: draft.to.map_or(TxKind::Create, TxKind::Call),
            value: draft.value,
            access_list: Default::default(),
            input: draft.data.clone(),
        };
        let digest = transaction.signature_hash();
        let signature = self.signer.sign_hash_sync(&digest).expect("a key in memory signs any digest");
        let envelope = TxEnvelope::from(transaction.into_signed(signature.normalized_s()));
        Signed { raw: envelope.encoded_2718().into(), hash: *envelope.tx_hash() }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("address", &self.address()).field("key", &"[redacted]").finish()
    }
}

/// Who signed this digest. Refuses the second form of a signature, as the contracts do.
pub fn recover(digest: B256, signature: &[u8]) -> Result<Address, Error> {
    if signature.len() != 65 || !matches!(signature[64], 27 | 28) {
        return Err(Error::Signature);
    }
    let signature = Signature::from_raw(signature).map_err(|_| Error::Signature)?;
    if signature.normalize_s().is_some() {
        return Err(Error::Signature);
    }
    signature.recover_address_from_prehash(&digest).map_err(|_| Error::Signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_account_signs_recovers_to_it() {
        let account = Account::random();
        let digest = keccak256("a digest");
        let signature = account.sign_digest(digest);
        assert_eq!(recover(digest, &signature), Ok(account.address()));
        assert_ne!(recover(keccak256("another"), &signature), Ok(account.address()));
    }

    #[test]
    fn the_second_form_of_a_signature_is_refused() {
        let account = Account::from_words("malleable");
        let digest = keccak256("a digest");
        let signature = Signature::from_raw(&account.sign_digest(digest)).expect("our own signature");
        let order = U256::from_str_radix("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16);
        let upper = Signature::new(signature.r(), order.expect("hex") - signature.s(), !signature.v());
        assert_eq!(upper.recover_address_from_prehash(&digest).ok(), Some(account.address()));
        assert_eq!(recover(digest, &upper.as_bytes()), Err(Error::Signature));
    }

    #[test]
    fn bytes_that_are_no_signature_are_refused() {
        for bytes in [&[][..], &[0; 64], &[0; 65], &[255; 65], &[1; 66]] {
            assert_eq!(recover(B256::ZERO, bytes), Err(Error::Signature));
        }
        assert!(Account::from_key(&[0; 32]).is_err() && Account::from_key(&[255; 32]).is_err());
    }

    #[test]
    fn the_key_is_never_printed() {
        let account = Account::from_key(&[7; 32]).expect("a key");
        let text = format!("{account:?}");
        assert!(text.contains("[redacted]") && !text.contains("0707070707"), "{text}");
    }
}
